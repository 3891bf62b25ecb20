// SPDX-License-Identifier: MIT
/* The UDP socket of a datagram rsocket. */
#include "lib/rdmacm/rsocket/datagram.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/message.h"
#include "lib/rdmacm/rsocket/transfer.h"
#include "net/link/descriptor.h"

#define BUF_BYTES  65536 /* UDP messages are shorter */
#define MOST_BYTES 65507 /* of a UDP message over IPv4 */
#define BATCH	   64	 /* messages taken at once */

/* Control data: the local address of a message. */
union packet_info {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

int rs_udp_open(struct rsocket *rs)
{
	struct rs_datagram *datagram = rs->datagram;
	struct epoll_event event = { .events = EPOLLIN };
	int on = 1, err;
	bool is_ipv6 = rs->domain == AF_INET6;

	datagram->buf = malloc(BUF_BYTES);
	if (!datagram->buf)
		return ENOMEM;
	datagram->udp = descriptor_keep(socket(rs->domain, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (datagram->udp < 0)
		return rcm_errno();
	err = setsockopt(datagram->udp, is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
			 is_ipv6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &on, sizeof(on));
	if (!err)
		err = epoll_ctl(datagram->epfd, EPOLL_CTL_ADD, datagram->udp, &event);
	return err ? rcm_errno() : 0;
}

void rs_udp_close(struct rsocket *rs)
{
	free(rs->datagram->buf);
	descriptor_close(rs->datagram->udp);
}

/* The message leaves from the address of its path. */
static void put_packet_info(struct msghdr *msg, union packet_info *info, int domain,
			    const struct rs_address *from)
{
	struct in6_pktinfo in6 = { 0 };
	struct in_pktinfo in = { 0 };
	struct sockaddr_storage name;
	size_t len = domain == AF_INET6 ? sizeof(in6) : sizeof(in);

	rs_address_emit(&name, from, domain);
	in6.ipi6_addr = ((struct sockaddr_in6 *)&name)->sin6_addr;
	in6.ipi6_ifindex = from->scope_id;
	in.ipi_spec_dst = ((struct sockaddr_in *)&name)->sin_addr;
	*info = (union packet_info){ 0 };
	info->header.cmsg_level = domain == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
	info->header.cmsg_type = domain == AF_INET6 ? IPV6_PKTINFO : IP_PKTINFO;
	info->header.cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(&info->header), domain == AF_INET6 ? (void *)&in6 : (void *)&in, len);
	msg->msg_control = info;
	msg->msg_controllen = CMSG_SPACE(len);
}

/* Sends what is in the buffer. */
static int send_buf(struct rsocket *rs, const struct rs_peer *peer, size_t len, int flags)
{
	struct rs_datagram *datagram = rs->datagram;
	struct iovec v = { .iov_base = datagram->buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };
	union packet_info info;
	struct sockaddr_storage to;

	/* A connected socket, and one that is bound, has its addresses. */
	if (peer != datagram->connected) {
		msg.msg_namelen = rs_address_emit(&to, &peer->address, rs->domain);
		msg.msg_name = &to;
	}
	if (rs_address_is_any(&datagram->local))
		put_packet_info(&msg, &info, rs->domain, &peer->path->from);
	return sendmsg(datagram->udp, &msg, flags | MSG_NOSIGNAL) < 0 ? rcm_errno() : 0;
}

static uint32_t put_header(struct rsocket *rs, const struct rs_peer *peer, enum rs_udp_op op)
{
	const struct rs_udp_header header = {
		.op = (uint8_t)op,
		.qpn = peer->path->id->qp->qp_num,
		.from = peer->path->from,
	};

	return rs_udp_header_emit(rs->datagram->buf, &header);
}

int rs_udp_send(struct rsocket *rs, const struct rs_peer *peer, struct rs_iov *iov, size_t len,
		bool may_wait)
{
	uint32_t header_len = put_header(rs, peer, RS_UDP_DATA);

	if (len > MOST_BYTES - header_len)
		return EMSGSIZE;
	rs_iov_gather(iov, rs->datagram->buf + header_len, len);
	return send_buf(rs, peer, header_len + len, may_wait ? 0 : MSG_DONTWAIT);
}

static void keep(struct rsocket *rs, const struct rs_peer *peer, const uint8_t *bytes, uint32_t len)
{
	struct rs_unread *unread = malloc(sizeof(*unread) + len);

	if (!unread)
		return;
	*unread = (struct rs_unread){ .bytes = (uint8_t *)(unread + 1),
				      .len = len,
				      .from = peer->address };
	memcpy(unread + 1, bytes, len);
	if (rs_datagram_arrived(rs, unread))
		rs->datagram->num_by_udp++;
	else
		free(unread);
}

/* local: the address that the message came to. */
static void handle(struct rsocket *rs, const struct rs_address *from,
		   const struct rs_address *local, uint32_t len)
{
	struct rs_datagram *datagram = rs->datagram;
	struct rs_udp_header header;
	uint32_t header_len = rs_udp_header_parse(&header, datagram->buf, len);
	struct rs_peer *peer;

	if (!header_len || rs_peer_get(rs, from, local, false, &peer))
		return;
	peer->qpn = header.qpn;
	if (header.op != RS_UDP_DATA)
		return;
	if (datagram->num_by_udp < peer->path->recvs)
		keep(rs, peer, datagram->buf + header_len, len - header_len);
	send_buf(rs, peer, put_header(rs, peer, RS_UDP_CONTROL), MSG_DONTWAIT);
}

/* The address of ours that a message came to; not a group's. */
static struct rs_address get_packet_info(struct msghdr *msg, const struct rs_address *bound)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(msg);
	struct rs_address to = *bound;
	struct in6_pktinfo in6;
	struct in_pktinfo in;

	if (!header || !rs_address_is_any(bound))
		return to;
	if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
		memcpy(&in, CMSG_DATA(header), sizeof(in));
		to = rs_address_make(AF_INET, &in.ipi_spec_dst, bound->port);
	} else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
		memcpy(&in6, CMSG_DATA(header), sizeof(in6));
		if (!IN6_IS_ADDR_MULTICAST(&in6.ipi6_addr))
			to = rs_address_make(AF_INET6, &in6.ipi6_addr, bound->port);
		if (IN6_IS_ADDR_LINKLOCAL(&in6.ipi6_addr))
			to.scope_id = in6.ipi6_ifindex;
	}
	return to;
}

/* False: nothing is there. */
static bool receive_one(struct rsocket *rs)
{
	struct rs_datagram *datagram = rs->datagram;
	struct iovec v = { .iov_base = datagram->buf, .iov_len = BUF_BYTES };
	struct sockaddr_storage name;
	union packet_info info;
	struct msghdr msg = { .msg_name = &name,
			      .msg_namelen = sizeof(name),
			      .msg_iov = &v,
			      .msg_iovlen = 1,
			      .msg_control = &info,
			      .msg_controllen = sizeof(info) };
	ssize_t n = recvmsg(datagram->udp, &msg, MSG_DONTWAIT);
	struct rs_address from, local;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		rs->err = errno; /* ECONNREFUSED: no socket has the port of an earlier message */
	if (n < 0)
		return false;
	local = get_packet_info(&msg, &datagram->local);
	if (!rs_address_parse(&from, (struct sockaddr *)&name, msg.msg_namelen))
		handle(rs, &from, &local, (uint32_t)n);
	return true;
}

void rs_udp_receive(struct rsocket *rs)
{
	int i, saved = errno;

	for (i = 0; i < BATCH && receive_one(rs); i++)
		;
	errno = saved;
}
