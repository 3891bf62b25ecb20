/* SPDX-License-Identifier: MIT */
/* Touching memory that may not be there: false instead of SIGSEGV or SIGBUS. */
#ifndef RXE_PROGRESS_MEMORY_H
#define RXE_PROGRESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Our handlers are the process's, in front of whoever had the signals before. Seen to at each registration and by the first
 * access of each turn, because a program may have replaced them since. */
void vb_memory_guard(void);
/* The calling thread is done with memory that may fault, for now: its signal mask is what it was. */
void vb_memory_turn_ends(void);
/* In the child after fork(): nobody holds the lock of it. */
void vb_memory_forked(void);

/* Is [addr, addr + len) mapped, and writable if write? Pages are made present; their content stays as it is. */
bool vb_memory_probe(const void *addr, size_t len, bool write);
/* The same for memory to be registered: 0, EFAULT, or ENOMEM: the machine has not so much, and no page was touched. */
int vb_memory_admit(const void *addr, size_t len, bool write);
/* Bytes of the pages of [addr, addr + len) that are not present. */
uint64_t vb_memory_absent(const void *addr, size_t len);

/* memcpy both of whose sides may fault. */
bool vb_memory_copy(void *dst, const void *src, size_t len);
/* The same for bytes that somebody spins on: the last one is stored last, an aligned word of up to 8 bytes whole. */
bool vb_memory_land(void *dst, const void *src, size_t len);

#endif
