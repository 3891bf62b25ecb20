/* SPDX-License-Identifier: MIT */
/* librxe_dm_check.so: what a checked program does beside verbs. Preloaded by `rxe_dm run --check`
 * only.
 *
 * It replaces functions of the C library that end memory or order threads, calls the next
 * definition of each, which may be a sanitizer's or another allocator's, and calls its listener,
 * lib/check in libibverbs.so.1. While the listener does not listen, a call costs one load more.
 * Where the program has a sanitizer's runtime, its hooks report malloc(3) and free(3), also where
 * the runtime is linked into the program.
 *
 *   next.c     the listener, and the next definitions
 *   heap.c     malloc(3), free(3) and their kind; the hooks of a sanitizer
 *   map.c      munmap(2), mremap(2), madvise(2)
 *   order.c    locks, semaphores, the begin and the end of threads
 *
 * It never changes what a call does, takes no lock of its own, and needs no other room. It
 * allocates only what hands a new thread its function. */
#ifndef RXE_WATCH_WATCH_H
#define RXE_WATCH_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum watch_end {
	WATCH_FREED,
	WATCH_UNMAPPED,
	WATCH_MOVED,
	WATCH_GIVEN_BACK, /* the pages, by madvise(2) */
};

/* Threads with a number of their own have 1 and up; all others share number 0. */
#define WATCH_THREADS 64u

/* Set by the listener once, before it listens. Called in the thread of the call, and never inside
 * another call of a listener's function in that thread. */
struct watch_listener {
	/* The bytes [addr, addr + len) are about to end, or have just moved. len is not 0. */
	void (*memory_ends)(const void *addr, size_t len, enum watch_end how);
	/* A block of the heap was allocated. */
	void (*memory_made)(const void *addr, size_t len);
	/* The thread has the lock, or gives it up: an order of threads. sync: the lock's address,
	 * or another number that stands for what orders. In any function of the program: it takes
	 * no memory. */
	void (*acquired)(uint32_t thread, const void *sync);
	void (*released)(uint32_t thread, const void *sync);
	/* Where the listener's library is loaded: its own calls are not reported. */
	const char *start, *end;
};

struct watch {
	const char *start, *end; /* where the library is loaded */
	struct watch_listener listener;
	/* The listener wants to know of memory that ends, of memory that is allocated, of what
	 * orders threads. */
	_Atomic bool memory, made, order;
	uint32_t (*thread)(void); /* the calling thread */
};

/* The name of a function that returns the library's struct watch, for dlsym(3). */
#define WATCH_SYMBOL "rxe_dm_watch"

#endif
