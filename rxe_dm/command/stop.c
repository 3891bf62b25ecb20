// SPDX-License-Identifier: MIT
/* rxe_dm stop: ends the server of an instance, of any version, and waits until it has exited. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/control/settings.h"
#include "lib/control/socket.h"
#include "rxe_dm/command/command.h"

#define STOP_TIMEOUT_MS 10000

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
