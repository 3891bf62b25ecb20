/* SPDX-License-Identifier: MIT */
/* The memory behind a device's DM: one memfd, pinned as far as the machine lets us. */
#ifndef RXE_DM_ARENA_H
#define RXE_DM_ARENA_H

#include <stdbool.h>
#include <stdint.h>

struct arena {
	int fd;
	uint8_t *base;
	uint64_t bytes;	 /* what is granted from */
	uint64_t mapped; /* the same, rounded up to the page size */
	uint64_t page;
	uint64_t locked; /* bytes that stay in memory once used */
	char kind[24];	 /* for people */
};

/* 0 or a negative errno. Costs no memory yet: pages come when they are used. */
int arena_init(struct arena *ret, uint64_t bytes);
void arena_fini(struct arena *arena);
/* Fresh pages for this range, whole pages of the system's size: somebody may hold the old ones by a dmabuf, and keeps them.
 * False: the old ones are still there, and the range must not be given to anybody else. */
bool arena_renew(const struct arena *arena, uint64_t offset, uint64_t len);

#endif
