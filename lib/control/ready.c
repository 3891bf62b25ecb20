// SPDX-License-Identifier: MIT
/* The server's end of the pipe to its starter. */
#include "lib/control/ready.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/control/log.h"

void ctl_ready_send(enum ctl_ready_tag tag, const char *text)
{
	char line[600];
	int len = snprintf(line, sizeof(line), "%c%s\n", tag, text);

	if (write(CTL_READY_FD, line, (size_t)len) < 0)
		return; /* the starter has exited, and the server serves all the same */
}

static void log_to_starter(enum ctl_log_level level, const char *line)
{
	if (level != CTL_LOG_DEBUG)
		ctl_ready_send(level == CTL_LOG_ERROR ? CTL_READY_ERROR : CTL_READY_NOTICE, line);
}

void ctl_ready_log(void)
{
	fcntl(CTL_READY_FD, F_SETFD, FD_CLOEXEC);
	ctl_log_to(log_to_starter);
}
