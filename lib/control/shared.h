/* SPDX-License-Identifier: MIT */
/* Memory that the server and the clients of a device share, a memfd: tables, and pages of each
 * slot.
 *
 * The server writes the header, the tables and a slot's pid; the slot's process writes the rest of
 * its slot. In a client all but its own slot and the remote requests is mapped read-only.
 *
 * Access to the memory of a key or DM handle: raise the slot's gauge (inside), look the key or
 * handle up, move the bytes, lower the gauge. All sequentially consistent: the server first clears
 * the key, then reads the gauges. */
#ifndef RXE_CONTROL_SHARED_H
#define RXE_CONTROL_SHARED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/rc/time_wait.h"
#include "lib/control/presence.h"
#include "lib/control/remote_request.h"
#include "lib/inject/rule.h"
#include "net/link/capture/tail.h"
#include "net/link/udp/udp.h"
#include "net/wire/gid.h"

#define CTL_SHARED_PAGE	  4096
#define CTL_CHECKED_BYTES (256u * 1024)

/* Type of a work queue in records of failures: no value of enum ibv_qp_type. */
#define CTL_QPT_WQ 30

/* One queue pair for `rxe_dm show`, and for diagnoses and checks of its peers. The client writes it
 * under its engine lock: qpn cleared first, set last. */
struct ctl_shared_qp {
	_Atomic uint32_t qpn; /* 0: empty */
	uint32_t type, state, pd;
	uint32_t dest_qpn, path_mtu, sq_psn, rq_psn;
	uint32_t access; /* qp_access_flags */
	uint8_t max_rd_atomic, max_dest_rd_atomic, reserved[2];
};
static_assert(sizeof(struct ctl_shared_qp) == 40, "shared memory layout");

/* An XRC SRQ, for the XRC targets of other processes. Written in the order of ctl_shared_qp. */
struct ctl_shared_srq {
	_Atomic uint32_t srqn; /* 0: empty */
	uint32_t pd, xrcd, reserved;
};
static_assert(sizeof(struct ctl_shared_srq) == 16, "shared memory layout");

/* Counters of packets lost outside the engine: by the link, in the kernel's sockets, by fault rules
 * that could not be applied. The engine's counters (emu/engine.h) cover the packets that it sees,
 * and as send_err (rdma_rxe's name) those that the link could not send.
 *
 * A process counts its losses in its slot. The server adds what the kernel drops at a full receive
 * buffer, also for a stopped program (rxe_dm/server/slot.c). */
#define CTL_LOST(X)                                                                                 \
	X(link_recv_drops) /* packets or trains dropped at a full receive buffer */                 \
	X(foreign_drops) /* UDP: packets or trains of this host from a sender without permission */ \
	X(link_bad_frames) /* on an interface: frames to the device that are not valid RoCE v2 */   \
	X(fault_overflows) /* packets that a rule could not delay: too many are delayed already */  \
	X(fault_unanswered) /* requests that a rule could not answer: no NAK would be valid */      \
	X(port_down_drops)  /* while the port is down or its address is not in the GID table */

struct ctl_lost {
#define X(name) uint64_t name;
	CTL_LOST(X)
#undef X
};
static_assert(sizeof(struct ctl_lost) == 48, "shared memory layout");

#define CTL_FAILURE_PACKETS  16u
#define CTL_FAILURE_WHY	     256u
#define CTL_FAILURES_OF_SLOT 8u
#define CTL_FAILURES_KEPT    32u

/* Failures: queue pairs that went to error other than by ibv_modify_qp(), with the probable cause
 * in one sentence and the last packets, for `rxe_dm show`. A process writes the failures of its
 * slot; the server keeps the last ones of processes that have exited. */
struct ctl_failure {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t epoch_ns; /* since 1970 */
	uint64_t wr_id;
	struct gid peer;
	int32_t pid;
	char comm[16];
	uint32_t qpn, dest_qpn, type;
	uint32_t status; /* enum rxe_wc_status of the work request; 0: none is concerned */
	uint32_t has_wr;
	uint32_t num_packets;
	uint32_t watched; /* packets were recorded at that time */
	char why[CTL_FAILURE_WHY];
	struct tail_packet packet[CTL_FAILURE_PACKETS]; /* oldest first */
};
static_assert(sizeof(struct ctl_failure) % 8 == 0, "shared memory layout");

/* count is never reset, and raised after its entry is complete: at[(count - 1) % n] is newest. */
struct ctl_slot_failures {
	_Atomic uint32_t count;
	struct ctl_failure at[CTL_FAILURES_OF_SLOT];
};

struct ctl_kept_failures {
	_Atomic uint32_t count;
	struct ctl_failure at[CTL_FAILURES_KEPT];
};

/* Refusals: calls of libibverbs and librdmacm that returned an error, with the reason in one
 * sentence, for `rxe_dm show`. Kept as failures are. */
#define CTL_REFUSAL_CALL     40u
#define CTL_REFUSAL_WHY	     256u
#define CTL_REFUSALS_OF_SLOT 8u
#define CTL_REFUSALS_KEPT    64u

struct ctl_refusal {
	uint64_t time_ns;  /* CLOCK_MONOTONIC, of the last time */
	uint64_t epoch_ns; /* since 1970 */
	int32_t pid;
	char comm[16];
	int32_t error;	/* positive errno */
	uint32_t times; /* that the call was refused so, one after the other */
	uint32_t reserved;
	char call[CTL_REFUSAL_CALL];
	char why[CTL_REFUSAL_WHY];
};
static_assert(sizeof(struct ctl_refusal) == 344, "shared memory layout");

struct ctl_slot_refusals {
	_Atomic uint32_t count;
	struct ctl_refusal at[CTL_REFUSALS_OF_SLOT];
};

struct ctl_kept_refusals {
	_Atomic uint32_t count;
	struct ctl_refusal at[CTL_REFUSALS_KEPT];
};

/* Fault rules: text that the server writes, and counts of each process. */
struct ctl_fault {
	uint32_t id; /* 0: the place is free */
	uint32_t reserved;
	uint64_t fired; /* sum over processes that have exited */
	char text[INJECT_TEXT_MAX];
};
static_assert(sizeof(struct ctl_fault) == 272, "shared memory layout");

/* generation is odd while the server changes something: a reader checks it before and after. */
struct ctl_faults {
	_Atomic uint32_t generation;
	uint32_t next_id;
	_Atomic uint32_t fatal;	 /* counts: odd while the device is fatal */
	_Atomic uint32_t silent; /* 1: packets neither leave nor arrive */
	struct ctl_fault at[FAULT_MAX_RULES];
};

/* In a slot, by the place of the rule: how often rule id fired in its process. */
struct ctl_fault_count {
	_Atomic uint32_t id;
	uint32_t reserved;
	_Atomic uint64_t fired;
};
static_assert(sizeof(struct ctl_fault_count) == 16, "shared memory layout");

/* What a process found out about a peer that it waits for, when a timer expired last. */
struct ctl_stopped_peer {
	_Atomic uint32_t epoch;	   /* of the peer's slot; 0: the peer is not stopped */
	_Atomic uint64_t since_ns; /* CLOCK_MONOTONIC, when it was found stopped */
	_Atomic uint64_t asked_ns; /* ... and when it was found so last */
};
static_assert(sizeof(struct ctl_stopped_peer) == 24, "shared memory layout");

/* The same about a peer on another device of this machine (published.h). One writer, so that a
 * reader finds text that may be mixed while another peer takes the place. */
#define CTL_STOPPED_ELSEWHERE 8u

struct ctl_stopped_elsewhere {
	struct ctl_stopped_peer peer; /* the epoch is of its slot on its device */
	struct gid gid;
	uint32_t slot;
	int32_t pid;
	char comm[16];
	char instance[40];
};
static_assert(sizeof(struct ctl_stopped_elsewhere) == 104, "shared memory layout");

struct ctl_slot {
	/* Gauge: number of threads between a key lookup and the last byte moved. Zero after a key
	 * was cleared: the process no longer uses the key. */
	_Alignas(CTL_SHARED_PAGE) _Atomic uint32_t inside;
	_Atomic int32_t pid; /* 0: free */
	/* Counts the processes that had this slot; rxe_mr.epoch is compared with it. */
	_Atomic uint32_t epoch;
	/* Last QPN number in use (16 bits). The slot's next process continues after it. */
	_Atomic uint32_t qpn_roll;
	char comm[16];
	/* For remote requests: the name of the doorbell socket, its length first. */
	uint8_t doorbell[16];
	/* A random number and its address in the process: proves to a reader that it found the
	 * process. */
	uint64_t cookie, cookie_at;
	uint64_t qpn_key; /* written by the server: determines the order of the slot's QPNs */
	/* Bytes of UC and UD (emu/pace.h): received from this slot's socket, and sent to each other
	 * slot's socket. The difference waits in a socket. Hints only. */
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) _Atomic uint64_t offered[RXE_MAX_SLOTS];
	_Alignas(64) struct presence presence;
	_Alignas(64) struct rxe_counters counters;
	struct ctl_lost lost; /* link_recv_drops: by the server */
	struct ctl_shared_qp qp[RXE_MAX_QP];
	struct ctl_shared_srq srq[RXE_MAX_SRQ];
	/* Bindings of its memory windows (emu/mr.h). */
	_Alignas(64) struct rxe_mw_table mws;
	struct ctl_slot_failures failures;
	struct ctl_slot_refusals refusals;
	struct ctl_fault_count faults[FAULT_MAX_RULES];
	/* By the peer's slot. */
	struct ctl_stopped_peer stopped_peers[RXE_MAX_SLOTS];
	struct ctl_stopped_elsewhere stopped_elsewhere[CTL_STOPPED_ELSEWHERE];
	/* What a process under --check publishes (lib/control/checked.h). Else untouched. */
	_Alignas(CTL_SHARED_PAGE) uint8_t checked[CTL_CHECKED_BYTES];
	/* Its queue pairs in TIME_WAIT, and its delayed ACKs. Outlives the process: the server
	 * answers for them then. */
	_Alignas(CTL_SHARED_PAGE) struct rxe_time_wait_table time_wait;
};

/* A handle is generation << CTL_HANDLE_BITS | index; index 0 is never used. */
#define CTL_HANDLE_BITS 18
#define CTL_MAX_OBJECTS (1u << CTL_HANDLE_BITS)

struct ctl_shared {
	_Atomic uint32_t port_state; /* enum ibv_port_state: 4 ACTIVE, 1 DOWN */
	_Atomic uint32_t ended;	     /* 1: the server has ended, and QPs flush */
	uint16_t tx_ports
		[LINK_TX_PORTS]; /* UDP: processes send from these, which the server holds */
	uint32_t reserved;
	/* Bits of the slots that have a process: each slot is on pages of its own. */
	_Atomic uint64_t used_slots[RXE_MAX_SLOTS / 64];
	struct rxe_counters retired;	   /* sums of the processes that have exited */
	struct ctl_lost lost;		   /* ... */
	struct ctl_kept_failures failures; /* ... and what befell their queue pairs */
	struct ctl_kept_refusals refusals; /* ... and their calls */
	struct ctl_faults faults;
	struct gid gids[RXE_MAX_GIDS]; /* changes while faults.generation is odd */
	/* By index: the handle of the live object, else 0. */
	_Atomic uint32_t live[CTL_MAX_OBJECTS];
	struct rxe_mr_table mrs;
	struct ctl_remote_requests remote_requests; /* all may write */
	struct ctl_slot slot[RXE_MAX_SLOTS];
};

/* A fault rule keeps the device off the network: it neither sends nor receives. */
static inline bool ctl_is_silent(const struct ctl_shared *shared)
{
	return atomic_load(&shared->faults.silent) != 0;
}

/* The server gives the slot to a process; 0: to none. */
static inline void ctl_slot_set_pid(struct ctl_shared *shared, uint32_t slot, int32_t pid)
{
	const uint64_t bit = 1ull << slot % 64;

	atomic_store(&shared->slot[slot].pid, pid);
	if (pid)
		atomic_fetch_or(&shared->used_slots[slot / 64], bit);
	else
		atomic_fetch_and(&shared->used_slots[slot / 64], ~bit);
}

/* The first slot from this one on that has a process; RXE_MAX_SLOTS: none. */
static inline uint32_t ctl_next_slot(const struct ctl_shared *shared, uint32_t slot)
{
	uint64_t bits;

	for (; slot < RXE_MAX_SLOTS; slot = (slot / 64 + 1) * 64) {
		bits = atomic_load_explicit(&shared->used_slots[slot / 64], memory_order_relaxed);
		bits &= ~0ull << slot % 64;
		if (bits)
			return slot / 64 * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return RXE_MAX_SLOTS;
}

/* In order; the body may not change the slot's number. */
#define CTL_FOR_EACH_USED_SLOT(shared, slot)                                                       \
	for (uint32_t slot = ctl_next_slot(shared, 0); slot < RXE_MAX_SLOTS;                       \
	     slot = ctl_next_slot(shared, slot + 1))

/* True: the object exists. A DM keeps its bytes while the caller's gauge is raised. */
static inline bool ctl_handle_live(const struct ctl_shared *shared, uint32_t handle)
{
	return handle && atomic_load(&shared->live[handle & (CTL_MAX_OBJECTS - 1)]) == handle;
}

/* Grace periods. Once the gauge of a slot was seen at zero, its process does not use a key or
 * handle that was cleared before. The server waits so for all processes, a process that closes a
 * memory window for all others. */
#define GRACE_NOBODY RXE_MAX_SLOTS

struct grace {
	const struct ctl_shared *shared;
	uint64_t now;		       /* number of keys and handles cleared so far */
	uint64_t clear[RXE_MAX_SLOTS]; /* value of now when the gauge was last seen at zero */
	bool watched[RXE_MAX_SLOTS];   /* slots with a process */
};

void grace_watch(struct grace *grace, uint32_t slot);
void grace_unwatch(struct grace *grace, uint32_t slot);
/* Call after a key or handle was cleared: returns the stamp for grace_over(). */
uint64_t grace_begin(struct grace *grace);
/* True: no process can use what was cleared before the stamp. except: a slot to skip, or
 * GRACE_NOBODY. */
bool grace_over(struct grace *grace, uint64_t stamp, uint32_t except);

/* Sums over the processes that run and those that have exited. */
void ctl_total_counters(const struct ctl_shared *shared, struct rxe_counters *ret);
void ctl_total_lost(const struct ctl_shared *shared, struct ctl_lost *ret);

#endif
