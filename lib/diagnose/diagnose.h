/* SPDX-License-Identifier: MIT */
/* Why a queue pair failed, in one sentence for people.
 *
 * A completion's status says what the standard says. This room adds what the device knows
 * besides: retry budgets, PSNs, the keys of the request, the peer's queue pair if the peer uses
 * the same device, and the fault rules that fired. It reads the failed queue pair and the shared
 * memory and changes neither. lib/verbs calls it once per failure, under the engine lock. */
#ifndef RXE_DIAGNOSE_DIAGNOSE_H
#define RXE_DIAGNOSE_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/host.h"
#include "emu/qp.h"

struct ctl_shared;
struct gid;

/* What a diagnosis reads besides the queue pair. */
struct diagnosis {
	const struct gid *gids; /* RXE_MAX_GIDS of this device */
	const struct ctl_shared *shared;
	uint32_t slot; /* of this process */
	uint32_t link; /* enum ctl_link: how packets travel */
};

/* Writes the probable cause of qp's failure, shortened to size bytes. qp is still as it failed:
 * its queues are not flushed. */
void diagnose_failure(char *ret, size_t size, const struct diagnosis *d, const struct rxe_qp *qp,
		      enum rxe_failed what, enum rxe_wc_status status);

#endif
