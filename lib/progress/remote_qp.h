/* SPDX-License-Identifier: MIT */
/* XRC targets that this process has open: the engine that has the queue pair modifies and queries
 * it, this process's own or that of another, which is asked by a remote request. */
#ifndef RXE_PROGRESS_REMOTE_QP_H
#define RXE_PROGRESS_REMOTE_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/qp.h"

struct ctl_remote_request;
struct progress;

/* The queue pair of another process or of this one. */
struct remote_qp {
	uint32_t qpn, xrcd;
	uint32_t epoch; /* of the slot in the number */
};

/* The request, and the answer in its place. */
struct remote_qp_call {
	struct rxe_qp_attr attr;
	uint32_t mask;
	uint32_t result; /* enum modify_result */
	uint32_t culprit;
	uint32_t is_busy; /* 1: nothing was done; to be asked again at once */
};

/* op: CTL_REMOTE_QP_*. Waits for the answer; not under the engine lock. 0; -ETIMEDOUT: the process
 * does not answer; -EIO: the queue pair has ended with its process. */
int remote_qp_call(struct progress *progress, const struct remote_qp *qp, uint32_t op,
		   struct remote_qp_call *call);
/* Executes a request of another process. Under the engine lock. False: no such queue pair. */
bool remote_qp_serve(struct progress *progress, struct ctl_remote_request *e, uint32_t op,
		     const struct remote_qp *qp, uint32_t len);

#endif
