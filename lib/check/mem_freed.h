/* SPDX-License-Identifier: MIT */
/* RXE-MEM-004: memory ends while a request needs it. */
#ifndef RXE_CHECK_MEM_FREED_H
#define RXE_CHECK_MEM_FREED_H

#include <stddef.h>

#include "lib/watch/watch.h"

/* Without the layer's lock. */
void mem_freed(const void *addr, size_t len, enum watch_end how);

#endif
