/* SPDX-License-Identifier: MIT */
/* The event loop.
 *
 * Starvation. Events are level-triggered: a source that is ready and was not handled stays ready.
 * epoll moves each source that it reports to the end of its ready list, so a source that is always
 * ready waits for all others that are ready before it is reported again. A call handles each source
 * at most once, and a handler does a bounded amount of work: it accepts one connection, reads one
 * request, or continues one call by one step.
 *
 * Lifetime. A source is embedded in the owner of its descriptor, and the kernel holds a pointer to
 * it. So loop_del() comes before the owner is freed, and before the descriptor is closed: a
 * duplicate in another process would keep it in the epoll set. Up to LOOP_BATCH pointers are in
 * ready[], fetched and not handled yet. A handler may end any source, also its own: loop_del()
 * removes the pointer there, and loop_once() does not touch a source after its handler. So a new
 * source at the address of one that was freed gets no event of the former one. */
#ifndef RXE_DM_SERVER_LOOP_H
#define RXE_DM_SERVER_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

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
/* The timeout of loop_once() that ends when something is due, in milliseconds rounded up;
 * UINT64_MAX: -1. What an int cannot hold is cut: the caller computes the rest when it ends. */
int loop_timeout_ms(uint64_t due_ns, uint64_t now_ns);

#endif
