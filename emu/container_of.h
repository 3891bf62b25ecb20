/* SPDX-License-Identifier: MIT */
/* From a member's address to the structure that embeds it. */
#ifndef RXE_EMU_CONTAINER_OF_H
#define RXE_EMU_CONTAINER_OF_H

#include <stddef.h>

#define container_of(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))

#endif
