// SPDX-License-Identifier: MIT
/* Servers of one user report their ports to each other before their first program runs: else its
 * first packets would be dropped as foreign. The peer is a child that plays another server. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/link/udp/udp.h"
#include "net/wire/packet.h"
#include "server_fixture.h"

#define NAME	   "rxe_dm/4791/"
#define MAGIC	   "rxe_dmL1"
#define OTHER_USER 65534
#define SLOW_MS	   1000
#define SENT_LEN   (8 + sizeof(struct udp_local))

/* A server that a child plays, at 127.0.0.HOST, and the first port that it sends from. */
struct peer {
	uint8_t host;
	uint16_t port;
};

static const struct peer first = { 99, 50001 }, second = { 98, 50011 };
static _Atomic bool *has_answered;

/* A listening socket on the peer's address, with a connection, whose end has the same name. */
static int hold_address(const struct peer *peer, int ret_connection[2])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1;

	len += (socklen_t)snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, NAME "127.0.0.%u",
				   peer->host);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ret_connection[0] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(ret_connection[0], (const struct sockaddr *)&addr, len), 0);
	ret_connection[1] = accept(fd, NULL, NULL);
	ck_assert_int_ge(ret_connection[1], 0);
	return fd;
}

static void answer(int fd, const struct peer *peer)
{
	struct udp_local self = { .port = { peer->port, 50002, 50003, 50004 } };
	uint8_t bytes[SENT_LEN] = MAGIC;

	memcpy(self.gid.raw + 10, (const uint8_t[]){ 0xff, 0xff, 127, 0, 0, peer->host }, 6);
	memcpy(bytes + 8, &self, sizeof(self));
	ck_assert_int_eq(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
}

/* Answers a greeting after a while; the server greets once. */
static void slow_peer(int channel)
{
	int connection[2], server;
	const int fd = hold_address(&first, connection);

	channel_say(channel);
	server = accept(fd, NULL, NULL);
	ck_assert_int_ge(server, 0);
	poll(NULL, 0, SLOW_MS);
	atomic_store(has_answered, true);
	answer(server, &first);
	channel_wait(channel);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(accept(fd, NULL, NULL), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

/* Plays two servers, the first one of another user. */
static void two_users(int channel)
{
	int connection[2][2], fd[2], server;

	ck_assert_int_eq(seteuid(OTHER_USER), 0);
	fd[0] = hold_address(&first, connection[0]);
	ck_assert_int_eq(seteuid(0), 0);
	fd[1] = hold_address(&second, connection[1]);
	channel_say(channel);
	for (int i = 0; i < 2; i++) {
		server = accept(fd[i], NULL, NULL);
		ck_assert_int_ge(server, 0);
		answer(server, i ? &second : &first);
	}
	channel_wait(channel);
}

/* Plays two servers, of which the first one exits when the test says so. */
static void two_peers(int channel)
{
	int connection[2][2], server[2];
	const int fd[2] = { hold_address(&first, connection[0]),
			    hold_address(&second, connection[1]) };

	channel_say(channel);
	for (int i = 0; i < 2; i++) {
		server[i] = accept(fd[i], NULL, NULL);
		ck_assert_int_ge(server[i], 0);
		answer(server[i], i ? &second : &first);
	}
	channel_wait(channel);
	close(server[0]);
	close(fd[0]);
	channel_wait(channel);
}

static pid_t start_peer(int *ret_channel)
{
	pid_t pid;

	has_answered = mmap(NULL, sizeof(*has_answered), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(has_answered, MAP_FAILED);
	pid = child_start(slow_peer, ret_channel);
	channel_wait(*ret_channel);
	return pid;
}

START_TEST(a_slow_peer_is_waited_for)
{
	int channel;
	const pid_t peer = start_peer(&channel);

	ck_assert_int_eq(fixture_command("start", NULL), 0);
	ck_assert(atomic_load(has_answered));
	channel_say(channel);
	ck_assert_int_eq(child_wait(peer), 0);
}
END_TEST

START_TEST(a_stopped_peer_is_not_waited_for)
{
	int channel;
	const pid_t peer = start_peer(&channel);

	kill(peer, SIGSTOP);
	ck_assert_int_eq(fixture_command("start", NULL), 0);
	ck_assert(!atomic_load(has_answered));
	kill(peer, SIGCONT);
	child_kill(peer);
}
END_TEST

/* A socket that sends as the peer's device does. */
static int open_sender(const struct peer *peer)
{
	const struct sockaddr_in from = { .sin_family = AF_INET,
					  .sin_port = htons(peer->port),
					  .sin_addr = { htonl(INADDR_LOOPBACK - 1 + peer->host) } };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	return fd;
}

/* A packet for the slot's socket, which tells the peers apart by the first byte. */
static void send_as(int fd, const struct peer *peer, const struct sockaddr_in *to, uint32_t slot)
{
	const uint8_t packet[20] = { [0] = peer->host, [5] = (uint8_t)slot };

	ck_assert_int_eq(
		sendto(fd, packet, sizeof(packet), 0, (const struct sockaddr *)to, sizeof(*to)),
		sizeof(packet));
}

/* Sends as the first peer and then as the second one. Whether the packet of the first one came:
 * that of the second one follows it on one processor, so nothing is left to wait for. */
static bool first_peer_is_trusted(const int fd[2], const struct program *p,
				  const struct sockaddr_in *to)
{
	struct pollfd ready = { .fd = p->at.rx_fd, .events = POLLIN };
	bool is_trusted = false;
	uint8_t got[64] = { 0 };

	send_as(fd[0], &first, to, p->at.slot);
	send_as(fd[1], &second, to, p->at.slot);
	while (got[0] != second.host) {
		ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
		ck_assert_int_gt(recv(p->at.rx_fd, got, sizeof(got), 0), 0);
		is_trusted |= got[0] == first.host;
	}
	return is_trusted;
}

static void stay_on_this_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Opens a program, and the sockets that send to its address from the ports of both peers. */
static void open_senders(int fd[2], struct program *p, struct sockaddr_in *to)
{
	char address[CTL_GID_STR_MAX];

	*to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	program_open(p);
	ck_assert_int_eq(inet_pton(AF_INET, fixture_address(p->client, address), &to->sin_addr), 1);
	fd[0] = open_sender(&first);
	fd[1] = open_sender(&second);
	stay_on_this_processor();
}

START_TEST(the_ports_of_a_server_that_has_exited_are_foreign)
{
	struct sockaddr_in to;
	int channel, fd[2];
	const pid_t peers = child_start(two_peers, &channel);
	struct program p;

	channel_wait(channel);
	ck_assert_int_eq(fixture_command("start", NULL), 0);
	open_senders(fd, &p, &to);
	ck_assert(first_peer_is_trusted(fd, &p, &to));
	channel_say(channel);
	/* Wait until the server has read the end. The time limit of the test ends a wait in
	 * vain. */
	while (first_peer_is_trusted(fd, &p, &to))
		poll(NULL, 0, 1);
	program_close(&p);
	child_kill(peers);
}
END_TEST

/* --allow-users names users whose packets pass like those of the server's own user. */
START_TEST(the_ports_of_an_allowed_user_are_trusted)
{
	struct sockaddr_in to;
	struct program p;
	int channel, fd[2];
	pid_t peers;

	if (geteuid() != 0)
		return;
	peers = child_start(two_users, &channel);
	channel_wait(channel);
	ck_assert_int_eq(fixture_command("start", "--allow-users", "1,65534", NULL), 0);
	open_senders(fd, &p, &to);
	ck_assert(first_peer_is_trusted(fd, &p, &to));
	program_close(&p);
	child_kill(peers);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("peers");

	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_add_test(tcase, a_slow_peer_is_waited_for);
	tcase_add_test(tcase, a_stopped_peer_is_not_waited_for);
	tcase_add_test(tcase, the_ports_of_a_server_that_has_exited_are_foreign);
	tcase_add_test(tcase, the_ports_of_an_allowed_user_are_trusted);
	return fixture_main("server_peers", (TCase *[]){ tcase, NULL });
}
