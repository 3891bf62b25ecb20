// SPDX-License-Identifier: MIT
/* The view of a program under rxe_dm run: where the server's files are, the library that redirects
 * to them, and the `rdma` command that shows our devices.
 *
--view namespace: the server's files are mounted over /sys/class in a mount namespace of the
 * program's own, so that programs find them that do not call the C library.
 *
 * /sys/class has no folder to mount on where the host has no adapters, and sysfs makes none. So a
 * tmpfs takes its place, with the host's other classes mounted in it. */
#include "rxe_dm/command/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"

#define PRELOADED "librxe_dm_uverbs.so"
#define CLASSES	  "/sys/class"
#define OURS	  "infiniband" /* what the names of our classes begin with */

/* Its path, which holds also where the program changes LD_LIBRARY_PATH; but a path in LD_PRELOAD
 * has neither blanks nor colons: then the name, which is found by LD_LIBRARY_PATH. */
static void find_preloaded(const char *folders, char ret[static PATH_MAX])
{
	for (const char *at = folders; *at; at += *at == ':') {
		const int len = (int)strcspn(at, ":");

		if (snprintf(ret, PATH_MAX, "%.*s/" PRELOADED, len, at) < PATH_MAX &&
		    access(ret, R_OK) == 0 && !strpbrk(ret, " \t:"))
			return;
		at += len;
	}
	snprintf(ret, PATH_MAX, PRELOADED);
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

static bool write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const ssize_t len = (ssize_t)strlen(text);
	const bool ok = fd >= 0 && write(fd, text, (size_t)len) == len;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* As an ordinary user in a user namespace, in which the program has the same ids and no others. */
static bool enter(void)
{
	const unsigned int uid = geteuid(), gid = getegid();
	char users[32], groups[32];

	if (unshare(CLONE_NEWNS) == 0)
		return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
	snprintf(users, sizeof(users), "%u %u 1", uid, uid);
	snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       write_file("/proc/self/setgroups", "deny") &&
	       write_file("/proc/self/uid_map", users) && write_file("/proc/self/gid_map", groups);
}

/* from is a folder, or a file of the host's. */
static bool bind_class(const char *from, const char *name)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), CLASSES "/%.200s", name);
	return mkdir(to, 0755) == 0 && mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* host: the folder that was in the place. */
static bool bind_classes(DIR *host, const char *root)
{
	const struct dirent *entry;
	char from[PATH_MAX];
	bool ok = true;

	while (ok && (entry = readdir(host))) {
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, OURS, strlen(OURS)) == 0)
			continue;
		snprintf(from, sizeof(from), "/proc/self/fd/%d/%.200s", dirfd(host), entry->d_name);
		ok = bind_class(from, entry->d_name);
	}
	for (int i = 0; ok && i < 3; i++) {
		static const char *const classes[] = { "infiniband", "infiniband_verbs",
						       "infiniband_mad" };

		snprintf(from, sizeof(from), "%s" CLASSES "/%s", root, classes[i]);
		ok = bind_class(from, classes[i]);
	}
	return ok;
}

/* This process enters a mount namespace with the files below root in /sys/class. False:
 * explained. */
static bool enter_namespace(const char *root)
{
	DIR *host = NULL;
	bool ok = enter();

	/* Opened in the new namespace: the kernel binds no folders of another one. */
	if (ok)
		host = opendir(CLASSES);
	ok = ok && host &&
	     mount("rxe_dm", CLASSES, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0 &&
	     bind_classes(host, root) &&
	     mount(NULL, CLASSES, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		   NULL) == 0;
	if (!ok)
		ctl_log(CTL_LOG_ERROR,
			"--view namespace: no mount namespace with files in " CLASSES
			" of its own: %s; --view preload needs none",
			strerror(errno));
	if (host)
		closedir(host);
	return ok;
}

bool run_view(struct ctl_client *client, enum run_view view, bool host, const char *folders)
{
	char root[CTL_SYSFS_PATH_MAX + 8], bin[CTL_SYSFS_PATH_MAX + 16], preloaded[PATH_MAX];

	if (!ask(client, root))
		return view != RUN_VIEW_NAMESPACE;
	find_preloaded(folders, preloaded);
	snprintf(bin, sizeof(bin), "%s/bin", root);
	/* Last in LD_PRELOAD: a sanitizer's runtime must stay first. `rdma` is the system's where
	 * the host's adapters are seen. */
	if (setenv("RXE_DM_SYSFS", root, 1) ||
	    (host ? setenv("RXE_DM_SYSFS_HOST", "1", 1) : unsetenv("RXE_DM_SYSFS_HOST")) ||
	    (!host && run_set_list("PATH", bin, run_variable("PATH"))) ||
	    run_set_list("LD_PRELOAD", run_variable("LD_PRELOAD"), preloaded))
		ctl_log(CTL_LOG_WARNING, "the environment is full: the program does not find the "
					 "device in /sys/class/infiniband");
	if (host)
		strcat(root, "/host");
	return view != RUN_VIEW_NAMESPACE || enter_namespace(root);
}
