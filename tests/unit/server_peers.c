// SPDX-License-Identifier: MIT
/* Servers of one user tell each other their ports before their first program runs: else its first
 * packets would be dropped as foreign. The peer is a child that plays another server. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include "server_fixture.h"

#define PEER	 "rxe_dm/4791/127.0.0.99"
#define MAGIC	 "rxe_dmL1"
#define SLOW_MS	 1000
#define SENT_LEN (8 + sizeof(struct udp_local))

static _Atomic bool *has_answered;

/* A listening socket on the peer's address, with a connection, whose end has the same name. */
static int hold_address(int ret_connection[2])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(PEER));
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(addr.sun_path + 1, PEER, sizeof(PEER) - 1);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ret_connection[0] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(ret_connection[0], (const struct sockaddr *)&addr, len), 0);
	ret_connection[1] = accept(fd, NULL, NULL);
	ck_assert_int_ge(ret_connection[1], 0);
	return fd;
}

/* Answers a greeting after a while; the server greets once. */
static void slow_peer(int channel)
{
	struct udp_local self = { .port = { 50001, 50002, 50003, 50004 } };
	uint8_t answer[SENT_LEN] = MAGIC;
	int connection[2], server;
	const int fd = hold_address(connection);

	memcpy(self.gid.raw + 10, (const uint8_t[]){ 0xff, 0xff, 127, 0, 0, 99 }, 6);
	memcpy(answer + 8, &self, sizeof(self));
	channel_say(channel);
	server = accept(fd, NULL, NULL);
	ck_assert_int_ge(server, 0);
	poll(NULL, 0, SLOW_MS);
	atomic_store(has_answered, true);
	ck_assert_int_eq(send(server, answer, sizeof(answer), 0), sizeof(answer));
	channel_wait(channel);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(accept(fd, NULL, NULL), -1);
	ck_assert_int_eq(errno, EAGAIN);
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

int main(void)
{
	TCase *tcase = tcase_create("peers");

	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_add_test(tcase, a_slow_peer_is_waited_for);
	tcase_add_test(tcase, a_stopped_peer_is_not_waited_for);
	return fixture_main("server_peers", (TCase *[]){ tcase, NULL });
}
