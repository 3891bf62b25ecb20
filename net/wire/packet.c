/* SPDX-License-Identifier: MIT */
/* A transport packet: parsed and checked by itself, or its headers written. The engine checks what
 * needs a queue pair (PSN, path MTU, keys); icrc.c checks what needs IP and UDP. */
#include "net/wire/packet.h"

#include <assert.h>

#include "net/wire/headers.h"
#include "net/wire/opcode.h"

uint32_t wire_max_payload(uint8_t opcode)
{
	return opcode_service(opcode) == WIRE_RAW ? WIRE_MAX_FRAME : WIRE_MAX_PAYLOAD;
}

/* len: payload and pad. */
static enum wire_result check_payload(const struct wire_packet *packet, uint32_t len)
{
	if (packet->bth.pad > len || (len & 3))
		return WIRE_BAD_PAD;
	if (!(packet->shape & SHAPE_PAYLOAD) && len)
		return WIRE_BAD_SHAPE;
	if (len - packet->bth.pad > wire_max_payload(packet->bth.opcode))
		return WIRE_OVERSIZE;
	return WIRE_OK;
}

enum wire_result wire_parse(struct wire_packet *ret, const uint8_t *p, size_t len)
{
	struct wire_packet packet = { 0 };
	enum wire_result result;
	uint32_t header_len, body_len;

	if (len < BTH_LEN + ICRC_LEN)
		return WIRE_RUNT;
	bth_parse(&packet.bth, p);
	if (packet.bth.tver)
		return WIRE_BAD_TVER;
	packet.shape = wire_shape(packet.bth.opcode);
	if (!packet.shape)
		return WIRE_BAD_OPCODE;
	header_len = headers_len(packet.shape);
	if (len < header_len + ICRC_LEN)
		return WIRE_RUNT;
	if (len > header_len + wire_max_payload(packet.bth.opcode) + 3 + ICRC_LEN)
		return WIRE_OVERSIZE;
	body_len = (uint32_t)len - header_len - ICRC_LEN;
	result = check_payload(&packet, body_len);
	if (result != WIRE_OK)
		return result;
	packet.payload = headers_parse(&packet, p + BTH_LEN, packet.shape);
	packet.payload_len = body_len - packet.bth.pad;
	*ret = packet;
	return WIRE_OK;
}

size_t wire_emit_headers(uint8_t *p, const struct wire_packet *packet)
{
	const uint32_t shape = wire_shape(packet->bth.opcode);

	assert(shape);
	bth_emit(p, &packet->bth);
	return (size_t)(headers_emit(p + BTH_LEN, packet, shape) - p);
}
