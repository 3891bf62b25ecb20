/* SPDX-License-Identifier: MIT */
/* The invariant CRC (IBTA annex A17.3.3): CRC-32 over eight bytes of ones, IP, UDP, BTH and the
 * rest; fields that routers may change count as ones.
 *
 * A CRC is linear: packets that differ only in the IPv4 identification have CRCs that differ by a
 * linear map of the difference, which depends only on the number of bytes after it. So whether
 * *some* identification explains a CRC is a small system of equations, not a search. */
#include "net/wire/icrc.h"

#include <libdeflate.h>
#include <string.h>

#include "net/wire/packet.h"

#define PSEUDO_V4    (8u + 20u + 8u + BTH_LEN)
#define PSEUDO_V6    (8u + 40u + 8u + BTH_LEN)
#define V4_ID_OFFSET (8u + 4u)
/* A packet with no more bytes after its BTH is copied after its pseudo header: one call of the CRC
 * library in place of two takes 20 ns less. */
#define SHORT_REST 192u

static size_t put_v4(uint8_t *p, const struct icrc_flow *flow, uint16_t ip_id, uint32_t udp_len)
{
	p[0] = 0x45;
	p[1] = 0xff; /* TOS */
	put_be16(p + 2, (uint16_t)(udp_len + 20));
	put_be16(p + 4, ip_id);
	put_be16(p + 6, 0x4000); /* DF */
	p[8] = 0xff;		 /* TTL */
	p[9] = 17;
	put_be16(p + 10, 0xffff); /* checksum */
	memcpy(p + 12, flow->src.raw + 12, 4);
	memcpy(p + 16, flow->dst.raw + 12, 4);
	return 20;
}

static size_t put_v6(uint8_t *p, const struct icrc_flow *flow, uint32_t udp_len)
{
	put_be32(p, 0x6fffffff); /* class and flow label */
	put_be16(p + 4, (uint16_t)udp_len);
	p[6] = 17;
	p[7] = 0xff; /* hop limit */
	memcpy(p + 8, flow->src.raw, 16);
	memcpy(p + 24, flow->dst.raw, 16);
	return 40;
}

/* len: BTH to pad. */
uint32_t icrc_compute(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p, size_t len)
{
	const size_t rest = len - BTH_LEN;
	uint8_t pseudo[PSEUDO_V6 + SHORT_REST];
	uint32_t udp_len = (uint32_t)len + ICRC_LEN + 8;
	size_t n = 8;

	memset(pseudo, 0xff, 8);
	if (gid_is_v4(&flow->dst))
		n += put_v4(pseudo + n, flow, ip_id, udp_len);
	else
		n += put_v6(pseudo + n, flow, udp_len);
	put_be16(pseudo + n, flow->src_port);
	put_be16(pseudo + n + 2, ROCE_UDP_PORT);
	put_be16(pseudo + n + 4, (uint16_t)udp_len);
	put_be16(pseudo + n + 6, 0xffff);
	memcpy(pseudo + n + 8, p, BTH_LEN);
	pseudo[n + 8 + 4] = 0xff; /* resv8a, FECN and BECN */
	n += 8 + BTH_LEN;
	if (rest <= SHORT_REST) {
		memcpy(pseudo + n, p + BTH_LEN, rest);
		return libdeflate_crc32(0, pseudo, n + rest);
	}
	return libdeflate_crc32(libdeflate_crc32(0, pseudo, n), p + BTH_LEN, rest);
}

static uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* a * b modulo the CRC's polynomial, both reflected (bit 31 is x^0). */
static uint32_t crc_multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		if (a & 0x80000000u)
			product ^= b;
		b = (b >> 1) ^ (b & 1 ? 0xedb88320u : 0);
	}
	return product;
}

/* Finds the difference between the assumed identification and the one that explains this syndrome.
 * A difference d, 16 bits with bytes_behind bytes after it, adds d * x^(8 * bytes_behind + 32) to
 * the CRC. Divides by that power (the order of x is 2^32 - 1) and checks that 16 bits are left.
 * False: no identification explains it. */
static bool solve_id(uint32_t syndrome, size_t bytes_behind, uint16_t *ret)
{
	uint32_t back = 0xffffffffu - 8u * ((uint32_t)bytes_behind + 4u);
	uint32_t power = 0x40000000u;	/* x */
	uint32_t inverse = 0x80000000u; /* 1 */

	for (; back; back >>= 1) {
		if (back & 1)
			inverse = crc_multiply(power, inverse);
		power = crc_multiply(power, power);
	}
	inverse = crc_multiply(inverse, syndrome);
	if (inverse & 0xffffu)
		return false;
	/* Reflected: the first byte is the lower one. */
	*ret = (uint16_t)((inverse >> 16 & 0xff) << 8 | inverse >> 24);
	return true;
}

/* Bytes after the identification: rest of the pseudo header, transport headers, payload. */
static size_t bytes_behind_id(size_t len)
{
	return PSEUDO_V4 - V4_ID_OFFSET - 2 + len - ICRC_LEN - BTH_LEN;
}

void icrc_find_id(const struct icrc_flow *flow, uint16_t *id, const uint8_t *p, size_t len)
{
	uint16_t difference;
	uint32_t syndrome;

	if (len < BTH_LEN + ICRC_LEN || !gid_is_v4(&flow->dst))
		return;
	syndrome = icrc_compute(flow, *id, p, len - ICRC_LEN) ^ get_le32(p + len - ICRC_LEN);
	if (syndrome && solve_id(syndrome, bytes_behind_id(len), &difference))
		*id ^= difference;
}

enum icrc_result icrc_check(const struct icrc_flow *flow, enum ip_id_rule rule, uint16_t ip_id,
			    const uint8_t *p, size_t len)
{
	uint32_t stored, crc;
	uint16_t difference;

	if (len < BTH_LEN + ICRC_LEN)
		return ICRC_BAD;
	stored = get_le32(p + len - ICRC_LEN);
	crc = icrc_compute(flow, ip_id, p, len - ICRC_LEN);
	if (crc == stored)
		return ICRC_OK;
	if (rule == IP_ID_EXACT || !gid_is_v4(&flow->dst))
		return ICRC_BAD;
	if (ip_id && icrc_compute(flow, 0, p, len - ICRC_LEN) == stored)
		return ICRC_OK;
	if (rule == IP_ID_RULED || !solve_id(crc ^ stored, bytes_behind_id(len), &difference))
		return ICRC_BAD;
	if (rule == IP_ID_ANY)
		return ICRC_OK_ANY;
	return (ip_id ^ difference) < ICRC_TRAIN_IDS ? ICRC_OK : ICRC_BAD;
}
