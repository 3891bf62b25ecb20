/* SPDX-License-Identifier: MIT */
/* The Internet checksum, and the 40 bytes in front of a received UD payload (RoCEv2 annex
 * A17.4.5.1). */
#include "net/wire/ip.h"

#include <string.h>

#include "net/wire/packet.h"

uint16_t wire_checksum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += get_be16(p + i);
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

#define PROTO_UDP 17

static void emit_v4(uint8_t p[static 20], const struct grh_fields *fields)
{
	p[0] = 0x45;
	p[1] = fields->traffic_class;
	put_be16(p + 2, (uint16_t)(fields->ip_payload_len + 20));
	put_be16(p + 4, fields->ip_id);
	p[6] = 0x40; /* DF */
	p[8] = fields->hop_limit;
	p[9] = PROTO_UDP;
	memcpy(p + 12, fields->src.raw + 12, 4);
	memcpy(p + 16, fields->dst.raw + 12, 4);
	put_be16(p + 10, wire_checksum(0, p, 20));
}

void grh_emit(uint8_t p[GRH_LEN], const struct grh_fields *fields)
{
	memset(p, 0, GRH_LEN);
	if (gid_is_v4(&fields->dst)) {
		emit_v4(p + 20, fields);
		return;
	}
	put_be32(p,
		 6u << 28 | (uint32_t)fields->traffic_class << 20 | (fields->flow_label & 0xfffff));
	put_be16(p + 4, fields->ip_payload_len);
	p[6] = PROTO_UDP;
	p[7] = fields->hop_limit;
	memcpy(p + 8, fields->src.raw, 16);
	memcpy(p + 24, fields->dst.raw, 16);
}
