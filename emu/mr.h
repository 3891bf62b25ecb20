/* SPDX-License-Identifier: MIT */
/* Memory regions: the key table in shared memory, and the check of an access.
 *
 * Only the device server writes the table; engines in client processes read it. An engine keeps
 * its slot's gauge above zero from the lookup of a key to the last byte moved. The server reuses
 * an entry, or a range of the arena, only after the key was cleared and every gauge was seen at
 * zero. So a reader needs no second check. */
#ifndef RXE_EMU_MR_H
#define RXE_EMU_MR_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"

/* Values of enum ibv_access_flags. */
enum rxe_right {
	RXE_LOCAL_WRITE = 1 << 0,
	RXE_REMOTE_WRITE = 1 << 1,
	RXE_REMOTE_READ = 1 << 2,
	RXE_REMOTE_ATOMIC = 1 << 3,
	RXE_MW_BIND = 1 << 4,
	RXE_ZERO_BASED = 1 << 5,
	RXE_ON_DEMAND = 1 << 6,
	RXE_FLUSH_GLOBAL = 1 << 8,
	RXE_FLUSH_PERSISTENT = 1 << 9,
	RXE_RELAXED_ORDERING = 1 << 20,
};

enum rxe_mr_kind {
	RXE_MR_PLAIN = 1, /* addr is a virtual address in the process at slot owner */
	RXE_MR_ARENA = 2, /* addr is an offset in the device's arena */
	/* Memory windows (mw.h): addr is the place of the binding in the owner's table. */
	RXE_MR_WINDOW_1 = 3,
	RXE_MR_WINDOW_2 = 4,
	RXE_MR_NULL = 5, /* no memory: reads as zeros, discards what is written */
};

/* One entry, 64 bytes. lkey and rkey are the same number: index << 16 | tag. A tag returns
 * after 16 uses of its index at the earliest. */
struct rxe_mr {
	/* 0: free. Granting stores it last (release), freeing first. Pairs with rxe_mr_find(). */
	_Atomic uint32_t key;
	/* Handle of the underlying PD (the server resolves parent domains). */
	uint32_t pd;
	uint64_t iova; /* keys address [iova, iova + len) */
	uint64_t len;
	uint64_t addr;
	uint32_t rights; /* enum rxe_right */
	uint32_t kind;	 /* enum rxe_mr_kind */
	/* Slot of the process that holds the memory; 0 for the arena. */
	uint32_t owner;
	uint32_t dm;   /* RXE_MR_ARENA: handle of the device memory */
	uint32_t dmah; /* handle of its DMA handle, or 0 */
	/* Counts fork() of the owner: the parent's memory is not the child's. */
	uint32_t epoch;
	uint32_t reserved[2];
};
static_assert(sizeof(struct rxe_mr) == 64, "shared memory layout");

struct rxe_mr_table {
	struct rxe_mr entry[RXE_MAX_MR];
};

enum mr_check {
	MR_OK,
	MR_BAD_KEY,
	MR_BAD_PD,
	MR_BAD_RIGHTS,
	MR_BAD_RANGE,
	MR_BAD_QP,   /* a window that another queue pair has bound */
	MR_FAULT,    /* the memory behind the region is unmapped */
	MR_DEFERRED, /* the memory is not ready: try again */
};

static inline uint32_t rxe_key_index(uint32_t key)
{
	return key >> 16;
}

static inline bool rxe_mr_is_window(const struct rxe_mr *mr)
{
	return mr->kind == RXE_MR_WINDOW_1 || mr->kind == RXE_MR_WINDOW_2;
}

/* The region that a key names, or NULL. */
const struct rxe_mr *rxe_mr_find(const struct rxe_mr_table *table, uint32_t key);

/* Whether the entry's key allows this access to [iova, iova + len) for a QP or SRQ of domain pd.
 * Pure: the caller turns the result into a NAK or a completion. A zero-length access other than a
 * FLUSH does not check its key (IBTA 9.7.5.1.6). */
enum mr_check rxe_mr_check(const struct rxe_mr *mr, uint32_t pd, uint32_t rights, uint64_t iova,
			   uint64_t len);

#endif
