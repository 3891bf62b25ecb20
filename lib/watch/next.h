/* SPDX-License-Identifier: MIT */
/* Inside the room: the state, and how a replaced function reaches the next definition. */
#ifndef RXE_WATCH_NEXT_H
#define RXE_WATCH_NEXT_H

#include "lib/watch/watch.h"

#define WATCH_EXPORT __attribute__((visibility("default")))

extern struct watch watch;

/* The listener's way to it: WATCH_SYMBOL. */
WATCH_EXPORT struct watch *rxe_dm_watch(void);

/* The next definition of a function of the C library; the program ends where there is none. */
void *watch_next(const char *name);

static inline bool watch_wants_memory(void)
{
	return atomic_load_explicit(&watch.memory, memory_order_relaxed);
}

static inline bool watch_wants_made(void)
{
	return atomic_load_explicit(&watch.made, memory_order_relaxed);
}

void watch_memory_ends(const void *addr, size_t len, enum watch_end how);
void watch_memory_made(const void *addr, size_t len);
void watch_acquired(const void *sync);
void watch_released(const void *sync);
/* Gives the calling thread a number. */
void watch_thread_begins(void);

#endif
