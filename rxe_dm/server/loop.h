/* SPDX-License-Identifier: MIT */
/* The event loop: level-triggered, and one event of each source a call, so that no client starves
 * another; and listening sockets, all of which behave alike where no descriptor is left. */
#ifndef RXE_DM_SERVER_LOOP_H
#define RXE_DM_SERVER_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "lib/control/socket.h"

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

/* What the listeners of an instance share. */
struct listeners {
	int spare_fd; /* closed to accept and refuse a connection; -1: none could be had */
	struct listener *paused; /* not in their loops until resume_ns */
	uint64_t resume_ns;
};

struct listener {
	struct listener *prev, *next; /* of those that are paused */
	struct listeners *all;
	struct loop *loop;
	struct loop_source source; /* fd -1: not open */
	/* Where no descriptor is left, connections wait until one is free; else they are closed. */
	bool is_patient, is_paused;
	/* Takes over the descriptor of a connection. */
	void (*accepted)(struct listener *listener, int fd);
};

void listeners_init(struct listeners *ret);
void listeners_fini(struct listeners *all);
/* Watches paused listeners again. Returns when that is due next; UINT64_MAX: none is paused. */
uint64_t listeners_resume(struct listeners *all, uint64_t now_ns);

/* Begins to accept connections of source.fd. all, loop, source.fd and accepted are set. */
int listener_watch(struct listener *listener);
/* Ends that. The descriptor stays open. */
void listener_unwatch(struct listener *listener);
/* Ends that and closes the descriptor, if there is one. */
void listener_close(struct listener *listener);

/* Returns a listening socket of this name, or a negative errno. */
int listener_bind(const struct ctl_name *name, int type);
/* Asks who listens on a name of type SOCK_SEQPACKET. -ECONNREFUSED: nobody; -EAGAIN: the backlog is
 * full; or another negative errno. */
int listener_holder(const struct ctl_name *name, pid_t *ret_pid, uid_t *ret_uid);

#endif
