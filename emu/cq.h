/* SPDX-License-Identifier: MIT */
/* Completion queues: a ring with one writer (the engine) and one reader at a time (who holds the CQ's own lock).
 *
 * The engine pushes while it works and publishes in rxe_engine_settle(), which its host calls after it has handed the
 * packets to the kernel: so an acknowledgement is on its way before the completion it belongs to can be seen. */
#ifndef RXE_EMU_CQ_H
#define RXE_EMU_CQ_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of enum ibv_wc_status. */
enum rxe_wc_status {
	RXE_WC_SUCCESS,
	RXE_WC_LOC_LEN_ERR,
	RXE_WC_LOC_QP_OP_ERR,
	RXE_WC_LOC_EEC_OP_ERR,
	RXE_WC_LOC_PROT_ERR,
	RXE_WC_WR_FLUSH_ERR,
	RXE_WC_MW_BIND_ERR,
	RXE_WC_BAD_RESP_ERR,
	RXE_WC_LOC_ACCESS_ERR,
	RXE_WC_REM_INV_REQ_ERR,
	RXE_WC_REM_ACCESS_ERR,
	RXE_WC_REM_OP_ERR,
	RXE_WC_RETRY_EXC_ERR,
	RXE_WC_RNR_RETRY_EXC_ERR,
	RXE_WC_LOC_RDD_VIOL_ERR,
	RXE_WC_REM_INV_RD_REQ_ERR,
	RXE_WC_REM_ABORT_ERR,
	RXE_WC_INV_EECN_ERR,
	RXE_WC_INV_EEC_STATE_ERR,
	RXE_WC_FATAL_ERR,
	RXE_WC_RESP_TIMEOUT_ERR,
	RXE_WC_GENERAL_ERR,
	RXE_WC_TM_ERR,
	RXE_WC_TM_RNDV_INCOMPLETE,
};

/* Values of enum ibv_wc_opcode. */
enum rxe_wc_opcode {
	RXE_WC_SEND = 0,
	RXE_WC_RDMA_WRITE = 1,
	RXE_WC_RDMA_READ = 2,
	RXE_WC_COMP_SWAP = 3,
	RXE_WC_FETCH_ADD = 4,
	RXE_WC_BIND_MW = 5,
	RXE_WC_LOCAL_INV = 6,
	RXE_WC_RECV = 128,
	RXE_WC_RECV_RDMA_WITH_IMM = 129,
};

/* Values of enum ibv_wc_flags. */
enum rxe_wc_flag {
	RXE_WC_GRH = 1 << 0,
	RXE_WC_WITH_IMM = 1 << 1,
	RXE_WC_WITH_INV = 1 << 3,
};

/* UD: what headers a datagram came under, for completions to tell (IBTA A17.4.5.1). Values as adapters put them into wc.sl,
 * which RoCE has no other use for; without them a program cannot tell what it finds in the 40 bytes before the payload. */
enum rxe_frame {
	RXE_FRAME_NONE = 0,
	RXE_FRAME_IPV6 = 1,
	RXE_FRAME_IPV4 = 2,
};

/* One completion, 64 bytes. */
struct rxe_cqe {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the engine's now when it was pushed */
	uint32_t status;       /* enum rxe_wc_status */
	uint32_t opcode;       /* enum rxe_wc_opcode */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm_or_rkey; /* host order */
	uint32_t qpn;
	uint32_t src_qpn;
	uint32_t flags; /* enum rxe_wc_flag */
	uint8_t solicited;
	uint8_t frame; /* enum rxe_frame */
	uint8_t reserved[2];
	/* Send queues only, else NULL: the queue pair's sq_polled, and its value once this entry is polled. */
	uint32_t sends;
	_Atomic uint32_t *sq_polled;
};
static_assert(sizeof(struct rxe_cqe) == 64, "ring stride");

enum rxe_cq_arm {
	RXE_CQ_IDLE,
	RXE_CQ_ARM_SOLICITED,
	RXE_CQ_ARM_ANY,
};

struct rxe_cq {
	struct rxe_cqe *ring;
	uint32_t mask;	/* ring entries - 1, a power of two */
	uint32_t limit; /* completions it may hold; one more is an overrun */
	_Atomic uint32_t
		head;  /* next to be read; stored by the reader, read by the engine for overrun */
	uint32_t tail; /* next to be written; engine only */
	uint32_t
		seen_head; /* head as the engine last looked, so that a push seldom shares the reader's line */
	_Atomic uint32_t visible;   /* released by settle, acquired by poll */
	enum rxe_cq_arm armed;	    /* engine lock */
	uint32_t notified;	    /* entries before this one have had their event; engine lock */
	bool unpublished;	    /* on the engine's list of CQs to settle */
	bool unpublished_solicited; /* one of the unpublished is solicited or in error */
	bool overrun;		    /* it is in error: no more completions */
	bool overrun_reported;	    /* ... and CQ_ERR was raised */
	struct rxe_cq *next_unpublished;
	void *owner; /* the driver's object */
};

struct rxe_engine;

/* Bytes of ring for a CQ of cqe entries (1..RXE_MAX_CQE). */
size_t rxe_cq_ring_bytes(uint32_t cqe);
void rxe_cq_init(struct rxe_cq *cq, void *ring, uint32_t cqe, void *owner);
/* The engine forgets it. No QP may use it any more. */
void rxe_cq_fini(struct rxe_engine *engine, struct rxe_cq *cq);
/* Engine side: one completion in, stamped with the engine's time. False on overrun: the completion is lost, the CQ is in error
 * for good; the next settle raises CQ_ERR and fails every QP that uses it. */
bool rxe_cq_push(struct rxe_engine *engine, struct rxe_cq *cq, const struct rxe_cqe *cqe);
/* Reader side, under the CQ's lock: up to max completions out; returns how many. A send's completion frees the slots of its
 * request and of all before it in the send queue. */
uint32_t rxe_cq_poll(struct rxe_cq *cq, struct rxe_cqe *ret, uint32_t max);
/* Under both locks: drop what a QP left that is destroyed (the entries of its sends point to it) or in RESET. */
void rxe_cq_clean(struct rxe_cq *cq, uint32_t qpn);
/* Under both locks: move to another ring. False when it holds more than fits. */
bool rxe_cq_resize(struct rxe_cq *cq, void *ring, uint32_t cqe);
/* Arms the CQ. Under the engine lock. True: a completion of the kind that arm asks for is visible, unread, and no event has told of it;
 * the caller makes the event now, and the CQ is idle. */
bool rxe_cq_arm(struct rxe_cq *cq, enum rxe_cq_arm arm);
static inline bool rxe_cq_is_empty(const struct rxe_cq *cq)
{
	return atomic_load_explicit(&((struct rxe_cq *)(uintptr_t)cq)->visible,
				    memory_order_acquire) ==
	       atomic_load_explicit(&((struct rxe_cq *)(uintptr_t)cq)->head, memory_order_relaxed);
}

#endif
