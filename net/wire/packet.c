/* SPDX-License-Identifier: MIT */
/* A whole transport packet, parsed and checked in itself, or its headers written.
 *
 * What needs a queue pair (PSN, path MTU, keys) is the engine's; what needs IP and UDP is the ICRC's. */
#include "net/wire/packet.h"

#include <string.h>

#include "net/wire/headers.h"
#include "net/wire/opcode.h"

static const uint8_t *parse_extended(struct wire_packet *ret, const uint8_t *p)
{
	uint32_t shape = ret->shape;

	if (shape & SHAPE_XRCETH) {
		ret->xrc_srqn = get_be24(p + 1);
		p += XRCETH_LEN;
	}
	if (shape & SHAPE_DETH) {
		deth_parse(&ret->deth, p);
		p += DETH_LEN;
	}
	if (shape & SHAPE_RETH) {
		reth_parse(&ret->reth, p);
		p += RETH_LEN;
	}
	if (shape & SHAPE_ATOMIC_ETH) {
		atomic_eth_parse(&ret->atomic, p);
		p += ATOMIC_ETH_LEN;
	}
	if (shape & SHAPE_AETH) {
		aeth_parse(&ret->aeth, p);
		p += AETH_LEN;
	}
	if (shape & SHAPE_ATOMIC_ACK_ETH) {
		ret->atomic_orig = get_be64(p);
		p += ATOMIC_ACK_ETH_LEN;
	}
	if (shape & SHAPE_IMM) {
		ret->imm = get_be32(p);
		p += IMM_LEN;
	}
	if (shape & SHAPE_IETH) {
		ret->inv_rkey = get_be32(p);
		p += IETH_LEN;
	}
	if (shape & SHAPE_CNP)
		p += CNP_LEN;
	return p;
}

static enum wire_result check_payload(const struct wire_packet *packet, uint32_t room)
{
	if (packet->bth.pad > room || (room & 3))
		return WIRE_BAD_PAD;
	if (!(packet->shape & SHAPE_PAYLOAD) && room)
		return WIRE_BAD_SHAPE;
	if (room - packet->bth.pad > WIRE_MAX_PAYLOAD)
		return WIRE_OVERSIZE;
	return WIRE_OK;
}

enum wire_result wire_parse(struct wire_packet *ret, const uint8_t *p, size_t len)
{
	struct wire_packet packet = { 0 };
	enum wire_result result;
	uint32_t header_len, room;

	if (len < BTH_LEN + ICRC_LEN)
		return WIRE_RUNT;
	bth_parse(&packet.bth, p);
	if (packet.bth.tver)
		return WIRE_BAD_TVER;
	packet.shape = wire_shape(packet.bth.opcode);
	if (!packet.shape)
		return WIRE_BAD_OPCODE;
	header_len = wire_header_len(packet.bth.opcode);
	if (len < header_len + ICRC_LEN)
		return WIRE_RUNT;
	if (len > header_len + WIRE_MAX_PAYLOAD + 3 + ICRC_LEN)
		return WIRE_OVERSIZE;
	room = (uint32_t)len - header_len - ICRC_LEN;
	result = check_payload(&packet, room);
	if (result != WIRE_OK)
		return result;
	packet.payload = parse_extended(&packet, p + BTH_LEN);
	packet.payload_len = room - packet.bth.pad;
	*ret = packet;
	return WIRE_OK;
}

static uint8_t *emit_extended(uint8_t *p, const struct wire_packet *packet, uint32_t shape)
{
	if (shape & SHAPE_XRCETH) {
		put_be32(p, packet->xrc_srqn & QPN_MASK);
		p += XRCETH_LEN;
	}
	if (shape & SHAPE_DETH) {
		deth_emit(p, &packet->deth);
		p += DETH_LEN;
	}
	if (shape & SHAPE_RETH) {
		reth_emit(p, &packet->reth);
		p += RETH_LEN;
	}
	if (shape & SHAPE_ATOMIC_ETH) {
		atomic_eth_emit(p, &packet->atomic);
		p += ATOMIC_ETH_LEN;
	}
	if (shape & SHAPE_AETH) {
		aeth_emit(p, &packet->aeth);
		p += AETH_LEN;
	}
	if (shape & SHAPE_ATOMIC_ACK_ETH) {
		put_be64(p, packet->atomic_orig);
		p += ATOMIC_ACK_ETH_LEN;
	}
	if (shape & SHAPE_IMM) {
		put_be32(p, packet->imm);
		p += IMM_LEN;
	}
	if (shape & SHAPE_IETH) {
		put_be32(p, packet->inv_rkey);
		p += IETH_LEN;
	}
	if (shape & SHAPE_CNP) {
		memset(p, 0, CNP_LEN);
		p += CNP_LEN;
	}
	return p;
}

size_t wire_emit_headers(uint8_t *p, const struct wire_packet *packet)
{
	bth_emit(p, &packet->bth);
	return (size_t)(emit_extended(p + BTH_LEN, packet, wire_shape(packet->bth.opcode)) - p);
}

const char *wire_result_str(enum wire_result result)
{
	switch (result) {
	case WIRE_OK: return "well-formed";
	case WIRE_RUNT: return "shorter than its headers";
	case WIRE_OVERSIZE: return "payload longer than 4096 bytes";
	case WIRE_BAD_TVER: return "transport version is not 0";
	case WIRE_BAD_OPCODE: return "unknown opcode";
	case WIRE_BAD_PAD: return "length and pad count disagree";
	case WIRE_BAD_SHAPE: return "payload where the operation has none";
	}
	return "?";
}
