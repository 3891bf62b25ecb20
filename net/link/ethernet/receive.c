/* SPDX-License-Identifier: MIT */
/* Receiving frames: RoCEv2 frames become arrivals, one for each packet; other frames go to
 * resolve.c. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "net/link/clock.h"
#include "net/link/ethernet/private.h"

/* Whether both MAC and IP destination are the device's, or those of a joined group. */
static bool is_ours(const struct ethernet_link *link, const struct frame *frame)
{
	uint8_t group_mac[FRAME_MAC_LEN];

	if (gid_equal(&frame->dst, &link->self.gid))
		return memcmp(frame->dst_mac, link->self.mac, FRAME_MAC_LEN) == 0;
	if (!gid_is_multicast(&frame->dst) || !ethernet_find_group(link, &frame->dst))
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
	const struct ethernet_frame *raw = &link->rx.frame[link->rx.next];
	struct frame frame;

	switch (frame_parse(&frame, raw->p, raw->len)) {
	case FRAME_OK: break;
	case FRAME_NOT_ROCE: ethernet_neighbor_heard(link, raw, now_ns); return false;
	case FRAME_RUNT:
	case FRAME_BAD_IP:
	case FRAME_BAD_CHECKSUM:
	case FRAME_FRAGMENT:
	case FRAME_BAD_UDP: link->base.stats.bad_frames++; return false;
	}
	if (!is_ours(link, &frame) || frame.payload_len == 0)
		return false;
	ethernet_datagram_heard(link, &frame, now_ns);
	begin_packets(&link->rx, &frame, raw->gso_size);
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
	struct ethernet_rx *rx = &link->rx;
	uint64_t now_ns;
	int rc;

	if (max == 0)
		return 0;
	ethernet_neighbors_due(link);
	if (rx->next >= rx->count) {
		rx->next = rx->count = 0;
		rc = link->port->read(link->port, rx->frame, ETHERNET_RX_BATCH);
		/* ENETDOWN and the like pass: the interface may come up again. */
		if (rc <= 0)
			return link_receive_failed(&link->log, -rc);
		rx->count = (uint32_t)rc;
	}
	now_ns = clock_now_ns();
	return (int)take_packets(link, ret, max, now_ns);
}
