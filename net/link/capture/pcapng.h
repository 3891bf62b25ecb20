/* SPDX-License-Identifier: MIT */
/* Captures: packets as a pcapng file that Wireshark, tshark and libpcap open (draft-ietf-opsawg-pcapng).
 *
 * A packet of ours is BTH to ICRC; the Ethernet, IP and UDP headers around it are made here from what the ICRC was computed with,
 * so that a reader decodes the packet and finds its ICRC right. Time stamps are in nanoseconds; a comment may say more (process,
 * QP, work request, fault fired).
 *
 * The format functions are pure: they fill a buffer with whole blocks and may be called by anybody, anywhere, a ring in shared
 * memory included. A file is one capture_format_start, any number of capture_format_packet behind it,
 * and perhaps a capture_format_end. */
#ifndef RXE_LINK_CAPTURE_PCAPNG_H
#define RXE_LINK_CAPTURE_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "net/link/ethernet/frame.h"

#define CAPTURE_COMMENT_MAX 1000u /* a longer comment is cut */
#define CAPTURE_NAME_MAX    64u	  /* and so is a longer name */
/* Room that is enough for the start of a file, and for a packet of len bytes. */
#define CAPTURE_START_ROOM	 512u
#define CAPTURE_END_ROOM	 64u
#define CAPTURE_PACKET_ROOM(len) (80u + FRAME_MAX_HEADERS + (len) + CAPTURE_COMMENT_MAX)

struct capture_packet {
	uint64_t time_ns; /* since 1970 */
	bool sent;	  /* by this device; otherwise it arrived */
	struct gid src, dst;
	uint16_t src_port;
	uint16_t ip_id; /* what the ICRC was computed with */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label;
	const uint8_t *p;    /* BTH to ICRC, or what a fault has left of it */
	uint32_t len;	     /* at most FRAME_MAX_PAYLOAD */
	uint32_t wire_len;   /* when only its first len bytes are here; else 0 */
	uint64_t missing;    /* packets before it that the capture should have had, and has not */
	const char *comment; /* NULL: none */
};

/* How it went, for the end of the file. */
struct capture_totals {
	uint64_t time_ns;
	uint64_t packets; /* that there were */
	uint64_t missing;
};

/* Section header and the block of the one interface. Returns the bytes written, or 0 when room is too small. */
size_t capture_format_start(uint8_t *ret, size_t room, const char *device);

/* One enhanced packet block. Returns the bytes written, or 0 when room is too small or the packet too long. */
size_t capture_format_packet(uint8_t *ret, size_t room, const struct capture_packet *packet);

/* The interface's statistics. Returns the bytes written, or 0 when room is too small. */
size_t capture_format_end(uint8_t *ret, size_t room, const struct capture_totals *totals);

/* The same into a file that the caller opened, and closes. 0, or -errno (-EMSGSIZE: the packet is too long). */
int capture_write_start(FILE *file, const char *device);
int capture_write_packet(FILE *file, const struct capture_packet *packet);
int capture_write_end(FILE *file, const struct capture_totals *totals);

#endif
