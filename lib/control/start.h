/* SPDX-License-Identifier: MIT */
/* Starts a device server from inside a program, which sees neither a child process nor a signal. */
#ifndef RXE_CONTROL_START_H
#define RXE_CONTROL_START_H

/* Runs `rxe_dm ARGS... --ready-fd=3` as a process of its own and waits until the server reports its
 * state. 0: the server is up. -EALREADY: another server of the instance is up or starts. Otherwise
 * a negative errno, explained on the log. */
int ctl_start_server(const char *const *args);

#endif
