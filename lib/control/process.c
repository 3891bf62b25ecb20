// SPDX-License-Identifier: MIT
/* Reads /proc and files of cgroups. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/folder.h"
#include "lib/control/process.h"

/* Threads of a process that are looked at. */
#define THREADS 3

#define PATH_BYTES 512
#define TEXT_BYTES 4096

/* Reads up to TEXT_BYTES - 1 bytes, without the memory of a stream. False: nothing is readable. */
static bool read_file(const char *path, char ret[static TEXT_BYTES])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, ret, TEXT_BYTES - 1);
	close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* states: letters of proc(5). */
static bool thread_is(pid_t pid, pid_t tid, const char *states)
{
	char path[PATH_BYTES], stat[TEXT_BYTES];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (!read_file(path, stat))
		return false;
	/* "PID (NAME) STATE ...": the name may hold anything. */
	name_end = strrchr(stat, ')');
	return name_end && name_end[1] == ' ' && name_end[2] && strchr(states, name_end[2]);
}

static bool other_thread_is(pid_t pid, const char *states)
{
	struct ctl_folder folder;
	char path[PATH_BYTES];
	const char *name;
	uint32_t looked = 0;
	bool ret = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	ctl_folder_open(&folder, path);
	while (!ret && looked < THREADS && (name = ctl_folder_next(&folder))) {
		const int tid = atoi(name);

		if (tid == 0 || tid == pid)
			continue;
		looked++;
		ret = thread_is(pid, tid, states);
	}
	ctl_folder_close(&folder);
	return ret;
}

/* Whether a file of a cgroup's freezer holds a text. line: the cgroup, from /proc/PID/cgroup. */
static bool freezer_says(const char *folder, const char *line, const char *file, const char *what)
{
	const char *group = strrchr(line, ':');
	char path[PATH_BYTES], text[TEXT_BYTES];

	if (!group || (size_t)snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", folder,
				       group + 1, file) >= sizeof(path))
		return false;
	return read_file(path, text) && strstr(text, what) != NULL;
}

/* Lines of cgroup version 2 are "0::/GROUP", those of version 1 "3:freezer:/GROUP". */
static bool is_frozen(pid_t pid)
{
	char path[PATH_BYTES], groups[TEXT_BYTES], *rest, *line;
	bool ret = false;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (!read_file(path, groups))
		return false;
	for (line = strtok_r(groups, "\n", &rest); line && !ret;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "0::", 3))
			ret = freezer_says("", line, "cgroup.events", "frozen 1") ||
			      freezer_says("/unified", line, "cgroup.events", "frozen 1");
		else if (strstr(line, ":freezer:"))
			ret = freezer_says("/freezer", line, "freezer.state", "FROZEN");
	}
	return ret;
}

/* Its first thread, or one of the next few. */
static bool process_is(pid_t pid, const char *states)
{
	return thread_is(pid, pid, states) || other_thread_is(pid, states);
}

/* T: by a signal, t: by a tracer. */
bool ctl_process_is_stopped(pid_t pid)
{
	return process_is(pid, "Tt") || is_frozen(pid);
}

bool ctl_process_is_runnable(pid_t pid)
{
	return process_is(pid, "R");
}

bool ctl_thread_is_runnable(pid_t tid)
{
	return thread_is(getpid(), tid, "R");
}

void ctl_process_comm(char ret[static 16])
{
	const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, ret, 15) : 0;

	if (fd >= 0)
		close(fd);
	len -= len > 0 && ret[len - 1] == '\n';
	ret[len > 0 ? len : 0] = '\0';
}
