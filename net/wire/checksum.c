/* SPDX-License-Identifier: MIT */
/* The Internet checksum (RFC 1071). */
#include "net/wire/checksum.h"

#include "net/wire/headers.h"

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
