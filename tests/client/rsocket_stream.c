// SPDX-License-Identifier: MIT
/* Stream rsockets: what their calls promise, two ends in one process. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <unistd.h>

#include "fixture.h"
#include "rsocket_fixture.h"

START_TEST(connects_before_accept_and_knows_names)
{
	struct sockaddr_in addr = { 0 }, other = { 0 };
	socklen_t len = sizeof(addr);
	struct stream s;

	stream_open(&s);
	ck_assert_int_eq(rgetsockname(s.client, (struct sockaddr *)&addr, &len), 0);
	ck_assert_uint_eq(len, sizeof(addr));
	len = sizeof(other);
	ck_assert_int_eq(rgetpeername(s.server, (struct sockaddr *)&other, &len), 0);
	ck_assert_uint_eq(addr.sin_port, other.sin_port);
	ck_assert_uint_eq(addr.sin_addr.s_addr, other.sin_addr.s_addr);
	/* A short length cuts the address. */
	len = 2;
	ck_assert_int_eq(rgetpeername(s.client, (struct sockaddr *)&other, &len), 0);
	ck_assert_uint_eq(len, sizeof(addr));
	stream_close(&s);
}
END_TEST

START_TEST(descriptors_are_the_lowest_free_numbers)
{
	int before = dup(0), fd;

	ck_assert_int_ge(before, 0);
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(fd, 64);
	ck_assert_int_eq(rclose(fd), 0);
	ck_assert_int_eq(rclose(fd), -1);
	ck_assert_int_eq(errno, EBADF);
	close(before);
}
END_TEST

START_TEST(refuses_what_it_is_not)
{
	char byte;

	ck_assert_int_eq(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, EAFNOSUPPORT);
	ck_assert_int_eq(rsocket(AF_INET, SOCK_RAW, 0), -1);
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_int_eq(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), -1);
	ck_assert_int_eq(errno, EPROTONOSUPPORT);
	ck_assert_int_eq(rrecv(0, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(rsend(-1, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(rshutdown(0, SHUT_RDWR), -1);
	ck_assert_int_eq(errno, EBADF);
}
END_TEST

START_TEST(not_connected)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;

	ck_assert_int_eq(rrecv(fd, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, ENOTCONN);
	ck_assert_int_eq(rsend(fd, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, ENOTCONN);
	ck_assert_int_eq(rgetpeername(fd, (struct sockaddr *)&addr, &len), -1);
	ck_assert_int_eq(errno, ENOTCONN);
	ck_assert_int_eq(rshutdown(fd, SHUT_WR), -1);
	ck_assert_int_eq(errno, ENOTCONN);
	ck_assert_int_eq(raccept(fd, NULL, NULL), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(rgetsockname(fd, (struct sockaddr *)&addr, &len), 0);
	ck_assert_int_eq(addr.sin_family, AF_INET);
	ck_assert_int_eq(rclose(fd), 0);
}
END_TEST

START_TEST(refused_where_nobody_listens)
{
	struct sockaddr_storage addr;
	int listener = listen_on(&addr);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), err;
	socklen_t len = sizeof(err);

	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_int_eq(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(rclose(fd), 0);
}
END_TEST

START_TEST(connects_without_blocking)
{
	struct sockaddr_storage addr;
	int listener = listen_on(&addr), fd, err = -1, server;
	struct pollfd pollfd;
	socklen_t len = sizeof(err);

	fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	ck_assert_int_eq(rfcntl(listener, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(raccept(listener, NULL, NULL), -1);
	ck_assert_int_eq(errno, EAGAIN);
	if (rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)))
		ck_assert_int_eq(errno, EINPROGRESS);
	pollfd = (struct pollfd){ .fd = fd, .events = POLLOUT };
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(pollfd.revents, POLLOUT);
	ck_assert_int_eq(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(rrecv(fd, &err, sizeof(err), 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	pollfd = (struct pollfd){ .fd = listener, .events = POLLIN };
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	rclose(server);
	rclose(fd);
	rclose(listener);
}
END_TEST

START_TEST(refused_without_blocking)
{
	struct sockaddr_storage addr;
	int fd, err = 0;
	struct pollfd pollfd;
	socklen_t len = sizeof(err);

	rclose(listen_on(&addr));
	fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), -1);
	if (errno == EINPROGRESS) {
		pollfd = (struct pollfd){ .fd = fd, .events = POLLOUT };
		ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
		ck_assert_int_ne(pollfd.revents & POLLERR, 0);
		ck_assert_int_eq(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	} else {
		err = errno;
	}
	ck_assert_int_eq(err, ECONNREFUSED);
	rclose(fd);
}
END_TEST

/* An rsocket that connects to a port without listener. A refusal that comes within rconnect() is
 * another test's: tries again. */
static int connect_in_vain(void)
{
	struct sockaddr_storage addr;
	int fd;

	rclose(listen_on(&addr));
	for (;;) {
		fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ck_assert_int_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)),
				 -1);
		if (errno == EINPROGRESS)
			break;
		ck_assert_int_eq(errno, ECONNREFUSED);
		rclose(fd);
	}
	errno = 0;
	return fd;
}

static int so_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = -1;

	ck_assert_int_eq(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	return err;
}

/* rdma-core's rpoll() leaves the error of the connection in errno, and rstream prints it. */
START_TEST(errno_of_a_refused_connection)
{
	int fd = connect_in_vain();
	struct pollfd pollfd = { .fd = fd, .events = POLLIN | POLLOUT };
	fd_set out;

	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert_int_eq(pollfd.revents, POLLIN | POLLOUT | POLLERR | POLLHUP);
	ck_assert_int_eq(so_error(fd), ECONNREFUSED);
	/* The error is reported once. */
	ck_assert_int_eq(so_error(fd), 0);
	errno = 0;
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(errno, 0);
	rclose(fd);

	fd = connect_in_vain();
	FD_ZERO(&out);
	FD_SET(fd, &out);
	ck_assert_int_eq(rselect(fd + 1, NULL, &out, NULL, NULL), 1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	ck_assert(FD_ISSET(fd, &out));
	ck_assert_int_eq(so_error(fd), ECONNREFUSED);
	rclose(fd);
}
END_TEST

START_TEST(flags_of_receives)
{
	char bytes[16] = "";
	struct stream s;

	stream_open(&s);
	ck_assert_int_eq(rrecv(s.server, bytes, sizeof(bytes), MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(rsend(s.client, "abc", 3, 0), 3);
	ck_assert_int_eq(rrecv(s.server, bytes, 2, MSG_PEEK), 2);
	ck_assert_mem_eq(bytes, "ab", 2);
	ck_assert_int_eq(rrecv(s.server, bytes, 1, 0), 1);
	ck_assert_int_eq(rsend(s.client, "def", 3, 0), 3);
	ck_assert_int_eq(rrecv(s.server, bytes, 5, MSG_WAITALL), 5);
	ck_assert_mem_eq(bytes, "bcdef", 5);
	ck_assert_int_eq(rrecv(s.server, bytes, 0, 0), 0);
	ck_assert_int_eq(rsend(s.client, "x", 1, MSG_OOB), -1);
	ck_assert_int_eq(errno, EOPNOTSUPP);
	stream_close(&s);
}
END_TEST

START_TEST(vectors_and_messages)
{
	char a[3], b[4], control[64];
	struct iovec out[] = { { "ab", 2 }, { "", 0 }, { "cdefg", 5 } };
	struct iovec in[] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct msghdr msg = { .msg_iov = out, .msg_iovlen = 3 };
	struct stream s;

	stream_open(&s);
	ck_assert_int_eq(rwritev(s.client, out, 3), 7);
	ck_assert_int_eq(rrecv(s.server, a, 1, MSG_PEEK | MSG_WAITALL), 1);
	ck_assert_int_eq(rreadv(s.server, in, 2), 7);
	ck_assert_mem_eq(a, "abc", 3);
	ck_assert_mem_eq(b, "defg", 4);
	ck_assert_int_eq(rsendmsg(s.server, &msg, 0), 7);
	msg = (struct msghdr){ .msg_iov = in,
			       .msg_iovlen = 2,
			       .msg_control = control,
			       .msg_controllen = sizeof(control) };
	ck_assert_int_eq(rrecvmsg(s.client, &msg, MSG_WAITALL), 7);
	ck_assert_uint_eq(msg.msg_controllen, 0);
	ck_assert_mem_eq(b, "defg", 4);
	stream_close(&s);
}
END_TEST

START_TEST(half_closed)
{
	char bytes[8];
	struct pollfd pollfd;
	struct stream s;

	stream_open(&s);
	ck_assert_int_eq(rwrite(s.client, "end", 3), 3);
	ck_assert_int_eq(rshutdown(s.client, SHUT_WR), 0);
	ck_assert_int_eq(rwrite(s.client, "x", 1), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(rrecv(s.server, bytes, sizeof(bytes), MSG_WAITALL), 3);
	ck_assert_int_eq(rread(s.server, bytes, sizeof(bytes)), 0);
	pollfd = (struct pollfd){ .fd = s.server, .events = POLLIN | POLLOUT | POLLRDHUP };
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(pollfd.revents, POLLIN | POLLOUT | POLLRDHUP);
	/* The other half goes on. */
	ck_assert_int_eq(rwrite(s.server, "more", 4), 4);
	ck_assert_int_eq(rrecv(s.client, bytes, 4, MSG_WAITALL), 4);
	ck_assert_int_eq(rclose(s.server), 0);
	ck_assert_int_eq(rread(s.client, bytes, 1), 0);
	s.server = -1;
	stream_close(&s);
}
END_TEST

START_TEST(closed_by_the_peer)
{
	char bytes[8];
	struct stream s;

	stream_open(&s);
	ck_assert_int_eq(rwrite(s.client, "last", 4), 4);
	ck_assert_int_eq(rclose(s.client), 0);
	s.client = -1;
	ck_assert_int_eq(rrecv(s.server, bytes, sizeof(bytes), MSG_WAITALL), 4);
	ck_assert_int_eq(rread(s.server, bytes, 1), 0);
	ck_assert_int_eq(rwrite(s.server, "x", 1), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	stream_close(&s);
}
END_TEST

static void *read_one(void *arg)
{
	char byte;

	return (void *)rread(*(const int *)arg, &byte, 1);
}

static void *read_all(void *arg)
{
	int fd = *(const int *)arg;
	char byte;

	while (rread(fd, &byte, 1) > 0)
		;
	return NULL;
}

START_TEST(a_close_wakes_the_reader)
{
	struct stream s;
	pthread_t reader;
	void *result;

	stream_open(&s);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_one, &s.server), 0);
	ck_assert_int_eq(rclose(s.client), 0);
	ck_assert_int_eq(pthread_join(reader, &result), 0);
	ck_assert_ptr_null(result);
	s.client = -1;
	stream_close(&s);
}
END_TEST

/* Data comes while one thread reads and another one closes. */
START_TEST(a_close_beside_a_reader)
{
	struct stream s;
	pthread_t reader;
	int i;

	for (i = 0; i < 20; i++) {
		stream_open(&s);
		ck_assert_int_eq(pthread_create(&reader, NULL, read_all, &s.server), 0);
		ck_assert_int_eq(rwrite(s.client, "x", 1), 1);
		ck_assert_int_eq(rwrite(s.client, "y", 1), 1);
		ck_assert_int_eq(rclose(s.server), 0);
		ck_assert_int_eq(pthread_join(reader, NULL), 0);
		s.server = -1;
		stream_close(&s);
	}
}
END_TEST

/* Ordinary descriptors and rsockets in one call. */
START_TEST(polls_rsockets_and_pipes)
{
	struct pollfd fds[4];
	struct stream s, t;
	int ends[2];
	char byte;

	stream_open(&s);
	stream_open(&t);
	ck_assert_int_eq(pipe(ends), 0);
	fds[0] = (struct pollfd){ .fd = s.server, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = -1, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = t.server, .events = POLLIN };
	ck_assert_int_eq(rpoll(fds, 4, 0), 0);
	ck_assert_int_eq(rpoll(fds, 4, 1), 0);
	ck_assert_int_eq(rwrite(t.client, "x", 1), 1);
	ck_assert_int_eq(rpoll(fds, 4, -1), 1);
	ck_assert_int_eq(fds[3].revents, POLLIN);
	ck_assert_int_eq(rread(t.server, &byte, 1), 1);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(rpoll(fds, 4, -1), 1);
	ck_assert_int_eq(fds[1].revents, POLLIN);
	ck_assert_int_eq(fds[3].revents, 0);
	close(ends[0]);
	close(ends[1]);
	stream_close(&t);
	stream_close(&s);
}
END_TEST

START_TEST(selects)
{
	struct timeval none = { 0 };
	fd_set in, out;
	struct stream s;

	stream_open(&s);
	FD_ZERO(&in);
	FD_SET(s.server, &in);
	ck_assert_int_eq(rselect(s.server + 1, &in, NULL, NULL, &none), 0);
	ck_assert(!FD_ISSET(s.server, &in));
	ck_assert_int_eq(rwrite(s.client, "x", 1), 1);
	FD_SET(s.server, &in);
	FD_ZERO(&out);
	FD_SET(s.client, &out);
	ck_assert_int_ge(rselect(s.server + s.client, &in, &out, NULL, NULL), 1);
	FD_ZERO(&out);
	FD_SET(s.server, &in);
	ck_assert_int_eq(rselect(s.server + 1, &in, &out, NULL, NULL), 1);
	ck_assert(FD_ISSET(s.server, &in));
	stream_close(&s);
}
END_TEST

START_TEST(selects_what_is_closed)
{
	struct timeval none = { 0 };
	int end[2];
	fd_set in;

	ck_assert_int_eq(pipe(end), 0);
	close(end[0]);
	close(end[1]);
	FD_ZERO(&in);
	FD_SET(end[1], &in);
	ck_assert_int_eq(rselect(end[1] + 1, &in, NULL, NULL, &none), -1);
	ck_assert_int_eq(errno, EBADF);
}
END_TEST

/* The events of an earlier call are gone. */
START_TEST(polls_nothing_ready)
{
	struct pollfd fds[2] = { { .events = POLLIN, .revents = POLLIN | POLLERR },
				 { .events = POLLIN, .revents = POLLIN | POLLERR } };
	struct stream s;
	int end[2];

	stream_open(&s);
	ck_assert_int_eq(pipe(end), 0);
	fds[0].fd = end[0];
	fds[1].fd = s.server;
	ck_assert_int_eq(rpoll(fds, 2, 0), 0);
	ck_assert_int_eq(fds[0].revents, 0);
	ck_assert_int_eq(fds[1].revents, 0);
	close(end[0]);
	close(end[1]);
	stream_close(&s);
}
END_TEST

static int number_of(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	ck_assert_int_eq(rgetsockopt(fd, level, name, &value, &len), 0);
	ck_assert_uint_eq(len, sizeof(int));
	return value;
}

static void expect_timeout(int fd, int name, time_t sec, suseconds_t usec)
{
	struct timeval time = { -1, -1 };
	socklen_t len = sizeof(time);

	ck_assert_int_eq(rgetsockopt(fd, SOL_SOCKET, name, &time, &len), 0);
	ck_assert_uint_eq(len, sizeof(time));
	ck_assert_int_eq(time.tv_sec, sec);
	ck_assert_int_eq(time.tv_usec, usec);
}

START_TEST(options)
{
	static const struct {
		int level, name, value, expected;
	} rows[] = {
		{ SOL_SOCKET, SO_REUSEADDR, 1, 1 },	  { SOL_SOCKET, SO_KEEPALIVE, 5, 1 },
		{ SOL_SOCKET, SO_OOBINLINE, 1, 1 },	  { SOL_SOCKET, SO_RCVBUF, 65536, 131072 },
		{ SOL_SOCKET, SO_SNDBUF, 65536, 131072 }, { IPPROTO_TCP, TCP_NODELAY, 1, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60, 60 },	  { SOL_RDMA, RDMA_SQSIZE, 100, 100 },
		{ SOL_RDMA, RDMA_RQSIZE, 200, 200 },	  { SOL_RDMA, RDMA_INLINE, 32, 32 },
	};
	struct linger linger = { .l_onoff = 1, .l_linger = 3 };
	struct timeval time = { .tv_usec = 1000 };
	socklen_t len = sizeof(linger);
	struct stream s;
	char byte;
	size_t i;
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(number_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 7200); /* Linux's */
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(
			rsetsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof(int)),
			0);
		ck_assert_int_eq(number_of(fd, rows[i].level, rows[i].name), rows[i].expected);
	}
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	linger.l_linger = 0;
	ck_assert_int_eq(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
	ck_assert_int_eq(linger.l_linger, 3);
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_DEBUG, &linger, sizeof(linger)), -1);
	ck_assert_int_eq(errno, ENOPROTOOPT);
	ck_assert_int_eq(number_of(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	len = sizeof(linger);
	ck_assert_int_eq(rgetsockopt(fd, SOL_RDMA, 99, &linger, &len), -1);
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_int_eq(rgetsockopt(fd, IPPROTO_IP, IP_TTL, &linger, &len), -1);
	ck_assert_int_eq(errno, ENOPROTOOPT);
	time.tv_usec = 1000000;
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), -1);
	ck_assert_int_eq(errno, EDOM);
	time.tv_usec = 999999;
	time.tv_sec = 3;
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), 0);
	expect_timeout(fd, SO_RCVTIMEO, 3, 999999);
	expect_timeout(fd, SO_SNDTIMEO, 0, 0); /* none */
	time = (struct timeval){ .tv_usec = 1000 };
	rclose(fd);

	stream_open(&s);
	ck_assert_int_eq(rsetsockopt(s.client, SOL_RDMA, RDMA_SQSIZE, &rows[0].value, 4), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(rsetsockopt(s.client, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), 0);
	ck_assert_int_eq(rread(s.client, &byte, 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	stream_close(&s);
}
END_TEST

START_TEST(a_listener_that_closes_resets_what_waits)
{
	struct sockaddr_storage addr;
	int listener = listen_on(&addr), fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char byte;

	ck_assert_int_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), 0);
	ck_assert_int_eq(rclose(listener), 0);
	ck_assert_int_le(rread(fd, &byte, 1), 0);
	rclose(fd);
	/* The port is free again. */
	listener = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(rbind(listener, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), 0);
	ck_assert_int_eq(rlisten(listener, 1), 0);
	rclose(listener);
}
END_TEST

static int bind_to(uint16_t port, int reuse)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = port };
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)), 0);
	if (!rbind(fd, (const struct sockaddr *)&any, sizeof(any)))
		return fd;
	ck_assert_int_eq(errno, EADDRINUSE);
	rclose(fd);
	return -1;
}

START_TEST(a_port_in_use)
{
	int first = bind_to(0, 1), second;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	ck_assert_int_ge(first, 0);
	ck_assert_int_eq(rgetsockname(first, (struct sockaddr *)&addr, &len), 0);
	ck_assert_int_eq(bind_to(addr.sin_port, 0), -1);
	second = bind_to(addr.sin_port, 1);
	ck_assert_int_ge(second, 0);
	ck_assert_int_eq(rlisten(first, 1), 0);
	ck_assert_int_eq(rlisten(second, 1), -1);
	ck_assert_int_eq(errno, EADDRINUSE);
	rclose(second);
	rclose(first);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_port_in_use);
	tcase_add_test(tests, connects_before_accept_and_knows_names);
	tcase_add_test(tests, descriptors_are_the_lowest_free_numbers);
	tcase_add_test(tests, refuses_what_it_is_not);
	tcase_add_test(tests, not_connected);
	tcase_add_test(tests, refused_where_nobody_listens);
	tcase_add_test(tests, connects_without_blocking);
	tcase_add_test(tests, refused_without_blocking);
	tcase_add_test(tests, errno_of_a_refused_connection);
	tcase_add_test(tests, flags_of_receives);
	tcase_add_test(tests, vectors_and_messages);
	tcase_add_test(tests, half_closed);
	tcase_add_test(tests, closed_by_the_peer);
	tcase_add_test(tests, a_close_wakes_the_reader);
	tcase_add_test(tests, a_close_beside_a_reader);
	tcase_add_test(tests, polls_rsockets_and_pipes);
	tcase_add_test(tests, selects);
	tcase_add_test(tests, selects_what_is_closed);
	tcase_add_test(tests, polls_nothing_ready);
	tcase_add_test(tests, options);
	tcase_add_test(tests, a_listener_that_closes_resets_what_waits);
}

int main(void)
{
	return fixture_main("rsocket_stream", add);
}
