/* SPDX-License-Identifier: MIT */
/* The transport headers one by one: big-endian bytes <-> host-order structs (IBTA vol. 1, 9.2 and 9.3). */
#include "net/wire/headers.h"

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

void reth_parse(struct reth *ret, const uint8_t p[static RETH_LEN])
{
	ret->va = get_be64(p);
	ret->rkey = get_be32(p + 8);
	ret->len = get_be32(p + 12);
}

void reth_emit(uint8_t p[static RETH_LEN], const struct reth *reth)
{
	put_be64(p, reth->va);
	put_be32(p + 8, reth->rkey);
	put_be32(p + 12, reth->len);
}

void aeth_parse(struct aeth *ret, const uint8_t p[static AETH_LEN])
{
	ret->syndrome = p[0];
	ret->msn = get_be24(p + 1);
}

void aeth_emit(uint8_t p[static AETH_LEN], const struct aeth *aeth)
{
	p[0] = aeth->syndrome;
	put_be24(p + 1, aeth->msn);
}

void atomic_eth_parse(struct atomic_eth *ret, const uint8_t p[static ATOMIC_ETH_LEN])
{
	ret->va = get_be64(p);
	ret->rkey = get_be32(p + 8);
	ret->swap_add = get_be64(p + 12);
	ret->compare = get_be64(p + 20);
}

void atomic_eth_emit(uint8_t p[static ATOMIC_ETH_LEN], const struct atomic_eth *atomic)
{
	put_be64(p, atomic->va);
	put_be32(p + 8, atomic->rkey);
	put_be64(p + 12, atomic->swap_add);
	put_be64(p + 20, atomic->compare);
}

void deth_parse(struct deth *ret, const uint8_t p[static DETH_LEN])
{
	ret->qkey = get_be32(p);
	ret->src_qpn = get_be24(p + 5);
}

void deth_emit(uint8_t p[static DETH_LEN], const struct deth *deth)
{
	put_be32(p, deth->qkey);
	p[4] = 0;
	put_be24(p + 5, deth->src_qpn);
}
