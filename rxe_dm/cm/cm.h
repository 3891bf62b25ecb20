/* SPDX-License-Identifier: MIT */
/* The communication manager: the exchanges of IBTA vol. 1, chapter 12, without I/O.
 *
 * MADs, calls and the time go in; MADs and events come out. It sets up and ends connections (REQ,
 * REP, RTU; DREQ, DREP), resolves service IDs (SIDR), retries, answers duplicates, refuses stale
 * connections and keeps TIME_WAIT. It knows nothing of IP addresses, ports, programs or queue
 * pairs (rxe_dm/cma, above it, does), asks no clock, makes no system call and starts no thread. It
 * runs in the device server, in the simulator (tests/sim/cm.c) and under the fuzzer.
 *
 * The order of one turn: cm_input() for each MAD that arrived, cm_expire() when cm_deadline() has
 * passed, calls at any time. One thread at a time. Memory is bounded by cfg.max_ids: an id takes a
 * kilobyte. A REQ beyond it is refused (reason 3, no resources).
 *
 *   active                                       passive
 *   cm_send_req()      REQ_SENT    --- REQ -->   REQ_RCVD      REQ_RECEIVED, at the listener
 *   REP_RECEIVED       REP_RCVD    <-- REP ---   REP_SENT      cm_send_rep()
 *   cm_send_rtu()      ESTABLISHED --- RTU -->   ESTABLISHED   RTU_RECEIVED
 *   cm_send_dreq()     DREQ_SENT   --- DREQ ->   DREQ_RCVD     DREQ_RECEIVED
 *   DREP_RECEIVED      TIME_WAIT   <-- DREP --   TIME_WAIT     cm_send_drep()
 *   TIME_WAIT_EXIT     IDLE                      IDLE          TIME_WAIT_EXIT
 *
 * enum cm_state has the rest. */
#ifndef RXE_CM_CM_H
#define RXE_CM_CM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/cm_msg.h"

struct cm;
struct cm_id; /* one end of one exchange, or a listener */

#define CM_ANY_DEVICE UINT32_MAX

/* How a MAD travels. */
struct cm_path {
	uint32_t device;     /* index in the instance */
	struct gid src, dst; /* of this end, of the other */
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
};

/* IBTA 12.9.5 to 12.9.7 and 12.11.2, with Linux's names. */
enum cm_state {
	/* No exchange: cm_listen, cm_send_req or cm_send_sidr_req may follow. */
	CM_STATE_IDLE,
	CM_STATE_LISTEN,

	/* Active. */
	CM_STATE_REQ_SENT,     /* retries the REQ */
	CM_STATE_MRA_REQ_RCVD, /* an MRA has extended the wait for the REP */
	CM_STATE_REP_RCVD,     /* cm_send_rtu or cm_send_rej is due */
	CM_STATE_MRA_REP_SENT, /* likewise; a duplicate REP is answered by an MRA */

	/* Passive. */
	CM_STATE_REQ_RCVD,     /* cm_send_rep or cm_send_rej is due */
	CM_STATE_MRA_REQ_SENT, /* likewise; a duplicate REQ is answered by an MRA */
	CM_STATE_REP_SENT,     /* retries the REP */
	CM_STATE_MRA_REP_RCVD, /* an MRA has extended the wait for the RTU */
	/* Refused: answers duplicates of the REQ for a while, then IDLE without an event. */
	CM_STATE_REJ_SENT,

	CM_STATE_ESTABLISHED,
	CM_STATE_DREQ_SENT, /* retries the DREQ */
	CM_STATE_DREQ_RCVD, /* cm_send_drep is due */
	/* Packets of the connection may still travel; then IDLE and TIME_WAIT_EXIT. */
	CM_STATE_TIME_WAIT,

	/* Service ID resolution. */
	CM_STATE_SIDR_REQ_SENT,
	CM_STATE_SIDR_REQ_RCVD,
	/* Answers duplicates of the SIDR_REQ for a while, then IDLE without an event. */
	CM_STATE_SIDR_REP_SENT,
};
#define CM_NUM_STATES (CM_STATE_SIDR_REP_SENT + 1)

enum cm_event_type {
	/* At a listener. event.id is a new id, from now on the user's: cm_id_set_user(), then
	 * cm_send_rep, cm_send_rej or cm_id_destroy, at once or later. */
	CM_EVENT_REQ_RECEIVED,
	CM_EVENT_REQ_TIMED_OUT, /* no answer after all retries: IDLE */
	CM_EVENT_MRA_RECEIVED,
	CM_EVENT_REP_RECEIVED,
	CM_EVENT_REP_TIMED_OUT, /* no RTU after all retries: TIME_WAIT */
	/* Passive: established. msg is NULL when cm_established() said so. */
	CM_EVENT_RTU_RECEIVED,
	/* event.msg->u.rej. IDLE, or TIME_WAIT where packets may still travel. */
	CM_EVENT_REJ_RECEIVED,
	/* DREQ_RCVD; TIME_WAIT where both ends disconnect at once: the DREP has been sent. */
	CM_EVENT_DREQ_RECEIVED,
	CM_EVENT_DREP_RECEIVED,	 /* TIME_WAIT */
	CM_EVENT_DREQ_TIMED_OUT, /* TIME_WAIT */
	CM_EVENT_TIME_WAIT_EXIT, /* IDLE: the QP number may be used again */
	/* At a listener, as REQ_RECEIVED: cm_send_sidr_rep or cm_id_destroy. */
	CM_EVENT_SIDR_REQ_RECEIVED,
	CM_EVENT_SIDR_REP_RECEIVED,  /* IDLE */
	CM_EVENT_SIDR_REQ_TIMED_OUT, /* IDLE */
};
#define CM_NUM_EVENTS (CM_EVENT_SIDR_REQ_TIMED_OUT + 1)

struct cm_event {
	enum cm_event_type type;
	struct cm_id *id;
	struct cm_id *listener;	    /* REQ_RECEIVED and SIDR_REQ_RECEIVED; else NULL */
	void *user;		    /* the id's; the listener's for a new id */
	const struct cm_path *path; /* of the message; of the id for timeouts */
	const struct cm_msg *msg;   /* NULL for timeouts. Valid during the call */
};

struct cm_ops {
	/* Sends a MAD to QP 1 of path->dst. Failure is loss. Must not call back into this
	 * interface. */
	void (*send)(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES]);
	/* May call back into this interface, cm_id_destroy(event->id) included. */
	void (*event)(void *host, const struct cm_event *event);
	uint32_t (*random)(void *host);
	/* May be NULL: never. Whether the program that has the id with this user is stopped. Called
	 * when a message has had no answer in time, with the user of the end that must answer, or
	 * of the listener where no end exists. Must not call back into this interface. */
	bool (*is_stopped)(void *host, void *user, bool is_listener);
	/* May be NULL: never. Whether a program is stopped that has another server's device with
	 * this address: it may be the one that must answer. */
	bool (*has_stopped)(void *host, const struct gid *address);
};

struct cm_cfg {
	const struct cm_ops *ops;
	void *host;
	uint32_t max_ids; /* listeners and TIME_WAIT included */
};

struct cm *cm_new(const struct cm_cfg *cfg); /* NULL: no memory */
void cm_free(struct cm *cm);		     /* all ids end in silence */

/* NULL: max_ids, or no memory. */
struct cm_id *cm_id_create(struct cm *cm, void *user);
/* Ends the user's hold of an id: no further event. What is due to the other side is sent: a REJ
 * for a REQ that is not answered (reason 28, consumer defined) or has no answer (reason 4,
 * timeout), a DREQ for an established connection. The id goes on alone until the exchange is over:
 * it retries the DREQ, answers duplicates, keeps TIME_WAIT. */
void cm_id_destroy(struct cm_id *id, uint64_t now_ns);
/* Ends an id as if it had never been: nothing is sent, and a retry of the peer's makes a new one.
 * For a REQ_RECEIVED or SIDR_REQ_RECEIVED that the listener has no room for. */
void cm_id_forget(struct cm_id *id);
void cm_id_set_user(struct cm_id *id, void *user);
enum cm_state cm_id_state(const struct cm_id *id);

struct cm_id_info {
	uint32_t local_comm_id, remote_comm_id; /* 0: none */
	uint32_t local_qpn, remote_qpn;
	struct cm_path path;
};
void cm_id_info(const struct cm_id *id, struct cm_id_info *ret);

/* The calls below return 0, or -EINVAL: not in a state that permits it, or more private data than
 * the message carries. msg->attr must be the call's. The engine fills in communication IDs,
 * request IDs and the transaction ID. None keeps msg. */

/* Listens for REQs and SIDR_REQs. addr NULL: at every address. -EADDRINUSE: another listener has
 * the service there. -ENOMEM. */
int cm_listen(struct cm_id *id, uint64_t service_id, const struct gid *addr, uint32_t device);
/* Retries u.req.max_cm_retries times. A retry comes after remote_cm_timeout and two packet
 * lifetimes, from primary.ack_timeout (12.9.8.3). -ENOMEM. */
int cm_send_req(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		uint64_t now_ns);
/* u.rep.local_qpn is the QP number for all transports, also in events. On the wire XRC has it in
 * another field (annex A14). */
int cm_send_rep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns);
int cm_send_rtu(struct cm_id *id, const struct cm_msg *msg);
/* MRA: the REP (for a REQ) or the RTU (for a REP) takes up to 4.096 us << service_timeout. */
int cm_send_mra(struct cm_id *id, const struct cm_msg *msg);
/* The same, but says so only when the REQ or REP comes again. */
int cm_defer_mra(struct cm_id *id, uint8_t service_timeout);
/* Refuses a REQ or REP, or gives up an exchange that is not established. A REP is withdrawn: the id
 * is in DREQ_SENT, since the other end may have its connection already. The engine fills in
 * message_rejected. */
int cm_send_rej(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns);
/* Retries as often and as slowly as the REQ said. */
int cm_send_dreq(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns);
int cm_send_drep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns);
/* -ENOMEM. */
int cm_send_sidr_req(struct cm_id *id, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t timeout_ns, uint8_t max_retries, uint64_t now_ns);
int cm_send_sidr_rep(struct cm_id *id, const struct cm_msg *msg, uint64_t now_ns);
/* Passive: data arrived before the RTU (IBV_EVENT_COMM_EST). Reports RTU_RECEIVED during the call.
 * -EISCONN: the RTU was first. */
int cm_established(struct cm_id *id);

/* The ACK timeout of a connection: the target's delay and a round trip (two packet lifetimes),
 * rounded up where both are about equal (12.7.34). All are exponents of 4.096 us. */
uint8_t cm_ack_timeout(uint8_t ack_delay, uint8_t round_trip);

/* A MAD that arrived at QP 1. path is this end's view: src is this end. Anything may be in it. */
void cm_input(struct cm *cm, const struct cm_path *path, const uint8_t mad[static CM_MAD_BYTES],
	      uint64_t now_ns);
uint64_t cm_deadline(const struct cm *cm); /* UINT64_MAX: none */
void cm_expire(struct cm *cm, uint64_t now_ns);

uint32_t cm_num_ids(const struct cm *cm);
/* Calls each(arg, id) for every id, orphans included. each must change nothing here. */
void cm_each(struct cm *cm, void (*each)(void *arg, const struct cm_id *id), void *arg);

#endif
