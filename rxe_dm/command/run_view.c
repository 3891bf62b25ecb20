// SPDX-License-Identifier: MIT
/* The view of a program under rxe_dm run: where the server's files are, the library that redirects
 * to them, and the `rdma` command that shows our devices. */
#include "rxe_dm/command/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"

#define PRELOADED "librxe_dm_redirect.so"

bool run_find(const char *folders, const char *name, char ret[static PATH_MAX])
{
	for (const char *at = folders; *at; at += *at == ':') {
		const int len = (int)strcspn(at, ":");

		if (snprintf(ret, PATH_MAX, "%.*s/%s", len, at, name) < PATH_MAX &&
		    access(ret, R_OK) == 0)
			return true;
		at += len;
	}
	return false;
}

static const char *reason(int rc)
{
	return rc == -EEXIST ? "another user or server has a file of the name there; 'ls -ld "
			       "/dev/shm/rxe_dm.sysfs-* /tmp/rxe_dm.sysfs-*' shows it, --instance "
			       "chooses another name"
			     : strerror(-rc);
}

/* False: explained. */
static bool ask(struct ctl_client *client, char ret[static CTL_SYSFS_PATH_MAX])
{
	struct ctl_call call = { .req = { .op = CTL_SYSFS }, .in_fd = -1 };
	const int rc = ctl_do(client, &call, 0);

	if (rc) {
		ctl_log(CTL_LOG_WARNING,
			"the device server cannot make files in /dev/shm or /tmp (%s): the program "
			"finds the device by libibverbs, but not in /sys/class/infiniband",
			reason(rc));
		return false;
	}
	snprintf(ret, CTL_SYSFS_PATH_MAX, "%s", call.reply.sysfs.path);
	return true;
}

int run_set_list(const char *variable, const char *first, const char *second)
{
	size_t len = strlen(first) + strlen(second) + 2;
	char *list = (char *)malloc(len);
	int rc = -ENOMEM;

	if (list) {
		snprintf(list, len, "%s%s%s", first, *first && *second ? ":" : "", second);
		rc = setenv(variable, list, 1) ? -errno : 0;
		free(list);
	}
	return rc;
}

const char *run_variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* Its path, which holds also where the program changes LD_LIBRARY_PATH; but a path in LD_PRELOAD
 * has neither blanks nor colons: then the name, which is found by LD_LIBRARY_PATH. */
int run_preload(const char *folders, const char *name)
{
	char path[PATH_MAX];

	if (!run_find(folders, name, path) || strpbrk(path, " \t:"))
		snprintf(path, PATH_MAX, "%s", name);
	/* Last: a sanitizer's runtime must stay first. */
	return run_set_list("LD_PRELOAD", run_variable("LD_PRELOAD"), path);
}

void run_view(struct ctl_client *client, bool host, const char *folders)
{
	char root[CTL_SYSFS_PATH_MAX], bin[CTL_SYSFS_PATH_MAX + 16];

	if (!ask(client, root))
		return;
	snprintf(bin, sizeof(bin), "%s/bin", root);
	/* `rdma` is the system's where the host's adapters are seen. */
	if (setenv("RXE_DM_SYSFS", root, 1) ||
	    (host ? setenv("RXE_DM_SYSFS_HOST", "1", 1) : unsetenv("RXE_DM_SYSFS_HOST")) ||
	    (!host && run_set_list("PATH", bin, run_variable("PATH"))) ||
	    run_preload(folders, PRELOADED))
		ctl_log(CTL_LOG_WARNING, "the environment is full: the program does not find the "
					 "device in /sys/class/infiniband");
}
