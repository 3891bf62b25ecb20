// SPDX-License-Identifier: MIT
/* Receiving: datagrams and trains become arrivals, one for each packet.
 *
 * A train from this host stays whole, so a packet's index is the IP identification that its ICRC
 * covers. A train from another host was cut, and the kernel may have merged packets of any
 * identification into a new one: the index is a hint.
 *
 * Each joined multicast group has a socket bound to the group's address, so it receives that group
 * only. Each process of the host that joins gets a copy, and a sender that joined receives its own
 * packets. The interface is the one that has the link's address. lo carries IPv4 groups, though it
 * lacks IFF_MULTICAST; it delivers no IPv6 groups, even with a route. */
#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/descriptor.h"
#include "net/link/udp/private.h"
#include "net/wire/packet.h"

/* Every Nth call reads the sockets of multicast groups first, so unicast traffic cannot starve
 * them. */
#define GROUPS_FIRST_EVERY 8u
/* How often a cached result of udp_is_local is used. */
#define PEER_USES (1u << 18)

void udp_rx_init(struct udp_link *link)
{
	struct udp_rx *rx = &link->rx;

	rx->batch = 1;
	for (uint32_t i = 0; i < UDP_RX_BATCH; i++) {
		rx->iov[i] = (struct iovec){ rx->bytes[i], UDP_RX_BYTES };
		rx->msg[i].msg_hdr.msg_iov = &rx->iov[i];
		rx->msg[i].msg_hdr.msg_iovlen = 1;
		rx->msg[i].msg_hdr.msg_name = &rx->name[i];
		rx->msg[i].msg_hdr.msg_control = rx->control[i];
	}
}

static uint32_t control_int(const struct cmsghdr *c)
{
	uint8_t byte;
	int value;

	if (c->cmsg_len >= CMSG_LEN(sizeof(value))) {
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		return (uint32_t)value;
	}
	memcpy(&byte, CMSG_DATA(c), 1);
	return byte;
}

static void read_control(struct udp_rx *rx, const struct cmsghdr *c)
{
	const uint32_t value = control_int(c);

	if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
		rx->seg_len = value;
	else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
		rx->common.traffic_class = (uint8_t)value;
	else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
		rx->common.hop_limit = (uint8_t)value;
	else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
		rx->common.traffic_class = (uint8_t)value;
	else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)
		rx->common.hop_limit = (uint8_t)value;
	else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_FLOWINFO)
		rx->common.flow_label = ntohl(value) & 0xfffffu;
}

/* Called for each arrival, so results are cached. They expire, because an address may move to
 * another host. */
bool udp_is_local(struct link *base, const struct gid *gid)
{
	struct udp_link *link = (struct udp_link *)base;
	struct udp_peer *peer;

	if (gid_equal(gid, &link->cfg.gid) || udp_addr_is_loopback(gid))
		return true;
	peer = &link->peer[(gid->raw[15] ^ gid->raw[14]) % UDP_PEERS];
	if (peer->left == 0 || !gid_equal(&peer->gid, gid)) {
		peer->gid = *gid;
		peer->same_host = udp_addr_ifindex(gid) != 0;
		peer->left = PEER_USES;
	}
	peer->left--;
	return peer->same_host;
}

static enum ip_id_rule id_rule(struct udp_link *link, const struct gid *src)
{
	if (link->family != AF_INET)
		return IP_ID_EXACT;
	return udp_is_local(&link->base, src) ? IP_ID_RULED : IP_ID_ANY;
}

/* Sets what the packets of datagram next have in common. */
static void open_datagram(struct udp_link *link)
{
	struct udp_rx *rx = &link->rx;
	struct mmsghdr *msg = &rx->msg[rx->next];
	struct wire_arrival *a = &rx->common;

	*a = (struct wire_arrival){ .src_port = udp_addr_port(&rx->name[rx->next]),
				    .dst = rx->dst,
				    .hop_limit = UDP_HOP_LIMIT };
	udp_addr_gid(&a->src, &rx->name[rx->next]);
	a->id_rule = id_rule(link, &a->src);
	rx->opened = true;
	rx->offset = 0;
	rx->seg_len = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg->msg_hdr); c; c = CMSG_NXTHDR(&msg->msg_hdr, c))
		read_control(rx, c);
	if (rx->seg_len == 0 || rx->seg_len > msg->msg_len)
		rx->seg_len = msg->msg_len;
}

/* Returns packets of the datagrams that were read. */
static size_t take_packets(struct udp_link *link, struct wire_arrival *ret, size_t max)
{
	struct udp_rx *rx = &link->rx;
	size_t n = 0;

	while (n < max && rx->next < rx->count) {
		const uint32_t total = rx->msg[rx->next].msg_len;
		uint32_t left;

		if (!rx->opened)
			open_datagram(link);
		assert(rx->offset <= total);
		left = total - rx->offset;
		ret[n] = rx->common;
		ret[n].p = (const uint8_t *)rx->iov[rx->next].iov_base + rx->offset;
		ret[n].len = left < rx->seg_len ? left : rx->seg_len;
		rx->common.ip_id++;
		rx->offset += ret[n].len;
		n++;
		if (rx->offset >= total) {
			rx->next++;
			rx->opened = false;
		}
	}
	return n;
}

/* One datagram alone costs 0.1 us less than a list of one. A bare system call: rsockets, preloaded
 * into a program, replace recvmsg(). */
static int call_receive(int fd, struct mmsghdr *msg, uint32_t n)
{
	long len;

	if (n > 1)
		return recvmmsg(fd, msg, n, MSG_DONTWAIT, NULL);
	len = syscall(SYS_recvmsg, fd, &msg->msg_hdr, MSG_DONTWAIT);
	if (len < 0)
		return -1;
	msg->msg_len = (unsigned int)len;
	return 1;
}

/* Reads a socket once. Returns the number of datagrams, or -errno. */
static int read_socket(struct udp_link *link, int fd, const struct gid *dst)
{
	struct udp_rx *rx = &link->rx;
	int rc;

	assert(rx->next >= rx->count && rx->batch > 0);
	/* The batch doubles while calls fill it. A lone packet is read alone: looking for a second
	 * one delays the first. */
	rx->batch = rx->count < rx->batch ? 1 : rx->batch * 2;
	if (rx->batch > UDP_RX_BATCH)
		rx->batch = UDP_RX_BATCH;
	for (uint32_t i = 0; i < rx->batch; i++) {
		rx->msg[i].msg_hdr.msg_namelen = sizeof(rx->name[i]);
		rx->msg[i].msg_hdr.msg_controllen = UDP_RX_CONTROL;
	}
	rx->count = rx->next = 0;
	rx->opened = false;
	do {
		rc = call_receive(fd, rx->msg, rx->batch);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return link_receive_failed(&link->cfg.log, errno);
	rx->count = (uint32_t)rc;
	rx->dst = *dst;
	return rc;
}

static int read_groups(struct udp_link *link)
{
	struct epoll_event ready[8];
	const int n = epoll_wait(link->groups_fd, ready, 8, 0);

	for (int i = 0; i < n; i++) {
		const uint64_t tag = ready[i].data.u64;

		for (uint32_t k = 0; k < link->num_groups; k++) {
			int rc;

			if (tag != (uint64_t)link->group_fd[k])
				continue;
			rc = read_socket(link, link->group_fd[k], &link->group[k]);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

static int read_any(struct udp_link *link)
{
	const bool groups_first = link->num_groups > 0 && ++link->turns % GROUPS_FIRST_EVERY == 0;
	int rc = groups_first ? read_groups(link) : 0;

	if (rc == 0)
		rc = read_socket(link, link->cfg.rx_fd, &link->cfg.gid);
	if (rc == 0 && link->num_groups > 0 && !groups_first)
		rc = read_groups(link);
	return rc;
}

int udp_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	struct udp_link *link = (struct udp_link *)base;

	if (max == 0)
		return 0;
	if (link->rx.next >= link->rx.count) {
		const int rc = read_any(link);

		if (rc <= 0)
			return rc;
	}
	return (int)take_packets(link, ret, max);
}

/* The next packet comes alone. */
void udp_idle(struct link *base)
{
	struct udp_link *link = (struct udp_link *)base;

	if (link->rx.next >= link->rx.count)
		link->rx.count = link->rx.next = 0;
}

int udp_receive_from(struct link *base, int rx_fd, struct wire_arrival *ret, size_t max)
{
	struct udp_link *link = (struct udp_link *)base;

	if (max == 0)
		return 0;
	if (link->rx.next >= link->rx.count) {
		const int rc = read_socket(link, rx_fd, &link->cfg.gid);

		if (rc <= 0)
			return rc;
	}
	return (int)take_packets(link, ret, max);
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

static bool watch(const struct udp_link *link, int fd, uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

	return epoll_ctl(link->groups_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Each epoll set that a socket is in costs its senders 0.2 us for each packet. So those who wait
 * have the socket itself until there are others. 0 or -errno. */
static int open_groups(struct udp_link *link)
{
	int rc;

	if (link->groups_fd >= 0)
		return 0;
	link->groups_fd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
	if (link->groups_fd >= 0 && watch(link, link->cfg.rx_fd, UINT64_MAX)) {
		link->base.wait_fd = link->groups_fd;
		return 0;
	}
	rc = -errno;
	descriptor_close(link->groups_fd);
	link->groups_fd = -1;
	return rc;
}

/* Returns a socket that receives the group and is in the epoll set, or -errno. */
static int open_group(const struct udp_link *link, const struct gid *gid)
{
	const int one = 1, fd = descriptor_keep(socket(
				   link->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	union udp_addr addr;
	const socklen_t len = udp_addr_set(&addr, gid, ROCE_UDP_PORT, link->ifindex);
	int rc;

	if (fd < 0)
		return -errno;
	udp_set_receive_options(fd, link->family);
	udp_set_header_options(fd, link->family, true);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, &addr.sa, len) == 0 && join(link, fd, gid) == 0 &&
	    watch(link, fd, (uint64_t)fd))
		return fd;
	rc = -errno;
	descriptor_close(fd);
	return rc;
}

int udp_join(struct link *base, const struct gid *group)
{
	struct udp_link *link = (struct udp_link *)base;
	int fd, rc;

	if (!gid_is_multicast(group) || udp_addr_family(group) != link->family)
		return -EINVAL;
	if (link->family == AF_INET6 && udp_addr_is_loopback(&link->cfg.gid))
		return -EOPNOTSUPP;
	if (gid_find(link->group, link->num_groups, group) < link->num_groups)
		return 0;
	if (link->num_groups == UDP_MAX_GROUPS)
		return -ENOSPC;
	rc = open_groups(link);
	if (rc != 0)
		return rc;
	fd = open_group(link, group);
	if (fd < 0)
		return fd;
	link->group[link->num_groups] = *group;
	link->group_fd[link->num_groups++] = fd;
	return 0;
}

int udp_leave(struct link *base, const struct gid *group)
{
	struct udp_link *link = (struct udp_link *)base;
	const uint32_t at = gid_find(link->group, link->num_groups, group);

	if (at == link->num_groups)
		return -ENOENT;
	(void)epoll_ctl(link->groups_fd, EPOLL_CTL_DEL, link->group_fd[at], NULL);
	descriptor_close(link->group_fd[at]);
	link->num_groups--;
	link->group[at] = link->group[link->num_groups];
	link->group_fd[at] = link->group_fd[link->num_groups];
	return 0;
}
