/* SPDX-License-Identifier: MIT */
/* Who has this address: ARP (RFC 826) and IPv6 neighbor discovery (RFC 4861), as frames. A device with an Ethernet address of its
 * own answers for itself, since no kernel does. Bytes to struct and back; what is known of neighbors is neighbor_table.h's. */
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

enum neighbor_kind {
	NEIGHBOR_NEITHER, /* not of these protocols, or malformed: nothing to do */
	NEIGHBOR_ASKS,	  /* who has target? */
	NEIGHBOR_TELLS,	  /* sender is at mac */
};

struct neighbor_message {
	struct gid target; /* of a question */
	bool names_sender; /* a question may come from one who has no address yet */
	struct gid sender;
	uint8_t mac[FRAME_MAC_LEN]; /* the sender's; of a nameless one, that of its frame */
};

/* *ret is written unless the answer is NEIGHBOR_NEITHER. */
enum neighbor_kind neighbor_parse(struct neighbor_message *ret, const uint8_t *p, size_t len);

/* Frames of at most NEIGHBOR_FRAME_MAX bytes; each returns its length. */

/* Who has target? To everybody, or to mac alone (is it still there?) when that is not NULL. */
size_t neighbor_emit_question(uint8_t *p, const struct neighbor_self *self,
			      const struct gid *target, const uint8_t *mac);
/* The answer to a question for our own address. */
size_t neighbor_emit_answer(uint8_t *p, const struct neighbor_self *self,
			    const struct neighbor_message *question);
/* To everybody: here I am (a gratuitous ARP, an unsolicited advertisement). */
size_t neighbor_emit_announcement(uint8_t *p, const struct neighbor_self *self);

/* The Ethernet address that questions for an IPv6 address are sent to (its solicited-node group). */
void neighbor_group_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid);

#endif
