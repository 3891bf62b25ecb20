/* SPDX-License-Identifier: MIT */
/* Sending frames: trains are cut into frames of one packet each, several in a system call. Packet i
 * has IP identification i, which its ICRC covers. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "net/link/clock.h"
#include "net/link/ethernet/private.h"
#include "net/link/socket.h"

void ethernet_tx_init(struct ethernet_link *link)
{
	struct ethernet_tx *tx = &link->tx;

	for (uint32_t i = 0; i < ETHERNET_TX_BATCH; i++) {
		tx->iov[i][0].iov_base = tx->headers[i];
		tx->msg[i].msg_hdr.msg_iov = tx->iov[i];
		tx->msg[i].msg_hdr.msg_iovlen = 2;
	}
}

/* Prepares frames of the train's packets from first on. Returns how many. */
static uint32_t fill(struct ethernet_link *link, const struct wire_train *train, const uint8_t *mac,
		     uint32_t first)
{
	struct ethernet_tx *tx = &link->tx;
	struct frame frame = {
		.src = link->self.gid,
		.dst = train->dst,
		.src_port = link->base.tx_port[train->tx_index],
		.traffic_class = train->traffic_class,
		.hop_limit = train->hop_limit ? train->hop_limit : ETHERNET_HOP_LIMIT,
		.flow_label = train->flow_label,
	};
	uint32_t n = 0;

	memcpy(frame.dst_mac, mac, FRAME_MAC_LEN);
	memcpy(frame.src_mac, link->self.mac, FRAME_MAC_LEN);
	for (uint32_t i = first; i < train->segs && n < ETHERNET_TX_BATCH; i++, n++) {
		frame.ip_id = (uint16_t)i;
		frame.payload_len = wire_train_packet_len(train, i);
		tx->iov[n][0].iov_len = frame_emit_headers(tx->headers[n], &frame);
		tx->iov[n][1].iov_base = wire_train_packet(train, i);
		tx->iov[n][1].iov_len = frame.payload_len;
	}
	return n;
}

/* Drops packets that cannot be sent: counts them and logs the reason. */
static void drop(struct ethernet_link *link, const struct wire_train *train, uint32_t packets,
		 int error)
{
	const char *name = link->ifname;

	link->base.stats.send_errors += packets;
	switch (error) {
	case EMSGSIZE:
		link_warn(&link->cfg.log, LINK_TOO_LONG,
			  "a packet of %u bytes does not fit %s: lower the path MTU, or raise the "
			  "interface's",
			  train->segs > 1 ? train->seg_len : train->len, name);
		return;
	case ENETDOWN:
	case ENXIO:
	case ENODEV:
		link_warn(&link->cfg.log, LINK_INTERFACE_DOWN,
			  "%s is down or removed: packets are dropped; try ip link set %s up", name,
			  name);
		return;
	case ENETUNREACH:
		link_warn(
			&link->cfg.log, LINK_NO_ROUTE,
			"a peer is in another network, and no gateway is known: packets to it are "
			"dropped");
		return;
	/* give_up() logs a neighbor that does not answer. */
	case EHOSTUNREACH:
	case EAGAIN: return;
	default:
		link_warn(&link->cfg.log, LINK_SEND_REFUSED, "%s refuses to send a frame (%s)",
			  name, strerror(error));
	}
}

/* Sends a train's packets to a MAC. False: the first packet cannot be sent now. If a later one
 * cannot, the rest is dropped: half a train cannot be returned to the caller. */
static bool send_train(struct ethernet_link *link, const struct wire_train *train,
		       const uint8_t *mac)
{
	uint32_t done = 0;

	assert(train->segs > 0);
	while (done < train->segs) {
		const uint32_t n = fill(link, train, mac, done);
		int rc;

		do {
			rc = sendmmsg(link->cfg.tx_fd, link->tx.msg, n,
				      MSG_DONTWAIT | MSG_NOSIGNAL);
		} while (rc < 0 && errno == EINTR);
		if (rc > 0) {
			done += (uint32_t)rc;
			continue;
		}
		if (socket_is_full(errno) && done == 0)
			return false;
		if (socket_is_full(errno) && socket_wait_writable(link->cfg.tx_fd))
			continue;
		drop(link, train, train->segs - done, errno);
		return true;
	}
	return true;
}

static bool has_space(const struct ethernet_link *link, uint32_t len)
{
	return link->num_held < ETHERNET_MAX_HELD && len <= ETHERNET_HELD_BYTES - link->held_bytes;
}

/* Appends a train to those that wait. */
static void append(struct ethernet_link *link, const struct wire_train *train,
		   const struct gid *next_hop)
{
	struct ethernet_held *held = &link->held[link->num_held++];

	held->next_hop = *next_hop;
	held->train = *train;
	held->train.buf = link->held_buf + link->held_bytes;
	/* A train that is kept while others leave moves down within held_buf. */
	memmove(held->train.buf, train->buf, train->len);
	link->held_bytes += train->len;
}

/* Holds a train until its neighbor answers. Without space for the train, the link drops the train.
 * False: the answer is likely soon, so the caller keeps the train; else a UD burst to a new peer
 * would lose all but the first trains. */
static bool hold(struct ethernet_link *link, const struct wire_train *train,
		 const struct gid *next_hop)
{
	assert(train->len <= TRAIN_MAX_BYTES);
	if (has_space(link, train->len)) {
		append(link, train, next_hop);
		return true;
	}
	if (neighbor_table_just_solicited(&link->neighbors, next_hop, clock_now_ns()))
		return false;
	drop(link, train, train->segs, EHOSTUNREACH);
	return true;
}

void ethernet_release_held(struct ethernet_link *link, const struct gid *next_hop,
			   const uint8_t *mac)
{
	const uint32_t num_held = link->num_held;

	link->num_held = link->held_bytes = 0;
	for (uint32_t i = 0; i < num_held; i++) {
		const struct ethernet_held held = link->held[i];

		if (!gid_equal(&held.next_hop, next_hop))
			append(link, &held.train, &held.next_hop);
		else if (!mac)
			drop(link, &held.train, held.train.segs, EHOSTUNREACH);
		else if (!send_train(link, &held.train, mac))
			drop(link, &held.train, held.train.segs, EAGAIN);
	}
}

/* False: the caller keeps the train. */
static bool send_one(struct ethernet_link *link, const struct wire_train *train)
{
	const struct gid *next_hop;
	uint8_t group_mac[FRAME_MAC_LEN];
	const uint8_t *mac;

	if (gid_is_multicast(&train->dst)) {
		frame_group_mac(group_mac, &train->dst);
		return send_train(link, train, group_mac);
	}
	/* The device's receive sockets also receive its outgoing frames: so its slots reach each
	 * other. */
	if (gid_equal(&train->dst, &link->self.gid))
		return send_train(link, train, link->self.mac);
	next_hop = ethernet_next_hop(link, &train->dst);
	if (!next_hop) {
		drop(link, train, train->segs, ENETUNREACH);
		return true;
	}
	mac = ethernet_resolve(link, next_hop);
	if (mac)
		return send_train(link, train, mac);
	return hold(link, train, next_hop);
}

int ethernet_send(struct link *base, const struct wire_train *trains, size_t n)
{
	struct ethernet_link *link = (struct ethernet_link *)base;

	ethernet_neighbors_due(link);
	for (size_t i = 0; i < n; i++) {
		assert(trains[i].tx_index < LINK_TX_PORTS);
		if (!send_one(link, &trains[i]))
			return i > 0 ? (int)i : -EAGAIN;
	}
	return (int)n;
}
