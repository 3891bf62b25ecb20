/* SPDX-License-Identifier: MIT */
/* TIME_WAIT: answers for queue pairs that were destroyed, or whose process has exited.
 *
 * The last ACK of a connection may be lost like any other packet. The peer then sends its request
 * again (IBTA 9.7.5.1.3) and must get an answer, or it fails with RETRY_EXC. A record keeps what a
 * responder needs to answer duplicates: SENDs and WRITEs with an ACK of everything received,
 * atomics with their saved results, FLUSHes and ATOMIC WRITEs. New requests and READs get no
 * answer: no queue pair executes them, and the memory of a READ may be unmapped.
 *
 * An ACK may be delayed although the program sees the completion already, and the process may be
 * killed at any instruction. So a queue pair that delays such an ACK writes its record first. If
 * the process exits, the device server sends the ACK, and answers duplicates from then on. The same
 * holds for requests without AckReq, whose ACK is sent much later. Their requester, a process of
 * the same device, reads the record when its queue pair enters ERR.
 *
 * The host owns the table, so that it outlives the process; the device server then answers from it.
 * One writer at a time. */
#ifndef RXE_EMU_RC_TIME_WAIT_H
#define RXE_EMU_RC_TIME_WAIT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/rc/responder_hold.h"
#include "net/wire/gid.h"
#include "net/wire/opcode.h"

struct rxe_engine;
struct rxe_qp;
struct wire_arrival;
struct wire_packet;
struct wire_train;

#define RXE_MAX_TIME_WAIT     256 /* records of one slot; the newest replace the oldest */
#define RXE_MAX_DELAYED_ACKS  32  /* ACKs of one slot delayed at a time; others are sent at once */
#define RXE_FEW_DELAYED_ACKS  8	  /* at a time, unless the host expects many answers */
#define RXE_TIME_WAIT_ANSWERS 128 /* answers waiting to be sent; further ones are dropped */
#define RXE_TIME_WAIT_MIN_NS  1000000000ull
#define RXE_TIME_WAIT_MAX_NS  30000000000ull

struct rxe_time_wait {
	_Atomic uint32_t qpn; /* 0: empty. The writer clears it first and sets it last. */
	uint32_t dest_qpn;
	union {
		struct {
			uint32_t psn; /* next expected; everything before it was received */
			uint32_t msn;
		};
		_Atomic uint64_t received; /* both: the only part that changes in place */
	};
	uint64_t until_ns; /* end of TIME_WAIT; the QPN is not used again before */
	struct gid src, dst;
	/* The path to which the peer may migrate, or from which it may come; zeros: none. */
	struct gid other_src, other_dst;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	uint8_t is_xrc;
	uint8_t is_armed; /* its packets had no MigReq */
};
static_assert(sizeof(struct rxe_time_wait) == 96, "shared memory layout");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the process may be killed during a store");

struct rxe_time_wait_table {
	_Atomic uint32_t count; /* free-running */
	struct rxe_time_wait at[RXE_MAX_TIME_WAIT];
	/* Queue pairs that exist and delay an ACK whose completion may be visible. */
	struct rxe_time_wait delayed[RXE_MAX_DELAYED_ACKS];
	/* Results of each record's queue pair, those of at[] first. They are apart from the
	 * records, because few queue pairs have any: see rxe_time_wait_replay(). */
	struct rc_replay replay[RXE_MAX_TIME_WAIT + RXE_MAX_DELAYED_ACKS];
};

/* The engine's own view of the table's delayed records: bit i stands for delayed[i]. */
struct rxe_delayed_acks {
	uint32_t recorded; /* in use */
	uint32_t emitted;  /* of these: the ACK is in a train, or no longer due */
	bool are_many;	   /* the host expects an answer to follow each */
};
static_assert(RXE_MAX_DELAYED_ACKS == 32, "a bit each");

/* An answer that waits to be sent. */
struct rxe_time_wait_answer {
	struct gid src, dst;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	bool is_xrc, is_armed;
	enum wire_op op;
	uint32_t dest_qpn, psn, msn;
	uint64_t orig;
};

struct rxe_time_wait_answers {
	struct rxe_time_wait_answer at[RXE_TIME_WAIT_ANSWERS];
	uint32_t head, tail; /* free-running */
};

/* The results that belong to a record of the table. */
static inline struct rc_replay *rxe_time_wait_replay(struct rxe_time_wait_table *table,
						     const struct rxe_time_wait *record)
{
	const bool is_delayed = record >= table->delayed;

	return &table->replay[is_delayed ? RXE_MAX_TIME_WAIT + (record - table->delayed)
					 : record - table->at];
}

/* Records a queue pair that is being destroyed, or whose process exits, if it has received
 * anything. engine->now_ns must be current. */
void rxe_time_wait_note(struct rxe_engine *engine, const struct rxe_qp *qp);
/* Records the ACK of everything that the queue pair has received, before it is delayed. The
 * record's number goes into rc.reply.ack_record. False: the ACK must be sent at once. */
bool rxe_time_wait_delay_ack(struct rxe_engine *engine, struct rxe_qp *qp);
/* As above, for an ACK that the requester has not asked for. A record that the queue pair has
 * already is brought up to date. */
bool rxe_time_wait_leave_ack(struct rxe_engine *engine, struct rxe_qp *qp);
/* The table of the peer's process; NULL: it is none of this device. */
const struct rxe_time_wait_table *rxe_time_wait_of_peer(const struct rxe_engine *engine,
							const struct rxe_qp *qp);
/* Reads there what the peer has received and not acknowledged: everything before *ret_psn. False:
 * it has recorded nothing. */
bool rxe_time_wait_received(const struct rxe_engine *engine, const struct rxe_qp *qp,
			    uint32_t *ret_psn);
/* The recorded ACK, or what implies it, is in a train, or is no longer due. The record stays until
 * the link has the train. */
void rxe_time_wait_ack_emitted(struct rxe_engine *engine, struct rxe_qp *qp);
/* The link has taken every train: deletes the records of the ACKs that were emitted. */
void rxe_time_wait_trains_sent(struct rxe_engine *engine);
/* For the device server, once the process has exited: sends its delayed ACKs with the next output,
 * each once, from the engine's first GID. Their records answer duplicates from then on. */
void rxe_time_wait_adopt_delayed(struct rxe_engine *engine, uint64_t now_ns);
/* A new queue pair takes the number: deletes its record. */
void rxe_time_wait_forget(struct rxe_engine *engine, uint32_t qpn);
bool rxe_time_wait_is_known(const struct rxe_engine *engine, uint32_t qpn);
/* The latest end of TIME_WAIT in the table, delayed ACKs included, ns; 0: the table has no
 * record. */
uint64_t rxe_time_wait_until(const struct rxe_time_wait_table *table);
/* The QPN of the record that was connected to dest_qpn at peer; 0: none. */
uint32_t rxe_time_wait_connected_to(const struct rxe_time_wait_table *table, const struct gid *peer,
				    uint32_t dest_qpn);
/* Takes a packet for a queue pair that does not exist. False: no record answers for it. */
bool rxe_time_wait_input(struct rxe_engine *engine, const struct wire_packet *packet,
			 const struct wire_arrival *arrival);
/* Fills an empty train with one answer. False: none waits. */
bool rxe_time_wait_output(struct rxe_engine *engine, struct wire_train *train);

#endif
