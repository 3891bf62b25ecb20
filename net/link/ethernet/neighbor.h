/* SPDX-License-Identifier: MIT */
/* ARP (RFC 826) and IPv6 neighbor discovery (RFC 4861) frames: bytes to struct and back. A device
 * with an Ethernet address of its own answers itself, because the kernel does not. neighbor_table.h
 * holds the neighbor entries. */
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

#endif
