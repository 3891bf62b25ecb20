/* SPDX-License-Identifier: MIT */
/* The two sides of a connection as programs of librdmacm name them: an IP address and a port. */
#ifndef RXE_CMA_ENDPOINT_H
#define RXE_CMA_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/control/cm_request.h"
#include "net/wire/gid.h"

struct endpoint {
	sa_family_t family; /* AF_INET, AF_INET6, or AF_UNSPEC: not set */
	uint16_t port;	    /* host order; 0: not set */
	uint32_t scope_id;  /* link-local IPv6 addresses */
	struct gid address; /* IPv4: as ::ffff:a.b.c.d */
};

/* -EAFNOSUPPORT: neither IPv4 nor IPv6 (AF_UNSPEC included); -EINVAL: a link-local address without
 * its scope. */
int endpoint_parse(struct endpoint *ret, const union ctl_cm_sockaddr *addr);
void endpoint_emit(union ctl_cm_sockaddr *ret, const struct endpoint *endpoint);
/* The wildcard address, port 0. */
struct endpoint endpoint_any(sa_family_t family);
bool endpoint_is_any(const struct endpoint *endpoint);
bool gid_is_loopback(const struct gid *gid); /* 127.0.0.0/8, ::1 */

#endif
