// SPDX-License-Identifier: MIT
/* host/: the same folders with the host's adapters beside our devices, as links. Where both have a
 * name (uverbs0) it is the host's. Adapters that come later are not there. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rxe_dm/server/sysfs.h"

/* Links to all that is in a folder, under its name in host/; names that are taken stay. from: of
 * the host, or the same below the tree. */
static void link_all(int root, const char *folder, const char *from)
{
	DIR *dir = opendir(from);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char below[PATH_MAX], to[PATH_MAX], name[PATH_MAX];
		bool ok = true;

		if (entry->d_name[0] == '.' ||
		    snprintf(below, sizeof(below), "%s/%s", from, entry->d_name) >= PATH_MAX ||
		    !realpath(below, to) ||
		    snprintf(name, sizeof(name), "host/%s/%s", folder, entry->d_name) >= PATH_MAX)
			continue;
		sysfs_link(root, &ok, name, to);
	}
	if (dir)
		closedir(dir);
}

void sysfs_make_host(int root, bool *ok, const char *tree)
{
	static const char *const folders[] = { "sys/class/infiniband", "sys/class/infiniband_verbs",
					       "sys/class/infiniband_mad", "dev/infiniband" };
	char path[PATH_MAX];

	sysfs_folder(root, ok, "host");
	sysfs_folder(root, ok, "host/sys");
	sysfs_folder(root, ok, "host/sys/class");
	sysfs_folder(root, ok, "host/dev");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "host/%s", folders[i]);
		sysfs_folder(root, ok, path);
		snprintf(path, sizeof(path), "/%s", folders[i]);
		link_all(root, folders[i], path);
		snprintf(path, sizeof(path), "%.200s/%s", tree, folders[i]);
		link_all(root, folders[i], path);
	}
}
