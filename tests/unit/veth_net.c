/* SPDX-License-Identifier: MIT */
/* The Ethernet link between two network namespaces: a device with a MAC and an address of its own
 * on va; on vb the kernel with a UDP link, or another such device.
 *
 * Skips (77) where the test may not make namespaces. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/link/ethernet/ethernet.h"
#include "net/link/socket.h"
#include "tests/suite.h"
#include "udp_fixture.h"
#include "veth_pair.h"

#define QPN    0x000102u
#define NOBODY 65534

/* A device on a veth, and its last warning. */
struct device {
	struct ethernet_filter filter;
	struct link *link;
	int rx_fd, tx_fd;
	uint16_t ports[LINK_TX_PORTS];
	char said[200];
	uint32_t says;
};

enum {
	HELD = 256, /* trains that a link holds for neighbors that have not answered */
	BURST = 100,
};

static struct device dev, other;
static struct udp_end kernel;
static uint8_t buf[TRAIN_MAX_BYTES];
static struct wire_train train;
static uint32_t side_by_side; /* arrivals that are not the first of their frame */

static void hear(void *arg, const char *line)
{
	struct device *d = arg;

	d->says++;
	(void)snprintf(d->said, sizeof(d->said), "%s", line);
}

static void device_open(struct device *d, const char *ifname, const char *address, uint32_t slot)
{
	struct ethernet_cfg cfg = { .ifname = ifname,
				    .gid = gid_of(address),
				    .prefix_len = strchr(address, ':') ? 64 : 24,
				    .slot = slot,
				    .answers = slot == 0,
				    .log.write = hear,
				    .log.arg = d };

	memset(d, 0, sizeof(*d));
	d->rx_fd = d->tx_fd = -1;
	ethernet_make_mac(cfg.mac, &cfg.gid, ifname);
	d->filter = (struct ethernet_filter){ .ifname = ifname,
					      .gid = cfg.gid,
					      .slot = slot,
					      .slots = 8,
					      .log.write = hear,
					      .log.arg = d };
	memcpy(d->filter.mac, cfg.mac, sizeof(cfg.mac));
	ck_assert_int_eq(ethernet_open_sockets(&d->filter, &d->rx_fd, &d->tx_fd), 0);
	cfg.rx_fd = d->rx_fd;
	cfg.tx_fd = d->tx_fd;
	ck_assert_int_eq(ethernet_open(&d->link, &cfg), 0);
	ck_assert_uint_eq(link_tx_ports(d->link, d->ports, LINK_TX_PORTS), LINK_TX_PORTS);
}

static void device_close(struct device *d)
{
	link_close(d->link);
	if (d->rx_fd >= 0)
		(void)close(d->rx_fd);
	if (d->tx_fd >= 0)
		(void)close(d->tx_fd);
}

/* Waits for the next arrivals. Returns how many; 0: none came. Solicitations are answered
 * meanwhile. */
static int device_await(struct device *d, struct wire_arrival *ret, size_t max)
{
	struct pollfd p = { .fd = link_wait_fd(d->link), .events = POLLIN };
	int n = link_receive(d->link, ret, max);

	while (n == 0 && poll(&p, 1, AWAIT_MS) > 0)
		n = link_receive(d->link, ret, max);
	return n;
}

/* Lets a device answer ARP until nothing is left to read. */
static void device_serve(struct device *d)
{
	struct pollfd p = { .fd = link_wait_fd(d->link), .events = POLLIN };
	struct wire_arrival a;

	while (poll(&p, 1, 0) > 0)
		ck_assert_int_eq(link_receive(d->link, &a, 1), 0);
}

/* Makes a train of device d in buf. */
static uint32_t make_train(const struct device *d, const char *to, uint32_t qpn, uint32_t segs,
			   uint32_t len, uint32_t last)
{
	struct udp_end from = { .group = { .gid = d->filter.gid } };
	const struct gid dst = gid_of(to);
	uint32_t n = 0;

	memcpy(from.ports, d->ports, sizeof(from.ports));
	train_begin(&train, buf, &from, &dst, 1);
	while (n + 1 < segs && train_packet(&train, &from, qpn, n, len))
		n++;
	return n + train_packet(&train, &from, qpn, n, last);
}

/* Expects n packets, each right by its own rule, as arrival_good checks. */
static void expect(struct device *d, uint32_t qpn, uint32_t n, uint32_t len, uint32_t last)
{
	struct wire_arrival got[TRAIN_MAX_SEGS];
	uint32_t psn = 0;

	while (psn < n) {
		const int k = device_await(d, got, TRAIN_MAX_SEGS);

		ck_assert_int_gt(k, 0);
		for (int i = 0; i < k; i++, psn++) {
			ck_assert_int_eq(got[i].id_rule, IP_ID_EXACT);
			side_by_side += i > 0 && got[i].p == got[i - 1].p + got[i - 1].len;
			ck_assert(arrival_good(&got[i], qpn, psn, psn + 1 == n ? last : len));
		}
	}
	device_serve(d);
}

/* The kernel's end does not see identifications: every ICRC must match some identification. */
static void expect_at_kernel(uint32_t n)
{
	struct wire_arrival got[TRAIN_MAX_SEGS];

	for (uint32_t psn = 0; psn < n;) {
		int k;

		device_serve(&dev); /* the kernel may solicit before it answers */
		k = await(kernel.link, got, TRAIN_MAX_SEGS);
		ck_assert_int_gt(k, 0);
		for (int i = 0; i < k; i++, psn++) {
			const struct icrc_flow flow = { .src = got[i].src,
							.dst = got[i].dst,
							.src_port = got[i].src_port };

			ck_assert_int_ne(icrc_check(&flow, got[i].id_rule, got[i].ip_id, got[i].p,
						    got[i].len),
					 ICRC_BAD);
			ck_assert_uint_eq(got[i].src_port, dev.ports[1]);
		}
	}
}

static void send_from_kernel(const char *to, uint32_t segs, uint32_t len, uint32_t last)
{
	const struct gid dst = gid_of(to);
	uint32_t n = 0;

	train_begin(&train, buf, &kernel, &dst, 0);
	while (n + 1 < segs && train_packet(&train, &kernel, QPN, n, len))
		n++;
	ck_assert(train_packet(&train, &kernel, QPN, n, last));
	ck_assert_int_eq(link_send(kernel.link, &train, 1), 1);
}

static const struct {
	const char *device, *kernel, *group;
} address[2] = {
	{ "10.77.0.9", "10.77.0.2", "239.77.1.1" },
	{ "fd77::9", "fd77::2", "ff15::77:1" },
};

#define FAMILIES 2 /* kinds of addresses, the index of loop tests */

static void open_both(int family)
{
	pair_enter(PAIR_A);
	device_open(&dev, "va", address[family].device, 0);
	pair_enter(PAIR_B);
	ck_assert_int_eq(end_open(&kernel, address[family].kernel, 1, 0, true), 0);
}

static void close_both(void)
{
	ck_assert_uint_eq(dev.says, 0);
	ck_assert_uint_eq(dev.link->stats.send_errors, 0);
	ck_assert_uint_eq(dev.link->stats.bad_frames, 0);
	ck_assert_uint_eq(socket_drops(dev.rx_fd), 0);
	device_close(&dev);
	end_close(&kernel);
}

/* The device solicits the kernel's MAC, holds the train meanwhile, and sends it after the
 * answer. */
START_TEST(to_the_kernel)
{
	for (int turn = 1; turn <= 3; turn++) {
		uint32_t n;

		if (turn == 1)
			open_both(_i);
		n = make_train(&dev, address[_i].kernel, QPN, (uint32_t)turn * 7, 1024 + 28, 100);
		ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
		if (turn == 1) {
			struct pollfd p = { .fd = link_wait_fd(dev.link), .events = POLLIN };

			ck_assert_int_eq(poll(&p, 1, AWAIT_MS), 1);
		}
		expect_at_kernel(n);
	}
	close_both();
}
END_TEST

/* The kernel solicits the device's MAC; its trains arrive uncut, and are split exactly. */
START_TEST(from_the_kernel)
{
	static const uint32_t lens[] = { 4096 + 16, 1024 + 28, 80, 32 };

	open_both(_i);
	for (size_t i = 0; i < 4; i++) {
		for (uint32_t segs = 1; segs <= 64 && segs * lens[i] < 65000; segs = segs * 2 + 1) {
			send_from_kernel(address[_i].device, segs, lens[i], 28);
			expect(&dev, QPN, segs, lens[i], 28);
			ck_assert_uint_eq(side_by_side, segs - 1);
			side_by_side = 0;
		}
	}
	close_both();
}
END_TEST

/* Trains that the kernel cuts have counted identifications. */
START_TEST(cut_by_the_kernel)
{
	open_both(_i);
	pair_enter(PAIR_B);
	ck_assert(pair_run("ip link set vb gso_max_segs 1"));
	send_from_kernel(address[_i].device, 20, 1024 + 28, 64);
	expect(&dev, QPN, 20, 1024 + 28, 64);
	ck_assert_uint_eq(side_by_side, 0);
	ck_assert(pair_run("ip link set vb gso_max_segs 65535"));
	close_both();
}
END_TEST

/* Both ends are Ethernet links. */
START_TEST(between_devices)
{
	const char *const there = _i ? "fd77::8" : "10.77.0.8";

	pair_enter(PAIR_A);
	device_open(&dev, "va", address[_i].device, 0);
	pair_enter(PAIR_B);
	device_open(&other, "vb", there, 0);
	for (uint32_t segs = 1; segs <= 15; segs = segs * 2 + 1) {
		uint32_t n = make_train(&dev, there, QPN, segs, 4096 + 16, 200);

		ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
		if (segs == 1) {
			device_serve(&other); /* the solicitation */
			device_serve(&dev);   /* the advertisement */
		}
		expect(&other, QPN, n, 4096 + 16, 200);
		/* The datagram's source is known: no solicitation is needed. */
		n = make_train(&other, address[_i].device, QPN, segs, 256 + 28, 100);
		ck_assert_int_eq(link_send(other.link, &train, 1), 1);
		expect(&dev, QPN, n, 256 + 28, 100);
	}
	device_close(&dev);
	device_close(&other);
}
END_TEST

/* Two slots of a device receive the packets for their QPNs, from each other and from themselves. */
START_TEST(slots)
{
	const char *const here = address[_i].device;
	struct wire_arrival a;
	uint32_t n;

	pair_enter(PAIR_A);
	device_open(&dev, "va", here, 0);
	device_open(&other, "va", here, 3);
	for (int turn = 0; turn < 2; turn++) {
		struct device *from = turn ? &other : &dev;

		n = make_train(from, here, 0x030001, 5, 300, 100);
		ck_assert_int_eq(link_send(from->link, &train, 1), 1);
		expect(&other, 0x030001, n, 300, 100);
		n = make_train(from, here, 0x000001, 5, 300, 100);
		ck_assert_int_eq(link_send(from->link, &train, 1), 1);
		expect(&dev, 0x000001, n, 300, 100);
	}
	/* A QPN without a slot belongs to the server. */
	n = make_train(&other, here, 0xf00001, 1, 300, 300);
	ck_assert_int_eq(link_send(other.link, &train, 1), 1);
	expect(&dev, 0xf00001, n, 300, 300);
	ck_assert_int_eq(link_receive(other.link, &a, 1), 0);
	device_close(&dev);
	device_close(&other);
}
END_TEST

START_TEST(groups)
{
	const struct gid group = gid_of(address[_i].group);
	const struct gid v4 = gid_of("239.1.2.3"), v6 = gid_of("ff15::3");
	struct wire_arrival a;
	uint32_t n;

	open_both(_i);
	ck_assert_int_eq(link_join(dev.link, _i ? &v4 : &v6), -EINVAL);
	ck_assert_int_eq(link_join(dev.link, &kernel.group.gid), -EINVAL);
	ck_assert_int_eq(link_leave(dev.link, &group), -ENOENT);
	/* A second join changes nothing. */
	ck_assert_int_eq(link_join(dev.link, &group), 0);
	ck_assert_int_eq(link_join(dev.link, &group), 0);
	send_from_kernel(address[_i].group, 3, 300, 100);
	expect(&dev, QPN, 3, 300, 100);

	/* The kernel's members of the group receive too. */
	ck_assert_int_eq(link_join(kernel.link, &group), 0);
	n = make_train(&dev, address[_i].group, QPN, 3, 300, 100);
	ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	expect(&dev, QPN, n, 300, 100); /* a member receives its own packets */
	expect_at_kernel(n);

	ck_assert_int_eq(link_leave(dev.link, &group), 0);
	send_from_kernel(address[_i].group, 1, 300, 300);
	send_from_kernel(address[_i].device, 1, 200, 200);
	ck_assert_int_eq(device_await(&dev, &a, 1), 1);
	ck_assert_uint_eq(a.len, 200);
	close_both();
}
END_TEST

/* Every field of the headers is received, and sent. */
START_TEST(headers)
{
	const bool v4 = _i == 0;
	struct wire_arrival a;

	pair_enter(PAIR_A);
	device_open(&dev, "va", address[_i].device, 0);
	(void)make_train(&dev, address[_i].device, QPN, 1, 300, 300);
	train.traffic_class = 0x68;
	train.hop_limit = 7;
	train.flow_label = 0x12345;
	ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	ck_assert_int_eq(device_await(&dev, &a, 1), 1);
	ck_assert_uint_eq(a.traffic_class, 0x68);
	ck_assert_uint_eq(a.hop_limit, 7);
	ck_assert_uint_eq(a.flow_label, v4 ? 0 : 0x12345);
	ck_assert(gid_equal(&a.src, &dev.filter.gid) && gid_equal(&a.dst, &dev.filter.gid));
	device_close(&dev);
}
END_TEST

/* Trains for a neighbor that does not answer are held for a second, then dropped with a warning. */
START_TEST(nobody_there)
{
	const struct gid nobody = gid_of("10.77.0.66");
	struct pollfd p;
	struct wire_arrival a;

	pair_enter(PAIR_A);
	device_open(&dev, "va", "10.77.0.9", 0);
	p = (struct pollfd){ .fd = link_wait_fd(dev.link), .events = POLLIN };
	/* Nothing asked for it yet. */
	ck_assert_int_eq(ethernet_neighbor(dev.link, &nobody, false), -EHOSTUNREACH);
	(void)make_train(&dev, "10.77.0.66", QPN, 2, 300, 100);
	for (uint32_t i = 0; i < HELD; i++)
		ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	/* The link returns -EAGAIN for others, and drops them after NEIGHBOR_SOON_NS. */
	ck_assert_int_eq(link_send(dev.link, &train, 1), -EAGAIN);
	while (link_send(dev.link, &train, 1) == -EAGAIN)
		(void)poll(NULL, 0, 5);
	ck_assert_uint_eq(dev.link->stats.send_errors, 2);
	while (dev.says == 0 && poll(&p, 1, AWAIT_MS) > 0)
		ck_assert_int_eq(link_receive(dev.link, &a, 1), 0);
	ck_assert_uint_eq(dev.says, 1);
	ck_assert_ptr_nonnull(strstr(dev.said, "10.77.0.66"));
	ck_assert_uint_eq(dev.link->stats.send_errors, 2 + 2 * HELD);
	/* Another network, and no gateway. */
	(void)make_train(&dev, "10.78.0.1", QPN, 1, 300, 300);
	ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	ck_assert_uint_eq(dev.link->stats.send_errors, 2 + 2 * HELD + 1);
	ck_assert_ptr_nonnull(strstr(dev.said, "gateway"));
	device_close(&dev);
}
END_TEST

/* Datagrams to two new neighbors wait side by side until each answers, however late. */
START_TEST(burst_before_the_answer)
{
	static const char *const to[] = { "10.77.0.8", "10.77.0.66" };
	struct wire_arrival a;

	pair_enter(PAIR_A);
	device_open(&dev, "va", "10.77.0.9", 0);
	for (uint32_t i = 0; i < BURST; i++) {
		(void)make_train(&dev, to[i % 2], QPN, 1, 300, 200 + i);
		ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	}
	pair_enter(PAIR_B);
	for (uint32_t turn = 0; turn < 2; turn++) {
		device_open(&other, "vb", to[turn], 0);
		ethernet_answer(other.link, true);
		device_serve(&dev); /* what the neighbor announces */
		for (uint32_t i = turn; i < BURST; i += 2) {
			ck_assert_int_eq(device_await(&other, &a, 1), 1);
			ck_assert(arrival_good(&a, QPN, 0, 200 + i));
		}
		device_close(&other);
	}
	ck_assert_uint_eq(dev.link->stats.send_errors, 0);
	device_close(&dev);
}
END_TEST

/* The interface's MTU limits packets; a longer one causes a warning. */
START_TEST(mtu)
{
	const struct gid v4 = gid_of("10.77.0.9");

	open_both(0);
	pair_enter(PAIR_A);
	ck_assert_uint_eq(ethernet_max_mtu("va", &v4), 4096);
	ck_assert_uint_eq(ethernet_max_mtu("nowhere", &v4), 0);
	ck_assert(pair_run("ip link set va mtu 1500"));
	ck_assert_uint_eq(ethernet_max_mtu("va", &v4), 1024);
	(void)make_train(&dev, "10.77.0.9", QPN, 2, 2048 + 28, 2048 + 28);
	ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	ck_assert_uint_eq(dev.link->stats.send_errors, 2);
	ck_assert_ptr_nonnull(strstr(dev.said, "does not fit va"));
	ck_assert(pair_run("ip link set va mtu 9000"));
	device_close(&dev);
	end_close(&kernel);
}
END_TEST

static int sndbuf_of(int fd)
{
	socklen_t len = sizeof(int);
	int bytes = 0;

	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len), 0);
	return bytes;
}

/* Bursts of frames fit the buffer, also where the machine's limit is lower. */
START_TEST(a_large_send_buffer)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	pair_enter(PAIR_A);
	device_open(&dev, "va", "10.77.0.9", 0);
	/* In a user namespace the kernel may refuse it. */
	if (socket_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20) == 0)
		ck_assert_int_eq(sndbuf_of(dev.tx_fd), sndbuf_of(fd));
	device_close(&dev);
	(void)close(fd);
}
END_TEST

/* An interface that is down causes a warning; the link works again when the interface does. */
START_TEST(down_and_up)
{
	struct wire_arrival a;
	uint32_t n;

	pair_enter(PAIR_A);
	device_open(&dev, "va", "10.77.0.9", 0);
	ck_assert(pair_run("ip link set va down"));
	n = make_train(&dev, "10.77.0.9", QPN, 3, 300, 100);
	ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	ck_assert_uint_eq(dev.link->stats.send_errors, n);
	ck_assert_ptr_nonnull(strstr(dev.said, "va is down"));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(link_receive(dev.link, &a, 1), 0);
	ck_assert(pair_run("ip link set va up && ip addr replace fd77::1/64 dev va nodad"));
	ck_assert_int_eq(link_send(dev.link, &train, 1), 1);
	expect(&dev, QPN, n, 300, 100);
	device_close(&dev);
}
END_TEST

/* Another host announces the device's address: a warning. */
START_TEST(conflict)
{
	const uint8_t *mac = other.filter.mac;
	char text[64];

	pair_enter(PAIR_A);
	device_open(&dev, "va", address[_i].device, 0);
	pair_enter(PAIR_B);
	device_open(&other, "vb", address[_i].device, 0);
	device_serve(&dev);
	ck_assert_uint_eq(dev.says, 1);
	(void)snprintf(text, sizeof(text),
		       "%02x:%02x:%02x:%02x:%02x:%02x on va has our address too", mac[0], mac[1],
		       mac[2], mac[3], mac[4], mac[5]);
	ck_assert_ptr_nonnull(strstr(dev.said, text));
	device_close(&other);
	device_close(&dev);
}
END_TEST

/* A seccomp filter refuses recvmmsg(): one warning, and nothing arrives. */
START_TEST(receive_refused)
{
	struct wire_arrival got;

	pair_enter(PAIR_A);
	device_open(&dev, "va", address[0].device, 0);
	if (refuse_calls(SYS_recvmsg, SYS_recvmmsg, EPERM) == 0) {
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(link_receive(dev.link, &got, 1), 0);
		ck_assert_uint_eq(dev.says, 1);
		ck_assert_ptr_nonnull(strstr(dev.said, "recvmmsg): Operation not permitted"));
	}
	device_close(&dev);
}
END_TEST

/* Without CAP_NET_RAW: one warning with advice. */
START_TEST(no_right)
{
	struct ethernet_filter filter = {
		.ifname = "va", .gid = gid_of("10.77.0.9"), .log.write = hear, .log.arg = &dev
	};
	int rx, tx, status;
	pid_t child;

	pair_enter(PAIR_A);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (setuid(NOBODY) != 0)
			_exit(PAIR_SKIP);
		if (ethernet_open_sockets(&filter, &rx, &tx) != -EPERM || dev.says != 1)
			_exit(1);
		_exit(strstr(dev.said, "CAP_NET_RAW") ? 0 : 3);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == PAIR_SKIP);
}
END_TEST

START_TEST(not_there)
{
	struct ethernet_filter filter = {
		.ifname = "nowhere", .gid = gid_of("10.77.0.9"), .log.write = hear, .log.arg = &dev
	};
	struct ethernet_cfg cfg = { .ifname = "va", .gid = gid_of("239.1.1.1") };
	struct link *link;
	int rx, tx;

	pair_enter(PAIR_A);
	ck_assert_int_eq(ethernet_open_sockets(&filter, &rx, &tx), -ENODEV);
	ck_assert_ptr_nonnull(strstr(dev.said, "nowhere"));
	filter.ifname = "lo";
	ck_assert_int_eq(ethernet_open_sockets(&filter, &rx, &tx), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(dev.said, "lo is not an Ethernet interface"));
	ck_assert_int_eq(ethernet_open(&link, &cfg), -EINVAL);
	cfg.gid = gid_of("10.77.0.9");
	cfg.slot = ETHERNET_SLOTS;
	ck_assert_int_eq(ethernet_open(&link, &cfg), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("veth_net");
	TCase *tc = tcase_create("veth");

	if (pair_make() != 0) {
		(void)puts("skipped: needs root or user namespaces, and ip, to join two "
			   "namespaces by veth");
		return PAIR_SKIP;
	}
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, to_the_kernel, 0, FAMILIES);
	tcase_add_loop_test(tc, from_the_kernel, 0, FAMILIES);
	tcase_add_loop_test(tc, cut_by_the_kernel, 0, FAMILIES);
	tcase_add_loop_test(tc, between_devices, 0, FAMILIES);
	tcase_add_loop_test(tc, slots, 0, FAMILIES);
	tcase_add_loop_test(tc, groups, 0, FAMILIES);
	tcase_add_loop_test(tc, headers, 0, FAMILIES);
	tcase_add_test(tc, nobody_there);
	tcase_add_test(tc, burst_before_the_answer);
	tcase_add_test(tc, mtu);
	tcase_add_test(tc, a_large_send_buffer);
	tcase_add_test(tc, down_and_up);
	tcase_add_test(tc, receive_refused);
	tcase_add_loop_test(tc, conflict, 0, FAMILIES);
	tcase_add_test(tc, no_right);
	tcase_add_test(tc, not_there);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
