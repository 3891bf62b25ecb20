/* SPDX-License-Identifier: MIT */
/* Finds a thread of this process by its name (pthread_setname_np(3)). */
#ifndef TESTS_UNIT_THREAD_NAMED_H
#define TESTS_UNIT_THREAD_NAMED_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Its thread id, or 0: there is none. */
static inline pid_t thread_named(const char *wanted)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	pid_t ret = 0;

	ck_assert_ptr_nonnull(dir);
	while (!ret && (entry = readdir(dir))) {
		char path[300], name[32] = "";
		FILE *comm;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		comm = fopen(path, "re");
		if (!comm)
			continue;
		if (fgets(name, sizeof(name), comm))
			name[strcspn(name, "\n")] = '\0';
		if (strcmp(name, wanted) == 0)
			ret = (pid_t)strtol(entry->d_name, NULL, 10);
		fclose(comm);
	}
	closedir(dir);
	return ret;
}

#endif
