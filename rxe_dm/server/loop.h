/* SPDX-License-Identifier: MIT */
/* The server's event loop: one descriptor at a time, level-triggered, so that no client can starve another. */
#ifndef RXE_DM_SERVER_LOOP_H
#define RXE_DM_SERVER_LOOP_H

#include <stddef.h>
#include <stdint.h>

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct loop {
	int epoll_fd;
};

/* Embedded in whatever owns the descriptor. ready may free its owner. */
struct loop_source {
	int fd;
	void (*ready)(struct loop_source *source, uint32_t events);
};

int loop_init(struct loop *ret);
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events);
void loop_del(struct loop *loop, struct loop_source *source);
/* Serve one event, or none within timeout_ms (-1: wait for ever). Returns how many, or a negative errno. */
int loop_once(struct loop *loop, int timeout_ms);

#endif
