// SPDX-License-Identifier: MIT
/* The UDP link between two network namespaces joined by a veth pair: trains that stay whole, trains
 * that the kernel cuts (segment i has IP identification i, as the frames show), IPv6, and groups.
 *
 * One process has sockets of both namespaces: a socket stays where it was made. Skips (77) where
 * the test may not make namespaces. */
#include <check.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/suite.h"
#include "udp_fixture.h"
#include "veth_pair.h"

#define QPN	   0x000102u
#define MAX_STRING (512u * ETH_GSTRING_LEN)
#define FRAME_MAX  70000

static struct udp_end a, b;
static uint8_t buf[TRAIN_MAX_BYTES];
static struct wire_train train;

static int ethtool(const char *dev, void *request)
{
	struct ifreq req = { .ifr_data = request };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int rc;

	(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", dev);
	rc = ioctl(fd, SIOCETHTOOL, &req);
	(void)close(fd);
	return rc;
}

/* The number of offloads that the kernel knows: newer kernels demand it in requests for their
 * names. */
static uint32_t count_features(const char *dev)
{
	static _Alignas(8) uint8_t bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	struct ethtool_sset_info *info = (void *)bytes;

	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ull << ETH_SS_FEATURES;
	return ethtool(dev, info) == 0 ? info->data[0] : 0;
}

/* Sets an offload by its name in the kernel's list. False: there is no such offload, or it is
 * fixed. */
static bool set_feature(const char *dev, const char *name, bool on)
{
	static _Alignas(8) uint8_t names[sizeof(struct ethtool_gstrings) + MAX_STRING];
	static _Alignas(8) uint8_t set[sizeof(struct ethtool_sfeatures) +
				       16 * sizeof(struct ethtool_set_features_block)];
	struct ethtool_gstrings *list = (void *)names;
	struct ethtool_sfeatures *features = (void *)set;

	memset(names, 0, sizeof(names));
	memset(set, 0, sizeof(set));
	list->cmd = ETHTOOL_GSTRINGS;
	list->string_set = ETH_SS_FEATURES;
	list->len = count_features(dev);
	if (list->len > 512 || ethtool(dev, list) != 0)
		return false;
	for (uint32_t i = 0; i < list->len; i++) {
		if (strncmp((char *)list->data + (size_t)i * ETH_GSTRING_LEN, name,
			    ETH_GSTRING_LEN) != 0)
			continue;
		features->cmd = ETHTOOL_SFEATURES;
		features->size = (list->len + 31) / 32;
		features->features[i / 32].valid = 1u << i % 32;
		features->features[i / 32].requested = on ? 1u << i % 32 : 0;
		return ethtool(dev, features) >= 0;
	}
	return false;
}

static void set_value(const char *dev, uint32_t command, uint32_t value)
{
	struct ethtool_value v = { .cmd = command, .data = value };

	(void)ethtool(dev, &v);
}

static void open_ends(const char *from, const char *to, bool trains)
{
	pair_enter(PAIR_A);
	ck_assert_int_eq(end_open(&a, from, 1, 0, trains), 0);
	pair_enter(PAIR_B);
	ck_assert_int_eq(end_open(&b, to, 1, 0, trains), 0);
}

static void close_ends(void)
{
	end_close(&a);
	end_close(&b);
}

static uint32_t send_train(const struct gid *dst, uint32_t segs, uint32_t len, uint32_t last)
{
	uint32_t n = 0;

	train_begin(&train, buf, &a, dst, 0);
	while (n + 1 < segs && train_packet(&train, &a, QPN, n, len))
		n++;
	if (train_packet(&train, &a, QPN, n, last))
		n++;
	ck_assert_int_eq(link_send(a.link, &train, 1), 1);
	return n;
}

/* Receives a train: every ICRC is explained, at least by_rule of them by the rule itself. */
static void expect_train(uint32_t n, uint32_t len, uint32_t last, enum ip_id_rule rule,
			 uint32_t by_rule)
{
	struct wire_arrival got[TRAIN_MAX_SEGS];
	uint32_t ok = 0;

	for (uint32_t psn = 0; psn < n;) {
		const int k = await(b.link, got, TRAIN_MAX_SEGS);

		ck_assert_int_gt(k, 0);
		for (int i = 0; i < k; i++, psn++) {
			const struct icrc_flow flow = { .src = got[i].src,
							.dst = got[i].dst,
							.src_port = got[i].src_port };

			ck_assert_uint_eq(got[i].len, psn + 1 == n ? last : len);
			ck_assert_int_eq(got[i].id_rule, rule);
			ck_assert_int_ne(
				icrc_check(&flow, rule, got[i].ip_id, got[i].p, got[i].len),
				ICRC_BAD);
			ok += arrival_good(&got[i], QPN, psn, got[i].len);
		}
	}
	ck_assert_uint_ge(ok, by_rule);
	ck_assert(nothing(b.link));
}

/* Frames on the wire: a packet socket on vb. */
static int open_tap(void)
{
	struct sockaddr_ll any = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int fd;

	pair_enter(PAIR_B);
	fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	ck_assert_int_ge(fd, 0);
	any.sll_ifindex = (int)if_nametoindex("vb");
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

/* Returns the IP identification of the next RoCE frame, whose ICRC matches it; -1: none came. */
static int tapped_id(int fd, uint32_t *ret_len)
{
	static uint8_t p[FRAME_MAX];
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct icrc_flow flow = { .src = a.group.gid, .dst = b.group.gid };
	ssize_t n;
	uint16_t id;

	do {
		if (poll(&ready, 1, AWAIT_MS) <= 0)
			return -1;
		n = recv(fd, p, sizeof(p), 0);
		ck_assert_int_gt(n, 20);
	} while (p[9] != IPPROTO_UDP || n < 28 || (p[22] << 8 | p[23]) != ROCE_UDP_PORT);
	ck_assert_uint_eq(p[6] & 0x40u, 0x40u); /* DF */
	id = (uint16_t)(p[4] << 8 | p[5]);
	flow.src_port = (uint16_t)(p[20] << 8 | p[21]);
	*ret_len = (uint32_t)n - 28;
	ck_assert_int_eq(icrc_check(&flow, IP_ID_EXACT, id, p + 28, *ret_len), ICRC_OK);
	return id;
}

/* veth carries an uncut train as one frame; index and identification agree at the far end. */
START_TEST(whole_trains)
{
	open_ends("10.77.0.1", "10.77.0.2", true);
	for (uint32_t segs = 1; segs <= 16; segs++) {
		const uint32_t n = send_train(&b.group.gid, segs, 1024 + 28, 100);

		expect_train(n, 1024 + 28, 100, IP_ID_ANY, n);
	}
	close_ends();
}
END_TEST

/* The kernel cuts the train: packet i has identification i, which its ICRC covers. */
START_TEST(cut_trains)
{
	uint32_t n, len;
	int tap;

	pair_enter(PAIR_A);
	set_value("va", ETHTOOL_STSO, 0);
	set_value("va", ETHTOOL_SGSO, 0);
	ck_assert(set_feature("va", "tx-udp-segmentation", false));
	open_ends("10.77.0.1", "10.77.0.2", true);
	tap = open_tap();
	for (uint32_t segs = 1; segs <= 64; segs = segs * 2 + 1) {
		n = send_train(&b.group.gid, segs, 512 + 28, 64);
		for (uint32_t i = 0; i < n; i++) {
			ck_assert_int_eq(tapped_id(tap, &len), (int)i);
			ck_assert_uint_eq(len, i + 1 == n ? 64 : 512 + 28);
		}
		/* Without receive offload each packet arrives alone; only the first fits the
		 * rule. */
		expect_train(n, 512 + 28, 64, IP_ID_ANY, 1);
	}
	(void)close(tap);
	close_ends();
}
END_TEST

/* The train is cut, and merged again by the receiver's GRO. */
START_TEST(cut_and_joined)
{
	pair_enter(PAIR_A);
	ck_assert(set_feature("va", "tx-udp-segmentation", false));
	pair_enter(PAIR_B);
	set_value("vb", ETHTOOL_SGRO, 1);
	open_ends("10.77.0.1", "10.77.0.2", true);
	for (uint32_t segs = 1; segs <= 64; segs = segs * 2 + 1) {
		const uint32_t n = send_train(&b.group.gid, segs, 512 + 28, 64);

		expect_train(n, 512 + 28, 64, IP_ID_ANY, 1);
	}
	close_ends();
}
END_TEST

/* An interface without checksum offload: an older kernel refuses trains. All packets arrive, as
 * trains or not. */
START_TEST(no_checksum_offload)
{
	uint32_t n;

	pair_enter(PAIR_A);
	set_value("va", ETHTOOL_STXCSUM, 0);
	open_ends("10.77.0.1", "10.77.0.2", true);
	for (uint32_t i = 0; i < 3; i++) {
		n = send_train(&b.group.gid, 10, 1024 + 28, 80);
		expect_train(n, 1024 + 28, 80, IP_ID_ANY, 1);
	}
	ck_assert_uint_eq(a.link->stats.send_errors, 0);
	close_ends();
}
END_TEST

/* Single packets have identification 0. */
START_TEST(singles)
{
	uint32_t len;
	int tap;

	open_ends("10.77.0.1", "10.77.0.2", false);
	tap = open_tap();
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t n = send_train(&b.group.gid, 8, 256 + 28, 256 + 28);

		for (uint32_t k = 0; k < n; k++)
			ck_assert_int_eq(tapped_id(tap, &len), 0);
		expect_train(n, 256 + 28, 256 + 28, IP_ID_ANY, n);
	}
	(void)close(tap);
	close_ends();
}
END_TEST

START_TEST(ipv6)
{
	pair_enter(PAIR_A);
	open_ends("fd77::1", "fd77::2", true);
	for (uint32_t turn = 0; turn < 2; turn++) {
		for (uint32_t segs = 1; segs <= 64; segs = segs * 2 + 1) {
			const uint32_t n = send_train(&b.group.gid, segs, 512 + 28, 64);

			expect_train(n, 512 + 28, 64, IP_ID_EXACT, n);
		}
		pair_enter(PAIR_A);
		(void)set_feature("va", "tx-udp-segmentation", false);
		pair_enter(PAIR_B);
	}
	close_ends();
}
END_TEST

START_TEST(groups)
{
	static const char *const pair[][3] = {
		{ "10.77.0.1", "10.77.0.2", "239.77.1.1" },
		{ "fd77::1", "fd77::2", "ff15::77:1" },
	};

	for (size_t i = 0; i < 2; i++) {
		const struct gid group = gid_of(pair[i][2]);
		uint32_t n;

		open_ends(pair[i][0], pair[i][1], true);
		ck_assert_int_eq(link_join(b.link, &group), 0);
		n = send_train(&group, 3, 200, 100);
		expect_train(n, 200, 100, i == 0 ? IP_ID_ANY : IP_ID_EXACT, n);
		ck_assert_uint_eq(a.says, 0);
		ck_assert_int_eq(link_leave(b.link, &group), 0);
		close_ends();
	}
}
END_TEST

/* The interface's MTU limits packets. */
START_TEST(mtu)
{
	const struct gid v4 = gid_of("10.77.0.1"), v6 = gid_of("fd77::1");

	pair_enter(PAIR_A);
	ck_assert_uint_eq(udp_max_mtu(&v4), 4096);
	ck_assert_uint_eq(udp_max_mtu(&v6), 4096);
	ck_assert(pair_run("ip link set va mtu 1500"));
	ck_assert_uint_eq(udp_max_mtu(&v4), 1024);
	ck_assert_uint_eq(udp_max_mtu(&v6), 1024);
	ck_assert(pair_run("ip link set va mtu 9000"));
}
END_TEST

/* Restores the offloads before each test. */
static void restore(void)
{
	pair_enter(PAIR_B);
	set_value("vb", ETHTOOL_SGRO, 0);
	pair_enter(PAIR_A);
	set_value("va", ETHTOOL_STXCSUM, 1);
	set_value("va", ETHTOOL_SGSO, 1);
	set_value("va", ETHTOOL_STSO, 1);
	(void)set_feature("va", "tx-udp-segmentation", true);
}

int main(void)
{
	Suite *suite = suite_create("udp_veth");
	TCase *tc = tcase_create("veth");

	if (pair_make() != 0) {
		(void)puts("skipped: needs root or user namespaces, and ip, to join two "
			   "namespaces by veth");
		return PAIR_SKIP;
	}
	tcase_add_checked_fixture(tc, restore, restore);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, whole_trains);
	tcase_add_test(tc, cut_trains);
	tcase_add_test(tc, cut_and_joined);
	tcase_add_test(tc, no_checksum_offload);
	tcase_add_test(tc, singles);
	tcase_add_test(tc, ipv6);
	tcase_add_test(tc, groups);
	tcase_add_test(tc, mtu);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
