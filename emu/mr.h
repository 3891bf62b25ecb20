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
#include <stddef.h>
#include <stdint.h>

#include "emu/limits.h"

struct rxe_engine;
struct rxe_qp;
struct rxe_send_wqe;

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
	/* Memory windows (below): addr is the place of the binding in the owner's table. */
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
	MR_FAULT,    /* the memory of the region is unmapped */
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

/* Memory windows (IBTA 10.6.7.2): keys that open a part of a region to peers, and close it again,
 * without a call to the device server.
 *
 * The server enters a window into the key table when it is allocated: its domain, its type, the
 * slot of its process, its place in that slot's table of bindings. The binding itself is written
 * by the process, in the order of its send queues, and read by every process of the domain. A
 * binding is a claim: each access is checked against it and against the entry of the region below,
 * which only the server writes. So a process that writes lies into its bindings opens no more than
 * it could have bound.
 *
 * Type 2 is 2B, as mlx5 and Linux rdma_rxe have it: a window belongs to the queue pair that bound
 * it and to its domain.
 *
 * The upper 24 bits of a window's key are the server's and stay; each bind sets the lowest 8. */

/* Bits of a window's key that its binds set. */
#define RXE_MW_TAG 0xffu

/* One binding, 64 bytes, at the place that rxe_mr.addr of the window's entry names. */
struct rxe_mw {
	/* Number of changes << 32 | rkey; rkey 0: not bound. Cleared first, set last (release).
	 * Pairs with the two loads of rxe_mw_read(). */
	_Atomic uint64_t state;
	uint64_t iova; /* keys address [iova, iova + len) */
	uint64_t len;
	uint64_t at;	 /* of the first byte, in the region's addresses */
	uint32_t region; /* its key */
	uint32_t rights; /* enum rxe_right, remote ones */
	uint32_t qpn;	 /* type 2: of the queue pair that bound it */
	uint32_t reserved[5];
};
static_assert(sizeof(struct rxe_mw) == 64, "shared memory layout");

/* The bindings of one slot. */
struct rxe_mw_table {
	struct rxe_mw mw[RXE_MAX_MW];
};

/* The bindings of all slots. */
struct rxe_mw_tables {
	struct rxe_mw_table *first; /* of slot 0; NULL: no windows */
	size_t stride;		    /* bytes from one slot's table to the next one's */
};

/* A copy of a binding. */
struct rxe_mw_bound {
	uint64_t iova, len, at;
	uint32_t region, rights, qpn;
};

/* A bind request (ibv_send_wr.bind_mw). */
struct rxe_bind {
	uint64_t addr, len; /* in the region's addresses */
	uint32_t mw;	    /* the window's key, whatever its lowest byte */
	uint32_t rkey;	    /* its lowest byte becomes the key's */
	uint32_t region;    /* key of the region; 0: none, with len 0 */
	uint32_t rights;    /* enum rxe_right */
};

/* Who uses a key. */
struct rxe_key_user {
	uint32_t pd;
	uint32_t qpn; /* queue pair of a peer's request; 0: the key is an lkey, and no window's */
};

/* Where an access goes: a region, and the address in it. */
struct rxe_span {
	const struct rxe_mr *mr;
	uint64_t iova;
	uint64_t len;
};

/* The window's entry that a key names, whatever its lowest byte; or NULL. */
const struct rxe_mr *rxe_mw_find(const struct rxe_mr_table *table, uint32_t key);
/* Reads the binding of a window's entry. False: it is not bound under this key. */
bool rxe_mw_read(const struct rxe_mw_tables *tables, const struct rxe_mr *window, uint32_t key,
		 struct rxe_mw_bound *ret);
/* As rxe_mr_check() for a window's key; *ret: the bytes of the region below. */
enum mr_check rxe_mw_check(const struct rxe_mr_table *mrs, const struct rxe_mw_tables *tables,
			   uint32_t key, struct rxe_key_user user, uint32_t rights, uint64_t iova,
			   uint64_t len, struct rxe_span *ret);

enum rxe_local_result {
	LOCAL_DONE,
	LOCAL_WAIT, /* others may still access by the old binding: try again */
	LOCAL_FAILED,
};

/* Executes a bind or an invalidation at the head of what is sent. LOCAL_FAILED: nothing has
 * changed. */
enum rxe_local_result rxe_mw_execute(struct rxe_engine *engine, struct rxe_qp *qp,
				     struct rxe_send_wqe *wqe);
/* A peer's SEND with invalidate, or LOCAL_INV: false when the key is not that of a type 2 window
 * which this queue pair has bound. */
bool rxe_mw_invalidate(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t rkey);
/* The queue pair is destroyed: its windows are not bound any more. */
void rxe_mw_qp_ended(struct rxe_engine *engine, struct rxe_qp *qp);
/* A window of this process is deallocated; index is its place in the table. */
void rxe_mw_forget(struct rxe_engine *engine, uint32_t index);

#endif
