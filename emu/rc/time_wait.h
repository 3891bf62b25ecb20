/* SPDX-License-Identifier: MIT */
/* Queue pairs that have gone, and what their peers may still ask of them. The last ACK of a connection may be lost like any other
 * packet, and the peer then asks again (IBTA 9.7.5.1.3): whoever destroys its QP, or ends, as soon as it has all it wanted must
 * not cost its peer an error for that. So the little that a responder needs to answer duplicates is written down when its QP goes,
 * and for a while they are answered as it would have: sends and writes by an ACK of all that was received, atomics by their saved
 * results. Nothing else is: a new request has nobody to be carried out by, and a read's memory may be gone.
 *
 * The table is the host's, so that it can outlive the process: the device server answers then. One writer at a time. */
#ifndef RXE_EMU_RC_TIME_WAIT_H
#define RXE_EMU_RC_TIME_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/rc/responder_duplicate.h"
#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;
struct wire_arrival;
struct wire_packet;
struct wire_train;

#define RXE_MAX_TIME_WAIT     256 /* of one slot: the newest */
#define RXE_TIME_WAIT_ANSWERS 32  /* waiting to leave: what finds no room was lost */
#define RXE_TIME_WAIT_MIN_NS  1000000000ull
#define RXE_TIME_WAIT_MAX_NS  30000000000ull

struct rxe_time_wait {
	_Atomic uint32_t qpn; /* 0: empty. First cleared, last set */
	uint32_t dest_qpn;
	uint32_t psn; /* that it expected: all before was received */
	uint32_t msn;
	uint64_t until_ns; /* the number is not given out again before, either */
	struct gid src, dst;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	uint8_t is_xrc;
	uint8_t reserved;
	struct rc_replay replay;
};

struct rxe_time_wait_table {
	_Atomic uint32_t count; /* free-running */
	struct rxe_time_wait at[RXE_MAX_TIME_WAIT];
};

/* An answer on its way. */
struct rxe_time_wait_answer {
	struct gid src, dst;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	bool is_atomic, is_xrc;
	uint32_t dest_qpn, psn, msn;
	uint64_t orig;
};

struct rxe_time_wait_answers {
	struct rxe_time_wait_answer at[RXE_TIME_WAIT_ANSWERS];
	uint32_t head, tail; /* free-running */
};

/* The QP goes, or its process does: remember it, if it is one that answers. The engine's time must be now. */
void rxe_time_wait_note(struct rxe_engine *engine, const struct rxe_qp *qp);
/* Its number is used anew. */
void rxe_time_wait_forget(struct rxe_engine *engine, uint32_t qpn);
bool rxe_time_wait_is_known(const struct rxe_engine *engine, uint32_t qpn);
/* The time when the last of them is done with; 0: there are none. */
uint64_t rxe_time_wait_until(const struct rxe_time_wait_table *table);
/* Whose number it is that was connected to this one; 0: nobody's. */
uint32_t rxe_time_wait_connected_to(const struct rxe_time_wait_table *table, const struct gid *peer,
				    uint32_t dest_qpn);
/* A packet for a QP that is not there. False: nobody answers for it. */
bool rxe_time_wait_input(struct rxe_engine *engine, const struct wire_packet *packet,
			 const struct wire_arrival *arrival, uint64_t now_ns);
/* Fill the empty train with one answer. False: none is waiting. */
bool rxe_time_wait_output(struct rxe_engine *engine, struct wire_train *train);

#endif
