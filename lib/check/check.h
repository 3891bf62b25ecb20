/* SPDX-License-Identifier: MIT */
/* The layer of `rxe_dm run --check`: what a program does wrong with verbs.
 *
 * libibverbs.so.1 is built twice. The second build, in a folder of its own, is made of the same
 * objects and of this room: each exported verb that is checked is defined in wrap_*.c under its
 * public name and calls the first build's function as inner_NAME (inner.h); operations that
 * programs reach by tables are replaced when an object is made. So the first build has not one
 * instruction of this room, and calls inside the library are not checked.
 *
 *   report.c stack.c      findings: once in full, then counted; stacks
 *   object.c              the shadow of each object: label, stack of its making, alive or destroyed
 *   queue.c region.c      requests from post to completion; regions by key
 *   held.c                the memory that outstanding requests hold
 *   clock.c thread.c      the order of threads
 *   remote.c race.c       requests and their peers, races of requests
 *   window.c              what lies below the key of a memory window
 *   access.c vector.c     what processes publish for each other, in their slots of the device
 *   race_process.c        races, and memory that ends, between processes
 *   mem_peer.c
 *   listener.c            what lib/watch reports of the program
 *   mem_*.c queue_*.c     the checks, a file for each or for a few that look at the same thing
 *   event.c life.c
 *   cm.c                  ids, channels and events of librdmacm, called by cm/wrap_cm.c
 *   hooks.h               which check looks at which event
 *   wrap_*.c              the verbs
 *
 * A new check: one row in lib/findings/table, one function that hooks.h calls, one pair of programs
 * in tests/client/mistakes.
 *
 * One mutex protects all of it (check_lock()). It is never held while an inner function runs: the
 * engine may ask for memory that a check looks at. The room never changes what a program gets,
 * except that a destroyed object is refused and fields of completions that are not valid hold
 * a pattern. It knows nothing of sockets or of the engine. */
#ifndef RXE_CHECK_CHECK_H
#define RXE_CHECK_CHECK_H

#include <stdbool.h>

#include "lib/findings/table.h"

/* Takes the layer's lock; errno stays as it was until check_unlock(), which restores it. */
void check_lock(void);
void check_unlock(void);
/* This thread holds the lock, or is about to take it. */
bool check_is_inside(void);
/* Called without the lock by the first check_lock() in the child of a fork(). */
void check_in_child(void (*begin)(void));
/* Is the check selected (RXE_DM_CHECK)? */
bool check_is_on(enum check check);

#endif
