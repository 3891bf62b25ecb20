/* SPDX-License-Identifier: MIT */
/* Access to message bytes: gathers a message from SGEs or inline data, scatters packets into SGEs,
 * and accesses the memory of a remote key. Every byte that the engine moves, and so every key
 * check, goes through here. */
#ifndef RXE_EMU_SGE_H
#define RXE_EMU_SGE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/host.h"
#include "emu/mr.h"
#include "emu/queue.h"

struct rxe_engine;

/* Position in an SGE list after the last packet, so that a list is walked once per message. Zeroed
 * at the start; any offset may follow (a rewind goes back). One cursor for each list. */
struct rxe_cursor {
	uint32_t index; /* SGE of the last access */
	uint32_t base;	/* message offset of that SGE's first byte */
};

static inline const struct rxe_sge *rxe_wqe_sges(const struct rxe_send_wqe *wqe)
{
	return (const struct rxe_sge *)(const void *)wqe->tail;
}

/* Whether the host's access, or the answer of an SRQ's owner, that has just failed may be tried
 * again. */
bool rxe_is_deferred(const struct rxe_engine *engine);

/* Gathers len bytes of the message from offset on. Needs offset + len <= wqe->len. A result other
 * than MR_OK and MR_DEFERRED is LOC_PROT_ERR to the program. */
enum mr_check rxe_gather(struct rxe_engine *engine, uint32_t pd, const struct rxe_send_wqe *wqe,
			 struct rxe_cursor *cursor, uint32_t offset, void *dst, uint32_t len);

/* Scatters len bytes into the list from offset on. MR_BAD_RANGE also when the list is too short. */
enum mr_check rxe_scatter(struct rxe_engine *engine, uint32_t pd, const struct rxe_sge *sges,
			  uint32_t num_sge, struct rxe_cursor *cursor, uint32_t offset,
			  const void *src, uint32_t len);

/* Finds and checks the region of a key, or the one below a window's key, for [iova, iova + len).
 * len 0 is always MR_OK, ret->mr NULL. */
enum mr_check rxe_reach(const struct rxe_engine *engine, struct rxe_key_user user, uint32_t key,
			uint32_t rights, uint64_t iova, uint64_t len, struct rxe_span *ret);
/* Check the right (REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC), then move the bytes. */
enum mr_check rxe_remote_write(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
			       uint64_t iova, const void *src, uint32_t len);
enum mr_check rxe_remote_read(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
			      uint64_t iova, void *dst, uint32_t len);
/* The rights that a FLUSH needs of queue pair and region. */
uint32_t rxe_flush_rights(const struct feth *feth);
/* FLUSH (annex A19) of [iova, iova + len), or with FETH_REGION of the whole region or window: what
 * was stored before becomes visible to all, and persists if the placement asks for that. ticket: as
 * of mem_persist. */
enum mr_check rxe_remote_flush(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
			       const struct feth *feth, uint64_t iova, uint32_t len,
			       uint64_t *ticket);
/* iova must be aligned to 8 bytes. */
enum mr_check rxe_remote_atomic(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
				uint64_t iova, enum rxe_atomic_op op, uint64_t compare_or_add,
				uint64_t swap, uint64_t *ret_orig);

#endif
