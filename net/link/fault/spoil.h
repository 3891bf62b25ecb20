/* SPDX-License-Identifier: MIT */
/* What faults do to the bytes of a packet: private to net/link/fault_*.c. */
#ifndef RXE_LINK_FAULT_SPOIL_H
#define RXE_LINK_FAULT_SPOIL_H

#include <stddef.h>
#include <stdint.h>

#include "net/link/fault/fault.h"
#include "net/link/fault/shaper.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"

/* Turn one bit of the part, chosen by dice. A packet without payload has its headers spoiled instead. The bits of the BTH
 * that the ICRC leaves out are never chosen: nobody would notice. */
void spoil(uint8_t *p, uint32_t len, enum fault_part part, uint64_t dice);

/* Make the ICRC fit the bytes again. */
void sign(uint8_t *p, uint32_t len, const struct icrc_flow *flow, uint16_t ip_id);

/* Write a NAK for psn to a QP; returns its length, ICRC included but not yet right. */
uint32_t write_nak(uint8_t *p, enum wire_service service, uint32_t dest_qpn, uint32_t psn,
		   uint8_t syndrome, uint32_t msn);

#endif
