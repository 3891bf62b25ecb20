// SPDX-License-Identifier: MIT
/* Sending: trains become UDP_SEGMENT messages, several in a system call.
 *
 * The ICRC of segment i covers IP identification i, which the kernel or a NIC sets when it cuts the
 * train. Where an interface refuses trains, packets are sent singly with identification 0, and
 * their ICRCs computed again. */
#include <assert.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/socket.h"
#include "net/link/udp/private.h"
#include "net/wire/packet.h"

/* The socket takes over what this many trains in a row ask for. */
#define FOLLOW_AFTER 16u

void udp_tx_init(struct udp_link *link)
{
	struct udp_tx *tx = &link->tx;

	for (uint32_t i = 0; i < LINK_TX_PORTS; i++)
		link->sender[i] = (struct udp_sender){ .has.hop_limit = UDP_HOP_LIMIT };
	for (uint32_t i = 0; i < UDP_BURST; i++) {
		tx->msg[i].msg_hdr.msg_iov = &tx->iov[i];
		tx->msg[i].msg_hdr.msg_iovlen = 1;
		tx->msg[i].msg_hdr.msg_name = &tx->name[i];
		tx->msg[i].msg_hdr.msg_control = tx->control[i];
	}
}

/* Appends a control message. Returns the bytes used so far. */
static size_t put_control(uint8_t *control, size_t used, int level, int type, const void *value,
			  size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)(control + used);

	assert(used + CMSG_SPACE(len) <= UDP_TX_CONTROL);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), value, len);
	return used + CMSG_SPACE(len);
}

/* 0: the train leaves the hop limit to the link. */
static struct udp_settings settings_for(const struct wire_train *train,
					const struct udp_settings *has)
{
	const uint16_t seg_len = train->len > has->seg_len ? 0 : has->seg_len;

	return (struct udp_settings){
		.traffic_class = train->traffic_class,
		.hop_limit = train->hop_limit ? train->hop_limit : UDP_HOP_LIMIT,
		.seg_len = train->segs > 1 ? train->seg_len : seg_len,
	};
}

static bool equal(struct udp_settings a, struct udp_settings b)
{
	return a.traffic_class == b.traffic_class && a.hop_limit == b.hop_limit &&
	       a.seg_len == b.seg_len;
}

static bool set_header(const struct udp_link *link, int fd, const struct udp_settings *settings)
{
	if (link->family == AF_INET)
		return socket_set(fd, IPPROTO_IP, IP_TOS, settings->traffic_class) == 0 &&
		       socket_set(fd, IPPROTO_IP, IP_TTL, settings->hop_limit) == 0;
	return socket_set(fd, IPPROTO_IPV6, IPV6_TCLASS, settings->traffic_class) == 0 &&
	       socket_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, settings->hop_limit) == 0;
}

static bool set_seg_len(int fd, struct udp_settings *has, uint16_t seg_len)
{
	if (seg_len != has->seg_len && socket_set(fd, IPPROTO_UDP, UDP_SEGMENT, seg_len) != 0)
		return false;
	has->seg_len = seg_len;
	return true;
}

static void set_all(const struct udp_link *link, int fd, struct udp_settings *has,
		    const struct udp_settings *wanted)
{
	if (!set_seg_len(fd, has, wanted->seg_len))
		return;
	if (set_header(link, fd, wanted))
		*has = *wanted;
	else
		(void)set_header(link, fd, has);
}

/* Programs choose one traffic class and hop limit and keep them, and answer each request with a
 * train of the same shape. The socket has these after a while: control messages cost 0.3 to 0.6 us
 * for each train. */
static void follow(struct udp_link *link, const struct wire_train *train)
{
	struct udp_sender *sender = &link->sender[train->tx_index];
	const struct udp_settings wanted = settings_for(train, &sender->has);

	if (equal(wanted, sender->has) || gid_is_multicast(&train->dst)) {
		sender->times = 0;
		return;
	}
	sender->times = equal(wanted, sender->wanted) ? sender->times + 1 : 1;
	sender->wanted = wanted;
	if (sender->times < FOLLOW_AFTER)
		return;
	sender->times = 0;
	set_all(link, link->tx_fd[train->tx_index], &sender->has, &wanted);
}

/* Adds a control message for each field that differs from the socket's settings. */
static size_t put_controls(const struct udp_link *link, uint8_t *control,
			   const struct wire_train *train)
{
	const struct udp_settings *has = &link->sender[train->tx_index].has;
	const struct udp_settings wanted = settings_for(train, has);
	const bool v4 = link->family == AF_INET;
	const int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	const int tos = wanted.traffic_class, ttl = wanted.hop_limit;
	size_t used = 0;

	if (wanted.seg_len != has->seg_len)
		used = put_control(control, used, IPPROTO_UDP, UDP_SEGMENT, &wanted.seg_len,
				   sizeof(wanted.seg_len));
	if (tos != has->traffic_class)
		used = put_control(control, used, level, v4 ? IP_TOS : IPV6_TCLASS, &tos,
				   sizeof(tos));
	/* A socket's default hop limit for multicast is 1. */
	if (ttl != has->hop_limit || gid_is_multicast(&train->dst))
		used = put_control(control, used, level, v4 ? IP_TTL : IPV6_HOPLIMIT, &ttl,
				   sizeof(ttl));
	return used;
}

static void fill(struct udp_link *link, uint32_t i, const struct wire_train *train)
{
	struct udp_tx *tx = &link->tx;
	struct msghdr *hdr = &tx->msg[i].msg_hdr;

	hdr->msg_namelen = udp_addr_set(&tx->name[i], &train->dst, ROCE_UDP_PORT, link->ifindex);
	tx->iov[i].iov_base = train->buf;
	tx->iov[i].iov_len = train->len;
	hdr->msg_control = tx->control[i];
	hdr->msg_controllen = put_controls(link, tx->control[i], train);
	if (hdr->msg_controllen == 0)
		hdr->msg_control = NULL;
}

static void warn_no_route(struct udp_link *link, const struct wire_train *train, int error)
{
	const bool v4 = link->family == AF_INET;
	char name[IF_NAMESIZE] = "INTERFACE";

	if (!gid_is_multicast(&train->dst)) {
		link_warn(&link->cfg.log, LINK_NO_ROUTE,
			  "no route to a peer: packets to it are dropped (%s)", strerror(error));
		return;
	}
	(void)if_indextoname(link->ifindex, name);
	link_warn(&link->cfg.log, LINK_NO_GROUP_ROUTE,
		  "no route to a multicast group: packets to it are dropped; try ip %sroute add %s "
		  "dev %s (lo carries IPv4 groups only)",
		  v4 ? "" : "-6 ", v4 ? "224.0.0.0/4" : "ff00::/8", name);
}

/* Drops a train that can never be sent: counts its packets and logs the reason. */
static void drop(struct udp_link *link, const struct wire_train *train, int error)
{
	link->base.stats.send_errors += train->segs;
	switch (error) {
	case EMSGSIZE:
	case EINVAL:
		link_warn(&link->cfg.log, LINK_TOO_LONG,
			  "a packet of %u bytes does not fit the path to its peer: lower the path "
			  "MTU, or raise the interface's",
			  train->segs > 1 ? train->seg_len : train->len);
		return;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EADDRNOTAVAIL: warn_no_route(link, train, error); return;
	/* link_has_descriptors() reports a closed descriptor. */
	case EBADF:
	case ENOTSOCK: return;
	default:
		link_warn(&link->cfg.log, LINK_SEND_REFUSED,
			  "the kernel refuses to send a packet (%s)%s", strerror(error),
			  error == EPERM ? ": a firewall rule forbids it" : "");
	}
}

/* Makes segment i a train of its own, with the ICRC for identification 0. */
static void cut(const struct udp_link *link, const struct wire_train *train, uint32_t i,
		struct wire_train *ret)
{
	const struct icrc_flow flow = { .src = link->cfg.gid,
					.dst = train->dst,
					.src_port = link->base.tx_port[train->tx_index] };

	*ret = *train;
	ret->buf = wire_train_packet(train, i);
	ret->len = wire_train_packet_len(train, i);
	ret->segs = 1;
	if (i > 0 && ret->len >= BTH_LEN + ICRC_LEN && link->family == AF_INET)
		icrc_store(ret->buf + ret->len - ICRC_LEN,
			   icrc_compute(&flow, 0, ret->buf, ret->len - ICRC_LEN));
}

/* One datagram alone costs 0.1 us less than a list of one, and 0.3 us less again without control
 * messages. Bare system calls: rsockets, preloaded into a program, replace sendmsg() and
 * sendto(). */
static int call_send(int fd, struct mmsghdr *msg, uint32_t n)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	const struct msghdr *hdr = &msg->msg_hdr;
	long rc;

	if (n > 1)
		return sendmmsg(fd, msg, n, flags);
	if (hdr->msg_control)
		rc = syscall(SYS_sendmsg, fd, hdr, flags);
	else
		rc = syscall(SYS_sendto, fd, hdr->msg_iov->iov_base, hdr->msg_iov->iov_len, flags,
			     hdr->msg_name, hdr->msg_namelen);
	return rc < 0 ? -1 : 1;
}

/* Where an interface takes no trains, the kernel refuses all packets of a socket that cuts. True:
 * it cuts no more. */
static bool stop_cutting(struct udp_link *link, uint8_t tx_index, int error)
{
	struct udp_settings *has = &link->sender[tx_index].has;

	return (error == EIO || error == EINVAL) && has->seg_len &&
	       set_seg_len(link->tx_fd[tx_index], has, 0);
}

/* Sends n trains of one socket in one call. Returns how many were sent, or -errno for the first. */
static int send_batch(struct udp_link *link, const struct wire_train *trains, uint32_t n)
{
	int rc;

	assert(n > 0 && n <= UDP_BURST);
	follow(link, trains);
	do {
		for (uint32_t i = 0; i < n; i++)
			fill(link, i, &trains[i]);
		rc = call_send(link->tx_fd[trains->tx_index], link->tx.msg, n);
	} while (rc < 0 && (errno == EINTR || stop_cutting(link, trains->tx_index, errno)));
	return rc < 0 ? -errno : rc;
}

/* Sends the packets of a train singly. Drops what cannot be sent now: half a train cannot be
 * returned to the caller. True: at least one was sent. */
static bool send_singles(struct udp_link *link, const struct wire_train *train)
{
	struct wire_train one[UDP_BURST];
	bool any = false;

	for (uint32_t i = 0; i < train->segs;) {
		uint32_t n = 0;
		int rc;

		while (n < UDP_BURST && i + n < train->segs) {
			cut(link, train, i + n, &one[n]);
			n++;
		}
		rc = send_batch(link, one, n);
		if (rc <= 0) {
			drop(link, one, -rc);
			i++;
			continue;
		}
		any = true;
		i += (uint32_t)rc;
	}
	return any;
}

/* Handles a train that the kernel refused. If its packets can be sent singly, no more trains are
 * sent. */
static void refused(struct udp_link *link, const struct wire_train *train, int error)
{
	if (train->segs > 1 && (error == EIO || error == EINVAL || error == EOPNOTSUPP)) {
		if (!send_singles(link, train))
			return;
		link->base.max_segs = 1;
		link_warn(&link->cfg.log, LINK_NO_TRAINS,
			  "the interface refuses trains of packets (UDP_SEGMENT): sending them "
			  "singly");
		return;
	}
	drop(link, train, error);
}

/* How many trains from the front may share a system call: those of the same socket. */
static uint32_t batch_of(const struct udp_link *link, const struct wire_train *trains, size_t n)
{
	uint32_t count = 0;

	while (count < n && count < UDP_BURST && trains[count].tx_index == trains->tx_index &&
	       trains[count].segs <= link->base.max_segs)
		count++;
	return count;
}

int udp_send(struct link *base, const struct wire_train *trains, size_t n)
{
	struct udp_link *link = (struct udp_link *)base;
	size_t done = 0;

	while (done < n) {
		const uint32_t batch = batch_of(link, trains + done, n - done);
		int rc;

		assert(trains[done].tx_index < LINK_TX_PORTS && trains[done].segs > 0);
		/* A train made before the interface refused another. */
		if (batch == 0) {
			(void)send_singles(link, &trains[done++]);
			continue;
		}
		rc = send_batch(link, trains + done, batch);
		if (rc > 0) {
			done += (size_t)rc;
			continue;
		}
		if (socket_is_full(-rc))
			return done > 0 ? (int)done : -EAGAIN;
		refused(link, &trains[done], -rc);
		done++;
	}
	return (int)done;
}
