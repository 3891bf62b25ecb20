/* SPDX-License-Identifier: MIT */
/* A connection to the server: one process, one request at a time. */
#ifndef RXE_DM_SERVER_CONN_H
#define RXE_DM_SERVER_CONN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/control/protocol.h"
#include "rxe_dm/server/loop.h"

struct attachment;
struct capture;
struct cm_fault_counts;
struct cm_channel;
struct context;
struct device;
struct instance;
struct object;
struct user;

/* Results of a handler beside 0 and a negative errno: it is called again after other clients. */
enum serve_result {
	SERVE_MORE = 1, /* again at once: a large request is done in steps */
	SERVE_WAIT = 2, /* again after some time: other processes must finish first */
};

/* The request in progress, and its reply. Kept until the handler returns 0 or an error. */
struct call {
	struct conn *conn;
	struct ctl_request req;
	struct ctl_reply reply;
	int in_fd; /* descriptor of the request; a handler that keeps it sets -1 */
	int out_fd[CTL_MAX_FDS];
	size_t num_out;
	uint32_t keep_out; /* bit n: out_fd[n] stays open; the others are closed once sent */
	struct device *device;
	struct attachment *attachment; /* of the process to the device; NULL: it has no slot */
	struct context *context;       /* NULL: the request needs none */
	struct user *user;
	uint32_t made; /* handle of the new object, between two calls of a handler */
	uint64_t stamp, done;
	uint64_t deadline_ns; /* 0: not set */
};

struct conn {
	struct conn *prev, *next;   /* of the instance */
	struct conn *wprev, *wnext; /* of the instance's working ones, while pending is not 0 */
	struct instance *instance;
	struct loop_source sock;
	struct loop_source death; /* pidfd: a forked child may keep the socket open */
	pid_t pid;
	uint32_t role; /* enum ctl_role; 0 before the hello */
	struct user *users;
	struct attachment *attached[CTL_DEVICE_MAX];
	struct capture *captures; /* captures that this connection has started */
	struct cm_channel *cm_channels;
	uint32_t last_cm_channel;
	struct cm_fault_counts *cm_calls; /* for each device; NULL: none yet */
	int pending; /* enum serve_result of the call in progress; 0: none, the next is read */
	struct call call;
};

/* Takes over the descriptor. */
void conn_open(struct instance *instance, int fd);
/* Frees everything that the process held. */
void conn_close(struct conn *conn);
/* Continues the call in progress. Returns pending after that; 0: the call is done, and the
 * connection may be freed. */
int conn_resume(struct conn *conn);

#endif
