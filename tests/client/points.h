/* SPDX-License-Identifier: MIT */
/* Watches the cancellation points of pthreads(7): the program's own definitions of those functions
 * stand before libc's, so the library's calls pass here first. A call is noted when the thread says
 * that it is inside a verb and may be cancelled. */
#ifndef TESTS_CLIENT_POINTS_H
#define TESTS_CLIENT_POINTS_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread is inside verbs, or no longer. */
void points_watch(bool inside);
/* The first call that was noted ("write"), or NULL. */
const char *points_noted(void);
/* Calls of watched functions so far, of all threads, that were not noted: 0 means that nothing
 * passes here. */
uint32_t points_passed(void);

#endif
