// SPDX-License-Identifier: MIT
/* Parses CREATE_MKEY: the key's context starts at bit 0x80, the umem's fields follow it. */
#include "lib/mlx5/prm.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "lib/refusal/refusal.h"

#define ACCESS_MODE_MTT 1u
#define ANY_QP		0xffffffu

enum field {
	UMEM_VALID = 0x61,
	MKC = 0x80,
	MKC_FREE = MKC + 0x01,
	MKC_ACCESS_MODE_4_2 = MKC + 0x03,
	MKC_OTHER_VHCA = MKC + 0x06, /* 2 bits */
	MKC_RELAXED_WRITE = MKC + 0x0d,
	MKC_UMR_EN = MKC + 0x10,
	MKC_ATOMIC = MKC + 0x11,
	MKC_REMOTE_WRITE = MKC + 0x12,
	MKC_REMOTE_READ = MKC + 0x13,
	MKC_LOCAL_WRITE = MKC + 0x14,
	MKC_ACCESS_MODE_1_0 = MKC + 0x16,
	MKC_QPN = MKC + 0x20,
	MKC_LOW = MKC + 0x38,
	MKC_LENGTH64 = MKC + 0x60,
	MKC_BSF_EN = MKC + 0x61,
	MKC_PD = MKC + 0x68,
	MKC_START_ADDR = MKC + 0x80,
	MKC_LEN = MKC + 0xc0,
	MKC_RELAXED_READ = MKC + 0x1d9,
	MKC_CRYPTO_EN = MKC + 0x1e3, /* 2 bits */
	UMEM_ID = 0x320,
	UMEM_OFFSET = 0x340,
};

/* A field does not cross a word. */
static uint32_t get(const void *in, enum field at, unsigned int bits)
{
	const uint8_t *p = (const uint8_t *)in + at / 32 * 4;
	uint32_t word = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];

	return (uint32_t)((uint64_t)word << (at % 32) & 0xffffffffu) >> (32 - bits);
}

static uint64_t get64(const void *in, enum field at)
{
	return (uint64_t)get(in, at, 32) << 32 | get(in, at + 32, 32);
}

uint16_t prm_opcode(const void *in)
{
	const uint8_t *p = in;

	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t rights_of(const void *in)
{
	static const struct {
		enum field field;
		uint32_t right;
	} rights[] = {
		{ MKC_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC },
		{ MKC_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ MKC_REMOTE_READ, IBV_ACCESS_REMOTE_READ },
		{ MKC_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE },
		{ MKC_RELAXED_WRITE, IBV_ACCESS_RELAXED_ORDERING },
		{ MKC_RELAXED_READ, IBV_ACCESS_RELAXED_ORDERING },
	};
	uint32_t ret = 0;

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		ret |= get(in, rights[i].field, 1) ? rights[i].right : 0;
	return ret;
}

int prm_parse_create_mkey(struct vb_mkey_want *ret, const void *in, size_t len)
{
	if (len < PRM_CREATE_MKEY_IN)
		return refuse(WHY_PRM_SHORT, "in", len);
	/* Only a plain translation of a umem for all queue pairs: no UMR, no other VHCA. */
	if (!get(in, UMEM_VALID, 1) || get(in, MKC_FREE, 1) || get(in, MKC_ACCESS_MODE_4_2, 3) ||
	    get(in, MKC_ACCESS_MODE_1_0, 2) != ACCESS_MODE_MTT || get(in, MKC_OTHER_VHCA, 2) ||
	    get(in, MKC_UMR_EN, 1) || get(in, MKC_QPN, 24) != ANY_QP || get(in, MKC_LENGTH64, 1) ||
	    get(in, MKC_BSF_EN, 1) || get(in, MKC_CRYPTO_EN, 2))
		return refuse(WHY_PRM_MKEY);
	*ret = (struct vb_mkey_want){
		.pdn = get(in, MKC_PD, 24),
		.umem_id = get(in, UMEM_ID, 32),
		.offset = get64(in, UMEM_OFFSET),
		.iova = get64(in, MKC_START_ADDR),
		.len = get64(in, MKC_LEN),
		.rights = rights_of(in),
		.low = (uint8_t)get(in, MKC_LOW, 8),
	};
	return 0;
}

void prm_emit_create_mkey(void *out, size_t len, uint32_t key)
{
	uint8_t *p = out;

	memset(out, 0, len);
	p[9] = (uint8_t)(key >> 24);
	p[10] = (uint8_t)(key >> 16);
	p[11] = (uint8_t)(key >> 8);
}

void prm_emit_status(void *out, size_t len, uint8_t status)
{
	if (!out || len == 0)
		return;
	memset(out, 0, len);
	*(uint8_t *)out = status;
}
