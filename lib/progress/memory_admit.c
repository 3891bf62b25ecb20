// SPDX-License-Identifier: MIT
/* May a program register this memory? Registration makes every page present, like an adapter that
 * pins pages. Where the machine has too little memory the answer is ENOMEM before any page is
 * touched: the kernel would kill a program for it, not necessarily this one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/control/cancel.h"
#include "lib/progress/memory.h"

#define PAGES_AT_ONCE 4096u

/* A value of /proc/meminfo, in its unit; 0: the key is missing. */
static uint64_t meminfo(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Bytes that the machine has, and those that are available, free huge pages included. False:
 * unknown. */
static bool machine_memory(uint64_t *ret_total, uint64_t *ret_available)
{
	char text[8192];
	NO_CANCEL;
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	*ret_total = meminfo(text, "MemTotal:") << 10;
	*ret_available = (meminfo(text, "MemAvailable:") +
			  meminfo(text, "HugePages_Free:") * meminfo(text, "Hugepagesize:"))
			 << 10;
	return *ret_total != 0 && *ret_available != 0;
}

uint64_t memory_absent(const void *addr, size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)addr & ~(page - 1), end = (uintptr_t)addr + len;
	unsigned char present[PAGES_AT_ONCE];
	uint64_t absent = 0;

	while (at < end) {
		size_t pages = (end - at + page - 1) / page;

		pages = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
		/* Not mapped: memory_probe() fails. */
		if (mincore((void *)at, pages * page, present))
			return absent;
		for (size_t i = 0; i < pages; i++)
			absent += present[i] & 1 ? 0 : page;
		at += pages * page;
	}
	return absent;
}

/* Pages that are only read take no memory. Up to half of what is available passes without a count;
 * a sixteenth is kept free. */
static bool fits(const void *addr, size_t len, bool write)
{
	uint64_t total, available;

	if (!machine_memory(&total, &available))
		return true;
	if (len > total)
		return false;
	return !write || len <= available / 2 ||
	       memory_absent(addr, len) <= available - available / 16;
}

int memory_admit(const void *addr, size_t len, bool write)
{
	if (!fits(addr, len, write))
		return ENOMEM;
	return memory_probe(addr, len, write) ? 0 : EFAULT;
}
