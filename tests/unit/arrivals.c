/* SPDX-License-Identifier: MIT */
/* When a poll asks the socket, and when it knows that nothing waits there
 * (lib/progress/local_peer.h). Two processes of one device: the announcements of one lie in the
 * test's shared memory. */
#include <check.h>
#include <stdatomic.h>
#include <stdint.h>

#include "device_fixture.h"
#include "lib/control/client.h"
#include "lib/progress/local_peer.h"
#include "lib/progress/progress.h"
#include "tests/suite.h"

#define SLOT	 3u
#define PEER	 5u
#define START_NS 1000000000ull

static struct vb_device *dev;

static void setup(void)
{
	const struct gid here = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };

	dev = device_new(SLOT);
	dev->info.gids[0] = here;
	ctl_slot_set_pid(dev->attachment.shared, SLOT, 1);
	ctl_slot_set_pid(dev->attachment.shared, PEER, 2);
}

static void teardown(void)
{
	device_free(dev);
}

/* The process in the other slot is about to send this many to the socket. */
static void announce(uint32_t datagrams)
{
	dev->attachment.slot = PEER;
	while (datagrams-- > 0)
		arrivals_announce(&dev->progress, &dev->info.gids[0], SLOT);
	dev->attachment.slot = SLOT;
}

static void retract(void)
{
	dev->attachment.slot = PEER;
	arrivals_retract(&dev->progress, &dev->info.gids[0], SLOT);
	dev->attachment.slot = SLOT;
}

/* What a poll does. The link gives trains of packets packets each. Returns whether it was asked. */
static bool poll_at(uint64_t ns, uint32_t trains, uint32_t packets)
{
	struct wire_arrival arrivals[64] = { 0 };
	uint32_t n = 0;

	if (!arrivals_are_expected(&dev->progress, START_NS + ns))
		return false;
	for (uint32_t i = 0; i < trains; i++)
		for (uint32_t k = 0; k < packets; k++)
			arrivals[n++].ip_id = (uint16_t)k;
	arrivals_received(&dev->progress, arrivals, (int)n, false, START_NS + ns);
	return true;
}

START_TEST(a_quiet_socket_is_left_alone)
{
	ck_assert(poll_at(0, 0, 0));
	ck_assert(!poll_at(100, 0, 0));
	ck_assert(!poll_at(ARRIVALS_LOOK_NS - 1, 0, 0));
	ck_assert(poll_at(ARRIVALS_LOOK_NS, 0, 0));
	ck_assert(!poll_at(ARRIVALS_LOOK_NS + 100, 0, 0));
}
END_TEST

/* A ping-pong asks the socket once for each packet, and finds it. */
START_TEST(what_was_announced_is_asked_for)
{
	ck_assert(poll_at(0, 0, 0));
	for (uint64_t ns = 1000; ns < 9000; ns += 1000) {
		ck_assert(!poll_at(ns, 0, 0));
		announce(1);
		ck_assert(poll_at(ns + 100, 1, 1));
		ck_assert(!poll_at(ns + 200, 0, 0));
	}
}
END_TEST

START_TEST(a_train_is_one_datagram)
{
	ck_assert(poll_at(0, 0, 0));
	announce(3);
	ck_assert(poll_at(100, 1, 16));
	ck_assert(poll_at(200, 2, 16));
	ck_assert(!poll_at(300, 0, 0));
}
END_TEST

/* The peer announces before it sends. */
START_TEST(a_datagram_may_be_under_way)
{
	ck_assert(poll_at(0, 0, 0));
	announce(1);
	ck_assert(poll_at(100, 0, 0));
	ck_assert(poll_at(1000, 0, 0));
	ck_assert(poll_at(2000, 1, 1));
	ck_assert(!poll_at(2100, 0, 0));
}
END_TEST

/* It is under way then. Later it may be lost, or its sender has no processor. */
START_TEST(a_datagram_is_looked_for_often_once_it_is_announced)
{
	ck_assert(poll_at(0, 0, 0));
	ck_assert_uint_eq(arrivals_looks(&dev->progress), 1);
	announce(1);
	ck_assert(poll_at(100, 0, 0));
	ck_assert_uint_gt(arrivals_looks(&dev->progress), 8);
	ck_assert(poll_at(200, 0, 0));
	ck_assert_uint_eq(arrivals_looks(&dev->progress), 1);
	announce(1);
	ck_assert(poll_at(300, 2, 1));
	ck_assert_uint_eq(arrivals_looks(&dev->progress), 1);
}
END_TEST

START_TEST(a_lost_datagram_is_waited_for_for_a_while)
{
	ck_assert(poll_at(0, 0, 0));
	announce(2);
	ck_assert(poll_at(100, 1, 1));
	ck_assert(poll_at(200, 0, 0));
	ck_assert(poll_at(200 + ARRIVALS_FLIGHT_NS, 0, 0));
	ck_assert(!poll_at(300 + ARRIVALS_FLIGHT_NS, 0, 0));
}
END_TEST

/* Two are missing at first; the one that arrives late was under way. The other one is lost. */
START_TEST(a_late_datagram_is_not_lost)
{
	ck_assert(poll_at(0, 0, 0));
	announce(2);
	ck_assert(poll_at(100, 0, 0));
	ck_assert(poll_at(200, 1, 1));
	ck_assert(poll_at(300, 0, 0));
	ck_assert(poll_at(100 + ARRIVALS_FLIGHT_NS, 0, 0));
	ck_assert(!poll_at(200 + ARRIVALS_FLIGHT_NS, 0, 0));
}
END_TEST

/* Others that arrive meanwhile prolong nothing. */
START_TEST(a_lost_datagram_is_forgotten_in_traffic)
{
	ck_assert(poll_at(0, 0, 0));
	announce(1);
	ck_assert(poll_at(100, 0, 0));
	for (uint64_t ns = 1000; ns < ARRIVALS_FLIGHT_NS; ns += 1000) {
		announce(1);
		ck_assert(poll_at(ns, 1, 1));
		ck_assert(poll_at(ns + 100, 0, 0));
	}
	ck_assert(poll_at(100 + ARRIVALS_FLIGHT_NS, 0, 0));
	ck_assert(!poll_at(200 + ARRIVALS_FLIGHT_NS, 0, 0));
}
END_TEST

START_TEST(what_could_not_be_sent_is_retracted)
{
	ck_assert(poll_at(0, 0, 0));
	announce(2);
	ck_assert(poll_at(100, 0, 0));
	retract();
	ck_assert(poll_at(200, 1, 1));
	ck_assert(!poll_at(300, 0, 0));
}
END_TEST

/* No process announced the datagram: each poll asks for a while. */
START_TEST(strangers_are_expected_for_a_while)
{
	const uint64_t found = ARRIVALS_LOOK_NS;

	ck_assert(poll_at(0, 0, 0));
	ck_assert(poll_at(found, 1, 1));
	ck_assert(poll_at(found + 100, 0, 0));
	ck_assert(poll_at(found + 200, 0, 0));
	ck_assert(poll_at(found + 999900, 0, 0));
	ck_assert(!poll_at(found + 1000100, 0, 0));
}
END_TEST

/* It is announced after the poll has read the count, and has arrived when the socket is read. */
START_TEST(what_is_announced_during_a_poll_is_of_no_stranger)
{
	struct wire_arrival arrival = { 0 };

	ck_assert(poll_at(0, 0, 0));
	ck_assert(arrivals_are_expected(&dev->progress, START_NS + ARRIVALS_LOOK_NS));
	announce(1);
	arrivals_received(&dev->progress, &arrival, 1, false, START_NS + ARRIVALS_LOOK_NS);
	ck_assert(!poll_at(ARRIVALS_LOOK_NS + 100, 0, 0));
}
END_TEST

START_TEST(packets_that_the_link_has_left_are_taken)
{
	struct wire_arrival arrival = { 0 };

	announce(1);
	ck_assert(arrivals_are_expected(&dev->progress, START_NS));
	arrivals_received(&dev->progress, &arrival, 1, true, START_NS);
	ck_assert(poll_at(100, 0, 0));
	ck_assert(!poll_at(200, 0, 0));
}
END_TEST

START_TEST(a_readable_socket_is_read)
{
	ck_assert(poll_at(0, 0, 0));
	arrivals_waited(&dev->progress, false);
	ck_assert(!poll_at(100, 0, 0));
	arrivals_waited(&dev->progress, true);
	ck_assert(poll_at(200, 0, 0));
	ck_assert(!poll_at(300, 0, 0));
}
END_TEST

/* What it announced and sent stays counted. */
START_TEST(a_peer_exits)
{
	announce(7);
	ck_assert(poll_at(0, 7, 1));
	ck_assert(!poll_at(100, 0, 0));
	ctl_slot_set_pid(dev->attachment.shared, PEER, 0);
	ck_assert(!poll_at(200, 0, 0));
}
END_TEST

START_TEST(other_links_are_always_asked)
{
	dev->info.link = CTL_LINK_MEMORY;
	announce(1);
	for (uint64_t ns = 0; ns < 1000; ns += 100)
		ck_assert(poll_at(ns, 0, 0));
	ck_assert_uint_eq(dev->attachment.shared->remote_requests.announced[SLOT].datagrams, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("arrivals");
	Suite *suite = suite_create("arrivals");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_quiet_socket_is_left_alone);
	tcase_add_test(tcase, what_was_announced_is_asked_for);
	tcase_add_test(tcase, a_train_is_one_datagram);
	tcase_add_test(tcase, a_datagram_may_be_under_way);
	tcase_add_test(tcase, a_datagram_is_looked_for_often_once_it_is_announced);
	tcase_add_test(tcase, a_lost_datagram_is_waited_for_for_a_while);
	tcase_add_test(tcase, a_late_datagram_is_not_lost);
	tcase_add_test(tcase, a_lost_datagram_is_forgotten_in_traffic);
	tcase_add_test(tcase, what_could_not_be_sent_is_retracted);
	tcase_add_test(tcase, strangers_are_expected_for_a_while);
	tcase_add_test(tcase, what_is_announced_during_a_poll_is_of_no_stranger);
	tcase_add_test(tcase, packets_that_the_link_has_left_are_taken);
	tcase_add_test(tcase, a_readable_socket_is_read);
	tcase_add_test(tcase, a_peer_exits);
	tcase_add_test(tcase, other_links_are_always_asked);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
