// SPDX-License-Identifier: MIT
/* The steering program of a group of receive sockets: selects a socket for each packet, or the
 * sink.
 *
 * A packet that this host sent arrives over the loopback interface, whatever its addresses. Without
 * CAP_NET_RAW its source is a port that a socket of the sending user is bound to, and the kernel
 * lets one user only bind a port. So the source port shows whether the sender is a device of this
 * user. The check costs the receiving process nothing: the program runs in the sender's context.
 *
 * Classic BPF jumps forward by at most 255 instructions, so steering is repeated wherever a packet
 * is accepted. */
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/link/udp/private.h"
#include "net/wire/packet.h"

#define BTH_QPN_TOP	 5 /* offset of the top byte of the destination QPN in the UDP payload */
#define LOOPBACK_IFINDEX 1 /* in each network namespace */

/* Offsets from the IP header. */
#define IPV4_SRC	 12
#define IPV4_LEN	 20
#define IPV4_NO_OPTIONS	 0x45
#define IPV6_NEXT_HEADER 6
#define IPV6_SRC	 8
#define IPV6_LEN	 40

struct program {
	struct sock_filter code[BPF_MAXINSNS];
	uint16_t len;
};

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t when, uint8_t unless)
{
	assert(p->len < BPF_MAXINSNS);
	p->code[p->len++] = (struct sock_filter)BPF_JUMP(code, k, when, unless);
}

static void load(struct program *p, uint16_t size, int offset)
{
	put(p, (uint16_t)(BPF_LD | size | BPF_ABS), (uint32_t)offset, 0, 0);
}

static void skip_unless(struct program *p, uint32_t value, uint8_t skip)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
}

#define STEER_LEN 4

static void steer(struct program *p, uint32_t slots)
{
	load(p, BPF_B, BTH_QPN_TOP);
	put(p, BPF_JMP | BPF_JGE | BPF_K, slots, 1, 0);
	put(p, BPF_RET | BPF_A, 0, 0, 0);
	put(p, BPF_RET | BPF_K, 0, 0, 0);
}

static void drop(struct program *p, uint32_t slots)
{
	put(p, BPF_RET | BPF_K, slots, 0, 0);
}

/* Leaves the source port in M[0]. Drops packets with IP options or extension headers: devices send
 * none. */
static void load_port(struct program *p, int family, uint32_t slots)
{
	const bool v4 = family == AF_INET;

	load(p, BPF_B, SKF_NET_OFF + (v4 ? 0 : IPV6_NEXT_HEADER));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, v4 ? IPV4_NO_OPTIONS : IPPROTO_UDP, 1, 0);
	drop(p, slots);
	load(p, BPF_H, SKF_NET_OFF + (v4 ? IPV4_LEN : IPV6_LEN));
	put(p, BPF_ST, 0, 0, 0);
}

static uint32_t word(const struct gid *gid, uint32_t i)
{
	return get_be32(gid->raw + i);
}

/* Accepts packets from the address and one of its ports; jumps past itself for all others. */
static void accept_from(struct program *p, int family, const struct udp_local *from, uint32_t slots)
{
	const uint8_t ports = LINK_TX_PORTS + 1;
	const uint8_t rest = (uint8_t)(1 + ports + STEER_LEN);
	const uint32_t first = family == AF_INET ? 12 : 0;
	const int base = SKF_NET_OFF + (family == AF_INET ? IPV4_SRC : IPV6_SRC);

	for (uint32_t i = first; i < sizeof(from->gid.raw); i += 4) {
		load(p, BPF_W, base + (int)(i - first));
		skip_unless(p, word(&from->gid, i), (uint8_t)((12 - i) / 2 + rest));
	}
	put(p, BPF_LD | BPF_MEM, 0, 0, 0);
	for (uint8_t i = 0; i < LINK_TX_PORTS; i++)
		put(p, BPF_JMP | BPF_JEQ | BPF_K, from->port[i], (uint8_t)(ports - 1 - i), 0);
	skip_unless(p, ROCE_UDP_PORT, STEER_LEN);
	steer(p, slots);
}

static void build(struct program *p, int family, uint32_t slots, const struct udp_local *known,
		  size_t n)
{
	load(p, BPF_W, SKF_AD_OFF + SKF_AD_IFINDEX);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, LOOPBACK_IFINDEX, STEER_LEN, 0);
	steer(p, slots);
	load_port(p, family, slots);
	for (size_t i = 0; i < n; i++)
		accept_from(p, family, &known[i], slots);
	drop(p, slots);
}

int udp_attach_steering(int fd, int family, uint32_t slots, const struct udp_local *known, size_t n)
{
	struct program p = { .len = 0 };
	struct sock_fprog prog = { .filter = p.code };

	assert(slots > 0 && n <= UDP_MAX_LOCALS + 1);
	if (known)
		build(&p, family, slots, known, n);
	else
		steer(&p, slots);
	prog.len = p.len;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) != 0)
		return -errno;
	return 0;
}
