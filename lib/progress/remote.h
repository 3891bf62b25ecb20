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

struct progress;

/* State towards the process of another slot. The engine lock protects it. */
struct remote_peer {
	/* Of the process that this describes. */
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
	/* Of the last request. */
	uint64_t number;
	/* The process that got the last request. */
	uint32_t owner, epoch;
	/* RXE_DM_NO_VM=1: as if the kernel refused every copy. */
	bool no_vm;
	/* The last access may be tried again. */
	bool is_deferred;
	/* A request of this process waits for its answer, maybe inside a turn of the engine. */
	bool is_waiting;
	struct remote_peer peer[RXE_MAX_SLOTS];
};

/* The process has attached: opens the doorbell socket and publishes its name. Without one, other
 * processes cannot wake this one. */
void remote_open(struct progress *progress);
void remote_close(struct progress *progress);
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
/* Requests of others run while this process waits for an answer itself. */
bool remote_is_waiting(const struct progress *progress);
/* The access that is about to return false may be tried again for another reason. */
void remote_defer(struct progress *progress);
/* Call once, right after an access failed. True: the owner has not answered yet. Then the access
 * has not happened, and may be tried again. */
bool remote_was_deferred(void *host);

#endif
