/* SPDX-License-Identifier: MIT */
/* RoCEv2 in an Ethernet frame (IBTA vol. 1, annex A17.3.1): Ethernet, IPv4 or IPv6, and UDP around BTH to ICRC. Bytes on one side,
 * one host-order struct on the other; no sockets, no state. The Ethernet link sends and receives by it, captures are made by it.
 *
 * What is sent: DF set, UDP checksum 0 (over IPv6 too, as RFC 6936 allows and rdma_rxe does), a right IPv4 header checksum.
 * What is taken: no VLAN tag, no IP options or extension headers, no fragments, lengths that agree, DF set (the ICRC counts on it),
 * a right IPv4 header checksum. The UDP checksum is not looked at: in frames of the local kernel it is only half computed, and
 * the ICRC covers more. Bytes behind the IP packet are Ethernet's padding. */
#ifndef RXE_LINK_ETHERNET_FRAME_H
#define RXE_LINK_ETHERNET_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define FRAME_MAC_LEN	  6u
#define FRAME_ETH_LEN	  14u
#define FRAME_IPV4_LEN	  20u
#define FRAME_IPV6_LEN	  40u
#define FRAME_UDP_LEN	  8u
#define FRAME_MAX_HEADERS (FRAME_ETH_LEN + FRAME_IPV6_LEN + FRAME_UDP_LEN)
#define FRAME_MAX_PAYLOAD 65507u /* an IPv4 packet at its longest */

#define ETHERTYPE_IPV4 0x0800u
#define ETHERTYPE_ARP  0x0806u
#define ETHERTYPE_IPV6 0x86ddu

struct frame {
	uint8_t dst_mac[FRAME_MAC_LEN];
	uint8_t src_mac[FRAME_MAC_LEN];
	struct gid src, dst; /* both IPv4-mapped, or both IPv6 */
	uint16_t src_port;
	uint16_t ip_id; /* IPv4 only */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label; /* IPv6 only */
	const uint8_t
		*payload; /* BTH to ICRC; of a train that nobody has cut yet, all its packets */
	uint32_t payload_len;
};

enum frame_result {
	FRAME_OK,
	FRAME_RUNT,	    /* shorter than its headers, or than they say */
	FRAME_NOT_ROCE,	    /* something else: not IP, not UDP, or another port */
	FRAME_BAD_IP,	    /* options, no DF, version and Ethernet type disagree */
	FRAME_BAD_CHECKSUM, /* of the IPv4 header */
	FRAME_FRAGMENT,
	FRAME_BAD_UDP, /* its length is not what IP says */
};

/* The payload points into p. *ret is written only when the result is FRAME_OK. */
enum frame_result frame_parse(struct frame *ret, const uint8_t *p, size_t len);

/* Bytes of Ethernet, IP and UDP headers to such an address. */
uint32_t frame_header_len(const struct gid *dst);

/* Write the headers (frame_header_len of them, at most FRAME_MAX_HEADERS) and return their length; payload_len bytes, at most
 * FRAME_MAX_PAYLOAD, follow. payload is not looked at. */
size_t frame_emit_headers(uint8_t *p, const struct frame *frame);

/* The Ethernet address of a multicast group (RFC 1112, RFC 2464). */
void frame_group_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *group);

/* The largest RoCE MTU (256..4096) whose packets fit an interface of that MTU; 0 when none does. */
uint32_t frame_path_mtu(uint32_t link_mtu, const struct gid *gid);

const char *frame_result_str(enum frame_result result);

/* The checksum of IP and its kin (RFC 1071) over len bytes, continuing from sum (host-order words added up): 0 when the bytes
 * hold a right one. */
uint16_t frame_checksum(uint32_t sum, const uint8_t *p, size_t len);

#endif
