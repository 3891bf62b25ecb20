/* SPDX-License-Identifier: MIT */
/* Memory regions: lookup of a key, check of an access (IBTA 10.6, 9.7.4.1.3). Memory windows: the
 * same, bind and invalidation (IBTA 10.6.5, 10.6.7.2). */
#include "emu/mr.h"

#include <assert.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/qp.h"
#include "emu/queue.h"

const struct rxe_mr *rxe_mr_find(const struct rxe_mr_table *table, uint32_t key)
{
	const struct rxe_mr *mr = &table->entry[rxe_key_index(key)];

	/* Pairs with the server's release when it grants a key: the entry's members are
	 * complete. */
	if (key == 0 || atomic_load_explicit(&mr->key, memory_order_acquire) != key)
		return NULL;
	return rxe_mr_is_window(mr) ? NULL : mr;
}

/* Whether [iova, iova + len) is part of [from, from + of). Subtracts, never adds: iova and len come
 * from the wire and may wrap. */
static bool is_within(uint64_t iova, uint64_t len, uint64_t from, uint64_t of)
{
	return iova >= from && len <= of && iova - from <= of - len;
}

enum mr_check rxe_mr_check(const struct rxe_mr *mr, uint32_t pd, uint32_t rights, uint64_t iova,
			   uint64_t len)
{
	if (mr->pd != pd)
		return MR_BAD_PD;
	if ((mr->rights & rights) != rights)
		return MR_BAD_RIGHTS;

	return is_within(iova, len, mr->iova, mr->len) ? MR_OK : MR_BAD_RANGE;
}

/* Rights that a window can grant. Local write access means nothing to a peer. */
#define MW_FLUSHES (RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT)
#define MW_CHANGES (RXE_REMOTE_WRITE | RXE_REMOTE_ATOMIC)
#define MW_RIGHTS  (MW_CHANGES | RXE_REMOTE_READ | MW_FLUSHES)

const struct rxe_mr *rxe_mw_find(const struct rxe_mr_table *table, uint32_t key)
{
	const struct rxe_mr *window = &table->entry[rxe_key_index(key)];
	uint32_t is = atomic_load_explicit(&window->key, memory_order_acquire);

	if (is == 0 || (is & ~RXE_MW_TAG) != (key & ~RXE_MW_TAG) || !rxe_mr_is_window(window))
		return NULL;
	return window;
}

static struct rxe_mw_table *table_of(const struct rxe_mw_tables *tables, uint32_t slot)
{
	uint8_t *first = (uint8_t *)tables->first;

	assert(first && slot < RXE_MAX_SLOTS);
	return (struct rxe_mw_table *)(void *)(first + slot * tables->stride);
}

static struct rxe_mw *binding(const struct rxe_mw_tables *tables, const struct rxe_mr *window)
{
	if (!tables->first || window->owner >= RXE_MAX_SLOTS || window->addr >= RXE_MAX_MW)
		return NULL;
	return &table_of(tables, window->owner)->mw[window->addr];
}

/* Each field once: another process may write them meanwhile. */
static struct rxe_mw_bound copy(const struct rxe_mw *mw)
{
	return (struct rxe_mw_bound){
		.iova = __atomic_load_n(&mw->iova, __ATOMIC_RELAXED),
		.len = __atomic_load_n(&mw->len, __ATOMIC_RELAXED),
		.at = __atomic_load_n(&mw->at, __ATOMIC_RELAXED),
		.region = __atomic_load_n(&mw->region, __ATOMIC_RELAXED),
		.rights = __atomic_load_n(&mw->rights, __ATOMIC_RELAXED),
		.qpn = __atomic_load_n(&mw->qpn, __ATOMIC_RELAXED),
	};
}

bool rxe_mw_read(const struct rxe_mw_tables *tables, const struct rxe_mr *window, uint32_t key,
		 struct rxe_mw_bound *ret)
{
	const struct rxe_mw *mw = binding(tables, window);
	uint64_t before;

	if (!mw)
		return false;
	before = atomic_load_explicit(&mw->state, memory_order_acquire);
	if ((uint32_t)before != key)
		return false;
	*ret = copy(mw);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&mw->state, memory_order_relaxed) == before;
}

/* Rights of the region that rights of a window need: those of peers may be the window's alone (IBTA
 * C10-73, C10-74), those of its memory are not (annex A19). */
static uint32_t rights_below(uint32_t rights)
{
	return RXE_MW_BIND | (rights & MW_FLUSHES) |
	       (rights & MW_CHANGES ? (uint32_t)RXE_LOCAL_WRITE : 0);
}

enum mr_check rxe_mw_check(const struct rxe_mr_table *mrs, const struct rxe_mw_tables *tables,
			   uint32_t key, struct rxe_key_user user, uint32_t rights, uint64_t iova,
			   uint64_t len, struct rxe_span *ret)
{
	const struct rxe_mr *window = rxe_mw_find(mrs, key);
	struct rxe_mw_bound bound;

	if (!window || user.qpn == 0 || !rxe_mw_read(tables, window, key, &bound))
		return MR_BAD_KEY;
	if (window->pd != user.pd)
		return MR_BAD_PD;
	if (window->kind == RXE_MR_WINDOW_2 && bound.qpn != user.qpn)
		return MR_BAD_QP;
	if ((bound.rights & rights) != rights)
		return MR_BAD_RIGHTS;
	if (!is_within(iova, len, bound.iova, bound.len))
		return MR_BAD_RANGE;
	ret->mr = rxe_mr_find(mrs, bound.region);
	ret->iova = bound.at + (iova - bound.iova);
	ret->len = len;
	return ret->mr ? rxe_mr_check(ret->mr, window->pd, rights_below(rights), ret->iova, len)
		       : MR_BAD_KEY;
}

/* Stores rkey last, and 0 before anything else: see struct rxe_mw. */
static void set_state(struct rxe_mw *mw, uint32_t rkey)
{
	uint64_t changes = atomic_load_explicit(&mw->state, memory_order_relaxed) >> 32;

	atomic_store(&mw->state, (changes + 1) << 32 | rkey);
}

static uint32_t bound_key(const struct rxe_mw *mw)
{
	return (uint32_t)atomic_load_explicit(&mw->state, memory_order_relaxed);
}

static bool is_bound(const struct rxe_mw *mw)
{
	return bound_key(mw) != 0;
}

static void unbind(struct rxe_engine *engine, struct rxe_mw *mw)
{
	struct rxe_qp *qp = mw->qpn ? rxe_engine_find_qp(engine, mw->qpn) : NULL;

	assert(is_bound(mw));
	if (qp) {
		assert(qp->num_mws > 0);
		qp->num_mws--;
	}
	set_state(mw, 0);
}

/* A window of this process that the key names, and its binding. */
static struct rxe_mw *find_own(const struct rxe_engine *engine, uint32_t key,
			       const struct rxe_mr **ret_window)
{
	const struct rxe_mr *window = rxe_mw_find(engine->cfg.mrs, key);

	if (!window || window->owner != engine->cfg.slot)
		return NULL;
	*ret_window = window;
	return binding(&engine->cfg.mws, window);
}

/* The region below (IBTA C10-73 to C10-75). */
static bool region_fits(const struct rxe_engine *engine, const struct rxe_mr *window,
			const struct rxe_bind *bind)
{
	const struct rxe_mr *mr = rxe_mr_find(engine->cfg.mrs, bind->region);

	return mr && rxe_mr_check(mr, window->pd, rights_below(bind->rights), bind->addr,
				  bind->len) == MR_OK;
}

/* IBTA 10.6.7.2: type 1 may be bound again and again; length 0 closes it. Type 2 is bound when it
 * is not bound, and never to nothing. */
static bool may_bind(const struct rxe_engine *engine, const struct rxe_qp *qp,
		     const struct rxe_mr *window, const struct rxe_mw *mw,
		     const struct rxe_bind *bind)
{
	if (window->pd != qp->pd)
		return false;
	if (window->kind == RXE_MR_WINDOW_1) {
		if (bind->rights & RXE_ZERO_BASED)
			return false;
		return bind->len == 0 || region_fits(engine, window, bind);
	}
	return !is_bound(mw) && bind->len > 0 && region_fits(engine, window, bind);
}

static void bind_it(struct rxe_qp *qp, const struct rxe_mr *window, struct rxe_mw *mw,
		    const struct rxe_bind *bind)
{
	bool is_type_2 = window->kind == RXE_MR_WINDOW_2;

	set_state(mw, 0);
	mw->iova = bind->rights & RXE_ZERO_BASED ? 0 : bind->addr;
	mw->len = bind->len;
	mw->at = bind->addr;
	mw->region = bind->region;
	mw->rights = bind->rights & MW_RIGHTS;
	mw->qpn = is_type_2 ? qp->qpn : 0;
	qp->num_mws += is_type_2;
	set_state(mw, (window->key & ~RXE_MW_TAG) | (bind->rkey & RXE_MW_TAG));
}

/* Whether no process can still move bytes by the binding of a type 1 window. Other processes may
 * also use the window. A process that is stopped delays the bind no longer than RXE_GRACE_NS. */
static bool is_grace_over(struct rxe_engine *engine, const struct rxe_send_wqe *wqe)
{
	const struct rxe_host_ops *ops = engine->cfg.ops;

	return !ops->grace_over || ops->grace_over(engine->cfg.host, wqe->compare_add) ||
	       engine->now_ns - wqe->swap >= RXE_GRACE_NS;
}

static enum rxe_local_result execute_bind(struct rxe_engine *engine, struct rxe_qp *qp,
					  struct rxe_send_wqe *wqe)
{
	const struct rxe_bind *bind = rxe_wqe_bind(wqe);
	const struct rxe_mr *window;
	struct rxe_mw *mw = find_own(engine, bind->mw, &window);

	if (!mw)
		return LOCAL_FAILED;
	/* Left by a window that was deallocated while a bind of it was under way. */
	if (is_bound(mw) && (bound_key(mw) ^ window->key) & ~RXE_MW_TAG)
		unbind(engine, mw);
	if (!may_bind(engine, qp, window, mw, bind))
		return LOCAL_FAILED;
	if (is_bound(mw)) {
		unbind(engine, mw);
		wqe->swap = engine->now_ns;
		if (engine->cfg.ops->grace_begin)
			wqe->compare_add = engine->cfg.ops->grace_begin(engine->cfg.host);
		wqe->started = RXE_WQE_STARTED;
	}
	if (wqe->started && !is_grace_over(engine, wqe))
		return LOCAL_WAIT;
	if (bind->len > 0)
		bind_it(qp, window, mw, bind);
	return LOCAL_DONE;
}

enum rxe_local_result rxe_mw_execute(struct rxe_engine *engine, struct rxe_qp *qp,
				     struct rxe_send_wqe *wqe)
{
	enum rxe_local_result result;

	assert(rxe_wqe_is_local(wqe) && wqe->started != RXE_WQE_DONE);
	if (wqe->opcode == RXE_WR_BIND_MW)
		result = execute_bind(engine, qp, wqe);
	else
		result =
			rxe_mw_invalidate(engine, qp, wqe->imm_or_rkey) ? LOCAL_DONE : LOCAL_FAILED;
	if (result == LOCAL_DONE)
		wqe->started = RXE_WQE_DONE;
	return result;
}

bool rxe_mw_invalidate(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t rkey)
{
	const struct rxe_mr *window;
	struct rxe_mw *mw = find_own(engine, rkey, &window);

	if (!mw || window->kind != RXE_MR_WINDOW_2 || window->pd != rxe_qp_target_pd(qp) ||
	    bound_key(mw) != rkey || mw->qpn != qp->qpn)
		return false;
	unbind(engine, mw);
	return true;
}

void rxe_mw_qp_ended(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rxe_mw_table *table;

	if (qp->num_mws == 0)
		return;
	table = table_of(&engine->cfg.mws, engine->cfg.slot);
	for (uint32_t i = 0; i < RXE_MAX_MW && qp->num_mws > 0; i++)
		if (is_bound(&table->mw[i]) && table->mw[i].qpn == qp->qpn)
			unbind(engine, &table->mw[i]);
	assert(qp->num_mws == 0);
}

void rxe_mw_forget(struct rxe_engine *engine, uint32_t index)
{
	struct rxe_mw *mw;

	assert(index < RXE_MAX_MW);
	mw = &table_of(&engine->cfg.mws, engine->cfg.slot)->mw[index];
	if (is_bound(mw))
		unbind(engine, mw);
}
