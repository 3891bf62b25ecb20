// SPDX-License-Identifier: MIT
/* The end of a server: in order by a signal, and by a kill. After a kill the next server has its
 * address and settings, also while programs of the killed one still have its port. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/settings.h"
#include "server_fixture.h"

static struct ctl_client *client;

/* Kills the server and waits for its end: its name is free then, the sockets of its programs are
 * not. */
static void kill_server(pid_t server)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, server, 0), .events = POLLIN };

	ck_assert_int_ge(ended.fd, 0);
	ck_assert_int_eq(kill(server, SIGKILL), 0);
	ck_assert_int_eq(poll(&ended, 1, 10000), 1);
	close(ended.fd);
}

START_TEST(killed_it_keeps_what_it_was)
{
	char text[CTL_GID_STR_MAX];
	struct ctl_device device;
	size_t n;

	ck_assert_int_eq(fixture_command("start", "--address", "127.5.6.7", "--arena", "1M",
					 "--arena-pages", "small", NULL),
			 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ctl_connect(&client), 0);
		ck_assert_str_eq(fixture_address(client, text), "127.5.6.7");
		ck_assert_int_eq(ctl_list_devices(client, &device, 1, &n), 0);
		ck_assert_uint_eq(device.arena_bytes, 1 << 20);
		ck_assert_uint_eq(device.arena_pages, CTL_PAGES_SMALL);
		kill_server(client->server_pid);
		ctl_disconnect(client);
	}
	/* The environment takes precedence, and an orderly end removes the settings. */
	setenv("RXE_DM_ADDRESS", "127.5.6.8", 1);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_eq(fixture_address(client, text), "127.5.6.8");
	ctl_disconnect(client);
	ck_assert_int_eq(fixture_command("stop", NULL), 0);
	unsetenv("RXE_DM_ADDRESS");
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_ne(fixture_address(client, text), "127.5.6.8");
	ctl_disconnect(client);
}
END_TEST

START_TEST(killed_and_its_address_taken)
{
	char text[CTL_GID_STR_MAX];
	struct ctl_client *other;
	pid_t server;

	ck_assert_int_eq(fixture_command("start", "--address", "127.5.6.9", NULL), 0);
	ck_assert_int_eq(ctl_connect(&client), 0);
	server = client->server_pid;
	ctl_disconnect(client);
	kill_server(server);
	setenv("RXE_DM_ADDRESS", "127.5.6.9", 1);
	ck_assert_int_eq(ctl_connect_as(&other, "test-other", CTL_ROLE_PROGRAM, true), 0);
	unsetenv("RXE_DM_ADDRESS");
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_ne(fixture_address(client, text), "127.5.6.9");
	ctl_disconnect(client);
	ctl_disconnect(other);
	ck_assert_int_eq(fixture_command("stop", "--instance", "test-other", NULL), 0);
}
END_TEST

/* A program that closes its socket some time later. */
static void close_later(int channel)
{
	struct pollfd nothing = { .fd = -1 };
	struct ctl_attachment at;
	struct ctl_client *mine;
	char byte;

	ck_assert_int_eq(ctl_connect(&mine), 0);
	ck_assert_int_eq(ctl_attach(mine, 0, &at), 0);
	channel_say(channel);
	ck_assert_int_eq(recv(at.event_fd, &byte, 1, 0), 0);
	poll(&nothing, 0, 300);
	close(at.rx_fd);
	channel_wait(channel);
}

START_TEST(killed_amid_its_programs)
{
	char before[CTL_GID_STR_MAX], after[CTL_GID_STR_MAX];
	int channel;
	pid_t pid = child_start(close_later, &channel);

	channel_wait(channel);
	ck_assert_int_eq(ctl_connect(&client), 0);
	fixture_address(client, before);
	kill_server(client->server_pid);
	ctl_disconnect(client);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_eq(fixture_address(client, after), before);
	ctl_disconnect(client);
	channel_say(channel);
	ck_assert_int_eq(child_wait(pid), 0);
}
END_TEST

/* In the foreground the server prints one line for each device. It ends in order, with an exit
 * status and not by a signal, while a program still has a slot. */
START_TEST(stop_ends_in_order)
{
	char said[300] = "", more;
	int status, ready[2];
	struct program p;
	pid_t server;

	ck_assert_int_eq(pipe(ready), 0);
	server = fork();
	if (server == 0) {
		dup2(ready[1], STDOUT_FILENO);
		execl(getenv("RXE_DM_SERVER"), "rxe_dm", "start", "--foreground", NULL);
		_exit(127);
	}
	close(ready[1]);
	ck_assert_int_gt(read(ready[0], said, sizeof(said) - 1), 0); /* the server listens */
	ck_assert_msg(strncmp(said, "rxe_dm0 at 127.", 15) == 0, "%s", said);
	ck_assert_msg(strchr(said, '\n') == said + strlen(said) - 1, "%s", said);
	program_open(&p);
	ck_assert_int_eq(p.client->server_pid, server);
	ck_assert_int_eq(kill(server, SIGTERM), 0);
	ck_assert_int_eq(waitpid(server, &status, 0), server);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_int_eq(read(ready[0], &more, 1), 0);
	close(ready[0]);
	ctl_disconnect(p.client);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("killed");

	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_add_test(tcase, killed_it_keeps_what_it_was);
	tcase_add_test(tcase, killed_and_its_address_taken);
	tcase_add_test(tcase, killed_amid_its_programs);
	tcase_add_test(tcase, stop_ends_in_order);
	return fixture_main("server_killed", (TCase *[]){ tcase, NULL });
}
