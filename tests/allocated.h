/* SPDX-License-Identifier: MIT */
/* Counts what malloc(3) has given out, for tests of what is freed. */
#ifndef TESTS_ALLOCATED_H
#define TESTS_ALLOCATED_H

#include <malloc.h>
#include <stddef.h>

/* glibc since 2.33 has mallinfo2(). The malloc() of ASan counts nothing, and finds leaks itself. */
#if defined(__GLIBC_PREREQ) && !defined(__SANITIZE_ADDRESS__)
#if __GLIBC_PREREQ(2, 33)
#define COUNTS_ALLOCATIONS
#endif
#endif

/* Bytes in use; 0 where nothing counts them. */
static inline size_t allocated_bytes(void)
{
#ifdef COUNTS_ALLOCATIONS
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

#endif
