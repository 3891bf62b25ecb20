/* SPDX-License-Identifier: MIT */
/* The base of every fuzz target: the entry that libFuzzer or replay.c calls, the report of a
 * finding, and reading the input as a script. Numbers are little-endian, so that seeds.py can write
 * them. */
#ifndef TESTS_FUZZ_TARGET_H
#define TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "%s:%d: must be so: %s\n", __FILE__, __LINE__,       \
				      #condition);                                                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The rest of the input. Past its end everything is 0. */
struct take {
	const uint8_t *p;
	size_t left;
};

static inline uint64_t take_bytes(struct take *take, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes && take->left > 0; i++, take->left--)
		value |= (uint64_t)*take->p++ << 8 * i;
	return value;
}

static inline uint8_t take_u8(struct take *take)
{
	return (uint8_t)take_bytes(take, 1);
}

static inline uint16_t take_u16(struct take *take)
{
	return (uint16_t)take_bytes(take, 2);
}

static inline uint32_t take_u32(struct take *take)
{
	return (uint32_t)take_bytes(take, 4);
}

/* Returns a copy in a block of exactly that size, so that the sanitizer detects a read past it. The
 * caller frees it. */
static inline uint8_t *exact_block(const uint8_t *p, size_t len)
{
	uint8_t *block = malloc(len ? len : 1);

	MUST(block);
	if (len)
		memcpy(block, p, len);
	return block;
}

/* The same, terminated as a string. */
static inline char *exact_string(const uint8_t *p, size_t len)
{
	char *text = malloc(len + 1);

	MUST(text);
	if (len)
		memcpy(text, p, len);
	text[len] = '\0';
	return text;
}

#endif
