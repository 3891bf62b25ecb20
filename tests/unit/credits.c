/* SPDX-License-Identifier: MIT */
/* The credits that a process returns equal what it read from its socket, whatever fault rules do to
 * the packets before the engine. Local peers pace datagrams by credits (emu/pace.h). Sockets are
 * real; the rules are in the test's memory. */
#include <check.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device_fixture.h"
#include "emu/engine.h"
#include "emu/pace.h"
#include "lib/control/client.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "net/link/udp/udp.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/suite.h"

#define SLOT	3u
#define OTHER	5u
#define PACKETS 10u
#define BYTES	100u
/* No correction follows another sooner, ns. */
#define INTERVAL 50000u

static struct vb_device *dev;
static struct device_link *device_link;
static struct link *peer;
static struct udp_group group;
static struct gid here;
static int peer_fd;

static struct gid loopback(uint8_t last)
{
	const pid_t pid = getpid();

	return (struct gid){ .raw = { [10] = 0xff,
				      [11] = 0xff,
				      [12] = 127,
				      [13] = 78,
				      [14] = (uint8_t)(pid % 251),
				      [15] = last } };
}

static void setup(void)
{
	struct udp_cfg link = { .trains = false };

	here = loopback(1);
	dev = device_new(SLOT);
	device_link = &dev->progress.link;
	dev->info.gids[0] = here;
	ck_assert_int_eq(udp_group_open(&group, &here, 8), 0);
	link.gid = here;
	link.rx_fd = group.fd[SLOT];
	ck_assert_int_eq(udp_open(&device_link->phy, &link), 0);
	faults_open(&device_link->faults, &dev->progress);
	device_link_stack(device_link);
	peer_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	link.gid = loopback(2);
	link.rx_fd = peer_fd;
	ck_assert_int_eq(udp_open(&peer, &link), 0);
}

static void teardown(void)
{
	faults_close(&device_link->faults);
	link_close(device_link->phy);
	link_close(peer);
	udp_group_close(&group);
	close(peer_fd);
	device_free(dev);
}

static void rule(const char *text)
{
	struct ctl_faults *faults = &dev->attachment.shared->faults;

	memcpy(faults->at[0].text, text, strlen(text) + 1);
	faults->at[0].id = 1;
	atomic_fetch_add(&faults->generation, 2);
}

/* Sends packets of this service to the slot's socket. Returns their cost as their sender counts
 * it. */
static uint64_t offer_of(enum wire_service service, uint32_t n)
{
	uint8_t bytes[WIRE_MAX_HEADERS + BYTES + ICRC_LEN] = { 0 };
	const struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_UD, OP_SEND_ONLY),
			 .pkey = 0xffff,
			 .dest_qpn = SLOT << RXE_SLOT_SHIFT | 2 },
		.payload_len = BYTES,
	};
	const uint32_t len = (uint32_t)wire_emit_headers(bytes, &packet) + BYTES + ICRC_LEN;

	bytes[0] = opcode_make(service, OP_SEND_ONLY);
	for (uint32_t i = 0; i < n; i++) {
		struct wire_train train = { .buf = bytes,
					    .len = len,
					    .seg_len = (uint16_t)len,
					    .segs = 1,
					    .max_segs = 1,
					    .hop_limit = 64,
					    .src = loopback(2),
					    .dst = here };

		ck_assert_int_eq(link_send(peer, &train, 1), 1);
	}
	return (uint64_t)n * rxe_pace_cost(len);
}

static uint64_t offer(uint32_t n)
{
	return offer_of(WIRE_UD, n);
}

/* Receives everything that the engine would receive. */
static uint32_t take_all(void)
{
	struct wire_arrival arrivals[64];
	uint32_t total = 0;
	int n;

	while ((n = device_link_receive(device_link, arrivals, 64)) > 0)
		total += (uint32_t)n;
	ck_assert_int_eq(n, 0);
	return total;
}

static uint64_t taken(void)
{
	return atomic_load(&dev->attachment.shared->slot[SLOT].taken);
}

START_TEST(without_rules)
{
	const uint64_t cost = offer(PACKETS);

	ck_assert_uint_eq(take_all(), PACKETS);
	ck_assert_uint_eq(taken(), cost);
}
END_TEST

/* UC, UD and raw packets have no acknowledgements; those of RC and XRC need no credits. */
START_TEST(services_that_need_credits)
{
	static const enum wire_service paced[] = { WIRE_UC, WIRE_UD, WIRE_RAW };
	static const enum wire_service acknowledged[] = { WIRE_RC, WIRE_XRC };
	uint64_t cost = 0;

	for (size_t i = 0; i < sizeof(paced) / sizeof(paced[0]); i++) {
		cost += offer_of(paced[i], 1);
		ck_assert_uint_eq(take_all(), 1);
		ck_assert_uint_eq(taken(), cost);
	}
	for (size_t i = 0; i < sizeof(acknowledged) / sizeof(acknowledged[0]); i++) {
		offer_of(acknowledged[i], 1);
		ck_assert_uint_eq(take_all(), 1);
		ck_assert_uint_eq(taken(), cost);
	}
}
END_TEST

START_TEST(what_a_rule_drops_was_taken)
{
	const uint64_t cost = offer(PACKETS);

	rule("drop dir=in");
	ck_assert_uint_eq(take_all(), 0);
	ck_assert_uint_eq(taken(), cost);
}
END_TEST

START_TEST(what_a_rule_doubles_was_taken_once)
{
	const uint64_t cost = offer(PACKETS);

	rule("duplicate dir=in copies=3");
	ck_assert_uint_eq(take_all(), 4 * PACKETS);
	ck_assert_uint_eq(taken(), cost);
}
END_TEST

START_TEST(what_a_rule_holds_was_taken)
{
	const uint64_t cost = offer(PACKETS);

	rule("delay dir=in time=10s");
	ck_assert_uint_eq(take_all(), 0);
	ck_assert_uint_eq(taken(), cost);
}
END_TEST

/* The kernel dropped as much as was received: an empty socket shows it, once for each 50 us. */
START_TEST(what_the_kernel_drops_was_taken)
{
	struct ctl_shared *shared = dev->attachment.shared;
	const uint64_t cost = offer(PACKETS);

	atomic_fetch_or(&shared->used_slots[0], 1ull << OTHER);
	atomic_store(&shared->slot[OTHER].offered[SLOT], 2 * cost);
	credits_socket_empty(&dev->progress, INTERVAL);
	ck_assert_uint_eq(taken(), 0); /* nothing was received since */
	ck_assert_uint_eq(take_all(), PACKETS);
	ck_assert_uint_eq(taken(), cost);
	credits_socket_empty(&dev->progress, INTERVAL);
	ck_assert_uint_eq(taken(), 2 * cost);
	atomic_store(&shared->slot[OTHER].offered[SLOT], 3 * cost);
	offer(PACKETS);
	ck_assert_uint_eq(take_all(), PACKETS);
	atomic_store(&shared->slot[OTHER].offered[SLOT], 4 * cost);
	credits_socket_empty(&dev->progress, INTERVAL + INTERVAL / 2);
	ck_assert_uint_eq(taken(), 3 * cost);
	credits_socket_empty(&dev->progress, 2 * INTERVAL);
	ck_assert_uint_eq(taken(), 4 * cost);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("room");
	Suite *suite = suite_create("room");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, without_rules);
	tcase_add_test(tcase, services_that_need_credits);
	tcase_add_test(tcase, what_a_rule_drops_was_taken);
	tcase_add_test(tcase, what_a_rule_doubles_was_taken_once);
	tcase_add_test(tcase, what_a_rule_holds_was_taken);
	tcase_add_test(tcase, what_the_kernel_drops_was_taken);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
