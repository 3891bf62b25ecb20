/* SPDX-License-Identifier: MIT */
/* Where the bytes are: gather a message from its SGEs or inline bytes into packets, scatter packets into SGEs, and touch a
 * remote key's memory. Every byte the engine moves goes through here, so every key check does. */
#ifndef RXE_EMU_SGE_H
#define RXE_EMU_SGE_H

#include <stdint.h>

#include "emu/host.h"
#include "emu/mr.h"
#include "emu/queue.h"

struct rxe_engine;

/* How far along an SGE list the last packet was: a message is walked once, not once a packet. Zeroed it is at the start, and
 * any offset may follow any other (a resend goes back). One cursor a list. */
struct rxe_cursor {
	uint32_t index; /* of the SGE that the last access ended in */
	uint32_t base;	/* message offset of that SGE's first byte */
};

static inline const struct rxe_sge *rxe_wqe_sges(const struct rxe_send_wqe *wqe)
{
	return (const struct rxe_sge *)(const void *)wqe->tail;
}

/* len bytes of the message from offset on, to dst. The caller keeps offset + len <= wqe->len. Anything but MR_OK and
 * MR_DEFERRED is LOC_PROT_ERR to the program. */
enum mr_check rxe_gather(struct rxe_engine *engine, uint32_t pd, const struct rxe_send_wqe *wqe,
			 struct rxe_cursor *cursor, uint32_t offset, void *dst, uint32_t len);

/* len bytes from src into the list from offset on. MR_BAD_RANGE also when the list is too short. */
enum mr_check rxe_scatter(struct rxe_engine *engine, uint32_t pd, const struct rxe_sge *sges,
			  uint32_t num_sge, struct rxe_cursor *cursor, uint32_t offset,
			  const void *src, uint32_t len);

/* The region of a key that may touch [iova, iova + len): find and check in one. len 0 is always MR_OK, with *ret_mr NULL. */
enum mr_check rxe_reach(const struct rxe_engine *engine, uint32_t pd, uint32_t key, uint32_t rights,
			uint64_t iova, uint64_t len, const struct rxe_mr **ret_mr);
/* Check rights (REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC), then move. */
enum mr_check rxe_remote_write(struct rxe_engine *engine, uint32_t pd, uint32_t rkey, uint64_t iova,
			       const void *src, uint32_t len);
enum mr_check rxe_remote_read(struct rxe_engine *engine, uint32_t pd, uint32_t rkey, uint64_t iova,
			      void *dst, uint32_t len);
/* iova is aligned: the caller has checked. */
enum mr_check rxe_remote_atomic(struct rxe_engine *engine, uint32_t pd, uint32_t rkey,
				uint64_t iova, enum rxe_atomic_op op, uint64_t compare_or_add,
				uint64_t swap, uint64_t *ret_orig);

#endif
