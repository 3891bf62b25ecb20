/* SPDX-License-Identifier: MIT */
/* The 40 bytes in front of a received UD payload: a GRH (the IPv6 header itself), or 20 bytes that mean nothing (zeros here) and
 * the IPv4 header in the last 20 (annex A17.4.5.1).
 *
 * They are made from what the link saw, as its socket or frame tells it. rdma_rxe hands out the very bytes it received; ours
 * differ from them in the IPv4 identification where the link does not see it (0 then), hence in the checksum, which is always
 * right for the header it is in: ibv_init_ah_from_wc tells v4 from v6 by it. */
#ifndef RXE_WIRE_GRH_H
#define RXE_WIRE_GRH_H

#include <stdint.h>

#include "net/wire/gid.h"

#define GRH_LEN 40u

struct grh_fields {
	struct gid src, dst;
	uint8_t traffic_class;	 /* TOS */
	uint8_t hop_limit;	 /* TTL */
	uint32_t flow_label;	 /* IPv6 only */
	uint16_t ip_payload_len; /* UDP header included */
	uint16_t ip_id;		 /* IPv4 only */
};

/* Build the 40 bytes; an IPv4 header gets a valid checksum, since programs recognise v4 by it. */
void grh_emit(uint8_t p[GRH_LEN], const struct grh_fields *fields);

#endif
