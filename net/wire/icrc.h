/* SPDX-License-Identifier: MIT */
/* The invariant CRC of RoCEv2 (IBTA vol. 1, 7.8.1, and annex A17.3.3), checked end to end by
 * ports.
 *
 * It covers what no router changes: eight bytes of ones in place of InfiniBand's LRH; the IP and
 * UDP headers with TOS, TTL and checksums (IPv6: class, flow label, hop limit) as ones; the BTH
 * with its byte of FECN and BECN as ones; everything after it to the last pad byte. The polynomial
 * is Ethernet's; the result is sent least significant byte first.
 *
 * It also covers the IPv4 identification, which a UDP socket neither sets nor sees: hence the
 * rules below. */
#ifndef RXE_WIRE_ICRC_H
#define RXE_WIRE_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

/* Fields of IP and UDP that the ICRC covers and that all packets of a flow share. */
struct icrc_flow {
	struct gid src, dst; /* both IPv4-mapped, or both IPv6 */
	uint16_t src_port;   /* host order; the destination port is always 4791 */
};

/* What is known of the IPv4 identification of a received packet (IPv6 has none: always
 * IP_ID_EXACT). */
#define ICRC_TRAIN_IDS 64u /* identifications in a train: 0, 1, 2, ... */

enum ip_id_rule {
	IP_ID_EXACT, /* ip_id is the packet's identification */
	/* A peer that keeps the rule: 0, or ip_id (the index in a train). */
	IP_ID_RULED,
	/* The same for packets that crossed other machines, which may have cut and merged trains:
	 * any below ICRC_TRAIN_IDS. */
	IP_ID_TRAIN,
	/* Last resort: 0, ip_id, or any identification whose syndrome fits. */
	IP_ID_ANY,
};

enum icrc_result {
	ICRC_BAD,
	ICRC_OK, /* the exact or ruled identification fits */
	/* Only another identification fits: 16 bits weaker. */
	ICRC_OK_ANY,
};

/* The CRC of len bytes (BTH to pad, without ICRC, at least BTH_LEN), to be stored little-endian
 * after them. DF counts as set, as every RoCEv2 sender sets it (annex A17.3.1.2). ip_id is ignored
 * for IPv6. */
uint32_t icrc_compute(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p, size_t len);

/* Checks a packet of len bytes, ICRC included; too short is bad. The rule selects the
 * identifications to try: ANY and TRAIN cost 2 us more, only when the others failed. */
enum icrc_result icrc_check(const struct icrc_flow *flow, enum ip_id_rule rule, uint16_t ip_id,
			    const uint8_t *p, size_t len);

/* Finds the packet's identification. *id is a guess, and is replaced by the one that makes the
 * ICRC right, if any does. */
void icrc_find_id(const struct icrc_flow *flow, uint16_t *id, const uint8_t *p, size_t len);

static inline void icrc_store(uint8_t *p, uint32_t icrc)
{
	p[0] = (uint8_t)icrc;
	p[1] = (uint8_t)(icrc >> 8);
	p[2] = (uint8_t)(icrc >> 16);
	p[3] = (uint8_t)(icrc >> 24);
}

#endif
