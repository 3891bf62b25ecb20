// SPDX-License-Identifier: MIT
/* Pages at a place of their own, for tests of memory that comes and goes. */
#include "pages.h"

#include <check.h>
#include <stddef.h>
#include <sys/mman.h>

/* The middle of a large gap: the kernel fills gaps from their ends. Mappings of the device take
 * several hundred MiB of addresses, and glibc puts heaps of threads at multiples of 64 MiB. */
uint8_t *pages_place(void)
{
	const size_t gap = (size_t)16 << 30;
	uint8_t *p = mmap(NULL, gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(munmap(p, gap), 0);
	return p + gap / 2;
}

void pages_map(uint8_t *place, int prot)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	ck_assert_ptr_eq(mmap(place, BYTES, prot, flags, -1, 0), place);
	madvise(place, BYTES, MADV_NOHUGEPAGE);
}

void pages_unmap(uint8_t *place)
{
	ck_assert_int_eq(munmap(place, BYTES), 0);
}

void pages_map_file(uint8_t *place, int fd)
{
	const int flags = MAP_SHARED | MAP_FIXED;

	ck_assert_ptr_eq(mmap(place, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0), place);
}

bool pages_present(const uint8_t *place, uint32_t page)
{
	unsigned char vec = 0;

	return mincore((void *)(uintptr_t)(place + page * PAGE), PAGE, &vec) == 0 && (vec & 1);
}

uint32_t pages_num_present(const uint8_t *place)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PAGES; i++)
		n += pages_present(place, i);
	return n;
}
