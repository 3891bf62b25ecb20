/* SPDX-License-Identifier: MIT */
/* The datagram protocol of rsockets, version 1, as it is on the wire: compatible with rdma-core's.
 *
 * A datagram rsocket has a UDP socket of the kernel, whose address is its own, and UD queue pairs.
 * As long as a side does not know the number of its peer's queue pair, it sends what the program
 * sends to the UDP socket, behind struct rs_udp_header, op DATA, which tells the number of its own.
 * The peer answers each with op CONTROL, which tells its own number. Then messages go to the queue
 * pair, with the Q_Key of RDMA_PS_UDP, behind a header that tells the address of the sender's
 * socket. All fields are big-endian. Pure.
 *
 *	header of a UD message	version (4 or 6), length of this header, port,
 *				IPv6 alone: flow information; address
 *	header of a UDP message	tag, version, op, length of this header, 0,
 *				queue pair number, address of its device */
#ifndef RXE_RSOCKET_DATAGRAM_MESSAGE_H
#define RXE_RSOCKET_DATAGRAM_MESSAGE_H

#include <stdint.h>

#include "lib/rdmacm/rsocket/datagram_address.h"

#define RS_DATAGRAM_BYTES 2048 /* of a UD message, its header included: receivers expect no more */
#define RS_UD_HEADER_MAX  24
#define RS_UDP_HEADER_MAX 28

enum rs_udp_op {
	RS_UDP_DATA = 0,
	RS_UDP_CONTROL = 7,
};

struct rs_udp_header {
	uint8_t op;   /* enum rs_udp_op; another one tells the number, as CONTROL does */
	uint32_t qpn; /* 24 bits */
	struct rs_address from;
};

/* Each returns the length of the header. 0: this is none. */
uint32_t rs_ud_header_emit(uint8_t to[RS_UD_HEADER_MAX], const struct rs_address *from);
uint32_t rs_ud_header_parse(struct rs_address *ret, const uint8_t *bytes, uint32_t len);
uint32_t rs_udp_header_emit(uint8_t to[RS_UDP_HEADER_MAX], const struct rs_udp_header *header);
uint32_t rs_udp_header_parse(struct rs_udp_header *ret, const uint8_t *bytes, uint32_t len);

#endif
