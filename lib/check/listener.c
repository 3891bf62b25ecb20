// SPDX-License-Identifier: MIT
/* Gives this library's functions to librxe_dm_check.so. */
#include "lib/check/listener.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "lib/check/check.h"
#include "lib/check/clock.h"
#include "lib/check/held.h"
#include "lib/check/mem_freed.h"
#include "lib/check/mem_stale.h"
#include "lib/check/region.h"
#include "lib/check/stack.h"
#include "lib/check/thread.h"
#include "lib/watch/watch.h"

/* The linker's: where this library is loaded. */
#pragma GCC visibility push(hidden)
extern const char __ehdr_start[];
extern const char _end[];
#pragma GCC visibility pop

static struct watch *watch; /* NULL: it is not loaded */

/* What the layer itself frees is not the program's. */
static void memory_ends(const void *addr, size_t len, enum watch_end how)
{
	if (check_is_inside())
		return;
	mem_freed(addr, len, how);
	mem_stale_ended(addr, len, how);
}

static void memory_made(const void *addr, size_t len)
{
	if (!check_is_inside())
		mem_stale_made(addr, len);
}

__attribute__((constructor)) static void listen(void)
{
	struct watch *(*find)(void) = (__typeof__(find))dlsym(RTLD_DEFAULT, WATCH_SYMBOL);

	watch = find ? find() : NULL;
	if (!watch)
		return;
	check_stack_leave_out(watch->start, watch->end);
	clock_number_by(watch->thread);
	watch->listener = (struct watch_listener){ memory_ends,	   memory_made,	 clock_acquired,
						   clock_released, __ehdr_start, _end };
}

/* Stored where it changes: each function that lib/watch replaces reads it, in all threads. */
static void set(_Atomic bool *wanted, bool to)
{
	if (atomic_load_explicit(wanted, memory_order_relaxed) != to)
		atomic_store(wanted, to);
}

void listener_refresh(void)
{
	if (!watch)
		return;
	set(&watch->memory, held_any() || region_any());
	set(&watch->made, mem_stale_any());
	set(&watch->order, thread_any());
}
