/* SPDX-License-Identifier: MIT */
/* The header of a management datagram: big-endian bytes <-> a host-order struct. */
#include "net/wire/mad.h"

#include "net/wire/headers.h"

void mad_header_parse(struct mad_header *ret, const uint8_t p[static MAD_HEADER_BYTES])
{
	ret->base_version = p[0];
	ret->mgmt_class = p[1];
	ret->class_version = p[2];
	ret->method = p[3];
	ret->status = get_be16(p + 4);
	ret->class_specific = get_be16(p + 6);
	ret->tid = get_be64(p + 8);
	ret->attr_id = get_be16(p + 16);
	ret->attr_mod = get_be32(p + 20);
}

void mad_header_emit(uint8_t p[static MAD_HEADER_BYTES], const struct mad_header *header)
{
	p[0] = header->base_version;
	p[1] = header->mgmt_class;
	p[2] = header->class_version;
	p[3] = header->method;
	put_be16(p + 4, header->status);
	put_be16(p + 6, header->class_specific);
	put_be64(p + 8, header->tid);
	put_be16(p + 16, header->attr_id);
	put_be16(p + 18, 0);
	put_be32(p + 20, header->attr_mod);
}
