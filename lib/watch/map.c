// SPDX-License-Identifier: MIT
/* Mappings that end, move or lose their pages. */
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include "lib/watch/next.h"

WATCH_EXPORT int munmap(void *addr, size_t len)
{
	static __typeof__(&munmap) next;

	if (!next)
		next = (__typeof__(next))watch_next("munmap");
	if (watch_wants_memory())
		watch_memory_ends(addr, len, WATCH_UNMAPPED);
	return next(addr, len);
}

/* Whether a mapping moves is known only afterwards. */
WATCH_EXPORT void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	static __typeof__(&mremap) next;
	va_list args;
	void *fixed, *ret;

	va_start(args, flags);
	fixed = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
	va_end(args);
	if (!next)
		next = (__typeof__(next))watch_next("mremap");
	ret = next(old, old_len, len, flags, fixed);
	if (!watch_wants_memory() || ret == MAP_FAILED)
		return ret;
	if (ret != old)
		watch_memory_ends(old, old_len, WATCH_MOVED);
	else if (len < old_len)
		watch_memory_ends((char *)old + len, old_len - len, WATCH_UNMAPPED);
	return ret;
}

WATCH_EXPORT int madvise(void *addr, size_t len, int advice)
{
	static __typeof__(&madvise) next;

	if (!next)
		next = (__typeof__(next))watch_next("madvise");
	if (watch_wants_memory() &&
	    (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE))
		watch_memory_ends(addr, len, WATCH_GIVEN_BACK);
	return next(addr, len, advice);
}
