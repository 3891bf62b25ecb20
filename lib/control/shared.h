/* SPDX-License-Identifier: MIT */
/* What the device server and its clients share of one device, by memfd: the key table, and a page set for each slot.
 *
 * The server writes the header, the table and a slot's pid; the slot's process writes the rest of its slot. */
#ifndef RXE_CONTROL_SHARED_H
#define RXE_CONTROL_SHARED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/counters.h"
#include "emu/limits.h"
#include "emu/mr.h"

/* One queue pair as `rxe_dm show` prints it. Written by the client under its engine lock: qpn first cleared, last set. */
struct ctl_shared_qp {
	_Atomic uint32_t qpn; /* 0: empty */
	uint32_t type, state, pd;
	uint32_t dest_qpn, path_mtu, sq_psn, rq_psn;
};
static_assert(sizeof(struct ctl_shared_qp) == 32, "shared memory layout");

struct ctl_slot {
	_Atomic uint32_t
		inside; /* gauge: threads between key lookup and last byte. Seen at zero after a key was cleared means
	                           * nobody uses it any more (sequentially consistent on both sides) */
	_Atomic int32_t pid; /* 0: free */
	_Atomic uint32_t epoch;
	uint32_t num_cqs, num_srqs, num_ahs;
	char comm[16];
	struct rxe_counters counters;
	struct ctl_shared_qp qp[RXE_MAX_QP];
};

struct ctl_shared {
	uint64_t magic;
	uint32_t version;
	_Atomic uint32_t port_state; /* enum ibv_port_state: 4 ACTIVE, 1 DOWN */
	_Atomic uint32_t gone;	     /* 1: the server has ended; QPs flush */
	uint32_t reserved[11];
	struct rxe_mr_table mrs;
	struct ctl_slot slot[RXE_MAX_SLOTS];
};

#endif
