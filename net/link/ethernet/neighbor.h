/* SPDX-License-Identifier: MIT */
/* ARP (RFC 826) and IPv6 neighbor discovery (RFC 4861) frames: bytes to struct and back. A device
 * with an Ethernet address of its own answers itself, because the kernel does not. The neighbor
 * table below holds what it has learned. */
#ifndef RXE_LINK_ETHERNET_NEIGHBOR_H
#define RXE_LINK_ETHERNET_NEIGHBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/ethernet/frame.h"

#define NEIGHBOR_FRAME_MAX 86u

/* A device's own addresses. */
struct neighbor_self {
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
};

/* The words of RFC 4861, for ARP too. */
enum neighbor_kind {
	NEIGHBOR_OTHER,		/* another protocol, or malformed */
	NEIGHBOR_SOLICITATION,	/* asks for target's MAC; an ARP request */
	NEIGHBOR_ADVERTISEMENT, /* sender has mac; an ARP reply */
};

struct neighbor_message {
	struct gid target; /* of a solicitation */
	/* False for duplicate address detection: the sender has no address yet. */
	bool has_sender;
	struct gid sender;
	uint8_t mac[FRAME_MAC_LEN]; /* the sender's; without sender, the frame's source */
};

/* Writes *ret unless the result is NEIGHBOR_OTHER. */
enum neighbor_kind neighbor_parse(struct neighbor_message *ret, const uint8_t *p, size_t len);

/* Each of these writes a frame of at most NEIGHBOR_FRAME_MAX bytes and returns its length. */

/* A solicitation for target: multicast or broadcast, or to mac alone when mac is not NULL. */
size_t neighbor_emit_solicitation(uint8_t *p, const struct neighbor_self *self,
				  const struct gid *target, const uint8_t *mac);
/* The answer to a solicitation for self's address. */
size_t neighbor_emit_advertisement(uint8_t *p, const struct neighbor_self *self,
				   const struct neighbor_message *solicitation);
/* A gratuitous ARP or unsolicited advertisement of self, to all hosts. */
size_t neighbor_emit_announcement(uint8_t *p, const struct neighbor_self *self);

/* Ethernet address of the solicited-node multicast group of an IPv6 address. */
void neighbor_group_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid);

/* The neighbor table: Ethernet addresses of neighbors (the neighbor cache of RFC 4861, for IPv4
 * too). Bounded and sans-I/O: time is a parameter, and the caller sends the solicitations.
 *
 * A new entry is INCOMPLETE while up to NEIGHBOR_TRIES solicitations are sent, and REACHABLE from
 * the answer on. When an entry is used NEIGHBOR_FRESH_NS after the last packet from the neighbor,
 * it enters PROBE: solicitations are sent again, and its MAC is used meanwhile. An entry without an
 * answer is deleted. */
#define NEIGHBOR_SETS	  64u
#define NEIGHBOR_WAYS	  4u
#define NEIGHBOR_TRIES	  4u
#define NEIGHBOR_RETRY_NS 250000000ull
#define NEIGHBOR_SOON_NS  50000000ull	 /* time in which most neighbors answer */
#define NEIGHBOR_FRESH_NS 60000000000ull /* of an entry after a packet from the neighbor */

enum neighbor_state {
	NEIGHBOR_FREE,
	NEIGHBOR_INCOMPLETE, /* mac is not valid yet */
	NEIGHBOR_REACHABLE,
	NEIGHBOR_PROBE, /* mac is valid, solicitations are under way */
};

struct neighbor {
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	enum neighbor_state state;
	uint32_t tries;	 /* solicitations sent in INCOMPLETE or PROBE */
	uint64_t due_ns; /* time of the next solicitation; REACHABLE: end of the fresh time */
};

struct neighbor_table {
	struct neighbor set[NEIGHBOR_SETS][NEIGHBOR_WAYS];
	uint32_t waiting; /* entries that are INCOMPLETE or PROBE */
};

/* The packet from which a neighbor's MAC was learned. */
enum neighbor_source {
	/* Updates an existing entry; creates none. */
	SOURCE_ADVERTISEMENT,
	/* A solicitation for the device itself: creates or updates an entry. */
	SOURCE_SOLICITATION,
	/* A datagram's source: creates or confirms an entry; never replaces a valid MAC. */
	SOURCE_DATAGRAM,
};

/* The neighbor's MAC, or NULL while the entry is INCOMPLETE. *ret_solicit: the caller sends a
 * solicitation now (to that MAC, or multicast). */
const uint8_t *neighbor_table_find(struct neighbor_table *table, const struct gid *gid,
				   uint64_t now_ns, bool *ret_solicit);

/* The state of an entry; NEIGHBOR_FREE: none. */
enum neighbor_state neighbor_table_state(struct neighbor_table *table, const struct gid *gid);

/* Whether the first solicitation is less than NEIGHBOR_SOON_NS old, so that an answer is likely
 * soon. */
bool neighbor_table_just_solicited(struct neighbor_table *table, const struct gid *gid,
				   uint64_t now_ns);

/* Records that gid has mac. True: the entry was INCOMPLETE. */
bool neighbor_table_learn(struct neighbor_table *table, const struct gid *gid, const uint8_t *mac,
			  enum neighbor_source source, uint64_t now_ns);

enum neighbor_step {
	NEIGHBOR_NOTHING,     /* nothing is due */
	NEIGHBOR_RETRANSMIT,  /* send a solicitation for *ret_gid, to *ret_mac if not NULL */
	NEIGHBOR_UNREACHABLE, /* *ret_gid did not answer: its entry is deleted */
};

/* Returns one step that is due by now_ns. The caller repeats until NEIGHBOR_NOTHING. */
enum neighbor_step neighbor_table_due(struct neighbor_table *table, uint64_t now_ns,
				      struct gid *ret_gid, const uint8_t **ret_mac);

/* Time of the next neighbor_table_due; UINT64_MAX: no solicitation is under way. */
uint64_t neighbor_table_deadline(const struct neighbor_table *table);

#endif
