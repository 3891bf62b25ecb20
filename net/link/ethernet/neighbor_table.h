/* SPDX-License-Identifier: MIT */
/* What is known of neighbors' Ethernet addresses. Bounded, without a clock of its own: time is a parameter, and what shall be
 * asked is returned to the caller, who sends it.
 *
 * An address is ASKED for up to NEIGHBOR_TRIES times; KNOWN from the answer on; a minute after the last sign of life it is
 * PROBED (asked again, and used meanwhile). What does not answer is forgotten. */
#ifndef RXE_LINK_ETHERNET_NEIGHBOR_TABLE_H
#define RXE_LINK_ETHERNET_NEIGHBOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/ethernet/frame.h"

#define NEIGHBOR_SETS	  64u
#define NEIGHBOR_WAYS	  4u
#define NEIGHBOR_TRIES	  4u
#define NEIGHBOR_RETRY_NS 250000000ull
#define NEIGHBOR_SOON_NS  50000000ull
#define NEIGHBOR_FRESH_NS 60000000000ull

enum neighbor_state {
	NEIGHBOR_FREE,
	NEIGHBOR_ASKED, /* mac means nothing yet */
	NEIGHBOR_KNOWN,
	NEIGHBOR_PROBED, /* mac is used, and asked about */
};

struct neighbor {
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	enum neighbor_state state;
	uint32_t tries;	 /* questions sent since ASKED or PROBED */
	uint64_t due_ns; /* ask again; KNOWN: no longer fresh */
};

struct neighbor_table {
	struct neighbor set[NEIGHBOR_SETS][NEIGHBOR_WAYS];
	uint32_t waiting; /* entries that are ASKED or PROBED */
};

/* How sure a sender's address is. */
enum neighbor_source {
	SOURCE_TOLD, /* it answered, or announced itself: replaces what is known of one that we know */
	SOURCE_ASKED, /* it asked for us: it will talk, so make room for it */
	SOURCE_HEARD, /* the source of a datagram: makes room, shows life, and never replaces another MAC */
};

/* The neighbor's MAC, or NULL while nobody has answered. *ret_ask: send a question now (to that MAC, or to everybody). */
const uint8_t *neighbor_table_find(struct neighbor_table *table, const struct gid *gid,
				   uint64_t now_ns, bool *ret_ask);

/* Has it been asked for just now, so that an answer may come any moment? Not before NEIGHBOR_SOON_NS is that to be given up. */
bool neighbor_table_just_asked(struct neighbor_table *table, const struct gid *gid,
			       uint64_t now_ns);

/* gid is at mac. True when somebody was waiting to learn it. */
bool neighbor_table_learn(struct neighbor_table *table, const struct gid *gid, const uint8_t *mac,
			  enum neighbor_source source, uint64_t now_ns);

enum neighbor_step {
	NEIGHBOR_NOTHING,   /* no more to do now */
	NEIGHBOR_ASK_AGAIN, /* send a question for *ret_gid, to ret_mac when it is not NULL */
	NEIGHBOR_GONE,	    /* nobody answered for *ret_gid: it is forgotten */
};

/* What is due by now_ns, one thing at a call: call until it says NEIGHBOR_NOTHING. */
enum neighbor_step neighbor_table_due(struct neighbor_table *table, uint64_t now_ns,
				      struct gid *ret_gid, const uint8_t **ret_mac);

/* When to call neighbor_table_due next; UINT64_MAX: not before something is asked. */
uint64_t neighbor_table_deadline(const struct neighbor_table *table);

#endif
