/* SPDX-License-Identifier: MIT */
/* One engine under attack, and an oracle that checks everything that it does: the bytes it
 * accesses, its completions, its packets.
 *
 * Its memory lies in regions of exactly their size, each with one use: a region for the peer's
 * writes and atomics, one for receives, one for results of READs and atomics, one for the bytes of
 * sends. An access against a region's use is a finding. */
#ifndef TESTS_FUZZ_HOST_H
#define TESTS_FUZZ_HOST_H

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/time_wait.h"
#include "emu/srq.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/fuzz/target.h"

#define HOST_PD	    7u
#define HOST_WRS    16u
#define HOST_SGES   4u
#define HOST_INLINE 64u
#define HOST_SLOTS  32u	  /* most open receives, or results */
#define HOST_SLOT   2048u /* bytes of each */
#define HOST_PORT   0xc123u
#define HOST_XRCD   5u

enum host_region {
	REGION_NONE, /* index 0 is not a key */
	REGION_REMOTE,
	REGION_READ_ONLY,
	REGION_RECEIVES,
	REGION_RESULTS,
	REGION_SOURCE,
	REGION_FOREIGN,	 /* another domain's */
	REGION_UNMAPPED, /* its memory was unmapped */
	REGION_WINDOW,	 /* a peer may invalidate it */
	REGION_EDGE,	 /* ends at the last address but one */
	REGION_DEAD,	 /* deregistered */
	REGION_BELOW,	 /* the region that the window lies in */
	HOST_REGIONS,
};

enum host_qp_name {
	QP_RC,
	QP_RC_SRQ,
	QP_UC,
	QP_UD,
	QP_XRC_SEND,
	QP_XRC_RECV,
	HOST_QPS,
};

#define HOST_QUEUE_XRC (HOST_QPS + 1)

/* A request that was posted with a slot of REGION_RECEIVES or REGION_RESULTS. */
struct host_slot {
	bool open;
	uint8_t queue; /* HOST_QPS: the SRQ; HOST_QUEUE_XRC: the XRC SRQ */
	uint32_t len;
	uint64_t number;  /* in the order of posting */
	uint64_t written; /* bytes stored in it, some perhaps twice */
};

/* The answers that a destroyed queue pair's peer may get, apart from the record of
 * emu/rc/time_wait.c. */
struct host_time_wait {
	bool is_destroyed;
	/* The QP has received something, and no fatal NAK was due. */
	bool answers;
	uint64_t since_ns, until_ns;
	uint32_t due, due_atomics; /* duplicates that came since the last output */
	uint32_t answered, answered_atomics;
};

struct host_atomic {
	uint32_t psn;
	uint64_t orig; /* value before the atomic */
};

struct host_qp {
	struct rxe_qp qp;
	struct host_time_wait time_wait;
	struct host_atomic atomic[RXE_MAX_RD_ATOMIC]; /* the last atomics that were executed */
	uint32_t atomics;			      /* free-running */
	/* A FLUSH or an ATOMIC WRITE arrived: it may have displaced the result of an atomic. */
	bool has_others;
	uint32_t peer_qpn;
	uint64_t sends, sends_done; /* wr_ids count from 1 */
	uint64_t recvs_done;	 /* number of the last, for a QP with a receive queue of its own */
	uint64_t answers_at[64]; /* valid responses seen when request n was posted, by n mod 64 */
	bool failed;		 /* an error completed: all others are flushed */
	void *sq_mem, *rq_mem;
};

struct host {
	struct rxe_engine engine;
	struct rxe_counters counters;
	struct rxe_mr_table *mrs;
	struct rxe_mw_table *mws;
	uint8_t *bytes[HOST_REGIONS];
	struct rxe_cq cq;
	struct rxe_srq srq, xsrq;
	void *cq_mem, *srq_mem, *xsrq_mem;
	struct host_qp qp[HOST_QPS];
	struct host_slot recv[HOST_SLOTS], result[HOST_SLOTS];
	struct host_slot *result_of[HOST_QPS][64]; /* by request, mod 64 */
	uint64_t posted;
	uint64_t now_ns;
	uint64_t effects;	    /* bytes stored and atomics */
	uint64_t answers[HOST_QPS]; /* valid packets to the requester */
	bool is_small;		    /* the CQ may overrun, and then completions are lost */
	bool sends_posted;
	struct rxe_time_wait_table *time_wait;
	bool is_deferred;	  /* memory is deferred */
	bool to_group;		  /* arrivals are for the multicast group */
	bool table_is_wild;	  /* its records were overwritten */
	uint32_t answers_due;	  /* answers that may leave for destroyed queue pairs */
	struct host_qp *arriving; /* QP of the packet that is handled, */
	uint32_t arriving_psn;	  /* and the packet's PSN */
	uint16_t max_segs;
	enum ip_id_rule id_rule;
	struct gid self, peer, group;
	uint8_t out[TRAIN_MAX_BYTES];
};

/* The setup, from the first bytes of the input. */
struct host_setup {
	bool small_cq, any_id, v6, trains_off, hold;
	uint32_t mtu;
	uint8_t rd_atomic, retry_cnt, rnr_retry, timeout, rnr_timer;
	uint32_t rq_psn, sq_psn;
	enum rxe_qp_state state; /* RTR or RTS */
};

struct host_setup host_take_setup(struct take *take, enum rxe_qp_state state);
struct host *host_new(const struct host_setup *setup);
/* Moves all QPs to ERR: each posted request completes, and nothing is left. */
void host_free(struct host *host);

uint64_t host_iova(enum host_region region);
uint32_t host_len(enum host_region region);
uint32_t host_key(enum host_region region);
void host_revoke(struct host *host, enum host_region region, bool revoked);
void host_modify(struct host *host, enum host_qp_name name, enum rxe_qp_state to,
		 const struct host_setup *setup);
/* Posts a receive of len bytes to the QP, or to its SRQ. */
void host_recv(struct host *host, enum host_qp_name name, uint32_t len, uint32_t pieces);
void host_send(struct host *host, enum host_qp_name name, const struct rxe_send_wr *like,
	       uint32_t len);
/* Destroys the queue pair while its peer sends on, or creates a destroyed one again with the same
 * number. */
void host_destroy_or_create(struct host *host, enum host_qp_name name,
			    const struct host_setup *setup);
/* Creates a QP in RESET. */
void host_add_qp(struct host *host, enum host_qp_name name, uint32_t qpn);
void host_connect(struct host *host, enum host_qp_name name, const struct host_setup *setup);
/* Posted requests of the QP will not complete any more. */
void host_forget(struct host *host, enum host_qp_name name);
void host_atomic_done(struct host *host, uint64_t orig);
/* Writes any bytes to the records: the device server reads those of other processes. */
void host_time_wait_spoil(struct host *host, struct take *take);
/* A packet arrived for a number without a QP. duplicates: what the counters counted. */
void host_time_wait_arrived(struct host *host, const struct wire_packet *packet, bool is_good,
			    uint64_t duplicates);
/* This train was sent for a destroyed queue pair; no more are sent for now. */
void host_time_wait_sent(struct host *host, const struct wire_train *train);
void host_time_wait_silent(struct host *host);

/* Delivers a packet. is_good: nothing before the QP has a reason to drop it. */
void host_input(struct host *host, const uint8_t *p, uint32_t len, const struct gid *src,
		bool is_good);
/* Sends everything that is due, and checks each packet. */
void host_output(struct host *host);
void host_advance(struct host *host, uint64_t ns);
void host_poll(struct host *host);

#endif
