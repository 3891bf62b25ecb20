/* SPDX-License-Identifier: MIT */
/* Touching memory that may not be there: false instead of SIGSEGV or SIGBUS. */
#ifndef RXE_PROGRESS_MEMORY_H
#define RXE_PROGRESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/host.h"

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

/* The engine's memory (struct rxe_host_ops); host is the struct progress. The caller holds the slot's gauge. */
bool vb_mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len);
bool vb_mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src, size_t len);
bool vb_mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		   uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig);

#endif
