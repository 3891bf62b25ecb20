/* SPDX-License-Identifier: MIT */
/* The table of BTH opcodes: services, shape and name of each (IBTA vol. 1, 9.2.1, table 38; FLUSH
 * and ATOMIC_WRITE: annex A19).
 *
 * RC defines all operations, UC and UD some of them. XRC repeats RC with an XRCETH after the BTH of
 * its requests (annex A14). RoCE has neither RD nor RESYNC. RoCEv2 adds the congestion notification
 * packet (annex A17.9.3). */
#include "net/wire/opcode.h"

#define FIRST (SHAPE_FIRST)
#define LAST  (SHAPE_LAST)
#define ONLY  (SHAPE_FIRST | SHAPE_LAST)
#define SEND  (SHAPE_REQUEST | SHAPE_SEND | SHAPE_PAYLOAD)
#define WRITE (SHAPE_REQUEST | SHAPE_WRITE | SHAPE_PAYLOAD)
#define RESP  (SHAPE_READ | SHAPE_PAYLOAD)

/* Services that define an operation: bit n is enum wire_service n. */
#define RELIABLE  (1u << WIRE_RC | 1u << WIRE_XRC)
#define CONNECTED (RELIABLE | 1u << WIRE_UC)
#define EVERY	  (CONNECTED | 1u << WIRE_UD)
#define RAW	  (1u << WIRE_RAW)

struct op_row {
	const char *name;
	uint32_t services;
	uint32_t shape;
};

/* clang-format off */
static const struct op_row ops[32] = {
	[OP_SEND_FIRST]       = { "SEND_FIRST",       CONNECTED, SEND | FIRST },
	[OP_SEND_MIDDLE]      = { "SEND_MIDDLE",      CONNECTED, SEND },
	[OP_SEND_LAST]        = { "SEND_LAST",        CONNECTED, SEND | LAST },
	[OP_SEND_LAST_IMM]    = { "SEND_LAST_IMM",    CONNECTED, SEND | LAST | SHAPE_IMM },
	[OP_SEND_ONLY]        = { "SEND_ONLY",        EVERY | RAW, SEND | ONLY },
	[OP_SEND_ONLY_IMM]    = { "SEND_ONLY_IMM",    EVERY,     SEND | ONLY | SHAPE_IMM },
	[OP_WRITE_FIRST]      = { "WRITE_FIRST",      CONNECTED, WRITE | FIRST | SHAPE_RETH },
	[OP_WRITE_MIDDLE]     = { "WRITE_MIDDLE",     CONNECTED, WRITE },
	[OP_WRITE_LAST]       = { "WRITE_LAST",       CONNECTED, WRITE | LAST },
	[OP_WRITE_LAST_IMM]   = { "WRITE_LAST_IMM",   CONNECTED, WRITE | LAST | SHAPE_IMM },
	[OP_WRITE_ONLY]       = { "WRITE_ONLY",       CONNECTED, WRITE | ONLY | SHAPE_RETH },
	[OP_WRITE_ONLY_IMM]   = { "WRITE_ONLY_IMM",   CONNECTED, WRITE | ONLY | SHAPE_RETH | SHAPE_IMM },
	[OP_READ_REQUEST]     = { "READ_REQUEST",     RELIABLE,  SHAPE_REQUEST | SHAPE_READ | ONLY | SHAPE_RETH },
	[OP_READ_RESP_FIRST]  = { "READ_RESP_FIRST",  RELIABLE,  RESP | FIRST | SHAPE_AETH },
	[OP_READ_RESP_MIDDLE] = { "READ_RESP_MIDDLE", RELIABLE,  RESP },
	[OP_READ_RESP_LAST]   = { "READ_RESP_LAST",   RELIABLE,  RESP | LAST | SHAPE_AETH },
	[OP_READ_RESP_ONLY]   = { "READ_RESP_ONLY",   RELIABLE,  RESP | ONLY | SHAPE_AETH },
	[OP_ACKNOWLEDGE]      = { "ACKNOWLEDGE",      RELIABLE,  SHAPE_ACK | ONLY | SHAPE_AETH },
	[OP_ATOMIC_ACK]       = { "ATOMIC_ACK",       RELIABLE,  SHAPE_ACK | SHAPE_ATOMIC | ONLY | SHAPE_AETH | SHAPE_ATOMIC_ACK_ETH },
	[OP_CMP_SWAP]         = { "CMP_SWAP",         RELIABLE,  SHAPE_REQUEST | SHAPE_ATOMIC | ONLY | SHAPE_ATOMIC_ETH },
	[OP_FETCH_ADD]        = { "FETCH_ADD",        RELIABLE,  SHAPE_REQUEST | SHAPE_ATOMIC | ONLY | SHAPE_ATOMIC_ETH },
	[OP_SEND_LAST_INV]    = { "SEND_LAST_INV",    RELIABLE,  SEND | LAST | SHAPE_IETH },
	[OP_SEND_ONLY_INV]    = { "SEND_ONLY_INV",    RELIABLE,  SEND | ONLY | SHAPE_IETH },
	[OP_FLUSH]            = { "FLUSH",            RELIABLE,  SHAPE_REQUEST | SHAPE_FLUSH | ONLY | SHAPE_FETH | SHAPE_RETH },
	[OP_ATOMIC_WRITE]     = { "ATOMIC_WRITE",     RELIABLE,  SHAPE_REQUEST | SHAPE_ATOMIC_WRITE | SHAPE_PAYLOAD | ONLY | SHAPE_RETH },
};
/* clang-format on */

uint32_t wire_shape(uint8_t opcode)
{
	unsigned op = opcode & 0x1fu;
	enum wire_service service = opcode_service(opcode);
	uint32_t shape = ops[op].shape | SHAPE_VALID;

	if (opcode == OPCODE_CNP)
		return SHAPE_VALID | SHAPE_CNP;
	if (!(ops[op].services >> service & 1u))
		return 0;
	if (service == WIRE_UD || service == WIRE_RAW)
		shape |= SHAPE_DETH;
	if (service == WIRE_XRC && (shape & SHAPE_REQUEST))
		shape |= SHAPE_XRCETH;
	return shape;
}

const char *wire_op_str(uint8_t opcode)
{
	if (opcode == OPCODE_CNP)
		return "CNP";
	return wire_shape(opcode) ? ops[opcode & 0x1f].name : "UNKNOWN";
}
