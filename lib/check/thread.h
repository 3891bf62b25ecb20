/* SPDX-License-Identifier: MIT */
/* RXE-THREAD-001 and 002: a thread domain, or a single-threaded completion queue, is used by two
 * threads without an order between the uses. Under the layer's lock. */
#ifndef RXE_CHECK_THREAD_H
#define RXE_CHECK_THREAD_H

#include <stdbool.h>

struct check_object;

/* The object is for one thread at a time: a thread domain, or a completion queue that was asked to
 * be so. */
void thread_single(struct check_object *object);
/* The object belongs to the thread domain of another one, which is that domain or a protection
 * domain with it. of may be NULL. */
void thread_joins(struct check_object *object, const void *of);
/* The program uses the object by this verb. object may be NULL. */
void thread_used(const struct check_object *object, const char *verb);
bool thread_any(void);

#endif
