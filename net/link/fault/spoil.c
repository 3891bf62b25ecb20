// SPDX-License-Identifier: MIT
/* What faults do to the bytes of a packet. */
#include "net/link/fault/spoil.h"

#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define BTH_VARIANT 4u /* FECN, BECN and reserved bits: the ICRC takes them as ones */

void spoil(uint8_t *p, uint32_t len, enum fault_part part, uint64_t dice)
{
	const uint32_t end = len - ICRC_LEN;
	uint32_t headers = wire_header_len(p[0]), from = 0, to = end, at;

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

void sign(uint8_t *p, uint32_t len, const struct icrc_flow *flow, uint16_t ip_id)
{
	const uint32_t end = len - ICRC_LEN;

	icrc_store(p + end, icrc_compute(flow, ip_id, p, end));
}

uint32_t write_nak(uint8_t *p, enum wire_service service, uint32_t dest_qpn, uint32_t psn,
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
