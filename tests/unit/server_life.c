// SPDX-License-Identifier: MIT
/* The life of a server: started by a program without side effects on it, unique under its name and
 * on its address, ended by a command or when it is idle. */
#include <check.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/settings.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "net/wire/packet.h"
#include "server_fixture.h"

static struct ctl_client *client;
static char output[65536];

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

static volatile sig_atomic_t children_seen;

static void count_child(int sig)
{
	(void)sig;
	children_seen = children_seen + 1;
}

START_TEST(born_unnoticed)
{
	/* libcheck's own fork is over: only children from here on count. */
	signal(SIGCHLD, count_child);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(children_seen, 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_int_eq(getpgid(client->server_pid), client->server_pid);
	ctl_disconnect(client);
	signal(SIGCHLD, SIG_DFL);
}
END_TEST

/* A session of its own would be a scheduling group of its own, which polling programs of another
 * group starve. */
START_TEST(of_its_starters_session)
{
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(getsid(client->server_pid), getsid(0));
	ctl_disconnect(client);
	ck_assert_int_eq(fixture_command("stop", NULL), 0);
	ck_assert_int_eq(fixture_command("start", NULL), 0);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(getsid(client->server_pid), getsid(0));
	ctl_disconnect(client);
}
END_TEST

/* Reads what /proc says of one of the server's descriptors. */
static const char *server_fd(int fd, char ret[static PATH_MAX])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)client->server_pid, fd);
	n = readlink(path, ret, PATH_MAX - 1);
	ret[n < 0 ? 0 : n] = '\0';
	return ret;
}

START_TEST(inherits_nothing)
{
	char text[PATH_MAX], path[64];
	int pipe_fds[2], high;
	sigset_t set;
	ssize_t n;

	ck_assert_int_eq(pipe(pipe_fds), 0); /* no CLOEXEC */
	high = dup2(pipe_fds[1], 777);
	setenv("LD_PRELOAD", "", 1);
	signal(SIGTERM, SIG_IGN);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ck_assert_int_eq(ctl_connect(&client), 0);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);

	for (int fd = 0; fd < 3; fd++)
		ck_assert_str_eq(server_fd(fd, text), "/dev/null");
	ck_assert_str_eq(server_fd(high, text), "");
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)client->server_pid);
	n = readlink(path, text, sizeof(text) - 1);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(text[0], '/');

	/* The pipe ends with the test: the server does not hold it. */
	close(pipe_fds[1]);
	close(high);
	ck_assert_int_eq(read(pipe_fds[0], text, 1), 0);
	ctl_disconnect(client);
	ck_assert_int_eq(fixture_command("stop", NULL), 0); /* SIGTERM works */
}
END_TEST

START_TEST(a_command_substitution_returns)
{
	char self[PATH_MAX], line[PATH_MAX + 100];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt(n, 0);
	self[n] = '\0';
	snprintf(line, sizeof(line), "timeout 2 sh -c 'x=$(%s client); test \"$x\" = rxe_dm0'",
		 self);
	ck_assert_int_eq(system(line), 0);
}
END_TEST

static void connect_and_tell(int channel)
{
	struct ctl_client *mine;

	channel_wait(channel);
	ck_assert_int_eq(ctl_connect(&mine), 0);
	ck_assert_int_eq(ctl_send(channel, &mine->server_id, sizeof(mine->server_id), NULL, 0, 0),
			 0);
	channel_wait(channel);
}

START_TEST(many_starters_one_server)
{
	int channel[12];
	pid_t pid[12];
	uint64_t first = 0, id;

	for (int i = 0; i < 12; i++)
		pid[i] = child_start(connect_and_tell, &channel[i]);
	for (int i = 0; i < 12; i++)
		channel_say(channel[i]);
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(recv(channel[i], &id, sizeof(id), 0), sizeof(id));
		if (i == 0)
			first = id;
		ck_assert_uint_eq(id, first);
	}
	for (int i = 0; i < 12; i++) {
		channel_say(channel[i]);
		ck_assert_int_eq(child_wait(pid[i]), 0);
	}
}
END_TEST

/* A server under the name that does not get the processor, and then ends. */
static void be_slow(int channel, bool listens, int ms)
{
	struct pollfd nothing = { .fd = -1 };
	struct ctl_name name;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ctl_name_server(&name, geteuid(), fixture_instance());
	ck_assert_int_eq(bind(sock, (const struct sockaddr *)&name.addr, name.len), 0);
	if (listens)
		ck_assert_int_eq(listen(sock, 10), 0);
	channel_say(channel);
	poll(&nothing, 0, ms);
	close(sock);
}

static void bind_the_name(int channel)
{
	be_slow(channel, false, 300);
}

static void do_not_answer(int channel)
{
	/* Longer than a client waits without a check of the server. */
	be_slow(channel, true, 11000);
}

START_TEST(the_first_does_not_listen_yet)
{
	int channel;
	pid_t pid = child_start(bind_the_name, &channel);

	channel_wait(channel);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(child_wait(pid), 0);
	ctl_disconnect(client);
}
END_TEST

START_TEST(slow_is_no_failure)
{
	int channel;
	pid_t pid = child_start(do_not_answer, &channel);

	channel_wait(channel);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(child_wait(pid), 0);
	ctl_disconnect(client);
}
END_TEST

START_TEST(a_stopped_server_is_reported)
{
	struct ctl_client *other;

	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(kill(client->server_pid, SIGSTOP), 0);
	ck_assert_int_eq(ctl_connect(&other), -ETIMEDOUT);
	ck_assert_int_eq(kill(client->server_pid, SIGCONT), 0);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "it is stopped: 'kill -CONT "));
	ck_assert_int_eq(ctl_connect(&other), 0);
	ck_assert_int_eq(other->server_pid, client->server_pid);
	ctl_disconnect(other);
	ctl_disconnect(client);
}
END_TEST

START_TEST(two_instances)
{
	char one[CTL_GID_STR_MAX], two[CTL_GID_STR_MAX];
	struct ctl_client *other;

	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(ctl_connect_as(&other, "test-other", CTL_ROLE_PROGRAM, true), 0);
	ck_assert_uint_ne(client->server_id, other->server_id);
	ck_assert_str_ne(fixture_address(client, one), fixture_address(other, two));
	ctl_disconnect(other);
	ctl_disconnect(client);
	ck_assert_int_eq(fixture_command("stop", "--instance", "test-other", NULL), 0);
}
END_TEST

START_TEST(an_address_is_taken)
{
	char text[CTL_GID_STR_MAX];

	ck_assert_int_eq(ctl_connect(&client), 0);
	fixture_address(client, text);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "start", "--instance", "test-other",
					"--address", text, NULL),
			 1);
	ck_assert_ptr_nonnull(strstr(output, text));
	ck_assert_ptr_nonnull(strstr(output, "in use by the device server with process number"));
	ck_assert_ptr_nonnull(strstr(output, "--address"));
	ctl_disconnect(client);
}
END_TEST

/* Binds another process's socket to 127.0.0.last:4791. */
static int take_port(uint32_t last)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(ROCE_UDP_PORT),
				    .sin_addr.s_addr = htonl(0x7f000000 | last) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

START_TEST(a_port_is_taken)
{
	int fd = take_port(77);

	setenv("RXE_DM_ADDRESS", "127.0.0.77", 1);
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(
		strstr(fixture_log(), "UDP port 4791 of 127.0.0.77 is in use by another"));
	close(fd);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ctl_disconnect(client);
}
END_TEST

START_TEST(the_next_free_address)
{
	char text[CTL_GID_STR_MAX];
	int first, second;

	if (!fixture_is_private())
		return;
	first = take_port(1);
	second = take_port(2);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_eq(fixture_address(client, text), "127.0.0.3");
	ctl_disconnect(client);
	close(first);
	close(second);
}
END_TEST

START_TEST(an_address_that_is_not_ours)
{
	setenv("RXE_DM_ADDRESS", "198.51.100.1", 1);
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "198.51.100.1 is no address of this machine"));
}
END_TEST

START_TEST(a_setting_is_wrong)
{
	setenv("RXE_DM_ARENA", "huge", 1);
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "RXE_DM_ARENA is 'huge': it expects a size"));
	unsetenv("RXE_DM_ARENA");
	setenv("RXE_DM_FAULTS", "/", 1);
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "fault rules cannot be read from / "));
	unsetenv("RXE_DM_FAULTS");
	setenv("RXE_DM_INSTANCE", "a/b", 1);
	ck_assert_int_eq(ctl_connect(&client), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "RXE_DM_INSTANCE is 'a/b'"));
	setenv("RXE_DM_INSTANCE", fixture_instance(), 1);
	setenv("RXE_DM_SERVER", "/nonexistent/rxe_dm", 1);
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "no device server at /nonexistent/rxe_dm"));
	exit(0); /* there is no server to stop */
}
END_TEST

START_TEST(ipv6)
{
	char text[CTL_GID_STR_MAX];

	setenv("RXE_DM_ADDRESS", "::1", 1);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_eq(fixture_address(client, text), "::1");
	ctl_disconnect(client);
}
END_TEST

START_TEST(several_devices)
{
	struct ctl_device device[CTL_DEVICE_MAX];
	size_t n;

	setenv("RXE_DM_DEVICES", "3", 1);
	setenv("RXE_DM_SLOTS", "4", 1);
	setenv("RXE_DM_ARENA", "1M", 1);
	setenv("RXE_DM_MLX5", "on", 1);
	setenv("RXE_DM_TRAINS", "off", 1);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_int_eq(ctl_list_devices(client, device, CTL_DEVICE_MAX, &n), 0);
	ck_assert_uint_eq(n, 3);
	for (size_t i = 0; i < n; i++) {
		struct ctl_attachment at;

		ck_assert_uint_eq(device[i].index, i);
		ck_assert_int_eq(device[i].name[6], (char)('0' + i));
		ck_assert_uint_eq(device[i].arena_bytes, 1 << 20);
		ck_assert(device[i].mlx5 && !device[i].trains);
		ck_assert_int_eq(ctl_attach(client, (uint32_t)i, &at), 0);
		ck_assert(i == 0 || !gid_equal(&device[i].gids[0], &device[0].gids[0]));
		ck_assert_uint_ne(device[i].node_guid, device[(i + 1) % n].node_guid);
		ck_assert_uint_eq(device[i].sys_image_guid, device[0].sys_image_guid);
	}
	ctl_disconnect(client);
}
END_TEST

START_TEST(settings_of_a_running_server)
{
	struct ctl_device device;
	size_t n;

	ck_assert_int_eq(ctl_connect(&client), 0);
	ctl_disconnect(client);
	setenv("RXE_DM_ARENA", "64M", 1);
	setenv("RXE_DM_TRAINS", "off", 1);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_str_eq(fixture_log(), "");
	ck_assert_int_eq(ctl_list_devices(client, &device, 1, &n), 0);
	ck_assert(!device.trains); /* done by the program itself */
	ctl_disconnect(client);
	setenv("RXE_DM_ARENA", "1M", 1);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "RXE_DM_ARENA is not what instance"));
	ctl_disconnect(client);
	unsetenv("RXE_DM_ARENA");
	setenv("RXE_DM_ADDRESS", "127.9.9.9", 1);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "RXE_DM_ADDRESS is not what instance"));
	ctl_disconnect(client);
}
END_TEST

static void attach_and_stay(int channel)
{
	struct ctl_client *mine;
	struct ctl_attachment at;
	int rc;

	ck_assert_int_eq(ctl_connect(&mine), 0);
	rc = ctl_attach(mine, 0, &at);
	if (rc == -ENOSPC && !strstr(fixture_log(), "as many programs as it has slots"))
		rc = -1;
	ck_assert_int_eq(ctl_send(channel, &rc, sizeof(rc), NULL, 0, 0), 0);
	channel_wait(channel);
}

START_TEST(slots_run_out)
{
	int channel[4], rc;
	pid_t pid[4];

	setenv("RXE_DM_SLOTS", "4", 1); /* one belongs to the server */
	for (int i = 0; i < 4; i++) {
		pid[i] = child_start(attach_and_stay, &channel[i]);
		ck_assert_int_eq(recv(channel[i], &rc, sizeof(rc), 0), sizeof(rc));
		ck_assert_int_eq(rc, i < 3 ? 0 : -ENOSPC);
	}
	child_kill(pid[1]);
	fixture_await_programs(3);
	pid[1] = child_start(attach_and_stay, &channel[1]);
	ck_assert_int_eq(recv(channel[1], &rc, sizeof(rc), 0), sizeof(rc));
	ck_assert_int_eq(rc, 0);
	for (int i = 0; i < 4; i++)
		child_kill(pid[i]);
}
END_TEST

START_TEST(stop_is_reported)
{
	struct program p;
	struct pollfd ready = { .events = POLLIN };
	struct ctl_event event;
	uint32_t handle;

	program_open(&p);
	client = p.client;
	ck_assert_uint_eq(p.at.shared->ended, 0);
	ck_assert(ctl_alive(p.client));
	ck_assert_int_eq(fixture_command("stop", NULL), 0);
	ck_assert_uint_eq(p.at.shared->ended, 1);
	ck_assert(!ctl_alive(p.client));
	ready.fd = p.at.event_fd;
	ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	ck_assert_int_eq(recv(p.at.event_fd, &event, sizeof(event), 0), sizeof(event));
	ck_assert_uint_eq(event.type, IBV_EVENT_DEVICE_FATAL);
	ck_assert_int_eq(recv(p.at.event_fd, &event, sizeof(event), 0), 0);
	ck_assert_int_eq(ctl_alloc_pd(&p.context, &handle), -ENODEV);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, p.pd), -ENODEV);
	p.at.arena[0] = 1; /* the memory is still mapped */
	ctl_close(&p.context);
	ctl_detach(p.client, 0, &p.at);
	ctl_disconnect(p.client);

	program_open(&p); /* and a new one starts */
	program_close(&p);
}
END_TEST

/* Waits until no process listens under the name. Returns the time that took. */
static int64_t await_end(void)
{
	int64_t start = now_ms();
	struct ctl_client *look;
	int rc;

	while ((rc = ctl_connect_as(&look, fixture_instance(), CTL_ROLE_COMMAND, false)) == 0) {
		struct pollfd nothing = { .fd = -1 };

		ctl_disconnect(look);
		poll(&nothing, 0, 20);
		ck_assert_int_lt(now_ms() - start, WAIT_MS);
	}
	ck_assert_int_eq(rc, -ECONNREFUSED);
	return now_ms() - start;
}

START_TEST(lingers_and_ends)
{
	struct program p;

	setenv("RXE_DM_LINGER", "1", 1);
	program_open(&p);
	program_close(&p);
	ck_assert_int_ge(await_end(), 800);
}
END_TEST

START_TEST(an_idle_server_ends_after_a_killed_client)
{
	int channel, rc;
	pid_t pid;

	setenv("RXE_DM_LINGER", "0", 1);
	pid = child_start(attach_and_stay, &channel);
	ck_assert_int_eq(recv(channel, &rc, sizeof(rc), 0), sizeof(rc));
	child_kill(pid);
	(void)await_end();
}
END_TEST

START_TEST(started_to_stay)
{
	setenv("RXE_DM_LINGER", "0", 1);
	ck_assert_int_eq(fixture_command("start", NULL), 0);
	ck_assert_int_eq(ctl_connect(&client), 0);
	ctl_disconnect(client);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "start", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "running already"));
	ck_assert_int_eq(fixture_output(output, sizeof(output), "start", "--arena", "1M", NULL), 1);
	ck_assert_ptr_nonnull(strstr(output, "'rxe_dm stop' it first"));
	ck_assert_int_eq(fixture_programs(), 0);
}
END_TEST

START_TEST(show_says_what_is_there)
{
	struct program p;
	uint32_t key;

	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "is not running"));
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", "--json", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "\"devices\": []"));

	program_open(&p);
	program_reg(&p, &p, sizeof(p), &key);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "rxe_dm0: port ACTIVE, 127.0.0."));
	ck_assert_ptr_nonnull(strstr(output, "local_write"));
	ck_assert_ptr_nonnull(strstr(output, "server_life"));
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", "--json", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "\"contexts\""));
	ck_assert_ptr_nonnull(strstr(output, "\"rdma_sends\": 0"));
}
END_TEST

START_TEST(the_command_refuses)
{
	static const char *const wrong[][3] = {
		{ "nonsense", NULL, NULL },	   { "start", "--nonsense", NULL },
		{ "start", "--arena", "12Q" },	   { "start", "--arena", NULL },
		{ "start", "argument", NULL },	   { "stop", "argument", NULL },
		{ "show", "argument", NULL },	   { "start", "--devices=0", NULL },
		{ "show", "--jsno", NULL },	   { "run", NULL, NULL },
		{ "start", "--address", "1.2.3" }, { "capture", NULL, NULL },
		{ "capture", "a", "b" },	   { "capture", "--count", "none" },
		{ "capture", "--snap=0", "a" },	   { "stop", "--arena=64M", NULL },
		{ "show", "--packets", "zz" },	   { "fault", "list", "all" },
		{ "fault", "clear", "-1" },	   { "fault", "clear", "1x" },
		{ "fault", "--device", "eth0" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_int_eq(fixture_output(output, sizeof(output), wrong[i][0], wrong[i][1],
						wrong[i][2], NULL),
				 2);
		ck_assert_msg(strncmp(output, "rxe_dm: ", 8) == 0, "%s", output);
	}
	ck_assert_int_eq(fixture_output(output, sizeof(output), "--version", NULL), 0);
	ck_assert_int_eq(strncmp(output, "rxe_dm ", 7), 0);
	ck_assert_int_eq(fixture_command("--help", NULL), 0);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "start", "--help", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "RXE_DM_ARENA"));
	/* Commands that start no server list only the settings that they accept. */
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", "--help", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "RXE_DM_INSTANCE"));
	ck_assert_ptr_null(strstr(output, "RXE_DM_ARENA"));
	ck_assert_int_eq(fixture_output(output, sizeof(output), "fault", "add", "--help", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "rnr_nak"));
	ck_assert_int_eq(
		fixture_output(output, sizeof(output), "capture", "/no/such/folder/file", NULL), 1);
	ck_assert_ptr_nonnull(strstr(output, "/no/such/folder/file"));
}
END_TEST

static void look_from_elsewhere(int channel)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct ctl_client *mine;
	uint64_t id = 0;
	int fd;

	if (unshare(CLONE_NEWNET) == 0) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &req), 0);
		ck_assert_int_eq(ctl_connect_as(&mine, fixture_instance(), CTL_ROLE_COMMAND, false),
				 -ECONNREFUSED);
		ck_assert_int_eq(ctl_connect(&mine), 0);
		id = mine->server_id;
		ctl_disconnect(mine);
		ck_assert_int_eq(fixture_command("stop", NULL), 0);
	}
	ck_assert_int_eq(ctl_send(channel, &id, sizeof(id), NULL, 0, 0), 0);
}

START_TEST(another_network_namespace)
{
	int channel;
	uint64_t id;
	pid_t pid;

	ck_assert_int_eq(ctl_connect(&client), 0);
	pid = child_start(look_from_elsewhere, &channel);
	ck_assert_int_eq(recv(channel, &id, sizeof(id), 0), sizeof(id));
	ck_assert_int_eq(child_wait(pid), 0);
	ck_assert_uint_ne(id, client->server_id); /* 0: the test may not try */
	ck_assert(ctl_alive(client));
	ctl_disconnect(client);
}
END_TEST

START_TEST(loopback_is_down)
{
	if (!fixture_is_private() || unshare(CLONE_NEWNET))
		return;
	ck_assert_int_eq(ctl_connect(&client), -ECONNREFUSED);
	ck_assert_ptr_nonnull(strstr(fixture_log(), "ip link set lo up"));
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase, *waits;

	if (argc == 2 && strcmp(argv[1], "client") == 0) {
		struct ctl_device device;
		size_t n;

		if (ctl_connect(&client) || ctl_list_devices(client, &device, 1, &n))
			return 1;
		puts(device.name);
		return 0;
	}
	tcase = tcase_create("life");
	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_add_test(tcase, born_unnoticed);
	tcase_add_test(tcase, of_its_starters_session);
	tcase_add_test(tcase, inherits_nothing);
	tcase_add_test(tcase, a_command_substitution_returns);
	tcase_add_test(tcase, many_starters_one_server);
	tcase_add_test(tcase, the_first_does_not_listen_yet);
	tcase_add_test(tcase, two_instances);
	tcase_add_test(tcase, an_address_is_taken);
	tcase_add_test(tcase, a_port_is_taken);
	tcase_add_test(tcase, the_next_free_address);
	tcase_add_test(tcase, an_address_that_is_not_ours);
	tcase_add_test(tcase, a_setting_is_wrong);
	tcase_add_test(tcase, ipv6);
	tcase_add_test(tcase, several_devices);
	tcase_add_test(tcase, settings_of_a_running_server);
	tcase_add_test(tcase, slots_run_out);
	tcase_add_test(tcase, stop_is_reported);
	tcase_add_test(tcase, an_idle_server_ends_after_a_killed_client);
	tcase_add_test(tcase, started_to_stay);
	tcase_add_test(tcase, show_says_what_is_there);
	tcase_add_test(tcase, the_command_refuses);
	tcase_add_test(tcase, another_network_namespace);
	tcase_add_test(tcase, loopback_is_down);
	waits = tcase_create("waits"); /* these take most of the time */
	tcase_add_checked_fixture(waits, fixture_setup, fixture_teardown);
	tcase_add_test(waits, slow_is_no_failure);
	tcase_add_test(waits, a_stopped_server_is_reported);
	tcase_add_test(waits, lingers_and_ends);
	return fixture_main("server_life", (TCase *[]){ tcase, waits, NULL });
}
