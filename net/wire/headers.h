/* SPDX-License-Identifier: MIT */
/* The transport headers: big-endian bytes <-> host-order structs (IBTA vol. 1, 9.2 and 9.3).
 *
 * headers.c holds the one table of extended headers; lengths, parsing and emitting walk it by the
 * bits of a shape (opcode.h). Nothing is checked here: wire_parse() in packet.h checks first. */
#ifndef RXE_WIRE_HEADERS_H
#define RXE_WIRE_HEADERS_H

#include <stdint.h>

#include "net/wire/packet.h"

/* Each parse reads, and each emit writes, exactly the header's length. */
void bth_parse(struct bth *ret, const uint8_t p[static BTH_LEN]);
void bth_emit(uint8_t p[static BTH_LEN], const struct bth *bth);
void aeth_parse(struct aeth *ret, const uint8_t p[static AETH_LEN]);
void deth_parse(struct deth *ret, const uint8_t p[static DETH_LEN]);

/* Bytes of the BTH and the extended headers of a shape. */
uint32_t headers_len(uint32_t shape);
/* Parses the extended headers of a shape at p, the byte behind the BTH. Returns the byte behind
 * the last header. */
const uint8_t *headers_parse(struct wire_packet *ret, const uint8_t *p, uint32_t shape);
/* Writes the extended headers of a shape to p, the byte behind the BTH. Returns the byte behind
 * the last header. */
uint8_t *headers_emit(uint8_t *p, const struct wire_packet *packet, uint32_t shape);

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
