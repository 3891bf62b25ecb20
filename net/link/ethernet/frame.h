/* SPDX-License-Identifier: MIT */
/* RoCEv2 in an Ethernet frame (IBTA vol. 1, annex A17.3.1): Ethernet, IPv4 or IPv6, and UDP headers
 * around BTH to ICRC. Bytes on one side, one host-order struct on the other; no sockets, no state.
 * Users are the Ethernet link and the capture files.
 *
 * Frames are written with DF, UDP checksum 0 (over IPv6 too, as RFC 6936 allows and rdma_rxe does)
 * and the right IPv4 header checksum. Parsing accepts frames without VLAN tag, IP options,
 * extension headers or fragmentation, with lengths that agree, DF set (the ICRC covers it) and the
 * right IPv4 header checksum. The UDP checksum is ignored: the local kernel may leave it
 * incomplete, and the ICRC covers more. Bytes after the IP packet are Ethernet padding. */
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
#define FRAME_MAX_PAYLOAD 65507u /* of the longest IPv4 packet */

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
	/* BTH to ICRC; all packets of a train that was not cut yet. */
	const uint8_t *payload;
	uint32_t payload_len;
};

enum frame_result {
	FRAME_OK,
	FRAME_RUNT,	    /* shorter than its headers or their length fields */
	FRAME_NOT_ROCE,	    /* not IP, not UDP, or another port */
	FRAME_BAD_IP,	    /* options, no DF, or version and Ethernet type differ */
	FRAME_BAD_CHECKSUM, /* IPv4 header checksum */
	FRAME_FRAGMENT,
	FRAME_BAD_UDP, /* UDP and IP lengths differ */
};

/* Parses a frame. ret->payload points into p. Writes *ret only for FRAME_OK. */
enum frame_result frame_parse(struct frame *ret, const uint8_t *p, size_t len);

/* Bytes of the Ethernet, IP and UDP headers of a frame to dst. */
uint32_t frame_header_len(const struct gid *dst);

/* Writes the headers and returns their length (frame_header_len, at most FRAME_MAX_HEADERS). The
 * caller appends payload_len bytes, at most FRAME_MAX_PAYLOAD; payload is ignored. */
size_t frame_emit_headers(uint8_t *p, const struct frame *frame);

/* Ethernet address of a multicast group (RFC 1112, RFC 2464). */
void frame_group_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *group);

/* Largest RoCE MTU (256..4096) whose packets fit an interface of that MTU; 0: none. */
uint32_t frame_path_mtu(uint32_t link_mtu, const struct gid *gid);

#endif
