/* SPDX-License-Identifier: MIT */
/* Changes of a packet's bytes: private to net/link/fault/. */
#ifndef RXE_LINK_FAULT_REWRITE_H
#define RXE_LINK_FAULT_REWRITE_H

#include <stddef.h>
#include <stdint.h>

#include "net/link/fault/fault.h"
#include "net/link/fault/shaper.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"

/* In all of these len includes the ICRC and is at least BTH_LEN + ICRC_LEN. */

/* Flips one bit of the part, selected by dice. In a packet without payload FAULT_PAYLOAD selects
 * the headers. The bits of the BTH that the ICRC does not cover are never selected. */
void fault_flip_bit(uint8_t *p, uint32_t len, enum fault_part part, uint64_t dice);

/* Computes the ICRC again and stores it. */
void fault_store_icrc(uint8_t *p, uint32_t len, const struct icrc_flow *flow, uint16_t ip_id);

/* Writes a NAK. Returns its length, with room for the ICRC, which the caller stores. */
uint32_t fault_emit_nak(uint8_t *p, enum wire_service service, uint32_t dest_qpn, uint32_t psn,
			uint8_t syndrome, uint32_t msn);

#endif
