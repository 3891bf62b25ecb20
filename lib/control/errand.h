/* SPDX-License-Identifier: MIT */
/* Errands: one process asks another to touch its own memory, because a key names memory there and nobody else may or can.
 *
 * Shared by all processes on a device and written by all: the one part of the shared memory that is. Nothing in it is
 * trusted: who runs an errand looks the key up himself. Each process has one errand out at a time, in the sheet of its
 * slot. To send it: fill the sheet, set its state to SENT, set the own bit in the owner's pending word, and if the owner
 * may be asleep ring his bell (a socket whose name stands in his slot). */
#ifndef RXE_CONTROL_ERRAND_H
#define RXE_CONTROL_ERRAND_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/limits.h"
#include "emu/queue.h"

#define CTL_REMOTE_BYTES 4096

enum ctl_remote_op {
	CTL_REMOTE_READ = 1,
	CTL_REMOTE_WRITE,
	CTL_REMOTE_CMP_SWAP,
	CTL_REMOTE_FETCH_ADD,
	CTL_REMOTE_SRQ_TAKE, /* key: an XRC SRQ's number, iova: its domain; bytes: struct ctl_remote_recv comes back */
	CTL_REMOTE_SRQ_DONE, /* likewise; bytes: the receive's completion, struct rxe_cqe */
};

/* The low two bits of a state; the others are a number that tells an errand from those before it. */
enum ctl_remote_phase {
	CTL_REMOTE_IDLE,  /* the sender's */
	CTL_REMOTE_SENT,  /* whoever changes it to TAKEN runs it; the sender may take it back */
	CTL_REMOTE_TAKEN, /* the owner's */
	CTL_REMOTE_DONE,  /* the sender's again */
};

#define CTL_REMOTE_PHASE 3u

struct ctl_remote_request {
	_Alignas(64) _Atomic uint64_t state;
	uint32_t op, key;
	uint64_t iova;
	uint32_t len, ok; /* ok: set by the owner */
	uint64_t compare_or_add, swap, orig;
	_Alignas(64) uint8_t bytes[CTL_REMOTE_BYTES];
};
static_assert(sizeof(struct ctl_remote_request) == 4096 + 64, "shared memory layout");

/* A receive that was taken: struct rxe_recv_wqe with room for all its SGEs. */
struct ctl_remote_recv {
	uint64_t wr_id;
	uint32_t len, num_sge;
	struct rxe_sge sge[RXE_MAX_SGE];
};

struct ctl_remote_requests {
	_Alignas(4096) struct {
		_Atomic uint64_t from[RXE_MAX_SLOTS / 64];	       /* bits of senders */
	} pending[RXE_MAX_SLOTS];				       /* by owner */
	_Alignas(4096) struct ctl_remote_request sheet[RXE_MAX_SLOTS]; /* by sender */
};

#endif
