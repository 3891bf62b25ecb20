/* SPDX-License-Identifier: MIT */
/* The Internet checksum (RFC 1071). */
#ifndef RXE_WIRE_CHECKSUM_H
#define RXE_WIRE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Checksum over len bytes, continued from sum (the host-order words added up). 0 when the bytes
 * include the right checksum. */
uint16_t wire_checksum(uint32_t sum, const uint8_t *p, size_t len);

#endif
