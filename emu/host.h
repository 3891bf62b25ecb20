/* SPDX-License-Identifier: MIT */
/* What the engine asks of whoever runs it: memory, notices, randomness. It asks for nothing else: no clock, no socket,
 * no lock, no heap. */
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

/* An access that must be tried again is, after so long. */
#define RXE_DEFER_NS 1000000u

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

/* What made a queue pair fail by itself. */
enum rxe_failed {
	RXE_FAILED_SEND,     /* the request at the head of its send queue */
	RXE_FAILED_RECV,     /* UC, UD: the receive that it holds */
	RXE_FAILED_RESPONSE, /* RC: the peer's request, refused for rc.reply.fault */
	RXE_FAILED_CQ,	     /* one of its completion queues overran */
};

struct rxe_host_ops {
	/* Copy between the engine and the memory at iova of a region that passed rxe_mr_check. False: it is not there any
	 * more. mem_write stores the last byte last, and an aligned word of up to 8 bytes whole. */
	bool (*mem_read)(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len);
	bool (*mem_write)(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
			  size_t len);
	/* One CPU instruction on an aligned 64-bit word; *ret_orig is what it held. */
	bool (*mem_atomic)(void *host, const struct rxe_mr *mr, uint64_t iova,
			   enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
			   uint64_t *ret_orig);
	/* May be NULL: never. Asked right after one of the three above answered false: it can be had, but not now. Nothing of that
	 * access has happened, or will before it is asked for again. */
	bool (*is_deferred)(void *host);
	/* A completion became visible in an armed CQ. Called from rxe_engine_settle only. */
	void (*cq_notify)(void *host, struct rxe_cq *cq);
	/* An asynchronous event. Those of QPs and CQs come from settle, when the completions of the turn are visible; an SRQ's
	 * limit from input and from arming it. */
	void (*event)(void *host, const struct rxe_event *event);
	uint32_t (*random)(void *host);
	/* Both or neither may be NULL. How much more the socket of that slot at dst can hold, as emu/pace.h counts: UINT32_MAX
	 * when nothing is known of it. And: so much is on its way to it. */
	uint32_t (*credits)(void *host, const struct gid *dst, uint32_t slot);
	void (*credits_spent)(void *host, const struct gid *dst, uint32_t slot, uint32_t cost);
	/* Both or neither may be NULL. The ACK of all that the QP has received is about to be held while a completion becomes visible:
	 * see that it is sent should the process die. False: it cannot be, so the ACK goes first. And: it has been emitted. */
	bool (*delay_ack)(void *host, const struct rxe_qp *qp);
	void (*ack_sent)(void *host, const struct rxe_qp *qp);
	/* A peer's SEND_WITH_INV: make rkey of domain pd void. False: it is not one that a peer may invalidate. NULL: none is. */
	bool (*invalidate)(void *host, uint32_t pd, uint32_t rkey);
	/* All or none may be NULL. XRC, for SRQs that the engine does not have, but another process on the device. The protection domain
	 * of SRQ srqn in XRC domain xrcd; false: there is none. Its oldest receive, with what done wants to be told again; false:
	 * there is none now. That receive's completion; false: its owner has gone, or the SRQ has. */
	bool (*srq_find)(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd);
	bool (*srq_take)(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret);
	bool (*srq_done)(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe);
	/* Only while rxe_engine.completions_asked: how the next completion of this side of the QP is to end, which would be one of
	 * success: SUCCESS, or an error (enum rxe_wc_status), with which the QP fails. */
	uint32_t (*completing)(void *host, const struct rxe_qp *qp, bool is_recv);
	/* A QP is about to go to ERR or SQE by itself; it still shows what happened. status: enum rxe_wc_status of the work request,
	 * SUCCESS where none is concerned. May be NULL. */
	void (*failed)(void *host, const struct rxe_qp *qp, enum rxe_failed what, uint32_t status);
};

#endif
