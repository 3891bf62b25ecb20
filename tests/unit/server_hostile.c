// SPDX-License-Identifier: MIT
/* A server among hostile processes: other versions, other listeners, garbage, clients that do not
 * read. It refuses them and continues to serve the others. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "lib/control/socket.h"
#include "net/wire/packet.h"
#include "server_fixture.h"

#define OTHER_USER 65534

static struct program p;

static int raw_connect(void)
{
	struct ctl_name name;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ctl_name_server(&name, geteuid(), fixture_instance());
	ck_assert_int_eq(connect(sock, (const struct sockaddr *)&name.addr, name.len), 0);
	return sock;
}

static struct ctl_hello good_hello(void)
{
	return (struct ctl_hello){ .magic = CTL_MAGIC,
				   .protocol = CTL_PROTOCOL,
				   .layout = CTL_LAYOUT,
				   .role = CTL_ROLE_PROGRAM,
				   .version = "test" };
}

static int raw_client(void)
{
	struct ctl_hello hello = good_hello(), theirs;
	int sock = raw_connect();

	ck_assert_int_eq(ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0), 0);
	ck_assert_int_eq(recv(sock, &theirs, sizeof(theirs), 0), sizeof(theirs));
	ck_assert_int_eq(theirs.status, 0);
	return sock;
}

/* The server ends the connection: nothing more arrives. */
static void expect_closed(int sock)
{
	struct pollfd ready = { .fd = sock, .events = POLLIN };
	char byte[2048];

	for (;;) {
		ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
		if (recv(sock, byte, sizeof(byte), 0) <= 0)
			break;
	}
	close(sock);
}

static void still_served(void)
{
	uint32_t pd;

	ck_assert_int_eq(ctl_alloc_pd(&p.context, &pd), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, pd), 0);
}

static void setup(void)
{
	fixture_setup();
	program_open(&p);
}

static void teardown(void)
{
	still_served();
	program_close(&p);
	fixture_teardown();
}

START_TEST(an_older_library)
{
	struct ctl_hello hello = good_hello(), theirs;
	int sock = raw_connect();

	hello.protocol = CTL_PROTOCOL + 1;
	ck_assert_int_eq(ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0), 0);
	ck_assert_int_eq(recv(sock, &theirs, sizeof(theirs), 0), sizeof(theirs));
	ck_assert_int_eq(theirs.status, -EPROTO);
	ck_assert_uint_eq(theirs.protocol, CTL_PROTOCOL);
	ck_assert_str_eq(theirs.version, RXE_DM_VERSION);
	expect_closed(sock);
}
END_TEST

START_TEST(another_build)
{
	struct ctl_hello hello = good_hello(), theirs;
	int sock = raw_connect();

	hello.layout++;
	ck_assert_int_eq(ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0), 0);
	ck_assert_int_eq(recv(sock, &theirs, sizeof(theirs), 0), sizeof(theirs));
	ck_assert_int_eq(theirs.status, -EPROTO);
	expect_closed(sock);
}
END_TEST

START_TEST(bad_hellos)
{
	struct ctl_hello hello = good_hello();
	int sock = raw_connect();

	hello.magic[0] = 'X';
	ck_assert_int_eq(ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0), 0);
	expect_closed(sock);

	sock = raw_connect();
	hello = good_hello();
	hello.role = 77;
	ck_assert_int_eq(ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0), 0);
	expect_closed(sock);

	sock = raw_connect();
	ck_assert_int_eq(ctl_send(sock, &hello, 10, NULL, 0, 0), 0);
	expect_closed(sock);

	sock = raw_connect();
	ck_assert_int_eq(ctl_send(sock, "", 0, NULL, 0, 0), 0);
	expect_closed(sock);
}
END_TEST

START_TEST(requests_that_are_none)
{
	struct ctl_request req = { .op = CTL_STATUS };
	uint8_t large[60000] = { 0 };
	int sock = raw_client();

	ck_assert_int_eq(ctl_send(sock, &req, 20, NULL, 0, 0), 0);
	expect_closed(sock);

	sock = raw_client();
	ck_assert_int_eq(ctl_send(sock, large, sizeof(large), NULL, 0, 0), 0);
	expect_closed(sock);

	for (uint32_t op = 0; op < 3; op++) {
		static const uint32_t ops[] = { 0, CTL_OP_END, UINT32_MAX };

		sock = raw_client();
		req.op = ops[op];
		ck_assert_int_eq(ctl_send(sock, &req, sizeof(req), NULL, 0, 0), 0);
		expect_closed(sock);
	}
}
END_TEST

static uint64_t state = 1;

static uint32_t roll(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % below);
}

static int open_fds(pid_t pid)
{
	char path[64], to[2];
	int n = 0;

	for (int fd = 0; fd < 2000; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		n += readlink(path, to, sizeof(to)) > 0;
	}
	return n;
}

static bool answered(int sock, const struct ctl_request *req, int fd)
{
	static struct ctl_reply reply;
	int fds[CTL_MAX_FDS];
	size_t num = 0;
	ssize_t n;

	if (ctl_send(sock, req, sizeof(*req), &fd, fd >= 0 ? 1 : 0, 0))
		return false;
	n = ctl_recv(sock, &reply, sizeof(reply), fds, CTL_MAX_FDS, &num, 0);
	ctl_close_fds(fds, num);
	return n == sizeof(reply);
}

/* Well-formed messages with any content, with and without descriptors: each gets an answer. */
START_TEST(random_requests)
{
	const struct ctl_request files = { .op = CTL_SYSFS }; /* of which there is one tree */
	int sock = raw_client(), before;

	ck_assert(answered(sock, &files, -1));
	before = open_fds(p.client->server_pid);
	for (int i = 0; i < 20000; i++) {
		struct ctl_request req;

		for (size_t k = 0; k < sizeof(req) / 4; k++) {
			uint32_t value = roll(4) ? roll(8) : roll(UINT32_MAX);

			memcpy((uint8_t *)&req + k * 4, &value, 4);
		}
		req.op = 1 + roll(CTL_OP_END - 1);
		req.device = roll(8) ? 0 : req.device;
		req.context = roll(8) ? 3 : req.context;
		ck_assert(answered(sock, &req, roll(4) ? -1 : sock));
	}
	close(sock);
	fixture_await_programs(1);
	ck_assert_int_le(open_fds(p.client->server_pid), before);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 1);
}
END_TEST

START_TEST(random_bytes)
{
	for (int i = 0; i < 300; i++) {
		uint8_t bytes[sizeof(struct ctl_request) + 100];
		int sock = roll(2) ? raw_client() : raw_connect();
		size_t len = roll(2) ? sizeof(struct ctl_request) : 1 + roll(sizeof(bytes) - 1);

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)roll(256);
		ck_assert_int_eq(ctl_send(sock, bytes, len, &sock, roll(2), 0), 0);
		close(sock);
	}
	fixture_await_programs(1);
}
END_TEST

START_TEST(one_who_does_not_read)
{
	struct ctl_request req = { .op = CTL_STATUS };
	int sock = raw_client();

	for (int i = 0; i < 5000; i++) {
		if (ctl_send(sock, &req, sizeof(req), NULL, 0, MSG_DONTWAIT))
			break;
		if (i % 100 == 0)
			still_served();
	}
	still_served();
	close(sock);
}
END_TEST

/* Opens a context, and returns a request for 64 MiB in it. */
static struct ctl_request large_request(int sock, int *ret_fd)
{
	struct ctl_request req = { .op = CTL_OPEN };
	struct ctl_reply reply;
	size_t n;

	ck_assert_int_eq(ctl_send(sock, &req, sizeof(req), NULL, 0, 0), 0);
	ck_assert_int_eq(ctl_recv(sock, &reply, sizeof(reply), ret_fd, 1, &n, 0), sizeof(reply));
	return (struct ctl_request){ .op = CTL_ALLOC_DM,
				     .context = reply.opened.handle,
				     .dm.len = 64 << 20 };
}

START_TEST(a_second_request_before_the_answer)
{
	int fd, sock = raw_client();
	const struct ctl_request req = large_request(sock, &fd);

	ck_assert_int_eq(ctl_send(sock, &req, sizeof(req), NULL, 0, 0), 0);
	ck_assert_int_eq(ctl_send(sock, &req, sizeof(req), NULL, 0, 0), 0);
	expect_closed(sock);
	close(fd);
	fixture_await_objects(CTL_KIND_DM, 0);
}
END_TEST

/* A large grant is zeroed in steps: others do not wait for it. */
START_TEST(a_large_grant_holds_up_nobody)
{
	int fd, sock = raw_client();
	const struct ctl_request req = large_request(sock, &fd);
	struct ctl_reply reply;

	ck_assert_int_eq(ctl_send(sock, &req, sizeof(req), NULL, 0, 0), 0);
	still_served();
	ck_assert_int_eq(recv(sock, &reply, sizeof(reply), MSG_DONTWAIT), -1); /* not done yet */
	ck_assert_int_eq(recv(sock, &reply, sizeof(reply), 0), sizeof(reply));
	ck_assert_int_eq(reply.status, 0);
	close(sock);
	close(fd);
}
END_TEST

START_TEST(many_idle_connections)
{
	int sock[300];

	for (int i = 0; i < 300; i++)
		sock[i] = i % 2 ? raw_client() : raw_connect();
	still_served();
	for (int i = 0; i < 300; i++)
		close(sock[i]);
	fixture_await_programs(1);
}
END_TEST

START_TEST(garbage_through_a_cmd_fd)
{
	struct ctl_introduce intro = { .magic = CTL_MAGIC, .protocol = CTL_PROTOCOL + 1 };
	struct ctl_context again;
	int fd = p.context.cmd_fd, pair[2];
	char byte;

	ck_assert_int_eq(ctl_send(fd, "garbage", 7, NULL, 0, 0), 0);
	ck_assert_int_eq(ctl_send(fd, "", 0, NULL, 0, 0), 0);
	ck_assert_int_eq(ctl_send(fd, &intro, sizeof(intro), NULL, 0, 0), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(ctl_send(fd, &intro, sizeof(intro), &pair[1], 1, 0), 0);
	close(pair[1]);
	ck_assert_int_eq(recv(pair[0], &byte, 1, 0), 0); /* another version gets no answer */
	close(pair[0]);
	intro.protocol = CTL_PROTOCOL;
	pair[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(ctl_send(fd, &intro, sizeof(intro), &pair[0], 1, 0), 0);
	close(pair[0]);
	ck_assert_int_eq(ctl_import(p.client, fd, &again), 0);
	ck_assert_int_eq(ctl_close(&again), 0);
}
END_TEST

START_TEST(a_wrong_token)
{
	struct ctl_call call = {
		.req = { .op = CTL_ADOPT, .context = p.context.handle, .token = 1 }, .in_fd = -1
	};

	ck_assert_int_eq(ctl_do(p.client, &call, 1), -EACCES);
	call.req.context = p.pd;
	ck_assert_int_eq(ctl_do(p.client, &call, 1), -ENOENT);
}
END_TEST

/* Datagrams to the address: to slot 0 (the server's), runts, and to a slot without a process. */
START_TEST(stray_packets)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ctl_device device;
	uint8_t packet[64] = { 0 };
	size_t n;

	ck_assert_int_eq(ctl_list_devices(p.client, &device, 1, &n), 0);
	memcpy(&to.sin_addr, device.gids[0].raw + 12, 4);
	for (size_t i = 0; i < 600; i++) {
		packet[5] = i % 3 ? 0 : 200;
		ck_assert_int_ge(
			sendto(sock, packet, i % 64, 0, (const struct sockaddr *)&to, sizeof(to)),
			0);
	}
	still_served();
	close(sock);
}
END_TEST

/* Another process listens under the server's name. */
static int squat(bool listening)
{
	struct ctl_name name;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ctl_name_server(&name, 0, fixture_instance());
	ck_assert_int_eq(bind(sock, (const struct sockaddr *)&name.addr, name.len), 0);
	if (listening)
		ck_assert_int_eq(listen(sock, 5), 0);
	return sock;
}

static void squat_as_nobody(int channel)
{
	ck_assert_int_eq(setuid(OTHER_USER), 0);
	squat(true);
	channel_say(channel);
	channel_wait(channel);
}

START_TEST(the_name_is_squatted)
{
	struct ctl_client *client;
	int channel;
	pid_t pid;

	if (geteuid() != 0 || setgid(0) != 0)
		return; /* only root can act as two users */
	pid = child_start(squat_as_nobody, &channel);
	channel_wait(channel);
	ck_assert_int_eq(ctl_connect(&client), -EPERM);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "RXE_DM_INSTANCE"));
	ck_assert_int_ne(fixture_command("start", NULL), 0);
	child_kill(pid);
}
END_TEST

START_TEST(the_name_is_taken_by_a_dead_socket)
{
	struct ctl_client *client;
	int sock = geteuid() == 0 ? squat(false) : -1;

	if (sock < 0)
		return;
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "taken by a process that does not answer"));
	close(sock);
}
END_TEST

/* A server of another version, of the same user. */
static void answer_otherwise(int channel)
{
	struct ctl_hello hello;
	int sock = squat(true), conn;

	signal(SIGTERM, SIG_DFL);
	channel_say(channel);
	conn = accept(sock, NULL, NULL);
	ck_assert_int_eq(recv(conn, &hello, sizeof(hello), 0), sizeof(hello));
	hello.protocol = 99;
	memcpy(hello.version, "9.9.9", 6);
	ck_assert_int_eq(ctl_send(conn, &hello, sizeof(hello), NULL, 0, 0), 0);
	channel_wait(channel);
}

START_TEST(a_newer_server)
{
	struct ctl_client *client;
	int channel;
	pid_t pid;
	const char *line;

	if (geteuid() != 0)
		return;
	pid = child_start(answer_otherwise, &channel);
	channel_wait(channel);
	ck_assert_int_eq(ctl_connect(&client), -EPROTO);
	line = fixture_log();
	ck_assert_msg(strstr(line, "version 9.9.9, protocol 99") && strstr(line, RXE_DM_VERSION) &&
			      strstr(line, "rxe_dm stop"),
		      "%s", line);
	ck_assert_int_eq(fixture_command("stop", NULL), 0); /* independent of the version */
	child_wait(pid);
}
END_TEST

/* A program of another user connects to the server. */
static void come_as_nobody(int channel)
{
	struct ctl_name name;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ctl_hello hello = good_hello();

	ctl_name_server(&name, 0, fixture_instance());
	ck_assert_int_eq(setuid(OTHER_USER), 0);
	ck_assert_int_eq(connect(sock, (const struct sockaddr *)&name.addr, name.len), 0);
	ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0);
	ck_assert_int_le(recv(sock, &hello, sizeof(hello), 0), 0);
	channel_say(channel);
}

START_TEST(another_user)
{
	int channel;
	pid_t pid;

	if (geteuid() != 0 || setgid(0) != 0)
		return;
	pid = child_start(come_as_nobody, &channel);
	ck_assert_int_eq(child_wait(pid), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("hostile");
	TCase *names = tcase_create("names");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_older_library);
	tcase_add_test(tcase, another_build);
	tcase_add_test(tcase, bad_hellos);
	tcase_add_test(tcase, requests_that_are_none);
	tcase_add_test(tcase, random_requests);
	tcase_add_test(tcase, random_bytes);
	tcase_add_test(tcase, one_who_does_not_read);
	tcase_add_test(tcase, a_second_request_before_the_answer);
	tcase_add_test(tcase, a_large_grant_holds_up_nobody);
	tcase_add_test(tcase, many_idle_connections);
	tcase_add_test(tcase, garbage_through_a_cmd_fd);
	tcase_add_test(tcase, a_wrong_token);
	tcase_add_test(tcase, stray_packets);
	tcase_add_test(tcase, another_user);
	tcase_add_checked_fixture(names, fixture_setup, fixture_teardown);
	tcase_add_test(names, the_name_is_squatted);
	tcase_add_test(names, the_name_is_taken_by_a_dead_socket);
	tcase_add_test(names, a_newer_server);
	return fixture_main("server_hostile", (TCase *[]){ tcase, names, NULL });
}
