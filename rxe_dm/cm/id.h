/* SPDX-License-Identifier: MIT */
/* What the files of this room share: the tables of ids, and the steps that several exchanges have
 * in common. The order of calls is one way: cm.c hands a message to the file of its exchange
 * (connect.c, disconnect.c, sidr.c), which uses id.c, listen.c and retry.c. connect.c refuses
 * through disconnect.c. */
#ifndef RXE_CM_ID_H
#define RXE_CM_ID_H

#include "emu/heap.h"
#include "rxe_dm/cm/cm.h"

/* Running out of memory fails the addition, not the process. */
#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

/* Longest times that a peer's message can ask for, as exponents of 4.096 us: 8.6 s and 69 s. */
#define CM_MAX_TIMEOUT	       21
#define CM_MAX_SERVICE_TIMEOUT 24

/* Keys of the tables have no padding. */
/* A communication ID or a QP number, and whose. */
struct cm_remote_key {
	uint64_t ca_guid;
	uint64_t number;
};
/* A SIDR_REQ's sender and request: duplicates. */
struct cm_request_key {
	struct gid gid;
	uint64_t request_id;
};

struct cm_id {
	struct cm *cm;
	void *user;
	enum cm_state state;
	bool is_orphan;
	struct cm_id *prev, *next; /* all ids */

	/* LISTEN */
	uint64_t service_id;
	uint32_t device;
	bool has_addr;
	struct gid addr;
	struct cm_id *prev_listener, *next_listener; /* of the service */

	/* Exchanges */
	struct cm_path path;
	uint64_t tid; /* of the exchange; a DREQ begins another */
	uint32_t local_comm_id, local_qpn;
	uint64_t local_ca_guid;
	uint32_t refused_comm_id; /* active: an end that is gone, whose REP may be late; 0: none */
	bool is_xrc, is_passive;
	struct cm_remote_key remote;	/* duplicates of a REQ, and REJs for timeouts */
	struct cm_remote_key remote_qp; /* stale connections */
	struct cm_request_key request;
	uint8_t ack_timeout; /* code: length of TIME_WAIT */

	/* Retries */
	uint64_t timeout_ns;
	uint8_t max_retries, retries_left;
	uint64_t duplicates_ns; /* how long duplicates of the request may come */
	uint16_t reject_reason; /* why we refused it; 0: we did not */
	bool has_last;
	struct cm_msg last; /* the message that is retried, or answers duplicates */
	struct heap_entry timer;

	UT_hash_handle by_comm_id, by_remote, by_remote_qp, by_request;
	bool in_comm_id, in_remote, in_remote_qp, in_request; /* tables that hold the id */
};

/* A service ID that is listened for. */
struct cm_service {
	uint64_t service_id;
	struct cm_id *listeners; /* one at least; none overlap */
	UT_hash_handle hh;
};

struct cm {
	struct cm_cfg cfg;
	struct cm_id *ids;
	uint32_t num_ids;
	uint32_t tid_high; /* of our transaction IDs; the rest is the communication ID */
	struct cm_id *by_comm_id, *by_remote, *by_remote_qp, *by_request;
	struct cm_service *services;
	struct heap timers;
	uint32_t max_timers;
};

/* id.c: NULL or false where there is no memory. Dropping what is not in a table does nothing. */
bool cm_table_add_comm_id(struct cm_id *id); /* gives the id a new communication ID */
/* The other end's id and queue pair: both, or none. */
bool cm_table_add_remote(struct cm_id *id, uint64_t ca_guid, uint32_t comm_id, uint32_t qpn);
bool cm_table_add_request(struct cm_id *id, const struct gid *gid, uint32_t request_id);
void cm_table_drop_remote_qp(struct cm_id *id);
struct cm_id *cm_find_comm_id(const struct cm *cm, uint32_t comm_id);
/* The id of a pair of communication IDs, the local one first. */
struct cm_id *cm_find_pair(const struct cm *cm, uint32_t local, uint32_t remote);
struct cm_id *cm_find_remote(const struct cm *cm, uint64_t ca_guid, uint32_t comm_id);
struct cm_id *cm_find_remote_qp(const struct cm *cm, uint64_t ca_guid, uint32_t qpn);
struct cm_id *cm_find_request(const struct cm *cm, const struct gid *gid, uint32_t request_id);
/* Leaves all tables and the timer. The id may begin another exchange. */
void cm_id_enter_idle(struct cm_id *id);
/* Ends a handler: reports the event, or frees an orphan that has become idle. The id may be freed
 * when this returns. msg NULL: a timeout. */
void cm_id_report(struct cm_id *id, enum cm_event_type type, const struct cm_path *path,
		  const struct cm_msg *msg);
/* The same for a change of state that makes no event. */
void cm_id_settle(struct cm_id *id);
/* Reports a request for a new exchange; id is new. */
void cm_id_report_request(struct cm_id *id, struct cm_id *listener, enum cm_event_type type,
			  const struct cm_path *path, const struct cm_msg *msg);

/* The state as it was before an MRA was sent or received: the same messages are due. */
static inline enum cm_state cm_state_without_mra(enum cm_state state)
{
	if (state == CM_STATE_MRA_REQ_RCVD)
		return CM_STATE_REQ_SENT;
	if (state == CM_STATE_MRA_REP_SENT)
		return CM_STATE_REP_RCVD;
	if (state == CM_STATE_MRA_REQ_SENT)
		return CM_STATE_REQ_RCVD;
	return state == CM_STATE_MRA_REP_RCVD ? CM_STATE_REP_SENT : state;
}

/* listen.c */
struct cm_id *cm_listen_find(const struct cm *cm, uint64_t service_id, const struct cm_path *path);
void cm_listen_end(struct cm_id *id);

/* retry.c */
bool cm_timer_reserve(struct cm *cm); /* a place in the heap for one id more */
void cm_timer_set(struct cm_id *id, uint64_t deadline_ns);
void cm_timer_stop(struct cm_id *id);
struct cm_id *cm_timer_first(const struct cm *cm);	/* NULL: none */
uint64_t cm_timeout_ns(uint8_t code, uint8_t max_code); /* 4.096 us << code, at most << max_code */
/* Whether msg is attr and its lengths are within bounds. */
bool cm_msg_is_sendable(const struct cm_msg *msg, enum cm_attr attr);
/* Fills in communication IDs and the transaction ID and keeps the message as id->last. */
void cm_last_set(struct cm_id *id, const struct cm_msg *msg);
void cm_last_send(struct cm_id *id);
/* Sends id->last whenever no answer has come in time, max_retries times. */
void cm_last_await(struct cm_id *id, uint64_t now_ns);
/* The same, and sends it now. */
void cm_last_retry(struct cm_id *id, uint64_t now_ns);
/* Retries once more. False: no retries are left. */
bool cm_last_retry_again(struct cm_id *id, uint64_t now_ns);
/* Answers a message of which no id is known (any more): swaps its communication IDs and keeps its
 * TID. */
void cm_answer_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
			 const struct cm_msg *answer);

/* Handlers of messages; each may free ids. */
void cm_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_rtu_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);
void cm_mra_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_rej_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_dreq_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns);
void cm_drep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns);
void cm_lap_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);
void cm_sidr_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);
void cm_sidr_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);

/* disconnect.c */
/* A REJ of reason 4 (timeout), with our CA GUID as additional information. */
void cm_rej_timeout(struct cm_id *id);
/* A REJ for a REQ, REP or RTU of which no id is known. */
void cm_rej_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
		      enum cm_reject_reason reason);

/* Disconnects an older connection of a queue pair that has begun another. */
void cm_end_stale(struct cm_id *old, uint64_t now_ns);
void cm_time_wait_enter(struct cm_id *id, uint64_t now_ns);

#endif
