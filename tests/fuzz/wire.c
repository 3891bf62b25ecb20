/* SPDX-License-Identifier: MIT */
/* Fuzz target: any bytes as a RoCEv2 packet. What parses is emitted again to the same bytes. A
 * computed ICRC is accepted under each rule for the IP identification, and not with one flipped
 * bit. */
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Reserved bits are sent as 0, so they are cleared before bytes are compared. */
static void blank_reserved(uint8_t *p, uint32_t shape)
{
	size_t at = BTH_LEN;

	p[4] &= 0xc0;
	p[8] &= 0x80;
	if (shape & SHAPE_XRCETH) {
		p[at] = 0;
		at += XRCETH_LEN;
	}
	if (shape & SHAPE_DETH)
		p[at + 4] = 0;
	if (shape & SHAPE_FETH) {
		memset(p + at, 0, FETH_LEN - 1);
		p[at + FETH_LEN - 1] &= 0x3f;
	}
	if (shape & SHAPE_CNP)
		memset(p + at, 0, CNP_LEN);
}

static void parse_and_emit(const uint8_t *p, size_t len)
{
	uint8_t again[WIRE_MAX_PACKET + 64] = { 0 };
	struct wire_packet packet, second;
	uint8_t *masked;
	size_t headers, total;

	if (wire_parse(&packet, p, len) != WIRE_OK)
		return;
	headers = wire_header_len(packet.bth.opcode);
	MUST(headers >= BTH_LEN && headers <= len && len <= WIRE_MAX_PACKET);
	MUST(packet.payload_len <= wire_max_payload(packet.bth.opcode));
	MUST(packet.payload == p + headers);
	total = headers + packet.payload_len + packet.bth.pad + ICRC_LEN;
	MUST(total == len);

	MUST(wire_emit_headers(again, &packet) == headers);
	memcpy(again + headers, packet.payload, packet.payload_len);
	masked = exact_block(p, len);
	blank_reserved(masked, packet.shape);
	MUST(memcmp(masked, again, headers + packet.payload_len) == 0);
	free(masked);
	MUST(wire_parse(&second, again, len) == WIRE_OK);
	MUST(second.shape == packet.shape && second.payload_len == packet.payload_len);
}

static void check_icrc(const struct icrc_flow *flow, uint16_t ip_id, uint8_t *p, size_t len,
		       uint16_t bit)
{
	const bool v4 = gid_is_v4(&flow->dst);
	size_t at = bit / 8 % len;

	for (int rule = IP_ID_EXACT; rule <= IP_ID_ANY; rule++)
		(void)icrc_check(flow, (enum ip_id_rule)rule, ip_id, p, len);
	if (len < BTH_LEN + ICRC_LEN)
		return;
	icrc_store(p + len - ICRC_LEN, icrc_compute(flow, ip_id, p, len - ICRC_LEN));
	MUST(icrc_check(flow, IP_ID_EXACT, ip_id, p, len) == ICRC_OK);
	MUST(icrc_check(flow, IP_ID_RULED, ip_id, p, len) == ICRC_OK);
	MUST(icrc_check(flow, IP_ID_ANY, ip_id, p, len) == ICRC_OK);
	MUST(icrc_check(flow, IP_ID_ANY, (uint16_t)(ip_id + 1), p, len) != ICRC_BAD);
	if (v4)
		MUST(icrc_check(flow, IP_ID_EXACT, (uint16_t)(ip_id + 1), p, len) == ICRC_BAD);
	if (v4 && ip_id != 0)
		MUST(icrc_check(flow, IP_ID_RULED, (uint16_t)(ip_id + 1), p, len) == ICRC_BAD);
	if (at == 4) /* FECN, BECN and reserved bits, which routers may change */
		return;
	p[at] ^= (uint8_t)(1u << bit % 8);
	MUST(icrc_check(flow, IP_ID_EXACT, ip_id, p, len) == ICRC_BAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };
	struct icrc_flow flow = { .src = { { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
				  .dst = { { [10] = 0xff, 0xff, 10, 0, 0, 2 } } };
	const uint16_t ip_id = take_u16(&take), bit = take_u16(&take);
	uint8_t *p;

	flow.src_port = take_u16(&take);
	if (take_u8(&take) & 1)
		flow.src.raw[0] = flow.dst.raw[0] = 0xfd;
	if (take.left == 0)
		return 0;
	p = exact_block(take.p, take.left);
	parse_and_emit(p, take.left);
	check_icrc(&flow, ip_id, p, take.left, bit);
	free(p);
	return 0;
}
