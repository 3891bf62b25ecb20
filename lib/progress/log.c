// SPDX-License-Identifier: MIT
/* The library's log. */
#include "lib/progress/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "net/link/descriptor.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int highest_level = RXE_LOG_WARNING;
/* VERBS_LOG_FILE. */
static int file_fd = -1;

static void read_environment(void)
{
	const char *level = secure_getenv("VERBS_LOG_LEVEL");
	const char *file = secure_getenv("VERBS_LOG_FILE");

	if (level && *level)
		highest_level = (int)strtol(level, NULL, 10);
	if (file && *file)
		file_fd = descriptor_keep(
			open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
}

void rxe_log(enum rxe_log_level level, const char *format, ...)
{
	static const char prefix[] = "rxe_dm: ";
	int saved = errno;
	char line[600];
	size_t len = sizeof(prefix) - 1;
	va_list args;
	int n;
	NO_CANCEL;

	pthread_once(&once, read_environment);
	if ((int)level > highest_level)
		return;

	memcpy(line, prefix, len);
	va_start(args, format);
	n = vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	va_end(args);
	if (n < 0)
		return;
	len += (size_t)n < sizeof(line) - len - 1 ? (size_t)n : sizeof(line) - len - 2;
	line[len++] = '\n';
	assert(len <= sizeof(line));
	/* One write, so that lines of several processes do not mix. */
	if (write(descriptor_is_kept(file_fd) ? file_fd : STDERR_FILENO, line, len) < 0)
		errno = saved;
	errno = saved;
}

static void from_control(enum ctl_log_level level, const char *line)
{
	switch (level) {
	case CTL_LOG_ERROR: rxe_log(RXE_LOG_ERROR, "%s", line); return;
	case CTL_LOG_NOTICE: rxe_log(RXE_LOG_WARNING, "%s", line); return;
	case CTL_LOG_DEBUG: rxe_log(RXE_LOG_DEBUG, "%s", line); return;
	}
}

void rxe_log_control(void)
{
	ctl_log_to(from_control);
}
