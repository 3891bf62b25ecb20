// SPDX-License-Identifier: MIT
/* The listener, and the next definitions. */
#include "lib/watch/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The linker's. */
#pragma GCC visibility push(hidden)
extern const char __ehdr_start[];
extern const char _end[];
#pragma GCC visibility pop

/* 0: none. The first thread has 1. */
static __thread uint32_t number;
static _Atomic uint32_t num_threads = 1;

static uint32_t thread(void)
{
	if (!number && gettid() == getpid())
		number = 1;
	return number;
}

struct watch watch = { .start = __ehdr_start, .end = _end, .thread = thread };

/* The listener is running in this thread: what it does itself is not the program's. */
static __thread bool telling;

struct watch *rxe_dm_watch(void)
{
	return &watch;
}

void *watch_next(const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	if (!next)
		abort();
	return next;
}

void watch_memory_ends(const void *addr, size_t len, enum watch_end how)
{
	const int err = errno;

	if (telling || len == 0)
		return;
	telling = true;
	watch.listener.memory_ends(addr, len, how);
	telling = false;
	errno = err;
}

void watch_memory_made(const void *addr, size_t len)
{
	const int err = errno;

	if (telling || len == 0)
		return;
	telling = true;
	watch.listener.memory_made(addr, len);
	telling = false;
	errno = err;
}

void watch_acquired(const void *sync)
{
	if (telling)
		return;
	telling = true;
	watch.listener.acquired(thread(), sync);
	telling = false;
}

void watch_released(const void *sync)
{
	if (telling)
		return;
	telling = true;
	watch.listener.released(thread(), sync);
	telling = false;
}

void watch_thread_begins(void)
{
	const uint32_t next = atomic_fetch_add(&num_threads, 1) + 1;

	number = next < WATCH_THREADS ? next : 0;
}
