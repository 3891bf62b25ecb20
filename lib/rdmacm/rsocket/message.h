/* SPDX-License-Identifier: MIT */
/* The stream protocol of rsockets, version 1, as it is on the wire. All messages are RDMA WRITEs with
 * immediate data; the immediate value (big-endian) is the message.
 *
 *	31..29	28..0
 *	0	number of bytes: the WRITE put them into the peer's receive buffer
 *	4	credits: low 16 bits of the number of the last data message that may be sent. The WRITE
 *		may carry an rs_sge for the peer's target list
 *	6	index of an entry of the I/O map that the WRITE changed
 *	7	enum rs_control
 *
 * Private data of request and reply is struct rs_conn_data. What RDMA WRITEs carry is in the byte order
 * of the host that receives it. */
#ifndef RXE_RSOCKET_MESSAGE_H
#define RXE_RSOCKET_MESSAGE_H

#include <assert.h>
#include <stdint.h>

#define RS_VERSION     1
#define RS_DATA_BITS   29
#define RS_DATA_MASK   ((1u << RS_DATA_BITS) - 1)
#define RS_TARGET_SGES 2 /* entries of our target list: one for each half of the receive buffer */

enum rs_op {
	RS_OP_DATA = 0,
	RS_OP_CREDITS = 4,
	RS_OP_IOMAP = 6,
	RS_OP_CONTROL = 7,
};

enum rs_control {
	RS_CONTROL_DISCONNECT = 0, /* neither sends nor receives any more */
	RS_CONTROL_KEEPALIVE = 1,
	RS_CONTROL_SHUTDOWN = 2, /* sends no more data */
};

/* Memory that the peer may write. */
struct rs_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};
static_assert(sizeof(struct rs_sge) == 16, "as on the wire");

/* Memory that the peer's riowrite() reaches, by an offset of the program's. */
struct rs_iomap_entry {
	uint64_t offset;
	struct rs_sge sge;
};
static_assert(sizeof(struct rs_iomap_entry) == 24, "as on the wire");

enum rs_conn_flags {
	RS_CONN_BIG_ENDIAN = 1 << 0,
	RS_CONN_IOMAP = 1 << 1, /* iomap_size is valid */
};

/* All fields are big-endian. */
struct rs_conn_data {
	uint8_t version;
	uint8_t flags;
	uint16_t credits; /* data messages that the peer may send */
	uint8_t reserved[3];
	uint8_t iomap_size;    /* entries of the I/O map, see rs_iomap_scale() */
	struct rs_sge targets; /* the target list, the I/O map behind it; length: its entries */
	struct rs_sge buffer;  /* the first piece of the receive buffer */
};
static_assert(sizeof(struct rs_conn_data) == 40, "as on the wire");

static inline uint32_t rs_message(enum rs_op op, uint32_t data)
{
	return (uint32_t)op << RS_DATA_BITS | (data & RS_DATA_MASK);
}

#define RS_IOMAP_LARGE 0x80 /* of the scaled size: the rest is a multiple of 256 */

/* The size of an I/O map in 8 bits, rounded down. */
static inline uint8_t rs_iomap_scale(uint32_t size)
{
	return (uint8_t)(size <= RS_IOMAP_LARGE ? size : RS_IOMAP_LARGE | size >> 8);
}

static inline uint32_t rs_iomap_unscale(uint8_t scaled)
{
	return scaled <= RS_IOMAP_LARGE ? scaled : (uint32_t)(scaled & ~RS_IOMAP_LARGE) << 8;
}

#endif
