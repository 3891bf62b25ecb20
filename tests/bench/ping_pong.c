// SPDX-License-Identifier: MIT
/* Round trips of 8 bytes between two processes over the loopback, with none of our code in the way,
 * for a fixed time: what tests/bench/machines divides by.
 *
 *     ping_pong spin|block|tcp SECONDS
 *
 * spin: UDP, both poll their sockets. block: UDP, both sleep in recv(). tcp: TCP, both sleep.
 * Output: key=value lines. The child dies with its parent. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS	   0x7f4e0002u /* 127.78.0.2 */
#define BYTES	   8
#define MAX_TRIPS  4000000u
#define NS_PER_S   1000000000ull
#define US(ns)	   ((double)(ns) / 1000)
#define PERCENT_99 0.99

static int flags;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static int open_bound(int type, struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	const int fd = socket(AF_INET, type, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(ADDRESS) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) != 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &len) != 0)
		fail("socket");
	return fd;
}

static void connect_to(int fd, const struct sockaddr_in *to)
{
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0)
		fail("connect");
}

static void open_udp(int *a, int *b)
{
	struct sockaddr_in to_a, to_b;

	*a = open_bound(SOCK_DGRAM, &to_a);
	*b = open_bound(SOCK_DGRAM, &to_b);
	connect_to(*a, &to_b);
	connect_to(*b, &to_a);
}

static void open_tcp(int *a, int *b)
{
	const int one = 1;
	struct sockaddr_in to, from;
	const int listener = open_bound(SOCK_STREAM, &to);

	if (listen(listener, 1) != 0)
		fail("listen");
	*a = open_bound(SOCK_STREAM, &from);
	connect_to(*a, &to);
	*b = accept(listener, NULL, NULL);
	if (*b < 0 || setsockopt(*a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
	    setsockopt(*b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
		fail("accept");
	close(listener);
}

/* A message of 8 bytes never arrives in parts. */
static void receive(int fd)
{
	char buf[BYTES];

	while (recv(fd, buf, sizeof(buf), flags) != BYTES)
		continue;
}

static void transmit(int fd)
{
	static const char buf[BYTES];

	if (send(fd, buf, sizeof(buf), 0) != BYTES)
		fail("send");
}

static void answer(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		receive(fd);
		transmit(fd);
	}
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(int fd, double seconds)
{
	uint32_t *took_ns = malloc(MAX_TRIPS * sizeof(*took_ns)), trips = 0;
	const uint64_t began_ns = now_ns();
	const uint64_t end_ns = began_ns + (uint64_t)(seconds * (double)NS_PER_S);
	uint64_t before_ns = began_ns;

	if (!took_ns)
		fail("malloc");
	while (before_ns < end_ns && trips < MAX_TRIPS) {
		uint64_t after_ns;

		transmit(fd);
		receive(fd);
		after_ns = now_ns();
		took_ns[trips++] = (uint32_t)(after_ns - before_ns);
		before_ns = after_ns;
	}
	qsort(took_ns, trips, sizeof(*took_ns), compare);
	printf("trips_per_s=%.0f\n", trips * (double)NS_PER_S / (double)(before_ns - began_ns));
	printf("p50_us=%.2f\np99_us=%.2f\n", US(took_ns[trips / 2]) / 2,
	       US(took_ns[(uint32_t)(trips * PERCENT_99)]) / 2);
	free(took_ns);
}

int main(int argc, char **argv)
{
	int a, b;
	pid_t peer;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: ping_pong spin|block|tcp SECONDS\n");
		return EXIT_FAILURE;
	}
	flags = strcmp(argv[1], "spin") == 0 ? MSG_DONTWAIT : 0;
	if (strcmp(argv[1], "tcp") == 0)
		open_tcp(&a, &b);
	else
		open_udp(&a, &b);
	peer = fork();
	if (peer < 0)
		fail("fork");
	if (peer == 0)
		answer(b);
	measure(a, strtod(argv[2], NULL));
	kill(peer, SIGKILL);
	return EXIT_SUCCESS;
}
