/* SPDX-License-Identifier: MIT */
/* Writes packets as a pcapng file (draft-ietf-opsawg-pcapng). Little-endian on every machine, as
 * the byte-order magic of the section header states. */
#include "net/link/capture/pcapng.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define BLOCK_SECTION	 0x0a0d0d0au
#define BLOCK_INTERFACE	 1u
#define BLOCK_STATISTICS 5u
#define BLOCK_PACKET	 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINK_ETHERNET	 1u
#define MAX_PACKET_ROOM	 CAPTURE_PACKET_ROOM(FRAME_MAX_PAYLOAD)

enum option {
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_PACKET_FLAGS = 2,
	OPT_INTERFACE_NAME = 2,
	OPT_INTERFACE_DESCRIPTION = 3,
	OPT_PACKET_DROPCOUNT = 4,
	OPT_STATISTICS_RECEIVED = 4,
	OPT_STATISTICS_DROPPED = 5,
	OPT_APPLICATION = 4,
	OPT_TIME_RESOLUTION = 9,
};

/* Flags of a packet (epb_flags): direction and kind of destination. */
#define FLAG_INBOUND   1u
#define FLAG_OUTBOUND  2u
#define FLAG_UNICAST   (1u << 2)
#define FLAG_MULTICAST (2u << 2)

static uint8_t *put_le16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	return p + 2;
}

static uint8_t *put_le32(uint8_t *p, uint32_t v)
{
	return put_le16(put_le16(p, v & 0xffff), v >> 16);
}

static uint8_t *put_le64(uint8_t *p, uint64_t v)
{
	return put_le32(put_le32(p, (uint32_t)v), (uint32_t)(v >> 32));
}

/* Appends zeros up to the next multiple of four of len. */
static uint8_t *put_padding(uint8_t *p, size_t len)
{
	const size_t n = -len & 3;

	memset(p, 0, n);
	return p + n;
}

static uint8_t *put_option(uint8_t *p, enum option option, const void *value, size_t len)
{
	p = put_le16(put_le16(p, option), (uint32_t)len);
	memcpy(p, value, len);
	return put_padding(p + len, len);
}

static uint8_t *put_text(uint8_t *p, enum option option, const char *text, size_t max)
{
	return put_option(p, option, text, strnlen(text, max));
}

static uint8_t *put_number(uint8_t *p, enum option option, uint64_t number)
{
	return put_le64(put_le16(put_le16(p, option), sizeof(number)), number);
}

/* Blocks have the upper half of a time first. */
static uint8_t *put_time(uint8_t *p, uint64_t time_ns)
{
	return put_le32(put_le32(p, (uint32_t)(time_ns >> 32)), (uint32_t)time_ns);
}

/* A block has its length at both ends. */
static uint8_t *begin_block(uint8_t *p, uint32_t type)
{
	return put_le32(p, type) + 4;
}

static uint8_t *end_block(uint8_t *block, uint8_t *end)
{
	const uint32_t len = (uint32_t)(end + 4 - block);

	(void)put_le32(block + 4, len);
	return put_le32(end, len);
}

static uint8_t *put_section(uint8_t *block)
{
	uint8_t *p = begin_block(block, BLOCK_SECTION);

	p = put_le32(p, BYTE_ORDER_MAGIC);
	p = put_le16(p, 1); /* version 1.0 */
	p = put_le16(p, 0);
	p = put_le32(p, 0xffffffffu); /* the section has no length */
	p = put_le32(p, 0xffffffffu);
	p = put_text(p, OPT_APPLICATION, "rxe_dm", CAPTURE_NAME_MAX);
	p = put_option(p, OPT_END, "", 0);
	return end_block(block, p);
}

static uint8_t *put_interface(uint8_t *block, const char *device)
{
	static const uint8_t nanoseconds = 9;
	uint8_t *p = begin_block(block, BLOCK_INTERFACE);

	p = put_le16(p, LINK_ETHERNET);
	p = put_le16(p, 0);
	p = put_le32(p, 0); /* no snapshot length */
	p = put_text(p, OPT_INTERFACE_NAME, device, CAPTURE_NAME_MAX);
	p = put_text(
		p, OPT_INTERFACE_DESCRIPTION,
		"software RDMA device; Ethernet, IP and UDP headers are made up from what it knows",
		100);
	p = put_option(p, OPT_TIME_RESOLUTION, &nanoseconds, 1);
	p = put_option(p, OPT_END, "", 0);
	return end_block(block, p);
}

size_t capture_format_start(uint8_t *ret, size_t room, const char *device)
{
	const uint8_t *end;

	if (room < CAPTURE_START_ROOM)
		return 0;
	end = put_interface(put_section(ret), device);
	assert((size_t)(end - ret) <= room);
	return (size_t)(end - ret);
}

/* A locally administered MAC from the address, the same in all captures. */
static void made_up_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid)
{
	if (gid_is_multicast(gid)) {
		frame_group_mac(ret, gid);
		return;
	}
	ret[0] = 0x02;
	ret[1] = 0x00;
	memcpy(ret + 2, gid->raw + 12, 4);
}

static uint32_t wire_len_of(const struct capture_packet *packet)
{
	return packet->wire_len > packet->len ? packet->wire_len : packet->len;
}

static uint8_t *put_frame(uint8_t *p, const struct capture_packet *packet)
{
	struct frame frame = {
		.src = packet->src,
		.dst = packet->dst,
		.src_port = packet->src_port,
		.ip_id = packet->ip_id,
		.traffic_class = packet->traffic_class,
		.hop_limit = packet->hop_limit,
		.flow_label = packet->flow_label,
		.payload_len = wire_len_of(packet),
	};

	made_up_mac(frame.dst_mac, &packet->dst);
	made_up_mac(frame.src_mac, &packet->src);
	p += frame_emit_headers(p, &frame);
	if (packet->len > 0)
		memcpy(p, packet->p, packet->len);
	return p + packet->len;
}

static uint32_t flags_of(const struct capture_packet *packet)
{
	return (packet->sent ? FLAG_OUTBOUND : FLAG_INBOUND) |
	       (gid_is_multicast(&packet->dst) ? FLAG_MULTICAST : FLAG_UNICAST);
}

size_t capture_format_packet(uint8_t *ret, size_t room, const struct capture_packet *packet)
{
	uint8_t flags[4], *p;
	uint32_t headers, len;

	if (wire_len_of(packet) > FRAME_MAX_PAYLOAD || room < CAPTURE_PACKET_ROOM(packet->len))
		return 0;
	headers = frame_header_len(&packet->dst);
	len = headers + packet->len;
	p = begin_block(ret, BLOCK_PACKET);
	p = put_le32(p, 0); /* the interface */
	p = put_time(p, packet->time_ns);
	p = put_le32(p, len);
	p = put_le32(p, headers + wire_len_of(packet));
	p = put_padding(put_frame(p, packet), len);
	if (packet->comment && packet->comment[0])
		p = put_text(p, OPT_COMMENT, packet->comment, CAPTURE_COMMENT_MAX);
	(void)put_le32(flags, flags_of(packet));
	p = put_option(p, OPT_PACKET_FLAGS, flags, sizeof(flags));
	if (packet->missing > 0)
		p = put_number(p, OPT_PACKET_DROPCOUNT, packet->missing);
	p = end_block(ret, put_option(p, OPT_END, "", 0));
	assert((size_t)(p - ret) <= room);
	return (size_t)(p - ret);
}

size_t capture_format_end(uint8_t *ret, size_t room, const struct capture_totals *totals)
{
	uint8_t *p;

	if (room < CAPTURE_END_ROOM)
		return 0;
	p = begin_block(ret, BLOCK_STATISTICS);
	p = put_le32(p, 0); /* the interface */
	p = put_time(p, totals->time_ns);
	p = put_number(p, OPT_STATISTICS_RECEIVED, totals->packets);
	p = put_number(p, OPT_STATISTICS_DROPPED, totals->missing);
	p = end_block(ret, put_option(p, OPT_END, "", 0));
	assert((size_t)(p - ret) <= room);
	return (size_t)(p - ret);
}

static ssize_t write_bytes(FILE *file, const uint8_t *p, size_t len)
{
	errno = 0;
	if (fwrite(p, 1, len, file) == len)
		return (ssize_t)len;
	return errno ? -errno : -EIO;
}

ssize_t capture_write_start(FILE *file, const char *device)
{
	uint8_t block[CAPTURE_START_ROOM];

	return write_bytes(file, block, capture_format_start(block, sizeof(block), device));
}

ssize_t capture_write_packet(FILE *file, const struct capture_packet *packet)
{
	uint8_t block[MAX_PACKET_ROOM];
	const size_t len = capture_format_packet(block, sizeof(block), packet);

	return len ? write_bytes(file, block, len) : -EMSGSIZE;
}

ssize_t capture_write_end(FILE *file, const struct capture_totals *totals)
{
	uint8_t block[CAPTURE_END_ROOM];

	return write_bytes(file, block, capture_format_end(block, sizeof(block), totals));
}
