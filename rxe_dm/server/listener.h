/* SPDX-License-Identifier: MIT */
/* Listening sockets, all of which behave alike where no descriptor is left. */
#ifndef RXE_DM_SERVER_LISTENER_H
#define RXE_DM_SERVER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rxe_dm/server/loop.h"

struct ctl_name;

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
/* Finds the listener of a SOCK_SEQPACKET name. -ECONNREFUSED: there is none; -EAGAIN: the backlog
 * is full; or another negative errno. */
int listener_holder(const struct ctl_name *name, pid_t *ret_pid, uid_t *ret_uid);

#endif
