/* SPDX-License-Identifier: MIT */
/* The simulated link: every packet takes the link's delay, unless a rule of the script or random
 * numbers decide otherwise. */
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
	LINK_DUP,     /* delivered twice */
	LINK_DELAY,   /* delivered later, after others */
	LINK_CORRUPT, /* one bit flips: the ICRC check drops it */
	LINK_FULL,    /* the receiver's queue is full */
};

/* "drop b ACK 100 x2": the fate of packets by end, operation and PSN, for a number of packets. */
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
	uint32_t ns_per_kb;		 /* bandwidth towards each receiver; 0: unlimited */
	uint32_t queue_kb;		 /* most that waits for a receiver; 0: unlimited */
	uint64_t free_ns[LINK_MAX_ENDS]; /* when the link to a receiver is free again */
	struct link_rule rule[LINK_MAX_RULES];
	uint32_t num_rules;
	struct link_dice dice;
	uint32_t cut; /* paths that lose everything: 1: between first addresses, 2: second ones */
	/* Fate of the first packets whose bits are set; bit 0 is the first packet. */
	enum link_act fate;
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
/* A random number below limit. */
uint32_t link_random(struct link *link, uint32_t limit);
/* Adds a rule: "drop b ACK 100", "dup a WRITE_ONLY 102", "delay a SEND_MIDDLE 101 7.5" (us),
 * "corrupt a * *"; "x3" at the end: three times. */
void link_rule_add(struct link *link, const char *rule);
/* Sets the fate of the next packets whose bits are set; LINK_DELAY: by this delay. */
void link_fate(struct link *link, enum link_act act, uint32_t subset, uint64_t delay_ns);
/* Decides the fate of a packet. op: as traces name it. *ret_delay_ns is added to the link's
 * delay. */
enum link_act link_judge(struct link *link, char from, const char *op, uint32_t psn,
			 uint64_t *ret_delay_ns);
/* Queues the packet for its receiver and moves at_ns accordingly. False: the queue is full. */
bool link_queue(struct link *link, struct flying *packet);
void link_push(struct link *link, const struct flying *packet);
uint64_t link_next_ns(const struct link *link);
/* The next packet to arrive; the caller frees it. */
struct flying *link_pop(struct link *link);

#endif
