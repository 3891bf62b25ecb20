/* SPDX-License-Identifier: MIT */
/* The oracle of the simulator: a model of all requests, and checks of every completion, packet,
 * byte and step.
 *
 * The model has each request in the order of posting. Reliable: a message arrives once, in order,
 * with its bytes; a WRITE changes its target in the order of the WRITEs; an atomic's result shows
 * that it ran once; an ATOMIC WRITE is stored whole; what was written before a FLUSH is in place,
 * and persistent if asked for, when the FLUSH completes; a request completes only after its
 * response; completions are in order, one for each signalled request, and after an error all others
 * are flushed. Unreliable: what arrives is whole and was sent. Always: no byte is stored outside of
 * granted regions, no packet leaves a QP in a state that does not send, events have a cause,
 * counters agree with the packets. */
#ifndef RXE_SIM_ORACLE_H
#define RXE_SIM_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/world.h"

#define ORACLE_MAX_PARTIES   8
#define ORACLE_MAX_TIME_WAIT 64
#define ORACLE_MAX_OPS	     256
#define ORACLE_SLOTS	     24 /* most open receives, and READs */
#define ORACLE_SLOT_BYTES    4096u
#define ORACLE_RECVS	     1024 /* more than all slots together */
#define ORACLE_EARLY	     1024 /* more than are held */
#define ORACLE_WORDS	     8
#define ORACLE_WRITE_BYTES   12288u /* most bytes of a reliable WRITE */
/* Each of the last 16 unreliable WRITEs has a place of its own. */
#define ORACLE_UC_BYTES 1024u

/* Areas of an end's memory, from its own offset on. The bytes between them never change. */
#define AREA_SOURCE	0x100u /* constant: the source of SENDs and WRITEs, read by READs */
#define AREA_SOURCE_LEN 0x4000u
#define AREA_TARGET	0x4200u /* written by the peer */
#define AREA_TARGET_LEN 0x4000u
#define AREA_WORDS	0x8300u	 /* atomics of the peer */
#define AREA_RECVS	0x8400u	 /* a slot for each receive */
#define AREA_READS	0x20500u /* a slot for each read or atomic: results */
#define AREA_BYTES	0x38600u

struct op {
	enum rxe_wr_opcode opcode;
	uint32_t len;
	uint32_t from, to; /* offsets in the areas of the operation */
	uint32_t imm;
	bool signalled;
	bool answered;	  /* a response of its own has arrived, to its end */
	bool answer_sent; /* FLUSH, ATOMIC WRITE: the response has left */
	struct feth feth; /* FLUSH: of flush_len bytes of the target from `to` on */
	uint32_t flush_len;
	uint32_t slot;	  /* of results */
	uint32_t srq;	  /* XRC: the SRQ of its target's host that it names */
	bool unpermitted; /* it uses a key without the right */
	uint64_t orig;	  /* atomic: the expected result */
	uint32_t psn_last;
	uint32_t arrived; /* times that it was delivered */
};

/* Keys of an end's memory in one protection domain. */
struct party_keys {
	uint32_t source, target, words, recvs;
};

struct party {
	struct end *end;
	struct party *peer;
	struct node_qp_opts opts;
	uint32_t index;
	uint32_t base;		   /* of its memory, in its node's */
	bool is_device_memory;	   /* keys of its target and words count from 0 */
	struct party_keys keys[2]; /* XRC target: in NODE_PD and NODE_OTHER_PD; else the first */
	uint32_t key_reads;
	bool has_window;	/* the key of its target is a memory window's */
	bool is_window_closed;	/* an invalidation of that window has completed */
	uint32_t target_region; /* the region below */
	/* A window that it binds and invalidates in turns, and that no peer uses. */
	uint32_t spare_window, spare_tag;
	bool is_spare_bound;
	struct op ops[ORACLE_MAX_OPS];
	uint32_t num_ops;
	uint32_t done;	    /* ops before this have ended */
	uint32_t delivered; /* ops before this have had their receive completed, or need none */
	uint32_t first_psn; /* of this life */
	uint32_t next_psn;  /* of the next op */
	uint32_t acked_psn; /* highest PSN that was acknowledged */
	/* Highest PSN acknowledged by a packet that the peer sent, and highest last PSN of a
	 * message whose receive completed there. */
	uint32_t ack_sent_psn, received_psn;
	/* Requests that arrived after a missing one, by number: its engine may hold them. */
	struct {
		uint32_t psn, takes; /* PSNs */
	} early[ORACLE_EARLY];
	uint32_t num_early;
	bool failed; /* an error completed: flushes follow */
	/* This pair must end in an error. */
	bool may_fail;
	/* Moved to RESET or destroyed: its requests do not complete. */
	bool vanished;
	/* Destroyed because its program exited or was done. */
	bool has_left;
	/* Only the peer was destroyed. */
	bool deserted;
	/* Packets were forged: arrivals differ from what was sent, or from its order. */
	bool is_forged;
	bool slot_taken[ORACLE_SLOTS]; /* reads and atomics under way */
	bool recv_taken[ORACLE_SLOTS];
	uint64_t last_recv[NODE_XSRQS]; /* of each SRQ; without XRC: the first */
	uint64_t word[ORACLE_WORDS]; /* the model of its words, peer's atomics applied as posted */
	uint8_t target
		[AREA_TARGET_LEN]; /* the model of its target, peer's writes applied as posted */
	/* For each byte of the target the number of posted requests up to the last that writes
	 * it. */
	uint16_t written_by[AREA_TARGET_LEN];
};

/* Counts of a node's packets, to compare with its counters. */
struct sightings {
	uint64_t sent_pkts, sent_bytes;
	uint64_t rcvd_pkts, rcvd_bytes;
	uint64_t corrupt;
	uint64_t rnr_naks_sent;
	uint64_t recvs, sends; /* successful completions; sends only if they were signalled */
	struct rxe_counters before;
	uint32_t rq_psn;
	bool is_for_time_wait; /* a TIME_WAIT record must answer for its QP */
};

/* A destroyed QP, and what TIME_WAIT may answer for it. */
struct oracle_time_wait {
	const struct node *node;
	struct end *peer; /* the peer, possibly destroyed too */
	uint32_t qpn, dest_qpn;
	uint32_t psn; /* everything before it was received */
	uint64_t left_ns;
	bool is_xrc;
	bool answers; /* it had received something, and was not in error */
	bool is_forged;
	bool ack_due;
	uint32_t atomics_due;
	uint32_t num_atomics;
	struct {
		uint32_t psn;
		bool is_atomic; /* false: FLUSH or ATOMIC WRITE */
		bool is_open;	/* a FLUSH without a response: it was carried out, or not */
		uint64_t orig;
	} atomic[RXE_MAX_RD_ATOMIC]; /* the newest that ran, by number */
};

struct oracle {
	struct world *w;
	uint64_t seed;
	bool shows_trace;
	char replay[96]; /* command that replays this run */
	/* Runs a failing run again with the end of its trace; NULL: this is the second run. */
	void (*retell)(void);
	bool lossy;    /* a retry budget may run out */
	bool shuffles; /* packets are duplicated or reordered */
	struct party party[ORACLE_MAX_PARTIES];
	uint32_t num_parties;
	struct sightings seen[WORLD_MAX_NODES];
	uint64_t recv_number; /* of the last receive posted: its wr_id */
	struct recv_place {
		uint8_t party, slot;
	} recv_place[ORACLE_RECVS]; /* of receives, by number */
	uint64_t given_up;	    /* requests that ran out of retries */
	uint32_t stop_random;	    /* chooses stops of processes; 0: none */
	uint64_t stops;
	struct oracle_time_wait time_wait[ORACLE_MAX_TIME_WAIT]; /* the newest, by number */
	uint32_t num_time_wait;
};

void oracle_init(struct oracle *o, struct world *w, uint64_t seed);
/* Two parties on these nodes, connected; base: where the memory of each begins. */
void oracle_add_pair(struct oracle *o, struct node *x, struct node *y, const uint32_t base[2],
		     const struct node_qp_opts *opts);
/* Destroys both QPs of the party's pair, or (reset) moves them to RESET, and connects them
 * again. */
void oracle_renew_pair(struct oracle *o, struct party *party, bool reset);
/* The party's QP enters RESET and stays there: its peer gets no answers. */
void oracle_vanish(struct oracle *o, struct party *party);

/* Destroys the party's QP. If it was its host's last and ends is set, the program exits and
 * TIME_WAIT answers. */
void oracle_leave(struct oracle *o, struct party *party, bool ends);
/* Unmaps the memory of the party's source; its key stays valid until the pair is renewed. */
void oracle_lose_memory(const struct party *party);

/* Posts op for the party and expects its effects. sabotage: a wrong key, 1 local, 2 remote; XRC: 3
 * an SRQ that does not exist, 4 an SRQ of another XRC domain. */
void oracle_post(struct oracle *o, struct party *party, struct op op, uint32_t sabotage);
/* Post a receive into a free slot; false: none is free. */
bool oracle_recv(struct oracle *o, struct party *party, uint32_t len);
/* Whether a slot for a READ or atomic is free. */
bool oracle_find_slot(const struct party *party, uint32_t *ret_slot);
/* XRC: creates the missing SRQs of the host of targets. */
void oracle_xrc_begin(struct oracle *o, struct node *node);
/* Chooses an SRQ that the party's target may name, at random. False: there is none. */
bool oracle_xrc_choose(struct oracle *o, const struct party *party, uint32_t *ret_srq);
/* Destroys one of them at any moment. */
void oracle_xrc_destroy(struct oracle *o, struct node *node);
/* oracle_mw.c: memory windows. The windows of a party that begins. */
void oracle_mw_begin(struct party *party);
/* The party binds or invalidates its spare window, or closes that of its target. */
struct op oracle_mw_turn(const struct party *party);
struct op oracle_mw_close(const struct party *party);
/* Fills in the engine's request, and changes the model as if it was executed. */
void oracle_mw_prepare(struct party *party, const struct op *op, struct post *ret);
/* The request has completed well. */
void oracle_mw_done(struct party *party, const struct op *op);
/* Whether the target is open to the peer. */
bool oracle_mw_is_open(const struct party *party);
/* Posts the receives that messages to the party still need. */
void oracle_recv_missing(struct oracle *o, struct party *party);
/* Nothing more will happen: checks the final state. */
void oracle_final(struct oracle *o);

/* Shared by the files of the oracle. */
void oracle_watch_packets(struct oracle *o);
void oracle_watch_node(struct oracle *o, struct node *node);
void oracle_watch_completions(struct oracle *o);
void oracle_check_state(const struct oracle *o);
void oracle_check_result(const struct oracle *o, struct party *party, const struct op *op);
/* Whether the slot of that receive is in use. */
bool *oracle_recv_taken(struct oracle *o, uint64_t wr_id);
/* Local operations send no packet. */
bool oracle_is_local(const struct op *op);
bool oracle_needs_recv(const struct op *op);
/* Whether the request's peer has not received it. */
bool oracle_is_awaited(const struct op *op);
/* Whether the operation has a result. */
bool oracle_uses_slot(const struct op *op);
/* Whether it needs a response of its own. */
bool oracle_is_answered(const struct op *op);
/* A FLUSH completed, which was the request of that index. */
void oracle_check_flush(const struct oracle *o, const struct party *party, uint32_t index);
bool oracle_is_reliable(const struct party *party);
/* RTR, RTS or SQD: the QP answers requests. */
bool oracle_is_receiving(const struct rxe_qp *qp);
bool oracle_is_xrc(const struct party *party);
bool oracle_is_target(const struct party *party); /* of XRC */
/* The keys that a request needs at its target. */
const struct party_keys *oracle_keys_for(const struct party *peer, const struct op *op);
/* The number that the request names, and what sabotage does to it. */
uint32_t oracle_xrc_number(const struct oracle *o, const struct party *party, struct op *op,
			   uint32_t sabotage);
bool oracle_xrc_recv(struct oracle *o, struct party *party, uint32_t len);
/* Whether the target holds a receive of this SRQ, not of an earlier one. */
bool oracle_xrc_holds(const struct party *party, uint32_t which);
void oracle_xrc_recv_missing(struct oracle *o, struct node *node);
void oracle_xrc_check_cq(const struct oracle *o, const struct party *party, uint32_t srq,
			 const struct rxe_cq *cq);
void oracle_xrc_final(const struct oracle *o);
/* The program exited, and with it all SRQs of the host. */
void oracle_xrc_forget(struct oracle *o, struct node *node);
/* Post a receive into that slot of the party's. */
struct rxe_sge oracle_take_slot(struct oracle *o, struct party *party, uint32_t slot, uint32_t len,
				uint32_t lkey);
/* The party's QP is about to be destroyed. */
void oracle_time_wait_note(struct oracle *o, const struct party *party);
/* A packet for no QP arrives, and has arrived; one leaves from no QP; nothing is pending any
 * more. */
void oracle_time_wait_arrives(struct oracle *o, const struct node *node,
			      const struct wire_packet *packet);
void oracle_time_wait_arrived(struct oracle *o, const struct node *node,
			      const struct wire_packet *packet);
void oracle_time_wait_answered(struct oracle *o, const struct node *node,
			       const struct wire_packet *packet);
void oracle_time_wait_check(const struct oracle *o);
/* Nothing more will happen: each remaining peer sends a duplicate, in time and too late. */
void oracle_time_wait_final(struct oracle *o);
struct party *oracle_party_of(struct oracle *o, const struct end *end);
/* The party's bytes: at an offset of its own; the bytes that it sends begin at an offset of its
 * source. */
uint8_t *oracle_mem(const struct party *party, uint32_t at);
const uint8_t *oracle_source(const struct party *party, uint32_t at);

__attribute__((noreturn, format(printf, 2, 3))) void oracle_fail(const struct oracle *o,
								 const char *format, ...);

#endif
