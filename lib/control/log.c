// SPDX-License-Identifier: MIT
/* Formats one line and passes it to the sink or to stderr. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/control/log.h"

typedef void (*log_sink)(enum ctl_log_level level, const char *line);

static _Atomic(log_sink) log_sink_now;
static _Atomic int log_most = CTL_LOG_ERROR;

void ctl_log_to(void (*sink)(enum ctl_log_level level, const char *line))
{
	atomic_store(&log_sink_now, sink);
}

void ctl_log_stderr(enum ctl_log_level most)
{
	atomic_store(&log_sink_now, (log_sink)NULL);
	atomic_store(&log_most, (int)most);
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

void ctl_log(enum ctl_log_level level, const char *format, ...)
{
	log_sink sink = atomic_load(&log_sink_now);
	char line[512];
	va_list args;

	if (!sink && (int)level > atomic_load(&log_most))
		return;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	make_plain(line);
	if (sink)
		sink(level, line);
	else
		fprintf(stderr, "rxe_dm: %s\n", line);
}
