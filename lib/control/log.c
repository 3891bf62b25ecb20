// SPDX-License-Identifier: MIT
/* Formats one line and passes it to the sink, the file or stderr. */
#include "lib/control/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/cancel.h"
#include "net/link/descriptor.h"

static const char prefix[] = "rxe_dm: ";
#define PREFIX_LEN (sizeof(prefix) - 1)

typedef void (*log_sink)(enum ctl_log_level level, const char *line);

static _Atomic(log_sink) log_sink_now;
static _Atomic int log_most = CTL_LOG_ERROR;
static _Atomic bool log_chosen; /* VERBS_LOG_LEVEL is set */
/* VERBS_LOG_FILE; -1: none. */
static _Atomic int log_fd = -1;

void ctl_log_to(void (*sink)(enum ctl_log_level level, const char *line))
{
	atomic_store(&log_sink_now, sink);
}

void ctl_log_stderr(enum ctl_log_level most)
{
	atomic_store(&log_sink_now, (log_sink)NULL);
	atomic_store(&log_most, (int)most);
}

static void read_environment(void)
{
	const char *level = secure_getenv("VERBS_LOG_LEVEL");
	const char *file = secure_getenv("VERBS_LOG_FILE");

	atomic_store(&log_chosen, level && *level);
	atomic_store(&log_most, level && *level ? (int)strtol(level, NULL, 10) : CTL_LOG_WARNING);
	if (file && *file)
		atomic_store(&log_fd,
			     descriptor_keep(
				     open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)));
}

void ctl_log_as_verbs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	NO_CANCEL;

	pthread_once(&once, read_environment);
}

bool ctl_log_is_chosen(void)
{
	return atomic_load(&log_chosen);
}

/* The text may come from another program: replaces control characters, so that a line stays one
 * line and cannot control a terminal. */
static void make_plain(char *line)
{
	for (; *line; line++) {
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			*line = '?';
	}
}

/* One write, so that lines of several processes do not mix. */
static void write_line(const char *line, size_t len)
{
	const int fd = atomic_load(&log_fd);

	if (write(descriptor_is_kept(fd) ? fd : STDERR_FILENO, line, len) < 0)
		return; /* no output is left to report to */
}

void ctl_log(enum ctl_log_level level, const char *format, ...)
{
	const int saved = errno;
	log_sink sink = atomic_load(&log_sink_now);
	char line[PREFIX_LEN + 600];
	size_t len;
	va_list args;
	NO_CANCEL;

	if (!sink && (int)level > atomic_load(&log_most))
		return;

	memcpy(line, prefix, PREFIX_LEN);
	va_start(args, format);
	vsnprintf(line + PREFIX_LEN, sizeof(line) - PREFIX_LEN, format, args);
	va_end(args);
	make_plain(line);
	if (sink) {
		sink(level, line + PREFIX_LEN);
	} else {
		len = strlen(line);
		assert(len < sizeof(line));
		line[len++] = '\n';
		write_line(line, len);
	}
	errno = saved;
}
