// SPDX-License-Identifier: MIT
/* GIDs as socket addresses: an IPv4-mapped GID is AF_INET, any other AF_INET6. The scope of a
 * link-local address is the interface that has the link's own address. */
#include "net/link/udp/address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

socklen_t udp_addr_set(union udp_addr *ret, const struct gid *gid, uint16_t port, uint32_t scope)
{
	memset(ret, 0, sizeof(*ret));
	if (gid_is_v4(gid)) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_port = htons(port);
		memcpy(&ret->in.sin_addr, gid->raw + 12, 4);
		return sizeof(ret->in);
	}

	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_port = htons(port);
	memcpy(&ret->in6.sin6_addr, gid->raw, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&ret->in6.sin6_addr) || gid_is_multicast(gid))
		ret->in6.sin6_scope_id = scope;
	return sizeof(ret->in6);
}

void udp_addr_gid(struct gid *ret, const union udp_addr *addr)
{
	if (addr->sa.sa_family == AF_INET) {
		gid_set_v4(ret, &addr->in.sin_addr);
		return;
	}
	memcpy(ret->raw, &addr->in6.sin6_addr, 16);
}

uint16_t udp_addr_port(const union udp_addr *addr)
{
	return ntohs(addr->sa.sa_family == AF_INET ? addr->in.sin_port : addr->in6.sin6_port);
}

bool udp_addr_is_loopback(const struct gid *gid)
{
	struct in6_addr a;

	if (gid_is_v4(gid))
		return gid->raw[12] == 127;
	memcpy(&a, gid->raw, sizeof(a));
	return IN6_IS_ADDR_LOOPBACK(&a);
}

uint32_t udp_addr_ifindex(const struct gid *gid)
{
	const int family = udp_addr_family(gid);
	uint32_t index = 0;
	struct ifaddrs *list;

	if (udp_addr_is_loopback(gid))
		return if_nametoindex("lo");
	if (getifaddrs(&list) != 0)
		return 0;
	for (const struct ifaddrs *i = list; i && !index; i = i->ifa_next) {
		union udp_addr addr;
		struct gid has;

		if (!i->ifa_addr || i->ifa_addr->sa_family != family)
			continue;
		memcpy(&addr, i->ifa_addr, family == AF_INET ? sizeof(addr.in) : sizeof(addr.in6));
		udp_addr_gid(&has, &addr);
		if (gid_equal(&has, gid))
			index = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(list);
	return index;
}

uint32_t udp_addr_if_mtu(uint32_t ifindex)
{
	struct ifreq req = { 0 };
	int fd, rc;

	if (!if_indextoname(ifindex, req.ifr_name))
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	rc = ioctl(fd, SIOCGIFMTU, &req);
	(void)close(fd);
	return rc == 0 && req.ifr_mtu > 0 ? (uint32_t)req.ifr_mtu : 0;
}

bool udp_addr_if_mac(uint8_t ret[static 6], const char *ifname)
{
	struct ifreq req = { 0 };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return false;
	memcpy(req.ifr_name, ifname, strnlen(ifname, sizeof(req.ifr_name) - 1));
	rc = ioctl(fd, SIOCGIFHWADDR, &req);
	(void)close(fd);
	if (rc != 0 || req.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return false;
	memcpy(ret, req.ifr_hwaddr.sa_data, 6);
	return true;
}
