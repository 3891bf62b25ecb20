// SPDX-License-Identifier: MIT
/* Addresses of datagram rsockets. */
#include "lib/rdmacm/rsocket/datagram_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define MAPPED_AT 12 /* in an IPv6 address: the bytes of IPv4 */

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
