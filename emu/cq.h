/* SPDX-License-Identifier: MIT */
/* Completion queues: a ring with one writer (the engine) and one reader at a time (the holder of
 * the CQ's own lock). Below: completion counters, and moderation of events.
 *
 * The engine pushes during a turn. rxe_engine_settle() publishes after the host has handed the
 * packets to the kernel, so an ACK is on its way before the completion that belongs to it is
 * visible. */
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
	RXE_WC_FLUSH = 8,
	RXE_WC_ATOMIC_WRITE = 9,
	RXE_WC_RECV = 128,
	RXE_WC_RECV_RDMA_WITH_IMM = 129,
	RXE_WC_TM_ADD = 130,
	RXE_WC_TM_DEL = 131,
	RXE_WC_TM_SYNC = 132,
	RXE_WC_TM_RECV = 133,
	RXE_WC_TM_NO_TAG = 134,
};

/* Values of enum ibv_wc_flags. */
enum rxe_wc_flag {
	RXE_WC_GRH = 1 << 0,
	RXE_WC_WITH_IMM = 1 << 1,
	RXE_WC_IP_CSUM_OK = 1 << 2,
	RXE_WC_WITH_INV = 1 << 3,
	RXE_WC_TM_SYNC_REQ = 1 << 4,
	RXE_WC_TM_MATCH = 1 << 5,
	RXE_WC_TM_DATA_VALID = 1 << 6,
};

/* UD: the kind of headers that a datagram had (IBTA A17.4.5.1). Adapters put these values into
 * wc.sl, which RoCE does not use otherwise; programs need them to interpret the 40 bytes before
 * the payload. */
enum rxe_frame {
	RXE_FRAME_NONE = 0,
	RXE_FRAME_IPV6 = 1,
	RXE_FRAME_IPV4 = 2,
};

/* One completion, 64 bytes. */
struct rxe_cqe {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* engine time of the push */
	uint32_t status;       /* enum rxe_wc_status */
	uint32_t opcode;       /* enum rxe_wc_opcode */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm_or_rkey; /* host order */
	uint32_t qpn;
	uint32_t src_qpn;
	uint32_t flags; /* enum rxe_wc_flag */
	uint8_t solicited;
	uint8_t frame;	/* enum rxe_frame */
	uint16_t cvlan; /* raw receives: the tag that was taken off, or 0 */
	/* Send queues: the queue pair's sq_polled, and its value once this entry is polled. Tag
	 * matching: tag and app_ctx of the message. */
	union {
		uint32_t sends;
		uint32_t tm_priv;
		uint32_t flow_tag; /* raw receives: of the flow, or 0 */
	};
	union {
		_Atomic uint32_t *sq_polled;
		uint64_t tm_tag;
	};
};
static_assert(sizeof(struct rxe_cqe) == 64, "ring stride");

enum rxe_cq_arm {
	RXE_CQ_IDLE,
	RXE_CQ_ARM_SOLICITED,
	RXE_CQ_ARM_ANY,
};

struct rxe_cq {
	struct rxe_cqe *ring;
	uint32_t mask; /* ring entries - 1, a power of two */
	/* Most completions that it holds; one more is an overrun. */
	uint32_t limit;
	/* Next to read. The reader stores it, the engine reads it to detect an overrun. */
	_Atomic uint32_t head;
	uint32_t tail; /* next to write; engine only */
	/* The engine's last copy of head, so that a push seldom touches the reader's cache line. */
	uint32_t seen_head;
	_Atomic uint32_t visible; /* settle releases, poll acquires */
	enum rxe_cq_arm armed;	  /* engine lock */
	/* Entries before this one had their event; engine lock. */
	uint32_t notified;
	bool unpublished; /* on the engine's list of CQs to publish */
	/* An unpublished entry is solicited or in error. */
	bool unpublished_solicited;
	bool ignores_overrun;  /* what it has no space for is lost, and nothing else happens */
	bool overrun;	       /* in error: takes no more completions */
	bool overrun_reported; /* CQ_ERR was raised */
	struct rxe_cq *next_unpublished;
	/* Moderation: an event waits for N completions (0: never), or for a time. */
	uint16_t moderation_count;
	uint64_t moderation_ns;
	uint64_t hold_until_ns; /* an event is held; 0: none */
	/* Entries from visible on stay unpublished until this time; 0: until settle. */
	uint64_t withheld_until_ns;
	bool listed_as_held; /* it has one of the two times, or had */
	struct rxe_cq *next_held;
	void *owner; /* the driver's object */
};

struct rxe_engine;

/* Bytes of ring for a CQ of cqe entries (1..RXE_MAX_CQE). */
size_t rxe_cq_ring_bytes(uint32_t cqe);
void rxe_cq_init(struct rxe_cq *cq, void *ring, uint32_t cqe, void *owner);
/* Removes the CQ from the engine. No QP may use it. */
void rxe_cq_fini(struct rxe_engine *engine, struct rxe_cq *cq);
/* Engine side: adds a completion, stamped with the engine's time. False on an overrun that is not
 * ignored: the
 * completion is lost and the CQ stays in error; the next settle raises CQ_ERR and fails every QP
 * that uses the CQ. */
bool rxe_cq_push(struct rxe_engine *engine, struct rxe_cq *cq, const struct rxe_cqe *cqe);
/* Reader side, under the CQ's lock: reads up to max completions and returns how many. A send's
 * completion frees the slots of its request and of all before it in the send queue. */
uint32_t rxe_cq_poll(struct rxe_cq *cq, struct rxe_cqe *ret, uint32_t max);
/* Under both locks: drops the entries of a QP that is destroyed (entries of sends point to it) or
 * reset. */
void rxe_cq_clean(struct rxe_cq *cq, uint32_t qpn);
/* Under both locks: moves the entries to another ring. False when they do not fit. */
bool rxe_cq_resize(struct rxe_cq *cq, void *ring, uint32_t cqe);
/* Visible completions that are unread and had no event. */
uint32_t rxe_cq_unnotified(const struct rxe_cq *cq);
/* Makes the event of an armed CQ. */
void rxe_cq_notify(struct rxe_engine *engine, struct rxe_cq *cq);
/* Arms the CQ, under the engine lock. True: a completion of the kind that arm names is visible,
 * unread and without an event. The caller then makes the event, and the CQ stays idle. */
bool rxe_cq_arm(struct rxe_cq *cq, enum rxe_cq_arm arm);

/* Withheld completions: nothing promises a program that a completion is visible at once, or in the
 * order of other queues. A host that withholds a CQ's completions lets programs that rely on it
 * fail. Completions pushed from now on, and those that the next settle would publish, stay
 * unpublished until the time; nothing happens where a time is set already. Then the host is asked
 * (cq_due). */
void rxe_cq_withhold(struct rxe_engine *engine, struct rxe_cq *cq, uint64_t until_ns);
/* Publishes what is withheld, and notifies, now. */
void rxe_cq_release(struct rxe_engine *engine, struct rxe_cq *cq);
static inline uint32_t rxe_cq_num_withheld(const struct rxe_cq *cq)
{
	return cq->tail - atomic_load_explicit(&cq->visible, memory_order_relaxed);
}
/* Entry i of those, from 0, which no reader sees yet. */
static inline struct rxe_cqe *rxe_cq_withheld_at(const struct rxe_cq *cq, uint32_t i)
{
	assert(i < rxe_cq_num_withheld(cq));
	return &cq->ring[(atomic_load_explicit(&cq->visible, memory_order_relaxed) + i) & cq->mask];
}

/* Completion counters (ibv_create_comp_cntr(3)): how many operations of the queue pairs that a
 * counter is attached to have completed, well or in error, with or without a completion in a CQ.
 * The engine adds; programs read, set and add at any time. */

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

/* The completion counters of a queue pair; NULL: none. */
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

/* Moderation of completion events (ibv_modify_cq(3)): fewer events for programs that sleep. The
 * event of an armed CQ is held until N completions wait for it, or until a time has passed since
 * the first of them. */

/* Either may be 0: no moderation. A program that sleeps is woken in any case. */
void rxe_cq_moderate(struct rxe_cq *cq, uint16_t count, uint16_t period_us);
/* A completion is visible for which the armed CQ would have its event. True: the event is held. */
bool rxe_moderation_holds(struct rxe_engine *engine, struct rxe_cq *cq);

/* When the first held event, or the first withheld completion, is due; RXE_NEVER: none is. */
uint64_t rxe_held_deadline(const struct rxe_engine *engine);
void rxe_held_expire(struct rxe_engine *engine);

static inline bool rxe_cq_wants_notice(const struct rxe_cq *cq)
{
	switch (cq->armed) {
	case RXE_CQ_IDLE: return false;
	case RXE_CQ_ARM_SOLICITED: return cq->unpublished_solicited || cq->hold_until_ns;
	case RXE_CQ_ARM_ANY: return true;
	}
	return false;
}

/* Makes the entries before upto visible, and notifies. For settle, and for what it withheld. */
static inline void rxe_cq_show(struct rxe_engine *engine, struct rxe_cq *cq, uint32_t upto)
{
	const bool grew = upto != atomic_load_explicit(&cq->visible, memory_order_relaxed);

	/* Pairs with the acquire in rxe_cq_poll. */
	atomic_store_explicit(&cq->visible, upto, memory_order_release);
	if (!grew || !rxe_cq_wants_notice(cq) || rxe_moderation_holds(engine, cq))
		return;
	rxe_cq_notify(engine, cq);
}

#endif
