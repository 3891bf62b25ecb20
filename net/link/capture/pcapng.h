/* SPDX-License-Identifier: MIT */
/* Writes packets as a pcapng file for Wireshark, tshark and libpcap (draft-ietf-opsawg-pcapng).
 *
 * A packet is BTH to ICRC. Its Ethernet, IP and UDP headers are made from the fields that the ICRC
 * covers, so that a reader decodes the packet and its ICRC is right. Times are in nanoseconds. A
 * comment may name process, QP, work request and fault.
 *
 * The format functions are pure and fill a buffer with whole blocks. A file is one
 * capture_format_start, any number of capture_format_packet, and an optional capture_format_end. */
#ifndef RXE_LINK_CAPTURE_PCAPNG_H
#define RXE_LINK_CAPTURE_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "net/link/ethernet/frame.h"

#define CAPTURE_COMMENT_MAX 1000u /* longer comments are cut */
#define CAPTURE_NAME_MAX    64u	  /* longer names are cut */
/* Room that suffices for the start of a file, its end, and a packet of len bytes. */
#define CAPTURE_START_ROOM	 512u
#define CAPTURE_END_ROOM	 64u
#define CAPTURE_PACKET_ROOM(len) (80u + FRAME_MAX_HEADERS + (len) + CAPTURE_COMMENT_MAX)

struct capture_packet {
	uint64_t time_ns; /* since 1970 */
	bool sent;	  /* by this device; false: received */
	struct gid src, dst;
	uint16_t src_port;
	uint16_t ip_id; /* the identification that the ICRC covers */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label;
	const uint8_t *p;    /* BTH to ICRC; shorter when a fault truncated the packet */
	uint32_t len;	     /* at most FRAME_MAX_PAYLOAD */
	uint32_t wire_len;   /* length of the packet when p has only its first len bytes; else 0 */
	uint64_t missing;    /* packets before this one that the capture lost */
	const char *comment; /* NULL: none */
};

/* Statistics at the end of a file. */
struct capture_totals {
	uint64_t time_ns;
	uint64_t packets; /* missing ones included */
	uint64_t missing;
};

/* Section header and interface block. Returns the bytes written, or 0 when room is too small. */
size_t capture_format_start(uint8_t *ret, size_t room, const char *device);

/* Enhanced packet block. Returns the bytes written, or 0 when room is too small or the packet too
 * long. */
size_t capture_format_packet(uint8_t *ret, size_t room, const struct capture_packet *packet);

/* Interface statistics block. Returns the bytes written, or 0 when room is too small. */
size_t capture_format_end(uint8_t *ret, size_t room, const struct capture_totals *totals);

/* The same into a file. Returns the bytes written, -EMSGSIZE (the packet is too long) or -errno. */
ssize_t capture_write_start(FILE *file, const char *device);
ssize_t capture_write_packet(FILE *file, const struct capture_packet *packet);
ssize_t capture_write_end(FILE *file, const struct capture_totals *totals);

#endif
