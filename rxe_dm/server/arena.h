/* SPDX-License-Identifier: MIT */
/* The memory of a device's DMs: one memfd, locked in memory up to RLIMIT_MEMLOCK. */
#ifndef RXE_DM_SERVER_ARENA_H
#define RXE_DM_SERVER_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/protocol.h"

struct arena {
	int fd;
	uint8_t *base;
	uint64_t bytes;	 /* size as configured */
	uint64_t mapped; /* size, rounded up to whole pages */
	uint64_t page;
	uint64_t locked; /* bytes that are never swapped, once used */
	char kind[24];	 /* kind of pages, for messages */
	char why[64];	 /* reason for this kind, for messages */
};

/* The machine's pool of huge pages of the default size. */
struct arena_pool {
	uint64_t page_bytes; /* 0: no pool, or unknown */
	uint64_t free;	     /* pages neither in use nor reserved */
};

/* Decides whether CTL_PAGES_AUTO takes huge pages: yes if as many stay free as are taken. Most
 * pools are reserved for the program under test, which keeps at least half of the free pages.
 * ret_why explains the decision. Pure. */
bool arena_spares_pool(const struct arena_pool *pool, uint64_t bytes, char *ret_why,
		       size_t why_bytes);

/* 0 or a negative errno, explained on the log. Pages are allocated at their first access. */
int arena_init(struct arena *ret, uint64_t bytes, enum ctl_arena_pages pages);
void arena_fini(struct arena *arena);
/* Replaces the pages of a range (whole system pages); the holder of a dmabuf keeps the old ones.
 * False: the old pages are in place, and the range must not be granted again. */
bool arena_renew(const struct arena *arena, uint64_t offset, uint64_t len);

#endif
