/* SPDX-License-Identifier: MIT */
/* Remote requests: one process asks the owner of memory, or of an XRC SRQ, to access it, or the
 * process that has an XRC target to modify it.
 *
 * This is the only part of the shared memory that all processes map writable, so the bits of those
 * that listen on the private wire (emu/raw/raw.h) are also here, the bells of the memory link, and
 * the counts of announced datagrams.
 * The owner trusts nothing in it, and looks the key up itself. Each process has at most one request
 * in flight, in the mailbox of its slot. The sender fills the mailbox, sets its state to SENT, sets
 * its own bit in the owner's pending words, and sends a datagram to the owner's doorbell socket,
 * whose name is in the owner's slot. The mailbox names the owner by slot and epoch: a process that
 * finds a sender's bit late leaves the request that the sender has sent to another process
 * meanwhile. */
#ifndef RXE_CONTROL_REMOTE_REQUEST_H
#define RXE_CONTROL_REMOTE_REQUEST_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/limits.h"
#include "emu/queue.h"
#include "net/link/memory/bell.h"

#define CTL_REMOTE_BYTES 4096

enum ctl_remote_op {
	CTL_REMOTE_READ = 1,
	CTL_REMOTE_WRITE,
	CTL_REMOTE_CMP_SWAP,
	CTL_REMOTE_FETCH_ADD,
	CTL_REMOTE_SRQ_TAKE,  /* key: SRQ number, iova: XRC domain; returns a ctl_remote_recv */
	CTL_REMOTE_QP_MODIFY, /* key: QPN, iova: XRC domain; bytes: a ctl_remote_qp, both ways */
	CTL_REMOTE_QP_QUERY,
	CTL_REMOTE_SRQ_DONE, /* key, iova: likewise; bytes: the completion, struct rxe_cqe */
};

/* The low two bits of a state. The other bits are a sequence number of the sender's requests. */
enum ctl_remote_phase {
	CTL_REMOTE_IDLE,  /* the sender owns the mailbox */
	CTL_REMOTE_SENT,  /* the owner may change it to TAKEN, the sender may withdraw it */
	CTL_REMOTE_TAKEN, /* the owner runs it */
	CTL_REMOTE_DONE,  /* the sender owns the mailbox again */
};

#define CTL_REMOTE_PHASE 3u

struct ctl_remote_request {
	_Alignas(64) _Atomic uint64_t state;
	uint32_t op, key;
	uint64_t iova;
	uint32_t len, ok; /* ok: set by the owner */
	uint64_t compare_or_add, swap, orig;
	_Atomic uint32_t owner, epoch; /* whom the request is for: slot, and the slot's epoch */
	_Alignas(64) uint8_t bytes[CTL_REMOTE_BYTES];
};
static_assert(sizeof(struct ctl_remote_request) == 4096 + 64, "shared memory layout");

/* A receive taken from an SRQ: struct rxe_recv_wqe with all its SGEs. */
struct ctl_remote_recv {
	uint64_t wr_id;
	uint32_t len, num_sge;
	struct rxe_sge sge[RXE_MAX_SGE];
};

/* Datagrams that were sent to a slot's socket (lib/progress/local_peer.h). A hint only: a process
 * that counts more makes the other read its socket in vain, one that counts less delays a packet by
 * ARRIVALS_LOOK_NS. */
struct ctl_announced {
	_Alignas(64) _Atomic uint32_t datagrams;
};

struct ctl_remote_requests {
	_Alignas(4096) struct {
		_Atomic uint64_t from[RXE_MAX_SLOTS / 64];		 /* bits of senders */
	} pending[RXE_MAX_SLOTS];					 /* by owner */
	_Alignas(4096) struct ctl_remote_request mailbox[RXE_MAX_SLOTS]; /* by sender */
	/* Slots whose process has flows: each sets its own bit, the server clears it at the end. */
	_Alignas(4096) _Atomic uint64_t raw_listeners[RXE_MAX_SLOTS / 64];
	struct memory_bell bells[RXE_MAX_SLOTS];
	/* By the slot whose socket they go to. */
	struct ctl_announced announced[RXE_MAX_SLOTS];
};

#endif
