/* SPDX-License-Identifier: MIT */
/* The event loop: level-triggered, and one event of each source a call, so that no client starves
 * another. */
#ifndef RXE_DM_SERVER_LOOP_H
#define RXE_DM_SERVER_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define LOOP_BATCH 16 /* events a system call */

struct loop {
	int epoll_fd;
	struct epoll_event ready[LOOP_BATCH];
	int next, count; /* of ready: the events that are not handled yet */
};

/* Embedded in the owner of the descriptor. ready() may free the owner, or that of another source,
 * after loop_del(). */
struct loop_source {
	int fd;
	void (*ready)(struct loop_source *source, uint32_t events);
};

int loop_init(struct loop *ret);
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events);
void loop_del(struct loop *loop, struct loop_source *source);
/* Also closes its descriptor, and sets fd to -1; nothing if it is -1. */
void loop_close(struct loop *loop, struct loop_source *source);
/* Handles what is ready within timeout_ms (-1: waits forever), at most LOOP_BATCH sources. Returns
 * the number of events, or a negative errno. ready() must not call it for the same loop. */
int loop_once(struct loop *loop, int timeout_ms);

#endif
