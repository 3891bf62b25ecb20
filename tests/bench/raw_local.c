// SPDX-License-Identifier: MIT
/* Two more baselines beside raw_udp: what two processes of one machine move over a TCP connection
 * on the loopback, and over a ring in shared memory that both copy into and out of. Throughput in
 * messages of 64 KiB; latency is half the round trip of 8 bytes between two spinning processes.
 * Output: key=value lines. Bounded in time; the child dies with its parent. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS	      0x7f4e0002u /* 127.78.0.2 */
#define MESSAGE	      65536u
#define PLACES	      4u /* of the ring */
#define SLICES	      5u
#define SLICE_NS      200000000ull
#define PINGS	      20000u
#define WARM_UP	      2000u
#define LIMIT_SECONDS 30u

/* One way: the producer counts put, the consumer counts got. */
struct ring {
	_Alignas(64) _Atomic uint64_t put;
	_Alignas(64) _Atomic uint64_t got;
	_Alignas(64) uint8_t place[PLACES][MESSAGE];
};

/* The two directions between parent and child. */
struct ends {
	struct ring *out, *in;
	int fd;
};

struct kind {
	const char *key;
	void (*send)(struct ends *ends, const uint8_t *p, size_t len);
	void (*receive)(struct ends *ends, uint8_t *p, size_t len);
};

static uint8_t user[MESSAGE];

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "raw_local: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* Others may need the processor. */
static void spin(uint32_t *turns)
{
	if (++*turns % 64 == 0)
		(void)sched_yield();
}

static void ring_send(struct ends *ends, const uint8_t *p, size_t len)
{
	struct ring *ring = ends->out;
	const uint64_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
	uint32_t turns = 0;

	while (put - atomic_load_explicit(&ring->got, memory_order_acquire) == PLACES)
		spin(&turns);
	memcpy(ring->place[put % PLACES], p, len);
	atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

static void ring_receive(struct ends *ends, uint8_t *p, size_t len)
{
	struct ring *ring = ends->in;
	const uint64_t got = atomic_load_explicit(&ring->got, memory_order_relaxed);
	uint32_t turns = 0;

	while (got == atomic_load_explicit(&ring->put, memory_order_acquire))
		spin(&turns);
	memcpy(p, ring->place[got % PLACES], len);
	atomic_store_explicit(&ring->got, got + 1, memory_order_release);
}

static void tcp_send(struct ends *ends, const uint8_t *p, size_t len)
{
	size_t done = 0;
	uint32_t turns = 0;

	while (done < len) {
		const ssize_t n = send(ends->fd, p + done, len - done, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			spin(&turns);
		else
			die("send");
	}
}

static void tcp_receive(struct ends *ends, uint8_t *p, size_t len)
{
	size_t done = 0;
	uint32_t turns = 0;

	while (done < len) {
		const ssize_t n = recv(ends->fd, p + done, len - done, MSG_DONTWAIT);

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			spin(&turns);
		else
			die("recv");
	}
}

static const struct kind kinds[] = {
	{ "raw_tcp", tcp_send, tcp_receive },
	{ "raw_ring", ring_send, ring_receive },
};

/* Both ends of a connection. */
static void connect_tcp(int ret[static 2])
{
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(ADDRESS) } };
	socklen_t len = sizeof(addr);

	ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || ret[0] < 0 ||
	    bind(listener, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) != 0 ||
	    connect(ret[0], (struct sockaddr *)&addr, sizeof(addr)) != 0)
		die("TCP on 127.78.0.2");
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (ret[1] < 0)
		die("accept");
	(void)close(listener);
	for (int i = 0; i < 2; i++)
		(void)setsockopt(ret[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static pid_t start(void)
{
	const pid_t parent = getpid(), child = fork();

	if (child < 0)
		die("fork");
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		(void)alarm(LIMIT_SECONDS);
	}
	return child;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void show_throughput(const struct kind *kind, struct ends *ends)
{
	double rate[SLICES];

	for (uint32_t i = 0; i < SLICES; i++) {
		const uint64_t from = now_ns();
		uint64_t now = from, bytes = 0;

		while (now - from < SLICE_NS) {
			kind->receive(ends, user, MESSAGE);
			bytes += MESSAGE;
			now = now_ns();
		}
		rate[i] = (double)bytes / (double)(now - from);
	}
	qsort(rate, SLICES, sizeof(rate[0]), by_value);
	(void)printf("%s_64k_GBps=%.3f\n", kind->key, rate[SLICES / 2]);
}

static void show_latency(const struct kind *kind, struct ends *ends)
{
	static double half_us[PINGS];

	for (uint32_t i = 0; i < WARM_UP + PINGS; i++) {
		const uint64_t from = now_ns();

		kind->send(ends, user, 8);
		kind->receive(ends, user, 8);
		if (i >= WARM_UP)
			half_us[i - WARM_UP] = (double)(now_ns() - from) / 2000.0;
	}
	qsort(half_us, PINGS, sizeof(half_us[0]), by_value);
	(void)printf("%s_lat8_us=%.2f\n%s_lat8_p99_us=%.2f\n%s_lat8_p999_us=%.2f\n", kind->key,
		     half_us[PINGS / 2], kind->key, half_us[PINGS - PINGS / 100], kind->key,
		     half_us[PINGS - PINGS / 1000]);
}

/* The child sends without end (pings: answers without end). */
static void measure(const struct kind *kind, struct ring *rings, int pings)
{
	struct ends here = { .out = &rings[0], .in = &rings[1] };
	struct ends there = { .out = &rings[1], .in = &rings[0] };
	int fd[2];
	pid_t child;

	memset(rings, 0, 2 * sizeof(*rings));
	connect_tcp(fd);
	here.fd = fd[0];
	there.fd = fd[1];
	child = start();
	while (child == 0) {
		if (pings)
			kind->receive(&there, user, 8);
		kind->send(&there, user, pings ? 8 : MESSAGE);
	}
	(pings ? show_latency : show_throughput)(kind, &here);
	(void)fflush(stdout);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

int main(void)
{
	struct ring *rings = mmap(NULL, 2 * sizeof(*rings), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (rings == MAP_FAILED)
		die("mmap");
	(void)alarm(LIMIT_SECONDS);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		measure(&kinds[i], rings, 0);
		measure(&kinds[i], rings, 1);
	}
	return EXIT_SUCCESS;
}
