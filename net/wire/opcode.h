/* SPDX-License-Identifier: MIT */
/* BTH opcodes (IBTA vol. 1, 9.2.1, table 38, and annex A19): the top three bits are the service,
 * the rest is the operation.
 *
 * Everything that depends on an opcode is a shape: an OR of what the packet is (FIRST, REQUEST,
 * SEND ...) and of its headers. No other place lists opcodes. */
#ifndef RXE_WIRE_OPCODE_H
#define RXE_WIRE_OPCODE_H

#include <stdint.h>

enum wire_service {
	WIRE_RC = 0,
	WIRE_UC = 1,
	WIRE_RD = 2,
	WIRE_UD = 3,
	WIRE_CNP = 4,
	WIRE_XRC = 5,
	/* In the range that the standard leaves to manufacturers: an Ethernet frame on a device's
	 * private wire (emu/raw/raw.h). */
	WIRE_RAW = 6,
};

/* The low five bits of a BTH opcode. */
enum wire_op {
	OP_SEND_FIRST = 0x00,
	OP_SEND_MIDDLE = 0x01,
	OP_SEND_LAST = 0x02,
	OP_SEND_LAST_IMM = 0x03,
	OP_SEND_ONLY = 0x04,
	OP_SEND_ONLY_IMM = 0x05,
	OP_WRITE_FIRST = 0x06,
	OP_WRITE_MIDDLE = 0x07,
	OP_WRITE_LAST = 0x08,
	OP_WRITE_LAST_IMM = 0x09,
	OP_WRITE_ONLY = 0x0a,
	OP_WRITE_ONLY_IMM = 0x0b,
	OP_READ_REQUEST = 0x0c,
	OP_READ_RESP_FIRST = 0x0d,
	OP_READ_RESP_MIDDLE = 0x0e,
	OP_READ_RESP_LAST = 0x0f,
	OP_READ_RESP_ONLY = 0x10,
	OP_ACKNOWLEDGE = 0x11,
	OP_ATOMIC_ACK = 0x12,
	OP_CMP_SWAP = 0x13,
	OP_FETCH_ADD = 0x14,
	OP_RESYNC = 0x15,
	OP_SEND_LAST_INV = 0x16,
	OP_SEND_ONLY_INV = 0x17,
	OP_FLUSH = 0x1c,
	OP_ATOMIC_WRITE = 0x1d,
};

/* RoCEv2's congestion notification packet (annex A17.9.3): BTH and 16 reserved bytes, a service of
 * its own. */
#define OPCODE_CNP 0x81u

/* Bits of wire_shape(). Headers are in the order in which they follow the BTH. */
enum wire_shape {
	SHAPE_VALID = 1 << 0,	/* defined for this service */
	SHAPE_FIRST = 1 << 1,	/* opens a message; ONLY is FIRST and LAST */
	SHAPE_LAST = 1 << 2,	/* closes a message */
	SHAPE_REQUEST = 1 << 3, /* to the responder; clear: to the requester */
	SHAPE_SEND = 1 << 4,
	SHAPE_WRITE = 1 << 5,
	SHAPE_READ = 1 << 6,   /* request or response */
	SHAPE_ATOMIC = 1 << 7, /* request or acknowledge */
	SHAPE_FLUSH = 1 << 8,
	SHAPE_ATOMIC_WRITE = 1 << 9,
	SHAPE_ACK = 1 << 10,	/* ACKNOWLEDGE and ATOMIC_ACK */
	SHAPE_XRCETH = 1 << 11, /* XRC requests */
	SHAPE_DETH = 1 << 12,	/* UD and RAW */
	SHAPE_FETH = 1 << 13,
	SHAPE_RETH = 1 << 14,
	SHAPE_ATOMIC_ETH = 1 << 15,
	SHAPE_AETH = 1 << 16,
	SHAPE_ATOMIC_ACK_ETH = 1 << 17,
	SHAPE_IMM = 1 << 18,
	SHAPE_IETH = 1 << 19,
	SHAPE_CNP = 1 << 20,	 /* 16 reserved bytes */
	SHAPE_PAYLOAD = 1 << 21, /* may carry payload */
};

/* Requests that need a response of their own, and such responses: an ACK does not do. */
#define SHAPE_ANSWERED (SHAPE_READ | SHAPE_ATOMIC | SHAPE_FLUSH | SHAPE_ATOMIC_WRITE)

static inline enum wire_service opcode_service(uint8_t opcode)
{
	return (enum wire_service)(opcode >> 5);
}

static inline uint8_t opcode_make(enum wire_service service, enum wire_op op)
{
	return (uint8_t)((unsigned)service << 5 | (unsigned)op);
}

/* The shape of an opcode, an OR of enum wire_shape; 0: the standard does not define it. */
uint32_t wire_shape(uint8_t opcode);

/* The operation without its service, e.g. "SEND_ONLY", or "UNKNOWN". Static storage. */
const char *wire_op_str(uint8_t opcode);

/* "RC", "UC", "UD", "XRC", "RAW", "CNP", or "?" for services that RoCE lacks. */
static inline const char *wire_service_str(uint8_t opcode)
{
	static const char *const names[8] = { "RC", "UC", "?", "UD", "CNP", "XRC", "RAW", "?" };

	return names[opcode >> 5];
}

#endif
