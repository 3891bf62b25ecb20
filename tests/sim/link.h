/* SPDX-License-Identifier: MIT */
/* The simulated link: every packet takes its time, unless a rule of the script or the dice say otherwise. */
#ifndef RXE_SIM_LINK_H
#define RXE_SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/packet.h"
#include "net/wire/train.h"

#define LINK_MAX_RULES 32
#define LINK_MAX_ENDS  8

enum link_act {
	LINK_PASS,
	LINK_DROP,
	LINK_DUP,     /* it arrives twice */
	LINK_DELAY,   /* it arrives later, behind others */
	LINK_CORRUPT, /* a bit flips: the ICRC drops it */
	LINK_FULL,    /* the queue before the receiver has no room for it */
};

/* "drop b ACK 100 x2": what happens to packets of that end, operation and PSN; so many times. */
struct link_rule {
	enum link_act act;
	char from;
	char op[24]; /* as traces name it; "*" for any */
	uint32_t psn;
	bool any_psn;
	uint32_t times;
	uint64_t delay_ns;
};

/* Chances in 1000. */
struct link_dice {
	uint32_t drop, dup, delay, corrupt;
	uint64_t max_delay_ns;
};

struct flying {
	uint64_t at_ns;
	uint64_t order;
	uint32_t to; /* node index */
	uint32_t len;
	uint16_t ip_id;
	uint16_t src_port;
	bool corrupt;
	struct gid src, dst;
	uint8_t bytes[WIRE_MAX_HEADERS + 4096 + 16];
};

struct link {
	uint64_t delay_ns;
	uint32_t ns_per_kb;		 /* of bandwidth towards each receiver; 0: no end of it */
	uint32_t queue_kb;		 /* what waits for it at most; 0: no end of it */
	uint64_t free_ns[LINK_MAX_ENDS]; /* when the wire to a receiver is free again */
	struct link_rule rule[LINK_MAX_RULES];
	uint32_t num_rules;
	struct link_dice dice;
	enum link_act fate; /* of the first packets, those whose bits are set, the first in bit 0 */
	uint32_t fated;
	uint64_t fate_delay_ns;
	uint64_t seed;
	struct flying **queue; /* a heap, by time and order */
	uint32_t num, room;
	uint64_t order;
	uint64_t lost; /* packets dropped or corrupted */
};

void link_init(struct link *link, uint64_t seed);
void link_fini(struct link *link);
/* A number below limit from the link's dice. */
uint32_t link_random(struct link *link, uint32_t limit);
/* Add a rule: "drop b ACK 100", "dup a WRITE_ONLY 102", "delay a SEND_MIDDLE 101 7.5" (us), "corrupt a * *"; "x3" at the end:
 * three times. */
void link_rule_add(struct link *link, const char *rule);
/* From now on: what becomes of the next packets whose bits are set; LINK_DELAY: by so much. */
void link_fate(struct link *link, enum link_act act, uint32_t subset, uint64_t delay_ns);
/* What becomes of this packet. op as traces name it; *ret_delay_ns is added to the link's delay. */
enum link_act link_judge(struct link *link, char from, const char *op, uint32_t psn,
			 uint64_t *ret_delay_ns);
/* The packet takes its turn on the wire to its receiver: at_ns is moved. False: the queue there is full. */
bool link_queue(struct link *link, struct flying *packet);
void link_push(struct link *link, const struct flying *packet);
uint64_t link_next_ns(const struct link *link);
/* The next packet to arrive; the caller frees it. */
struct flying *link_pop(struct link *link);

#endif
