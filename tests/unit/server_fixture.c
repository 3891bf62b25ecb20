// SPDX-License-Identifier: MIT
/* The fixture of server tests. It waits by poll() or by asking the server again; an alarm bounds
 * the wait. */
#include "server_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "net/link/clock.h"
#include "private_network.h"
#include "tests/suite.h"

static char last_log[600], kept_log[600];
static char instance[40];
static bool is_private;

static void keep_line(enum ctl_log_level level, const char *line)
{
	if (level == CTL_LOG_ERROR)
		snprintf(last_log, sizeof(last_log), "%s", line);
}

const char *fixture_address(struct ctl_client *client, char text[static CTL_GID_STR_MAX])
{
	struct ctl_device device;
	size_t n;

	ck_assert_int_eq(ctl_list_devices(client, &device, 1, &n), 0);
	return ctl_gid_str(&device.gids[0], text);
}

const char *fixture_log(void)
{
	memcpy(kept_log, last_log, sizeof(kept_log));
	last_log[0] = '\0';
	return kept_log;
}

const char *fixture_instance(void)
{
	return instance;
}

bool fixture_is_private(void)
{
	return is_private;
}

void fixture_setup(void)
{
	snprintf(instance, sizeof(instance), "test-%d", (int)getpid());
	setenv("RXE_DM_INSTANCE", instance, 1);
	setenv("RXE_DM_LINGER", "2", 1);
	ctl_log_to(keep_line);
	last_log[0] = '\0';
}

void fixture_teardown(void)
{
	ck_assert_int_eq(fixture_command("stop", NULL), 0);
}

static int run_command(char *ret, size_t len, const char *arg, va_list args)
{
	char *argv[20] = { getenv("RXE_DM_SERVER") };
	int pipe_fds[2], status = -1, n = 1;
	size_t have = 0;
	ssize_t got;
	pid_t pid;

	ck_assert_ptr_nonnull(argv[0]);
	for (; arg && n < 19; arg = va_arg(args, const char *))
		memcpy(&argv[n++], &arg, sizeof(arg));
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipe_fds[1], 1);
		dup2(pipe_fds[1], 2);
		execv(argv[0], argv);
		_exit(127);
	}
	close(pipe_fds[1]);
	while (have + 1 < len && (got = read(pipe_fds[0], ret + have, len - 1 - have)) > 0)
		have += (size_t)got;
	ret[have] = '\0';
	close(pipe_fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int fixture_command(const char *arg, ...)
{
	static char output[4096];
	va_list args;
	int status;

	va_start(args, arg);
	status = run_command(output, sizeof(output), arg, args);
	va_end(args);
	return status;
}

int fixture_output(char *ret, size_t len, const char *arg, ...)
{
	va_list args;
	int status;

	va_start(args, arg);
	status = run_command(ret, len, arg, args);
	va_end(args);
	return status;
}

void program_open(struct program *ret)
{
	int rc = ctl_connect(&ret->client);

	ck_assert_msg(rc == 0, "connect: %s (%s)", strerror(-rc), fixture_log());
	ck_assert_int_eq(ctl_attach(ret->client, 0, &ret->at), 0);
	ck_assert_int_eq(ctl_open(ret->client, 0, &ret->context), 0);
	ck_assert_int_eq(ctl_alloc_pd(&ret->context, &ret->pd), 0);
}

void program_close(struct program *program)
{
	ck_assert_int_eq(ctl_free(&program->context, CTL_KIND_PD, program->pd), 0);
	ck_assert_int_eq(ctl_close(&program->context), 0);
	ctl_detach(program->client, 0, &program->at);
	ctl_disconnect(program->client);
}

uint32_t program_reg(struct program *program, const void *addr, uint64_t len, uint32_t *ret_key)
{
	struct ctl_reg_mr reg = { .pd = program->pd,
				  .kind = RXE_MR_PLAIN,
				  .addr = (uintptr_t)addr,
				  .iova = (uintptr_t)addr,
				  .len = len,
				  .rights = RXE_LOCAL_WRITE };
	uint32_t handle = 0;

	ck_assert_int_eq(ctl_reg_mr(&program->context, &reg, &handle, ret_key), 0);
	return handle;
}

uint32_t program_reg_dm(struct program *program, uint32_t dm, uint64_t offset, uint64_t len)
{
	struct ctl_reg_mr reg = { .pd = program->pd,
				  .kind = RXE_MR_ARENA,
				  .dm = dm,
				  .addr = offset,
				  .len = len,
				  .rights = RXE_LOCAL_WRITE };
	uint32_t handle = 0, key;

	ck_assert_int_eq(ctl_reg_mr(&program->context, &reg, &handle, &key), 0);
	return handle;
}

pid_t child_start(void (*what)(int channel), int *ret_channel)
{
	int pair[2];
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		close(pair[0]);
		what(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	*ret_channel = pair[0];
	return pid;
}

void channel_wait(int channel)
{
	struct pollfd ready = { .fd = channel, .events = POLLIN };
	char byte;

	ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	ck_assert_int_eq(recv(channel, &byte, 1, 0), 1);
}

void channel_say(int channel)
{
	ck_assert_int_eq(send(channel, "x", 1, MSG_NOSIGNAL), 1);
}

int child_wait(pid_t pid)
{
	int status = -1;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

void child_kill(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(child_wait(pid), SIGKILL);
}

/* Connects as a command, which does not count as a program. */
static struct ctl_client *look(void)
{
	struct ctl_client *client;

	ck_assert_int_eq(ctl_connect_as(&client, instance, CTL_ROLE_COMMAND, false), 0);
	return client;
}

uint32_t fixture_objects(enum ctl_kind kind)
{
	struct ctl_client *client = look();
	uint32_t count = 0, next = 0;

	do {
		struct ctl_call call = { .req = { .op = CTL_OBJECTS, .handle = next },
					 .in_fd = -1 };

		ck_assert_int_eq(ctl_do(client, &call, 0), 0);
		for (uint32_t i = 0; i < call.reply.page.count; i++)
			count += call.reply.page.object[i].kind == (uint32_t)kind;
		next = call.reply.page.next;
	} while (next);
	ctl_disconnect(client);
	return count;
}

uint32_t fixture_programs(void)
{
	struct ctl_call call = { .req = { .op = CTL_STATUS }, .in_fd = -1 };
	struct ctl_client *client = look();

	ck_assert_int_eq(ctl_do(client, &call, 0), 0);
	ctl_disconnect(client);
	return call.reply.info.programs;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

void fixture_await_objects(enum ctl_kind kind, uint32_t count)
{
	int64_t end = now_ms() + WAIT_MS;

	while (fixture_objects(kind) != count)
		ck_assert_msg(now_ms() < end, "%u objects of kind %d, not %u",
			      fixture_objects(kind), (int)kind, count);
}

void fixture_await_programs(uint32_t count)
{
	int64_t end = now_ms() + WAIT_MS;

	while (fixture_programs() != count)
		ck_assert_msg(now_ms() < end, "%u programs, not %u", fixture_programs(), count);
}

int fixture_main(const char *name, TCase *const *tcases)
{
	Suite *suite = suite_create(name);

	is_private = private_network();
	unsetenv("RXE_DM_ADDRESS");
	unsetenv("RXE_DM_DEVICES");
	unsetenv("RXE_DM_ARENA");
	unsetenv("RXE_DM_SLOTS");
	for (; *tcases; tcases++) {
		tcase_set_timeout(*tcases, 20);
		suite_add_tcase(suite, *tcases);
	}
	return suite_run(suite);
}
