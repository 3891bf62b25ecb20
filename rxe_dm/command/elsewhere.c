// SPDX-License-Identifier: MIT
/* An instance belongs to one network namespace, and a command finds that of its own. Where none
 * runs there, the saved settings of others say in which namespaces the instance runs. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "rxe_dm/command/command.h"

/* True: the process is in another user namespace, or cannot be looked at. */
static bool has_other_users(pid_t pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &own) || stat(path, &other) || own.st_ino != other.st_ino;
}

void elsewhere_log(const char *instance, const char *command)
{
	unsigned long long net;
	const pid_t pid = ctl_saved_elsewhere(instance, &net);

	if (pid)
		ctl_log(CTL_LOG_WARNING,
			"instance '%s' runs in another network namespace, net:[%llu] (process %d): "
			"'nsenter -t %d %s-n rxe_dm %s' reaches it",
			instance, net, (int)pid, (int)pid,
			has_other_users(pid) ? "-U --preserve-credentials " : "", command);
}

int elsewhere_connect(struct ctl_client **ret, const char *instance, const char *command,
		      bool autostart)
{
	const int rc = ctl_connect_as(ret, instance, CTL_ROLE_COMMAND, false);

	if (rc != -ECONNREFUSED)
		return rc;
	elsewhere_log(instance, command);
	return autostart ? ctl_connect_as(ret, instance, CTL_ROLE_COMMAND, true) : rc;
}
