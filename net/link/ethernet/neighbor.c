/* SPDX-License-Identifier: MIT */
/* Parsing and writing ARP (RFC 826) and IPv6 neighbor discovery (RFC 4861) frames. Frames that
 * break a rule (hop limit 255, checksum, sizes of addresses) are ignored. */
#include "net/link/ethernet/neighbor.h"

#include <assert.h>
#include <string.h>

#include "net/wire/ip.h"
#include "net/wire/packet.h"

#define ARP_LEN	     28u
#define ARP_ETHERNET 1u
#define ARP_REQUEST  1u
#define ARP_REPLY    2u

#define PROTO_ICMPV6	 58u
#define ND_LEN		 24u
#define ND_LEN_MAC	 32u /* with the option of a MAC */
#define ND_HOP_LIMIT	 255u
#define ND_SOLICITATION	 135u
#define ND_ADVERTISEMENT 136u
#define ND_SOLICITED	 0x40u
#define ND_OVERRIDE	 0x20u
#define OPT_SOURCE_MAC	 1u
#define OPT_TARGET_MAC	 2u

static const uint8_t broadcast[FRAME_MAC_LEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const struct gid all_nodes = { { 0xff, 0x02, [15] = 1 } };

static bool is_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

static enum neighbor_kind parse_arp(struct neighbor_message *ret, const uint8_t *p, size_t len)
{
	static const uint8_t head[6] = { 0, ARP_ETHERNET, 8, 0, FRAME_MAC_LEN, 4 };
	uint16_t op;

	if (len < ARP_LEN || memcmp(p, head, sizeof(head)) != 0)
		return NEIGHBOR_OTHER;
	op = get_be16(p + 6);
	ret->has_sender = !is_zero(p + 14, 4);
	memcpy(ret->mac, p + 8, FRAME_MAC_LEN);
	gid_set_v4(&ret->sender, p + 14);
	gid_set_v4(&ret->target, p + 24);
	if (op == ARP_REQUEST)
		return NEIGHBOR_SOLICITATION;
	return op == ARP_REPLY && ret->has_sender ? NEIGHBOR_ADVERTISEMENT : NEIGHBOR_OTHER;
}

/* Finds the option with a MAC; *ret is NULL when it is absent. False: the options are malformed. */
static bool find_mac(const uint8_t **ret, uint8_t option, const uint8_t *p, size_t len)
{
	*ret = NULL;
	while (len > 0) {
		size_t n;

		if (len < 8 || p[1] == 0)
			return false;
		n = 8u * p[1];
		if (n > len)
			return false;
		if (p[0] == option && n == 8)
			*ret = p + 2;
		p += n;
		len -= n;
	}
	return true;
}

static uint16_t icmp_checksum(const uint8_t *ip, const uint8_t *p, size_t len)
{
	uint32_t sum = (uint32_t)len + PROTO_ICMPV6;

	for (size_t i = 8; i < FRAME_IPV6_LEN; i += 2)
		sum += get_be16(ip + i);
	return wire_checksum(sum, p, len);
}

/* ret->mac holds the frame's source on entry: an advertisement that answers a unicast solicitation
 * may omit the MAC (RFC 4861, 4.4). */
static enum neighbor_kind parse_icmp(struct neighbor_message *ret, const uint8_t *ip,
				     const uint8_t *p, size_t len)
{
	const bool solicits = p[0] == ND_SOLICITATION;
	const uint8_t *mac;

	if (!solicits && p[0] != ND_ADVERTISEMENT)
		return NEIGHBOR_OTHER;
	memcpy(ret->target.raw, p + 8, 16);
	if (p[1] != 0 || gid_is_multicast(&ret->target) ||
	    !find_mac(&mac, solicits ? OPT_SOURCE_MAC : OPT_TARGET_MAC, p + ND_LEN, len - ND_LEN))
		return NEIGHBOR_OTHER;
	if (mac)
		memcpy(ret->mac, mac, FRAME_MAC_LEN);
	if (!solicits) {
		ret->sender = ret->target;
		ret->has_sender = true;
		return NEIGHBOR_ADVERTISEMENT;
	}
	memcpy(ret->sender.raw, ip + 8, 16);
	ret->has_sender = mac && !is_zero(ip + 8, 16);
	return NEIGHBOR_SOLICITATION;
}

static enum neighbor_kind parse_v6(struct neighbor_message *ret, const uint8_t *p, size_t len)
{
	const uint8_t *icmp = p + FRAME_IPV6_LEN;
	size_t icmp_len;

	if (len < FRAME_IPV6_LEN + ND_LEN || p[0] >> 4 != 6 || p[6] != PROTO_ICMPV6 ||
	    p[7] != ND_HOP_LIMIT)
		return NEIGHBOR_OTHER;
	icmp_len = get_be16(p + 4);
	if (icmp_len < ND_LEN || icmp_len > len - FRAME_IPV6_LEN ||
	    icmp_checksum(p, icmp, icmp_len) != 0)
		return NEIGHBOR_OTHER;
	return parse_icmp(ret, p, icmp, icmp_len);
}

enum neighbor_kind neighbor_parse(struct neighbor_message *ret, const uint8_t *p, size_t len)
{
	struct neighbor_message message = { 0 };
	enum neighbor_kind kind = NEIGHBOR_OTHER;
	uint16_t ethertype;

	if (len < FRAME_ETH_LEN)
		return NEIGHBOR_OTHER;
	memcpy(message.mac, p + FRAME_MAC_LEN, FRAME_MAC_LEN);
	ethertype = get_be16(p + 12);
	if (ethertype == ETHERTYPE_ARP)
		kind = parse_arp(&message, p + FRAME_ETH_LEN, len - FRAME_ETH_LEN);
	else if (ethertype == ETHERTYPE_IPV6)
		kind = parse_v6(&message, p + FRAME_ETH_LEN, len - FRAME_ETH_LEN);
	/* No host has a group's MAC. */
	if (message.mac[0] & 1)
		kind = NEIGHBOR_OTHER;
	if (kind != NEIGHBOR_OTHER)
		*ret = message;
	return kind;
}

static uint8_t *put_ethernet(uint8_t *p, const uint8_t *dst, const struct neighbor_self *self,
			     uint16_t ethertype)
{
	memcpy(p, dst, FRAME_MAC_LEN);
	memcpy(p + FRAME_MAC_LEN, self->mac, FRAME_MAC_LEN);
	put_be16(p + 12, ethertype);
	return p + FRAME_ETH_LEN;
}

/* target_mac is NULL when unknown. */
static size_t put_arp(uint8_t *frame, const uint8_t *dst, const struct neighbor_self *self,
		      uint16_t op, const struct gid *target, const uint8_t *target_mac)
{
	uint8_t *p = put_ethernet(frame, dst, self, ETHERTYPE_ARP);

	assert(gid_is_v4(&self->gid) && gid_is_v4(target));
	put_be16(p, ARP_ETHERNET);
	put_be16(p + 2, ETHERTYPE_IPV4);
	p[4] = FRAME_MAC_LEN;
	p[5] = 4;
	put_be16(p + 6, op);
	memcpy(p + 8, self->mac, FRAME_MAC_LEN);
	memcpy(p + 14, self->gid.raw + 12, 4);
	memset(p + 18, 0, FRAME_MAC_LEN);
	if (target_mac)
		memcpy(p + 18, target_mac, FRAME_MAC_LEN);
	memcpy(p + 24, target->raw + 12, 4);
	return FRAME_ETH_LEN + ARP_LEN;
}

/* Writes a solicitation or advertisement with the sender's MAC in its option. */
static size_t put_nd(uint8_t *frame, const uint8_t *dst_mac, const struct neighbor_self *self,
		     const struct gid *dst, uint8_t type, uint8_t flags, const struct gid *target)
{
	uint8_t *ip = put_ethernet(frame, dst_mac, self, ETHERTYPE_IPV6);
	uint8_t *p = ip + FRAME_IPV6_LEN;

	assert(!gid_is_v4(&self->gid) && !gid_is_v4(target));
	put_be32(ip, 6u << 28);
	put_be16(ip + 4, ND_LEN_MAC);
	ip[6] = PROTO_ICMPV6;
	ip[7] = ND_HOP_LIMIT;
	memcpy(ip + 8, self->gid.raw, 16);
	memcpy(ip + 24, dst->raw, 16);
	memset(p, 0, ND_LEN_MAC);
	p[0] = type;
	p[4] = flags;
	memcpy(p + 8, target->raw, 16);
	p[ND_LEN] = type == ND_SOLICITATION ? OPT_SOURCE_MAC : OPT_TARGET_MAC;
	p[ND_LEN + 1] = 1;
	memcpy(p + ND_LEN + 2, self->mac, FRAME_MAC_LEN);
	put_be16(p + 2, icmp_checksum(ip, p, ND_LEN_MAC));
	return FRAME_ETH_LEN + FRAME_IPV6_LEN + ND_LEN_MAC;
}

/* ff02::1:ffXX:XXXX */
static struct gid solicited_node(const struct gid *gid)
{
	struct gid group = { { 0xff, 0x02, [11] = 1, 0xff } };

	memcpy(group.raw + 13, gid->raw + 13, 3);
	return group;
}

void neighbor_group_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid)
{
	const struct gid group = solicited_node(gid);

	frame_group_mac(ret, &group);
}

size_t neighbor_emit_solicitation(uint8_t *p, const struct neighbor_self *self,
				  const struct gid *target, const uint8_t *mac)
{
	uint8_t group_mac[FRAME_MAC_LEN];
	struct gid group;

	if (gid_is_v4(target))
		return put_arp(p, mac ? mac : broadcast, self, ARP_REQUEST, target, NULL);
	if (mac)
		return put_nd(p, mac, self, target, ND_SOLICITATION, 0, target);
	group = solicited_node(target);
	frame_group_mac(group_mac, &group);
	return put_nd(p, group_mac, self, &group, ND_SOLICITATION, 0, target);
}

size_t neighbor_emit_advertisement(uint8_t *p, const struct neighbor_self *self,
				   const struct neighbor_message *solicitation)
{
	if (gid_is_v4(&self->gid))
		return put_arp(p, solicitation->mac, self, ARP_REPLY, &solicitation->sender,
			       solicitation->mac);
	if (solicitation->has_sender)
		return put_nd(p, solicitation->mac, self, &solicitation->sender, ND_ADVERTISEMENT,
			      ND_SOLICITED | ND_OVERRIDE, &self->gid);
	/* The solicitation is duplicate address detection (RFC 4862): its sender has no address. */
	return neighbor_emit_announcement(p, self);
}

size_t neighbor_emit_announcement(uint8_t *p, const struct neighbor_self *self)
{
	uint8_t group_mac[FRAME_MAC_LEN];

	if (gid_is_v4(&self->gid))
		return put_arp(p, broadcast, self, ARP_REQUEST, &self->gid, NULL);
	frame_group_mac(group_mac, &all_nodes);
	return put_nd(p, group_mac, self, &all_nodes, ND_ADVERTISEMENT, ND_OVERRIDE, &self->gid);
}
