/* SPDX-License-Identifier: MIT */
/* Hosts the connection manager (rxe_dm/cma/cma.h) for all devices of the instance: timers, MADs
 * over QP 1 (gsi.c), and event channels of programs.
 *
 * It runs in the server since QP 1 exists once for each device, ports belong to the instance, and
 * somebody must send the DREQ of a killed process and live through its TIME_WAIT. */
#ifndef RXE_DM_SERVER_CM_H
#define RXE_DM_SERVER_CM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Running out of memory fails the addition, not the server. */
#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

#include "lib/control/cm_request.h"
#include "lib/inject/rule.h"
#include "lib/inject/verb.h"
#include "net/link/fault/fault.h"
#include "net/wire/cm_msg.h"
#include "rxe_dm/cma/cma.h"
#include "rxe_dm/server/loop.h"

struct conn;
struct device;
struct instance;

/* An event that the socket has not taken yet. */
struct cm_queued {
	struct cm_queued *prev, *next;
	struct ctl_cm_event event;
};

/* The server's end of an event channel. */
struct cm_channel {
	struct conn *conn;
	uint32_t handle;
	UT_hash_handle hh; /* of the connection, by handle */
	uint32_t num_ids;
	struct loop_source sock; /* in the loop while blocked */
	bool paused;		 /* the library takes events back */
	bool blocked;		 /* the socket is full */
	struct cm_queued *queue;
	uint32_t queued;
	uint64_t sent;	 /* events put into the socket */
	uint32_t charge; /* what the kernel counts for one event in the socket; 0: not known yet */
};

/* The last attempts to connect that came to nothing. */
struct cm_failures {
	struct ctl_cm_failure at[CTL_CM_FAILURES_KEPT];
	uint32_t count; /* of all times; the newest is at [(count - 1) % CTL_CM_FAILURES_KEPT] */
};

#define CM_MAX_IDS   65536 /* of the instance */
#define CM_QUEUE_MAX 65536 /* events; requests beyond that fail */

/* 0 or -ENOMEM. */
int cm_open(struct instance *instance);
/* Ends all ids: peers hear of it. */
void cm_close(struct instance *instance);
/* Runs due timers. Returns when the next is due; UINT64_MAX: none. */
uint64_t cm_run(struct instance *instance, uint64_t now_ns);
/* Records that the library refused an attempt of an id to connect. */
void cm_refused(struct instance *instance, struct cma_id *id, const struct ctl_cm_refusal *refusal);
/* Something happened to a device (enum ibv_event_type): its ids hear of it. */
void cm_device_event(const struct device *device, uint32_t type);
/* The connection closes: its ids and channels end. */
void cm_end_conn(struct conn *conn);

/* cm_channel.c */
/* Takes over the descriptor. -EINVAL: not an end of a socket pair; -ENOMEM. */
int cm_channel_open(struct conn *conn, int fd, struct cm_channel **ret);
struct cm_channel *cm_channel_find(const struct conn *conn, uint32_t handle); /* NULL: none */
/* No id uses it: num_ids is 0. */
void cm_channel_close(struct cm_channel *channel);
/* Drops all waiting events: the process has exited. */
void cm_channel_clear(struct cm_channel *channel);
void cm_channel_pause(struct cm_channel *channel, bool paused);
/* Moves the events of an id that wait in the server to another channel; ids of connection requests
 * among them move, too. */
void cm_channel_move(struct cma_id *id, struct cm_channel *to);
/* Drops the waiting events of a membership. Returns their number. */
uint32_t cm_channel_drop_membership(struct cm_channel *channel, uint64_t mc_token);
/* Drops the waiting events of the id, and ends it. */
void cm_end_id(struct cma_id *id, uint64_t now_ns);
/* The number of the listener's connection requests that its program has not read. */
uint32_t cm_channel_unread(struct cma_id *listener);
/* True: at least backlog. host is not used: this is an operation of struct cma_ids_ops. */
bool cm_channel_has_unread(void *host, struct cma_id *listener, uint32_t backlog);
/* Puts an event into the channel of an id. */
void cm_channel_put(struct cma_id *id, const struct ctl_cm_event *event);

/* cm_fault.c: fault rules. Calls of librdmacm by name (rdma_connect() and the others that are
 * requests to the connection manager) fail before they do anything. Messages: cm_drop,
 * cm_duplicate, cm_delay and cm_reject act at QP 1, where all messages of the device pass. */
/* Counts of nth= and every= by the place of a rule: calls of a process by enum inject_verb, or
 * messages of a device by attribute and direction. */
struct cm_fault_counts {
	uint32_t id[FAULT_MAX_RULES]; /* number of the rule that the counts are of */
	uint32_t count[FAULT_MAX_RULES][INJECT_VERBS];
};
static_assert(2 * (CM_APR - CM_REQ + 1) <= INJECT_VERBS, "each message has a count");
/* Counts a request of a process for each rule of a device that names its call (INJECT_VERBS: none
 * does). 0, or the negative errno of the first rule that fires. */
int cm_fault_decide(struct conn *conn, uint32_t device, enum inject_verb verb);
/* Counts the message for each rule that selects it. True: *ret is the first that fires, with the
 * action INJECT_CM_DROP, INJECT_CM_DUPLICATE, INJECT_CM_DELAY or, for a REQ that arrived,
 * INJECT_CM_REJECT. */
bool gsi_fault_decide(struct device *device, struct cm_fault_counts *counts,
		      const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir, struct inject_rule *ret);
/* The REJ that answers a REQ. */
void gsi_fault_answer(uint8_t ret_mad[CM_MAD_BYTES], const uint8_t req[CM_MAD_BYTES],
		      uint16_t reason);

#endif
