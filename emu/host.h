/* SPDX-License-Identifier: MIT */
/* What the engine asks of its host: access to memory, notifications, randomness. It asks for no
 * clock, socket, lock or heap. One host implements struct rxe_host_ops: lib/progress in programs,
 * rxe_dm/server for TIME_WAIT, tests. */
#ifndef RXE_EMU_HOST_H
#define RXE_EMU_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gid;
struct rxe_mr;
struct rxe_cq;
struct rxe_qp;
struct rxe_claim;
struct rxe_cqe;
struct rxe_srq;
struct rxe_time_wait_table;

/* A deferred access is tried again after this time, unless the host says otherwise
 * (rxe_engine.defer_ns). */
#define RXE_DEFER_NS 1000000u
/* A timer that stands still for a stopped peer asks for the peer again after this time. */
#define RXE_STOPPED_NS 100000000u
/* The longest time that other processes delay a bind. */
#define RXE_GRACE_NS 100000000u

/* What the host knows of the process that a queue pair's peer belongs to. */
enum rxe_peer_life {
	RXE_PEER_UNKNOWN, /* on another host, or it has no process */
	RXE_PEER_RUNS,
	RXE_PEER_STARVED, /* runnable, but it has had no processor since then */
	RXE_PEER_STOPPED, /* by a signal, a tracer or a freezer */
	RXE_PEER_EXITED,
};

enum rxe_atomic_op {
	RXE_CMP_SWAP,
	RXE_FETCH_ADD,
};

/* Values of enum ibv_event_type. */
enum rxe_event_type {
	RXE_EVENT_CQ_ERR = 0,
	RXE_EVENT_QP_FATAL = 1,
	RXE_EVENT_QP_REQ_ERR = 2,
	RXE_EVENT_QP_ACCESS_ERR = 3,
	RXE_EVENT_COMM_EST = 4,
	RXE_EVENT_SQ_DRAINED = 5,
	RXE_EVENT_PATH_MIG = 6,
	RXE_EVENT_PATH_MIG_ERR = 7,
	RXE_EVENT_SRQ_ERR = 14,
	RXE_EVENT_SRQ_LIMIT_REACHED = 15,
	RXE_EVENT_QP_LAST_WQE_REACHED = 16,
};

struct rxe_event {
	enum rxe_event_type type;
	struct rxe_qp *qp;
	struct rxe_cq *cq;
	struct rxe_srq *srq;
};

/* Why a queue pair failed by itself. */
enum rxe_failed {
	RXE_FAILED_SEND, /* the request at the head of the send queue */
	RXE_FAILED_RECV, /* UC, UD: the claimed receive */
	/* RC: a request of the peer, refused for rc.reply.fault. */
	RXE_FAILED_RESPONSE,
	RXE_FAILED_CQ, /* a completion queue overran */
};

struct rxe_host_ops {
	/* Copies between the engine and memory at iova of a region that passed rxe_mr_check().
	 * mem_write stores the last byte last, and an aligned word of up to 8 bytes whole. False:
	 * the memory is unmapped, or deferred. */
	bool (*mem_read)(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len);
	bool (*mem_write)(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
			  size_t len);
	/* One CPU instruction on an aligned 64-bit word. *ret_orig: its value before. */
	bool (*mem_atomic)(void *host, const struct rxe_mr *mr, uint64_t iova,
			   enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
			   uint64_t *ret_orig);
	/* May be NULL: no memory persists. Writes [iova, iova + len) to what outlives the machine's
	 * power. May take a while: then false, deferred, and *ticket, 0 before the first call,
	 * names what has begun to the calls that follow. */
	bool (*mem_persist)(void *host, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
			    uint64_t *ticket);
	/* May be NULL: never. Called after one of the four above returned false: whether the
	 * memory is merely not ready. The access then had no effect and is tried again. */
	bool (*is_deferred)(void *host);
	/* A completion became visible in an armed CQ. Called by settle and expire. */
	void (*cq_notify)(void *host, struct rxe_cq *cq);
	/* May be NULL: all of them. The time until which rxe_cq_withhold() keeps completions is
	 * over. Returns how many of the oldest become visible; the rest stays withheld until
	 * *ret_again_ns. The host may move them before (rxe_cq_withheld_at()). */
	uint32_t (*cq_due)(void *host, struct rxe_cq *cq, uint64_t *ret_again_ns);
	/* An asynchronous event. settle reports events of QPs and CQs, when the completions of the
	 * turn are visible. An SRQ's limit is reported by input, and by arming it. */
	void (*event)(void *host, const struct rxe_event *event);
	uint32_t (*random)(void *host);
	/* Both or neither may be NULL. credits: how many bytes the socket of a slot at dst can
	 * still hold, counted as in emu/pace.h; UINT32_MAX when unknown. credits_spent: this many
	 * are on their way. */
	uint32_t (*credits)(void *host, const struct gid *dst, uint32_t slot);
	void (*credits_spent)(void *host, const struct gid *dst, uint32_t slot, uint32_t cost);
	/* May be NULL: as if it returned NULL. The TIME_WAIT records, to read, of the process that
	 * has this slot at dst; NULL: it is no process of this device. */
	const struct rxe_time_wait_table *(*time_wait_of)(void *host, const struct gid *dst,
							  uint32_t slot);
	/* May be NULL: in the caller's buffer. Where to build a train to that slot of dst. */
	uint8_t *(*train_space)(void *host, const struct gid *dst, uint32_t slot);
	/* Both or neither may be NULL. grace_begin: a window's binding was cleared; returns a
	 * stamp. grace_over: no other process still moves bytes by what was cleared before. */
	uint64_t (*grace_begin)(void *host);
	bool (*grace_over)(void *host, uint64_t stamp);
	/* May be NULL: all are unknown. The process that has the peer of this queue pair. Called
	 * when its ACK timer has expired, which began at since_ns. *process names the process that
	 * was found stopped, 0: none was; only then the answer may be RXE_PEER_EXITED. */
	enum rxe_peer_life (*peer_life)(void *host, const struct rxe_qp *qp, uint64_t since_ns,
					uint32_t *process);
	/* All or none may be NULL. XRC SRQs that another process on the device owns. srq_find: the
	 * protection domain of SRQ srqn in XRC domain xrcd; false: none. srq_take: its oldest
	 * receive, with what srq_done needs; false: none now. srq_done: completes that receive;
	 * false: the owner exited or the SRQ was destroyed. */
	bool (*srq_find)(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd);
	bool (*srq_take)(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret);
	bool (*srq_done)(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe);
	/* Both or neither may be NULL: no process listens. raw_listens: whether this process has
	 * flows of raw queue pairs. raw_listener: the first slot from one on whose process has
	 * some; RXE_MAX_SLOTS: none. */
	void (*raw_listens)(void *host, bool yes);
	uint32_t (*raw_listener)(void *host, uint32_t slot);
	/* Called only while rxe_engine.completions_asked, for a completion that would be a
	 * success: returns RXE_WC_SUCCESS, or the error (enum rxe_wc_status) with which the QP
	 * fails. */
	uint32_t (*completing)(void *host, const struct rxe_qp *qp, bool is_recv);
	/* A QP is about to enter ERR or SQE by itself; its state still shows the cause. status:
	 * enum rxe_wc_status of the work request, SUCCESS when none is concerned. May be NULL. */
	void (*failed)(void *host, const struct rxe_qp *qp, enum rxe_failed what, uint32_t status);
};

#endif
