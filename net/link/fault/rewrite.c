// SPDX-License-Identifier: MIT
/* Changes of a packet's bytes. */
#include "net/link/fault/rewrite.h"

#include <assert.h>

#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define BTH_VARIANT 4u /* offset of FECN, BECN and reserved bits, which the ICRC does not cover */

void fault_flip_bit(uint8_t *p, uint32_t len, enum fault_part part, uint64_t dice)
{
	const uint32_t end = len - ICRC_LEN;
	uint32_t headers = wire_header_len(p[0]), from = 0, to = end, at;

	assert(len >= BTH_LEN + ICRC_LEN);
	if (headers == 0 || headers > end)
		headers = end;
	switch (part) {
	case FAULT_PAYLOAD: from = headers < end ? headers : 0; break;
	case FAULT_HEADER: to = headers; break;
	case FAULT_ICRC:
		from = end;
		to = len;
		break;
	}
	at = from + (uint32_t)(dice >> 3) % (to - from);
	if (at == BTH_VARIANT)
		at++;
	p[at] ^= (uint8_t)(1u << (dice & 7));
}

void fault_store_icrc(uint8_t *p, uint32_t len, const struct icrc_flow *flow, uint16_t ip_id)
{
	const uint32_t end = len - ICRC_LEN;

	assert(len >= BTH_LEN + ICRC_LEN);
	icrc_store(p + end, icrc_compute(flow, ip_id, p, end));
}

uint32_t fault_emit_nak(uint8_t *p, enum wire_service service, uint32_t dest_qpn, uint32_t psn,
			uint8_t syndrome, uint32_t msn)
{
	const struct wire_packet nak = {
		.bth = { .opcode = opcode_make(service, OP_ACKNOWLEDGE),
			 .mig_req = true,
			 .pkey = 0xffff,
			 .dest_qpn = dest_qpn,
			 .psn = psn },
		.aeth = { .syndrome = syndrome, .msn = msn },
	};

	return (uint32_t)wire_emit_headers(p, &nak) + ICRC_LEN;
}
