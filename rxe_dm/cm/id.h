/* SPDX-License-Identifier: MIT */
/* Ids: their structure by kind, the tables that find them, their timer, and events about them. The
 * order of calls is one way: manager.c hands a message to the file of its exchange (connect.c,
 * disconnect.c, sidr.c), which takes steps (state.c) and sends (retry.c). connect.c refuses through
 * disconnect.c. All use this file. */
#ifndef RXE_CM_ID_H
#define RXE_CM_ID_H

#include "emu/heap.h"
#include "rxe_dm/cm/cm.h"

/* Running out of memory fails the addition, not the process. */
#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

/* Keys of the tables have no padding. */
/* A communication ID or a QP number, and the CA that it belongs to. */
struct cm_remote_key {
	uint64_t ca_guid;
	uint64_t number;
};
/* A SIDR_REQ's sender and request: duplicates. */
struct cm_request_key {
	struct gid gid;
	uint64_t request_id;
};

/* Chosen when an exchange begins, and kept in IDLE until the next one. */
enum cm_kind {
	CM_KIND_NONE,
	CM_KIND_LISTENER,
	CM_KIND_CONNECTION,
	CM_KIND_RESOLUTION,
};

struct cm_listener {
	uint64_t service_id;
	uint32_t device;
	bool has_addr;
	struct gid addr;
	struct cm_id *prev, *next; /* of the service */
};

/* One end of a connection, from its REQ to the end of TIME_WAIT. */
struct cm_connection {
	uint32_t local_qpn;
	uint64_t local_ca_guid;
	uint8_t ack_timeout; /* code: length of TIME_WAIT */
	bool is_xrc, is_passive;
	uint32_t refused_comm_id; /* active: an end that is gone, whose REP may be late; 0: none */
	uint64_t duplicates_ns;	  /* passive: how long duplicates of the REQ may come */
	uint16_t reject_reason;	  /* why we refused it; 0: we did not */

	struct cm_remote_key remote;	/* duplicates of a REQ, and REJs for timeouts */
	struct cm_remote_key remote_qp; /* stale connections */
	UT_hash_handle by_remote, by_remote_qp;
	bool in_remote, in_remote_qp; /* tables that hold the id */
};

/* One end of a service ID resolution. */
struct cm_resolution {
	uint64_t service_id;	       /* passive */
	struct cm_request_key request; /* passive */
	UT_hash_handle by_request;
	bool in_request;
};

/* The message that is retried, or answers duplicates. */
struct cm_retry {
	uint64_t timeout_ns;
	uint8_t max, left;
	bool has_last;
	bool stands_still; /* the other end's program was stopped when the timer expired last */
	struct cm_msg last;
};

struct cm_id {
	struct cm *cm;
	void *user;
	enum cm_state state; /* state.c alone changes it */
	bool is_orphan;
	struct cm_id *prev, *next; /* all ids */

	enum cm_kind kind;
	union {
		struct cm_listener listener;
		struct cm_connection connection;
		struct cm_resolution resolution;
	};

	/* Exchanges of any kind. */
	struct cm_path path;
	uint64_t tid; /* a DREQ begins another one */
	uint32_t local_comm_id;
	UT_hash_handle by_comm_id;
	bool in_comm_id;
	struct cm_retry retry;
	struct heap_entry timer;
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

/* Begins an exchange of another kind, with the fields of the kind 0. */
void cm_id_set_kind(struct cm_id *id, enum cm_kind kind);
/* The transaction ID of an exchange that this end begins. */
uint64_t cm_id_own_tid(const struct cm_id *id);
/* The other end's communication ID; 0: not known. */
uint32_t cm_id_remote_comm_id(const struct cm_id *id);
/* Leaves all tables and stops the timer: IDLE. */
void cm_id_clear(struct cm_id *id);
/* Frees an id that is no listener. */
void cm_id_free(struct cm_id *id);

/* False: no memory. */
bool cm_table_add_comm_id(struct cm_id *id); /* gives the id a new communication ID */
/* The other end's id and queue pair: both, or none. */
bool cm_table_add_remote(struct cm_id *id, uint64_t ca_guid, uint32_t comm_id, uint32_t qpn);
bool cm_table_add_request(struct cm_id *id, const struct gid *gid, uint32_t request_id);
/* Does nothing where the table does not hold the id. */
void cm_table_drop_remote_qp(struct cm_id *id);

/* NULL: none. */
struct cm_id *cm_find_connection(const struct cm *cm, uint32_t comm_id);
struct cm_id *cm_find_resolution(const struct cm *cm, uint32_t comm_id);
/* The connection of a pair of communication IDs, the local one first. */
struct cm_id *cm_find_pair(const struct cm *cm, uint32_t local, uint32_t remote);
struct cm_id *cm_find_remote(const struct cm *cm, uint64_t ca_guid, uint32_t comm_id);
struct cm_id *cm_find_remote_qp(const struct cm *cm, uint64_t ca_guid, uint32_t qpn);
struct cm_id *cm_find_request(const struct cm *cm, const struct gid *gid, uint32_t request_id);

/* Each id has at most one timer. */
void cm_timer_set(struct cm_id *id, uint64_t deadline_ns);
void cm_timer_stop(struct cm_id *id);
struct cm_id *cm_timer_first(const struct cm *cm); /* NULL: none */

/* Ends a handler: reports the event, or frees an orphan that has become idle. The id may be freed
 * when this returns. msg NULL: a timeout. */
void cm_id_report(struct cm_id *id, enum cm_event_type type, const struct cm_path *path,
		  const struct cm_msg *msg);
/* The same for a change of state that makes no event. */
void cm_id_settle(struct cm_id *id);
/* Reports a request for a new exchange; id is new. */
void cm_id_report_request(struct cm_id *id, struct cm_id *listener, enum cm_event_type type,
			  const struct cm_path *path, const struct cm_msg *msg);

#endif
