/* SPDX-License-Identifier: MIT */
/* IP addressing of the communication manager: the private header of annex A11. */
#include <string.h>

#include "net/wire/cm.h"
#include "net/wire/headers.h"

/*   byte
 *     0   major and minor version of the header, 4 bits each
 *     1   IP version, 4 bits; 4 bits reserved
 *     2   source port
 *     4   source address: IPv4 in the last 4 of 16 bytes
 *    20   destination address, likewise */
enum {
	AT_VERSION = 0,
	AT_IP_VERSION = 1,
	AT_SRC_PORT = 2,
	AT_SRC = 4,
	AT_DST = 20,
};

static void addr_parse(struct gid *ret, const uint8_t *p, uint8_t ip_version)
{
	memcpy(ret->raw, p, sizeof(ret->raw));
	if (ip_version == 4) {
		memset(ret->raw, 0, 10);
		memset(ret->raw + 10, 0xff, 2);
	}
}

static void addr_emit(uint8_t *p, const struct gid *addr, uint8_t ip_version)
{
	memcpy(p, addr->raw, sizeof(addr->raw));
	if (ip_version == 4)
		memset(p, 0, 12);
}

bool cm_ip_header_parse(struct cm_ip_header *ret, const uint8_t p[static CM_IP_HEADER_BYTES])
{
	const uint8_t ip_version = p[AT_IP_VERSION] >> 4;

	if (ip_version != 4 && ip_version != 6)
		return false;
	ret->cma_version = p[AT_VERSION];
	ret->ip_version = ip_version;
	ret->src_port = get_be16(p + AT_SRC_PORT);
	addr_parse(&ret->src, p + AT_SRC, ip_version);
	addr_parse(&ret->dst, p + AT_DST, ip_version);
	return true;
}

void cm_ip_header_emit(uint8_t p[static CM_IP_HEADER_BYTES], const struct cm_ip_header *header)
{
	p[AT_VERSION] = header->cma_version;
	p[AT_IP_VERSION] = (uint8_t)(header->ip_version << 4);
	put_be16(p + AT_SRC_PORT, header->src_port);
	addr_emit(p + AT_SRC, &header->src, header->ip_version);
	addr_emit(p + AT_DST, &header->dst, header->ip_version);
}
