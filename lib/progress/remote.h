/* SPDX-License-Identifier: MIT */
/* Access to a region in another process's memory: through the kernel where it permits, else by a
 * remote request to the owner. */
#ifndef RXE_PROGRESS_REMOTE_H
#define RXE_PROGRESS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/host.h"
#include "emu/limits.h"
#include "emu/qp.h"

struct ctl_remote_request;
struct progress;
struct rxe_claim;
struct rxe_cqe;
struct rxe_srq;

/* State towards the process of another slot. The engine lock protects it. */
struct remote_peer {
	/* The epoch of the process that this describes. */
	uint32_t epoch;
	/* A test has shown whether the kernel permits copies; it does not. */
	bool checked;
	bool refused;
	/* The owner left our last request in the mailbox: it gets no other before it has read its
	 * pending words. */
	bool unresponsive;
	/* Time to wait for an answer with the engine lock held. */
	uint32_t wait_ns;
	/* When its doorbell last rang. */
	uint64_t rang_ns;
	/* 0: it answers. */
	uint64_t unanswered_since_ns;
};

struct remote_requests {
	/* Readable after a doorbell; -1: none. */
	int doorbell_fd;
	/* The number of the last request. */
	uint64_t number;
	/* RXE_DM_NO_VM=1: as if the kernel refused every copy. */
	bool no_vm;
	/* The last access may be tried again, here or by memory.c. */
	bool is_deferred;
	/* A request of this process waits for its answer, maybe inside a turn of the engine. It
	 * runs the requests of others meanwhile. */
	bool is_waiting;
	struct remote_peer peer[RXE_MAX_SLOTS];
};

/* The process has attached: opens the doorbell socket and publishes its name. Without one, other
 * processes cannot wake this one. */
void remote_open(struct progress *progress);
void remote_close(struct progress *progress);
/* Whether other processes have sent requests. */
bool remote_is_asked(const struct progress *progress);
/* Executes the requests that other processes have sent. Callers hold the engine lock and the
 * gauge. */
void remote_run(struct progress *progress);
/* The doorbell's descriptor is readable: reads it empty. */
void remote_doorbell_rang(struct progress *progress);

/* Accesses plain memory of another process; the caller has checked the key, and holds the engine
 * lock and the gauge. False: the owner has not answered yet (remote_was_deferred()), has exited, or
 * the memory is unmapped. */
bool remote_read(struct progress *progress, const struct rxe_mr *mr, uint64_t iova, void *dst,
		 size_t len);
bool remote_write(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		  const void *src, size_t len);
/* Sends a request CTL_REMOTE_SRQ_* or CTL_REMOTE_QP_*: len bytes go to the owner and come back. */
bool remote_ask(struct progress *progress, uint32_t owner, uint32_t epoch, uint32_t op,
		uint32_t key, uint64_t iova, void *bytes, size_t len);
bool remote_atomic(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		   enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		   uint64_t *ret_orig);
/* Call once, right after an access failed. True: the owner has not answered yet. Then the access
 * has not happened, and may be tried again. */
bool remote_was_deferred(void *host);

/* remote_xrc.c: XRC SRQs. A request to an XRC target may name an SRQ of another process in the same
 * XRC domain. */

/* Other processes can find the SRQ from now on, or no longer. Callers hold the engine lock. */
void remote_srq_publish(struct progress *progress, const struct rxe_srq *srq);
void remote_srq_unpublish(struct progress *progress, const struct rxe_srq *srq);

/* rxe_host_ops: emu/host.h. */
bool remote_srq_find(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd);
bool remote_srq_take(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret);
bool remote_srq_done(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe);

/* Executes another process's request to our SRQ srqn in XRC domain xrcd. len: bytes in the mailbox.
 * Callers hold the engine lock. */
bool remote_srq_serve(struct progress *progress, struct ctl_remote_request *e, uint32_t op,
		      uint32_t srqn, uint64_t xrcd, uint32_t len);

/* remote_xrc.c: XRC targets that several processes have open. The engine that has the queue pair
 * modifies and queries it, for its own process and for others (progress_qp_call). */

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

/* Executes a request on a queue pair of this process. Under the engine lock. False: no such queue
 * pair. */
bool remote_qp_run(struct progress *progress, uint32_t op, const struct remote_qp *of,
		   struct remote_qp_call *call);
bool remote_qp_serve(struct progress *progress, struct ctl_remote_request *e, uint32_t op,
		     const struct remote_qp *qp, uint32_t len);

#endif
