/* SPDX-License-Identifier: MIT */
/* Fault rules for packets: which packet is dropped, doubled, delayed, corrupted or answered with a NAK.
 *
 * Whether a rule fires is a pure function of seed, rule, queue pair, direction, opcode, PSN and attempt, and of a count per queue pair,
 * direction and opcode. So the same run gives the same faults, whatever the timing of threads and processes. Only `seen` counts over all
 * queue pairs, and is not repeatable when there are several. lib/inject reads and prints rules as text, and has those above the link. */
#ifndef RXE_LINK_FAULT_H
#define RXE_LINK_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define FAULT_MAX_RULES	   32
#define FAULT_PATTERN_MAX  64
#define FAULT_MAX_COPIES   3
#define FAULT_NO_INDEX	   UINT32_MAX
#define FAULT_ACTIONS	   8
#define FAULT_SYNDROME_RNR 0x20u /* AETH: the timer code in the low five bits */
#define FAULT_SYNDROME_NAK 0x60u /* the NAK code there */
#define FAULT_CODE_MASK	   0x1fu
#define FAULT_COUNTS	   4096	 /* counters of nth: rule, QP, direction and opcode each */
#define FAULT_ATTEMPTS	   16384 /* packets whose attempts are remembered */

enum fault_dir {
	FAULT_OUT, /* leaves us */
	FAULT_IN,  /* arrives */
};

enum fault_action {
	FAULT_DROP,
	FAULT_DUPLICATE,
	FAULT_DELAY,
	FAULT_REORDER,
	FAULT_CORRUPT,
	FAULT_TRUNCATE,
	FAULT_RNR_NAK,
	FAULT_NAK,
};

enum fault_part {
	FAULT_PAYLOAD,
	FAULT_HEADER, /* BTH and what follows it up to the payload */
	FAULT_ICRC,
};

/* first <= n <= last; PSNs may wrap. set: the selector was given. */
struct fault_range {
	bool set;
	uint32_t first, last;
};

struct fault_rule {
	enum fault_action action;

	/* What is done. */
	uint32_t copies;      /* duplicate: how many more */
	uint64_t delay_ns;    /* delay: how long; reorder: at most this */
	uint32_t behind;      /* reorder: how many later packets of the QP go before it */
	enum fault_part part; /* corrupt */
	bool good_icrc; /* corrupt payload or header: with an ICRC that fits, for a receiver to believe */
	uint32_t keep;	  /* truncate: bytes that stay, BTH included */
	uint8_t syndrome; /* NAKs: AETH syndrome */

	/* To whom. */
	bool any_dir;
	enum fault_dir dir;
	char opcodes[FAULT_PATTERN_MAX]; /* as written: names with *, numbers, commas; "" for all */
	uint64_t opcode_set[4];		 /* bit n of word w: opcode 64 * w + n */
	struct fault_range qp;		 /* our QP's number */
	struct fault_range qp_index;	 /* our QP by order of creation, from 0: "qp=#2" */
	struct fault_range peer_qp;
	struct fault_range psn;
	struct fault_range attempt; /* 0: sent for the first time */

	/* When. */
	struct fault_range
		nth;	/* counts from 1, per QP, direction and opcode; per QP and side; per verb */
	uint32_t every; /* 0: not given */
	struct fault_range seen; /* counts what the selectors above let through, over all QPs */
	bool certain;		 /* no probability was given */
	uint32_t probability;	 /* of 2^32 */
	uint64_t seed;
};

struct fault_rules {
	struct fault_rule rule[FAULT_MAX_RULES];
	uint64_t fired[FAULT_MAX_RULES]; /* times it was carried out */
	uint32_t id[FAULT_MAX_RULES];	 /* numbers that people and hashes know the rules by */
	uint32_t n;
	uint32_t next_id;
};

/* A packet as rules see it. */
struct fault_packet {
	enum fault_dir dir;
	uint8_t opcode;
	uint32_t psn;
	uint32_t qpn;	   /* ours; 0 where it is not known */
	uint32_t qp_index; /* ours by order of creation; FAULT_NO_INDEX where that is not known */
	uint32_t peer_qpn; /* 0 where it is not known */
	uint32_t
		first_psn; /* where the PSNs of this direction began, which programs choose at random; 0 where that is not known */
};

/* What was counted about it for one rule. */
struct fault_count {
	uint32_t nth;
	uint32_t attempt;
	uint32_t seen;
};

/* Pure. Does the rule care for this packet, and does it fire now? */
bool fault_selects(const struct fault_rule *rule, const struct fault_packet *packet);
bool fault_fires(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		 const struct fault_count *count);
/* Bits that depend on the same things: where to spoil a packet. */
uint64_t fault_dice(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		    uint32_t attempt);

/* For rules above the link, which have selectors in common with packets. */
uint64_t fault_mix(uint64_t hash, uint64_t value);
bool fault_in_range(const struct fault_range *range, uint32_t value);
/* Pure. Does a rule that looks only at counts fire for the nth event of a kind? The owner is the queue pair that counts, 0 for none. */
bool fault_fires_at(const struct fault_rule *rule, uint32_t id, uint64_t owner, uint64_t kind,
		    uint32_t nth);

/* Counting. One for each process and device; bounded: the oldest counter gives way to a new one. */
struct fault_counters;

struct fault_counters *fault_counters_new(void);
void fault_counters_free(struct fault_counters *counters);
/* How often has this packet been seen before? Counts it. */
uint32_t fault_attempt(struct fault_counters *counters, const struct fault_packet *packet);
/* Count the packet for every rule that selects it; the first that fires acts: its place in rules, or -1. The caller counts
 * it in fired when it has done it. */
int fault_decide(struct fault_rules *rules, struct fault_counters *counters,
		 const struct fault_packet *packet, uint32_t attempt);

/* Counts an event of a kind that only the caller knows: how many there were, this one included. */
uint32_t fault_count_event(struct fault_counters *counters, uint64_t kind);

#endif
