/* SPDX-License-Identifier: MIT */
/* Completion counters (ibv_create_comp_cntr(3)): how many operations of the queue pairs that a
 * counter is attached to have completed, well or in error, with or without a completion in a CQ.
 * The engine adds; programs read, set and add at any time. */
#ifndef RXE_EMU_COMP_CNTR_H
#define RXE_EMU_COMP_CNTR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/cq.h"

/* Bits of enum ibv_qp_attach_comp_cntr_op, as places. */
enum rxe_cntr_op {
	RXE_CNTR_SEND,
	RXE_CNTR_RECV,
	RXE_CNTR_READ,
	RXE_CNTR_REMOTE_READ,
	RXE_CNTR_WRITE,
	RXE_CNTR_REMOTE_WRITE,
	RXE_CNTR_OPS,
};

struct rxe_comp_cntr {
	_Atomic uint64_t completed; /* operations, or their bytes */
	_Atomic uint64_t failed;    /* operations */
	bool counts_bytes;
};

/* Of a queue pair; NULL: none. */
struct rxe_comp_cntrs {
	struct rxe_comp_cntr *of[RXE_CNTR_OPS];
};

static inline void rxe_comp_cntr_add(const struct rxe_comp_cntrs *cntrs, enum rxe_cntr_op op,
				     enum rxe_wc_status status, uint32_t bytes)
{
	struct rxe_comp_cntr *cntr = cntrs->of[op];

	if (!cntr)
		return;
	/* Release: what the operation stored is there when a program sees it counted. */
	if (status != RXE_WC_SUCCESS)
		atomic_fetch_add_explicit(&cntr->failed, 1, memory_order_release);
	else
		atomic_fetch_add_explicit(&cntr->completed, cntr->counts_bytes ? bytes : 1,
					  memory_order_release);
}

#endif
