// SPDX-License-Identifier: MIT
/* The I/O map, the addresses and the headers of datagrams. */
#include "lib/rdmacm/rsocket/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define MAPPED_AT 12 /* in an IPv6 address: the bytes of IPv4 */
#define TAG	  0x55555555u
#define QPN_MASK  0xffffffu

struct rs_sge rs_iomap_find(const struct rs_iomap_entry *map, uint32_t n, uint64_t offset)
{
	struct rs_iomap_entry entry;
	uint32_t i, length;

	for (i = 0; i < n; i++) {
		/* The peer's WRITE stores the length last: read once, and before the rest. */
		length = __atomic_load_n(&map[i].sge.length, __ATOMIC_ACQUIRE);
		entry = map[i];
		if (offset < entry.offset || offset - entry.offset >= length)
			continue;
		entry.sge.addr += offset - entry.offset;
		entry.sge.length = length - (uint32_t)(offset - entry.offset);
		return entry.sge;
	}
	return (struct rs_sge){ 0 };
}

static const uint8_t mapped_prefix[MAPPED_AT] = { [10] = 0xff, [11] = 0xff };

struct rs_address rs_address_make(int family, const void *ip, uint16_t port)
{
	struct rs_address address = { .family = (uint16_t)family, .port = port };

	if (family == AF_INET6 && memcmp(ip, mapped_prefix, MAPPED_AT)) {
		memcpy(address.ip, ip, sizeof(struct in6_addr));
		return address;
	}
	address.family = AF_INET;
	memcpy(address.ip, (const uint8_t *)ip + (family == AF_INET6 ? MAPPED_AT : 0),
	       sizeof(struct in_addr));
	return address;
}

int rs_address_parse(struct rs_address *ret, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (!addr || len < sizeof(addr->sa_family))
		return EINVAL;
	if (addr->sa_family == AF_INET && len >= sizeof(in)) {
		memcpy(&in, addr, sizeof(in));
		*ret = rs_address_make(AF_INET, &in.sin_addr, in.sin_port);
		return 0;
	}
	if (addr->sa_family != AF_INET6 || len < sizeof(in6))
		return addr->sa_family == AF_INET || addr->sa_family == AF_INET6 ? EINVAL
										 : EAFNOSUPPORT;
	memcpy(&in6, addr, sizeof(in6));
	*ret = rs_address_make(AF_INET6, &in6.sin6_addr, in6.sin6_port);
	if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
		ret->scope_id = in6.sin6_scope_id;
	return 0;
}

static struct sockaddr_in6 to_ipv6(const struct rs_address *address)
{
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = address->port,
		.sin6_scope_id = address->scope_id,
	};

	if (address->family == AF_INET6) {
		memcpy(&in6.sin6_addr, address->ip, sizeof(in6.sin6_addr));
	} else if (!rs_address_is_any(address)) {
		memcpy(&in6.sin6_addr, mapped_prefix, MAPPED_AT);
		memcpy(in6.sin6_addr.s6_addr + MAPPED_AT, address->ip, sizeof(struct in_addr));
	}
	return in6;
}

socklen_t rs_address_emit(struct sockaddr_storage *ret, const struct rs_address *address,
			  int domain)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = address->port };
	struct sockaddr_in6 in6;

	*ret = (struct sockaddr_storage){ 0 };
	if (domain == AF_INET6) {
		in6 = to_ipv6(address);
		memcpy(ret, &in6, sizeof(in6));
		return sizeof(in6);
	}
	memcpy(&in.sin_addr, address->ip, sizeof(in.sin_addr));
	memcpy(ret, &in, sizeof(in));
	return sizeof(in);
}

bool rs_address_is_any(const struct rs_address *address)
{
	static const uint8_t none[sizeof(address->ip)];

	return !memcmp(address->ip, none, sizeof(none));
}

bool rs_address_is_equal(const struct rs_address *a, const struct rs_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* By version. */
struct layout {
	int family;
	uint32_t ip_len, ud_len, udp_len;
};

static const struct layout ipv4 = { AF_INET, 4, 8, 16 };
static const struct layout ipv6 = { AF_INET6, 16, RS_UD_HEADER_MAX, RS_UDP_HEADER_MAX };

/* NULL: no such version. */
static const struct layout *find(uint8_t version)
{
	if (version == 4)
		return &ipv4;
	return version == 6 ? &ipv6 : NULL;
}

static uint8_t version_of(const struct rs_address *address)
{
	return address->family == AF_INET6 ? 6 : 4;
}

/* The address ends the header. */
static void emit_ip(uint8_t *to, uint32_t header_len, const struct rs_address *address)
{
	uint32_t ip_len = find(version_of(address))->ip_len;

	memcpy(to + header_len - ip_len, address->ip, ip_len);
}

uint32_t rs_ud_header_emit(uint8_t to[RS_UD_HEADER_MAX], const struct rs_address *from)
{
	uint32_t len = find(version_of(from))->ud_len;

	memset(to, 0, RS_UD_HEADER_MAX);
	to[0] = version_of(from);
	to[1] = (uint8_t)len;
	memcpy(to + 2, &from->port, sizeof(from->port));
	emit_ip(to, len, from);
	return len;
}

uint32_t rs_ud_header_parse(struct rs_address *ret, const uint8_t *bytes, uint32_t len)
{
	const struct layout *layout = len >= ipv4.ud_len ? find(bytes[0]) : NULL;
	uint16_t port;

	if (!layout || len < layout->ud_len || bytes[1] != layout->ud_len)
		return 0;
	memcpy(&port, bytes + 2, sizeof(port));
	*ret = rs_address_make(layout->family, bytes + layout->ud_len - layout->ip_len, port);
	return layout->ud_len;
}

uint32_t rs_udp_header_emit(uint8_t to[RS_UDP_HEADER_MAX], const struct rs_udp_header *header)
{
	uint32_t tag = htonl(TAG), qpn = htonl(header->qpn & QPN_MASK);
	uint32_t len = find(version_of(&header->from))->udp_len;

	memset(to, 0, RS_UDP_HEADER_MAX);
	memcpy(to, &tag, sizeof(tag));
	to[4] = version_of(&header->from);
	to[5] = header->op;
	to[6] = (uint8_t)len;
	memcpy(to + 8, &qpn, sizeof(qpn));
	emit_ip(to, len, &header->from);
	return len;
}

uint32_t rs_udp_header_parse(struct rs_udp_header *ret, const uint8_t *bytes, uint32_t len)
{
	const struct layout *layout = len >= ipv4.udp_len ? find(bytes[4]) : NULL;
	uint32_t tag, qpn;

	if (!layout || len < layout->udp_len || bytes[6] != layout->udp_len)
		return 0;
	memcpy(&tag, bytes, sizeof(tag));
	memcpy(&qpn, bytes + 8, sizeof(qpn));
	if (tag != htonl(TAG))
		return 0;
	ret->op = bytes[5];
	ret->qpn = ntohl(qpn) & QPN_MASK;
	ret->from = rs_address_make(layout->family, bytes + layout->udp_len - layout->ip_len, 0);
	return layout->udp_len;
}
