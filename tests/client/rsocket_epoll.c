// SPDX-License-Identifier: MIT
/* epoll over rsockets: what epoll(7) promises of sockets, by repoll_create, repoll_ctl and
 * repoll_wait. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "rsocket_fixture.h"

/* Declared by newer releases of rdma-core. */
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);

static int epfd;
static struct stream s;
static _Thread_local void (*at_timeout)(void); /* the thread's next wait calls it */

/* The library's waits pass here first. */
#pragma GCC visibility push(default)
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	void (*call)(void) = at_timeout;
	int rc;

	*(void **)&next = dlsym(RTLD_NEXT, "ppoll");
	rc = next(fds, n, timeout, mask);
	if (rc == 0 && call) {
		at_timeout = NULL;
		call();
	}
	return rc;
}
#pragma GCC visibility pop

static void set_up(void)
{
	epfd = repoll_create(EPOLL_CLOEXEC);
	ck_assert_int_ge(epfd, 0);
	stream_open(&s);
	ck_assert_int_eq(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(rfcntl(s.server, F_SETFL, O_NONBLOCK), 0);
}

static void tear_down(void)
{
	stream_close(&s);
	if (epfd >= 0)
		ck_assert_int_eq(rclose(epfd), 0);
}

static int control(int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data = { .u64 = (uint64_t)fd << 40 | 1 } };

	return repoll_ctl(epfd, op, fd, &event);
}

static void add(int fd, uint32_t events)
{
	ck_assert_int_eq(control(EPOLL_CTL_ADD, fd, events), 0);
}

/* One event comes, and it is this one. */
static void expect(int fd, uint32_t events)
{
	struct epoll_event got[4];

	ck_assert_int_eq(repoll_wait(epfd, got, 4, -1), 1);
	ck_assert_uint_eq(got[0].data.u64, (uint64_t)fd << 40 | 1);
	ck_assert_uint_eq(got[0].events, events);
}

static void expect_nothing(void)
{
	struct epoll_event got;

	ck_assert_int_eq(repoll_wait(epfd, &got, 1, 0), 0);
}

static void expect_errno(int rc, int err)
{
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(errno, err);
}

static void send_bytes(int fd, const char *bytes)
{
	ck_assert_int_eq(rwrite(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

static void read_all(int fd)
{
	char bytes[1000];

	while (rread(fd, bytes, sizeof(bytes)) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
}

START_TEST(levels)
{
	add(s.server, EPOLLIN);
	expect_nothing();
	send_bytes(s.client, "abc");
	expect(s.server, EPOLLIN);
	expect(s.server, EPOLLIN);
	ck_assert_int_eq(control(EPOLL_CTL_MOD, s.server, EPOLLIN | EPOLLOUT), 0);
	expect(s.server, EPOLLIN | EPOLLOUT);
	read_all(s.server);
	expect(s.server, EPOLLOUT);
	ck_assert_int_eq(control(EPOLL_CTL_MOD, s.server, EPOLLIN | EPOLLRDHUP), 0);
	expect_nothing();
	ck_assert_int_eq(rshutdown(s.client, SHUT_WR), 0);
	expect(s.server, EPOLLIN | EPOLLRDHUP);
	ck_assert_int_eq(control(EPOLL_CTL_DEL, s.server, 0), 0);
	expect_nothing();
}
END_TEST

/* As epoll(7): an event for what comes, whether what was there before has been read or not. */
START_TEST(edges_of_readers)
{
	char byte;

	add(s.server, EPOLLIN | EPOLLET);
	send_bytes(s.client, "abc");
	expect(s.server, EPOLLIN);
	expect_nothing();
	/* More comes, and then again after a read that has not met the end. */
	send_bytes(s.client, "def");
	expect(s.server, EPOLLIN);
	ck_assert_int_eq(rread(s.server, &byte, 1), 1);
	expect_nothing();
	send_bytes(s.client, "ghi");
	expect(s.server, EPOLLIN);
	read_all(s.server);
	expect_nothing();
	send_bytes(s.client, "j");
	expect(s.server, EPOLLIN);
	/* A change reports what is there once more. */
	ck_assert_int_eq(control(EPOLL_CTL_MOD, s.server, EPOLLIN | EPOLLET), 0);
	expect(s.server, EPOLLIN);
	expect_nothing();
	ck_assert_int_eq(rshutdown(s.server, SHUT_WR), 0);
	ck_assert_int_eq(rshutdown(s.client, SHUT_RDWR), 0);
	expect(s.server, EPOLLIN | EPOLLHUP);
	expect_nothing();
}
END_TEST

/* Each message takes a credit, and nothing but the peer's reading gives it back. */
static size_t fill_up(int fd)
{
	size_t sent = 0;

	while (rwrite(fd, "x", 1) == 1)
		sent++;
	ck_assert_int_eq(errno, EAGAIN);
	return sent;
}

static void drain(int fd, size_t len)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char bytes[100];
	ssize_t n;

	while (len) {
		ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
		n = rread(fd, bytes, sizeof(bytes));
		ck_assert_int_gt(n, 0);
		len -= (size_t)n;
	}
}

START_TEST(edges_of_writers)
{
	size_t sent;
	int i;

	stream_close(&s);
	stream_open_sized(&s, (int[4]){ 0, 16 });
	ck_assert_int_eq(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
	add(s.client, EPOLLOUT | EPOLLIN | EPOLLET);
	expect(s.client, EPOLLOUT);
	for (i = 0; i < 3; i++) {
		expect_nothing();
		send_bytes(s.client, "x");
		expect_nothing();
		sent = fill_up(s.client);
		expect_nothing();
		drain(s.server, sent + 1);
		expect(s.client, EPOLLOUT);
	}
}
END_TEST

START_TEST(one_shot)
{
	send_bytes(s.client, "x");
	add(s.server, EPOLLIN | EPOLLONESHOT);
	expect(s.server, EPOLLIN);
	expect_nothing();
	send_bytes(s.client, "y");
	expect_nothing();
	ck_assert_int_eq(control(EPOLL_CTL_MOD, s.server, EPOLLIN | EPOLLONESHOT), 0);
	expect(s.server, EPOLLIN);
}
END_TEST

START_TEST(refuses)
{
	struct epoll_event event = { .events = EPOLLIN };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), before;

	add(s.server, EPOLLIN);
	expect_errno(control(EPOLL_CTL_ADD, s.server, EPOLLIN), EEXIST);
	expect_errno(control(EPOLL_CTL_MOD, s.client, EPOLLIN), ENOENT);
	expect_errno(control(EPOLL_CTL_DEL, s.client, EPOLLIN), ENOENT);
	expect_errno(control(12345, s.client, EPOLLIN), EINVAL);
	expect_errno(repoll_ctl(epfd, EPOLL_CTL_ADD, s.client, NULL), EFAULT);
	before = count_descriptors();
	expect_errno(repoll_ctl(null, EPOLL_CTL_ADD, s.client, &event), EINVAL);
	ck_assert_int_eq(count_descriptors(), before);
	expect_errno(repoll_ctl(-1, EPOLL_CTL_ADD, s.client, &event), EBADF);
	expect_errno(control(EPOLL_CTL_ADD, null, EPOLLIN), EPERM);
	expect_errno(repoll_wait(epfd, &event, 0, 0), EINVAL);
	expect_errno(repoll_wait(-1, &event, 1, 0), EBADF);
	ck_assert_int_eq(rclose(epfd), 0);
	expect_errno(rclose(epfd), EBADF);
	expect_errno(repoll_wait(epfd, &event, 1, 0), EBADF);
	epfd = -1;
	close(null);
}
END_TEST

/* Neither the set nor the kernel's part of it stays when a descriptor is missing. */
START_TEST(sets_without_descriptors)
{
	struct rlimit before, limit;
	int free_fd = dup(0), open_before;

	close(free_fd);
	open_before = count_descriptors();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < 2; i++) {
		limit = before;
		limit.rlim_cur = (rlim_t)(free_fd + i);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		expect_errno(repoll_create(0), EMFILE);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
		ck_assert_int_eq(count_descriptors(), open_before);
	}
}
END_TEST

/* The rsockets of a set are the parent's. A child has the kernel's part of the set alone. */
START_TEST(a_child_has_no_sets_of_its_parent)
{
	struct epoll_event event;
	int status;
	pid_t pid;

	add(s.server, EPOLLIN);
	send_bytes(s.client, "x");
	expect(s.server, EPOLLIN);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		ck_assert_int_eq(repoll_wait(epfd, &event, 1, 0), 0);
		expect_errno(rclose(epfd), EBADF);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	expect(s.server, EPOLLIN);
}
END_TEST

START_TEST(listeners_and_connections)
{
	struct sockaddr_storage addr;
	int listener = listen_on(&addr), client = rsocket(AF_INET, SOCK_STREAM, 0), server;

	ck_assert_int_eq(rfcntl(listener, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(rfcntl(client, F_SETFL, O_NONBLOCK), 0);
	add(listener, EPOLLIN | EPOLLET);
	expect_nothing();
	rconnect(client, (struct sockaddr *)&addr, sizeof(struct sockaddr_in));
	expect(listener, EPOLLIN);
	expect_nothing();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	add(client, EPOLLOUT | EPOLLET);
	expect(client, EPOLLOUT);
	ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(client), 0);
	/* No process listens any more. */
	ck_assert_int_eq(rclose(listener), 0);
	client = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	rconnect(client, (struct sockaddr *)&addr, sizeof(struct sockaddr_in));
	add(client, EPOLLOUT);
	expect(client, EPOLLOUT | EPOLLERR | EPOLLHUP);
	ck_assert_int_eq(rclose(client), 0);
}
END_TEST

/* In turns, though each wait takes one event only. */
START_TEST(beside_other_descriptors)
{
	struct pollfd arrival = { .fd = s.server, .events = POLLIN };
	struct epoll_event event;
	int fds[2], i, from_pipe = 0;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	add(fds[0], EPOLLIN);
	add(s.server, EPOLLIN);
	expect_nothing();
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	expect(fds[0], EPOLLIN);
	send_bytes(s.client, "x");
	/* Both are ready from here on. */
	ck_assert_int_eq(rpoll(&arrival, 1, -1), 1);
	for (i = 0; i < 10; i++) {
		ck_assert_int_eq(repoll_wait(epfd, &event, 1, -1), 1);
		from_pipe += event.data.u64 >> 40 == (uint64_t)fds[0];
	}
	ck_assert_int_ge(from_pipe, 4);
	ck_assert_int_le(from_pipe, 6);
	ck_assert_int_eq(control(EPOLL_CTL_DEL, fds[0], 0), 0);
	expect(s.server, EPOLLIN);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

/* Each rsocket that stays ready is reported in its turn, though each wait takes one event only. */
START_TEST(beside_other_rsockets)
{
	int fds[3], counts[3] = { 0 }, i, j;
	struct epoll_event event;
	struct stream t;

	stream_open(&t);
	fds[0] = s.client;
	fds[1] = s.server;
	fds[2] = t.client;
	for (i = 0; i < 3; i++)
		add(fds[i], EPOLLOUT);
	for (i = 0; i < 9; i++) {
		ck_assert_int_eq(repoll_wait(epfd, &event, 1, -1), 1);
		for (j = 0; j < 3; j++)
			counts[j] += event.data.u64 >> 40 == (uint64_t)fds[j];
	}
	for (j = 0; j < 3; j++)
		ck_assert_int_eq(counts[j], 3);
	stream_close(&t);
}
END_TEST

static void *wait_for_server(void *arg)
{
	(void)arg;
	expect(s.server, EPOLLIN);
	return NULL;
}

/* What another thread adds, sends or changes wakes one that waits, also in an epoll set of the
 * kernel that had no rsockets when it began to wait. */
START_TEST(waits_while_others_change)
{
	struct epoll_event event;
	pthread_t thread;

	if (_i == 1) {
		ck_assert_int_eq(rclose(epfd), 0);
		epfd = epoll_create1(EPOLL_CLOEXEC);
	}
	if (_i == 2)
		add(s.server, EPOLLIN);
	if (_i == 3)
		add(s.server, EPOLLPRI);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_server, NULL), 0);
	/* Most often the thread waits by now. */
	ck_assert_int_eq(epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, 20), 0);
	if (_i < 2)
		add(s.server, EPOLLIN);
	send_bytes(s.client, "x");
	if (_i == 3)
		ck_assert_int_eq(control(EPOLL_CTL_MOD, s.server, EPOLLIN), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static void *come_and_go(void *arg)
{
	int fd = *(const int *)arg;

	for (int i = 0; i < 10000; i++) {
		add(fd, EPOLLOUT);
		ck_assert_int_eq(control(EPOLL_CTL_DEL, fd, 0), 0);
	}
	return NULL;
}

/* Waits until the server has an event. Those of others come before. */
static void *wait_until_server(void *arg)
{
	struct epoll_event event;

	(void)arg;
	do {
		ck_assert_int_eq(repoll_wait(epfd, &event, 1, -1), 1);
		ck_assert_uint_eq(event.data.u64 & 0xff, 1);
	} while (event.data.u64 >> 40 != (uint64_t)s.server);
	ck_assert_uint_eq(event.events, EPOLLIN);
	return NULL;
}

START_TEST(members_come_and_go_during_a_wait)
{
	pthread_t waiter, changers[2];
	struct stream t;

	stream_open(&t);
	add(s.server, EPOLLIN);
	ck_assert_int_eq(pthread_create(&waiter, NULL, wait_until_server, NULL), 0);
	ck_assert_int_eq(pthread_create(&changers[0], NULL, come_and_go, &t.client), 0);
	ck_assert_int_eq(pthread_create(&changers[1], NULL, come_and_go, &t.server), 0);
	pthread_join(changers[0], NULL);
	pthread_join(changers[1], NULL);
	send_bytes(s.client, "x");
	pthread_join(waiter, NULL);
	stream_close(&t);
}
END_TEST

START_TEST(a_closed_member_leaves)
{
	int number = s.server;

	send_bytes(s.client, "x");
	add(s.server, EPOLLIN);
	expect(s.server, EPOLLIN);
	stream_close(&s);
	expect_nothing();
	/* Another rsocket gets the number. */
	stream_open(&s);
	if (s.server != number && s.client != number)
		return;
	add(number, EPOLLOUT);
	expect(number, EPOLLOUT);
}
END_TEST

START_TEST(a_timeout_passes)
{
	struct epoll_event event;

	add(s.server, EPOLLIN);
	ck_assert_int_eq(repoll_wait(epfd, &event, 1, 10), 0);
	ck_assert_int_eq(control(EPOLL_CTL_DEL, s.server, 0), 0);
	ck_assert_int_eq(repoll_wait(epfd, &event, 1, 10), 0);
}
END_TEST

static void send_late(void)
{
	struct pollfd pollfd = { .fd = s.server, .events = POLLIN };

	send_bytes(s.client, "x");
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
}

/* As with the kernel's calls, which look once more. */
START_TEST(data_that_arrive_as_the_time_passes)
{
	struct pollfd pollfd = { .fd = s.server, .events = POLLIN };
	struct epoll_event event;
	char byte;

	add(s.server, EPOLLIN);
	at_timeout = send_late;
	ck_assert_int_eq(repoll_wait(epfd, &event, 1, 1), 1);
	ck_assert_int_eq(rread(s.server, &byte, 1), 1);
	at_timeout = send_late;
	ck_assert_int_eq(rpoll(&pollfd, 1, 1), 1);
}
END_TEST

static void *echo(void *arg)
{
	char bytes[64];
	ssize_t n;
	int fd = *(int *)arg;
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	for (;;) {
		ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
		n = rread(fd, bytes, sizeof(bytes));
		if (n <= 0)
			return NULL;
		ck_assert_int_eq(rwrite(fd, bytes, (size_t)n), n);
	}
}

/* No edge is lost between two threads. */
START_TEST(many_turns_by_edges)
{
	pthread_t thread;
	char byte;
	int i;

	ck_assert_int_eq(pthread_create(&thread, NULL, echo, &s.server), 0);
	add(s.client, EPOLLIN | EPOLLET);
	for (i = 0; i < 500; i++) {
		send_bytes(s.client, "x");
		do
			expect(s.client, EPOLLIN);
		while (rread(s.client, &byte, 1) != 1);
	}
	ck_assert_int_eq(rshutdown(s.client, SHUT_WR), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, levels);
	tcase_add_test(tests, edges_of_readers);
	tcase_add_test(tests, edges_of_writers);
	tcase_add_test(tests, one_shot);
	tcase_add_test(tests, refuses);
	tcase_add_test(tests, sets_without_descriptors);
	tcase_add_test(tests, a_child_has_no_sets_of_its_parent);
	tcase_add_test(tests, listeners_and_connections);
	tcase_add_test(tests, beside_other_descriptors);
	tcase_add_test(tests, beside_other_rsockets);
	tcase_add_loop_test(tests, waits_while_others_change, 0, 4);
	tcase_add_test(tests, members_come_and_go_during_a_wait);
	tcase_add_test(tests, a_closed_member_leaves);
	tcase_add_test(tests, a_timeout_passes);
	tcase_add_test(tests, data_that_arrive_as_the_time_passes);
	tcase_add_test(tests, many_turns_by_edges);
}

int main(void)
{
	return fixture_main("rsocket_epoll", add_tests);
}
