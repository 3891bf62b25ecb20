/* SPDX-License-Identifier: MIT */
/* The headers of an Ethernet frame as flow rules and the receive hash see them. Pure: bytes in,
 * structs out. Below: checksum offload.
 *
 * Ethernet | VLAN tags | IPv4 or IPv6 | TCP, UDP or ESP | payload
 *                                     | GRE, or UDP with VXLAN or MPLS | inner Ethernet or IP ...
 *
 * Each header is stored in the layout of its ibv_flow_*_filter, in network order, so that a rule
 * compares bytes. Headers after a tunnel's belong to the inner level. Nothing is read beyond the
 * frame; a header that is cut short or malformed counts as payload. */
#ifndef RXE_EMU_RAW_FRAME_H
#define RXE_EMU_RAW_FRAME_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_ETH_LEN  14u
#define RAW_VLAN_LEN 4u
/* A frame that is shorter is padded with zeros when it is sent (IEEE 802.3, without the FCS). */
#define RAW_MIN_FRAME 60u

/* Headers that a rule may name. TCP and UDP share their place: a packet has one of them. */
enum raw_header {
	RAW_ETH,
	RAW_IPV4,
	RAW_IPV6,
	RAW_TCP,
	RAW_UDP,
	RAW_ESP,
	RAW_VXLAN,
	RAW_GRE,
	RAW_MPLS,
	RAW_HEADERS,
};

struct raw_eth {
	uint8_t dst[6], src[6];
	uint8_t type[2]; /* after the last VLAN tag */
	uint8_t vlan[2]; /* the first tag: priority, CFI, VLAN */
	uint8_t tagged;	 /* 0xff: vlan is valid */
};
static_assert(sizeof(struct raw_eth) == 17, "struct ibv_flow_eth_filter and tagged");

struct raw_ipv4 {
	uint8_t src[4], dst[4];
	uint8_t proto, tos, ttl;
	uint8_t flags; /* 2: do not fragment, 4: more fragments */
};
static_assert(sizeof(struct raw_ipv4) == 12, "struct ibv_flow_ipv4_ext_filter");

struct raw_ipv6 {
	uint8_t src[16], dst[16];
	uint8_t flow_label[4];
	uint8_t next_hdr; /* after the extension headers */
	uint8_t traffic_class, hop_limit;
};
static_assert(sizeof(struct raw_ipv6) == 39, "struct ibv_flow_ipv6_filter without its pad");

struct raw_ports {
	uint8_t dst[2], src[2];
};

struct raw_esp {
	uint8_t spi[4], seq[4];
};

struct raw_gre {
	uint8_t flags[2], protocol[2];
	uint8_t key[4]; /* 0 where the header has none */
};

/* Headers of one level. A fragment has no ports: only the first one would. */
struct raw_level {
	uint32_t has; /* 1 << enum raw_header */
	struct raw_eth eth;
	struct raw_ipv4 ipv4;
	struct raw_ipv6 ipv6;
	struct raw_ports ports;
	struct raw_esp esp;
	uint8_t vxlan[4]; /* the VNI, in the low 24 bits */
	struct raw_gre gre;
	uint8_t mpls[4]; /* the first label */
};

struct raw_frame {
	struct raw_level level[2]; /* outer, inner */
	/* Where the outer headers are, for checksums; 0: none. l4_at also if the packet is shorter
	 * than its IP header says. */
	uint32_t l3_at, l3_len, l4_at;
	uint32_t l4_len; /* TCP or UDP header and payload, by the IP header */
};

static inline bool raw_level_has(const struct raw_level *level, enum raw_header header)
{
	return level->has & 1u << header;
}

/* False: shorter than an Ethernet header. */
bool raw_frame_parse(struct raw_frame *ret, const uint8_t *p, size_t len);

/* Checksum offload of raw frames: the IPv4 header and TCP or UDP after it or after IPv6, in the
 * outer headers only. Pure. */

/* Whether an IPv4 packet's header and its TCP or UDP checksum are right (IBV_WC_IP_CSUM_OK). False
 * for all other packets: nothing was checked. */
bool raw_checksums_are_good(const struct raw_frame *frame, const uint8_t *p);
/* Writes the checksums into the frame. Headers that it lacks are passed by. */
void raw_checksums_fill(const struct raw_frame *frame, uint8_t *p);

#endif
