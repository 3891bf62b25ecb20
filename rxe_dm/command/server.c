// SPDX-License-Identifier: MIT
/* rxe_dm start: the server stays until 'rxe_dm stop', unlike one that libibverbs starts.
 * rxe_dm stop: ends the server of an instance, of any version, and waits until it has exited. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/settings.h"
#include "lib/control/socket.h"
#include "lib/control/start.h"
#include "rxe_dm/command/command.h"

#define MAX_FORWARDED	24
#define STOP_TIMEOUT_MS 10000

/* A server is there: make it stay. Its settings are its own. */
static int keep_running(struct ctl_client *client, const struct command_options *options)
{
	struct ctl_call call = { .req = { .op = CTL_STAY }, .in_fd = -1 };
	int rc;

	if (options->given) {
		fprintf(stderr,
			"rxe_dm: instance '%s' is running already (process %d): 'rxe_dm stop' it "
			"first, or choose another one with --instance\n",
			options->settings.instance, (int)client->server_pid);
		return 1;
	}
	rc = ctl_do(client, &call, 0);
	if (rc) {
		fprintf(stderr, "rxe_dm: the device server does not answer: %s\n", strerror(-rc));
		return 1;
	}
	printf("instance '%s' is running already (process %d); it stays until 'rxe_dm stop'\n",
	       options->settings.instance, (int)client->server_pid);
	return 0;
}

static int start_in_background(int argc, char **argv)
{
	const char *args[MAX_FORWARDED + 3] = { "start", CTL_READY_OPTION };
	int rc;

	if (argc > MAX_FORWARDED) {
		fprintf(stderr, "rxe_dm: too many options\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		args[i + 1] = argv[i];
	rc = ctl_start_server(args);
	return rc == 0 || rc == -EALREADY ? 0 : 1;
}

int command_start(int argc, char **argv, struct command_server *ret)
{
	bool foreground = false, autostarted = false, ready = false;
	uint64_t fd;
	const struct command_option own[] = {
		{ .name = "foreground",
		  .help = "stay in the foreground, until Ctrl-C",
		  .given = &foreground },
		{ .name = "auto", .given = &autostarted },
		{ .name = "ready-fd", .number = &fd, .min = CTL_READY_FD, .max = CTL_READY_FD },
		{ 0 },
	};
	struct command_options options;
	struct ctl_client *client;
	char why[CTL_WHY_MAX];
	int rc, status;

	/* Before the first error: the starter shows errors to the user. */
	for (int i = 1; i < argc; i++)
		ready |= strcmp(argv[i], CTL_READY_OPTION) == 0;
	if (ready)
		ctl_ready_log();
	status = options_parse(&options, argc, argv, own);
	if (status != OPTIONS_OK)
		return status;
	if (!options_end(&options, argc, argv))
		return 2;
	if (!ctl_settings_check(&options.settings, why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return 2;
	}
	/* After the options: the starter's directory is the base of a relative path in them. */
	if (ready && chdir("/"))
		return 1;
	*ret = (struct command_server){ foreground || ready, autostarted, ready, options.settings };
	if (ret->serve)
		return 0;

	rc = ctl_connect_as(&client, options.settings.instance, CTL_ROLE_COMMAND, false);
	if (rc == 0) {
		rc = keep_running(client, &options);
		ctl_disconnect(client);
		return rc;
	}
	return rc == -ECONNREFUSED ? start_in_background(argc, argv) : 1;
}

/* The process that listens under the instance's name. -EPERM: it belongs to another user. */
static int find_server(const char *instance, pid_t *ret_pid)
{
	struct ctl_name name;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	uid_t uid;
	int rc;

	if (sock < 0)
		return -errno;
	ctl_name_server(&name, geteuid(), instance);
	rc = connect(sock, (const struct sockaddr *)&name.addr, name.len) ? -errno : 0;
	if (rc == 0)
		rc = ctl_peer(sock, ret_pid, &uid);
	if (rc == 0 && uid != geteuid())
		rc = -EPERM;
	close(sock);
	return rc;
}

static int end_process(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int rc = 0;

	if (pidfd < 0)
		return errno == ESRCH ? 0 : -errno;
	/* A signal works with every version of the server; it ends as by a request. */
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) && errno != ESRCH)
		rc = -errno;
	if (rc == 0 && poll(&ended, 1, STOP_TIMEOUT_MS) != 1)
		rc = -ETIMEDOUT;
	close(pidfd);
	return rc;
}

int command_stop(int argc, char **argv)
{
	const struct command_option own[] = { { 0 } };
	struct command_options options;
	const int status = options_parse(&options, argc, argv, own);
	const char *instance = options.settings.instance;
	pid_t pid = 0;
	int rc;

	if (status != OPTIONS_OK)
		return status;
	if (!options_end(&options, argc, argv))
		return 2;
	rc = find_server(instance, &pid);
	if (rc == -ECONNREFUSED) {
		ctl_saved_remove(instance);
		printf("instance '%s' is not running\n", instance);
		elsewhere_log(instance, "stop");
		return 0;
	}
	if (rc == 0)
		rc = end_process(pid);
	if (rc) {
		fprintf(stderr, "rxe_dm: could not end instance '%s' (process %d): %s\n", instance,
			(int)pid, strerror(-rc));
		return 1;
	}
	return 0;
}
