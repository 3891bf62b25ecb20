/* SPDX-License-Identifier: MIT */
/* The start of a device server by a program or a command, and what the server reports to its
 * starter: lines on CTL_READY_FD, each a tag and a text. */
#ifndef RXE_CONTROL_START_H
#define RXE_CONTROL_START_H

/* Runs `rxe_dm ARGS... --ready-fd=3` as a process of its own, and waits until the server
 * reports its state. 0: it is up. -EALREADY: another server of the instance is up or starts.
 * Otherwise a negative errno, explained on the log. */
int ctl_start_server(const char *const *args);

#define CTL_READY_FD	 3
#define CTL_READY_OPTION "--ready-fd=3"

enum ctl_ready_tag {
	CTL_READY_ERROR = 'E',	/* an error, for the log */
	CTL_READY_NOTICE = 'N', /* a notice, for the log */
	CTL_READY_UP = 'R',	/* last line: the server listens */
	CTL_READY_BUSY = 'B',	/* last line: another server of this instance runs already */
	CTL_READY_FAILED = 'F', /* last line: the server ends */
};

/* Server: sends one line. A starter that has exited is ignored. */
void ctl_ready_send(enum ctl_ready_tag tag, const char *text);
/* Server: sends errors and notices of the log to the starter. CTL_READY_FD must be open. */
void ctl_ready_log(void);

#endif
