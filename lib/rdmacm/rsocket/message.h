/* SPDX-License-Identifier: MIT */
/* The protocols of rsockets, version 1, as they are on the wire: compatible with rdma-core's. Pure.
 *
 * Streams. Each message is an RDMA WRITE with immediate data. The immediate value (big-endian) is
 * the message.
 *
 *	31..29	28..0
 *	0	number of bytes: the WRITE put them into the peer's receive buffer
 *	4	credits: low 16 bits of the number of the last data message that may be sent. The
 *		WRITE may carry an rs_sge for the peer's target list
 *	6	index of an entry of the I/O map that the WRITE changed
 *	7	enum rs_control
 *
 * Private data of request and reply is struct rs_conn_data. What RDMA WRITEs carry is in the byte
 * order of the host that receives it.
 *
 * Datagrams. A datagram rsocket has UD queue pairs and a UDP socket of the kernel, whose address is
 * its own. A sender that does not know the number of its peer's queue pair sends to the peer's UDP
 * socket. Such a message begins with struct rs_udp_header, with op DATA and the number of the
 * sender's queue pair. The peer answers each of them with op CONTROL and its own number. From then
 * on messages go to the queue pair, with the Q_Key of RDMA_PS_UDP. They begin with a header that
 * has the address of the sender's socket. All fields are big-endian.
 *
 *	header of a UD message	version (4 or 6), length of this header, port,
 *				IPv6 alone: flow information; address
 *	header of a UDP message	tag, version, op, length of this header, 0,
 *				queue pair number, address of its device */
#ifndef RXE_RSOCKET_MESSAGE_H
#define RXE_RSOCKET_MESSAGE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

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
	struct rs_sge targets; /* the target list, followed by the I/O map; length: its entries */
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

/* The memory at an offset of the I/O map that the peer has written, to the end of its mapping.
 * Length 0: nothing is mapped there. */
struct rs_sge rs_iomap_find(const struct rs_iomap_entry *map, uint32_t n, uint64_t offset);

/* An IP address and a port in one form, whatever the family of the socket. IPv4 addresses in IPv6
 * form (::ffff:a.b.c.d) become IPv4. A key of hash tables: all bytes count. */
struct rs_address {
	uint16_t family;   /* AF_INET, AF_INET6; 0: none */
	uint16_t port;	   /* big-endian; 0: none */
	uint32_t scope_id; /* of a link-local address, else 0 */
	uint8_t ip[16];	   /* IPv4: in the first four */
};
static_assert(sizeof(struct rs_address) == 24, "no padding");

/* 0 or a positive errno. */
int rs_address_parse(struct rs_address *ret, const struct sockaddr *addr, socklen_t len);
/* As a socket of this domain has it. Returns the length. */
socklen_t rs_address_emit(struct sockaddr_storage *ret, const struct rs_address *address,
			  int domain);
/* An address of a family's raw bytes. */
struct rs_address rs_address_make(int family, const void *ip, uint16_t port);
bool rs_address_is_any(const struct rs_address *address);
bool rs_address_is_equal(const struct rs_address *a, const struct rs_address *b);

#define RS_DATAGRAM_BYTES 2048 /* of a UD message, its header included: receivers expect no more */
#define RS_UD_HEADER_MAX  24
#define RS_UDP_HEADER_MAX 28

enum rs_udp_op {
	RS_UDP_DATA = 0,
	RS_UDP_CONTROL = 7,
};

struct rs_udp_header {
	uint8_t op;   /* enum rs_udp_op; others give the number, as CONTROL does */
	uint32_t qpn; /* 24 bits */
	struct rs_address from;
};

/* Each returns the length of the header. 0: this is none. */
uint32_t rs_ud_header_emit(uint8_t to[RS_UD_HEADER_MAX], const struct rs_address *from);
uint32_t rs_ud_header_parse(struct rs_address *ret, const uint8_t *bytes, uint32_t len);
uint32_t rs_udp_header_emit(uint8_t to[RS_UDP_HEADER_MAX], const struct rs_udp_header *header);
uint32_t rs_udp_header_parse(struct rs_udp_header *ret, const uint8_t *bytes, uint32_t len);

#endif
