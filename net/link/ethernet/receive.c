/* SPDX-License-Identifier: MIT */
/* Receiving frames: RoCEv2 frames become arrivals, one for each packet; other frames go to
 * resolve.c.
 *
 * A train that the local kernel has not cut is split here. With PACKET_VNET_HDR (Linux 6.2) the
 * kernel reports the packet size. On older kernels, which refuse UDP trains with EINVAL, the option
 * is turned off, and the code tries the sizes that the first packet's BTH allows and after which
 * another BTH may follow; the ICRC shows the right one. */
#include <assert.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>

#include "net/link/clock.h"
#include "net/link/ethernet/private.h"
#include "net/link/socket.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define MIN_PACKET (BTH_LEN + ICRC_LEN)

struct sizes {
	uint32_t next, last, step; /* step 0: the payload doubles */
	uint32_t fixed;		   /* bytes beside the payload */
};

/* The sizes that a packet with this BTH may have. */
static struct sizes sizes_of(const uint8_t *p)
{
	const uint32_t shape = wire_shape(p[0]);
	const uint32_t fixed = wire_header_len(p[0]) + ICRC_LEN;

	if (!shape)
		return (struct sizes){ 1, 0, 1, 0 };
	if (!(shape & SHAPE_PAYLOAD))
		return (struct sizes){ fixed, fixed, 4, fixed };
	/* The payload is the path MTU. */
	if (!(shape & SHAPE_LAST))
		return (struct sizes){ fixed + 256, fixed + WIRE_MAX_PAYLOAD, 0, fixed };
	return (struct sizes){ fixed, fixed + WIRE_MAX_PAYLOAD, 4, fixed };
}

static uint32_t after(const struct sizes *sizes, uint32_t size)
{
	return sizes->step ? size + sizes->step : sizes->fixed + 2 * (size - sizes->fixed);
}

/* Whether a packet of the same train may start at q. */
static bool may_follow(const uint8_t *p, const uint8_t *q)
{
	return wire_shape(q[0]) && (q[1] & 0xf) == 0 && get_be16(q + 2) == get_be16(p + 2) &&
	       q[5] == p[5];
}

static bool is_right(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p, uint32_t len)
{
	struct wire_packet packet;

	return wire_parse(&packet, p, len) == WIRE_OK &&
	       icrc_check(flow, IP_ID_EXACT, ip_id, p, len) == ICRC_OK;
}

static uint32_t find_size(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p,
			  uint32_t len)
{
	const struct sizes sizes = sizes_of(p);
	uint32_t tries = 0;

	for (uint32_t size = sizes.next; size <= sizes.last && size <= len - MIN_PACKET;
	     size = after(&sizes, size)) {
		if (!may_follow(p, p + size))
			continue;
		if (is_right(flow, ip_id, p, size))
			return size;
		if (++tries == ETHERNET_SPLIT_TRIES)
			break;
	}
	return len;
}

/* The sender's kernel or NIC counts the identification up. A receiving kernel that merges packets
 * accepts equal identifications too. The ICRC of the second packet shows which. */
static uint16_t find_step(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p,
			  uint32_t len, uint32_t seg_len)
{
	uint32_t left = len - seg_len;

	if (!gid_is_v4(&flow->dst) || left == 0)
		return 1;
	if (left > seg_len)
		left = seg_len;
	if (is_right(flow, (uint16_t)(ip_id + 1), p + seg_len, left))
		return 1;
	return is_right(flow, ip_id, p + seg_len, left) ? 0 : 1;
}

struct ethernet_split ethernet_split(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p,
				     uint32_t len, uint32_t gso_size)
{
	struct ethernet_split split = { .seg_len = len };

	if (gso_size)
		split.seg_len = gso_size < len ? gso_size : len;
	else if (len >= 2 * MIN_PACKET && !is_right(flow, ip_id, p, len))
		split.seg_len = find_size(flow, ip_id, p, len);
	assert(split.seg_len > 0 || len == 0);
	split.id_step = find_step(flow, ip_id, p, len, split.seg_len);
	return split;
}

static void set_has_header(struct ethernet_rx *rx, bool has)
{
	rx->has_header = has;
	for (uint32_t i = 0; i < ETHERNET_RX_BATCH; i++) {
		rx->msg[i].msg_hdr.msg_iov = &rx->iov[i][has ? 0 : 1];
		rx->msg[i].msg_hdr.msg_iovlen = has ? 2 : 1;
	}
}

int ethernet_rx_init(struct ethernet_link *link)
{
	struct ethernet_rx *rx = &link->rx;
	int has_header = 0;
	socklen_t len = sizeof(has_header);

	if (getsockopt(link->cfg.rx_fd, SOL_PACKET, PACKET_VNET_HDR, &has_header, &len) != 0)
		return -errno;
	for (uint32_t i = 0; i < ETHERNET_RX_BATCH; i++) {
		rx->iov[i][0] = (struct iovec){ &rx->header[i], sizeof(rx->header[i]) };
		rx->iov[i][1] = (struct iovec){ rx->bytes[i], sizeof(rx->bytes[i]) };
	}
	set_has_header(rx, has_header != 0);
	return 0;
}

/* Reads frames. Returns how many, or what link_receive() returns when there are none. */
static int read_frames(struct ethernet_link *link)
{
	struct ethernet_rx *rx = &link->rx;
	int rc;

	rx->next = rx->count = 0;
	do {
		rc = recvmmsg(link->cfg.rx_fd, rx->msg, ETHERNET_RX_BATCH, MSG_DONTWAIT, NULL);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0 && errno == EINVAL && rx->has_header) {
		if (socket_set(link->cfg.rx_fd, SOL_PACKET, PACKET_VNET_HDR, 0) == 0)
			set_has_header(rx, false);
		return 0;
	}
	/* ENETDOWN and the like pass: the interface may come up again. */
	if (rc < 0)
		return link_receive_failed(&link->cfg.log, errno);
	rx->count = (uint32_t)rc;
	return rc;
}

/* Length of frame next. *ret_gso_size: packet size of an uncut train; 0: unknown. */
static uint32_t frame_len(const struct ethernet_rx *rx, uint32_t *ret_gso_size)
{
	const struct virtio_net_hdr *header = &rx->header[rx->next];
	uint32_t len = rx->msg[rx->next].msg_len;

	*ret_gso_size = 0;
	if (!rx->has_header)
		return len;
	len = len > sizeof(*header) ? len - (uint32_t)sizeof(*header) : 0;
	if ((header->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_UDP_L4)
		*ret_gso_size = header->gso_size;
	else if (header->gso_type == VIRTIO_NET_HDR_GSO_NONE)
		*ret_gso_size = ETHERNET_FRAME_MAX; /* one packet of any length */
	return len;
}

/* Whether both MAC and IP destination are the device's, or those of a joined group. */
static bool is_ours(const struct ethernet_link *link, const struct frame *frame)
{
	uint8_t group_mac[FRAME_MAC_LEN];

	if (gid_equal(&frame->dst, &link->self.gid))
		return memcmp(frame->dst_mac, link->self.mac, FRAME_MAC_LEN) == 0;
	if (gid_find(link->group, link->num_groups, &frame->dst) == link->num_groups)
		return false;
	frame_group_mac(group_mac, &frame->dst);
	return memcmp(frame->dst_mac, group_mac, FRAME_MAC_LEN) == 0;
}

static void begin_packets(struct ethernet_rx *rx, const struct frame *frame, uint32_t gso_size)
{
	const struct icrc_flow flow = { .src = frame->src,
					.dst = frame->dst,
					.src_port = frame->src_port };

	rx->opened = true;
	rx->p = frame->payload;
	rx->left = frame->payload_len;
	rx->split = ethernet_split(&flow, frame->ip_id, rx->p, rx->left, gso_size);
	rx->common = (struct wire_arrival){
		.src_port = frame->src_port,
		.ip_id = frame->ip_id,
		.id_rule = IP_ID_EXACT,
		.traffic_class = frame->traffic_class,
		.hop_limit = frame->hop_limit,
		.flow_label = frame->flow_label,
		.src = frame->src,
		.dst = frame->dst,
	};
}

/* Parses frame next. False: the frame has no packet for the device. */
static bool open_frame(struct ethernet_link *link, uint64_t now_ns)
{
	const uint8_t *p = link->rx.bytes[link->rx.next];
	struct frame frame;
	uint32_t gso_size;
	const uint32_t len = frame_len(&link->rx, &gso_size);

	switch (frame_parse(&frame, p, len)) {
	case FRAME_OK: break;
	case FRAME_NOT_ROCE: ethernet_neighbor_heard(link, p, len, now_ns); return false;
	case FRAME_RUNT:
	case FRAME_BAD_IP:
	case FRAME_BAD_CHECKSUM:
	case FRAME_FRAGMENT:
	case FRAME_BAD_UDP: link->base.stats.bad_frames++; return false;
	}
	if (!is_ours(link, &frame) || frame.payload_len == 0)
		return false;
	ethernet_datagram_heard(link, &frame, now_ns);
	begin_packets(&link->rx, &frame, gso_size);
	return true;
}

static void take_packet(struct ethernet_rx *rx, struct wire_arrival *ret)
{
	assert(rx->opened && rx->left > 0 && rx->split.seg_len > 0);
	*ret = rx->common;
	ret->p = rx->p;
	ret->len = rx->left < rx->split.seg_len ? rx->left : rx->split.seg_len;
	rx->common.ip_id = (uint16_t)(rx->common.ip_id + rx->split.id_step);
	rx->p += ret->len;
	rx->left -= ret->len;
	if (rx->left == 0) {
		rx->next++;
		rx->opened = false;
	}
}

static size_t take_packets(struct ethernet_link *link, struct wire_arrival *ret, size_t max,
			   uint64_t now_ns)
{
	struct ethernet_rx *rx = &link->rx;
	size_t n = 0;

	while (n < max && rx->next < rx->count) {
		if (rx->opened || open_frame(link, now_ns))
			take_packet(rx, &ret[n++]);
		else
			rx->next++;
	}
	return n;
}

int ethernet_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	struct ethernet_link *link = (struct ethernet_link *)base;

	if (max == 0)
		return 0;
	ethernet_neighbors_due(link);
	if (link->rx.next >= link->rx.count) {
		const int rc = read_frames(link);

		if (rc <= 0)
			return rc;
	}
	return (int)take_packets(link, ret, max, clock_now_ns());
}
