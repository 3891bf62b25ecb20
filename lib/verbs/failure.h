/* SPDX-License-Identifier: MIT */
/* Records queue pairs that enter error by themselves in the slot, for `rxe_dm show`. */
#ifndef RXE_VERBS_FAILURE_H
#define RXE_VERBS_FAILURE_H

#include "emu/host.h"

struct progress;

/* struct progress_owner: qp_failed. Under the engine lock. */
void vb_qp_failed(struct progress *progress, const struct rxe_qp *qp, enum rxe_failed what,
		  uint32_t status);

#endif
