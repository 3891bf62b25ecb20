// SPDX-License-Identifier: MIT
/* lib/check/vector.c: what orders the requests of processes under --check. */
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emu/limits.h"
#include "lib/check/vector.h"
#include "tests/suite.h"
#include "tests/unit/check_process.h"

#define PROCESSES 4u

/* In slots 1, 2, ...; the queue pair of each is connected to the next one's. */
static struct process process[PROCESSES];
static struct process_qp qp[PROCESSES];

static void begin(void)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		const uint32_t next = (i + 1) % PROCESSES;

		process_new(&process[i], i ? &process[0] : NULL, i + 1);
		qp_new(&qp[i], &process[i], 7, (next + 1) << RXE_SLOT_SHIFT | 7);
	}
}

static void finish(void)
{
	atomic_store(&vb_fork_count, 0);
	for (uint32_t i = PROCESSES; i > 0; i--) {
		qp_free(&qp[i - 1]);
		process_free(&process[i - 1], i == 1);
	}
}

static struct ibv_context *context(uint32_t i)
{
	return process_context(&process[i]);
}

/* The process has polled a completion now. */
static struct access done(uint32_t i)
{
	struct access ret = { .slots = process[i].dev->attachment.shared->slot,
			      .slot = vb_slot(process[i].dev) };

	atomic_store(&ret.at.done, vector_tick(context(i)));
	return ret;
}

/* Process i knows that what process "of" did is done. */
static bool knows(uint32_t i, const struct access *of)
{
	return vector_is_before(context(i), of);
}

/* A request of process i; to: the one that has the bytes, PROCESSES: unknown. */
static struct check_request *request(uint32_t i, uint32_t to)
{
	struct check_request *ret = qp_request(&qp[i]);

	if (to < PROCESSES)
		request_to(ret, &process[to], 0x1000, 0x1008);
	return ret;
}

START_TEST(clock_ticks)
{
	const uint64_t first = vector_tick(context(0));

	ck_assert_uint_gt(first, 1);
	ck_assert_uint_eq(vector_tick(context(0)), first + 1);
	ck_assert_uint_eq(vector_tick(context(1)), first);
}
END_TEST

START_TEST(nothing_is_known)
{
	const struct access access = done(1);

	ck_assert(!knows(0, &access));
	vector_learn(context(0));
	ck_assert(!knows(0, &access));
}
END_TEST

START_TEST(message)
{
	const struct access before = done(1);
	struct access after;

	vector_received(&qp[0].check);
	after = done(1);
	ck_assert(knows(0, &before));
	ck_assert(!knows(0, &after));
	ck_assert(!knows(2, &before));
	vector_received(&qp[0].check);
	ck_assert(knows(0, &after));
}
END_TEST

START_TEST(message_without_a_peer)
{
	const struct access access = done(1);

	qp[0].check.attr_mask = 0;
	vector_received(&qp[0].check);
	ck_assert(!knows(0, &access));
}
END_TEST

/* The peer's number is what a program wrote. */
START_TEST(peer_of_no_slot)
{
	const struct access access = done(1);

	qp[0].check.attr.dest_qp_num = RXE_MAX_SLOTS << RXE_SLOT_SHIFT;
	vector_received(&qp[0].check);
	vector_reported(request(0, PROCESSES));
	ck_assert(!knows(0, &access));
	/* What lies after the clocks. */
	ck_assert_uint_eq(atomic_load(&process_checked(&process[0])->received[0]), 0);
}
END_TEST

START_TEST(knowledge_passes_on)
{
	const struct access access = done(2);

	vector_received(&qp[1].check);
	vector_received(&qp[0].check);
	ck_assert(knows(0, &access));
}
END_TEST

/* A process that has forgotten, as that of a new program, teaches nothing back. */
START_TEST(knowledge_stays)
{
	const struct access access = done(2);

	vector_received(&qp[1].check);
	vector_received(&qp[0].check);
	atomic_store(&process_checked(&process[1])->known[3], 1);
	vector_received(&qp[0].check);
	ck_assert(knows(0, &access));
}
END_TEST

START_TEST(own_messages)
{
	qp[0].check.attr.dest_qp_num = process_qpn(&process[0], 8);
	vector_received(&qp[0].check);
	ck_assert_uint_eq(atomic_load(&process_checked(&process[0])->known[1]), 0);
}
END_TEST

/* A WRITE to memory of process 2 by a queue pair that is connected to process 1. */
START_TEST(flag)
{
	const struct access access = done(0);
	struct access later;

	vector_reported(request(0, 2));
	later = done(0);
	vector_learn(context(3));
	ck_assert(!knows(3, &access));
	vector_learn(context(2));
	ck_assert(knows(2, &access));
	vector_learn(context(1));
	ck_assert(knows(1, &access));
	/* Learned at once with what the writer knows now, but only once for each flag. */
	ck_assert(knows(2, &later));
	later = done(0);
	vector_learn(context(2));
	ck_assert(!knows(2, &later));
}
END_TEST

START_TEST(flag_in_unknown_memory)
{
	const struct access access = done(0);

	vector_reported(request(0, PROCESSES));
	vector_learn(context(1));
	ck_assert(knows(1, &access));
	vector_learn(context(2));
	ck_assert(!knows(2, &access));
}
END_TEST

/* Process 0 reads memory of process 2, to which process 3 has written. */
START_TEST(bytes_read)
{
	const struct access access = done(2), writers = done(3);
	struct check_request *read = request(0, 2);

	vector_reported(request(3, 2));
	vector_completed(read);
	ck_assert(!knows(0, &access)); /* so far a WRITE */
	read->writes = true;
	vector_completed(read);
	ck_assert(knows(0, &access));
	ck_assert(knows(0, &writers));
}
END_TEST

START_TEST(unknown_bytes_read)
{
	const struct access access = done(1);
	struct check_request *read = request(0, PROCESSES);

	read->writes = true;
	vector_completed(read);
	ck_assert(!knows(0, &access));
}
END_TEST

START_TEST(completion_of_a_message)
{
	const struct access access = done(1);
	struct check_request *send = request(0, PROCESSES);

	send->takes_receive = true;
	vector_completed(send);
	ck_assert(knows(0, &access));
}
END_TEST

START_TEST(completion_of_a_receive)
{
	const struct access access = done(1);
	struct check_request *receive = request(0, PROCESSES);

	receive->takes_receive = receive->is_recv = true;
	vector_completed(receive);
	ck_assert(!knows(0, &access));
	receive->is_recv = false;
	qp[0].object.kind = VB_KIND_SRQ;
	vector_completed(receive);
	ck_assert(!knows(0, &access));
}
END_TEST

START_TEST(connection)
{
	const struct access one = done(1), two = done(2), three = done(3);

	ctl_slot_set_pid(process[0].dev->attachment.shared, 3, 0);
	vector_connected(context(0));
	ck_assert(knows(0, &one));
	ck_assert(!knows(0, &two)); /* its process has exited */
	ck_assert(knows(0, &three));
	ck_assert(!knows(1, &three));
}
END_TEST

/* Nothing is published: all counts as ordered. */
START_TEST(child_of_a_fork)
{
	const struct access access = done(1);

	vb_forks_add();
	ck_assert(knows(0, &access));
	ck_assert_uint_eq(vector_tick(context(0)), 1);
	vector_reported(request(0, 1));
	vector_connected(context(0));
	vector_learn(context(0));
	ck_assert_uint_eq(atomic_load(&process_checked(&process[0])->reported[2]), 0);
	ck_assert_uint_eq(atomic_load(&process_checked(&process[0])->known[2]), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check_vector");
	TCase *tests = tcase_create("clocks");

	tcase_add_checked_fixture(tests, begin, finish);
	tcase_add_test(tests, clock_ticks);
	tcase_add_test(tests, nothing_is_known);
	tcase_add_test(tests, message);
	tcase_add_test(tests, message_without_a_peer);
	tcase_add_test(tests, peer_of_no_slot);
	tcase_add_test(tests, knowledge_passes_on);
	tcase_add_test(tests, knowledge_stays);
	tcase_add_test(tests, own_messages);
	tcase_add_test(tests, flag);
	tcase_add_test(tests, flag_in_unknown_memory);
	tcase_add_test(tests, bytes_read);
	tcase_add_test(tests, unknown_bytes_read);
	tcase_add_test(tests, completion_of_a_message);
	tcase_add_test(tests, completion_of_a_receive);
	tcase_add_test(tests, connection);
	tcase_add_test(tests, child_of_a_fork);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
