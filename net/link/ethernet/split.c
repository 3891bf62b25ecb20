/* SPDX-License-Identifier: MIT */
/* Finds where the packets of an uncut train end. Linux 6.2 reports the size (PACKET_VNET_HDR). On
 * older kernels the code tries the sizes that the first packet's BTH allows and behind which
 * another BTH may follow; the ICRC shows the right one. */
#include "net/link/ethernet/split.h"

#include <assert.h>
#include <stdbool.h>

#include "net/wire/opcode.h"
#include "net/wire/packet.h"

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
	struct ethernet_split split = { .seg_len = len, .id_step = 1 };

	if (gso_size)
		split.seg_len = gso_size < len ? gso_size : len;
	else if (len >= 2 * MIN_PACKET && !is_right(flow, ip_id, p, len))
		split.seg_len = find_size(flow, ip_id, p, len);
	assert(split.seg_len > 0 || len == 0);
	if (split.seg_len < len)
		split.id_step = find_step(flow, ip_id, p, len, split.seg_len);
	return split;
}
