/* SPDX-License-Identifier: MIT */
/* Fault rules for packets: which packet is dropped, duplicated, delayed, corrupted or answered with
 * a NAK.
 *
 * Whether a rule fires is a pure function of seed, rule, queue pair, direction, opcode, PSN and
 * attempt, and of a count for each queue pair, direction and opcode. So a run has the same faults
 * whatever the timing of threads and processes. Only `seen` counts over all queue pairs, and is not
 * repeatable with several. lib/inject reads and prints rules as text, and has the rules above the
 * link. */
#ifndef RXE_LINK_FAULT_H
#define RXE_LINK_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define FAULT_MAX_RULES	  32
#define FAULT_PATTERN_MAX 64
#define FAULT_MAX_COPIES  3
#define FAULT_NO_INDEX	  UINT32_MAX
#define FAULT_ACTIONS	  8
#define FAULT_COUNTS	  4096	/* counters of nth, each of a rule, QP, direction and opcode */
#define FAULT_ATTEMPTS	  16384 /* packets whose attempts are counted */

enum fault_dir {
	FAULT_OUT, /* sent by the device */
	FAULT_IN,  /* received by the device */
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
	FAULT_HEADER, /* BTH and extended headers */
	FAULT_ICRC,
};

/* Selects first <= n <= last; PSNs may wrap. */
struct fault_range {
	bool set; /* false: selects every n */
	uint32_t first, last;
};

struct fault_rule {
	enum fault_action action;

	/* Parameters of the action. */
	uint32_t copies;      /* duplicate: additional copies */
	uint64_t delay_ns;    /* delay; reorder: longest delay */
	uint32_t behind;      /* reorder: later packets of the QP that pass first */
	enum fault_part part; /* corrupt */
	bool good_icrc;	      /* corrupt payload or header: compute the ICRC again */
	uint32_t keep;	      /* truncate: remaining bytes, BTH included */
	uint8_t syndrome;     /* NAKs: AETH syndrome */

	/* Selectors. "Own" is the queue pair of this device. */
	bool any_dir;
	enum fault_dir dir;
	char opcodes[FAULT_PATTERN_MAX]; /* as written: names with *, numbers, commas; "" for all */
	uint64_t opcode_set[4];		 /* bit n of word w: opcode 64 * w + n */
	struct fault_range qp;		 /* own QPN */
	struct fault_range qp_index;	 /* own QP by order of creation, from 0: "qp=#2" */
	struct fault_range peer_qp;
	struct fault_range psn;
	struct fault_range attempt; /* 0: the first transmission */

	/* Selection by count and probability. */

	/* Count from 1: for each QP, direction and opcode; above the link for each QP and side, or
	 * each verb. */
	struct fault_range nth;
	uint32_t every;		 /* 0: not set */
	struct fault_range seen; /* count of packets that the selectors select, over all QPs */
	bool certain;		 /* the rule has no probability */
	uint32_t probability;	 /* of 2^32 */
	uint64_t seed;
};

struct fault_rules {
	struct fault_rule rule[FAULT_MAX_RULES];
	uint32_t id[FAULT_MAX_RULES]; /* stable numbers of the rules, for people and for hashes */
	uint32_t n;
	uint32_t next_id;
};

/* A packet as rules see it. */
struct fault_packet {
	enum fault_dir dir;
	uint8_t opcode;
	uint32_t psn;
	uint32_t qpn;	   /* own; 0: unknown */
	uint32_t qp_index; /* own, by order of creation; FAULT_NO_INDEX: unknown */
	uint32_t peer_qpn; /* 0: unknown */
	/* First PSN of the requests that this packet belongs to, which programs choose at random;
	 * 0: unknown. */
	uint32_t first_psn;
};

/* Counts of a packet for one rule. */
struct fault_count {
	uint32_t nth;
	uint32_t attempt;
	uint32_t seen;
};

/* Whether a packet can be answered with a NAK: a request of a reliable connection. */
bool fault_can_answer(const struct fault_packet *packet);
/* Whether the rule selects this packet, and whether it fires for it. Pure. */
bool fault_selects(const struct fault_rule *rule, const struct fault_packet *packet);
bool fault_fires(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		 const struct fault_count *count);
/* A hash of the same inputs: selects the bit to corrupt. */
uint64_t fault_dice(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		    uint32_t attempt);

/* For rules above the link, which share these selectors. */
uint64_t fault_mix(uint64_t hash, uint64_t value);
bool fault_in_range(const struct fault_range *range, uint32_t value);
/* Whether a rule that depends on counts only fires for the nth event of a kind. owner is the queue
 * pair that counts, 0: none. Pure. */
bool fault_fires_at(const struct fault_rule *rule, uint32_t id, uint64_t owner, uint64_t kind,
		    uint32_t nth);

/* The counters of one process and device. Bounded: a new counter replaces the oldest of its set. */
struct fault_counters;

struct fault_counters *fault_counters_new(void);
void fault_counters_free(struct fault_counters *counters);
/* Counts the packet. Returns how often it was counted before. */
uint32_t fault_attempt(struct fault_counters *counters, const struct fault_packet *packet);
/* Counts the packet for each rule that selects it. Returns the index of the first rule that fires,
 * or -1. */
int fault_decide(struct fault_rules *rules, struct fault_counters *counters,
		 const struct fault_packet *packet, uint32_t attempt);

/* Counts an event of the caller's kind. Returns the count, this event included. */
uint32_t fault_count_event(struct fault_counters *counters, uint64_t kind);

#endif
