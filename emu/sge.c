/* SPDX-License-Identifier: MIT */
/* Gather and scatter. A list has up to 30 elements and a message up to 262,144 packets, so a
 * cursor remembers where the last packet ended. The key of an element is checked for each piece
 * when it is accessed: it may be invalidated during a long message. */
#include "emu/sge.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "emu/engine.h"

/* The key must be good even if len is 0. */
static enum mr_check reach(const struct rxe_engine *engine, struct rxe_key_user user, uint32_t key,
			   uint32_t rights, uint64_t iova, uint64_t len, struct rxe_span *ret)
{
	ret->mr = rxe_mr_find(engine->cfg.mrs, key);
	ret->iova = iova;
	ret->len = len;
	if (!ret->mr)
		return rxe_mw_check(engine->cfg.mrs, &engine->cfg.mws, key, user, rights, iova, len,
				    ret);
	return rxe_mr_check(ret->mr, user.pd, rights, iova, len);
}

enum mr_check rxe_reach(const struct rxe_engine *engine, struct rxe_key_user user, uint32_t key,
			uint32_t rights, uint64_t iova, uint64_t len, struct rxe_span *ret)
{
	if (len == 0) {
		*ret = (struct rxe_span){ NULL, iova, 0 };
		return MR_OK;
	}
	return reach(engine, user, key, rights, iova, len, ret);
}

bool rxe_is_deferred(const struct rxe_engine *engine)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;

	return ops->is_deferred && ops->is_deferred(engine->cfg.host);
}

/* The host's access failed: deferred, or for good. */
static enum mr_check failed(const struct rxe_engine *engine)
{
	return rxe_is_deferred(engine) ? MR_DEFERRED : MR_FAULT;
}

static enum mr_check read_at(struct rxe_engine *engine, struct rxe_key_user user, uint32_t key,
			     uint32_t rights, uint64_t iova, void *dst, uint32_t len)
{
	struct rxe_span at;
	enum mr_check result = rxe_reach(engine, user, key, rights, iova, len, &at);

	if (result != MR_OK || len == 0)
		return result;
	return engine->cfg.ops->mem_read(engine->cfg.host, at.mr, at.iova, dst, len)
		       ? MR_OK
		       : failed(engine);
}

static enum mr_check write_at(struct rxe_engine *engine, struct rxe_key_user user, uint32_t key,
			      uint32_t rights, uint64_t iova, const void *src, uint32_t len)
{
	struct rxe_span at;
	enum mr_check result = rxe_reach(engine, user, key, rights, iova, len, &at);

	if (result != MR_OK || len == 0)
		return result;
	return engine->cfg.ops->mem_write(engine->cfg.host, at.mr, at.iova, src, len)
		       ? MR_OK
		       : failed(engine);
}

/* Moves the cursor to the element that holds message offset; *ret is the rest of the element from
 * there. False: end of the list. */
static bool piece_at(const struct rxe_sge *sges, uint32_t num_sge, struct rxe_cursor *cursor,
		     uint32_t offset, struct rxe_sge *ret)
{
	if (offset < cursor->base)
		*cursor = (struct rxe_cursor){ 0 };
	while (cursor->index < num_sge && offset - cursor->base >= sges[cursor->index].length) {
		cursor->base += sges[cursor->index].length;
		cursor->index++;
	}
	if (cursor->index == num_sge)
		return false;
	*ret = sges[cursor->index];
	ret->addr += offset - cursor->base;
	ret->length -= offset - cursor->base;
	assert(ret->length > 0);
	return true;
}

enum mr_check rxe_gather(struct rxe_engine *engine, uint32_t pd, const struct rxe_send_wqe *wqe,
			 struct rxe_cursor *cursor, uint32_t offset, void *dst, uint32_t len)
{
	uint8_t *to = dst;

	assert(offset <= wqe->len && len <= wqe->len - offset);
	if (wqe->flags & RXE_SEND_INLINE) {
		memcpy(to, wqe->tail + offset, len);
		return MR_OK;
	}
	while (len > 0) {
		struct rxe_sge piece;
		enum mr_check result;
		uint32_t n;

		if (!piece_at(rxe_wqe_sges(wqe), wqe->num_sge, cursor, offset, &piece))
			return MR_BAD_RANGE;
		n = piece.length < len ? piece.length : len;
		result = read_at(engine, (struct rxe_key_user){ pd, 0 }, piece.lkey, 0, piece.addr,
				 to, n);
		if (result != MR_OK)
			return result;
		offset += n;
		to += n;
		len -= n;
	}
	return MR_OK;
}

enum mr_check rxe_scatter(struct rxe_engine *engine, uint32_t pd, const struct rxe_sge *sges,
			  uint32_t num_sge, struct rxe_cursor *cursor, uint32_t offset,
			  const void *src, uint32_t len)
{
	const uint8_t *from = src;

	assert(num_sge <= RXE_MAX_SGE);
	while (len > 0) {
		struct rxe_sge piece;
		enum mr_check result;
		uint32_t n;

		if (!piece_at(sges, num_sge, cursor, offset, &piece))
			return MR_BAD_RANGE;
		n = piece.length < len ? piece.length : len;
		result = write_at(engine, (struct rxe_key_user){ pd, 0 }, piece.lkey,
				  RXE_LOCAL_WRITE, piece.addr, from, n);
		if (result != MR_OK)
			return result;
		offset += n;
		from += n;
		len -= n;
	}
	return MR_OK;
}

enum mr_check rxe_remote_write(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
			       uint64_t iova, const void *src, uint32_t len)
{
	return write_at(engine, user, rkey, RXE_REMOTE_WRITE, iova, src, len);
}

enum mr_check rxe_remote_read(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
			      uint64_t iova, void *dst, uint32_t len)
{
	return read_at(engine, user, rkey, RXE_REMOTE_READ, iova, dst, len);
}

uint32_t rxe_flush_rights(const struct feth *feth)
{
	return (feth->placement & FETH_GLOBAL ? (uint32_t)RXE_FLUSH_GLOBAL : 0) |
	       (feth->placement & FETH_PERSISTENT ? (uint32_t)RXE_FLUSH_PERSISTENT : 0);
}

/* The whole of a region, or of a window's part of one. No byte for a bad key: reach() refuses. */
static void whole(const struct rxe_engine *engine, uint32_t rkey, uint64_t *ret_iova,
		  uint64_t *ret_len)
{
	const struct rxe_mr *mr = rxe_mr_find(engine->cfg.mrs, rkey);
	const struct rxe_mr *window = mr ? NULL : rxe_mw_find(engine->cfg.mrs, rkey);
	struct rxe_mw_bound bound = { 0 };

	if (mr)
		bound = (struct rxe_mw_bound){ .iova = mr->iova, .len = mr->len };
	else if (window)
		(void)rxe_mw_read(&engine->cfg.mws, window, rkey, &bound);
	*ret_iova = bound.iova;
	*ret_len = bound.len;
}

/* The key must be good even if len is 0, as for rdma_rxe. Checks the rights for the placement. */
static enum mr_check check_flush(const struct rxe_engine *engine, struct rxe_key_user user,
				 uint32_t rkey, const struct feth *feth, uint64_t iova,
				 uint32_t len, struct rxe_span *ret)
{
	const uint32_t rights = rxe_flush_rights(feth);
	uint64_t bytes = len;

	if (feth->selectivity != FETH_RANGE)
		whole(engine, rkey, &iova, &bytes);
	return reach(engine, user, rkey, rights, iova, bytes, ret);
}

enum mr_check rxe_remote_flush(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
			       const struct feth *feth, uint64_t iova, uint32_t len,
			       uint64_t *ticket)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;
	struct rxe_span at;
	enum mr_check result = check_flush(engine, user, rkey, feth, iova, len, &at);

	if (result != MR_OK)
		return result;
	atomic_thread_fence(memory_order_seq_cst);
	if (!(feth->placement & FETH_PERSISTENT) || at.len == 0)
		return MR_OK;
	if (!ops->mem_persist)
		return MR_FAULT;
	return ops->mem_persist(engine->cfg.host, at.mr, at.iova, at.len, ticket) ? MR_OK
										  : failed(engine);
}

enum mr_check rxe_remote_atomic(struct rxe_engine *engine, struct rxe_key_user user, uint32_t rkey,
				uint64_t iova, enum rxe_atomic_op op, uint64_t compare_or_add,
				uint64_t swap, uint64_t *ret_orig)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;
	struct rxe_span at;
	enum mr_check result =
		rxe_reach(engine, user, rkey, RXE_REMOTE_ATOMIC, iova, sizeof(uint64_t), &at);

	assert((iova & 7) == 0);
	if (result != MR_OK)
		return result;
	if (!ops->mem_atomic(engine->cfg.host, at.mr, at.iova, op, compare_or_add, swap, ret_orig))
		return failed(engine);
	return MR_OK;
}
