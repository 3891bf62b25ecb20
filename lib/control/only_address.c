// SPDX-License-Identifier: MIT
/* Reads the interfaces of this network namespace. */
#include "lib/control/only_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#define IS_USED (IFF_UP | IFF_RUNNING)

/* False: no address of IP, or a link-local one. */
static bool read_address(struct gid *ret, const struct sockaddr *addr)
{
	struct gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (addr && addr->sa_family == AF_INET) {
		memcpy(&v4, addr, sizeof(v4));
		memcpy(gid.raw + 12, &v4.sin_addr, 4);
		if (gid.raw[12] == 169 && gid.raw[13] == 254)
			return false;
	} else if (addr && addr->sa_family == AF_INET6) {
		memcpy(&v6, addr, sizeof(v6));
		if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr))
			return false;
		memcpy(gid.raw, &v6.sin6_addr, 16);
	} else {
		return false;
	}
	*ret = gid;
	return true;
}

bool ctl_only_address(struct gid *ret)
{
	const char *interface = NULL;
	struct ifaddrs *list, *at;
	bool is_found = false;
	struct gid gid;

	if (getifaddrs(&list))
		return false;
	for (at = list; at; at = at->ifa_next) {
		if ((at->ifa_flags & IS_USED) != IS_USED || at->ifa_flags & IFF_LOOPBACK ||
		    !read_address(&gid, at->ifa_addr))
			continue;
		if (interface && strcmp(interface, at->ifa_name) != 0)
			break;
		interface = at->ifa_name;
		if (!is_found || (gid_is_v4(&gid) && !gid_is_v4(ret)))
			*ret = gid;
		is_found = true;
	}
	is_found &= at == NULL;
	freeifaddrs(list);
	return is_found;
}
