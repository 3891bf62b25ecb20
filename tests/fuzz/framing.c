/* SPDX-License-Identifier: MIT */
/* Fuzz target: how frames and datagrams become packets. Ethernet frames are parsed and emitted
 * again; uncut trains are split; datagrams with any control messages come from replaced system
 * calls. The packets returned are always the datagram's bytes, each once, in order. */
#include <errno.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "net/link/ethernet/frame.h"
#include "net/link/ethernet/neighbor.h"
#include "net/link/ethernet/private.h"
#include "net/link/udp/private.h"
#include "net/wire/ip.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/fuzz/target.h"

#define MAX_PACKETS (UDP_RX_BATCH * 65536u)

/* The linker redirects the calls of net/link/udp/receive.c. */
int __wrap_recvmmsg(int sock, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout);
long __wrap_syscall(long number, int sock, struct msghdr *hdr, int flags);

static struct udp_link *link;
static struct take datagrams;	   /* bytes that the socket still has */
static size_t sizes[UDP_RX_BATCH]; /* lengths of the datagrams of the last read */
static unsigned int given;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	link = calloc(1, sizeof(*link));
	MUST(link);
	link->family = AF_INET;
	link->cfg.gid = (struct gid){ { [10] = 0xff, 0xff, 127, 0, 0, 9 } };
	udp_rx_init(link);
	return 0;
}

/* One datagram: its length, how it was cut, its sender's family, any control bytes, and bytes. */
static void give(struct mmsghdr *msg)
{
	struct sockaddr_in6 from = { .sin6_family = AF_INET6, .sin6_port = htons(49152) };
	struct msghdr *hdr = &msg->msg_hdr;
	size_t room = hdr->msg_iov->iov_len, len = take_u16(&datagrams);
	const uint8_t kind = take_u8(&datagrams);
	const int seg_len = (int)take_u16(&datagrams);
	size_t controls = kind & 2 ? take_u8(&datagrams) % UDP_RX_CONTROL : 0;
	struct cmsghdr *c = hdr->msg_control;

	memset(hdr->msg_iov->iov_base, 0x5a, len < room ? len : room);
	msg->msg_len = (unsigned int)(len < room ? len : room);
	if (len > datagrams.left)
		len = datagrams.left;
	if (len)
		memcpy(hdr->msg_iov->iov_base, datagrams.p, len);
	datagrams.p += len;
	datagrams.left -= len;
	from.sin6_addr.s6_addr[15] = kind;
	memcpy(hdr->msg_name, &from, sizeof(from));
	hdr->msg_namelen = sizeof(from);
	if (controls) {
		for (size_t i = 0; i < controls; i++)
			((uint8_t *)hdr->msg_control)[i] = take_u8(&datagrams);
	} else if (kind & 1) {
		*c = (struct cmsghdr){ CMSG_LEN(sizeof(seg_len)), IPPROTO_UDP, UDP_GRO };
		memcpy(CMSG_DATA(c), &seg_len, sizeof(seg_len));
		controls = CMSG_SPACE(sizeof(seg_len));
	}
	hdr->msg_controllen = controls;
}

int __wrap_recvmmsg(int sock, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout)
{
	(void)sock;
	(void)flags;
	(void)timeout;
	for (given = 0; given < n && datagrams.left > 0; given++) {
		give(&msgs[given]);
		sizes[given] = msgs[given].msg_len;
	}
	return (int)given;
}

/* A single datagram. */
long __wrap_syscall(long number, int sock, struct msghdr *hdr, int flags)
{
	struct mmsghdr msg = { .msg_hdr = *hdr };

	MUST(number == SYS_recvmsg);
	if (__wrap_recvmmsg(sock, &msg, 1, flags, NULL) == 0) {
		errno = EAGAIN;
		return -1;
	}
	*hdr = msg.msg_hdr;
	return msg.msg_len;
}

/* All packets of the datagrams since the last receive. */
static void check_arrivals(const struct wire_arrival *arrival, size_t n, size_t *at, size_t *offset)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *base = link->rx.iov[*at].iov_base;

		MUST(*at < given);
		MUST(arrival[i].p == base + *offset);
		MUST(arrival[i].len <= sizes[*at] - *offset);
		MUST(arrival[i].len > 0 || sizes[*at] == 0);
		*offset += arrival[i].len;
		if (*offset == sizes[*at]) {
			++*at;
			*offset = 0;
		}
	}
}

static void receive(struct take take)
{
	const size_t max = 1 + take_u8(&take) % 64;
	struct wire_arrival arrival[64];
	size_t at = 0, offset = 0;
	uint32_t turns = 0;

	datagrams = take;
	link->rx.count = link->rx.next = 0;
	for (;;) {
		const bool fresh = link->rx.next >= link->rx.count;
		int n = udp_receive(&link->base, arrival, max);

		if (n == 0)
			break;
		if (fresh)
			turns = 0, at = offset = 0;
		MUST(n > 0 && ++turns < MAX_PACKETS);
		check_arrivals(arrival, (size_t)n, &at, &offset);
	}
}

static void cut(const struct frame *frame, uint32_t gso_size)
{
	const struct icrc_flow flow = { frame->src, frame->dst, frame->src_port };
	struct ethernet_split split;

	if (frame->payload_len == 0)
		return;
	split = ethernet_split(&flow, frame->ip_id, frame->payload, frame->payload_len, gso_size);
	MUST(split.seg_len > 0 && split.seg_len <= frame->payload_len);
	MUST(split.id_step <= 1);
}

/* A parsed frame, emitted again, parses to the same frame. */
static void emit_again(const struct frame *frame)
{
	static uint8_t bytes[FRAME_MAX_HEADERS + FRAME_MAX_PAYLOAD];
	const size_t headers = frame_header_len(&frame->dst);
	struct frame second;

	MUST(frame->payload_len <= 65535);
	if (frame->payload_len > FRAME_MAX_PAYLOAD)
		return;
	MUST(frame_emit_headers(bytes, frame) == headers);
	memcpy(bytes + headers, frame->payload, frame->payload_len);
	MUST(frame_parse(&second, bytes, headers + frame->payload_len) == FRAME_OK);
	MUST(memcmp(second.dst_mac, frame->dst_mac, FRAME_MAC_LEN) == 0);
	MUST(gid_equal(&second.src, &frame->src) && gid_equal(&second.dst, &frame->dst));
	MUST(second.src_port == frame->src_port && second.ip_id == frame->ip_id);
	MUST(second.traffic_class == frame->traffic_class);
	MUST(second.hop_limit == frame->hop_limit && second.flow_label == frame->flow_label);
	MUST(second.payload_len == frame->payload_len);
}

/* Frames that the device sends are understood by another device. */
static void ask_ourselves(const struct neighbor_self *self, const struct gid *target,
			  const uint8_t *mac)
{
	uint8_t frame[NEIGHBOR_FRAME_MAX];
	struct neighbor_message message;
	size_t len = neighbor_emit_solicitation(frame, self, target, mac);

	MUST(len <= sizeof(frame));
	if (gid_is_multicast(target))
		return;
	MUST(neighbor_parse(&message, frame, len) == NEIGHBOR_SOLICITATION);
	MUST(gid_equal(&message.target, target) && gid_equal(&message.sender, &self->gid));
	len = neighbor_emit_announcement(frame, self);
	MUST(len <= sizeof(frame));
	MUST(neighbor_parse(&message, frame, len) != NEIGHBOR_OTHER);
	MUST(gid_equal(&message.sender, &self->gid) &&
	     memcmp(message.mac, self->mac, FRAME_MAC_LEN) == 0);
}

/* Solicitations for the device's address are answered with their own fields. */
static void ask(const uint8_t *p, size_t len, bool v6)
{
	const struct gid v6_gid = { { 0xfd, [15] = 9 } };
	const struct neighbor_self self = { v6 ? v6_gid : link->cfg.gid, { 2, 0, 0, 0, 0, 9 } };
	size_t answer_len;
	uint8_t answer[NEIGHBOR_FRAME_MAX];
	struct neighbor_message message;

	if (neighbor_parse(&message, p, len) != NEIGHBOR_SOLICITATION ||
	    gid_is_v4(&message.target) != gid_is_v4(&self.gid))
		return;
	ask_ourselves(&self, &message.target, message.has_sender ? message.mac : NULL);
	answer_len = neighbor_emit_advertisement(answer, &self, &message);
	MUST(answer_len <= sizeof(answer));
	MUST(neighbor_parse(&message, answer, answer_len) == NEIGHBOR_ADVERTISEMENT);
	MUST(gid_equal(&message.sender, &self.gid) &&
	     memcmp(message.mac, self.mac, FRAME_MAC_LEN) == 0);
}

/* A script of neighbors that send any claims about themselves and others. A known MAC was claimed
 * for that address, a datagram replaces none, and what is due ends. */
static void know(struct take take)
{
	static struct neighbor_table table;
	static uint8_t last[256]; /* the MAC of each address */
	uint64_t now_ns = 1;
	struct gid gid = { { 0xfd } };
	bool does_ask;

	memset(&table, 0, sizeof(table));
	memset(last, 0, sizeof(last));
	while (take.left > 0) {
		const uint8_t op = take_u8(&take), who = take_u8(&take);
		uint8_t mac[FRAME_MAC_LEN] = { 2 };
		const uint8_t *found;
		const uint8_t *to;
		struct gid due;
		uint32_t steps = 0;

		gid.raw[15] = who;
		switch (op & 3) {
		case 0:
			found = neighbor_table_find(&table, &gid, now_ns, &does_ask);
			MUST(!found || found[5] == last[who]);
			break;
		case 1:
			mac[5] = 1 + take_u8(&take) % 250;
			found = neighbor_table_find(&table, &gid, now_ns, &does_ask);
			to = found;
			(void)neighbor_table_learn(&table, &gid, mac,
						   (enum neighbor_source)(op / 4 % 3), now_ns);
			if (op / 4 % 3 != SOURCE_DATAGRAM || !to)
				last[who] = mac[5];
			break;
		case 2: now_ns += (who + 1u) * 20000000ull; break;
		case 3: now_ns += who * NEIGHBOR_FRESH_NS / 4; break;
		}
		while (neighbor_table_due(&table, now_ns, &due, &to) != NEIGHBOR_NOTHING)
			MUST(steps++ < 4 * NEIGHBOR_SETS * NEIGHBOR_WAYS);
		MUST(neighbor_table_deadline(&table) > now_ns);
		MUST(table.waiting <= NEIGHBOR_SETS * NEIGHBOR_WAYS);
	}
}

/* The right IPv4 header checksum, which the fuzzer would hardly guess. */
static void sign_ip(uint8_t *p, size_t len)
{
	uint16_t sum;

	if (len < FRAME_ETH_LEN + FRAME_IPV4_LEN || p[12] != 8 || p[13] != 0)
		return;
	p[24] = p[25] = 0;
	sum = wire_checksum(0, p + FRAME_ETH_LEN, FRAME_IPV4_LEN);
	p[24] = (uint8_t)(sum >> 8);
	p[25] = (uint8_t)sum;
}

/* The right ICMPv6 checksum. */
static void sign_icmp(uint8_t *p, size_t len)
{
	uint8_t *ip = p + FRAME_ETH_LEN, *icmp = ip + FRAME_IPV6_LEN;
	uint32_t sum;
	size_t n;

	if (len < FRAME_ETH_LEN + FRAME_IPV6_LEN + 4 || p[12] != 0x86 || p[13] != 0xdd ||
	    ip[6] != 58)
		return;
	n = (size_t)ip[4] << 8 | ip[5];
	if (n < 4 || n > len - FRAME_ETH_LEN - FRAME_IPV6_LEN)
		return;
	icmp[2] = icmp[3] = 0;
	sum = (uint32_t)n + 58;
	for (size_t i = 8; i < FRAME_IPV6_LEN; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = wire_checksum(sum, icmp, n);
	icmp[2] = (uint8_t)(sum >> 8);
	icmp[3] = (uint8_t)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };
	const uint8_t kind = take_u8(&take);
	uint32_t gso_size;
	struct frame frame;
	uint8_t *p;

	if (kind & 1) {
		receive(take);
		return 0;
	}
	if (kind & 8) {
		know(take);
		return 0;
	}
	gso_size = kind & 2 ? take_u16(&take) : 0;
	p = exact_block(take.p, take.left);
	if (!(kind & 4)) {
		sign_ip(p, take.left);
		sign_icmp(p, take.left);
	}
	if (frame_parse(&frame, p, take.left) == FRAME_OK) {
		MUST(frame.payload >= p && frame.payload + frame.payload_len <= p + take.left);
		emit_again(&frame);
		cut(&frame, gso_size);
	}
	ask(p, take.left, kind & 16);
	free(p);
	return 0;
}
