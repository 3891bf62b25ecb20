/* SPDX-License-Identifier: MIT */
/* The table of BTH opcodes: which headers each has, and its name (IBTA vol. 1, 9.2.1, table 38).
 *
 * RC defines all of it, UC and UD a part each, XRC repeats RC's requests with an XRCETH behind the BTH. */
#include "net/wire/opcode.h"

#include <stddef.h>

#include "net/wire/packet.h"

#define FIRST (SHAPE_FIRST)
#define LAST  (SHAPE_LAST)
#define ONLY  (SHAPE_FIRST | SHAPE_LAST)
#define SEND  (SHAPE_REQUEST | SHAPE_SEND | SHAPE_PAYLOAD)
#define WRITE (SHAPE_REQUEST | SHAPE_WRITE | SHAPE_PAYLOAD)
#define RESP  (SHAPE_READ | SHAPE_PAYLOAD)

struct op_row {
	const char *name;
	uint32_t shape;
};

/* clang-format off */
static const struct op_row ops[32] = {
	[OP_SEND_FIRST]      = { "SEND_FIRST",      SEND | FIRST },
	[OP_SEND_MIDDLE]     = { "SEND_MIDDLE",     SEND },
	[OP_SEND_LAST]       = { "SEND_LAST",       SEND | LAST },
	[OP_SEND_LAST_IMM]   = { "SEND_LAST_IMM",   SEND | LAST | SHAPE_IMM },
	[OP_SEND_ONLY]       = { "SEND_ONLY",       SEND | ONLY },
	[OP_SEND_ONLY_IMM]   = { "SEND_ONLY_IMM",   SEND | ONLY | SHAPE_IMM },
	[OP_WRITE_FIRST]     = { "WRITE_FIRST",     WRITE | FIRST | SHAPE_RETH },
	[OP_WRITE_MIDDLE]    = { "WRITE_MIDDLE",    WRITE },
	[OP_WRITE_LAST]      = { "WRITE_LAST",      WRITE | LAST },
	[OP_WRITE_LAST_IMM]  = { "WRITE_LAST_IMM",  WRITE | LAST | SHAPE_IMM },
	[OP_WRITE_ONLY]      = { "WRITE_ONLY",      WRITE | ONLY | SHAPE_RETH },
	[OP_WRITE_ONLY_IMM]  = { "WRITE_ONLY_IMM",  WRITE | ONLY | SHAPE_RETH | SHAPE_IMM },
	[OP_READ_REQUEST]    = { "READ_REQUEST",    SHAPE_REQUEST | SHAPE_READ | ONLY | SHAPE_RETH },
	[OP_READ_RESP_FIRST] = { "READ_RESP_FIRST", RESP | FIRST | SHAPE_AETH },
	[OP_READ_RESP_MIDDLE]= { "READ_RESP_MIDDLE",RESP },
	[OP_READ_RESP_LAST]  = { "READ_RESP_LAST",  RESP | LAST | SHAPE_AETH },
	[OP_READ_RESP_ONLY]  = { "READ_RESP_ONLY",  RESP | ONLY | SHAPE_AETH },
	[OP_ACKNOWLEDGE]     = { "ACKNOWLEDGE",     SHAPE_ACK | ONLY | SHAPE_AETH },
	[OP_ATOMIC_ACK]      = { "ATOMIC_ACK",      SHAPE_ACK | SHAPE_ATOMIC | ONLY | SHAPE_AETH | SHAPE_ATOMIC_ACK_ETH },
	[OP_CMP_SWAP]        = { "CMP_SWAP",        SHAPE_REQUEST | SHAPE_ATOMIC | ONLY | SHAPE_ATOMIC_ETH },
	[OP_FETCH_ADD]       = { "FETCH_ADD",       SHAPE_REQUEST | SHAPE_ATOMIC | ONLY | SHAPE_ATOMIC_ETH },
	[OP_SEND_LAST_INV]   = { "SEND_LAST_INV",   SEND | LAST | SHAPE_IETH },
	[OP_SEND_ONLY_INV]   = { "SEND_ONLY_INV",   SEND | ONLY | SHAPE_IETH },
};
/* clang-format on */

/* Services that define an operation: bit n is enum wire_service n. */
static uint32_t op_services(unsigned op)
{
	if (op == OP_SEND_ONLY || op == OP_SEND_ONLY_IMM)
		return 1u << WIRE_RC | 1u << WIRE_UC | 1u << WIRE_UD | 1u << WIRE_XRC;
	if (op <= OP_WRITE_ONLY_IMM)
		return 1u << WIRE_RC | 1u << WIRE_UC | 1u << WIRE_XRC;
	return ops[op].shape ? 1u << WIRE_RC | 1u << WIRE_XRC : 0;
}

uint32_t wire_shape(uint8_t opcode)
{
	unsigned op = opcode & 0x1fu;
	enum wire_service service = opcode_service(opcode);
	uint32_t shape = ops[op].shape | SHAPE_VALID;

	if (!(op_services(op) >> service & 1u))
		return 0;
	if (service == WIRE_UD)
		shape |= SHAPE_DETH;
	if (service == WIRE_XRC && (shape & SHAPE_REQUEST))
		shape |= SHAPE_XRCETH;
	return shape;
}

uint32_t wire_header_len(uint8_t opcode)
{
	uint32_t shape = wire_shape(opcode);
	uint32_t len = BTH_LEN;

	if (!shape)
		return 0;
	len += (shape & SHAPE_XRCETH) ? XRCETH_LEN : 0;
	len += (shape & SHAPE_DETH) ? DETH_LEN : 0;
	len += (shape & SHAPE_RETH) ? RETH_LEN : 0;
	len += (shape & SHAPE_ATOMIC_ETH) ? ATOMIC_ETH_LEN : 0;
	len += (shape & SHAPE_AETH) ? AETH_LEN : 0;
	len += (shape & SHAPE_ATOMIC_ACK_ETH) ? ATOMIC_ACK_ETH_LEN : 0;
	len += (shape & SHAPE_IMM) ? IMM_LEN : 0;
	len += (shape & SHAPE_IETH) ? IETH_LEN : 0;
	return len;
}

const char *wire_op_str(uint8_t opcode)
{
	return wire_shape(opcode) ? ops[opcode & 0x1f].name : "UNKNOWN";
}
