/* SPDX-License-Identifier: MIT */
/* Fuzz target: how frames and datagrams become packets. Ethernet frames are parsed, and emitted again; trains that nobody has cut
 * are cut; datagrams with whatever control messages come from recvmmsg(), which is ours here. Whatever they say, the packets
 * handed out are the datagram's bytes, each once, in order. */
#include <netinet/udp.h>
#include <sys/socket.h>

#include "net/link/frame.h"
#include "net/link/neighbour.h"
#include "net/link/udp_link.h"
#include "net/link/veth_split.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/fuzz/target.h"

#define MAX_PACKETS (UDP_RX_BATCH * 65536u)

/* The linker gives us the calls of net/link/udp_recv.c. */
int __wrap_recvmmsg(int sock, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout);

static struct link_udp *link;
static struct take datagrams;	   /* what the socket still has */
static size_t sizes[UDP_RX_BATCH]; /* of what it gave last */
static unsigned int given;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	link = calloc(1, sizeof(*link));
	MUST(link);
	link->family = AF_INET;
	link->gid = (struct gid){ { [10] = 0xff, 0xff, 127, 0, 0, 9 } };
	MUST(udp_rx_init(link) == 0);
	return 0;
}

/* One datagram: its length, how it was cut, its sender's family, control bytes of any kind, and bytes. */
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

/* All that came out of the datagrams since the last receive. */
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
		int n = link_udp_recv(link, arrival, max);

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
	struct veth_split split;

	if (frame->payload_len == 0)
		return;
	split = veth_split(&flow, frame->ip_id, frame->payload, frame->payload_len, gso_size);
	MUST(split.seg_len > 0 && split.seg_len <= frame->payload_len);
	MUST(split.id_step <= 1);
}

/* A frame that was taken: what is emitted of it is taken again, and says the same. */
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

/* The link's other half: questions for addresses are answered from what they say. */
static void ask(const uint8_t *p, size_t len)
{
	const struct neighbour_self self = { link->gid, { 2, 0, 0, 0, 0, 9 } };
	uint8_t answer[NEIGHBOUR_FRAME_MAX];
	struct neighbour_message message;

	if (neighbour_parse(&message, p, len) == NEIGHBOUR_ASKS &&
	    gid_is_v4(&message.target) == gid_is_v4(&self.gid))
		MUST(neighbour_emit_answer(answer, &self, &message) <= sizeof(answer));
}

/* IPv4's header checksum is made right, as the fuzzer would hardly guess it. */
static void sign_ip(uint8_t *p, size_t len)
{
	uint16_t sum;

	if (len < FRAME_ETH_LEN + FRAME_IPV4_LEN || p[12] != 8 || p[13] != 0)
		return;
	p[24] = p[25] = 0;
	sum = frame_checksum(0, p + FRAME_ETH_LEN, FRAME_IPV4_LEN);
	p[24] = (uint8_t)(sum >> 8);
	p[25] = (uint8_t)sum;
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
	gso_size = kind & 2 ? take_u16(&take) : 0;
	p = exact_block(take.p, take.left);
	if (!(kind & 4))
		sign_ip(p, take.left);
	if (frame_parse(&frame, p, take.left) == FRAME_OK) {
		MUST(frame.payload >= p && frame.payload + frame.payload_len <= p + take.left);
		emit_again(&frame);
		cut(&frame, gso_size);
	}
	ask(p, take.left);
	free(p);
	return 0;
}
