/* SPDX-License-Identifier: MIT */
/* The smaller of two values. */
#ifndef RXE_EMU_MIN_H
#define RXE_EMU_MIN_H

#include <stdint.h>

static inline uint8_t min_u8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif
