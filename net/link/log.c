// SPDX-License-Identifier: MIT
/* Warnings of links. */
#include "net/link/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void link_warn(struct link_log *log, enum link_cause cause, const char *format, ...)
{
	char line[256];
	va_list args;

	if (!log->write || (log->causes & cause))
		return;
	log->causes |= cause;
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log->write(log->arg, line);
}

int link_receive_failed(struct link_log *log, int error)
{
	if (error == EPERM || error == EACCES || error == ENOSYS)
		link_warn(log, LINK_RECEIVE_REFUSED,
			  "no packet can be received (recvmsg, recvmmsg): %s; a seccomp filter of "
			  "the program or its container refuses it: let it pass",
			  strerror(error));
	return error == EBADF || error == ENOTSOCK ? -error : 0;
}
