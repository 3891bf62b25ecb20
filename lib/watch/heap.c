// SPDX-License-Identifier: MIT
/* The heap. The allocator of the program decides how long a block is. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/watch/next.h"

static __typeof__(&free) next_free;
static __typeof__(&realloc) next_realloc;
static __typeof__(&malloc_usable_size) usable_size;

/* A sanitizer's runtime calls the hooks: the replaced functions are silent. */
static bool hooked;

static void find_next(void)
{
	next_realloc = (__typeof__(next_realloc))watch_next("realloc");
	/* The allocator in use knows: a runtime that is linked into the program comes first. */
	usable_size =
		(__typeof__(usable_size))dlsym(RTLD_DEFAULT, "__sanitizer_get_allocated_size");
	if (!usable_size)
		usable_size = (__typeof__(usable_size))dlsym(RTLD_DEFAULT, "malloc_usable_size");
	next_free = (__typeof__(next_free))watch_next("free");
}

static void block_ends(void *block, enum watch_end how)
{
	if (block && usable_size)
		watch_memory_ends(block, usable_size(block), how);
}

static void hook_free(const volatile void *block)
{
	if (watch_wants_memory())
		block_ends((void *)(uintptr_t)block, WATCH_FREED);
}

static void hook_malloc(const volatile void *block, size_t len)
{
	(void)block;
	(void)len;
}

__attribute__((constructor)) static void install_hooks(void)
{
	int (*install)(void (*)(const volatile void *, size_t), void (*)(const volatile void *)) =
		(__typeof__(install))dlsym(RTLD_DEFAULT,
					   "__sanitizer_install_malloc_and_free_hooks");

	if (!next_free)
		find_next();
	hooked = install && install(hook_malloc, hook_free);
}

/* dlsym(3) may free before the next definition is known: that little leaks. */
WATCH_EXPORT void free(void *block)
{
	static __thread bool finding;

	if (!next_free) {
		if (finding)
			return;
		finding = true;
		find_next();
		finding = false;
	}
	if (!hooked && watch_wants_memory())
		block_ends(block, WATCH_FREED);
	next_free(block);
}

/* Whether a block moves is known only afterwards. */
WATCH_EXPORT void *realloc(void *block, size_t len)
{
	size_t was = 0;
	void *ret;

	if (!next_realloc)
		find_next();
	if (!hooked && block && watch_wants_memory())
		was = usable_size(block);
	ret = next_realloc(block, len);
	if (was && ret != block && (ret || !len))
		watch_memory_ends(block, was, WATCH_MOVED);
	return ret;
}
