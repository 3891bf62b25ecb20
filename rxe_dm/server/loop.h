/* SPDX-License-Identifier: MIT */
/* The event loop: level-triggered, one event a call, so that no client starves another. */
#ifndef RXE_DM_SERVER_LOOP_H
#define RXE_DM_SERVER_LOOP_H

#include <stddef.h>
#include <stdint.h>

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct loop {
	int epoll_fd;
};

/* Embedded in the owner of the descriptor. ready() may free the owner. */
struct loop_source {
	int fd;
	void (*ready)(struct loop_source *source, uint32_t events);
};

int loop_init(struct loop *ret);
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events);
void loop_del(struct loop *loop, struct loop_source *source);
/* Handles at most one event, within timeout_ms (-1: waits forever). Returns the number of events
 * handled, or a negative errno. */
int loop_once(struct loop *loop, int timeout_ms);

#endif
