/* SPDX-License-Identifier: MIT */
/* The memory behind a device's DM: one memfd, pinned as far as the machine lets us. */
#ifndef RXE_DM_SERVER_ARENA_H
#define RXE_DM_SERVER_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/protocol.h"

struct arena {
	int fd;
	uint8_t *base;
	uint64_t bytes;	 /* what is granted from */
	uint64_t mapped; /* the same, rounded up to the page size */
	uint64_t page;
	uint64_t locked; /* bytes that stay in memory once used */
	char kind[24];	 /* for people */
	char why[64];	 /* for people: why pages of this kind */
};

/* The machine's pool of huge pages, of the size that a descriptor gets by default. */
struct arena_pool {
	uint64_t page_bytes; /* 0: there is none, or /proc does not say */
	uint64_t free;	     /* pages that nobody has, nor has reserved */
};

/* Whether CTL_PAGES_AUTO takes huge pages: where as many stay free as are taken. The pool was reserved for somebody, in most cases
 * the program under test, and this leaves it half at least, whatever its size; and the next server half of that. ret_why says it to
 * people. Pure. */
bool arena_spares_pool(const struct arena_pool *pool, uint64_t bytes, char *ret_why,
		       size_t why_bytes);

/* 0 or a negative errno, explained on the log. Costs no memory yet: pages come when they are used. */
int arena_init(struct arena *ret, uint64_t bytes, enum ctl_arena_pages pages);
void arena_fini(struct arena *arena);
/* Fresh pages for this range, whole pages of the system's size: somebody may hold the old ones by a dmabuf, and keeps them.
 * False: the old ones are still there, and the range must not be given to anybody else. */
bool arena_renew(const struct arena *arena, uint64_t offset, uint64_t len);

#endif
