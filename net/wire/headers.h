/* SPDX-License-Identifier: MIT */
/* The transport headers one by one: big-endian bytes <-> host-order structs (IBTA vol. 1, 9.2 and 9.3). */
#ifndef RXE_WIRE_HEADERS_H
#define RXE_WIRE_HEADERS_H

#include <stdint.h>

#include "net/wire/packet.h"

/* Each parse reads, and each emit writes, exactly the header's length. Nothing is checked here but by wire_parse. */
void bth_parse(struct bth *ret, const uint8_t p[static BTH_LEN]);
void bth_emit(uint8_t p[static BTH_LEN], const struct bth *bth);
void reth_parse(struct reth *ret, const uint8_t p[static RETH_LEN]);
void reth_emit(uint8_t p[static RETH_LEN], const struct reth *reth);
void aeth_parse(struct aeth *ret, const uint8_t p[static AETH_LEN]);
void aeth_emit(uint8_t p[static AETH_LEN], const struct aeth *aeth);
void atomic_eth_parse(struct atomic_eth *ret, const uint8_t p[static ATOMIC_ETH_LEN]);
void atomic_eth_emit(uint8_t p[static ATOMIC_ETH_LEN], const struct atomic_eth *atomic);
void deth_parse(struct deth *ret, const uint8_t p[static DETH_LEN]);
void deth_emit(uint8_t p[static DETH_LEN], const struct deth *deth);

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
