/* SPDX-License-Identifier: MIT */
/* Starting a device server from inside a program that asked for something else: it must not notice. */
#ifndef RXE_CONTROL_START_H
#define RXE_CONTROL_START_H

/* The server's word to its starter: lines on descriptor CTL_READY_FD, each a tag and a text. */
#define CTL_READY_FD	 3
#define CTL_READY_OPTION "--ready-fd=3"

enum ctl_ready_tag {
	CTL_READY_ERROR = 'E',	/* a line for people */
	CTL_READY_NOTICE = 'N', /* likewise */
	CTL_READY_UP = 'R',	/* last line: it listens */
	CTL_READY_BUSY = 'B',	/* last line: another server of this instance was faster */
	CTL_READY_FAILED = 'F', /* last line: it has ended */
};

/* Run `rxe_dm start ARGS... --ready-fd=3` as a process of its own and wait until it says how it went. 0: up. -EALREADY:
 * another one is up, or about to be. Otherwise a negative errno, explained on the log. */
int ctl_start_server(const char *const *args);

#endif
