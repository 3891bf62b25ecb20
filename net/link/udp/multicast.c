// SPDX-License-Identifier: MIT
/* Multicast: a socket for each joined group, bound to the group's address, so it receives that
 * group only.
 *
 * Each process of the host that joins gets a copy, and a sender that joined receives its own
 * packets. The interface is the one that has the link's address. lo carries IPv4 groups, though it
 * lacks IFF_MULTICAST; it delivers no IPv6 groups, even with a route. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "net/link/descriptor.h"
#include "net/link/udp/private.h"
#include "net/wire/packet.h"

static struct udp_mgroup *find(struct udp_link *link, const struct gid *gid)
{
	for (uint32_t i = 0; i < link->num_mgroups; i++)
		if (gid_equal(&link->mgroup[i].gid, gid))
			return &link->mgroup[i];
	return NULL;
}

static int join(const struct udp_link *link, int fd, const struct gid *gid)
{
	union udp_addr addr;

	(void)udp_addr_set(&addr, gid, 0, link->ifindex);
	if (link->family == AF_INET) {
		const struct ip_mreqn req = { .imr_multiaddr = addr.in.sin_addr,
					      .imr_ifindex = (int)link->ifindex };

		return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &req, sizeof(req));
	}

	const struct ipv6_mreq req = { .ipv6mr_multiaddr = addr.in6.sin6_addr,
				       .ipv6mr_interface = link->ifindex };

	return setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &req, sizeof(req));
}

/* Returns a socket that receives the group and is in the epoll set, or -errno. */
static int open_group(const struct udp_link *link, const struct gid *gid)
{
	const int one = 1, fd = descriptor_keep(socket(
				   link->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)fd };
	union udp_addr addr;
	const socklen_t len = udp_addr_set(&addr, gid, ROCE_UDP_PORT, link->ifindex);
	int rc;

	if (fd < 0)
		return -errno;
	udp_set_receive_options(fd, link->family);
	udp_set_header_options(fd, link->family, true);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, &addr.sa, len) == 0 && join(link, fd, gid) == 0 &&
	    epoll_ctl(link->base.wait_fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return fd;
	rc = -errno;
	descriptor_close(fd);
	return rc;
}

int udp_join(struct link *base, const struct gid *group)
{
	struct udp_link *link = (struct udp_link *)base;
	struct udp_mgroup *has = find(link, group);
	int fd;

	if (!gid_is_multicast(group) || udp_addr_family(group) != link->family)
		return -EINVAL;
	if (link->family == AF_INET6 && udp_addr_is_loopback(&link->gid))
		return -EOPNOTSUPP;
	if (has) {
		has->joins++;
		return 0;
	}
	if (link->num_mgroups == UDP_MAX_GROUPS)
		return -ENOSPC;
	fd = open_group(link, group);
	if (fd < 0)
		return fd;
	link->mgroup[link->num_mgroups++] =
		(struct udp_mgroup){ .gid = *group, .fd = fd, .joins = 1 };
	return 0;
}

int udp_leave(struct link *base, const struct gid *group)
{
	struct udp_link *link = (struct udp_link *)base;
	struct udp_mgroup *has = find(link, group);

	if (!has)
		return -ENOENT;
	assert(has->joins > 0);
	if (--has->joins > 0)
		return 0;
	(void)epoll_ctl(link->base.wait_fd, EPOLL_CTL_DEL, has->fd, NULL);
	descriptor_close(has->fd);
	*has = link->mgroup[--link->num_mgroups];
	return 0;
}
