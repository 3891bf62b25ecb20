// SPDX-License-Identifier: MIT
/* Opening and closing a UDP link, and its smaller operations. A forked child may close the link
 * without effect on its parent: closing removes nothing from the shared epoll set. */
#include "net/link/udp/udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/descriptor.h"
#include "net/link/ethernet/frame.h"
#include "net/link/socket.h"
#include "net/link/udp/private.h"

#define SNDBUF_WANTED (4 * 1024 * 1024)

/* The ICRC covers identification 0 and DF: an unconnected socket with PMTUDISC_DO sends both. */
static int set_ip_options(int fd, int family, uint32_t ifindex)
{
	if (family == AF_INET) {
		const struct ip_mreqn out = { .imr_ifindex = (int)ifindex };

		(void)socket_set(fd, IPPROTO_IP, IP_TTL, UDP_HOP_LIMIT);
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out));
		return socket_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	}
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, UDP_HOP_LIMIT);
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)ifindex);
	return socket_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
}

static int open_tx(struct udp_link *link, uint32_t i, uint16_t port)
{
	union udp_addr addr;
	socklen_t len = udp_addr_set(&addr, &link->cfg.gid, port, link->ifindex);
	const int fd =
		descriptor_keep(socket(link->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int rc;

	if (fd < 0)
		return -errno;
	link->tx_fd[i] = fd;
	rc = set_ip_options(fd, link->family, link->ifindex);
	if (rc != 0)
		return rc;
	(void)socket_set(fd, SOL_SOCKET, SO_SNDBUF, SNDBUF_WANTED);
	/* Nothing reads this socket, so packets to its port get no memory. */
	(void)socket_set(fd, SOL_SOCKET, SO_RCVBUF, 0);
	/* The group and the other processes of the device are bound to the same port. */
	if (port)
		(void)socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (bind(fd, &addr.sa, len) != 0 || getsockname(fd, &addr.sa, &len) != 0)
		return -errno;
	link->base.tx_port[i] = udp_addr_port(&addr);
	return 0;
}

static bool kernel_has_trains(int fd)
{
	int value;
	socklen_t len = sizeof(value);

	return getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, &len) == 0;
}

static int open_parts(struct udp_link *link)
{
	int rc = 0;

	udp_rx_init(link);
	for (uint32_t i = 0; rc == 0 && i < LINK_TX_PORTS; i++)
		rc = open_tx(link, i, link->cfg.tx_port[i]);
	return rc;
}

static void udp_close(struct link *base)
{
	struct udp_link *link = (struct udp_link *)base;

	for (uint32_t i = 0; i < LINK_TX_PORTS; i++)
		descriptor_close(link->tx_fd[i]);
	for (uint32_t i = 0; i < link->num_groups; i++)
		descriptor_close(link->group_fd[i]);
	descriptor_close(link->groups_fd);
	free(link);
}

static void udp_show_headers(const struct link *base)
{
	const struct udp_link *link = (const struct udp_link *)base;

	udp_set_header_options(link->cfg.rx_fd, link->family, true);
}

static bool udp_has_descriptors(const struct link *base)
{
	const struct udp_link *link = (const struct udp_link *)base;
	bool has = descriptor_is_kept(link->cfg.rx_fd) &&
		   (link->groups_fd < 0 || descriptor_is_kept(link->groups_fd));

	for (uint32_t i = 0; has && i < LINK_TX_PORTS; i++)
		has = descriptor_is_kept(link->tx_fd[i]);
	return has;
}

static const struct link_ops ops = {
	.send = udp_send,
	.receive = udp_receive,
	.idle = udp_idle,
	.join = udp_join,
	.leave = udp_leave,
	.is_local = udp_is_local,
	.show_headers = udp_show_headers,
	.has_descriptors = udp_has_descriptors,
	.close = udp_close,
};

int udp_open(struct link **ret, const struct udp_cfg *cfg)
{
	struct udp_link *link;
	int rc;

	if (cfg->rx_fd < 0 || gid_is_multicast(&cfg->gid))
		return -EINVAL;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	link->base.ops = &ops;
	link->cfg = *cfg;
	link->family = udp_addr_family(&cfg->gid);
	link->ifindex = udp_addr_ifindex(&cfg->gid);
	link->base.wait_fd = cfg->rx_fd;
	link->groups_fd = -1;
	for (uint32_t i = 0; i < LINK_TX_PORTS; i++)
		link->tx_fd[i] = -1;

	rc = open_parts(link);
	if (rc != 0) {
		udp_close(&link->base);
		return rc;
	}
	udp_tx_init(link);
	/* The slot's former process may have turned them on. */
	udp_set_header_options(link->cfg.rx_fd, link->family, false);
	link->base.max_segs = cfg->trains && kernel_has_trains(link->tx_fd[0]) ? TRAIN_MAX_SEGS : 1;
	*ret = &link->base;
	return 0;
}

uint32_t udp_max_mtu(const struct gid *gid)
{
	const uint32_t ifindex = udp_addr_ifindex(gid);

	return ifindex ? frame_path_mtu(udp_addr_if_mtu(ifindex), gid) : 0;
}
