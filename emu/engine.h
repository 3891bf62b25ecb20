/* SPDX-License-Identifier: MIT */
/* The engine: packets and time in, packets and completions out. Read this comment first.
 *
 * The engine does no I/O. It asks no clock, takes no lock, allocates nothing and never waits. One
 * host (host.h) calls it under one lock and passes the time. A turn of the engine has this order:
 *
 *   input     rxe_engine_input()   input.c parses the packet and checks ICRC, P_Key, queue pair and
 *                                  addresses. rc/rc.c passes requests to the responder, responses
 *                                  to the requester; uc.c and ud.c do both; rc/time_wait.c answers
 *                                  for queue pairs that no longer exist.
 *   execute   (in input)           rc/responder.c checks the PSN; rc/responder_execute.c checks keys
 *                                  and moves bytes through sge.c; rc/responder_duplicate.c handles
 *                                  requests that were executed before.
 *   complete  (in input)           rc/requester_complete.c retires the requests that a response
 *                                  acknowledges; complete.c pushes completions into cq.c, where
 *                                  no program sees them yet.
 *   time out  rxe_engine_expire()  timer.c calls queue pairs whose deadline has passed;
 *                                  rc/requester_retry.c decides to wait, probe, resend or give up.
 *   reply     rxe_engine_output()  output.c gives each ready queue pair its turn at a train;
 *                                  rc/responder_reply.c sends READ responses, atomic results, ACKs
 *                                  and NAKs; emit.c writes headers and ICRC.
 *   request   rxe_engine_output()  rc/requester.c, uc.c and ud.c send what rxe_post_send() in post.c
 *                                  queued, in the same train.
 *   settle    rxe_engine_settle()  engine.c publishes completions, notifies armed CQs and reports
 *                                  events.
 *
 * The host calls input for each arrival, expire when the deadline has passed, output until it
 * returns false, hands the trains to the link, then calls settle. Settle comes last: an ACK is
 * with the kernel before a program can see the completion that belongs to it, and an event never
 * precedes the completions it is about. */
#ifndef RXE_EMU_ENGINE_H
#define RXE_EMU_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "emu/mcast.h"
#include "emu/peer.h"
#include "emu/rc/time_wait.h"
#include "net/wire/gid.h"

struct rxe_counters;
struct rxe_cq;
struct rxe_host_ops;
struct rxe_mr_table;
struct rxe_qp;
struct rxe_srq;
struct wire_arrival;
struct wire_train;

struct rxe_engine_cfg {
	const struct rxe_host_ops *ops;
	void *host;
	const struct rxe_mr_table *mrs;
	struct rxe_counters *counters;
	uint32_t slot;		       /* its QPNs are slot << RXE_SLOT_SHIFT | n, n from 2 */
	struct gid gids[RXE_MAX_GIDS]; /* all zeros: empty */
	uint16_t tx_ports[RXE_MAX_TX_PORTS];
	uint32_t num_tx_ports; /* at least 1 */
	uint32_t max_mtu;      /* the largest path MTU the port takes, bytes */
	/* How long the ACK of a message that completes nothing on this side may wait for a request to ride behind, where the
	 * last ones had one follow; 0: it never waits. */
	uint32_t ack_delay_ns;
	uint32_t
		probe_ns; /* RC: without an answer for so long, the oldest packet asks again; 0: never */
	uint32_t
		qpn_last; /* place of the slot's last QPN in the order of its numbers: numbering goes on behind it */
	uint64_t qpn_key; /* makes that order; 0: one after the other */
	struct rxe_time_wait_table
		*gone; /* the host's; NULL: nobody answers for a QP that has gone */
};

struct rxe_engine {
	struct rxe_engine_cfg cfg;
	uint64_t now_ns;		  /* of the call under way: stamps completions */
	struct rxe_qp *qp[RXE_MAX_QP];	  /* by QPN modulo RXE_MAX_QP */
	uint32_t qpn_next;		  /* as qpn_last; wraps at 16 bits */
	struct rxe_srq *srq[RXE_MAX_SRQ]; /* those of XRC, by number modulo RXE_MAX_SRQ */
	uint32_t srqn_next;
	uint32_t num_qp;
	uint32_t qps_made; /* ever */
	uint32_t open_wrs; /* posted, sends and receives, and not retired: completions to come */
	struct rxe_qp *timer[RXE_MAX_QP]; /* binary heap by deadline_ns */
	uint32_t num_timers;
	struct rxe_qp *ready; /* utlist, doubly linked */
	struct rxe_cq *unpublished;
	struct rxe_qp *with_events; /* QPs that have something to tell: first_event of each */
	bool completions_asked; /* the host wants to be asked before each; it may change it between calls */
	bool overrun_pending; /* a CQ overran: settle fails the QPs that use it */
	uint32_t train_slot;  /* top bits of the destination QPNs in the train being filled */
	struct rxe_mcast mcast;
	struct rxe_peers peers;
	struct rxe_time_wait_answers gone;
};

void rxe_engine_init(struct rxe_engine *engine, const struct rxe_engine_cfg *cfg);

/* A free QPN of the slot's range; a number comes back only after all others of its index were used, and not while a QP that had it
 * is answered for, unless all of its index are. 0 when RXE_MAX_QP exist. */
uint32_t rxe_engine_alloc_qpn(struct rxe_engine *engine);
struct rxe_qp *rxe_engine_find_qp(const struct rxe_engine *engine, uint32_t qpn);
/* The same for XRC's SRQs: a free number of the slot's range, 0 when RXE_MAX_SRQ exist. */
uint32_t rxe_engine_alloc_srqn(struct rxe_engine *engine);
struct rxe_srq *rxe_engine_find_srq(const struct rxe_engine *engine, uint32_t srqn);

/* Which sending port packets for that peer's socket use: the same for all of ours, so that they can share trains. */
uint8_t rxe_tx_index(const struct rxe_engine *engine, const struct gid *dgid, uint32_t dest_qpn);

void rxe_engine_input(struct rxe_engine *engine, const struct wire_arrival *arrival,
		      uint64_t now_ns);
/* Fill one train (buf and max_segs set by the caller, the rest by us). False: nothing to send now. */
bool rxe_engine_output(struct rxe_engine *engine, struct wire_train *train, uint64_t now_ns);
/* When expire wants to be called; UINT64_MAX for never. */
uint64_t rxe_engine_deadline(const struct rxe_engine *engine);
void rxe_engine_expire(struct rxe_engine *engine, uint64_t now_ns);
/* Publish completions and notify armed CQs, then tell of what happened to QPs and CQs: whoever hears of an event finds the
 * completions that belong to it. Call after the packets of output are with the kernel. */
void rxe_engine_settle(struct rxe_engine *engine);

#endif
