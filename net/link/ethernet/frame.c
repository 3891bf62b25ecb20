/* SPDX-License-Identifier: MIT */
/* Parsing and writing RoCEv2 frames (IBTA vol. 1, annex A17.3.1). */
#include "net/link/ethernet/frame.h"

#include <assert.h>
#include <string.h>

#include "net/wire/ip.h"
#include "net/wire/packet.h"

#define PROTO_UDP    17u
#define IPV4_VERSION 0x45u /* version 4, header of five words: no options */
#define IPV4_DF	     0x4000u
#define IPV4_MF	     0x2000u
#define IPV4_OFFSET  0x1fffu

/* What follows an IP header, by its length fields. */
struct ip_payload {
	const uint8_t *p;
	size_t len;
};

static enum frame_result parse_v4(struct frame *ret, struct ip_payload *rest, const uint8_t *p,
				  size_t len)
{
	uint16_t total, flags;

	if (len < FRAME_IPV4_LEN)
		return FRAME_RUNT;
	if (p[9] != PROTO_UDP)
		return FRAME_NOT_ROCE;
	if (p[0] != IPV4_VERSION)
		return FRAME_BAD_IP;
	total = get_be16(p + 2);
	flags = get_be16(p + 6);
	if (total < FRAME_IPV4_LEN || total > len)
		return FRAME_RUNT;
	if (wire_checksum(0, p, FRAME_IPV4_LEN) != 0)
		return FRAME_BAD_CHECKSUM;
	if (flags & (IPV4_MF | IPV4_OFFSET))
		return FRAME_FRAGMENT;
	if (flags != IPV4_DF)
		return FRAME_BAD_IP;
	ret->traffic_class = p[1];
	ret->ip_id = get_be16(p + 4);
	ret->hop_limit = p[8];
	gid_set_v4(&ret->src, p + 12);
	gid_set_v4(&ret->dst, p + 16);
	*rest = (struct ip_payload){ p + FRAME_IPV4_LEN, total - FRAME_IPV4_LEN };
	return FRAME_OK;
}

static enum frame_result parse_v6(struct frame *ret, struct ip_payload *rest, const uint8_t *p,
				  size_t len)
{
	uint32_t first;
	uint16_t payload_len;

	if (len < FRAME_IPV6_LEN)
		return FRAME_RUNT;
	first = get_be32(p);
	payload_len = get_be16(p + 4);
	if (p[6] != PROTO_UDP)
		return FRAME_NOT_ROCE;
	if (first >> 28 != 6)
		return FRAME_BAD_IP;
	if (payload_len > len - FRAME_IPV6_LEN)
		return FRAME_RUNT;
	ret->traffic_class = (uint8_t)(first >> 20);
	ret->flow_label = first & 0xfffff;
	ret->hop_limit = p[7];
	memcpy(ret->src.raw, p + 8, 16);
	memcpy(ret->dst.raw, p + 24, 16);
	*rest = (struct ip_payload){ p + FRAME_IPV6_LEN, payload_len };
	/* The rest of the code takes a mapped address for IPv4. */
	return gid_is_v4(&ret->src) || gid_is_v4(&ret->dst) ? FRAME_BAD_IP : FRAME_OK;
}

static enum frame_result parse_udp(struct frame *ret, const struct ip_payload *ip)
{
	if (ip->len < FRAME_UDP_LEN)
		return FRAME_RUNT;
	if (get_be16(ip->p + 2) != ROCE_UDP_PORT)
		return FRAME_NOT_ROCE;
	if (get_be16(ip->p + 4) != ip->len)
		return FRAME_BAD_UDP;
	ret->src_port = get_be16(ip->p);
	ret->payload = ip->p + FRAME_UDP_LEN;
	ret->payload_len = (uint32_t)(ip->len - FRAME_UDP_LEN);
	return FRAME_OK;
}

enum frame_result frame_parse(struct frame *ret, const uint8_t *p, size_t len)
{
	struct frame frame = { 0 };
	struct ip_payload ip = { 0 };
	enum frame_result result;
	uint16_t ethertype;

	if (len < FRAME_ETH_LEN)
		return FRAME_RUNT;
	memcpy(frame.dst_mac, p, FRAME_MAC_LEN);
	memcpy(frame.src_mac, p + FRAME_MAC_LEN, FRAME_MAC_LEN);
	ethertype = get_be16(p + 12);
	if (ethertype == ETHERTYPE_IPV4)
		result = parse_v4(&frame, &ip, p + FRAME_ETH_LEN, len - FRAME_ETH_LEN);
	else if (ethertype == ETHERTYPE_IPV6)
		result = parse_v6(&frame, &ip, p + FRAME_ETH_LEN, len - FRAME_ETH_LEN);
	else
		return FRAME_NOT_ROCE;
	if (result == FRAME_OK)
		result = parse_udp(&frame, &ip);
	if (result == FRAME_OK)
		*ret = frame;
	return result;
}

uint32_t frame_header_len(const struct gid *dst)
{
	return FRAME_ETH_LEN + (gid_is_v4(dst) ? FRAME_IPV4_LEN : FRAME_IPV6_LEN) + FRAME_UDP_LEN;
}

size_t frame_emit_headers(uint8_t *p, const struct frame *frame)
{
	const bool v4 = gid_is_v4(&frame->dst);
	const size_t ip_len = v4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN;
	const uint16_t udp_len = (uint16_t)(FRAME_UDP_LEN + frame->payload_len);
	const struct grh_fields fields = { .src = frame->src,
					   .dst = frame->dst,
					   .traffic_class = frame->traffic_class,
					   .hop_limit = frame->hop_limit,
					   .flow_label = frame->flow_label,
					   .ip_payload_len = udp_len,
					   .ip_id = frame->ip_id };
	uint8_t ip[GRH_LEN], *udp = p + FRAME_ETH_LEN + ip_len;

	assert(frame->payload_len <= FRAME_MAX_PAYLOAD);
	memcpy(p, frame->dst_mac, FRAME_MAC_LEN);
	memcpy(p + FRAME_MAC_LEN, frame->src_mac, FRAME_MAC_LEN);
	put_be16(p + 12, v4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	/* An IPv4 header is the end of the 40 bytes. */
	grh_emit(ip, &fields);
	memcpy(p + FRAME_ETH_LEN, ip + GRH_LEN - ip_len, ip_len);
	put_be16(udp, frame->src_port);
	put_be16(udp + 2, ROCE_UDP_PORT);
	put_be16(udp + 4, udp_len);
	put_be16(udp + 6, 0);
	return FRAME_ETH_LEN + ip_len + FRAME_UDP_LEN;
}

void frame_group_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *group)
{
	static const uint8_t v4[3] = { 0x01, 0x00, 0x5e };

	if (gid_is_v4(group)) {
		memcpy(ret, v4, sizeof(v4));
		ret[3] = group->raw[13] & 0x7f;
		memcpy(ret + 4, group->raw + 14, 2);
		return;
	}
	memset(ret, 0x33, 2);
	memcpy(ret + 2, group->raw + 12, 4);
}

uint32_t frame_path_mtu(uint32_t link_mtu, const struct gid *gid)
{
	/* The longest headers with payload: an XRC WRITE with immediate. */
	const uint32_t headers = frame_header_len(gid) - FRAME_ETH_LEN + BTH_LEN + XRCETH_LEN +
				 RETH_LEN + IMM_LEN + ICRC_LEN;

	for (uint32_t mtu = WIRE_MAX_PAYLOAD; mtu >= 256; mtu /= 2)
		if (mtu + headers <= link_mtu)
			return mtu;
	return 0;
}
