/* SPDX-License-Identifier: MIT */
/* What is known of neighbours' Ethernet addresses. Bounded, without a clock of its own: time is a parameter, and what shall be
 * asked is returned to the caller, who sends it.
 *
 * An address is ASKED for up to NEIGHBOUR_TRIES times; KNOWN from the answer on; a minute after the last sign of life it is
 * PROBED (asked again, and used meanwhile). What does not answer is forgotten. */
#ifndef RXE_LINK_ETHERNET_NEIGHBOR_TABLE_H
#define RXE_LINK_ETHERNET_NEIGHBOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/ethernet/frame.h"

#define NEIGHBOUR_SETS	   64u
#define NEIGHBOUR_WAYS	   4u
#define NEIGHBOUR_TRIES	   4u
#define NEIGHBOUR_RETRY_NS 250000000ull
#define NEIGHBOUR_SOON_NS  50000000ull
#define NEIGHBOUR_FRESH_NS 60000000000ull

enum neighbour_state {
	NEIGHBOUR_FREE,
	NEIGHBOUR_ASKED, /* mac means nothing yet */
	NEIGHBOUR_KNOWN,
	NEIGHBOUR_PROBED, /* mac is used, and asked about */
};

struct neighbour {
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	enum neighbour_state state;
	uint32_t tries;	 /* questions sent since ASKED or PROBED */
	uint64_t due_ns; /* ask again; KNOWN: no longer fresh */
};

struct neighbour_table {
	struct neighbour set[NEIGHBOUR_SETS][NEIGHBOUR_WAYS];
	uint32_t waiting; /* entries that are ASKED or PROBED */
};

/* How sure a sender's address is. */
enum neighbour_source {
	SOURCE_TOLD, /* it answered, or announced itself: replaces what is known of one that we know */
	SOURCE_ASKED, /* it asked for us: it will talk, so make room for it */
	SOURCE_HEARD, /* the source of a datagram: makes room, shows life, and never replaces another MAC */
};

/* The neighbour's MAC, or NULL while nobody has answered. *ret_ask: send a question now (to that MAC, or to everybody). */
const uint8_t *neighbour_table_find(struct neighbour_table *table, const struct gid *gid,
				    uint64_t now_ns, bool *ret_ask);

/* Has it been asked for just now, so that an answer may come any moment? Not before NEIGHBOUR_SOON_NS is that to be given up. */
bool neighbour_table_just_asked(struct neighbour_table *table, const struct gid *gid,
				uint64_t now_ns);

/* gid is at mac. True when somebody was waiting to learn it. */
bool neighbour_table_learn(struct neighbour_table *table, const struct gid *gid, const uint8_t *mac,
			   enum neighbour_source source, uint64_t now_ns);

enum neighbour_step {
	NEIGHBOUR_NOTHING,   /* no more to do now */
	NEIGHBOUR_ASK_AGAIN, /* send a question for *ret_gid, to ret_mac when it is not NULL */
	NEIGHBOUR_GONE,	     /* nobody answered for *ret_gid: it is forgotten */
};

/* What is due by now_ns, one thing at a call: call until it says NEIGHBOUR_NOTHING. */
enum neighbour_step neighbour_table_due(struct neighbour_table *table, uint64_t now_ns,
					struct gid *ret_gid, const uint8_t **ret_mac);

/* When to call neighbour_table_due next; UINT64_MAX: not before something is asked. */
uint64_t neighbour_table_deadline(const struct neighbour_table *table);

#endif
