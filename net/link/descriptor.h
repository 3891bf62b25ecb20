/* SPDX-License-Identifier: MIT */
/* Kept descriptors: descriptors in the table of a program that does not know of them. The program
 * may close them (closefrom(3)) and open others with the same numbers. A kept descriptor has a high
 * number, which is seldom reused, and a mark on its open file: SIGIO as the signal of O_ASYNC,
 * which changes nothing, because O_ASYNC stays off and SIGIO is its default.
 *
 * The functions take no lock and allocate nothing, so the child of a fork() may call them. */
#ifndef RXE_LINK_DESCRIPTOR_H
#define RXE_LINK_DESCRIPTOR_H

#include <stdbool.h>

/* Takes over fd and returns its new number. A negative fd is returned unchanged; errno is
 * preserved. */
int descriptor_keep(int fd);
/* Whether fd is still a kept descriptor. One system call. False for a negative fd. */
bool descriptor_is_kept(int fd);
/* Closes a kept descriptor. Does nothing if the program has closed it. */
void descriptor_close(int fd);
/* Takes over fd and moves it to the number of a kept descriptor, which is closed. Only closes fd if
 * the program has taken that number. */
void descriptor_replace(int kept, int fd);

#endif
