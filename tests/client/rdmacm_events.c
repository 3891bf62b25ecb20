// SPDX-License-Identifier: MIT
/* Event channels: when they are readable, and what becomes of events whose id moves or ends. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "rdmacm_fixture.h"

static void start_resolving(struct rdma_cm_id *id)
{
	struct sockaddr_storage addr = device_address(7);

	ck_assert_int_eq(rdma_resolve_addr(id, NULL, plain(&addr), TIMEOUT_MS), 0);
}

static void await_readable(struct rdma_event_channel *channel)
{
	while (!is_readable(channel))
		;
}

START_TEST(descriptor_polled_by_the_program)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	ck_assert(!is_readable(channel));
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
	start_resolving(id);
	await_readable(channel);
	expect_cm(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id, 0);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* Three ids on one channel: the events of the others stay, in their order. */
START_TEST(unread_events_go_with_their_id)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *ids[3];

	for (int i = 0; i < 3; i++)
		ids[i] = id_open(channel, RDMA_PS_TCP);
	for (int i = 0; i < 3; i++) {
		struct rdma_event_channel *own = channel_open();

		/* One after the other: it has arrived before the next one starts. */
		ck_assert_int_eq(rdma_migrate_id(ids[i], own), 0);
		start_resolving(ids[i]);
		await_readable(own);
		ck_assert_int_eq(rdma_migrate_id(ids[i], channel), 0);
		ck_assert(!is_readable(own));
		rdma_destroy_event_channel(own);
	}
	ck_assert_int_eq(rdma_destroy_id(ids[1]), 0);
	expect_cm(channel, RDMA_CM_EVENT_ADDR_RESOLVED, ids[0], 0);
	expect_cm(channel, RDMA_CM_EVENT_ADDR_RESOLVED, ids[2], 0);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_destroy_id(ids[0]), 0);
	ck_assert_int_eq(rdma_destroy_id(ids[2]), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(unread_events_move_with_their_id)
{
	struct rdma_event_channel *from = channel_open(), *to = channel_open();
	struct rdma_cm_id *moves = id_open(from, RDMA_PS_TCP), *stays = id_open(from, RDMA_PS_TCP);

	start_resolving(moves);
	start_resolving(stays);
	await_readable(from);
	ck_assert_int_eq(rdma_migrate_id(moves, to), 0);
	ck_assert_ptr_eq(moves->channel, to);
	expect_cm(to, RDMA_CM_EVENT_ADDR_RESOLVED, moves, 0);
	expect_cm(from, RDMA_CM_EVENT_ADDR_RESOLVED, stays, 0);
	ck_assert(!is_readable(from));
	ck_assert_int_eq(rdma_destroy_id(moves), 0);
	ck_assert_int_eq(rdma_destroy_id(stays), 0);
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
}
END_TEST

static _Atomic bool is_destroyed;

static void *destroy(void *arg)
{
	ck_assert_int_eq(rdma_destroy_id(arg), 0);
	atomic_store(&is_destroyed, true);
	return NULL;
}

START_TEST(destroy_waits_for_acknowledgement)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	pthread_t thread;

	start_resolving(id);
	event = next_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(pthread_create(&thread, NULL, destroy, id), 0);
	for (int i = 0; i < 10000; i++)
		ck_assert(!atomic_load(&is_destroyed));
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	pthread_join(thread, NULL);
	rdma_destroy_event_channel(channel);
}
END_TEST

static void *wait_for_one(void *arg)
{
	struct rdma_event_channel *channel = arg;

	return next_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
}

/* As many events as readers: each gets one, whatever id it belongs to. */
START_TEST(several_readers)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *ids[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		ids[i] = id_open(channel, RDMA_PS_TCP);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for_one, channel), 0);
	}
	for (int i = 0; i < 4; i++)
		start_resolving(ids[i]);
	for (int i = 0; i < 4; i++) {
		void *event;

		pthread_join(threads[i], &event);
		ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	}
	ck_assert(!is_readable(channel));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(rdma_destroy_id(ids[i]), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* A cancelled reader has taken nothing. */
START_TEST(reader_is_cancelled)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_one, channel), 0);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	pthread_join(thread, &result);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	start_resolving(id);
	expect_cm(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id, 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

static _Atomic pid_t reader;

static void *wait_forever(void *arg)
{
	struct rdma_cm_event *event;

	atomic_store(&reader, gettid());
	rdma_get_cm_event(arg, &event);
	return NULL;
}

/* Programs end so: the thread receives nothing, and goes with the process. */
START_TEST(channel_is_destroyed_under_its_reader)
{
	struct rdma_event_channel *channel = channel_open();
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_forever, channel), 0);
	await_receiving(&reader);
	rdma_destroy_event_channel(channel);
	/* A round trip to the server, which would have ended the channel. */
	channel = channel_open();
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(pthread_tryjoin_np(thread, &result), EBUSY);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	pthread_join(thread, &result);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	rdma_destroy_event_channel(channel);
}
END_TEST

static void do_nothing(int signal)
{
	(void)signal;
}

static void *wait_for_a_signal(void *arg)
{
	struct rdma_cm_event *event;

	atomic_store(&reader, gettid());
	ck_assert_int_eq(rdma_get_cm_event(arg, &event), -1);
	ck_assert_int_eq(errno, EINTR);
	return NULL;
}

/* As a reader of a descriptor that is closed, also when signals restart its call. */
START_TEST(a_signal_ends_the_reader_of_a_destroyed_channel)
{
	struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
	struct rdma_event_channel *channel = channel_open();
	pthread_t thread;

	atomic_store(&reader, 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_a_signal, channel), 0);
	await_receiving(&reader);
	rdma_destroy_event_channel(channel);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY)
		pthread_kill(thread, SIGUSR1);
}
END_TEST

START_TEST(names_of_events)
{
	ck_assert_str_eq(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			 "RDMA_CM_EVENT_ADDR_RESOLVED");
	ck_assert_str_eq(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			 "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	ck_assert_str_eq(rdma_event_str((enum rdma_cm_event_type)99), "UNKNOWN EVENT");
	ck_assert_str_eq(rdma_event_str((enum rdma_cm_event_type) - 1), "UNKNOWN EVENT");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, descriptor_polled_by_the_program);
	tcase_add_test(tests, unread_events_go_with_their_id);
	tcase_add_test(tests, unread_events_move_with_their_id);
	tcase_add_test(tests, destroy_waits_for_acknowledgement);
	tcase_add_test(tests, several_readers);
	tcase_add_test(tests, reader_is_cancelled);
	tcase_add_test(tests, channel_is_destroyed_under_its_reader);
	tcase_add_test(tests, a_signal_ends_the_reader_of_a_destroyed_channel);
	tcase_add_test(tests, names_of_events);
}

int main(void)
{
	return fixture_main("rdmacm_events", add);
}
