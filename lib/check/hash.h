/* SPDX-License-Identifier: MIT */
/* uthash with a hash of this room. Keys are pointers, and pairs of 8 bytes, which posting and
 * polling look up: uthash's own functions take them byte by byte. Included in place of uthash.h. */
#ifndef RXE_CHECK_HASH_H
#define RXE_CHECK_HASH_H

#include <stdint.h>
#include <string.h>

/* len: a multiple of 8. Each bit of the key changes the low bits, which choose the bucket. */
static inline unsigned int check_hash(const void *key, size_t len)
{
	uint64_t hash = 0;

	for (size_t at = 0; at < len; at += sizeof(hash)) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)key + at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return (unsigned int)hash;
}

/* As memcmp(3), but for the order. */
static inline int check_key_differs(const void *a, const void *b, size_t len)
{
	for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
		uint64_t x, y;

		memcpy(&x, (const uint8_t *)a + at, sizeof(x));
		memcpy(&y, (const uint8_t *)b + at, sizeof(y));
		if (x != y)
			return 1;
	}
	return 0;
}

#define HASH_FUNCTION(key, len, hash) ((hash) = check_hash((key), (len)))
#define HASH_KEYCMP(a, b, len)	      check_key_differs((a), (b), (len))

#include <uthash.h>

#endif
