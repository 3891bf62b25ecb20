/* SPDX-License-Identifier: MIT */
/* The header of a management datagram (IBTA vol. 1, 13.4.2): the first 24 of its 256 bytes.
 * Nothing is checked here but lengths by type; the class's own format (cm.h) checks what it needs.
 */
#ifndef RXE_WIRE_MAD_H
#define RXE_WIRE_MAD_H

#include <stdint.h>

#define MAD_BYTES	 256u
#define MAD_HEADER_BYTES 24u
#define MAD_BASE_VERSION 1u

/* The general service interface: QP 1 and its Q_Key (10.2.4.2). */
#define MAD_GSI_QPN  1u
#define MAD_GSI_QKEY 0x80010000u

/* 13.4.4, those that we know. */
enum mad_class {
	MAD_CLASS_SUBNET_ADMINISTRATION = 0x03,
	MAD_CLASS_CM = 0x07,
};

/* 13.4.5, those that we know. */
enum mad_method {
	MAD_METHOD_GET = 0x01,
	MAD_METHOD_SET = 0x02,
	MAD_METHOD_SEND = 0x03,
	MAD_METHOD_GET_RESP = 0x81,
};

struct mad_header {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method; /* bit 7: a response */
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid;
	uint16_t attr_id;
	uint32_t attr_mod;
};

void mad_header_parse(struct mad_header *ret, const uint8_t p[static MAD_HEADER_BYTES]);
void mad_header_emit(uint8_t p[static MAD_HEADER_BYTES], const struct mad_header *header);

#endif
