/* SPDX-License-Identifier: MIT */
/* The oracle of the simulator: a model of what must happen, and a look at every completion, packet and byte.
 *
 * It knows each request in the order it was posted. A message must arrive once, in order, with its bytes; a write changes its
 * target as the writes' order says; an atomic's result tells that it ran once; completions come in order, one for each signalled
 * request, and after an error everything else is flushed; no packet leaves a QP that may not talk; counters agree. */
#ifndef RXE_SIM_ORACLE_H
#define RXE_SIM_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/world.h"

#define ORACLE_MAX_PARTIES 8
#define ORACLE_MAX_OPS	   256
#define ORACLE_SLOTS	   24 /* receives, and reads, at a time */
#define ORACLE_SLOT_BYTES  4096u
#define ORACLE_WORDS	   8

/* Where an end's memory is, from its own offset on. What lies between the areas is nobody's. */
#define AREA_SOURCE	0x100u /* never changes: sent, written and read from */
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
	uint32_t from, to; /* offsets in the areas concerned */
	uint32_t imm;
	bool signalled;
	uint32_t slot; /* of results */
	uint64_t orig; /* atomic: what it must return */
};

struct party {
	struct end *end;
	struct party *peer;
	uint32_t base; /* of its memory, in its node's */
	uint32_t key_source, key_target, key_words, key_recvs, key_reads;
	struct op ops[ORACLE_MAX_OPS];
	uint32_t num_ops;
	uint32_t done;	    /* ops before this are known to be over */
	uint32_t delivered; /* ops before this have had their receive completed, or need none */
	bool failed;	    /* an error completion came: from now on flushes */
	bool may_fail;	    /* something was done to this pair that ends in an error */
	bool is_forged; /* packets were forged: what arrives is not what was sent, nor in its order */
	bool slot_taken[ORACLE_SLOTS]; /* reads and atomics under way */
	bool recv_taken[ORACLE_SLOTS];
	uint32_t num_recvs, recvs_done;
	uint64_t last_recv;
	uint64_t word[ORACLE_WORDS]; /* the model of its words, peer's atomics applied as posted */
	uint8_t target
		[AREA_TARGET_LEN]; /* the model of its target, peer's writes applied as posted */
};

struct oracle {
	struct world *w;
	uint64_t seed;
	bool shows_trace;
	bool lossy; /* a retry budget may run out */
	struct party party[ORACLE_MAX_PARTIES];
	uint32_t num_parties;
	uint64_t given_up; /* requests that ran out of retries */
};

void oracle_init(struct oracle *o, struct world *w, uint64_t seed);
/* A pair of ends becomes two parties. */
void oracle_add_pair(struct oracle *o, struct end *x, struct end *y);
/* Post op for the party, and expect its consequences. sabotage: with a key that is wrong, 1 local, 2 remote. */
void oracle_post(struct oracle *o, struct party *party, struct op op, uint32_t sabotage);
/* Post a receive into a free slot; false: none is free. */
bool oracle_recv(struct oracle *o, struct party *party, uint32_t len);
/* Is there a free slot for a read or atomic? */
bool oracle_find_slot(const struct party *party, uint32_t *ret_slot);
/* Messages that the party still has to receive. */
uint32_t oracle_missing_recvs(const struct party *party);
/* Nothing is going to happen any more: is everything as it must be? */
void oracle_final(struct oracle *o);

__attribute__((noreturn, format(printf, 2, 3))) void oracle_fail(const struct oracle *o,
								 const char *format, ...);

#endif
