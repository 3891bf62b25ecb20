/* SPDX-License-Identifier: MIT */
/* Access to memory that may not be mapped: false instead of SIGSEGV or SIGBUS. host.c
 * and remote.c reach the program's memory and the arena by these functions only, and lib/verbs asks
 * when memory is registered. */
#ifndef RXE_PROGRESS_MEMORY_H
#define RXE_PROGRESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/host.h"

/* Installs handlers of SIGSEGV and SIGBUS in front of the program's. A program may replace them at
 * any time, so each registration, and accesses once a millisecond, install them again. */
void memory_guard(void);
/* The calling thread is about to run the engine at this time (CLOCK_MONOTONIC): accesses up to
 * memory_turn_ends() may trust what was checked less than a millisecond ago. An access outside such
 * a turn checks by itself, and is also followed by memory_turn_ends(). */
void memory_turn_begins(uint64_t now_ns);
/* The same for accesses of the calling thread outside the engine: reads the clock. */
void memory_turn_begins_now(void);
/* The calling thread has finished its accesses for now: its signal mask is restored. */
void memory_turn_ends(void);
/* In the child after fork(): no thread holds the lock of the handlers. */
void memory_forked(void);

/* Is [addr, addr + len) mapped, and writable if write? Makes the pages present, and does not change
 * what they hold. len is not 0. */
bool memory_probe(const void *addr, size_t len, bool write);
/* May this memory be registered? 0, EFAULT, or ENOMEM: the machine has too little memory, and no
 * page was touched. */
int memory_admit(const void *addr, size_t len, bool write);
/* Bytes of the pages of [addr, addr + len) that are not present. */
uint64_t memory_absent(const void *addr, size_t len);

/* memcpy(3), where both sides may fault. */
bool memory_copy(void *dst, const void *src, size_t len);
/* The same for bytes that a program spins on: stores the last byte last, as part of an aligned word
 * of up to 8 bytes. */
bool memory_copy_in_order(void *dst, const void *src, size_t len);
/* An atomic of the CPU on 8 bytes; false also where they are not aligned. */
bool memory_atomic(uint8_t *p, enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		   uint64_t *ret_orig);

#endif
