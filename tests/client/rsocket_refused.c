// SPDX-License-Identifier: MIT
/* Verbs that fail beneath rsockets (rxe_dm fault add verb): the call that needed the verb says so,
 * or the peer is refused, or the connection ends. Nothing is left, and the next connection is as
 * good as any. Memory and system calls that fail: the call says so, and the next one succeeds. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "failing.h"
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
		 : "add verb name=rdma_create_event_channel errno=EMFILE nth=1");
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

/* The mapping is announced with the next data again. */
START_TEST(the_announcement_of_a_mapping)
{
	static char memory[4096];
	struct stream s;
	char byte;

	stream_open_sized(&s, (int[4]){ 0, 0, 0, 1 });
	ck_assert_int_eq(riomap(s.server, memory, sizeof(memory), PROT_WRITE, 0, 0), 0);
	fault("add verb name=ibv_post_send errno=ENOMEM nth=1");
	expect_errno(rwrite(s.server, "x", 1), ENOMEM);
	ck_assert_int_eq(rwrite(s.server, "x", 1), 1);
	ck_assert_int_eq(rread(s.client, &byte, 1), 1);
	ck_assert_int_eq((int)riowrite(s.client, "y", 1, 0, 0), 1);
	stream_close(&s);
	ck_assert_int_eq(memory[0], 'y');
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

#define WAIT_MS 1 /* how long a call waits in vain */

/* Newer than the librdmacm that the program is linked with. */
static int (*repoll_create)(int flags);
static int (*repoll_ctl)(int set, int op, int fd, struct epoll_event *event);
static int (*repoll_wait)(int set, struct epoll_event *events, int n, int timeout_ms);

static void find_newer_calls(void)
{
	*(void **)&repoll_create = dlsym(RTLD_DEFAULT, "repoll_create");
	*(void **)&repoll_ctl = dlsym(RTLD_DEFAULT, "repoll_ctl");
	*(void **)&repoll_wait = dlsym(RTLD_DEFAULT, "repoll_wait");
}

static struct stream quiet; /* carries nothing */
static int set, pipes[2];   /* the set has one side of the stream; the pipe has no data */
static struct sockaddr_storage addr_of_peer;

/* The calls return 0 or -1, and errno. */
static int wait_by_poll(int fd)
{
	struct pollfd fds[] = { { quiet.server, POLLIN, 0 }, { pipes[0], POLLIN, 0 } };

	(void)fd;
	return rpoll(fds, 2, WAIT_MS);
}

static int wait_by_select(int fd)
{
	struct timeval time = { .tv_usec = WAIT_MS * 1000 };
	fd_set fds;

	(void)fd;
	FD_ZERO(&fds);
	FD_SET(quiet.server, &fds);
	return rselect(quiet.server + 1, &fds, NULL, NULL, &time);
}

static int wait_by_epoll(int fd)
{
	struct epoll_event event;

	(void)fd;
	return repoll_wait(set, &event, 1, WAIT_MS);
}

static int read_in_vain(int fd)
{
	char byte;
	ssize_t n = rread(quiet.client, &byte, 1);

	(void)fd;
	return n < 0 && errno == EAGAIN && !failing.err ? 0 : (int)n;
}

static int end(int fd)
{
	fail_none();
	return fd < 0 ? -1 : rclose(fd);
}

static int create_set(int fd)
{
	(void)fd;
	return end(repoll_create(0));
}

/* A set of the kernel's gets its first rsocket. */
static int extend_set(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int kernels = epoll_create1(0), rc, err;

	(void)fd;
	if (kernels < 0)
		return -1;
	rc = repoll_ctl(kernels, EPOLL_CTL_ADD, quiet.server, &event);
	err = errno;
	fail_none();
	if (rclose(kernels)) /* it has not become a set of rsockets */
		close(kernels);
	errno = err;
	return rc;
}

static int open_stream(int fd)
{
	(void)fd;
	return end(rsocket(AF_INET, SOCK_STREAM, 0));
}

static int open_datagrams(int fd)
{
	(void)fd;
	return end(rsocket(AF_INET, SOCK_DGRAM, 0));
}

static int map(int fd)
{
	static char memory[4096];

	(void)fd;
	if (riomap(quiet.server, memory, sizeof(memory), PROT_WRITE, 0, 0))
		return -1;
	fail_none();
	return riounmap(quiet.server, memory, sizeof(memory));
}

static int connect_to_peer(int fd)
{
	return rconnect(fd, (struct sockaddr *)&addr_of_peer, sizeof(struct sockaddr_in));
}

static int send_to_peer(int fd)
{
	return rsendto(fd, "x", 1, 0, (struct sockaddr *)&addr_of_peer,
		       sizeof(struct sockaddr_in)) == 1
		       ? 0
		       : -1;
}

/* A call, the type of the new rsocket that it is made on (0: none), and its needs at least. */
static const struct {
	const char *name;
	int (*call)(int fd);
	int type;
	unsigned int least;
} calls[] = {
	{ "rpoll", wait_by_poll, 0, 6 },
	{ "rselect", wait_by_select, 0, 6 },
	{ "repoll_wait", wait_by_epoll, 0, 4 },
	{ "rread", read_in_vain, 0, 2 },
	{ "repoll_create", create_set, 0, 4 },
	{ "repoll_ctl", extend_set, 0, 5 },
	{ "rsocket", open_stream, 0, 3 },
	{ "rsocket of datagrams", open_datagrams, 0, 5 },
	{ "riomap", map, 0, 1 },
	{ "rconnect", connect_to_peer, SOCK_STREAM, 6 },
	{ "rsendto", send_to_peer, SOCK_DGRAM, 6 },
};

struct step {
	int (*call)(int fd);
	int fd;
	unsigned int nth;
	int rc, err, injected;
};

/* A thread of its own, which has no descriptor yet to be woken by. */
static void *run_step(void *arg)
{
	struct step *step = arg;

	fail_nth(step->nth);
	step->rc = step->call(step->fd);
	step->err = errno;
	step->injected = fail_none();
	return NULL;
}

/* Nothing is on its way. */
static void close_at_once(int fd)
{
	unsigned int before = failing.waits;

	ck_assert_int_eq(rclose(fd), 0);
	ck_assert_uint_eq(failing.waits, before);
}

/* The call fails by its nth need, and says how. False: it has fewer, and succeeds. */
static bool fails_by(int i, unsigned int nth)
{
	struct step step = { .call = calls[i].call, .nth = nth };
	int listener = listen_on(&addr_of_peer);
	pthread_t thread;

	if (calls[i].type)
		step.fd = rsocket(AF_INET, calls[i].type, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_step, &step), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_msg(step.rc == (step.injected ? -1 : 0), "%s, need %u: %d", calls[i].name, nth,
		      step.rc);
	ck_assert_msg(!step.injected || step.err == step.injected, "%s, need %u: errno %d, not %d",
		      calls[i].name, nth, step.err, step.injected);
	if (calls[i].type && step.injected)
		close_at_once(step.fd);
	else if (calls[i].type)
		ck_assert_int_eq(rclose(step.fd), 0);
	ck_assert_int_eq(rclose(listener), 0);
	return step.injected;
}

/* Whatever a call needs of the kernel, and all memory, is refused once. */
START_TEST(needs_of_a_call)
{
	struct epoll_event event = { .events = EPOLLIN };
	const struct timeval time = { .tv_usec = WAIT_MS * 1000 };
	unsigned int nth = 0;
	int before;

	find_newer_calls();
	stream_open_sized(&quiet, (int[4]){ 0, 0, 0, 1 });
	ck_assert_int_eq(pipe(pipes), 0);
	set = repoll_create(0);
	ck_assert_int_eq(repoll_ctl(set, EPOLL_CTL_ADD, quiet.server, &event), 0);
	ck_assert_int_eq(rsetsockopt(quiet.client, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)),
			 0);
	fails_by(_i, 0); /* what stays from then on */
	before = count_descriptors();
	while (fails_by(_i, ++nth))
		ck_assert_int_eq(count_descriptors(), before);
	ck_assert_uint_gt(nth, calls[_i].least);
	ck_assert_int_eq(rclose(set), 0);
	stream_close(&quiet);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, NULL, tear_down);
	tcase_add_loop_test(tests, connections, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_loop_test(tests, a_connection_that_is_dropped, 0, 2);
	tcase_add_test(tests, a_send);
	tcase_add_loop_test(tests, a_receive, 0, 2);
	tcase_add_test(tests, the_announcement_of_a_mapping);
	tcase_add_test(tests, a_mapping);
	tcase_add_test(tests, datagrams);
	tcase_add_loop_test(tests, needs_of_a_call, 0, (int)(sizeof(calls) / sizeof(calls[0])));
}

int main(void)
{
	return fixture_main("rsocket_refused", add);
}
