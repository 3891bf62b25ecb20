/* SPDX-License-Identifier: MIT */
/* Reaching a region whose memory is another process's: by the kernel where it lets us, else by asking the owner. */
#ifndef RXE_PROGRESS_REMOTE_H
#define RXE_PROGRESS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/host.h"
#include "emu/limits.h"

struct progress;

/* What is known of another slot's process. Under the engine lock. */
struct remote_peer {
	uint32_t epoch; /* of the process that this is about */
	bool asked,
		refused; /* the kernel, which says yes or no to a process and not to an access */
	bool deaf; /* it let our last errand lie: nothing is asked of it before it has moved */
	uint32_t allow_ns; /* so long we stand still for an answer */
	uint64_t rung_ns;
	uint64_t lag_began_ns; /* since when nothing that was asked was answered; 0: it answers */
};

struct remote_requests {
	int bell_fd; /* -1: none; readable when somebody has rung */
	uint64_t number;
	uint32_t owner, epoch; /* who has our sheet, or had it last */
	bool no_vm;	       /* RXE_DM_NO_VM=1: as if the kernel refused all */
	bool is_deferred;      /* the last access failed for now, not for good */
	struct remote_peer peer[RXE_MAX_SLOTS];
};

/* The attachment is new: hang up the bell. Without one (no descriptors left) others wait in vain. */
void remote_open(struct progress *progress);
void remote_close(struct progress *progress);
/* Under the engine lock and with the gauge up: run what others have sent here. */
void remote_run(struct progress *progress);
/* The bell's descriptor was readable. */
void remote_heard(struct progress *progress);

/* Likewise. The key was checked and is a foreign process's plain memory. False: it does not let us, has not answered yet
 * (remote_is_late()) or at all, has gone, or the memory has. */
bool remote_read(struct progress *progress, const struct rxe_mr *mr, uint64_t iova, void *dst,
		 size_t len);
bool remote_write(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		  const void *src, size_t len);
/* Something else than memory: CTL_REMOTE_SRQ_*, with len bytes that go there and come back. */
bool remote_ask(struct progress *progress, uint32_t owner, uint32_t epoch, uint32_t op,
		uint32_t key, uint64_t iova, void *bytes, size_t len);
bool remote_atomic(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		   enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		   uint64_t *ret_orig);
/* Asked once, right after an access failed: was it that the owner has not answered yet? Then nothing has happened, and the same
 * may be asked again. */
bool remote_was_deferred(void *host);

#endif
