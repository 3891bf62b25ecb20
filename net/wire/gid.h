/* SPDX-License-Identifier: MIT */
/* A GID is the address of a RoCE port: an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d. */
#ifndef RXE_WIRE_GID_H
#define RXE_WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gid {
	uint8_t raw[16];
};

/* Whether the GID is an IPv4 address (RoCEv2 annex A17.4.5.2: ::ffff:0:0/96). */
static inline bool gid_is_v4(const struct gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* Makes the GID of an IPv4 address of four bytes in network order. */
static inline void gid_set_v4(struct gid *ret, const void *ipv4)
{
	memset(ret->raw, 0, 10);
	memset(ret->raw + 10, 0xff, 2);
	memcpy(ret->raw + 12, ipv4, 4);
}

static inline bool gid_equal(const struct gid *a, const struct gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

/* Place of a GID in a list of n; n: it is not there. */
static inline uint32_t gid_find(const struct gid *list, uint32_t n, const struct gid *gid)
{
	uint32_t i = 0;

	while (i < n && !gid_equal(&list[i], gid))
		i++;
	return i;
}

/* True: the GID of an empty table entry. */
static inline bool gid_is_zero(const struct gid *gid)
{
	static const struct gid zero;

	return gid_equal(gid, &zero);
}

/* Multicast: ff00::/8, or 224.0.0.0/4 in mapped form. */
static inline bool gid_is_multicast(const struct gid *gid)
{
	return gid_is_v4(gid) ? (gid->raw[12] & 0xf0) == 0xe0 : gid->raw[0] == 0xff;
}

#endif
