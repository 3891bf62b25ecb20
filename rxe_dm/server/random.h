/* SPDX-License-Identifier: MIT */
/* Random numbers for tokens, keys and QP numbers: from getrandom(2), or from /dev/urandom where a
 * system call filter refuses that. */
#ifndef RXE_SERVER_RANDOM_H
#define RXE_SERVER_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/* Called before the server serves. False: there are no random numbers; explained on the log. */
bool random_check(void);
/* Fills len bytes. random_check() has succeeded. */
void random_fill(void *ret, size_t len);

#endif
