// SPDX-License-Identifier: MIT
/* The receive sockets of one address: a SO_REUSEPORT group on port 4791, steered by the BTH's
 * destination QPN.
 *
 * The device server opens the group and hands socket number slot to a process. For each packet the
 * kernel runs one classic BPF program (guard.c), which returns the number of a socket: the top 8
 * bits of the destination QPN, or 0 for runts and for numbers past the group. The socket after
 * those of the slots is the sink, whose filter drops every packet: no process spends time on them.
 *
 * No socket is closed while the group is in use (the last one would take its number), connected or
 * shut down (steering would stop for good). */
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/link/socket.h"
#include "net/link/udp/private.h"
#include "net/link/udp/udp.h"
#include "net/wire/packet.h"

#define RCVBUF_WANTED (4 * 1024 * 1024)
#define DRAIN_BATCH   64
#define DRAIN_MAX     16384u /* datagrams, more than a full receive buffer holds */
#define MAX_SLOTS     256u

void udp_set_header_options(int fd, int family, bool show)
{
	if (family == AF_INET) {
		(void)socket_set(fd, IPPROTO_IP, IP_RECVTOS, show);
		(void)socket_set(fd, IPPROTO_IP, IP_RECVTTL, show);
		return;
	}
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, show);
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, show);
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_FLOWINFO, show);
}

void udp_set_receive_options(int fd, int family)
{
	socket_set_rcvbuf(fd, RCVBUF_WANTED);
	(void)socket_set(fd, IPPROTO_UDP, UDP_GRO, 1);
	if (family == AF_INET)
		return;
	(void)socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	/* Other senders, rdma_rxe among them, use checksum 0, which the kernel drops by default. */
	(void)socket_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

/* Checks that the address's port is free, by binding a socket without SO_REUSEPORT. With it, the
 * bind would succeed beside another group of the same user, and change that group's steering. */
static int probe_free(const union udp_addr *addr, socklen_t len)
{
	const int fd = socket(addr->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (addr->sa.sa_family == AF_INET6)
		(void)socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (bind(fd, &addr->sa, len) != 0)
		rc = -errno;
	(void)close(fd);
	return rc;
}

bool udp_cannot_steer(void)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return false;
	rc = socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (rc == 0)
		rc = udp_attach_steering(fd, AF_INET, 1, NULL, 0);
	(void)close(fd);
	return rc == -ENOPROTOOPT || rc == -EOPNOTSUPP || rc == -EPERM || rc == -ENOSYS;
}

/* The sink's filter drops every packet. UDP_GRO keeps trains whole, so each costs one run of the
 * filter. */
static int set_sink_options(int fd)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	const struct sock_fprog prog = { .len = 1, .filter = code };

	(void)socket_set(fd, IPPROTO_UDP, UDP_GRO, 1);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) != 0)
		return -errno;
	return 0;
}

/* Slot number slots is the sink. */
static int open_slot(struct udp_group *group, uint32_t slot, const union udp_addr *addr,
		     socklen_t len)
{
	const int fd = socket(addr->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	group->fd[slot] = fd;
	rc = socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	/* Before the first bind: without a program the kernel picks a socket by a hash. */
	if (rc == 0 && slot == 0)
		rc = udp_attach_steering(fd, addr->sa.sa_family, group->slots, NULL, 0);
	if (rc == 0 && slot == group->slots)
		rc = set_sink_options(fd);
	else if (rc == 0)
		udp_set_receive_options(fd, addr->sa.sa_family);
	if (rc == 0 && bind(fd, &addr->sa, len) != 0)
		rc = -errno;
	return rc;
}

/* Binds a source port. SO_REUSEPORT is set after the bind, so the kernel picks a port that no
 * socket has. */
static int hold_port(struct udp_group *group, uint32_t i)
{
	union udp_addr addr;
	socklen_t len = udp_addr_set(&addr, &group->gid, 0, udp_addr_ifindex(&group->gid));
	const int fd = socket(addr.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	group->tx_fd[i] = fd;
	if (addr.sa.sa_family == AF_INET6)
		(void)socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	(void)socket_set(fd, SOL_SOCKET, SO_RCVBUF, 0);
	if (bind(fd, &addr.sa, len) != 0 || getsockname(fd, &addr.sa, &len) != 0)
		return -errno;
	group->tx_port[i] = udp_addr_port(&addr);
	return socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

void udp_group_close(struct udp_group *group)
{
	for (uint32_t i = 0; group->fd && i < LINK_TX_PORTS; i++)
		if (group->tx_fd[i] >= 0)
			(void)close(group->tx_fd[i]);
	/* From the end, so that no socket changes its number. */
	for (uint32_t slot = group->slots + 1; group->fd && slot-- > 0;)
		if (group->fd[slot] >= 0)
			(void)close(group->fd[slot]);
	free(group->fd);
	group->fd = NULL;
	group->slots = 0;
}

int udp_group_open(struct udp_group *ret, const struct gid *gid, uint32_t slots)
{
	struct udp_group group = { .gid = *gid, .slots = slots };
	union udp_addr addr;
	int granted = 0, rc;
	socklen_t optlen = sizeof(granted), len;

	if (slots == 0 || slots > MAX_SLOTS || gid_is_multicast(gid))
		return -EINVAL;
	len = udp_addr_set(&addr, gid, ROCE_UDP_PORT, udp_addr_ifindex(gid));
	rc = probe_free(&addr, len);
	if (rc != 0)
		return rc;

	group.fd = malloc((slots + 1) * sizeof(*group.fd));
	if (!group.fd)
		return -ENOMEM;
	memset(group.tx_fd, -1, sizeof(group.tx_fd));
	memset(group.fd, -1, (slots + 1) * sizeof(*group.fd));
	for (uint32_t i = 0; rc == 0 && i < LINK_TX_PORTS; i++)
		rc = hold_port(&group, i);
	for (uint32_t slot = 0; rc == 0 && slot <= slots; slot++)
		rc = open_slot(&group, slot, &addr, len);
	if (rc != 0) {
		udp_group_close(&group);
		return rc;
	}

	if (getsockopt(group.fd[0], SOL_SOCKET, SO_RCVBUF, &granted, &optlen) == 0 && granted > 0)
		group.rcvbuf = (uint32_t)granted;
	*ret = group;
	return 0;
}

int udp_group_guard(struct udp_group *group, const struct udp_local *known, size_t n)
{
	struct udp_local all[UDP_MAX_LOCALS + 1] = { { .gid = group->gid } };

	if (n > UDP_MAX_LOCALS)
		return -ENOSPC;
	memcpy(all[0].port, group->tx_port, sizeof(all[0].port));
	if (n > 0)
		memcpy(all + 1, known, n * sizeof(*known));
	return udp_attach_steering(group->fd[0], udp_addr_family(&group->gid), group->slots, all,
				   n + 1);
}

uint32_t udp_group_foreign(const struct udp_group *group)
{
	return group->fd ? socket_drops(group->fd[group->slots]) : 0;
}

void udp_group_drain(struct udp_group *group, uint32_t slot)
{
	struct mmsghdr msg[DRAIN_BATCH] = { 0 };

	assert(slot < group->slots);
	for (uint32_t done = 0; done < DRAIN_MAX;) {
		const int n =
			recvmmsg(group->fd[slot], msg, DRAIN_BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);

		if (n <= 0)
			return;
		done += (uint32_t)n;
	}
}
