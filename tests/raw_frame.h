/* SPDX-License-Identifier: MIT */
/* Builds Ethernet frames header by header, from the outside in. */
#ifndef RXE_TEST_RAW_FRAME_H
#define RXE_TEST_RAW_FRAME_H

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#define RAW_BUILD_MAX 2048u

struct raw_build {
	uint8_t p[RAW_BUILD_MAX];
	uint32_t len;
};

static inline uint8_t *raw_build_add(struct raw_build *b, uint32_t n)
{
	uint8_t *at = b->p + b->len;

	memset(at, 0, n);
	b->len += n;
	return at;
}

static inline void raw_build_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Addresses 02:00:00:00:00:NN. */
static inline void raw_build_eth(struct raw_build *b, uint8_t dst, uint8_t src, uint32_t type)
{
	uint8_t *p = raw_build_add(b, 14);

	p[0] = p[6] = 2;
	p[5] = dst;
	p[11] = src;
	raw_build_put16(p + 12, type);
}

/* Puts a tag after the Ethernet addresses. */
static inline void raw_build_tag(struct raw_build *b, uint32_t tag)
{
	memmove(b->p + 16, b->p + 12, b->len - 12);
	raw_build_put16(b->p + 12, 0x8100);
	raw_build_put16(b->p + 14, tag);
	b->len += 4;
}

/* len: bytes that follow the header. */
static inline void raw_build_ipv4(struct raw_build *b, const char *src, const char *dst,
				  uint8_t proto, uint32_t len)
{
	uint8_t *p = raw_build_add(b, 20);
	uint32_t sum = 0;

	p[0] = 0x45;
	raw_build_put16(p + 2, 20 + len);
	p[6] = 0x40;
	p[8] = 64;
	p[9] = proto;
	inet_pton(AF_INET, src, p + 12);
	inet_pton(AF_INET, dst, p + 16);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	raw_build_put16(p + 10, ~sum);
}

static inline void raw_build_ipv6(struct raw_build *b, const char *src, const char *dst,
				  uint8_t next, uint32_t len)
{
	uint8_t *p = raw_build_add(b, 40);

	p[0] = 0x60;
	raw_build_put16(p + 4, len);
	p[6] = next;
	p[7] = 64;
	inet_pton(AF_INET6, src, p + 8);
	inet_pton(AF_INET6, dst, p + 24);
}

/* Without a checksum. len: bytes that follow the header. */
static inline void raw_build_udp(struct raw_build *b, uint16_t src, uint16_t dst, uint32_t len)
{
	uint8_t *p = raw_build_add(b, 8);

	raw_build_put16(p, src);
	raw_build_put16(p + 2, dst);
	raw_build_put16(p + 4, 8 + len);
}

/* Without a checksum. */
static inline void raw_build_tcp(struct raw_build *b, uint16_t src, uint16_t dst)
{
	uint8_t *p = raw_build_add(b, 20);

	raw_build_put16(p, src);
	raw_build_put16(p + 2, dst);
	p[12] = 5 << 4;
}

/* len bytes that count up from first. */
static inline void raw_build_bytes(struct raw_build *b, uint8_t first, uint32_t len)
{
	uint8_t *p = raw_build_add(b, len);

	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(first + i);
}

/* An IPv4 UDP datagram from 10.0.0.1 to 10.0.0.2. */
static inline struct raw_build raw_build_datagram(uint16_t src_port, uint16_t dst_port,
						  uint32_t len)
{
	struct raw_build b = { .len = 0 };

	raw_build_eth(&b, 2, 1, 0x0800);
	raw_build_ipv4(&b, "10.0.0.1", "10.0.0.2", 17, 8 + len);
	raw_build_udp(&b, src_port, dst_port, len);
	raw_build_bytes(&b, 0, len);
	return b;
}

#endif
