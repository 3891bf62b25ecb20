/* SPDX-License-Identifier: MIT */
/* Reaching a region whose memory is another process's: by the kernel where it lets us, else by asking the owner. */
#ifndef RXE_VERBS_ERRAND_H
#define RXE_VERBS_ERRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/host.h"
#include "emu/limits.h"

struct dm_device;

/* What is known of another slot's process. Under the engine lock. */
struct dm_errand_peer {
	uint32_t epoch; /* of the process that this is about */
	bool asked,
		refused; /* the kernel, which says yes or no to a process and not to an access */
	bool deaf; /* it let an errand lie until we lost patience: nobody waits for it again before it has moved */
};

struct dm_errands {
	int bell_fd; /* -1: none; readable when somebody has rung */
	uint64_t number;
	uint32_t owner, epoch; /* who has our sheet, or had it last */
	bool no_vm;	       /* RXE_DM_NO_VM=1: as if the kernel refused all */
	struct dm_errand_peer peer[RXE_MAX_SLOTS];
};

/* The attachment is new: hang up the bell. Without one (no descriptors left) others wait in vain. */
void dm_errands_open(struct dm_device *dev);
void dm_errands_close(struct dm_device *dev);
/* Under the engine lock and with the gauge up: run what others have sent here. */
void dm_errands_run(struct dm_device *dev);
/* The bell's descriptor was readable. */
void dm_errands_heard(struct dm_device *dev);

/* Likewise. The key was checked and is a foreign process's plain memory. False: it does not let us, does not answer in time,
 * has gone, or the memory has. */
bool dm_errand_read(struct dm_device *dev, const struct rxe_mr *mr, uint64_t iova, void *dst,
		    size_t len);
bool dm_errand_write(struct dm_device *dev, const struct rxe_mr *mr, uint64_t iova, const void *src,
		     size_t len);
bool dm_errand_atomic(struct dm_device *dev, const struct rxe_mr *mr, uint64_t iova,
		      enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		      uint64_t *ret_orig);

#endif
