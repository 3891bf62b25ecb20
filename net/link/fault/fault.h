/* SPDX-License-Identifier: MIT */
/* Faults on demand: which packet is to be lost, doubled, delayed, spoiled or answered with a NAK; which completion ends in
 * error, which verb fails; what befalls the port and the device.
 *
 * A rule is an action and selectors, written as text: "drop opcode=ACKNOWLEDGE nth=3 qp=0x11". Whether it fires is a pure
 * function of seed, rule, QP, direction, opcode, PSN and attempt, and of a count per QP, direction and opcode: the same run
 * gives the same faults, whatever the threads and processes did. Only `seen` counts arrivals over all QPs, and is not
 * repeatable when there are several. */
#ifndef RXE_LINK_FAULT_H
#define RXE_LINK_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/fault/verb.h"
#include "net/wire/gid.h"

#define FAULT_MAX_RULES	     32
#define FAULT_TEXT_MAX	     256
#define FAULT_PATTERN_MAX    64
#define FAULT_MAX_COPIES     3
#define FAULT_NO_INDEX	     UINT32_MAX
#define FAULT_ACTIONS	     13
#define FAULT_PACKET_ACTIONS 8 /* the first ones */
#define FAULT_PARTS	     3
#define FAULT_NAKS	     5
#define FAULT_SYNDROME_RNR   0x20u /* AETH: the timer code in the low five bits */
#define FAULT_SYNDROME_NAK   0x60u /* the NAK code there */
#define FAULT_CODE_MASK	     0x1fu
#define FAULT_GIDS	     16 /* RXE_MAX_GIDS */
#define FAULT_MAX_AFTER_NS   3600000000000ull
#define FAULT_COUNTS	     4096  /* counters of nth: rule, QP, direction and opcode each */
#define FAULT_ATTEMPTS	     16384 /* packets whose attempts are remembered */

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
	/* Above the wire. */
	FAULT_COMPLETION, /* one ends in error */
	FAULT_VERB,	  /* a call fails */
	/* Of the device: carried out by its server. */
	FAULT_PORT_DOWN,
	FAULT_GID_CHANGE,
	FAULT_DEVICE_FATAL,
};

enum fault_side {
	FAULT_SEND,
	FAULT_RECV,
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
	uint64_t delay_ns;    /* delay: how long; reorder: at most so long */
	uint32_t behind;      /* reorder: how many later packets of the QP go before it */
	enum fault_part part; /* corrupt */
	bool good_icrc; /* corrupt payload or header: with an ICRC that fits, for a receiver to believe */
	uint32_t keep;	  /* truncate: bytes that stay, BTH included */
	uint8_t syndrome; /* NAKs: AETH syndrome */
	uint32_t status;  /* completion: enum ibv_wc_status */
	int error;	  /* verb: errno */
	uint64_t
		after_ns; /* of the device: so long after the rule was added; delay_ns: for so long, 0 until it is cleared */
	uint32_t gid_index; /* gid_change: this entry ... */
	bool gid_has, gid_moves;
	struct gid gid;	 /* ... becomes this if gid_has (zeros: empty), ... */
	uint32_t gid_to; /* ... changes places with this one if gid_moves; neither: becomes empty */

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

	bool any_side;
	enum fault_side side;	       /* completion */
	char verbs[FAULT_PATTERN_MAX]; /* verb: as written */
	uint64_t verb_set[2];	       /* bit n of word w: verb 64 * w + n */

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

/* A completion that is about to be made. */
struct fault_completion {
	uint32_t qpn;
	uint32_t qp_index; /* by order of creation */
	enum fault_side side;
};

/* Parse one rule. False: ret_error says what is wrong with which word, and what would be right. */
bool fault_rule_parse(struct fault_rule *ret, const char *text, char ret_error[FAULT_TEXT_MAX]);
/* The rule as text that parses to the same rule. Returns its length, as snprintf does. */
int fault_rule_format(char *buf, size_t size, const struct fault_rule *rule);
const char *fault_action_str(enum fault_action action);
const char *fault_part_str(enum fault_part part);
/* "IBV_WC_LOC_LEN_ERR" for 1, and so on; NULL: there is no such. */
const char *fault_status_str(uint32_t status);
/* "remote_access" for NAK code 2, and so on below FAULT_NAKS. */
const char *fault_nak_str(uint32_t code);

/* For people: what each action does; its words, and what they expect. A word that goes with nearly all packet actions is a selector. */
const char *fault_action_help(enum fault_action action);
struct fault_word_help {
	const char *key, *expects;
	uint32_t actions; /* bit n: goes with action n */
	bool selects;
};
/* False: there is no word number i. */
bool fault_word_help(struct fault_word_help *ret, uint32_t i);

/* Add a rule behind the others: its number (from 1, never used twice), or 0 when there is no room. */
uint32_t fault_rules_add(struct fault_rules *rules, const struct fault_rule *rule);
bool fault_rules_remove(struct fault_rules *rules, uint32_t id);
/* Add every line of a text that is neither empty nor a comment (#). All or, with ret_error naming the line, none. */
bool fault_rules_add_text(struct fault_rules *rules, const char *text,
			  char ret_error[FAULT_TEXT_MAX]);

/* Pure. Does the rule care for this packet, and does it fire now? */
bool fault_selects(const struct fault_rule *rule, const struct fault_packet *packet);
bool fault_fires(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		 const struct fault_count *count);
/* Bits that depend on the same things: where to spoil a packet. */
uint64_t fault_dice(const struct fault_rule *rule, uint32_t id, const struct fault_packet *packet,
		    uint32_t attempt);

/* Pure. The nth completion of its QP and side; the nth call of a verb. */
bool fault_fires_completion(const struct fault_rule *rule, uint32_t id,
			    const struct fault_completion *completion, uint32_t nth);
bool fault_fires_verb(const struct fault_rule *rule, uint32_t id, enum fault_verb verb,
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

/* The same for a completion. *ret_nth: which one of its QP and side it is for that rule. */
int fault_decide_completion(struct fault_rules *rules, struct fault_counters *counters,
			    const struct fault_completion *completion, uint32_t *ret_nth);
bool fault_selects_verb(const struct fault_rule *rule, enum fault_verb verb);

#endif
