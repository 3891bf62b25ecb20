// SPDX-License-Identifier: MIT
/* Stream rsockets: bytes come as they were sent, both ways, and the end of a peer is noticed. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "rsocket_fixture.h"

/* A thread that sends, or receives and compares, until the end of the stream. */
struct flow {
	int fd;
	uint32_t seed;
	size_t len;
	bool is_polled; /* with O_NONBLOCK */
	pthread_t thread;
};

static uint8_t byte_at(uint32_t seed, size_t at)
{
	return (uint8_t)((at + seed) * 2654435761u >> 16);
}

static size_t piece(uint32_t *state, size_t most)
{
	size_t n;

	*state = *state * 1664525u + 1013904223u;
	/* Mostly short, now and then longer than a buffer. */
	n = (*state >> 8) % (*state >> 29 ? 5000 : 300000) + 1;
	return n < most ? n : most;
}

static void await(const struct flow *flow, short events)
{
	struct pollfd fd = { .fd = flow->fd, .events = events };

	ck_assert(errno == EAGAIN && flow->is_polled);
	ck_assert_int_eq(rpoll(&fd, 1, -1), 1);
}

static void *send_flow(void *arg)
{
	const struct flow *flow = arg;
	uint8_t *bytes = malloc(flow->len);
	uint32_t state = flow->seed;
	size_t at, n;
	ssize_t sent;

	for (at = 0; at < flow->len; at++)
		bytes[at] = byte_at(flow->seed, at);
	for (at = 0; at < flow->len;) {
		n = piece(&state, flow->len - at);
		sent = rsend(flow->fd, bytes + at, n, 0);
		if (sent < 0)
			await(flow, POLLOUT);
		else
			at += (size_t)sent;
	}
	ck_assert_int_eq(rshutdown(flow->fd, SHUT_WR), 0);
	free(bytes);
	return NULL;
}

static void *receive_flow(void *arg)
{
	const struct flow *flow = arg;
	uint8_t *bytes = malloc(flow->len);
	uint32_t state = ~flow->seed;
	size_t at = 0, i, wrong = 0;
	ssize_t n = 1;

	while (n) {
		n = rrecv(flow->fd, bytes, piece(&state, flow->len), 0);
		if (n < 0)
			await(flow, POLLIN);
		for (i = 0; n > 0 && i < (size_t)n; i++)
			wrong += bytes[i] != byte_at(flow->seed, at + i);
		at += n > 0 ? (size_t)n : 0;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(at, flow->len);
	free(bytes);
	return NULL;
}

#define STREAMS 3

static void transfer(const int *sizes, size_t len)
{
	struct stream streams[STREAMS];
	struct flow flows[STREAMS][4];
	int i, k;

	for (i = 0; i < STREAMS; i++) {
		stream_open_sized(&streams[i], sizes);
		for (k = 0; k < 4; k++)
			flows[i][k] =
				(struct flow){ .fd = k & 1 ? streams[i].server : streams[i].client,
					       .seed = (uint32_t)(i * 2 + k / 2),
					       .len = len + (size_t)(i * 1000),
					       .is_polled = i == 1 };
		/* Flow 0 client to server, 2 back. */
		flows[i][2].fd = streams[i].server;
		flows[i][3].fd = streams[i].client;
		if (i == 1) {
			ck_assert_int_eq(rfcntl(streams[i].client, F_SETFL, O_NONBLOCK), 0);
			ck_assert_int_eq(rfcntl(streams[i].server, F_SETFL, O_NONBLOCK), 0);
		}
	}
	for (i = 0; i < STREAMS * 4; i++)
		ck_assert_int_eq(pthread_create(&flows[i / 4][i % 4].thread, NULL,
						i & 1 ? receive_flow : send_flow,
						&flows[i / 4][i % 4]),
				 0);
	for (i = 0; i < STREAMS * 4; i++)
		ck_assert_int_eq(pthread_join(flows[i / 4][i % 4].thread, NULL), 0);
	for (i = 0; i < STREAMS; i++)
		stream_close(&streams[i]);
}

START_TEST(both_ways_on_several_connections)
{
	transfer((int[4]){ 0 }, 8 << 20);
}
END_TEST

/* Credits run out before the buffers do, and the buffers wrap often. */
START_TEST(both_ways_with_small_queues)
{
	transfer((int[4]){ 16, 16, 4096 }, 1 << 20);
}
END_TEST

/* The peer reads nothing: the sender fills what there is, and the close does not hang. */
START_TEST(a_close_beside_a_peer_that_reads_nothing)
{
	char bytes[100] = "";
	struct stream s;
	size_t i, sent = 0, got = 0;
	ssize_t n;

	stream_open(&s);
	ck_assert_int_eq(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
	for (i = 0; i < 100000; i++) {
		n = rsend(s.client, bytes, sizeof(bytes), 0);
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	ck_assert_uint_lt(i, 100000);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(rclose(s.client), 0);
	s.client = -1;
	while ((n = rrecv(s.server, bytes, sizeof(bytes), 0)) > 0)
		got += (size_t)n;
	ck_assert_int_eq(n, 0);
	ck_assert_uint_eq(got, sent);
	stream_close(&s);
}
END_TEST

static int connect_to(const struct sockaddr_storage *addr)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rconnect(fd, (const struct sockaddr *)addr, sizeof(struct sockaddr_in)),
			 0);
	return fd;
}

static int connect_by(int sock)
{
	struct sockaddr_storage addr;

	if (read(sock, &addr, sizeof(addr)) != sizeof(addr))
		abort();
	return connect_to(&addr);
}

static int accept_from(int sock)
{
	struct sockaddr_storage addr;
	int listener = listen_on(&addr), fd;

	ck_assert_int_eq(write(sock, &addr, sizeof(addr)), sizeof(addr));
	fd = raccept(listener, NULL, NULL);
	ck_assert_int_ge(fd, 0);
	rclose(listener);
	return fd;
}

static void send_forever(int sock)
{
	static char bytes[100000];
	int fd = connect_by(sock);

	while (rsend(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

START_TEST(the_sender_is_killed)
{
	static char bytes[10000];
	ssize_t n = 1;
	pid_t pid;
	int i, sock = beside(send_forever, &pid), fd = accept_from(sock);

	for (i = 0; i < 100; i++)
		ck_assert_int_gt(rrecv(fd, bytes, sizeof(bytes), 0), 0);
	kill(pid, SIGKILL);
	while (n > 0)
		n = rrecv(fd, bytes, sizeof(bytes), 0);
	ck_assert(n == 0 || errno == ECONNRESET);
	waitpid(pid, NULL, 0);
	rclose(fd);
	close(sock);
}
END_TEST

static void read_a_little(int sock)
{
	char byte;
	int fd = connect_by(sock);

	if (rread(fd, &byte, 1) == 1)
		meet(sock);
	pause();
}

START_TEST(the_reader_is_killed)
{
	static char bytes[100000];
	struct pollfd pollfd;
	pid_t pid;
	int sock = beside(read_a_little, &pid), fd = accept_from(sock);
	ssize_t n = 1;

	ck_assert_int_eq(rwrite(fd, "x", 1), 1);
	meet(sock);
	while (rsend(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
	pollfd = (struct pollfd){ .fd = fd, .events = _i ? POLLIN : POLLOUT };
	kill(pid, SIGKILL);
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	while (n > 0)
		n = rsend(fd, bytes, sizeof(bytes), 0);
	ck_assert_int_eq(errno, ECONNRESET);
	waitpid(pid, NULL, 0);
	rclose(fd);
	close(sock);
}
END_TEST

/* Without rclose(), what was sent comes, and then the end. */
static void exit_without_close(int sock)
{
	int fd = connect_by(sock);

	rwrite(fd, "bye", 3);
	meet(sock);
}

START_TEST(the_peer_exits)
{
	char bytes[8];
	pid_t pid;
	int sock = beside(exit_without_close, &pid), fd = accept_from(sock);

	ck_assert_int_eq(rrecv(fd, bytes, 3, MSG_WAITALL), 3);
	meet(sock);
	ck_assert_int_eq(rread(fd, bytes, 1), 0);
	join(pid, sock);
	rclose(fd);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, both_ways_on_several_connections);
	tcase_add_test(tests, both_ways_with_small_queues);
	tcase_add_test(tests, a_close_beside_a_peer_that_reads_nothing);
	tcase_add_test(tests, the_sender_is_killed);
	tcase_add_loop_test(tests, the_reader_is_killed, 0, 2);
	tcase_add_test(tests, the_peer_exits);
}

int main(void)
{
	return fixture_main("rsocket_transfer", add);
}
