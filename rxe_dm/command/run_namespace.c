// SPDX-License-Identifier: MIT
/* rxe_dm run --view namespace: the server's files are mounted over /sys/class in a mount namespace
 * of the program's own, so that programs find them that do not call the C library.
 *
 * /sys/class has no folder to mount on where the host has no adapters, and sysfs makes none. So a
 * tmpfs takes its place, with the host's other classes mounted in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/log.h"
#include "rxe_dm/command/run.h"

#define CLASSES "/sys/class"
#define OURS	"infiniband" /* what the names of our classes begin with */

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

bool run_namespace(const char *root)
{
	DIR *host = NULL;
	bool ok = enter();

	/* Of the new namespace: the kernel binds no folders of another one. */
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
