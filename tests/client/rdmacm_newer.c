// SPDX-License-Identifier: MIT
/* What rdma-core has had since release 58: addresses that are resolved beside other work, and
 * events of the program's own. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/rdmacm/newer.h"
#include "rdmacm_fixture.h"

#define expect_errno(call, err)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_int_eq(call, -1);                                                        \
		ck_assert_int_eq(errno, err);                                                      \
	} while (0)

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static void setup(void)
{
	channel = channel_open();
	id = id_open(channel, RDMA_PS_TCP);
}

static void teardown(void)
{
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

START_TEST(an_address)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_DNS, .ai_port_space = RDMA_PS_TCP };
	const char *own = getenv("RXE_DM_ADDRESS");
	struct sockaddr_storage addr = device_address(7471);
	struct rdma_addrinfo *info;

	expect_errno(rdma_query_addrinfo(id, &info), ENOENT);
	ck_assert_int_eq(rdma_resolve_addrinfo(id, own, "7471", &hints), 0);
	/* One at a time, until its answer was fetched. */
	expect_errno(rdma_resolve_addrinfo(id, own, "7471", &hints), EBUSY);
	expect_cm(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED, id, 0);
	ck_assert_int_eq(rdma_query_addrinfo(id, &info), 0);
	ck_assert_mem_eq(info->ai_dst_addr, &addr, info->ai_dst_len);
	rdma_freeaddrinfo(info);
	expect_errno(rdma_query_addrinfo(id, &info), ENOENT);
	ck_assert_int_eq(rdma_resolve_addrinfo(id, own, NULL, &hints), 0);
}
END_TEST

/* Without an event, and another call may follow. */
START_TEST(no_address)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };

	expect_errno(rdma_resolve_addrinfo(id, "no-number", NULL, &hints), ENOENT);
	hints.ai_flags = RAI_SA;
	expect_errno(rdma_resolve_addrinfo(id, NULL, "7471", &hints), EOPNOTSUPP);
	expect_errno(rdma_resolve_addrinfo(NULL, "127.0.0.1", NULL, NULL), EINVAL);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_resolve_addrinfo(id, "127.0.0.1", NULL, NULL), 0);
	expect_cm(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED, id, 0);
}
END_TEST

/* The id waits for its own event. */
START_TEST(an_address_that_a_call_waits_for)
{
	struct rdma_addrinfo *info;
	struct rdma_cm_id *waits;

	ck_assert_int_eq(rdma_create_id(NULL, &waits, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_resolve_addrinfo(waits, "127.0.0.1", "7471", NULL), 0);
	ck_assert_int_eq(waits->event->event, RDMA_CM_EVENT_ADDRINFO_RESOLVED);
	ck_assert_int_eq(rdma_query_addrinfo(waits, &info), 0);
	rdma_freeaddrinfo(info);
	ck_assert_int_eq(rdma_destroy_id(waits), 0);
}
END_TEST

static void *wake(void *arg)
{
	(void)arg;
	ck_assert_int_eq(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, -7, 0x123456789abcdef0), 0);
	return NULL;
}

START_TEST(an_event_of_the_program)
{
	struct rdma_cm_event *event;
	pthread_t thread;
	uint64_t arg;

	ck_assert_int_eq(pthread_create(&thread, NULL, wake, NULL), 0);
	event = next_event(channel, RDMA_CM_EVENT_USER);
	pthread_join(thread, NULL);
	memcpy(&arg, &event->param, sizeof(arg));
	ck_assert_ptr_eq(event->id, id);
	ck_assert_int_eq(event->status, -7);
	ck_assert(arg == 0x123456789abcdef0);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	expect_errno(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), EINVAL);
	expect_errno(rdma_write_cm_event(NULL, RDMA_CM_EVENT_USER, 0, 0), EINVAL);
	/* An unread one goes with its id. */
	ck_assert_int_eq(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 1), 0);
}
END_TEST

static _Atomic pid_t reader;

static void *read_one(void *arg)
{
	struct rdma_cm_event *event;
	int err;

	atomic_store(&reader, gettid());
	err = rdma_get_cm_event(arg, &event);
	ck_assert_msg(!err, "the reader returned when its channel was destroyed: %s",
		      strerror(errno));
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	return NULL;
}

/* The event wakes the reader, which gets the event or waits on. */
static void end_with_an_event(void)
{
	struct rdma_event_channel *ends = channel_open();
	struct rdma_cm_id *last = id_open(ends, RDMA_PS_TCP);
	pthread_t thread;

	atomic_store(&reader, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_one, ends), 0);
	await_receiving(&reader);
	ck_assert_int_eq(rdma_write_cm_event(last, RDMA_CM_EVENT_USER, 0, 0), 0);
	ck_assert_int_eq(rdma_destroy_id(last), 0);
	rdma_destroy_event_channel(ends);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	pthread_join(thread, NULL);
}

/* rping's client ends like this while the DISCONNECTED event arrives. */
START_TEST(an_id_and_its_channel_are_destroyed_under_their_reader)
{
	for (int i = 0; i < 1000; i++)
		end_with_an_event();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, an_address);
	tcase_add_test(tests, no_address);
	tcase_add_test(tests, an_address_that_a_call_waits_for);
	tcase_add_test(tests, an_event_of_the_program);
	tcase_add_test(tests, an_id_and_its_channel_are_destroyed_under_their_reader);
}

int main(void)
{
	return fixture_main("rdmacm_newer", add);
}
