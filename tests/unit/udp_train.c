// SPDX-License-Identifier: MIT
/* Trains and single packets over real sockets: they arrive cut as they were made, and every ICRC is
 * right by the arrival's own rule. */
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/socket.h"
#include "net/link/udp/private.h"
#include "private_network.h"
#include "tests/suite.h"
#include "udp_fixture.h"

#define QPN 0x000102u

static uint8_t buf[UDP_BURST * 2][TRAIN_MAX_BYTES];
static struct wire_train train[UDP_BURST * 2];

static void open_pair(struct udp_end *a, struct udp_end *b, const char *from, const char *to,
		      bool trains)
{
	ck_assert_int_eq(end_open(a, from, 1, 0, trains), 0);
	if (strcmp(from, to) == 0)
		*b = *a;
	else
		ck_assert_int_eq(end_open(b, to, 1, 0, trains), 0);
}

static void close_pair(struct udp_end *a, struct udp_end *b)
{
	if (a->link != b->link)
		end_close(b);
	end_close(a);
}

/* Makes packets of len, the last of last bytes, as many as fit one train up to segs. Returns how
 * many. */
static uint32_t make_train(struct wire_train *ret, uint8_t *bytes, const struct udp_end *from,
			   const struct udp_end *to, uint32_t segs, uint32_t len, uint32_t last)
{
	uint32_t n = 0;

	train_begin(ret, bytes, from, &to->group.gid, 0);
	while (n + 1 < segs && train_packet(ret, from, QPN, n, len))
		n++;
	if (train_packet(ret, from, QPN, n, last))
		n++;
	return n;
}

/* Receives the train's packets, max arrivals in a call. */
static void expect_train(const struct udp_end *to, uint32_t n, uint32_t len, uint32_t last,
			 size_t max)
{
	struct wire_arrival got[TRAIN_MAX_SEGS];

	for (uint32_t psn = 0; psn < n;) {
		const int k = await(to->link, got, max);

		ck_assert_int_gt(k, 0);
		for (int i = 0; i < k; i++, psn++)
			ck_assert(arrival_good(&got[i], QPN, psn, psn + 1 == n ? last : len));
	}
	ck_assert(nothing(to->link));
}

static void check_sizes(const char *from, const char *to, bool trains)
{
	static const uint32_t segs[] = { 1, 2, 3, 15, 64 };
	struct udp_end a, b;

	open_pair(&a, &b, from, to, trains);
	for (size_t s = 0; s < sizeof(segs) / sizeof(segs[0]); s++)
		for (uint32_t len = 16; len <= 4096 + 64; len = len < 64 ? len + 4 : len * 2 + 4) {
			const uint32_t last = segs[s] % 2 ? len : 16;
			const uint32_t n =
				make_train(&train[0], buf[0], &a, &b, segs[s], len, last);
			const uint32_t got_last = n < segs[s] ? len : last;

			if (n < segs[s] && last != len)
				continue; /* the last one did not fit: the next size follows */
			ck_assert_int_eq(link_send(a.link, train, 1), 1);
			expect_train(&b, n, len, got_last, TRAIN_MAX_SEGS);
		}
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	ck_assert_uint_eq(link_max_segs(a.link), trains ? TRAIN_MAX_SEGS : 1);
	ck_assert_uint_eq(a.says, 0);
	close_pair(&a, &b);
}

START_TEST(sizes_v4)
{
	check_sizes("127.77.0.1", "127.77.0.2", true);
}
END_TEST

/* Trains handed to a link that sends none are sent singly, with new ICRCs. */
START_TEST(sizes_v4_trains_off)
{
	check_sizes("127.77.0.1", "127.77.0.2", false);
}
END_TEST

START_TEST(sizes_v6)
{
	check_sizes("::1", "::1", true);
}
END_TEST

START_TEST(sizes_v6_trains_off)
{
	check_sizes("::1", "::1", false);
}
END_TEST

/* A caller with little room receives the train in portions, and no packet twice. */
START_TEST(portions)
{
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	for (size_t max = 1; max <= 64; max = max * 3 + 1) {
		const uint32_t n = make_train(&train[0], buf[0], &a, &b, 50, 200, 100);

		ck_assert_int_eq(link_send(a.link, train, 1), 1);
		expect_train(&b, n, 200, 100, max);
	}
	close_pair(&a, &b);
}
END_TEST

/* More trains than one system call takes, over all sending sockets: all arrive, in order for each
 * socket. */
START_TEST(many_trains)
{
	uint32_t next[LINK_TX_PORTS] = { 0 };
	const uint32_t count = UDP_BURST * 2;
	struct wire_arrival got[TRAIN_MAX_SEGS];
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	for (uint32_t t = 0; t < count; t++) {
		const uint8_t tx = (uint8_t)(t / 3 % LINK_TX_PORTS);

		train_begin(&train[t], buf[t], &a, &b.group.gid, tx);
		for (uint32_t i = 0; i <= t % 4; i++)
			ck_assert(train_packet(&train[t], &a, QPN, next[tx]++, 128));
	}
	ck_assert_int_eq(link_send(a.link, train, count), (int)count);

	memset(next, 0, sizeof(next));
	for (uint32_t left = count / 4 * (1 + 2 + 3 + 4); left > 0;) {
		const int k = await(b.link, got, TRAIN_MAX_SEGS);

		ck_assert_int_gt(k, 0);
		for (int i = 0; i < k; i++) {
			uint8_t tx = 0;

			while (a.ports[tx] != got[i].src_port)
				ck_assert_uint_lt(++tx, LINK_TX_PORTS);
			ck_assert(arrival_good(&got[i], QPN, next[tx]++, 128));
		}
		left -= (uint32_t)k;
	}
	close_pair(&a, &b);
}
END_TEST

static void check_header_fields(const char *from, const char *to)
{
	struct wire_arrival got;
	struct udp_end a, b;

	open_pair(&a, &b, from, to, true);
	link_show_headers(b.link);
	(void)make_train(&train[0], buf[0], &a, &b, 1, 64, 64);
	train[0].traffic_class = 0x68;
	train[0].hop_limit = 7;
	(void)make_train(&train[1], buf[1], &a, &b, 1, 64, 64);
	ck_assert_int_eq(link_send(a.link, train, 2), 2);

	ck_assert_int_eq(await(b.link, &got, 1), 1);
	ck_assert_uint_eq(got.traffic_class, 0x68);
	ck_assert_uint_eq(got.hop_limit, 7);
	ck_assert(arrival_good(&got, QPN, 0, 64));
	ck_assert(gid_equal(&got.src, &a.group.gid));
	ck_assert(gid_equal(&got.dst, &b.group.gid));
	ck_assert_uint_eq(got.src_port, a.ports[0]);

	ck_assert_int_eq(await(b.link, &got, 1), 1);
	ck_assert_uint_eq(got.traffic_class, 0);
	ck_assert_uint_eq(got.hop_limit, 64);
	close_pair(&a, &b);
}

START_TEST(header_fields)
{
	check_header_fields("127.77.0.1", "127.77.0.2");
	check_header_fields("::1", "::1");
}
END_TEST

static void expect_header(const struct udp_end *a, const struct udp_end *b, uint8_t traffic_class,
			  uint8_t hop_limit)
{
	struct wire_arrival got;

	(void)make_train(&train[0], buf[0], a, b, 1, 64, 64);
	train[0].traffic_class = traffic_class;
	train[0].hop_limit = hop_limit;
	ck_assert_int_eq(link_send(a->link, train, 1), 1);
	ck_assert_int_eq(await(b->link, &got, 1), 1);
	ck_assert_uint_eq(got.traffic_class, traffic_class);
	ck_assert_uint_eq(got.hop_limit, hop_limit ? hop_limit : 64);
	ck_assert(arrival_good(&got, QPN, 0, 64));
}

static int option_of_socket(const struct udp_end *a, int level, int option)
{
	const struct udp_link *link = (const struct udp_link *)a->link;
	int value = 0;
	socklen_t len = sizeof(value);

	ck_assert_int_eq(getsockopt(link->tx_fd[0], level, option, &value, &len), 0);
	return value;
}

static int hop_limit_of_socket(const struct udp_end *a, bool v4)
{
	return option_of_socket(a, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_UNICAST_HOPS);
}

static int seg_len_of_socket(const struct udp_end *a)
{
	return option_of_socket(a, IPPROTO_UDP, UDP_SEGMENT);
}

static void check_followed_fields(const char *from, const char *to, bool v4)
{
	struct udp_end a, b;

	open_pair(&a, &b, from, to, true);
	link_show_headers(b.link);
	/* Two programs by turns: the socket follows neither. */
	for (uint32_t i = 0; i < 40; i++)
		expect_header(&a, &b, i % 2 ? 0x20 : 0, 255);
	ck_assert_int_eq(hop_limit_of_socket(&a, v4), 64);
	for (uint32_t i = 0; i < 40; i++)
		expect_header(&a, &b, 0x20, 255);
	ck_assert_int_eq(hop_limit_of_socket(&a, v4), 255);
	/* Others get theirs all the same. */
	expect_header(&a, &b, 0, 0);
	expect_header(&a, &b, 0x20, 64);
	expect_header(&a, &b, 0x68, 255);
	for (uint32_t i = 0; i < 40; i++)
		expect_header(&a, &b, 0, 0);
	ck_assert_int_eq(hop_limit_of_socket(&a, v4), 64);
	close_pair(&a, &b);
}

START_TEST(followed_fields)
{
	check_followed_fields("127.77.0.1", "127.77.0.2", true);
	check_followed_fields("::1", "::1", false);
}
END_TEST

static void expect_whole(const struct udp_end *a, const struct udp_end *b, uint32_t segs,
			 uint32_t len, uint32_t last)
{
	(void)make_train(&train[0], buf[0], a, b, segs, len, last);
	ck_assert_int_eq(link_send(a->link, train, 1), 1);
	expect_train(b, segs, len, last, TRAIN_MAX_SEGS);
}

/* A train of 3 packets, and one of the next alone. */
static void expect_batch(const struct udp_end *a, const struct udp_end *b, uint32_t len)
{
	(void)make_train(&train[0], buf[0], a, b, 3, len, len);
	train_begin(&train[1], buf[1], a, &b->group.gid, 0);
	ck_assert(train_packet(&train[1], a, QPN, 3, len));
	ck_assert_int_eq(link_send(a->link, train, 2), 2);
	expect_train(b, 4, len, len, TRAIN_MAX_SEGS);
}

static void let_socket_follow(const struct udp_end *a, const struct udp_end *b, uint32_t len)
{
	for (uint32_t i = 0; i < 40; i++)
		expect_whole(a, b, 2, len, 20);
	ck_assert_int_eq(seg_len_of_socket(a), (int)len);
}

static void check_followed_trains(const char *from, const char *to)
{
	struct udp_end a, b;

	open_pair(&a, &b, from, to, true);
	/* Two programs by turns: the socket follows neither. */
	for (uint32_t i = 0; i < 40; i++)
		expect_whole(&a, &b, 2, i % 2 ? 64 : 128, 20);
	ck_assert_int_eq(seg_len_of_socket(&a), 0);
	let_socket_follow(&a, &b, 64);
	/* Trains of other lengths, and packets that are shorter or longer, alone and in a batch. */
	for (uint32_t len = 16; len <= 256; len += 4) {
		expect_whole(&a, &b, 1, len, len);
		expect_whole(&a, &b, 4, len, 16);
		expect_batch(&a, &b, len);
	}
	for (uint32_t i = 0; i < 40; i++)
		expect_whole(&a, &b, 1, 1024, 1024);
	ck_assert_int_eq(seg_len_of_socket(&a), 0);
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	close_pair(&a, &b);
}

START_TEST(followed_trains)
{
	check_followed_trains("127.77.0.1", "127.77.0.2");
	check_followed_trains("::1", "::1");
}
END_TEST

/* The ICRC detects each wrong bit. */
START_TEST(wrong_icrc)
{
	struct wire_arrival got;
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	for (uint32_t bit = 0; bit < 64 * 8; bit += 13) {
		(void)make_train(&train[0], buf[0], &a, &b, 1, 64, 64);
		buf[0][bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_eq(link_send(a.link, train, 1), 1);
		ck_assert_int_eq(await(b.link, &got, 1), 1);
		ck_assert(!arrival_good(&got, QPN, 0, 64));
	}
	close_pair(&a, &b);
}
END_TEST

/* No receiver: packets are lost, and the sockets stay usable. */
START_TEST(closed_port)
{
	const struct gid nobody = gid_of("127.77.0.99");
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	for (uint32_t i = 0; i < 20; i++) {
		train_begin(&train[0], buf[0], &a, &nobody, 0);
		ck_assert(train_packet(&train[0], &a, QPN, 0, 64));
		ck_assert_int_eq(link_send(a.link, train, 1), 1);
		ck_assert(nothing(a.link));
	}
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	(void)make_train(&train[0], buf[0], &a, &b, 4, 64, 64);
	ck_assert_int_eq(link_send(a.link, train, 1), 1);
	expect_train(&b, 4, 64, 64, 8);
	close_pair(&a, &b);
}
END_TEST

/* No route: counted, logged once, and the trains after it are sent. */
START_TEST(no_route)
{
	const struct gid nowhere = gid_of("192.0.2.7");
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	train_begin(&train[0], buf[0], &a, &nowhere, 0);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert(train_packet(&train[0], &a, QPN, i, 64));
	(void)make_train(&train[1], buf[1], &a, &b, 4, 64, 64);
	train[2] = train[0];
	ck_assert_int_eq(link_send(a.link, train, 3), 3);
	expect_train(&b, 4, 64, 64, 8);
	/* A shared network may have a route there after all; answers do not come either way. */
	ck_assert_uint_le(a.says, 1);
	ck_assert_uint_le(a.link->stats.send_errors, 6);
	close_pair(&a, &b);
}
END_TEST

/* A receiver that does not read: packets are lost, the sender neither blocks nor fails, and the
 * link recovers. */
START_TEST(buffers_full)
{
	struct wire_arrival got[TRAIN_MAX_SEGS];
	struct udp_end a, b;
	uint32_t n;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	n = make_train(&train[0], buf[0], &a, &b, 15, 4096 + 28, 4096 + 28);
	for (uint32_t sent = 0; sent < b.group.rcvbuf * 2; sent += train[0].len)
		ck_assert_int_eq(link_send(a.link, train, 1), 1);
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	ck_assert_uint_gt(socket_drops(b.group.fd[0]), 0);

	while (link_receive(b.link, got, TRAIN_MAX_SEGS) > 0)
		;
	ck_assert_int_eq(link_send(a.link, train, 1), 1);
	expect_train(&b, n, 4096 + 28, 4096 + 28, TRAIN_MAX_SEGS);
	close_pair(&a, &b);
}
END_TEST

static bool set_lo_mtu(int mtu)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_mtu = mtu };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	const bool done = ioctl(fd, SIOCSIFMTU, &req) == 0;

	(void)close(fd);
	return done;
}

/* Too long for the path: dropped, counted, logged once with advice; shorter packets pass. */
START_TEST(too_long)
{
	const struct gid self = gid_of("127.77.0.1");
	struct udp_end a, b;
	uint32_t n;

	if (!set_lo_mtu(1500))
		return;
	ck_assert_uint_eq(udp_max_mtu(&self), 1024);
	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	n = make_train(&train[0], buf[0], &a, &b, 4, 2048, 2048);
	(void)make_train(&train[1], buf[1], &a, &b, 1, 2048, 2048);
	(void)make_train(&train[2], buf[2], &a, &b, 10, 1024 + 28, 100);
	ck_assert_int_eq(link_send(a.link, train, 3), 3);
	expect_train(&b, 10, 1024 + 28, 100, TRAIN_MAX_SEGS);
	ck_assert_uint_eq(a.link->stats.send_errors, n + 1);
	ck_assert_uint_eq(a.says, 1);
	ck_assert_ptr_nonnull(strstr(a.said, "2048 bytes"));
	ck_assert_ptr_nonnull(strstr(a.said, "MTU"));
	ck_assert_uint_eq(link_max_segs(a.link), TRAIN_MAX_SEGS);
	close_pair(&a, &b);
	(void)set_lo_mtu(65536);
}
END_TEST

/* Older kernels refuse even short packets of a socket that cuts longer ones than its interface
 * sends. */
START_TEST(short_packets_after_trains)
{
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	let_socket_follow(&a, &b, 2048);
	if (set_lo_mtu(1500)) {
		expect_whole(&a, &b, 1, 64, 64);
		expect_whole(&a, &b, 3, 1024, 64);
		(void)set_lo_mtu(65536);
	}
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	ck_assert_uint_eq(a.says, 0);
	close_pair(&a, &b);
}
END_TEST

/* An interface that takes no trains from a socket. */
START_TEST(a_socket_that_cuts_is_refused)
{
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	let_socket_follow(&a, &b, 64);
	/* Trains with a control message pass. */
	if (refuse_calls(SYS_sendto, SYS_sendto, EIO) == 0) {
		expect_whole(&a, &b, 2, 64, 20);
		ck_assert_int_eq(seg_len_of_socket(&a), 0);
		ck_assert_uint_eq(link_max_segs(a.link), TRAIN_MAX_SEGS);
	}
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	ck_assert_uint_eq(a.says, 0);
	close_pair(&a, &b);
}
END_TEST

START_TEST(polled)
{
	struct wire_arrival got;
	struct pollfd p = { .events = POLLIN };
	struct udp_end a, b;

	open_pair(&a, &b, "127.77.0.1", "127.77.0.2", true);
	p.fd = link_wait_fd(b.link);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	(void)make_train(&train[0], buf[0], &a, &b, 1, 64, 64);
	ck_assert_int_eq(link_send(a.link, train, 1), 1);
	ck_assert_int_eq(poll(&p, 1, AWAIT_MS), 1);
	ck_assert_int_eq(link_receive(b.link, &got, 1), 1);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	close_pair(&a, &b);
}
END_TEST

START_TEST(receiving_is_refused)
{
	struct wire_arrival got;
	struct udp_end a;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert_int_eq(link_receive(a.link, &got, 1), 0);
	ck_assert_uint_eq(a.says, 0);
	if (refuse_calls(SYS_recvmsg, SYS_recvmmsg, EPERM) == 0) {
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(link_receive(a.link, &got, 1), 0);
		ck_assert_uint_eq(a.says, 1);
		ck_assert_ptr_nonnull(
			strstr(a.said, "recvmmsg): Operation not permitted; a seccomp filter"));
	}
	end_close(&a);
}
END_TEST

START_TEST(addresses)
{
	const struct gid self = gid_of("127.77.0.1"), lo = gid_of("127.1.2.3"),
			 far = gid_of("192.0.2.1"), six = gid_of("::1");
	struct udp_end a;

	ck_assert_int_eq(end_open(&a, "127.77.0.1", 1, 0, true), 0);
	ck_assert(link_is_local(a.link, &self));
	ck_assert(link_is_local(a.link, &lo));
	ck_assert(link_is_local(a.link, &six));
	for (int i = 0; i < 3; i++)
		ck_assert(!link_is_local(a.link, &far));
	ck_assert_uint_eq(udp_max_mtu(&self), 4096);
	ck_assert_uint_eq(udp_max_mtu(&six), 4096);
	ck_assert_uint_eq(udp_max_mtu(&far), 0);
	end_close(&a);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp_train");
	TCase *tc = tcase_create("trains");

	(void)private_network();
	tcase_add_test(tc, sizes_v4);
	tcase_add_test(tc, sizes_v4_trains_off);
	tcase_add_test(tc, sizes_v6);
	tcase_add_test(tc, sizes_v6_trains_off);
	tcase_add_test(tc, portions);
	tcase_add_test(tc, many_trains);
	tcase_add_test(tc, header_fields);
	tcase_add_test(tc, followed_fields);
	tcase_add_test(tc, followed_trains);
	tcase_add_test(tc, wrong_icrc);
	suite_add_tcase(suite, tc);
	tc = tcase_create("trouble");
	tcase_add_test(tc, closed_port);
	tcase_add_test(tc, no_route);
	tcase_add_test(tc, buffers_full);
	tcase_add_test(tc, too_long);
	tcase_add_test(tc, short_packets_after_trains);
	tcase_add_test(tc, a_socket_that_cuts_is_refused);
	tcase_add_test(tc, polled);
	tcase_add_test(tc, receiving_is_refused);
	tcase_add_test(tc, addresses);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
