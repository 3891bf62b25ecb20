/* SPDX-License-Identifier: MIT */
/* Injected faults: the language of rules, and the decisions above the link. A rule is an action,
 * what it applies to and when: "drop opcode=ACKNOWLEDGE nth=3 qp=0x11". net/link/fault carries out
 * the actions on packets; the others end a completion in error, fail a verb, or change the device.
 *
 * The command checks rules. The device server stores them and carries out those of the device,
 * programs carry out the rest. This room keeps no state: counts are the caller's. */
#ifndef RXE_INJECT_RULE_H
#define RXE_INJECT_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/inject/verb.h"
#include "net/link/fault/fault.h"
#include "net/wire/gid.h"

#define INJECT_TEXT_MAX	    256
#define INJECT_GIDS	    16 /* RXE_MAX_GIDS */
#define INJECT_MAX_AFTER_NS 3600000000000ull
#define INJECT_PARTS	    3
#define INJECT_NAKS	    5

/* Actions above the link; enum fault_action has the numbers before them. */
enum inject_action {
	INJECT_COMPLETION = FAULT_ACTIONS, /* one completion ends in error */
	INJECT_VERB,			   /* a call fails */
	/* Rules of the device: its server carries them out. */
	INJECT_PORT_DOWN,
	INJECT_GID_CHANGE,
	INJECT_DEVICE_FATAL,
	/* Messages of the connection manager: the server also carries these out. */
	INJECT_CM_DROP,
	INJECT_CM_DUPLICATE,
	INJECT_CM_DELAY,
	INJECT_CM_REJECT,
	INJECT_ACTIONS,
};

enum inject_side {
	INJECT_SEND,
	INJECT_RECV,
};

struct inject_rule_completion {
	uint32_t status; /* enum ibv_wc_status */
	bool any_side;
	enum inject_side side;
};

struct inject_rule_verb {
	char names[FAULT_PATTERN_MAX]; /* as written */
	uint64_t set[2];	       /* bit n of word w: verb 64 * w + n */
	int error;		       /* errno */
};

struct inject_rule_device {
	uint64_t after_ns; /* how long after the rule was added */
	/* gid_change: entry index becomes gid if has_gid (zeros: empty), is exchanged with entry to
	 * if moves, else becomes empty. */
	uint32_t index, to;
	bool has_gid, moves;
	struct gid gid;
};

struct inject_rule_message {
	char names[FAULT_PATTERN_MAX]; /* as written */
	uint32_t set;		       /* bit n: attribute ID 0x10 + n; 0: all messages */
};

struct inject_rule {
	uint32_t action; /* enum fault_action or enum inject_action; the tag of u */
	/* The whole rule for an action on packets. The others use its queue pairs, counts,
	 * probability and seed; those of the device also delay_ns, the length of the change (0:
	 * until the rule is removed); cm_delay too. */
	struct fault_rule packet;
	union {
		struct inject_rule_completion completion; /* INJECT_COMPLETION */
		struct inject_rule_verb verb;		  /* INJECT_VERB */
		struct inject_rule_device device;   /* INJECT_PORT_DOWN to INJECT_DEVICE_FATAL */
		struct inject_rule_message message; /* INJECT_CM_DROP to INJECT_CM_DELAY */
		uint32_t reason;		    /* INJECT_CM_REJECT: enum cm_reject_reason */
	} u;
};

struct inject_rules {
	struct inject_rule rule[FAULT_MAX_RULES];
	uint32_t id[FAULT_MAX_RULES]; /* from 1, never used twice */
	uint32_t n;
	uint32_t next_id;
};

/* A completion that is about to be generated. */
struct inject_completion {
	uint32_t qpn;
	uint32_t qp_index; /* order of creation */
	enum inject_side side;
};

/* Parses one rule. False: ret_error says what is wrong with which word, and what would be right. */
bool inject_rule_parse(struct inject_rule *ret, const char *text, char ret_error[INJECT_TEXT_MAX]);
/* The rule as text that parses to the same rule. Returns its length, as snprintf does. */
int inject_rule_format(char *buf, size_t size, const struct inject_rule *rule);
const char *inject_action_str(uint32_t action);
/* Whether the device's server carries the action out: on the port, the GID table or the device. */
static inline bool inject_is_of_device(uint32_t action)
{
	return action >= INJECT_PORT_DOWN && action <= INJECT_DEVICE_FATAL;
}
/* Whether the action is on messages that the rule may name. */
static inline bool inject_is_of_messages(uint32_t action)
{
	return action >= INJECT_CM_DROP && action <= INJECT_CM_DELAY;
}
const char *inject_part_str(enum fault_part part);
/* "IBV_WC_LOC_LEN_ERR" for 1, and so on; NULL for an unknown status. */
const char *inject_status_str(uint32_t status);
/* "remote_access" for NAK code 2, and so on below INJECT_NAKS. */
const char *inject_nak_str(uint32_t code);

/* Help for people: what each action does, its words, and what they expect. */
const char *inject_action_help(uint32_t action);
struct inject_word_help {
	const char *key, *expects;
	uint32_t actions; /* bit n: goes with action n */
	bool selects;	  /* goes with nearly all packet actions */
};
/* False: there is no word number i. */
bool inject_word_help(struct inject_word_help *ret, uint32_t i);

/* Adds a rule after the others. Returns its number, or 0 when there is no room. */
uint32_t inject_rules_add(struct inject_rules *rules, const struct inject_rule *rule);
/* Adds the lines of a text that are neither empty nor a comment (#): all, or none. False: ret_error
 * names the line. */
bool inject_rules_add_text(struct inject_rules *rules, const char *text,
			   char ret_error[INJECT_TEXT_MAX]);
/* Replaces ret by the rules of packets, with their numbers; its counts stay. */
void inject_packet_rules(struct fault_rules *ret, const struct inject_rules *rules);

/* Pure: the nth completion of its queue pair and side; the nth call of a verb. */
bool inject_fires_completion(const struct inject_rule *rule, uint32_t id,
			     const struct inject_completion *completion, uint32_t nth);
bool inject_selects_verb(const struct inject_rule *rule, enum inject_verb verb);
bool inject_fires_verb(const struct inject_rule *rule, uint32_t id, enum inject_verb verb,
		       uint32_t nth);
/* attr: enum cm_attr. The nth message of its kind and direction. */
bool inject_selects_message(const struct inject_rule *rule, uint32_t attr, enum fault_dir dir);
bool inject_fires_message(const struct inject_rule *rule, uint32_t id, uint32_t attr,
			  enum fault_dir dir, uint32_t nth);
/* Counts the completion for every rule that selects it. Returns the place of the first rule that
 * fires, or -1. *ret_nth: the count of that rule. */
int inject_decide_completion(const struct inject_rules *rules, struct fault_counters *counters,
			     const struct inject_completion *completion, uint32_t *ret_nth);

#endif
