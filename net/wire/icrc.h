/* SPDX-License-Identifier: MIT */
/* The invariant CRC of RoCEv2 (IBTA vol. 1, 7.8.1, and annex A17.3.3): what two ports check end to end.
 *
 * It covers what no router changes: eight bytes of ones in the place of InfiniBand's LRH, the IP and UDP headers with TOS, TTL
 * and checksums (IPv6: class, flow label, hop limit) taken as ones, the BTH with its byte of FECN and BECN taken as ones, and
 * all that follows to the last pad byte. The polynomial is Ethernet's, the result is sent least significant byte first.
 *
 * The IPv4 identification is covered too, though a UDP socket neither sets nor sees it: hence the rules below. */
#ifndef RXE_WIRE_ICRC_H
#define RXE_WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

/* The fields of IP and UDP that the ICRC covers and that are the same for every packet of a flow. */
struct icrc_flow {
	struct gid src, dst; /* both IPv4-mapped, or both IPv6 */
	uint16_t src_port;   /* host order; the destination port is always 4791 */
};

/* How much is known of the IPv4 identification a received packet bore (IPv6 has none: always IP_ID_EXACT). */
#define ICRC_TRAIN_IDS 64u /* packets of a train: they bear identifications 0, 1, 2, ... */

enum ip_id_rule {
	IP_ID_EXACT, /* ip_id is what the packet bore */
	IP_ID_RULED, /* a peer that we know keeps the rule: 0, or ip_id (its index in a train) */
	IP_ID_TRAIN, /* the same on the way over other machines: trains may have been cut, and put together anew: below ICRC_TRAIN_IDS */
	IP_ID_ANY,   /* the last resort: 0, ip_id, or any identification whose syndrome fits */
};

enum icrc_result {
	ICRC_BAD,
	ICRC_OK,     /* by the exact or ruled identification */
	ICRC_OK_ANY, /* only by some other identification: 16 bits weaker */
};

/* The CRC of len bytes (BTH to pad, without ICRC; at least BTH_LEN) as the four bytes to be stored little-endian behind
 * them. DF is taken as set, as every RoCEv2 sender sets it (annex A17.3.1.2); ip_id means nothing over IPv6. */
uint32_t icrc_compute(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p, size_t len);

/* Check a packet of len bytes, ICRC included in len; too short is bad. The rule decides which identifications are tried: ANY
 * and TRAIN cost 2 us more than the others, and only where these have failed. */
enum icrc_result icrc_check(const struct icrc_flow *flow, enum ip_id_rule rule, uint16_t ip_id,
			    const uint8_t *p, size_t len);

/* Which identification did the packet bear? *id comes with a guess, and is changed to the one that makes the ICRC right, if any does. */
void icrc_find_id(const struct icrc_flow *flow, uint16_t *id, const uint8_t *p, size_t len);

static inline void icrc_store(uint8_t *p, uint32_t icrc)
{
	p[0] = (uint8_t)icrc;
	p[1] = (uint8_t)(icrc >> 8);
	p[2] = (uint8_t)(icrc >> 16);
	p[3] = (uint8_t)(icrc >> 24);
}

#endif
