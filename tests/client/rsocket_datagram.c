// SPDX-License-Identifier: MIT
/* Datagram rsockets: messages come whole, from whom they say, and the calls do what those of UDP
 * do. Each test sends no more than its reader takes, so that nothing is lost. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fixture.h"
#include "rsocket_fixture.h"

#define ROUNDS 20 /* the first messages go by UDP, the others by UD queue pairs */

struct party {
	int fd;
	struct sockaddr_storage addr;
	socklen_t len;
};

static void learn_name(struct party *party)
{
	party->len = sizeof(party->addr);
	ck_assert_int_eq(rgetsockname(party->fd, (struct sockaddr *)&party->addr, &party->len), 0);
}

/* The family of the device's address. */
static int device_family(void)
{
	return strchr(getenv("RXE_DM_ADDRESS"), ':') ? AF_INET6 : AF_INET;
}

static void set_ip(struct sockaddr_storage *addr)
{
	void *ip = addr->ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)addr)->sin6_addr
					       : (void *)&((struct sockaddr_in *)addr)->sin_addr;

	ck_assert_int_eq(inet_pton(addr->ss_family, getenv("RXE_DM_ADDRESS"), ip), 1);
}

static void open_unbound(struct party *party)
{
	party->fd = rsocket(device_family(), SOCK_DGRAM, 0);
	ck_assert_int_ge(party->fd, 0);
}

static void open_bound(struct party *party)
{
	struct sockaddr_storage addr = { .ss_family = (sa_family_t)device_family() };

	open_unbound(party);
	set_ip(&addr);
	learn_name(party);
	ck_assert_int_eq(rbind(party->fd, (struct sockaddr *)&addr, party->len), 0);
	learn_name(party);
}

static void send_to(const struct party *from, const void *bytes, size_t len, const struct party *to)
{
	ck_assert_int_eq(
		rsendto(from->fd, bytes, len, 0, (const struct sockaddr *)&to->addr, to->len),
		(ssize_t)len);
}

/* Receives a message and the name of its sender. */
static ssize_t receive_from(const struct party *party, void *bytes, size_t len, struct party *ret)
{
	ret->len = sizeof(ret->addr);
	return rrecvfrom(party->fd, bytes, len, 0, (struct sockaddr *)&ret->addr, &ret->len);
}

static void expect_name(const struct party *got, const struct party *wanted)
{
	ck_assert_uint_eq(got->len, wanted->len);
	ck_assert_mem_eq(&got->addr, &wanted->addr, wanted->len);
}

static void expect_errno(ssize_t rc, int err)
{
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(errno, err);
}

static void leave(struct party *party)
{
	ck_assert_int_eq(rclose(party->fd), 0);
}

START_TEST(both_ways_by_address)
{
	struct party a, b, from;
	char byte;
	int i;

	open_bound(&a);
	open_bound(&b);
	for (i = 0; i < ROUNDS; i++) {
		byte = (char)i;
		send_to(&a, &byte, 1, &b);
		ck_assert_int_eq(receive_from(&b, &byte, 1, &from), 1);
		expect_name(&from, &a);
		send_to(&b, &byte, 1, &from);
		ck_assert_int_eq(receive_from(&a, &byte, 1, &from), 1);
		expect_name(&from, &b);
		ck_assert_int_eq(byte, i);
	}
	leave(&a);
	leave(&b);
}
END_TEST

/* Lengths that go by UD, by UDP, and none at all. */
START_TEST(messages_are_whole)
{
	static const size_t lens[] = { 0, 1, 100, 1000, 2023, 2024, 2025, 2048, 4000, 60000 };
	uint8_t *bytes = malloc(65536), *got = malloc(65536);
	struct party a, b, from;
	size_t i, k;

	for (k = 0; k < 65536; k++)
		bytes[k] = (uint8_t)(k * 2654435761u >> 16);
	open_bound(&a);
	open_bound(&b);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			send_to(&a, bytes + i, lens[i], &b);
			ck_assert_int_eq(receive_from(&b, got, 65536, &from), (ssize_t)lens[i]);
			ck_assert_mem_eq(got, bytes + i, lens[i]);
		}
		/* The answer teaches the way. */
		send_to(&b, bytes, 1, &a);
		ck_assert_int_eq(receive_from(&a, got, 1, &from), 1);
	}
	expect_errno(rsendto(a.fd, bytes, 65536, 0, (struct sockaddr *)&b.addr, b.len), EMSGSIZE);
	leave(&a);
	leave(&b);
	free(bytes);
	free(got);
}
END_TEST

static void connect_to(const struct party *party, const struct party *to)
{
	ck_assert_int_eq(rconnect(party->fd, (const struct sockaddr *)&to->addr, to->len), 0);
}

START_TEST(connected)
{
	struct party server, client, other, peer = { .len = sizeof(peer.addr) }, from;
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	char bytes[8];
	int i;

	open_bound(&server);
	open_bound(&other);
	open_unbound(&client);
	expect_errno(rsend(client.fd, "x", 1, 0), EDESTADDRREQ);
	expect_errno(rgetpeername(client.fd, (struct sockaddr *)&peer.addr, &peer.len), ENOTCONN);
	expect_errno(rshutdown(client.fd, SHUT_WR), ENOTCONN);
	connect_to(&client, &server);
	ck_assert_int_eq(rgetpeername(client.fd, (struct sockaddr *)&peer.addr, &peer.len), 0);
	expect_name(&peer, &server);
	learn_name(&client);
	for (i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(rsend(client.fd, "hello", 5, 0), 5);
		ck_assert_int_eq(receive_from(&server, bytes, 8, &from), 5);
		expect_name(&from, &client);
		/* Whom the client is not connected to it does not receive. */
		send_to(&other, "no", 2, &client);
		send_to(&server, "yes", 3, &client);
		ck_assert_int_eq(rread(client.fd, bytes, 8), 3);
	}
	ck_assert_int_eq(rconnect(client.fd, &none, sizeof(none)), 0);
	expect_errno(rsend(client.fd, "x", 1, 0), EDESTADDRREQ);
	connect_to(&client, &other);
	ck_assert_int_eq(rwrite(client.fd, "new", 3), 3);
	ck_assert_int_eq(receive_from(&other, bytes, 8, &from), 3);
	ck_assert_int_eq(rshutdown(client.fd, SHUT_RDWR), 0);
	expect_errno(rsend(client.fd, "x", 1, 0), EPIPE);
	ck_assert_int_eq(rread(client.fd, bytes, 1), 0);
	ck_assert_int_eq(receive_from(&client, bytes, 1, &from), 0);
	ck_assert_uint_eq(from.len, 0); /* no sender */
	leave(&server);
	leave(&client);
	leave(&other);
}
END_TEST

START_TEST(nobody_has_the_port)
{
	struct pollfd pollfd = { .events = POLLIN };
	struct party closed, client;
	char byte;

	open_bound(&closed);
	leave(&closed);
	open_unbound(&client);
	connect_to(&client, &closed);
	ck_assert_int_eq(rsend(client.fd, "x", 1, 0), 1);
	pollfd.fd = client.fd;
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert(pollfd.revents & POLLERR);
	expect_errno(rread(client.fd, &byte, 1), ECONNREFUSED);
	leave(&client);
}
END_TEST

START_TEST(refuses)
{
	struct sockaddr_storage unix_name = { .ss_family = AF_UNIX };
	struct party party, other;
	char byte;

	expect_errno(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
	open_bound(&party);
	open_unbound(&other);
	expect_errno(rbind(other.fd, (struct sockaddr *)&party.addr, party.len), EADDRINUSE);
	expect_errno(rlisten(party.fd, 1), EOPNOTSUPP);
	expect_errno(raccept(party.fd, NULL, NULL), EOPNOTSUPP);
	expect_errno(rsendto(party.fd, "x", 1, 0, (struct sockaddr *)&unix_name, sizeof(unix_name)),
		     EAFNOSUPPORT);
	expect_errno(rsendto(party.fd, "x", 1, 0, (struct sockaddr *)&party.addr, 3), EINVAL);
	expect_errno(rconnect(party.fd, NULL, 0), EINVAL);
	expect_errno(rrecv(party.fd, &byte, 1, MSG_DONTWAIT), EAGAIN);
	expect_errno(rrecv(party.fd, &byte, 1, MSG_OOB), EOPNOTSUPP);
	leave(&party);
	leave(&other);
	expect_errno(rsend(party.fd, "x", 1, 0), EBADF);
}
END_TEST

START_TEST(flags_vectors_and_messages)
{
	char left[4], right[4], all[16];
	struct iovec out[2] = { { "one", 3 }, { "two", 3 } }, in[2] = { { left, 4 }, { right, 4 } };
	struct msghdr msg = { .msg_iov = out, .msg_iovlen = 2 };
	struct party a, b, from;

	open_bound(&a);
	open_bound(&b);
	msg.msg_name = &b.addr;
	msg.msg_namelen = b.len;
	ck_assert_int_eq(rsendmsg(a.fd, &msg, 0), 6);
	/* Peeked and cut, with the length that it has. */
	ck_assert_int_eq(rrecv(b.fd, all, 2, MSG_PEEK), 2);
	ck_assert_int_eq(rrecv(b.fd, all, 2, MSG_PEEK | MSG_TRUNC), 6);
	msg = (struct msghdr){ .msg_iov = in,
			       .msg_iovlen = 2,
			       .msg_name = &from.addr,
			       .msg_namelen = sizeof(from.addr) };
	ck_assert_int_eq(rrecvmsg(b.fd, &msg, 0), 6);
	ck_assert_mem_eq(left, "onet", 4);
	ck_assert_mem_eq(right, "wo", 2);
	ck_assert_int_eq(msg.msg_flags, 0);
	from.len = msg.msg_namelen;
	expect_name(&from, &a);
	/* What does not fit is gone. */
	send_to(&a, "first", 5, &b);
	send_to(&a, "second", 6, &b);
	msg.msg_iovlen = 1;
	ck_assert_int_eq(rrecvmsg(b.fd, &msg, 0), 4);
	ck_assert_int_eq(msg.msg_flags, MSG_TRUNC);
	ck_assert_int_eq(rreadv(b.fd, in, 2), 6);
	ck_assert_mem_eq(left, "seco", 4);
	connect_to(&a, &b);
	ck_assert_int_eq(rwritev(a.fd, out, 2), 6);
	ck_assert_int_eq(rread(b.fd, all, sizeof(all)), 6);
	ck_assert_mem_eq(all, "onetwo", 6);
	leave(&a);
	leave(&b);
}
END_TEST

static int number_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	ck_assert_int_eq(rgetsockopt(fd, level, name, &value, &len), 0);
	return value;
}

START_TEST(options)
{
	const struct timeval brief = { .tv_usec = 1000 };
	int size = 30000, entries = 20, on = 1;
	struct party party;
	char byte;

	open_bound(&party);
	ck_assert_int_eq(number_of(party.fd, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
	ck_assert_int_eq(number_of(party.fd, SOL_SOCKET, SO_ERROR), 0);
	ck_assert_int_eq(rsetsockopt(party.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	ck_assert_int_eq(number_of(party.fd, SOL_SOCKET, SO_SNDBUF), 2 * size);
	ck_assert_int_eq(rsetsockopt(party.fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)), 0);
	ck_assert_int_eq(number_of(party.fd, SOL_SOCKET, SO_BROADCAST), 1);
	ck_assert_int_eq(rsetsockopt(party.fd, SOL_RDMA, RDMA_SQSIZE, &entries, sizeof(entries)),
			 0);
	ck_assert_int_eq(number_of(party.fd, SOL_RDMA, RDMA_SQSIZE), entries);
	expect_errno(rsetsockopt(party.fd, 12345, 1, &on, sizeof(on)), ENOPROTOOPT);
	ck_assert_int_eq(rsetsockopt(party.fd, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief)), 0);
	expect_errno(rread(party.fd, &byte, 1), EAGAIN);
	/* The queue pair exists once something was sent. */
	send_to(&party, "x", 1, &party);
	expect_errno(rsetsockopt(party.fd, SOL_RDMA, RDMA_SQSIZE, &entries, sizeof(entries)),
		     EINVAL);
	leave(&party);
}
END_TEST

static void *answer_one(void *arg)
{
	const struct party *party = arg;
	struct party from;
	char byte;

	ck_assert_int_eq(receive_from(party, &byte, 1, &from), 1);
	send_to(party, &byte, 1, &from);
	return NULL;
}

START_TEST(polls)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	pthread_t thread;
	fd_set in;
	struct party a, b;
	char byte;
	int i;

	open_bound(&a);
	open_bound(&b);
	fds[0].fd = a.fd;
	fds[1].fd = b.fd;
	ck_assert_int_eq(rpoll(fds, 2, 0), 0);
	fds[0].events = POLLIN | POLLOUT;
	ck_assert_int_eq(rpoll(fds, 2, -1), 1);
	ck_assert_int_eq(fds[0].revents, POLLOUT);
	fds[0].events = POLLIN;
	ck_assert_int_eq(rfcntl(a.fd, F_SETFL, O_NONBLOCK), 0);
	for (i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, answer_one, &b), 0);
		send_to(&a, "x", 1, &b);
		ck_assert_int_eq(rpoll(fds, 1, -1), 1);
		ck_assert_int_eq(fds[0].revents, POLLIN);
		FD_ZERO(&in);
		FD_SET(a.fd, &in);
		ck_assert_int_eq(rselect(a.fd + 1, &in, NULL, NULL, NULL), 1);
		ck_assert_int_eq(rread(a.fd, &byte, 1), 1);
		expect_errno(rread(a.fd, &byte, 1), EAGAIN);
		pthread_join(thread, NULL);
	}
	leave(&a);
	leave(&b);
}
END_TEST

static void *read_until_closed(void *arg)
{
	const struct party *party = arg;
	char byte;

	expect_errno(rread(party->fd, &byte, 1), EBADF);
	return NULL;
}

START_TEST(a_close_wakes_the_reader)
{
	struct pollfd pollfd = { .events = POLLIN };
	pthread_t thread;
	struct party party;

	open_bound(&party);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_until_closed, &party), 0);
	/* Most often the thread waits by now. */
	pollfd.fd = party.fd;
	ck_assert_int_eq(rpoll(&pollfd, 1, 20), 0);
	leave(&party);
	pthread_join(thread, NULL);
}
END_TEST

/* A server bound to no address, and clients that it learns of one after the other. */
START_TEST(many_clients)
{
	struct sockaddr_storage any = { .ss_family = (sa_family_t)device_family() };
	struct party server, clients[40], from;
	int i, k, got;

	open_unbound(&server);
	learn_name(&server);
	ck_assert_int_eq(rbind(server.fd, (struct sockaddr *)&any, server.len), 0);
	learn_name(&server);
	set_ip(&server.addr);
	for (i = 0; i < 40; i++)
		open_unbound(&clients[i]);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 40; i++) {
			if (i % 2 && !k)
				connect_to(&clients[i], &server);
			send_to(&clients[i], &i, sizeof(i), &server);
			ck_assert_int_eq(receive_from(&server, &got, sizeof(got), &from),
					 sizeof(got));
			ck_assert_int_eq(got, i);
			send_to(&server, &i, sizeof(i), &from);
			ck_assert_int_eq(receive_from(&clients[i], &got, sizeof(got), &from),
					 sizeof(got));
			ck_assert_int_eq(got, i);
			expect_name(&from, &server);
		}
	}
	for (i = 0; i < 40; i++)
		leave(&clients[i]);
	leave(&server);
}
END_TEST

static void exchange(const struct party *a, const struct party *b)
{
	struct party from;
	char byte;

	for (int i = 0; i < 3; i++) {
		send_to(a, "x", 1, b);
		ck_assert_int_eq(receive_from(b, &byte, 1, &from), 1);
		send_to(b, "y", 1, &from);
		ck_assert_int_eq(receive_from(a, &byte, 1, &from), 1);
	}
}

/* A thread opens an eventfd when it waits for the first time. Without this call that may be after
 * the test has counted descriptors. */
static void wait_in_vain(const struct party *party)
{
	struct pollfd pfd = { .fd = party->fd, .events = POLLIN };

	ck_assert_int_eq(rpoll(&pfd, 1, 1), 0);
}

/* One queue pair, with what belongs to it, reaches all peers of an address. */
START_TEST(peers_share_a_queue_pair)
{
	struct party first, server, clients[5];
	int i, before = 0;

	open_bound(&first);
	open_bound(&server);
	wait_in_vain(&server);
	for (i = 0; i < 5; i++) {
		open_bound(&clients[i]);
		exchange(&clients[i], &first); /* now the client has its own */
	}
	for (i = 0; i < 5; i++) {
		exchange(&server, &clients[i]);
		if (i == 0)
			before = count_descriptors();
	}
	ck_assert_int_eq(count_descriptors(), before);
	for (i = 0; i < 5; i++)
		leave(&clients[i]);
	leave(&server);
	leave(&first);
}
END_TEST

/* A server with the same port and another queue pair: the client learns of it when it learns of the
 * server. */
START_TEST(a_server_that_comes_back)
{
	struct party server, client, from, again;
	char byte;
	int i;

	open_bound(&server);
	open_bound(&client);
	for (i = 0; i < ROUNDS; i++) {
		send_to(&client, "x", 1, &server);
		ck_assert_int_eq(receive_from(&server, &byte, 1, &from), 1);
	}
	leave(&server);
	open_unbound(&again);
	ck_assert_int_eq(rbind(again.fd, (struct sockaddr *)&server.addr, server.len), 0);
	learn_name(&again);
	send_to(&again, "y", 1, &client);
	ck_assert_int_eq(receive_from(&client, &byte, 1, &from), 1);
	expect_name(&from, &server);
	send_to(&client, "z", 1, &again);
	ck_assert_int_eq(receive_from(&again, &byte, 1, &from), 1);
	ck_assert_int_eq(byte, 'z');
	leave(&again);
	leave(&client);
}
END_TEST

/* A socket of IPv6 and one of IPv4. */
START_TEST(both_families)
{
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6 };
	struct party v4, v6, from;
	char byte;
	int i;

	if (device_family() != AF_INET)
		return;
	open_bound(&v4);
	v6.fd = rsocket(AF_INET6, SOCK_DGRAM, 0);
	ck_assert_int_ge(v6.fd, 0);
	mapped.sin6_port = ((struct sockaddr_in *)&v4.addr)->sin_port;
	mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
	memcpy(mapped.sin6_addr.s6_addr + 12, &((struct sockaddr_in *)&v4.addr)->sin_addr, 4);
	for (i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(
			rsendto(v6.fd, "x", 1, 0, (struct sockaddr *)&mapped, sizeof(mapped)), 1);
		ck_assert_int_eq(receive_from(&v4, &byte, 1, &from), 1);
		ck_assert_uint_eq(from.addr.ss_family, AF_INET);
		send_to(&v4, "y", 1, &from);
		ck_assert_int_eq(receive_from(&v6, &byte, 1, &from), 1);
		ck_assert_uint_eq(from.len, sizeof(mapped));
		ck_assert_mem_eq(&from.addr, &mapped, sizeof(mapped));
	}
	expect_errno(rsendto(v4.fd, "x", 1, 0,
			     (struct sockaddr *)&(struct sockaddr_in6){
				     .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback },
			     sizeof(mapped)),
		     EAFNOSUPPORT);
	leave(&v4);
	leave(&v6);
}
END_TEST

#define FLOOD 20000

static void *send_flood(void *arg)
{
	const struct party *party = arg;
	uint32_t i;

	for (i = 0; i < FLOOD; i++)
		ck_assert_int_eq(rsend(party->fd, &i, sizeof(i), 0), sizeof(i));
	return NULL;
}

/* More than the reader takes: the sender does not wait for it, and what comes is in order. */
START_TEST(a_flood)
{
	struct party server, client, from;
	uint32_t number, next = 0, got = 0;
	pthread_t thread;

	open_bound(&server);
	open_unbound(&client);
	connect_to(&client, &server);
	send_to(&client, "x", 1, &server);
	ck_assert_int_eq(receive_from(&server, &number, sizeof(number), &from), 1);
	send_to(&server, "y", 1, &from);
	ck_assert_int_eq(rread(client.fd, &number, sizeof(number)), 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, send_flood, &client), 0);
	while (got < 50) {
		ck_assert_int_eq(rread(server.fd, &number, sizeof(number)), sizeof(number));
		ck_assert_uint_ge(number, next);
		ck_assert_uint_lt(number, FLOOD);
		next = number + 1;
		got++;
	}
	pthread_join(thread, NULL);
	leave(&client);
	leave(&server);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, both_ways_by_address);
	tcase_add_test(tests, messages_are_whole);
	tcase_add_test(tests, connected);
	tcase_add_test(tests, nobody_has_the_port);
	tcase_add_test(tests, refuses);
	tcase_add_test(tests, flags_vectors_and_messages);
	tcase_add_test(tests, options);
	tcase_add_test(tests, polls);
	tcase_add_test(tests, a_close_wakes_the_reader);
	tcase_add_test(tests, many_clients);
	tcase_add_test(tests, peers_share_a_queue_pair);
	tcase_add_test(tests, a_server_that_comes_back);
	tcase_add_test(tests, both_families);
	tcase_add_test(tests, a_flood);
}

int main(void)
{
	return fixture_main("rsocket_datagram", add);
}
