// SPDX-License-Identifier: MIT
/* What rsockets take of their process and give back: descriptors, memory, threads; and what a child
 * of fork() has of them. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "rsocket_fixture.h"

#define MOST_FREE 10 /* more descriptors than a connection takes */

static void talk(const struct stream *s)
{
	struct pollfd pollfd = { .fd = s->server, .events = POLLIN };
	char byte = 0;

	ck_assert_int_eq(rwrite(s->client, "x", 1), 1);
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(rread(s->server, &byte, 1), 1);
	ck_assert_int_eq(byte, 'x');
}

static void *wait_for_nothing(void *arg)
{
	struct pollfd pollfd = { .fd = *(const int *)arg, .events = POLLIN };

	ck_assert_int_eq(rpoll(&pollfd, 1, 1), 0);
	return NULL;
}

/* A thread that waits has a descriptor, by which others wake it, until the thread ends. */
START_TEST(threads_that_end_leave_no_descriptor)
{
	pthread_t thread;
	struct stream s;
	int before = 0;

	stream_open(&s);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_nothing, &s.server), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		if (i == 0)
			before = count_descriptors();
	}
	ck_assert_int_eq(count_descriptors(), before);
	stream_close(&s);
}
END_TEST

static size_t allocated(void)
{
#ifdef __GLIBC__
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

#define FIRST_LIVES 50 /* after these, nothing new is kept */
#define LIVES	    200

/* Each rsocket that is closed is freed, whatever calls it had before. */
START_TEST(closed_rsockets_leave_nothing)
{
	size_t before = 0;
	int fds = 0;

	for (int i = 0; i <= FIRST_LIVES + LIVES; i++) {
		int fd = rsocket(AF_INET, i % 2 ? SOCK_STREAM : SOCK_DGRAM, 0);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(rfcntl(fd, F_GETFL), O_RDWR);
		ck_assert_int_eq(rclose(fd), 0);
		if (i == FIRST_LIVES) {
			before = allocated();
			fds = count_descriptors();
		}
	}
	ck_assert_int_eq(count_descriptors(), fds);
	ck_assert_uint_lt(allocated(), before + LIVES * sizeof(void *));
}
END_TEST

/* A program with more than a thousand descriptors. */
START_TEST(numbers_above_1023)
{
	struct rlimit limit;
	static int others[1100];
	struct stream s;
	int n = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < 2048)
		return;
	limit.rlim_cur = 2048;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	do {
		others[n] = dup(0);
		ck_assert_int_ge(others[n], 0);
	} while (others[n++] < 1023);
	stream_open(&s);
	ck_assert_int_gt(s.client, 1023);
	ck_assert_int_gt(s.server, 1023);
	talk(&s);
	stream_close(&s);
	while (n)
		close(others[--n]);
}
END_TEST

/* A program without standard input. */
START_TEST(number_0)
{
	int input = dup(0);

	close(0);
	ck_assert_int_eq(rsocket(AF_INET, SOCK_STREAM, 0), 0);
	ck_assert_int_eq(rfcntl(0, F_GETFL), O_RDWR);
	ck_assert_int_eq(rclose(0), 0);
	ck_assert_int_eq(dup2(input, 0), 0);
	close(input);
}
END_TEST

/* How often a connection with few descriptors ended in which way. */
static struct {
	int refused, failed, made;
} outcomes;

/* Whatever comes first: the listener has the connection, or has dropped it. */
static void take(int listener, int client)
{
	struct pollfd fds[2] = { { .fd = listener, .events = POLLIN },
				 { .fd = client, .events = POLLIN } };
	int server;

	ck_assert_int_ge(rpoll(fds, 2, -1), 1);
	if (!fds[0].revents)
		return;
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(rclose(server), 0);
	outcomes.made++;
}

static void connect_with(const struct rlimit *limit, int listener,
			 const struct sockaddr_storage *addr)
{
	int client = rsocket(AF_INET, SOCK_STREAM, 0), rc, err;
	struct rlimit before;

	ck_assert_int_ge(client, 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, limit), 0);
	rc = rconnect(client, (const struct sockaddr *)addr, sizeof(struct sockaddr_in));
	err = errno;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	if (rc == 0)
		take(listener, client);
	else if (err == ECONNREFUSED)
		outcomes.refused++;
	else if (err == EMFILE)
		outcomes.failed++;
	else
		ck_abort_msg("rconnect: errno %d", err);
	ck_assert_int_eq(rclose(client), 0);
}

/* Without a descriptor for its queues, rconnect() says so, and a listener refuses. Neither leaves
 * anything, and both go on once there are descriptors. */
START_TEST(few_descriptors)
{
	struct sockaddr_storage addr;
	struct rlimit limit;
	int listener, before, fd;
	struct stream s;

	stream_open(&s); /* what stays from then on */
	talk(&s);
	stream_close(&s);
	listener = listen_on(&addr);
	before = count_descriptors();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = dup(0);
	close(fd);
	for (int n = 0; n < MOST_FREE; n++) {
		limit.rlim_cur = (rlim_t)(fd + n);
		connect_with(&limit, listener, &addr);
		ck_assert_int_eq(count_descriptors(), before);
	}
	ck_assert_int_gt(outcomes.failed, 0);
	ck_assert_int_gt(outcomes.refused, 0);
	ck_assert_int_gt(outcomes.made, 0);
	ck_assert_int_eq(rclose(listener), 0);
}
END_TEST

/* A child of fork() has none of its parent's rsockets, and may make its own. Its listener accepts
 * while the child waits in rconnect(). */
START_TEST(a_child_makes_its_own)
{
	struct stream s, own;
	int status;
	pid_t pid;

	stream_open(&s);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		ck_assert_int_eq(rfcntl(s.client, F_GETFL), -1);
		ck_assert_int_eq(errno, EBADF);
		ck_assert_int_eq(rclose(s.server), -1);
		ck_assert_int_eq(errno, EBADF);
		stream_open(&own);
		talk(&own);
		stream_close(&own);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	talk(&s);
	stream_close(&s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, threads_that_end_leave_no_descriptor);
	tcase_add_test(tests, closed_rsockets_leave_nothing);
	tcase_add_test(tests, number_0);
	tcase_add_test(tests, numbers_above_1023);
	tcase_add_test(tests, few_descriptors);
	tcase_add_test(tests, a_child_makes_its_own);
}

int main(void)
{
	return fixture_main("rsocket_life", add);
}
