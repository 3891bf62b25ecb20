/* SPDX-License-Identifier: MIT */
/* Descriptors in the table of a program that does not know of them: it may close all of them (closefrom(3)) and open others by
 * the same numbers. What is kept here gets a high number, which is seldom used again, and a mark that goes with the open file:
 * SIGIO as the signal of O_ASYNC, which means the same as none, and which O_ASYNC alone would send.
 *
 * Without lock or memory: also for the child of a fork(). */
#ifndef RXE_LINK_DESCRIPTOR_H
#define RXE_LINK_DESCRIPTOR_H

#include <stdbool.h>

/* Takes over fd, and returns its number from now on. Below 0: returned as it is, with errno. */
int descriptor_keep(int fd);
/* Is the number still that of a kept descriptor? One system call. False below 0. */
bool descriptor_is_kept(int fd);
/* Closes it, unless the program did. */
void descriptor_close(int fd);
/* Takes over fd and puts it at the number of a kept descriptor, in whose place it is kept; closes fd where the program took the
 * number. */
void descriptor_replace(int kept, int fd);

#endif
