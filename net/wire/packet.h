/* SPDX-License-Identifier: MIT */
/* A RoCEv2 transport packet (BTH to pad; the ICRC follows it): bytes on one side, one host-order struct on the other.
 *
 *   | IP | UDP | BTH | XRCETH | DETH | RETH or AtomicETH | AETH | AtomicAckETH | ImmDt or IETH | payload | pad | ICRC |
 *              |<------------------------ wire_parse, wire_emit_headers ----------------------->|
 *
 * IBTA vol. 1: BTH 9.2, extended headers 9.3, payload and pad 9.4, what a port checks before it looks for a queue pair 9.6.1.1.
 * Parsing reads nothing beyond the length it is given, allocates nothing, and leaves *ret alone unless the packet is sound;
 * emitting what was parsed gives the same bytes, reserved fields (sent as 0, ignored on arrival) apart. */
#ifndef RXE_WIRE_PACKET_H
#define RXE_WIRE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_UDP_PORT	   4791
#define BTH_LEN		   12u
#define RETH_LEN	   16u
#define AETH_LEN	   4u
#define ATOMIC_ETH_LEN	   28u
#define ATOMIC_ACK_ETH_LEN 8u
#define DETH_LEN	   8u
#define IMM_LEN		   4u
#define IETH_LEN	   4u
#define XRCETH_LEN	   4u
#define CNP_LEN		   16u
#define ICRC_LEN	   4u
#define WIRE_MAX_HEADERS   (BTH_LEN + XRCETH_LEN + ATOMIC_ETH_LEN)
#define WIRE_MAX_PAYLOAD   4096u /* the largest path MTU */
#define WIRE_MAX_PACKET	   (WIRE_MAX_HEADERS + WIRE_MAX_PAYLOAD + ICRC_LEN)
#define PSN_MASK	   0xffffffu
#define QPN_MASK	   0xffffffu

struct bth {
	uint8_t opcode;
	bool solicited;
	bool mig_req;
	uint8_t pad;  /* 0..3 bytes behind the payload */
	uint8_t tver; /* 0 */
	uint16_t pkey;
	bool fecn, becn;
	uint32_t dest_qpn; /* 24 bits */
	bool ack_req;
	uint32_t psn; /* 24 bits */
};

struct reth {
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
};

struct aeth {
	uint8_t syndrome;
	uint32_t msn; /* 24 bits */
};

/* CmpSwap: swap_add is the new value, compare what must be there. FetchAdd: swap_add is the addend. */
struct atomic_eth {
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
};

struct deth {
	uint32_t qkey;
	uint32_t src_qpn;
};

/* Which members mean something is told by shape (wire_shape(bth.opcode)). */
struct wire_packet {
	uint32_t shape;
	struct bth bth;
	uint32_t xrc_srqn;
	struct reth reth;
	struct atomic_eth atomic;
	struct aeth aeth;
	uint64_t atomic_orig; /* AtomicAckETH */
	struct deth deth;
	uint32_t imm;		/* host order of the big-endian word on the wire */
	uint32_t inv_rkey;	/* IETH */
	const uint8_t *payload; /* inside the parsed buffer, pad not counted */
	uint32_t payload_len;
};

enum wire_result {
	WIRE_OK,
	WIRE_RUNT,	 /* shorter than its headers and ICRC */
	WIRE_OVERSIZE,	 /* payload longer than 4096 bytes */
	WIRE_BAD_TVER,	 /* transport version not 0 */
	WIRE_BAD_OPCODE, /* not in the standard's table */
	WIRE_BAD_PAD,	 /* more pad than payload, or a length that is no multiple of 4 */
	WIRE_BAD_SHAPE,	 /* payload where the operation has none, or the like */
};

/* Parse len bytes, BTH to ICRC inclusive. Does not check the ICRC, nor anything that needs a queue pair. */
enum wire_result wire_parse(struct wire_packet *ret, const uint8_t *p, size_t len);

/* Write BTH and extended headers as bth.opcode demands (shape is not looked at); returns their length (at most
 * WIRE_MAX_HEADERS). The opcode is known. The caller puts payload, pad (zeros) and ICRC behind. */
size_t wire_emit_headers(uint8_t *p, const struct wire_packet *packet);

/* PSN arithmetic modulo 2^24 (IBTA 9.7.1): a - b as a signed 24-bit number. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

#endif
