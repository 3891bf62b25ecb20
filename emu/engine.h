/* SPDX-License-Identifier: MIT */
/* The engine: packets and time in, packets and completions out. Read this comment first.
 *
 * The engine does no I/O. It reads no clock, takes no lock, allocates nothing and never waits. One
 * host (host.h) calls it under one lock and passes the time. A turn of the engine has this order:
 *
 *   input     rxe_engine_input()   input.c parses the packet and checks ICRC, P_Key, queue pair and
 *                                  addresses. rc/rc.c passes requests to the responder, responses
 *                                  to the requester; uc.c, ud.c and raw/raw.c do both;
 *                                  rc/time_wait.c answers for queue pairs that no longer exist.
 *   execute   (in input)           rc/responder.c checks the PSN; rc/responder_execute.c checks
 *                                  keys and moves bytes by sge.c; rc/responder_duplicate.c handles
 *                                  requests that were executed before.
 *   complete  (in input)           rc/requester_complete.c retires the requests that a response
 *                                  acknowledges; complete.c pushes completions into cq.c, where
 *                                  no program sees them yet.
 *   time out  rxe_engine_expire()  engine.c calls queue pairs whose deadline has passed;
 *                                  rc/requester_retry.c decides to wait, probe, resend or give up.
 *   reply     rxe_engine_output()  engine.c gives each ready queue pair its turn at a train;
 *                                  rc/responder_reply.c sends READ responses, atomic results, ACKs
 *                                  and NAKs; emit.c writes headers and ICRC.
 *   request   rxe_engine_output()  rc/requester.c, uc.c, ud.c and raw/raw.c send what
 *                                  rxe_post_send() in post.c queued, in the same train.
 *   settle    rxe_engine_settle()  engine.c publishes completions, notifies armed CQs and reports
 *                                  events.
 *
 * The host calls input for each arrival, expire when the deadline has passed, output until it
 * returns false, hands the trains to the link, then calls settle. Settle comes last: an ACK is
 * with the kernel, or recorded (rc/time_wait.h), before a program can see the completion that
 * belongs to it, and an event never precedes the completions it is about. */
#ifndef RXE_EMU_ENGINE_H
#define RXE_EMU_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/heap.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/peer.h"
#include "emu/rc/responder_hold.h"
#include "emu/rc/time_wait.h"
#include "emu/ud.h"
#include "net/wire/gid.h"

struct rxe_cq;
struct rxe_flow;
struct rxe_host_ops;
struct rxe_qp;
struct rxe_srq;
struct wire_arrival;
struct wire_train;

/* Event counters, named as in Linux's rdma_rxe, followed by our own. Each process has one block in
 * shared memory. Only its engine writes it, except send_err, which its link writes. rxe_dm(1)
 * describes each counter. */
#define RXE_COUNTERS(X)                                                                            \
	X(sent_pkts)                                                                               \
	X(rcvd_pkts)                                                                               \
	X(duplicate_request)                                                                       \
	X(out_of_seq_request)                                                                      \
	X(rcvd_rnr_err)                                                                            \
	X(send_rnr_err)                                                                            \
	X(rcvd_seq_err)                                                                            \
	X(ack_deferred)                                                                            \
	X(retry_exceeded_err)                                                                      \
	X(retry_rnr_exceeded_err)                                                                  \
	X(completer_retry_err)                                                                     \
	X(send_err)                                                                                \
	X(rdma_sends)                                                                              \
	X(rdma_recvs)                                                                              \
	X(sent_bytes)                                                                              \
	X(rcvd_bytes)                                                                              \
	X(rcvd_bad_icrc)                                                                           \
	X(rcvd_malformed)                                                                          \
	X(rcvd_no_qp)                                                                              \
	X(rcvd_bad_key)                                                                            \
	X(rcvd_dropped)

struct rxe_counters {
#define X(name) uint64_t name;
	RXE_COUNTERS(X)
#undef X
};

/* What the device offers of what the engine can do. 0 in a member: all of it. */
struct rxe_offer {
	uint32_t max_qp, max_sge_rd, max_rd_atomic, max_init_rd_atomic, max_msg_size;
	uint32_t max_mcast_grp, max_mcast_qp;
	uint32_t refused_ops;	 /* 1 << enum rxe_wr_opcode */
	uint32_t refused_attrs;	 /* enum rxe_qp_attr_mask */
	uint32_t refused_rights; /* enum rxe_right: in qp_access_flags */
};

struct rxe_engine_cfg {
	const struct rxe_host_ops *ops;
	void *host;
	const struct rxe_mr_table *mrs;
	/* Bindings of windows; the engine writes those of its slot. */
	struct rxe_mw_tables mws;
	struct rxe_counters *counters;
	uint32_t slot;		       /* its QPNs are slot << RXE_SLOT_SHIFT | n, n from 2 */
	struct gid gids[RXE_MAX_GIDS]; /* all zeros: no GID */
	uint16_t tx_ports[RXE_MAX_TX_PORTS];
	uint32_t num_tx_ports; /* at least 1 */
	uint32_t max_mtu;      /* largest path MTU of the port, bytes */
	struct rxe_offer offer;
	/* Longest delay of an ACK, when a request followed the last ACKs. 0: ACKs are never
	 * delayed. Without time_wait the ACK of a message that completes a receive is not delayed
	 * either. */
	uint32_t ack_delay_ns;
	/* RC: the window to a local peer, in bytes, at least RXE_WINDOW_BYTES; 0: as to others. */
	uint32_t local_window;
	/* RC: a probe is sent after this time without a response; 0: never. */
	uint32_t probe_ns;
	/* Place of the slot's last QPN in the order of QPNs: numbering continues after it. */
	uint32_t qpn_last;
	/* Key of the order of QPNs (see qpn_at() in engine.c); 0: ascending. */
	uint64_t qpn_key;
	/* Raw queue pairs: frames leave in bare trains; else on the private wire. */
	bool raw_is_bare;
	uint32_t max_frame; /* longest frame that a raw queue pair sends, at most WIRE_MAX_FRAME */
	/* Belongs to the host, which calls rxe_time_wait_trains_sent(). NULL: no TIME_WAIT. */
	struct rxe_time_wait_table *time_wait;
	/* Memory for requests that arrive after a missing one, RXE_HOLD_PACKETS of them. NULL: they
	 * are dropped, and after a loss the requester resends everything. */
	struct rxe_held *held;
};

struct rxe_engine {
	struct rxe_engine_cfg cfg;
	uint64_t now_ns;		  /* time of the current call; stamps completions */
	struct rxe_qp *qp[RXE_MAX_QP];	  /* by QPN modulo RXE_MAX_QP */
	uint32_t qpn_next;		  /* as qpn_last; wraps at 16 bits */
	struct rxe_srq *srq[RXE_MAX_SRQ]; /* XRC only; by number modulo RXE_MAX_SRQ */
	uint32_t srqn_next;
	uint32_t num_qp;
	uint32_t qps_made; /* since init */
	/* Sends and receives posted and not retired yet. */
	uint32_t open_wrs;
	struct heap timers; /* of QPs; its entries are in timer */
	struct heap_entry *timer[RXE_MAX_QP];
	struct rxe_qp *ready; /* utlist, doubly linked */
	struct rxe_cq *unpublished;
	struct rxe_cq *held; /* their events or completions wait for a time (cq.h) */
	/* QPs with events to report in settle. */
	struct rxe_qp *with_events;
	/* The host wants rxe_host_ops.completing called. It may change this between calls. */
	bool completions_asked;
	/* A deferred access is tried again after this time. The host may change it in
	 * rxe_host_ops.is_deferred. */
	uint32_t defer_ns;
	bool overrun_pending; /* a CQ overran: settle fails the QPs that use it */
	uint32_t train_slot;  /* top bits of the destination QPNs in the train being filled */
	struct rxe_mcast mcast;
	struct rxe_hold hold;
	struct rxe_flow *flows; /* raw/flow.h */
	struct rxe_peers peers;
	struct rxe_time_wait_answers time_wait;
	struct rxe_delayed_acks delayed_acks;
};

void rxe_engine_init(struct rxe_engine *engine, const struct rxe_engine_cfg *cfg);

/* Changes the longest delay of ACKs, where the engine delays them. Half and twice the present delay
 * are no change. */
void rxe_engine_set_ack_delay(struct rxe_engine *engine, uint32_t ns);

void rxe_engine_input(struct rxe_engine *engine, const struct wire_arrival *arrival,
		      uint64_t now_ns);
/* A frame from the interface, for raw queue pairs; with raw_is_bare only. lacks_checksum: that of
 * TCP or UDP is still to be written, into p. */
void rxe_engine_raw_input(struct rxe_engine *engine, uint8_t *p, uint32_t len, bool lacks_checksum,
			  uint64_t now_ns);
/* Fills one train; the caller sets buf and max_segs. False: nothing to send now. */
bool rxe_engine_output(struct rxe_engine *engine, struct wire_train *train, uint64_t now_ns);
/* Whether rxe_engine_output() may find something. */
static inline bool rxe_engine_has_output(const struct rxe_engine *engine)
{
	return engine->ready || engine->time_wait.head != engine->time_wait.tail;
}

/* Whether output and settle have nothing to do. */
bool rxe_engine_is_settled(const struct rxe_engine *engine);
/* When rxe_engine_expire() is due; RXE_NEVER: never. */
uint64_t rxe_engine_deadline(const struct rxe_engine *engine);
void rxe_engine_expire(struct rxe_engine *engine, uint64_t now_ns);
/* Publishes completions, notifies armed CQs, then reports events of QPs and CQs. Called after the
 * trains of output are with the kernel. */
void rxe_engine_settle(struct rxe_engine *engine);

#endif
