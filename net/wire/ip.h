/* SPDX-License-Identifier: MIT */
/* IP as the engine and the links share it: the Internet checksum (RFC 1071), and the 40 bytes in
 * front of a received UD payload: a GRH (the IPv6 header itself), or 20 zeros and the IPv4 header
 * (annex A17.4.5.1).
 *
 * The 40 bytes are built from what the link saw. rdma_rxe passes the bytes that it received; ours
 * differ in the IPv4 identification, where the link does not see it (0), and so in the checksum.
 * The checksum is always right for its header: ibv_init_ah_from_wc distinguishes IPv4 and IPv6 by
 * it. */
#ifndef RXE_WIRE_IP_H
#define RXE_WIRE_IP_H

#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

/* Checksum over len bytes, continued from sum (the host-order words added up). 0 when the bytes
 * include the right checksum. */
uint16_t wire_checksum(uint32_t sum, const uint8_t *p, size_t len);

#define GRH_LEN 40u

struct grh_fields {
	struct gid src, dst;
	uint8_t traffic_class;	 /* TOS */
	uint8_t hop_limit;	 /* TTL */
	uint32_t flow_label;	 /* IPv6 only */
	uint16_t ip_payload_len; /* UDP header included */
	uint16_t ip_id;		 /* IPv4 only */
};

/* Builds the 40 bytes. An IPv4 header has a valid checksum. */
void grh_emit(uint8_t p[GRH_LEN], const struct grh_fields *fields);

#endif
