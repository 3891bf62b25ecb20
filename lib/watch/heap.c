// SPDX-License-Identifier: MIT
/* The heap. The allocator of the program decides how long a block is. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/watch/next.h"

/* Found together, before the first use. */
static struct {
	__typeof__(&malloc) malloc;
	__typeof__(&calloc) calloc;
	__typeof__(&realloc) realloc;
	__typeof__(&memalign) memalign;
	__typeof__(&aligned_alloc) aligned_alloc;
	__typeof__(&posix_memalign) posix_memalign;
	__typeof__(&free) free; /* the last: not NULL when all are there */
} next;

static __typeof__(&malloc_usable_size) usable_size;

/* A sanitizer's runtime calls the hooks: the replaced functions are silent. */
static bool hooked;

#define FIND(name) next.name = (__typeof__(next.name))watch_next(#name)

/* False: dlsym(3) itself asks for memory. It does without. */
static bool ready(void)
{
	static __thread bool finding;

	if (next.free)
		return true;
	if (finding)
		return false;
	finding = true;
	FIND(malloc);
	FIND(calloc);
	FIND(realloc);
	FIND(memalign);
	FIND(aligned_alloc);
	FIND(posix_memalign);
	/* The allocator in use knows: a runtime that is linked into the program comes first. */
	usable_size =
		(__typeof__(usable_size))dlsym(RTLD_DEFAULT, "__sanitizer_get_allocated_size");
	if (!usable_size)
		usable_size = (__typeof__(usable_size))dlsym(RTLD_DEFAULT, "malloc_usable_size");
	FIND(free);
	finding = false;
	return true;
}

static void block_ends(void *block)
{
	if (block && usable_size)
		watch_memory_ends(block, usable_size(block), WATCH_FREED);
}

static void hook_free(const volatile void *block)
{
	if (watch_wants_memory())
		block_ends((void *)(uintptr_t)block);
}

static void hook_malloc(const volatile void *block, size_t len)
{
	if (watch_wants_made() && block)
		watch_memory_made((void *)(uintptr_t)block, len);
}

static inline void *made(void *block, size_t len)
{
	if (!hooked && watch_wants_made() && block)
		watch_memory_made(block, len);
	return block;
}

__attribute__((constructor)) static void install_hooks(void)
{
	int (*install)(void (*)(const volatile void *, size_t), void (*)(const volatile void *)) =
		(__typeof__(install))dlsym(RTLD_DEFAULT,
					   "__sanitizer_install_malloc_and_free_hooks");

	if (ready())
		hooked = install && install(hook_malloc, hook_free);
}

WATCH_EXPORT void free(void *block)
{
	if (!ready())
		return;
	if (!hooked && watch_wants_memory())
		block_ends(block);
	next.free(block);
}

WATCH_EXPORT void *malloc(size_t len)
{
	return ready() ? made(next.malloc(len), len) : NULL;
}

WATCH_EXPORT void *calloc(size_t n, size_t len)
{
	return ready() ? made(next.calloc(n, len), n * len) : NULL;
}

/* Whether a block moves is known only afterwards. */
WATCH_EXPORT void *realloc(void *block, size_t len)
{
	size_t was = 0;
	void *ret;

	if (!ready())
		return NULL;
	if (!hooked && block && watch_wants_memory())
		was = usable_size(block);
	ret = next.realloc(block, len);
	if (was && ret != block && (ret || !len))
		watch_memory_ends(block, was, WATCH_MOVED);
	return made(ret, len);
}

WATCH_EXPORT void *memalign(size_t alignment, size_t len)
{
	return ready() ? made(next.memalign(alignment, len), len) : NULL;
}

WATCH_EXPORT void *aligned_alloc(size_t alignment, size_t len)
{
	return ready() ? made(next.aligned_alloc(alignment, len), len) : NULL;
}

WATCH_EXPORT int posix_memalign(void **ret, size_t alignment, size_t len)
{
	const int err = ready() ? next.posix_memalign(ret, alignment, len) : ENOMEM;

	if (!err)
		made(*ret, len);
	return err;
}
