/* SPDX-License-Identifier: MIT */
/* A RoCEv2 transport packet (BTH to pad, before the ICRC): bytes on one side, one host-order
 * struct on the other.
 *
 * IP | UDP | BTH | XRCETH | DETH | FETH | RETH or AtomicETH | AETH | AtomicAckETH | ImmDt or IETH |
 *          |<------------------------- wire_parse, wire_emit_headers -------------------------->|
 *   then payload, pad, ICRC
 *
 * IBTA vol. 1: BTH 9.2, extended headers 9.3, payload and pad 9.4, checks before the lookup of a
 * queue pair 9.6.1.1. Parsing reads nothing beyond the given length, allocates nothing, and writes
 * *ret only for a well-formed packet. Emitting a parsed packet gives the same bytes, except
 * reserved fields (sent as 0, ignored on arrival).
 *
 * The headers of tag matching and the numbers in network byte order, from which all of these are
 * made, are at the end. */
#ifndef RXE_WIRE_PACKET_H
#define RXE_WIRE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_UDP_PORT	   4791
#define BTH_LEN		   12u
#define FETH_LEN	   4u
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
/* WIRE_RAW: an Ethernet header with a tag, and as much after it. */
#define WIRE_MAX_FRAME	(WIRE_MAX_PAYLOAD + 18u)
#define WIRE_MAX_PACKET (WIRE_MAX_HEADERS + WIRE_MAX_PAYLOAD + ICRC_LEN)
#define PSN_MASK	0xffffffu
#define QPN_MASK	0xffffffu

struct bth {
	uint8_t opcode;
	bool solicited;
	bool mig_req;
	uint8_t pad;  /* 0..3 bytes after the payload */
	uint8_t tver; /* 0 */
	uint16_t pkey;
	bool fecn, becn;
	uint32_t dest_qpn; /* 24 bits */
	bool ack_req;
	uint32_t psn; /* 24 bits */
};

/* Placement types of a FLUSH (annex A19.4.1.1): bits. */
#define FETH_GLOBAL	0x1u /* visible to all */
#define FETH_PERSISTENT 0x2u

/* Selectivity levels of a FLUSH (annex A19.4.1.2). */
#define FETH_RANGE  0u /* the bytes that the RETH names */
#define FETH_REGION 1u /* the whole region */

struct feth {
	uint8_t placement;   /* 4 bits */
	uint8_t selectivity; /* 2 bits */
};

struct reth {
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
};

/* AETH syndromes (IBTA 9.3.5.1): the low five bits are a value. */
#define AETH_ACK       0x1fu /* ACK, credits not counted */
#define AETH_RNR_NAK   0x20u /* | timer code */
#define AETH_NAK       0x60u /* | NAK code */
#define AETH_CODE_MASK 0x1fu

struct aeth {
	uint8_t syndrome;
	uint32_t msn; /* 24 bits */
};

/* CmpSwap: swap_add is the new value, compare the expected one. FetchAdd: swap_add is the
 * addend. */
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

/* shape (from wire_shape(bth.opcode)) says which members are valid. */
struct wire_packet {
	uint32_t shape;
	struct bth bth;
	uint32_t xrc_srqn;
	struct feth feth;
	struct reth reth;
	struct atomic_eth atomic;
	struct aeth aeth;
	uint64_t atomic_orig; /* AtomicAckETH */
	struct deth deth;
	uint32_t imm;		/* value of the big-endian word */
	uint32_t inv_rkey;	/* IETH */
	const uint8_t *payload; /* inside the parsed buffer, without pad */
	uint32_t payload_len;
};

enum wire_result {
	WIRE_OK,
	WIRE_RUNT,	 /* shorter than its headers and ICRC */
	WIRE_OVERSIZE,	 /* payload longer than wire_max_payload() */
	WIRE_BAD_TVER,	 /* transport version not 0 */
	WIRE_BAD_OPCODE, /* not in the standard's table */
	/* More pad than payload, or a length that is no multiple of 4. */
	WIRE_BAD_PAD,
	WIRE_BAD_SHAPE, /* payload where the operation has none */
};

/* The longest payload that packets of an opcode carry. */
uint32_t wire_max_payload(uint8_t opcode);

/* Parses len bytes, BTH to ICRC inclusive. Does not check the ICRC, nor what needs a queue pair. */
enum wire_result wire_parse(struct wire_packet *ret, const uint8_t *p, size_t len);

/* Writes BTH and extended headers of bth.opcode, which must be known; shape is ignored. Returns
 * their length (at most WIRE_MAX_HEADERS). The caller adds payload, pad (zeros) and ICRC. */
size_t wire_emit_headers(uint8_t *p, const struct wire_packet *packet);

/* Bytes of BTH and extended headers (at most WIRE_MAX_HEADERS); 0: unknown opcode. */
uint32_t wire_header_len(uint8_t opcode);

/* Single headers, unchecked. Each parse reads, and each emit writes, exactly the header's
 * length. */
void bth_parse(struct bth *ret, const uint8_t p[static BTH_LEN]);
void bth_emit(uint8_t p[static BTH_LEN], const struct bth *bth);
void aeth_parse(struct aeth *ret, const uint8_t p[static AETH_LEN]);
void deth_parse(struct deth *ret, const uint8_t p[static DETH_LEN]);

/* PSN arithmetic modulo 2^24 (IBTA 9.7.1): a - b as a signed 24-bit number. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/* Tag matching: the first bytes of a SEND to a tag-matching SRQ (struct ibv_tmh and ibv_rvh in
 * infiniband/tm_types.h). */
#define TMH_LEN 16u
#define RVH_LEN 16u

/* Values of enum ibv_tmh_op. */
enum tmh_op {
	TMH_NO_TAG,
	TMH_RNDV,
	TMH_FIN,
	TMH_EAGER,
};

struct tmh {
	uint8_t op;
	uint32_t app_ctx; /* the sender's, not interpreted */
	uint64_t tag;
};

/* Rendezvous: where the message is. */
struct rvh {
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
};

void tmh_parse(struct tmh *ret, const uint8_t p[static TMH_LEN]);
void tmh_emit(uint8_t p[static TMH_LEN], const struct tmh *tmh);
void rvh_parse(struct rvh *ret, const uint8_t p[static RVH_LEN]);
void rvh_emit(uint8_t p[static RVH_LEN], const struct rvh *rvh);

/* Numbers in network byte order. */
static inline uint16_t get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | get_be24(p + 1);
}

static inline uint64_t get_be64(const uint8_t *p)
{
	return (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
}

static inline void put_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline void put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	put_be24(p + 1, v);
}

static inline void put_be64(uint8_t *p, uint64_t v)
{
	put_be32(p, (uint32_t)(v >> 32));
	put_be32(p + 4, (uint32_t)v);
}

#endif
