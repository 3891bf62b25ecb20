/* SPDX-License-Identifier: MIT */
/* A transport packet: its headers as one table (IBTA vol. 1, 9.2 and 9.3), which lengths, parsing
 * and emitting walk by the bits of a shape. The engine checks what needs a queue pair (PSN, path
 * MTU, keys); icrc.c checks what needs IP and UDP. */
#include "net/wire/packet.h"

#include <assert.h>
#include <string.h>

#include "net/wire/opcode.h"

void bth_parse(struct bth *ret, const uint8_t p[static BTH_LEN])
{
	ret->opcode = p[0];
	ret->solicited = p[1] >> 7;
	ret->mig_req = p[1] >> 6 & 1;
	ret->pad = p[1] >> 4 & 3;
	ret->tver = p[1] & 0xf;
	ret->pkey = get_be16(p + 2);
	ret->fecn = p[4] >> 7;
	ret->becn = p[4] >> 6 & 1;
	ret->dest_qpn = get_be24(p + 5);
	ret->ack_req = p[8] >> 7;
	ret->psn = get_be24(p + 9);
}

void bth_emit(uint8_t p[static BTH_LEN], const struct bth *bth)
{
	p[0] = bth->opcode;
	p[1] = (uint8_t)(bth->solicited << 7 | bth->mig_req << 6 | (bth->pad & 3) << 4 |
			 (bth->tver & 0xf));
	put_be16(p + 2, bth->pkey);
	p[4] = (uint8_t)(bth->fecn << 7 | bth->becn << 6);
	put_be24(p + 5, bth->dest_qpn);
	p[8] = (uint8_t)(bth->ack_req << 7);
	put_be24(p + 9, bth->psn);
}

static void xrceth_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->xrc_srqn = get_be24(p + 1);
}

static void xrceth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be32(p, packet->xrc_srqn & QPN_MASK);
}

void deth_parse(struct deth *ret, const uint8_t p[static DETH_LEN])
{
	ret->qkey = get_be32(p);
	ret->src_qpn = get_be24(p + 5);
}

static void packet_deth_parse(struct wire_packet *ret, const uint8_t *p)
{
	deth_parse(&ret->deth, p);
}

static void deth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be32(p, packet->deth.qkey);
	p[4] = 0;
	put_be24(p + 5, packet->deth.src_qpn);
}

/* Bits 3 to 0: placement type, 5 and 4: selectivity level. The others are reserved. */
static void feth_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->feth.placement = p[3] & 0xf;
	ret->feth.selectivity = p[3] >> 4 & 3;
}

static void feth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be32(p, (packet->feth.selectivity & 3u) << 4 | (packet->feth.placement & 0xfu));
}

static void reth_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->reth.va = get_be64(p);
	ret->reth.rkey = get_be32(p + 8);
	ret->reth.len = get_be32(p + 12);
}

static void reth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be64(p, packet->reth.va);
	put_be32(p + 8, packet->reth.rkey);
	put_be32(p + 12, packet->reth.len);
}

static void atomic_eth_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->atomic.va = get_be64(p);
	ret->atomic.rkey = get_be32(p + 8);
	ret->atomic.swap_add = get_be64(p + 12);
	ret->atomic.compare = get_be64(p + 20);
}

static void atomic_eth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be64(p, packet->atomic.va);
	put_be32(p + 8, packet->atomic.rkey);
	put_be64(p + 12, packet->atomic.swap_add);
	put_be64(p + 20, packet->atomic.compare);
}

void aeth_parse(struct aeth *ret, const uint8_t p[static AETH_LEN])
{
	ret->syndrome = p[0];
	ret->msn = get_be24(p + 1);
}

static void packet_aeth_parse(struct wire_packet *ret, const uint8_t *p)
{
	aeth_parse(&ret->aeth, p);
}

static void aeth_emit(uint8_t *p, const struct wire_packet *packet)
{
	p[0] = packet->aeth.syndrome;
	put_be24(p + 1, packet->aeth.msn);
}

static void atomic_ack_eth_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->atomic_orig = get_be64(p);
}

static void atomic_ack_eth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be64(p, packet->atomic_orig);
}

static void imm_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->imm = get_be32(p);
}

static void imm_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be32(p, packet->imm);
}

static void ieth_parse(struct wire_packet *ret, const uint8_t *p)
{
	ret->inv_rkey = get_be32(p);
}

static void ieth_emit(uint8_t *p, const struct wire_packet *packet)
{
	put_be32(p, packet->inv_rkey);
}

static void cnp_parse(struct wire_packet *ret, const uint8_t *p)
{
	(void)ret;
	(void)p;
}

static void cnp_emit(uint8_t *p, const struct wire_packet *packet)
{
	(void)packet;
	memset(p, 0, CNP_LEN);
}

/* The extended headers in the order in which they follow the BTH. Row n belongs to shape bit
 * SHAPE_XRCETH << n. */
/* clang-format off */
static const struct {
	uint32_t shape;
	uint32_t len;
	void (*parse)(struct wire_packet *ret, const uint8_t *p);
	void (*emit)(uint8_t *p, const struct wire_packet *packet);
} headers[] = {
	{ SHAPE_XRCETH,         XRCETH_LEN,         xrceth_parse,         xrceth_emit },
	{ SHAPE_DETH,           DETH_LEN,           packet_deth_parse,    deth_emit },
	{ SHAPE_FETH,           FETH_LEN,           feth_parse,           feth_emit },
	{ SHAPE_RETH,           RETH_LEN,           reth_parse,           reth_emit },
	{ SHAPE_ATOMIC_ETH,     ATOMIC_ETH_LEN,     atomic_eth_parse,     atomic_eth_emit },
	{ SHAPE_AETH,           AETH_LEN,           packet_aeth_parse,    aeth_emit },
	{ SHAPE_ATOMIC_ACK_ETH, ATOMIC_ACK_ETH_LEN, atomic_ack_eth_parse, atomic_ack_eth_emit },
	{ SHAPE_IMM,            IMM_LEN,            imm_parse,            imm_emit },
	{ SHAPE_IETH,           IETH_LEN,           ieth_parse,           ieth_emit },
	{ SHAPE_CNP,            CNP_LEN,            cnp_parse,            cnp_emit },
};
/* clang-format on */

#define NUM_HEADERS (sizeof(headers) / sizeof(headers[0]))
#define ALL_HEADERS (((uint32_t)SHAPE_XRCETH << NUM_HEADERS) - SHAPE_XRCETH)

static_assert(SHAPE_CNP == SHAPE_XRCETH << (NUM_HEADERS - 1), "one row for each header bit");

/* Row of the first header in a set of header bits that is not empty. */
static uint32_t first_row(uint32_t bits)
{
	const uint32_t row = (uint32_t)__builtin_ctz(bits / SHAPE_XRCETH);

	assert(headers[row].shape == (bits & -bits));
	return row;
}

/* Bytes of the BTH and the extended headers of a shape. */
static uint32_t headers_len(uint32_t shape)
{
	uint32_t left, len = BTH_LEN;

	for (left = shape & ALL_HEADERS; left; left &= left - 1)
		len += headers[first_row(left)].len;
	return len;
}

/* p: the byte after the BTH. Returns the byte after the last header. */
static const uint8_t *headers_parse(struct wire_packet *ret, const uint8_t *p, uint32_t shape)
{
	uint32_t left;

	for (left = shape & ALL_HEADERS; left; left &= left - 1) {
		const uint32_t row = first_row(left);

		headers[row].parse(ret, p);
		p += headers[row].len;
	}
	return p;
}

/* As headers_parse(). */
static uint8_t *headers_emit(uint8_t *p, const struct wire_packet *packet, uint32_t shape)
{
	uint32_t left;

	for (left = shape & ALL_HEADERS; left; left &= left - 1) {
		const uint32_t row = first_row(left);

		headers[row].emit(p, packet);
		p += headers[row].len;
	}
	return p;
}

uint32_t wire_header_len(uint8_t opcode)
{
	uint32_t shape = wire_shape(opcode);

	return shape ? headers_len(shape) : 0;
}

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

void tmh_parse(struct tmh *ret, const uint8_t p[static TMH_LEN])
{
	ret->op = p[0];
	ret->app_ctx = get_be32(p + 4);
	ret->tag = get_be64(p + 8);
}

void tmh_emit(uint8_t p[static TMH_LEN], const struct tmh *tmh)
{
	p[0] = tmh->op;
	memset(p + 1, 0, 3);
	put_be32(p + 4, tmh->app_ctx);
	put_be64(p + 8, tmh->tag);
}

void rvh_parse(struct rvh *ret, const uint8_t p[static RVH_LEN])
{
	ret->va = get_be64(p);
	ret->rkey = get_be32(p + 8);
	ret->len = get_be32(p + 12);
}

void rvh_emit(uint8_t p[static RVH_LEN], const struct rvh *rvh)
{
	put_be64(p, rvh->va);
	put_be32(p + 8, rvh->rkey);
	put_be32(p + 12, rvh->len);
}
