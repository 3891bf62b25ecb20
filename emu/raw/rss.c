/* SPDX-License-Identifier: MIT */
/* The receive hash: collects the chosen fields of a frame, then hashes them. */
#include "emu/raw/rss.h"

#include <string.h>

#include "net/wire/packet.h"

/* Addresses of IPv6 and two ports. */
#define MAX_INPUT (16u + 16u + 2u + 2u)
static_assert(MAX_INPUT + 4 <= RSS_KEY_LEN, "the key covers every field");

uint32_t rss_toeplitz(const uint8_t key[RSS_KEY_LEN], const uint8_t *data, uint32_t len)
{
	uint32_t window = get_be32(key), hash = 0;
	uint32_t i, bit;

	assert(len <= RSS_KEY_LEN - 4);
	for (i = 0; i < len; i++) {
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80u >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1u);
		}
	}
	return hash;
}

/* A field of the hash, in the order of the input. */
struct field {
	uint32_t bit;
	enum raw_header header;
	size_t offset; /* in struct raw_level */
	uint32_t len;
};

#define IN(member) offsetof(struct raw_level, member), sizeof(((struct raw_level *)0)->member)

/* clang-format off */
static const struct field fields[] = {
	{ RSS_SRC_IPV4,     RAW_IPV4, IN(ipv4.src) },
	{ RSS_DST_IPV4,     RAW_IPV4, IN(ipv4.dst) },
	{ RSS_SRC_IPV6,     RAW_IPV6, IN(ipv6.src) },
	{ RSS_DST_IPV6,     RAW_IPV6, IN(ipv6.dst) },
	{ RSS_SRC_PORT_TCP, RAW_TCP,  IN(ports.src) },
	{ RSS_DST_PORT_TCP, RAW_TCP,  IN(ports.dst) },
	{ RSS_SRC_PORT_UDP, RAW_UDP,  IN(ports.src) },
	{ RSS_DST_PORT_UDP, RAW_UDP,  IN(ports.dst) },
};
/* clang-format on */

uint32_t rss_hash(const struct rxe_rss *rss, const struct raw_frame *frame)
{
	const struct raw_level *level = &frame->level[rss->fields & RSS_INNER ? 1 : 0];
	uint8_t input[MAX_INPUT];
	uint32_t len = 0;
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *field = &fields[i];

		if (!(rss->fields & field->bit) || !raw_level_has(level, field->header))
			continue;
		assert(len + field->len <= MAX_INPUT);
		memcpy(input + len, (const uint8_t *)level + field->offset, field->len);
		len += field->len;
	}
	return rss_toeplitz(rss->key, input, len);
}
