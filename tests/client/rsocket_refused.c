// SPDX-License-Identifier: MIT
/* Verbs that fail beneath rsockets (rxe_dm fault add verb): the call that needed the verb says so,
 * or the peer is refused, or the connection ends. Nothing is left, and the next connection is as
 * good as any. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "rsocket_fixture.h"
#include "rules.h"

static void expect_errno(ssize_t rc, int err)
{
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(errno, err);
}

static void tear_down(void)
{
	fault("clear");
}

/* The next calls of a verb: the one that fails. */
static const struct {
	const char *rule;
	int err; /* rconnect() ends with it */
} rows[] = {
	{ "name=ibv_query_device errno=EIO nth=1", EIO },
	{ "name=ibv_query_device errno=EIO nth=2", ECONNREFUSED },
	{ "name=ibv_create_comp_channel errno=EMFILE nth=1", EMFILE },
	{ "name=ibv_create_comp_channel errno=EMFILE nth=2", ECONNREFUSED },
	{ "name=ibv_create_cq errno=ENOMEM nth=1", ENOMEM },
	{ "name=ibv_create_cq errno=ENOMEM nth=2", ECONNREFUSED },
	{ "name=ibv_create_qp errno=ENOMEM nth=1", ENOMEM },
	{ "name=ibv_create_qp errno=ENOMEM nth=2", ECONNREFUSED },
	{ "name=ibv_reg_mr errno=ENOMEM nth=1", ENOMEM }, /* each side registers two */
	{ "name=ibv_reg_mr errno=ENOMEM nth=4", ECONNREFUSED },
	{ "name=ibv_post_recv errno=EIO nth=1", EIO },
	{ "name=rdma_resolve_addr errno=ENODEV", ENODEV },
	{ "name=rdma_resolve_route errno=EIO", EIO },
	{ "name=rdma_connect errno=EIO", EIO },
	{ "name=rdma_accept errno=EIO", ECONNREFUSED },
};

START_TEST(connections)
{
	struct sockaddr_storage addr;
	char rule[100];
	struct stream s;
	int listener, fd, before;

	stream_open(&s);
	stream_close(&s);
	listener = listen_on(&addr);
	before = count_descriptors();
	snprintf(rule, sizeof(rule), "add verb %s", rows[_i].rule);
	fault(rule);
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(fd, 0);
	expect_errno(rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)),
		     rows[_i].err);
	ck_assert_uint_ge(fired(rows[_i].rule), 1);
	ck_assert_int_eq(rclose(fd), 0);
	ck_assert_int_eq(count_descriptors(), before);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* The listener cannot give a connection that the client has a channel of its own: drops it. */
START_TEST(a_connection_that_is_dropped)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), listener;
	struct sockaddr_storage addr;
	struct pollfd pollfd = { .events = POLLIN };
	char byte;

	listener = listen_on(&addr);
	fault(_i ? "add verb name=rdma_migrate_id errno=ENOMEM"
		 : "add verb name=rdma_create_event_channel errno=EMFILE");
	ck_assert_int_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), 0);
	ck_assert_int_eq(rread(fd, &byte, 1), 0);
	pollfd.fd = listener;
	ck_assert_int_eq(rpoll(&pollfd, 1, 0), 0);
	ck_assert_int_eq(rclose(fd), 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

START_TEST(a_send)
{
	struct pollfd pollfd = { .events = POLLIN | POLLOUT };
	struct stream s;

	stream_open(&s);
	pollfd.fd = s.client;
	fault("add verb name=ibv_post_send errno=ENOMEM nth=1");
	expect_errno(rwrite(s.client, "x", 1), ENOMEM);
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(pollfd.revents, POLLIN | POLLOUT | POLLHUP);
	expect_errno(rwrite(s.client, "y", 1), ECONNRESET);
	stream_close(&s);
}
END_TEST

/* The completion queue can be polled no more, or no thread can wait for it. */
START_TEST(a_receive)
{
	struct stream s;
	char byte;

	stream_open(&s);
	fault(_i ? "add verb name=ibv_req_notify_cq errno=EIO"
		 : "add verb name=ibv_poll_cq errno=EIO");
	expect_errno(rread(s.server, &byte, 1), EIO);
	ck_assert_int_eq(rread(s.server, &byte, 1), 0);
	expect_errno(rwrite(s.server, "x", 1), ECONNRESET);
	stream_close(&s);
}
END_TEST

/* The peer's I/O map has one entry, which stays free. */
START_TEST(a_mapping)
{
	static char memory[4096];
	struct stream s;

	stream_open_sized(&s, (int[4]){ 0, 0, 0, 1 });
	fault("add verb name=ibv_reg_mr errno=ENOMEM nth=1");
	expect_errno(riomap(s.server, memory, sizeof(memory), PROT_WRITE, 0, 0), ENOMEM);
	ck_assert_int_eq(riomap(s.server, memory, sizeof(memory), PROT_WRITE, 0, 0), 0);
	stream_close(&s);
}
END_TEST

static int open_datagram(struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	ck_assert_int_ge(fd, 0);
	*ret = (struct sockaddr_in){ .sin_family = AF_INET };
	ck_assert_int_eq(inet_pton(AF_INET, getenv("RXE_DM_ADDRESS"), &ret->sin_addr), 1);
	ck_assert_int_eq(rbind(fd, (struct sockaddr *)ret, len), 0);
	ck_assert_int_eq(rgetsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

/* A datagram may be lost: sends until one has come. */
static void exchange(int from, int to, const struct sockaddr_in *addr)
{
	struct pollfd pollfd = { .fd = to, .events = POLLIN };
	char byte = 0;

	do
		ck_assert_int_eq(
			rsendto(from, "x", 1, 0, (const struct sockaddr *)addr, sizeof(*addr)), 1);
	while (rpoll(&pollfd, 1, 10) == 0);
	while (rrecv(to, &byte, 1, MSG_DONTWAIT) == 1)
		ck_assert_int_eq(byte, 'x');
	ck_assert_int_eq(errno, EAGAIN);
}

/* Datagrams come by UDP where queue pairs fail, and by queue pairs again. */
START_TEST(datagrams)
{
	struct sockaddr_in addrs[2];
	int a = open_datagram(&addrs[0]), b = open_datagram(&addrs[1]), i;

	for (i = 0; i < 9; i++) {
		if (i == 3)
			fault("add verb name=ibv_poll_cq errno=EIO");
		if (i == 6)
			fault("clear");
		exchange(a, b, &addrs[1]);
		exchange(b, a, &addrs[0]);
	}
	ck_assert_int_eq(rclose(a), 0);
	ck_assert_int_eq(rclose(b), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, NULL, tear_down);
	tcase_add_loop_test(tests, connections, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_loop_test(tests, a_connection_that_is_dropped, 0, 2);
	tcase_add_test(tests, a_send);
	tcase_add_loop_test(tests, a_receive, 0, 2);
	tcase_add_test(tests, a_mapping);
	tcase_add_test(tests, datagrams);
}

int main(void)
{
	return fixture_main("rsocket_refused", add);
}
