/* SPDX-License-Identifier: MIT */
/* What a process under `rxe_dm run --check` publishes in its slot: its last accesses of memory
 * that peers reach, and what orders them. Without --check no page of it is touched. Only the slot's
 * process writes it; the checks of other processes read it (lib/check/access.h). A process may
 * write anything there: readers bound each number. */
#ifndef RXE_CONTROL_CHECKED_H
#define RXE_CONTROL_CHECKED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/limits.h"
#include "lib/control/shared.h"

#define CTL_ACCESSES	  512u /* in the log of a process; the oldest give way */
#define CTL_ACCESS_PAGES  1024u
#define CTL_ACCESS_DEPTH  14u
#define CTL_ACCESS_OF_DM  RXE_MAX_SLOTS
#define CTL_CHECK_MODULES 64u

enum ctl_access_flag {
	CTL_ACCESS_WRITES = 1 << 0, /* to the bytes */
	CTL_ACCESS_REMOTE = 1 << 1, /* else by the process that has the memory */
	CTL_ACCESS_ATOMIC = 1 << 2,
	CTL_ACCESS_RDMA_WRITE = 1 << 3, /* the request is an RDMA WRITE */
	CTL_ACCESS_MESSAGE = 1 << 4,	/* the request takes a receive */
	/* No request: the process has freed, unmapped or moved the bytes, which a region has. */
	CTL_ACCESS_ENDED = 1 << 5,
};

/* Bytes that a request reads or writes. */
struct ctl_access {
	/* The place in the process's order of posts, from 1 on; 0: empty. Cleared first, set
	 * last. */
	_Atomic uint64_t number;
	/* The process's clock when its completion was polled; 0: the request is outstanding. */
	_Atomic uint64_t done;
	uint64_t start, end; /* addresses in the process of slot owner */
	/* CTL_ACCESS_OF_DM: they are offsets in the device's arena, and owner_epoch is the handle
	 * of the device memory. */
	uint32_t owner, owner_epoch;
	uint32_t flags; /* enum ctl_access_flag */
	uint32_t qpn, dest_qpn;
	uint32_t key;
	uint64_t message; /* how many of its queue pair, up to it, take a receive */
	uint64_t wr_id;
	uint32_t thread, depth; /* where it was posted */
	uint64_t pc[CTL_ACCESS_DEPTH];
};
static_assert(sizeof(struct ctl_access) == 192, "shared memory layout");

/* An executable or shared object of the process. */
struct ctl_module {
	uint64_t start, end; /* where it is loaded */
	uint64_t base;	     /* what its addresses count from */
	uint8_t build_id[20];
	uint32_t build_id_len;
	char path[232];
};
static_assert(sizeof(struct ctl_module) == 280, "shared memory layout");

struct ctl_modules {
	_Atomic uint32_t count; /* raised when the entry is complete */
	uint32_t reserved;
	struct ctl_module at[CTL_CHECK_MODULES];
};

struct ctl_checked {
	/* ctl_slot.epoch of the process that writes; another value: the process is not checked. */
	_Atomic uint32_t epoch;
	_Atomic uint32_t count, num_long; /* accesses in the log; of too many pages to count */
	uint32_t reserved;
	/* Accesses in the log, by a hash of owner and page. */
	_Atomic uint16_t pages[CTL_ACCESS_PAGES];
	/* lib/check/vector.h. clock goes on from one process of the slot to the next. By slot: what
	 * this process knows of the clock there, its clock when it last wrote to memory there. */
	_Atomic uint64_t clock, known[RXE_MAX_SLOTS], reported[RXE_MAX_SLOTS];
	/* By queue pair: messages that the program has polled; the number of the last access that
	 * writes to the peer. */
	_Atomic uint64_t received[RXE_MAX_QP];
	_Atomic uint64_t wrote[RXE_MAX_QP];
	struct ctl_modules modules;
	/* At number % CTL_ACCESSES. */
	struct ctl_access access[CTL_ACCESSES];
};
static_assert(sizeof(struct ctl_checked) <= CTL_CHECKED_BYTES, "shared memory layout");

static inline const struct ctl_checked *ctl_checked(const struct ctl_slot *slot)
{
	return (const struct ctl_checked *)(const void *)slot->checked;
}

#endif
