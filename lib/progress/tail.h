/* SPDX-License-Identifier: MIT */
/* The last packets of this process, as much of each as tells what it was: for `rxe_dm show --packets`, should a queue pair fail. Of a
 * call with many packets only the first and the last are noted. It costs 3 ns a call of the link, beside more than a microsecond of
 * system call: so it is always done, unless RXE_DM_TAIL=0. Under the engine lock. */
#ifndef RXE_PROGRESS_TAIL_H
#define RXE_PROGRESS_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/control/failure.h"
#include "net/wire/train.h"

#define VB_TAIL_PACKETS 512u /* of all queue pairs together; a power of two */

struct progress;
struct rxe_qp;

struct vb_tail {
	const struct progress *progress;
	uint32_t next;	  /* free-running */
	uint32_t stamped; /* those before it have their time */
	struct ctl_packet at[VB_TAIL_PACKETS];
};

/* Begin to note packets, unless RXE_DM_TAIL is 0. Without memory none are noted. */
void vb_tail_open(struct progress *progress);

void vb_tail_sent(struct vb_tail *tail, const struct wire_train *trains, size_t n);
void vb_tail_arrived(struct vb_tail *tail, const struct wire_arrival *arrivals, size_t n);
/* The last ones of the queue pair, oldest first; how many. */
uint32_t vb_tail_of(struct vb_tail *tail, const struct rxe_qp *qp,
		    struct ctl_packet ret[static CTL_FAILURE_PACKETS]);

#endif
