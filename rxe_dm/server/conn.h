/* SPDX-License-Identifier: MIT */
/* A connection to the server: one process, one request at a time. */
#ifndef RXE_DM_SERVER_CONN_H
#define RXE_DM_SERVER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/control/protocol.h"
#include "rxe_dm/server/loop.h"

struct attachment;
struct capture;
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
	size_t keep_out; /* number of out_fd that stay open; the others are closed once sent */
	struct device *device;
	struct context *context; /* NULL: the request needs none */
	struct user *user;
	uint32_t made; /* handle of the new object, between two calls of a handler */
	uint64_t stamp, done;
	uint64_t deadline_ns; /* 0: not set */
};

struct conn {
	struct conn *prev, *next; /* of the instance */
	struct instance *instance;
	struct loop_source sock;
	struct loop_source death; /* pidfd: a forked child may keep the socket open */
	pid_t pid;
	uint32_t role; /* enum ctl_role; 0 before the hello */
	struct user *users;
	struct attachment *attached[CTL_DEVICE_MAX];
	struct capture *captures; /* captures that this connection has started */
	int pending; /* enum serve_result: call is in progress, and nothing is read meanwhile; 0: none */
	struct call call;
};

/* Takes over the descriptor. */
void conn_open(struct instance *instance, int fd);
/* Frees everything that the process held. */
void conn_close(struct conn *conn);
/* Continues the call in progress. */
void conn_resume(struct conn *conn);

/* serve_*.c */
typedef int (*serve_fn)(struct call *call);
enum serve_needs {
	NEEDS_NOTHING,
	NEEDS_DEVICE,
	NEEDS_CONTEXT, /* a context that the process has opened or imported */
};
struct serve_row {
	serve_fn serve;
	enum serve_needs needs;
};
extern const struct serve_row serve_table[CTL_OP_END];

int serve_device(struct call *call);
int serve_attach(struct call *call);
int serve_detach(struct call *call);
int serve_open(struct call *call);
int serve_close(struct call *call);
int serve_adopt(struct call *call);
int serve_alloc_pd(struct call *call);
int serve_use_pd(struct call *call);
int serve_reg_mr(struct call *call);
int serve_rereg_mr(struct call *call);
int serve_alloc_dm(struct call *call);
int serve_export_dm(struct call *call);
int serve_alloc_dmah(struct call *call);
int serve_reg_umem(struct call *call);
int serve_open_xrcd(struct call *call);
int serve_free(struct call *call);
int serve_query(struct call *call);
int serve_observe(struct call *call);
int serve_objects(struct call *call);
int serve_capture(struct call *call);
int serve_fault(struct call *call);
int serve_cm(struct call *call);
int serve_status(struct call *call);
int serve_stay(struct call *call);
void serve_describe(const struct object *object, struct ctl_object *ret);

#endif
