/* SPDX-License-Identifier: MIT */
/* The wire formats against the standard's tables: opcodes and their headers bit by bit, PSN
 * arithmetic, the ICRC's rules for the IPv4 identification, the 40 bytes before a UD payload, and
 * trains. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/ip.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/suite.h"

/* IBTA vol. 1, table 38, and annexes A14, A17 and A19: the bytes of BTH and extended headers by
 * opcode. */
static const struct {
	uint8_t rc, uc, ud, xrc;
} header_len[32] = {
	[0x00] = { 12, 12, 0, 16 }, [0x01] = { 12, 12, 0, 16 },	 [0x02] = { 12, 12, 0, 16 },
	[0x03] = { 16, 16, 0, 20 }, [0x04] = { 12, 12, 20, 16 }, [0x05] = { 16, 16, 24, 20 },
	[0x06] = { 28, 28, 0, 32 }, [0x07] = { 12, 12, 0, 16 },	 [0x08] = { 12, 12, 0, 16 },
	[0x09] = { 16, 16, 0, 20 }, [0x0a] = { 28, 28, 0, 32 },	 [0x0b] = { 32, 32, 0, 36 },
	[0x0c] = { 28, 0, 0, 32 },  [0x0d] = { 16, 0, 0, 16 },	 [0x0e] = { 12, 0, 0, 12 },
	[0x0f] = { 16, 0, 0, 16 },  [0x10] = { 16, 0, 0, 16 },	 [0x11] = { 16, 0, 0, 16 },
	[0x12] = { 24, 0, 0, 24 },  [0x13] = { 40, 0, 0, 44 },	 [0x14] = { 40, 0, 0, 44 },
	[0x16] = { 16, 0, 0, 20 },  [0x17] = { 16, 0, 0, 20 },	 [0x1c] = { 32, 0, 0, 36 },
	[0x1d] = { 28, 0, 0, 32 },
};

static uint32_t table_len(unsigned opcode)
{
	const unsigned op = opcode & 0x1f;

	switch (opcode >> 5) {
	case 0: return header_len[op].rc;
	case 1: return header_len[op].uc;
	case 3: return header_len[op].ud;
	case 4: return op == 1 ? 28 : 0; /* congestion notification */
	case 5: return header_len[op].xrc;
	case 6: return op == 4 ? 20 : 0; /* frames of a private wire */
	default: return 0;
	}
}

START_TEST(opcodes)
{
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		const uint32_t shape = wire_shape((uint8_t)opcode);

		ck_assert_uint_eq(wire_header_len((uint8_t)opcode), table_len(opcode));
		ck_assert_int_eq(shape != 0, table_len(opcode) != 0);
		ck_assert_int_eq(strcmp(wire_op_str((uint8_t)opcode), "UNKNOWN") == 0, shape == 0);
		ck_assert_uint_le(wire_header_len((uint8_t)opcode), WIRE_MAX_HEADERS);
	}
	ck_assert_str_eq(wire_op_str(0x64), "SEND_ONLY");
	ck_assert_str_eq(wire_service_str(0x64), "UD");
	ck_assert_str_eq(wire_op_str(0x2b), "WRITE_ONLY_IMM");
	ck_assert_str_eq(wire_op_str(0x15), "UNKNOWN");
	ck_assert_str_eq(wire_op_str(OPCODE_CNP), "CNP");
	ck_assert_uint_eq(opcode_make(WIRE_XRC, OP_FETCH_ADD), 0xb4);
}
END_TEST

/* For each opcode: whether it opens or closes a message, its receiver, and whether it may carry
 * payload. */
START_TEST(shapes)
{
	static const uint8_t first[] = { 0x00, 0x04, 0x05, 0x06, 0x0a, 0x0b, 0x0c, 0x0d,
					 0x10, 0x11, 0x12, 0x13, 0x14, 0x17, 0x1c, 0x1d };
	static const uint8_t last[] = { 0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0f,
					0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x1c, 0x1d };
	static const uint8_t answers[] = { 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12 };
	static const uint8_t bare[] = { 0x0c, 0x11, 0x12, 0x13, 0x14, 0x1c };

	for (uint8_t op = 0; op < 0x20; op++) {
		const uint32_t shape = wire_shape(op);

		if (!header_len[op].rc)
			continue;
		ck_assert_int_eq(!!(shape & SHAPE_FIRST), !!memchr(first, op, sizeof(first)));
		ck_assert_int_eq(!!(shape & SHAPE_LAST), !!memchr(last, op, sizeof(last)));
		ck_assert_int_eq(!(shape & SHAPE_REQUEST), !!memchr(answers, op, sizeof(answers)));
		ck_assert_int_eq(!(shape & SHAPE_PAYLOAD), !!memchr(bare, op, sizeof(bare)));
	}
}
END_TEST

START_TEST(bth_bits)
{
	static const uint8_t bytes[BTH_LEN] = { 0x64, 0xe0, 0xff, 0xff, 0xc0, 0x12,
						0x34, 0x56, 0x80, 0xab, 0xcd, 0xef };
	uint8_t again[BTH_LEN];
	struct bth bth;

	bth_parse(&bth, bytes);
	ck_assert(bth.solicited && bth.mig_req && bth.fecn && bth.becn && bth.ack_req);
	ck_assert_uint_eq(bth.pad, 2);
	ck_assert_uint_eq(bth.tver, 0);
	ck_assert_uint_eq(bth.pkey, 0xffff);
	ck_assert_uint_eq(bth.dest_qpn, 0x123456);
	ck_assert_uint_eq(bth.psn, 0xabcdef);
	bth_emit(again, &bth);
	ck_assert_mem_eq(again, bytes, BTH_LEN);
}
END_TEST

/* Bits beside those of a field belong to no field: the reserved seven beside AckReq, and what a
 * version of more than four bits would put into the pad count. */
START_TEST(bth_bits_beside)
{
	const struct bth versioned = { .tver = 0x1f };
	uint8_t bytes[BTH_LEN] = { [8] = 0x7f };
	struct bth bth;

	bth_parse(&bth, bytes);
	ck_assert(!bth.ack_req);
	bth_emit(bytes, &versioned);
	ck_assert_uint_eq(bytes[1], 0x0f);
	ck_assert_uint_eq(bytes[8], 0);
}
END_TEST

/* The 16 bytes after the BTH of a CNP are reserved: zero, whatever was there (annex A17.9.3). */
START_TEST(cnp_bytes)
{
	const struct wire_packet packet = { .bth.opcode = OPCODE_CNP };
	uint8_t bytes[BTH_LEN + 16];

	memset(bytes, 0xff, sizeof(bytes));
	ck_assert_uint_eq(wire_emit_headers(bytes, &packet), sizeof(bytes));
	for (size_t i = BTH_LEN; i < sizeof(bytes); i++)
		ck_assert_uint_eq(bytes[i], 0);
}
END_TEST

/* The longest packet of an opcode is its headers, its largest payload, a pad of 3 and the ICRC: a
 * packet of that length is refused for its pad, a longer one for its length. */
START_TEST(longest_packet)
{
	static uint8_t bytes[8192];
	const struct bth bth = { .opcode = OP_SEND_ONLY, .mig_req = true, .pkey = 0xffff };
	const size_t longest = BTH_LEN + wire_max_payload(bth.opcode) + 3 + ICRC_LEN;
	struct wire_packet packet;

	bth_emit(bytes, &bth);
	ck_assert_int_eq(wire_parse(&packet, bytes, longest), WIRE_BAD_PAD);
	ck_assert_int_eq(wire_parse(&packet, bytes, longest + 1), WIRE_OVERSIZE);
}
END_TEST

/* struct ibv_tmh and struct ibv_rvh of infiniband/tm_types.h, in network order. */
START_TEST(tag_matching_bytes)
{
	static const uint8_t tmh_bytes[TMH_LEN] = {
		3, 0, 0, 0, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28
	};
	static const uint8_t rvh_bytes[RVH_LEN] = {
		0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
		0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54
	};
	uint8_t again[TMH_LEN];
	struct tmh tmh;
	struct rvh rvh;

	tmh_parse(&tmh, tmh_bytes);
	ck_assert_uint_eq(tmh.op, TMH_EAGER);
	ck_assert_uint_eq(tmh.app_ctx, 0x11121314);
	ck_assert_uint_eq(tmh.tag, 0x2122232425262728);
	memset(again, 0xff, sizeof(again));
	tmh_emit(again, &tmh);
	ck_assert_mem_eq(again, tmh_bytes, TMH_LEN);
	rvh_parse(&rvh, rvh_bytes);
	ck_assert_uint_eq(rvh.va, 0x3132333435363738);
	ck_assert_uint_eq(rvh.rkey, 0x41424344);
	ck_assert_uint_eq(rvh.len, 0x51525354);
	memset(again, 0xff, sizeof(again));
	rvh_emit(again, &rvh);
	ck_assert_mem_eq(again, rvh_bytes, RVH_LEN);
}
END_TEST

/* RFC 1071: pairs of bytes, a zero after the last odd one, carries added again. */
START_TEST(checksum)
{
	static const uint8_t bytes[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0xff };

	ck_assert_uint_eq(wire_checksum(0, bytes, 0), 0xffff);
	ck_assert_uint_eq(wire_checksum(0, bytes, 8), (uint16_t)~0xddf2);
	ck_assert_uint_eq(wire_checksum(0, bytes, 3), (uint16_t)~0xf201);
	ck_assert_uint_eq(wire_checksum(0, bytes + 8, 1), (uint16_t)~0xff00);
	ck_assert_uint_eq(wire_checksum(0x1fffe, bytes, 2), (uint16_t)~0x0001);
	ck_assert_uint_eq(wire_checksum(0xffff, bytes, 2), (uint16_t)~0x0001);
}
END_TEST

/* The bytes of a FLUSH of rdma_rxe's format: FETH, then RETH, and no payload. */
START_TEST(flush_bytes)
{
	static const uint8_t bytes[] = {
		0x1c, 0x40, 0xff, 0xff, 0, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef, /* BTH */
		0,    0,    0,	  0x13,						     /* FETH */
		1,    2,    3,	  4,	5, 6,	 7,    8,    9,	   10,	 11,   12,   /* RETH */
		0,    0,    0x10, 0,	0, 0,	 0,    0,
	};
	struct wire_packet packet;
	uint8_t again[sizeof(bytes)];

	ck_assert_int_eq(wire_parse(&packet, bytes, sizeof(bytes)), WIRE_OK);
	ck_assert_uint_eq(packet.feth.placement, FETH_GLOBAL | FETH_PERSISTENT);
	ck_assert_uint_eq(packet.feth.selectivity, FETH_REGION);
	ck_assert_uint_eq(packet.reth.va, 0x0102030405060708);
	ck_assert_uint_eq(packet.reth.rkey, 0x090a0b0c);
	ck_assert_uint_eq(packet.reth.len, 0x1000);
	ck_assert_uint_eq(packet.payload_len, 0);
	ck_assert_uint_eq(wire_emit_headers(again, &packet), sizeof(bytes) - ICRC_LEN);
	ck_assert_mem_eq(again, bytes, sizeof(bytes) - ICRC_LEN);
}
END_TEST

/* Reserved bits are ignored and sent as 0; a FLUSH has no payload (oA19-2). */
START_TEST(flush_malformed)
{
	uint8_t bytes[BTH_LEN + FETH_LEN + RETH_LEN + 4 + ICRC_LEN] = { OP_FLUSH };
	struct wire_packet packet;
	uint8_t again[WIRE_MAX_HEADERS];

	memset(bytes + BTH_LEN, 0xff, FETH_LEN);
	ck_assert_int_eq(wire_parse(&packet, bytes, sizeof(bytes)), WIRE_BAD_SHAPE);
	ck_assert_int_eq(wire_parse(&packet, bytes, sizeof(bytes) - 4), WIRE_OK);
	ck_assert_int_eq(wire_parse(&packet, bytes, sizeof(bytes) - 8), WIRE_RUNT);
	ck_assert_uint_eq(packet.feth.placement, 0xf);
	ck_assert_uint_eq(packet.feth.selectivity, 3);
	wire_emit_headers(again, &packet);
	ck_assert_mem_eq(again + BTH_LEN, "\0\0\0\x3f", FETH_LEN);
}
END_TEST

/* An ATOMIC_WRITE is a RETH and the 8 bytes. */
START_TEST(atomic_write_bytes)
{
	static const uint8_t bytes[] = {
		0x1d, 0x40, 0xff, 0xff, 0,    0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef, /* BTH */
		1,    2,    3,	  4,	5,    6,    7,	  8,	9,    10,   11,	  12,	/* RETH */
		0,    0,    0,	  8, /* its length */
		0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0,    0,    0,	  0,
	};
	struct wire_packet packet;
	uint8_t again[sizeof(bytes)];

	ck_assert_int_eq(wire_parse(&packet, bytes, sizeof(bytes)), WIRE_OK);
	ck_assert_uint_eq(packet.reth.len, 8);
	ck_assert_uint_eq(packet.payload_len, 8);
	ck_assert_ptr_eq(packet.payload, bytes + BTH_LEN + RETH_LEN);
	ck_assert_uint_eq(wire_emit_headers(again, &packet), BTH_LEN + RETH_LEN);
	ck_assert_mem_eq(again, bytes, BTH_LEN + RETH_LEN);
	ck_assert_str_eq(wire_op_str(0xbd), "ATOMIC_WRITE");
	ck_assert_str_eq(wire_op_str(0x1c), "FLUSH");
}
END_TEST

START_TEST(psn_arithmetic)
{
	ck_assert_int_eq(psn_diff(0, 0xffffff), 1);
	ck_assert_int_eq(psn_diff(0xffffff, 0), -1);
	ck_assert_int_eq(psn_diff(0x7fffff, 0), 0x7fffff);
	ck_assert_int_eq(psn_diff(0x800000, 0), -0x800000);
	ck_assert_uint_eq(psn_add(0xfffffe, 5), 3);
}
END_TEST

static const struct icrc_flow flow_v4 = {
	.src = { { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
	.dst = { { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
	.src_port = 49152,
};
static const struct icrc_flow flow_v6 = {
	.src = { { 0xfd, [15] = 1 } },
	.dst = { { 0xfd, [15] = 2 } },
	.src_port = 49152,
};

/* A packet of len bytes, ICRC included, with that identification. */
static void make_packet(uint8_t *p, size_t len, const struct icrc_flow *flow, uint16_t ip_id)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 29 + len);
	icrc_store(p + len - ICRC_LEN, icrc_compute(flow, ip_id, p, len - ICRC_LEN));
}

static enum icrc_result check_v4(enum ip_id_rule rule, uint16_t ip_id, const uint8_t *p, size_t len)
{
	return icrc_check(&flow_v4, rule, ip_id, p, len);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Each identification is found from any guess; and each has a CRC of its own. */
START_TEST(any_identification)
{
	static uint32_t crc[65536];
	uint8_t p[300];

	for (uint32_t id = 0; id < 65536; id++) {
		make_packet(p, sizeof(p), &flow_v4, (uint16_t)id);
		crc[id] = icrc_compute(&flow_v4, (uint16_t)id, p, sizeof(p) - ICRC_LEN);
		ck_assert_int_ne(check_v4(IP_ID_ANY, 7, p, sizeof(p)), ICRC_BAD);
		ck_assert_int_eq(check_v4(IP_ID_EXACT, 7, p, sizeof(p)) == ICRC_OK, id == 7);
		ck_assert_int_eq(check_v4(IP_ID_RULED, 7, p, sizeof(p)) == ICRC_OK,
				 id == 7 || id == 0);
		ck_assert_int_eq(check_v4(IP_ID_TRAIN, 7, p, sizeof(p)),
				 id < ICRC_TRAIN_IDS ? ICRC_OK : ICRC_BAD);
		ck_assert_int_eq(check_v4(IP_ID_TRAIN, 700, p, sizeof(p)),
				 id < ICRC_TRAIN_IDS || id == 700 ? ICRC_OK : ICRC_BAD);
	}
	qsort(crc, 65536, sizeof(*crc), by_value);
	for (uint32_t i = 1; i < 65536; i++)
		ck_assert_uint_ne(crc[i], crc[i - 1]);
}
END_TEST

START_TEST(any_at_every_length)
{
	static uint8_t p[WIRE_MAX_PACKET];

	for (size_t len = BTH_LEN + ICRC_LEN; len <= sizeof(p); len++) {
		const uint16_t id = (uint16_t)(len * 40503u);

		make_packet(p, len, &flow_v4, id);
		ck_assert_int_eq(check_v4(IP_ID_EXACT, id, p, len), ICRC_OK);
		ck_assert_int_eq(check_v4(IP_ID_ANY, (uint16_t)(id + 1), p, len), ICRC_OK_ANY);
	}
}
END_TEST

START_TEST(v6_has_no_identification)
{
	uint8_t p[100];

	make_packet(p, sizeof(p), &flow_v6, 5);
	ck_assert_int_eq(icrc_check(&flow_v6, IP_ID_EXACT, 9, p, sizeof(p)), ICRC_OK);
	p[50] ^= 1;
	ck_assert_int_eq(icrc_check(&flow_v6, IP_ID_ANY, 5, p, sizeof(p)), ICRC_BAD);
	/* Made as for IPv4 with some identification: 16 bits of difference do not pass over
	 * IPv6. */
	p[50] ^= 1;
	for (unsigned bit = 0; bit < 32; bit++) {
		p[sizeof(p) - 4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(icrc_check(&flow_v6, IP_ID_ANY, 5, p, sizeof(p)), ICRC_BAD);
		p[sizeof(p) - 4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
END_TEST

START_TEST(icrc_of_runts)
{
	uint8_t p[16] = { 0 };

	for (size_t len = 0; len < sizeof(p); len++)
		ck_assert_int_eq(check_v4(IP_ID_ANY, 0, p, len), ICRC_BAD);
}
END_TEST

static uint16_t folded_sum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* From cases.json for ud_send: what rdma_rxe delivered. */
START_TEST(grh_v4)
{
	static const uint8_t want[GRH_LEN] = {
		[20] = 0x45, 0x00, 0x00, 0x3c, 0x0f, 0x75, 0x40, 0x00, 0x40, 0x11,
		0x17,	     0x28, 0x0a, 0x09, 0x00, 0x02, 0x0a, 0x09, 0x00, 0x01,
	};
	struct grh_fields fields = {
		.src = { { [10] = 0xff, 0xff, 10, 9, 0, 2 } },
		.dst = { { [10] = 0xff, 0xff, 10, 9, 0, 1 } },
		.hop_limit = 64,
		.ip_payload_len = 40,
		.ip_id = 0x0f75,
	};
	uint8_t p[GRH_LEN];

	grh_emit(p, &fields);
	ck_assert_mem_eq(p, want, GRH_LEN);

	/* The link does not see the identification: the checksum differs, and is right for the
	 * bytes. */
	fields.ip_id = 0;
	grh_emit(p, &fields);
	ck_assert_uint_eq(folded_sum(p + 20, 20), 0xffff);
	p[24] = want[24], p[25] = want[25], p[30] = want[30], p[31] = want[31];
	ck_assert_mem_eq(p, want, GRH_LEN);

	for (uint32_t i = 0; i < 65536; i++) {
		fields.ip_payload_len = (uint16_t)i;
		fields.traffic_class = (uint8_t)i;
		fields.src.raw[15] = (uint8_t)(i >> 7);
		grh_emit(p, &fields);
		ck_assert_uint_eq(folded_sum(p + 20, 20), 0xffff);
	}
}
END_TEST

/* From cases.json for ud_ipv6. */
START_TEST(grh_v6)
{
	static const uint8_t want[GRH_LEN] = {
		0x60, 0x00, 0x00, 0x00, 0x00, 0x28, 0x11, 0x40, 0xfe, 0x80, 0,	  0,	0, 0,
		0,    0,    0x00, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x09, 0x02, 0xfe, 0x80, 0, 0,
		0,    0,    0,	  0,	0x00, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x09, 0x01,
	};
	struct grh_fields fields = { .hop_limit = 64, .ip_payload_len = 40 };
	uint8_t p[GRH_LEN];

	memcpy(fields.src.raw, want + 8, 16);
	memcpy(fields.dst.raw, want + 24, 16);
	grh_emit(p, &fields);
	ck_assert_mem_eq(p, want, GRH_LEN);

	fields.traffic_class = 0xab;
	fields.flow_label = 0xcdef1;
	grh_emit(p, &fields);
	ck_assert_mem_eq(p, "\x6a\xbc\xde\xf1", 4);
}
END_TEST

START_TEST(train_of_equals)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = 4 };

	ck_assert_ptr_eq(wire_train_add(&train, 100), buf);
	ck_assert_ptr_eq(wire_train_add(&train, 100), buf + 100);
	ck_assert_ptr_null(wire_train_add(&train, 101));
	ck_assert_uint_eq(train.segs, 2);
	ck_assert(!train.closed);
	ck_assert_ptr_eq(wire_train_add(&train, 99), buf + 200);
	ck_assert(train.closed);
	ck_assert_ptr_null(wire_train_add(&train, 99));
	ck_assert_ptr_null(wire_train_add(&train, 100));
	ck_assert_uint_eq(train.len, 299);
	ck_assert_uint_eq(train.seg_len, 100);
	ck_assert_uint_eq(train.segs, 3);
}
END_TEST

START_TEST(train_gets_icrcs)
{
	uint8_t buf[200] = { 0 };
	struct wire_train train = { .buf = buf,
				    .max_segs = 4,
				    .no_icrc = true,
				    .src.raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 },
				    .dst.raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 } };
	const struct icrc_flow flow = { train.src, train.dst, 50000 };

	for (uint32_t i = 0; i < 3; i++)
		memset(wire_train_add(&train, i < 2 ? 60 : 16), (int)i, 12);
	wire_train_add_icrcs(&train, 50000);
	ck_assert(!train.no_icrc);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(icrc_check(&flow, IP_ID_EXACT, (uint16_t)i,
					    wire_train_packet(&train, i),
					    wire_train_packet_len(&train, i)),
				 ICRC_OK);
}
END_TEST

START_TEST(train_limits)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	uint32_t n = 0;

	while (wire_train_add(&train, 4096 + 28))
		n++;
	ck_assert_uint_eq(n, TRAIN_MAX_BYTES / (4096 + 28));
	ck_assert_uint_le(train.len, TRAIN_MAX_BYTES);
	/* The remaining space fits a shorter last packet. */
	ck_assert_ptr_nonnull(wire_train_add(&train, TRAIN_MAX_BYTES - train.len));
	ck_assert_uint_eq(train.len, TRAIN_MAX_BYTES);

	train = (struct wire_train){ .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	for (n = 0; wire_train_add(&train, 16); n++)
		;
	ck_assert_uint_eq(n, TRAIN_MAX_SEGS);

	train = (struct wire_train){ .buf = buf, .max_segs = 1 };
	ck_assert_ptr_nonnull(wire_train_add(&train, 16));
	ck_assert_ptr_null(wire_train_add(&train, 16));
	train = (struct wire_train){ .buf = buf, .max_segs = 1 };
	ck_assert_ptr_null(wire_train_add(&train, TRAIN_MAX_BYTES + 1));
	ck_assert_uint_eq(train.segs, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire");
	TCase *tc = tcase_create("formats");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, opcodes);
	tcase_add_test(tc, shapes);
	tcase_add_test(tc, bth_bits);
	tcase_add_test(tc, bth_bits_beside);
	tcase_add_test(tc, cnp_bytes);
	tcase_add_test(tc, longest_packet);
	tcase_add_test(tc, tag_matching_bytes);
	tcase_add_test(tc, checksum);
	tcase_add_test(tc, flush_bytes);
	tcase_add_test(tc, flush_malformed);
	tcase_add_test(tc, atomic_write_bytes);
	tcase_add_test(tc, psn_arithmetic);
	tcase_add_test(tc, any_identification);
	tcase_add_test(tc, any_at_every_length);
	tcase_add_test(tc, v6_has_no_identification);
	tcase_add_test(tc, icrc_of_runts);
	tcase_add_test(tc, grh_v4);
	tcase_add_test(tc, grh_v6);
	tcase_add_test(tc, train_of_equals);
	tcase_add_test(tc, train_gets_icrcs);
	tcase_add_test(tc, train_limits);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
