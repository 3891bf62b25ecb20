// SPDX-License-Identifier: MIT
/* Endpoints: addresses and ports of IPv4 and IPv6 in one form. */
#include "rxe_dm/cma/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static const struct gid any_v4 = { .raw = { [10] = 0xff, [11] = 0xff } };

static bool is_link_local(const struct gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

int endpoint_parse(struct endpoint *ret, const union ctl_cm_sockaddr *addr)
{
	struct endpoint endpoint = { .family = addr->any.sa_family };

	switch (addr->any.sa_family) {
	case AF_INET:
		endpoint.port = ntohs(addr->in.sin_port);
		gid_set_v4(&endpoint.address, &addr->in.sin_addr);
		break;
	case AF_INET6:
		endpoint.port = ntohs(addr->in6.sin6_port);
		endpoint.scope_id = addr->in6.sin6_scope_id;
		memcpy(endpoint.address.raw, &addr->in6.sin6_addr, sizeof(addr->in6.sin6_addr));
		if (is_link_local(&endpoint.address) && !endpoint.scope_id)
			return -EINVAL;
		break;
	default: return -EAFNOSUPPORT;
	}
	*ret = endpoint;
	return 0;
}

void endpoint_emit(union ctl_cm_sockaddr *ret, const struct endpoint *endpoint)
{
	memset(ret, 0, sizeof(*ret));
	ret->any.sa_family = endpoint->family;
	if (endpoint->family == AF_INET) {
		ret->in.sin_port = htons(endpoint->port);
		memcpy(&ret->in.sin_addr, endpoint->address.raw + 12, sizeof(ret->in.sin_addr));
	} else if (endpoint->family == AF_INET6) {
		ret->in6.sin6_port = htons(endpoint->port);
		ret->in6.sin6_scope_id = endpoint->scope_id;
		memcpy(&ret->in6.sin6_addr, endpoint->address.raw, sizeof(ret->in6.sin6_addr));
	}
}

struct endpoint endpoint_any(sa_family_t family)
{
	struct endpoint ret = { .family = family };

	if (family == AF_INET)
		ret.address = any_v4;
	return ret;
}

bool gid_is_loopback(const struct gid *gid)
{
	static const struct gid loopback_v6 = { .raw = { [15] = 1 } };

	return gid_is_v4(gid) ? gid->raw[12] == 127 : gid_equal(gid, &loopback_v6);
}

bool endpoint_is_any(const struct endpoint *endpoint)
{
	const struct endpoint any = endpoint_any(endpoint->family);

	return gid_equal(&endpoint->address, &any.address);
}
