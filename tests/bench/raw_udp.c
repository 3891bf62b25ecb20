// SPDX-License-Identifier: MIT
/* The raw UDP baseline: what this machine's loopback carries between two processes, with none of
 * our code in the way.
 *
 * Throughput has the shape of 64 KiB RDMA writes at MTU 4096 (one packet alone, then a train of
 * 15), gathered from a buffer, a CRC over each packet at both ends, the payload copied out where it
 * lands. The sender keeps within a window that the receiver moves through shared memory, which
 * costs the wire nothing; without a window what is lost is lost. Latency is a ping-pong of two
 * spinning processes. Output: key=value lines; --tune adds other ways to make the system calls.
 * Bounded in time; the child dies with its parent. */
#include <arpa/inet.h>
#include <errno.h>
#include <libdeflate.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
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

#define ADDRESS	       0x7f4e0001u /* 127.78.0.1 */
#define BTH	       12u
#define ICRC	       4u
#define MAX_BATCH      16u
#define DATAGRAM_BYTES 65536u
#define BUFFER_WANTED  (4 * 1024 * 1024)
#define SLICES	       5u
#define SLICE_NS       200000000ull
#define PINGS	       30000u
#define WARM_UP	       2000u
#define LIMIT_SECONDS  60u

/* A message: a packet of first bytes of headers alone, then a train of equal ones. */
struct shape {
	const char *key;
	uint32_t payload; /* of every packet */
	uint32_t first;	  /* header bytes of the packet that goes alone; 0: none does */
	uint32_t segs;	  /* packets in the train */
	uint32_t window;  /* bytes in flight; 0: as fast as it goes */
	uint32_t tx;	  /* messages of one sendmmsg */
	uint32_t rx;	  /* datagrams of one recvmmsg; 1: recvmsg */
};

static const struct shape baseline[] = {
	{ "raw_write64k", 4096, BTH + 16, 15, 256 * 1024, 1, 1 },
	{ "raw_write64k_unpaced", 4096, BTH + 16, 15, 0, 1, 1 },
	{ "raw_send64", 64, 0, 32, 256 * 1024, 1, 1 },
};

static const struct shape tuning[] = {
	{ "tune_write64k_tx2", 4096, BTH + 16, 15, 256 * 1024, 2, 1 },
	{ "tune_write64k_rx2", 4096, BTH + 16, 15, 256 * 1024, 1, 2 },
	{ "tune_write64k_rx4", 4096, BTH + 16, 15, 256 * 1024, 1, 4 },
	{ "tune_write64k_tx2_rx4", 4096, BTH + 16, 15, 256 * 1024, 2, 4 },
	{ "tune_write64k_window128k", 4096, BTH + 16, 15, 128 * 1024, 1, 1 },
	{ "tune_single4k", 4096, BTH, 0, 256 * 1024, 1, 1 },
	{ "tune_single4k_tx16_rx4", 4096, BTH, 0, 256 * 1024, 16, 4 },
	{ "tune_single64", 64, BTH, 0, 16 * 1024, 1, 1 },
	{ "tune_single64_tx16", 64, BTH, 0, 16 * 1024, 16, 1 },
	{ "tune_single64_tx16_rx4", 64, BTH, 0, 16 * 1024, 16, 4 },
	{ "tune_single64_tx16_rx16", 64, BTH, 0, 16 * 1024, 16, 16 },
	{ "tune_send64_rx4", 64, 0, 32, 256 * 1024, 1, 4 },
	{ "tune_send64_tx4_rx4", 64, 0, 32, 256 * 1024, 4, 4 },
};

struct shared {
	_Atomic uint64_t received; /* payload bytes, good or not: what the window counts */
	_Atomic uint64_t good;	   /* those whose CRC was right */
};

static struct shared *shared;
static uint8_t user[65536 + 4096]; /* what a program sends, or where its data lands */
static uint8_t stage[MAX_BATCH * DATAGRAM_BYTES];

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "raw_udp: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static int open_socket(struct sockaddr_in *ret_addr)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(ADDRESS) } };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1, bytes = BUFFER_WANTED;
	socklen_t len = sizeof(addr);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		die("socket on 127.78.0.1");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) != 0)
		die("UDP_GRO");
	*ret_addr = addr;
	return fd;
}

/* A child that dies with us. */
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

static void stop(pid_t child)
{
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

/* Sending: headers, payload from the program's buffer, CRC. */

static uint8_t *put_packet(uint8_t *p, uint32_t headers, const struct shape *shape, uint32_t offset)
{
	const uint32_t len = headers + shape->payload;
	uint32_t crc;

	memset(p, 0x40, headers);
	memcpy(p + headers, user + offset, shape->payload);
	crc = libdeflate_crc32(0, p, len);
	memcpy(p + len, &crc, ICRC);
	return p + len + ICRC;
}

struct sender {
	struct mmsghdr msg[MAX_BATCH * 2];
	struct iovec iov[MAX_BATCH * 2];
	_Alignas(8) uint8_t control[MAX_BATCH * 2][CMSG_SPACE(sizeof(uint16_t))];
	uint32_t n;
	uint8_t *end; /* of what is staged */
};

static void add_datagram(struct sender *s, struct sockaddr_in *to, uint8_t *start_of, uint16_t seg)
{
	struct msghdr *hdr = &s->msg[s->n].msg_hdr;
	struct cmsghdr *c = (void *)s->control[s->n];

	s->iov[s->n] = (struct iovec){ start_of, (size_t)(s->end - start_of) };
	*hdr = (struct msghdr){ .msg_name = to,
				.msg_namelen = sizeof(*to),
				.msg_iov = &s->iov[s->n++],
				.msg_iovlen = 1 };
	if (seg == 0)
		return;
	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_UDP,
			       .cmsg_type = UDP_SEGMENT,
			       .cmsg_len = CMSG_LEN(sizeof(seg)) };
	memcpy(CMSG_DATA(c), &seg, sizeof(seg));
	hdr->msg_control = c;
	hdr->msg_controllen = CMSG_SPACE(sizeof(seg));
}

/* Stage shape->tx messages; returns their payload bytes. */
static uint32_t stage_messages(struct sender *s, const struct shape *shape, struct sockaddr_in *to)
{
	uint32_t bytes = 0;

	s->n = 0;
	s->end = stage;
	for (uint32_t m = 0; m < shape->tx; m++) {
		uint8_t *from = s->end;
		uint32_t offset = 0;

		if (shape->first) {
			s->end = put_packet(s->end, shape->first, shape, offset);
			offset += shape->payload;
			add_datagram(s, to, from, 0);
			from = s->end;
		}
		for (uint32_t i = 0; i < shape->segs; i++, offset += shape->payload)
			s->end = put_packet(s->end, BTH, shape, offset);
		if (shape->segs)
			add_datagram(s, to, from, (uint16_t)(BTH + shape->payload + ICRC));
		bytes += offset;
	}
	return bytes;
}

_Noreturn static void send_forever(int fd, struct sockaddr_in *to, const struct shape *shape)
{
	static struct sender s;
	uint64_t sent = 0;

	for (;;) {
		uint32_t gone = 0;

		while (shape->window &&
		       sent - atomic_load_explicit(&shared->received, memory_order_acquire) >=
			       shape->window)
			(void)sched_yield();
		sent += stage_messages(&s, shape, to);
		while (gone < s.n) {
			const int rc = sendmmsg(fd, s.msg + gone, s.n - gone, 0);

			if (rc > 0)
				gone += (uint32_t)rc;
			else if (errno != EAGAIN && errno != ENOBUFS)
				die("sendmmsg");
		}
	}
}

/* Receiving: check every packet's CRC, copy its payload out. */

struct receiver {
	struct mmsghdr msg[MAX_BATCH];
	struct iovec iov[MAX_BATCH];
	_Alignas(8) uint8_t control[MAX_BATCH][64];
};

static uint32_t segment_of(struct msghdr *hdr, uint32_t len)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(hdr);
	int seg = 0;

	if (c && c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
		memcpy(&seg, CMSG_DATA(c), sizeof(seg));
	return seg > 0 ? (uint32_t)seg : len;
}

static void take_datagram(const struct shape *shape, const uint8_t *p, uint32_t len, uint32_t seg)
{
	uint64_t good = 0, all = 0;

	for (uint32_t at = 0; at < len; at += seg) {
		const uint32_t packet = len - at < seg ? len - at : seg;
		uint32_t crc;

		memcpy(&crc, p + at + packet - ICRC, ICRC);
		all += shape->payload;
		if (libdeflate_crc32(0, p + at, packet - ICRC) != crc)
			continue;
		memcpy(user + all % 65536, p + at + packet - ICRC - shape->payload, shape->payload);
		good += shape->payload;
	}
	atomic_store_explicit(&shared->good, shared->good + good, memory_order_relaxed);
	atomic_store_explicit(&shared->received, shared->received + all, memory_order_release);
}

static void receive_some(int fd, const struct shape *shape, struct receiver *r)
{
	int n;

	for (uint32_t i = 0; i < shape->rx; i++) {
		r->iov[i] = (struct iovec){ stage + (size_t)i * DATAGRAM_BYTES, DATAGRAM_BYTES };
		r->msg[i].msg_hdr = (struct msghdr){ .msg_iov = &r->iov[i],
						     .msg_iovlen = 1,
						     .msg_control = r->control[i],
						     .msg_controllen = sizeof(r->control[i]) };
	}
	if (shape->rx == 1) {
		const ssize_t len = recvmsg(fd, &r->msg[0].msg_hdr, 0);

		r->msg[0].msg_len = (uint32_t)len;
		n = len > 0;
	} else {
		n = recvmmsg(fd, r->msg, shape->rx, 0, NULL);
	}
	if (n <= 0)
		(void)sched_yield();
	for (int i = 0; i < n; i++) {
		const uint32_t len = r->msg[i].msg_len;

		take_datagram(shape, stage + (size_t)i * DATAGRAM_BYTES, len,
			      segment_of(&r->msg[i].msg_hdr, len));
	}
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The parent receives: the median and the best of a few slices. */
static void measure_throughput(const struct shape *shape)
{
	static struct receiver r;
	struct sockaddr_in to;
	const int fd = open_socket(&to);
	double rate[SLICES];
	pid_t child;

	memset(shared, 0, sizeof(*shared));
	child = start();
	if (child == 0) {
		struct sockaddr_in own;

		send_forever(open_socket(&own), &to, shape);
	}
	for (uint32_t i = 0; i < SLICES; i++) {
		const uint64_t from = now_ns(), had = shared->good;
		uint64_t now = from;

		while (now - from < SLICE_NS) {
			for (int k = 0; k < 8; k++)
				receive_some(fd, shape, &r);
			now = now_ns();
		}
		rate[i] = (double)(shared->good - had) / (double)(now - from);
	}
	stop(child);
	(void)close(fd);
	qsort(rate, SLICES, sizeof(rate[0]), by_value);
	(void)printf("%s_GBps=%.3f\n%s_best_GBps=%.3f\n%s_Mpps=%.3f\n", shape->key,
		     rate[SLICES / 2], shape->key, rate[SLICES - 1], shape->key,
		     rate[SLICES / 2] * 1000.0 / shape->payload);
	(void)fflush(stdout);
}

/* Latency. */

static void exchange(int fd, const struct sockaddr_in *to, uint32_t len, bool first)
{
	uint32_t empty = 0;

	if (first && sendto(fd, stage, len, 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
		die("sendto");
	while (recv(fd, stage, sizeof(stage), 0) < 0) {
		if (errno != EAGAIN)
			die("recv");
		/* Others may need the processor: then a spin would wait for the end of its
		 * slice. */
		if (++empty % 64 == 0)
			(void)sched_yield();
	}
	if (!first && sendto(fd, stage, len, 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
		die("sendto");
}

static void measure_latency(uint32_t len)
{
	static double half_us[PINGS];
	struct sockaddr_in here, there;
	const int fd = open_socket(&here), far = open_socket(&there);
	const pid_t child = start();

	if (child == 0)
		for (;;)
			exchange(far, &here, len, false);
	for (uint32_t i = 0; i < WARM_UP + PINGS; i++) {
		const uint64_t from = now_ns();

		exchange(fd, &there, len, true);
		if (i >= WARM_UP)
			half_us[i - WARM_UP] = (double)(now_ns() - from) / 2000.0;
	}
	stop(child);
	(void)close(fd);
	(void)close(far);
	qsort(half_us, PINGS, sizeof(half_us[0]), by_value);
	(void)printf("raw_lat%u_us=%.2f\nraw_lat%u_p99_us=%.2f\nraw_lat%u_p999_us=%.2f\n", len,
		     half_us[PINGS / 2], len, half_us[PINGS - PINGS / 100], len,
		     half_us[PINGS - PINGS / 1000]);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	const bool tune = argc > 1 && strcmp(argv[1], "--tune") == 0;

	if (argc > 1 && !tune) {
		(void)fprintf(stderr, "usage: raw_udp [--tune]\n");
		return EXIT_FAILURE;
	}
	(void)alarm(LIMIT_SECONDS);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < sizeof(baseline) / sizeof(baseline[0]); i++)
		measure_throughput(&baseline[i]);
	measure_latency(8);
	measure_latency(64);
	for (size_t i = 0; tune && i < sizeof(tuning) / sizeof(tuning[0]); i++)
		measure_throughput(&tuning[i]);
	return EXIT_SUCCESS;
}
