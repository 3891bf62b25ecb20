// SPDX-License-Identifier: MIT
/* Headers of the datagram protocol. */
#include "lib/rdmacm/rsocket/datagram_message.h"

#include <arpa/inet.h>
#include <string.h>

#define TAG	 0x55555555u
#define QPN_MASK 0xffffffu

/* By version. */
struct layout {
	int family;
	uint32_t ip_len, ud_len, udp_len;
};

static const struct layout ipv4 = { AF_INET, 4, 8, 16 };
static const struct layout ipv6 = { AF_INET6, 16, RS_UD_HEADER_MAX, RS_UDP_HEADER_MAX };

/* NULL: no such version. */
static const struct layout *find(uint8_t version)
{
	if (version == 4)
		return &ipv4;
	return version == 6 ? &ipv6 : NULL;
}

static uint8_t version_of(const struct rs_address *address)
{
	return address->family == AF_INET6 ? 6 : 4;
}

/* The address ends the header. */
static void emit_ip(uint8_t *to, uint32_t header_len, const struct rs_address *address)
{
	uint32_t ip_len = find(version_of(address))->ip_len;

	memcpy(to + header_len - ip_len, address->ip, ip_len);
}

uint32_t rs_ud_header_emit(uint8_t to[RS_UD_HEADER_MAX], const struct rs_address *from)
{
	uint32_t len = find(version_of(from))->ud_len;

	memset(to, 0, RS_UD_HEADER_MAX);
	to[0] = version_of(from);
	to[1] = (uint8_t)len;
	memcpy(to + 2, &from->port, sizeof(from->port));
	emit_ip(to, len, from);
	return len;
}

uint32_t rs_ud_header_parse(struct rs_address *ret, const uint8_t *bytes, uint32_t len)
{
	const struct layout *layout = len >= ipv4.ud_len ? find(bytes[0]) : NULL;
	uint16_t port;

	if (!layout || len < layout->ud_len || bytes[1] != layout->ud_len)
		return 0;
	memcpy(&port, bytes + 2, sizeof(port));
	*ret = rs_address_make(layout->family, bytes + layout->ud_len - layout->ip_len, port);
	return layout->ud_len;
}

uint32_t rs_udp_header_emit(uint8_t to[RS_UDP_HEADER_MAX], const struct rs_udp_header *header)
{
	uint32_t tag = htonl(TAG), qpn = htonl(header->qpn & QPN_MASK);
	uint32_t len = find(version_of(&header->from))->udp_len;

	memset(to, 0, RS_UDP_HEADER_MAX);
	memcpy(to, &tag, sizeof(tag));
	to[4] = version_of(&header->from);
	to[5] = header->op;
	to[6] = (uint8_t)len;
	memcpy(to + 8, &qpn, sizeof(qpn));
	emit_ip(to, len, &header->from);
	return len;
}

uint32_t rs_udp_header_parse(struct rs_udp_header *ret, const uint8_t *bytes, uint32_t len)
{
	const struct layout *layout = len >= ipv4.udp_len ? find(bytes[4]) : NULL;
	uint32_t tag, qpn;

	if (!layout || len < layout->udp_len || bytes[6] != layout->udp_len)
		return 0;
	memcpy(&tag, bytes, sizeof(tag));
	memcpy(&qpn, bytes + 8, sizeof(qpn));
	if (tag != htonl(TAG))
		return 0;
	ret->op = bytes[5];
	ret->qpn = ntohl(qpn) & QPN_MASK;
	ret->from = rs_address_make(layout->family, bytes + layout->udp_len - layout->ip_len, 0);
	return layout->udp_len;
}
