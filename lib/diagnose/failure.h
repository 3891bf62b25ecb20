/* SPDX-License-Identifier: MIT */
/* What is written down when a queue pair goes to error by itself: for `rxe_dm show`, which may come when the process has gone. */
#ifndef RXE_DIAGNOSE_FAILURE_H
#define RXE_DIAGNOSE_FAILURE_H

#include <stddef.h>

#include "emu/host.h"
#include "emu/qp.h"

struct progress;

/* struct progress_owner: qp_failed. */
void vb_failure(struct progress *progress, const struct rxe_qp *qp, enum rxe_failed what,
		uint32_t status);

/* The probable cause, in one sentence. Looks at the queue pair as it failed, and at the peer's if it is of the same device. */
void vb_failure_cause(char *ret, size_t size, const struct progress *progress,
		      const struct rxe_qp *qp, enum rxe_failed what, enum rxe_wc_status status);

#endif
