// SPDX-License-Identifier: MIT
/* Keys: every process can read the device's table of memory regions and windows, and the bindings
 * of windows, in shared memory. For a bind or an invalidation that failed, this file names the
 * first rule of emu/mr.c that it broke. */
#include <inttypes.h>

#include "emu/mr.h"
#include "emu/queue.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"

static struct rxe_mw_tables bindings(const struct diagnosis *d)
{
	return (struct rxe_mw_tables){ (struct rxe_mw_table *)(uintptr_t)&d->shared->slot[0].mws,
				       sizeof(struct ctl_slot) };
}

static uint32_t pd_of(const struct key_use *use, const struct rxe_mr *mr)
{
	return use->pd == KEY_ANY_PD ? mr->pd : use->pd;
}

static enum mr_check check(const struct diagnosis *d, const struct key_use *use)
{
	const struct rxe_mr_table *mrs = &d->shared->mrs;
	const struct rxe_mr *mr = rxe_mr_find(mrs, use->key);
	const struct rxe_mr *window = rxe_mw_find(mrs, use->key);
	const struct rxe_mw_tables tables = bindings(d);
	struct rxe_span at;

	if (mr)
		return rxe_mr_check(mr, pd_of(use, mr), use->rights, use->addr, use->len);
	if (!window)
		return MR_BAD_KEY;
	return rxe_mw_check(mrs, &tables, use->key,
			    (struct rxe_key_user){ pd_of(use, window), use->qpn }, use->rights,
			    use->addr, use->len, &at);
}

bool key_permits(const struct diagnosis *d, const struct key_use *use)
{
	return check(d, use) == MR_OK;
}

static const char *region_refusal(const struct key_use *use, enum mr_check result)
{
	switch (result) {
	case MR_BAD_PD: return "the region belongs to another protection domain";
	case MR_BAD_RIGHTS: return "the region was registered without that access right";
	case MR_BAD_RANGE: return "the range is not inside the region";
	case MR_BAD_KEY:
	case MR_BAD_QP:
	case MR_FAULT:
	case MR_DEFERRED:
	case MR_OK: break;
	}
	return use->pd == KEY_ANY_PD ? "the region belongs to another protection domain, or its "
				       "memory is unmapped"
				     : "the region's memory is unmapped";
}

/* What a bound window grants, and why the region below does not. */
static void say_window(struct sentence *s, const struct diagnosis *d,
		       const struct rxe_mw_bound *bound, const struct key_use *use)
{
	const enum mr_check result = check(d, use);

	if (result == MR_BAD_PD)
		say(s, "the memory window belongs to another protection domain");
	else if (result == MR_BAD_QP)
		say(s, "the memory window was bound by another queue pair, 0x%06x", bound->qpn);
	else if (!rxe_mr_find(&d->shared->mrs, bound->region))
		say(s, "the region below the memory window has ended");
	else if ((bound->rights & use->rights) != use->rights)
		say(s, "the memory window was bound without that access right");
	else if (result == MR_BAD_RANGE)
		say(s, "the memory window is bound to %" PRIu64 " bytes at 0x%" PRIx64, bound->len,
		    bound->iova);
	else if (result != MR_OK)
		say(s, "the region below the memory window has changed");
	else
		say(s, "the memory below the memory window is unmapped");
}

void say_key_refusal(struct sentence *s, const struct diagnosis *d, const struct key_use *use)
{
	const struct rxe_mr *window = rxe_mw_find(&d->shared->mrs, use->key);
	const struct rxe_mw_tables tables = bindings(d);
	struct rxe_mw_bound bound;

	if (rxe_mr_find(&d->shared->mrs, use->key))
		say(s, "%s", region_refusal(use, check(d, use)));
	else if (!window)
		say(s, "the key is not registered");
	else if (use->qpn == 0)
		say(s, "a memory window's key is no lkey");
	else if (!rxe_mw_read(&tables, window, use->key, &bound))
		say(s, "the memory window is not bound under this key");
	else
		say_window(s, d, &bound, use);
}

static bool is_bound(const struct diagnosis *d, const struct rxe_mr *window)
{
	const struct rxe_mw *mw = &d->shared->slot[window->owner].mws.mw[window->addr % RXE_MAX_MW];

	return (uint32_t)atomic_load(&mw->state) != 0;
}

static const char *window_error(const struct diagnosis *d, const struct rxe_mr *window, uint32_t pd,
				const struct rxe_bind *bind)
{
	if (!window || window->owner != d->slot)
		return "this process has no such window";
	if (window->pd != pd)
		return "the window belongs to another protection domain than the queue pair";
	if (window->kind == RXE_MR_WINDOW_2 && is_bound(d, window))
		return "the window is bound already: invalidate it first (IBV_WR_LOCAL_INV)";
	if (window->kind == RXE_MR_WINDOW_2 && bind->len == 0)
		return "IBV_WR_LOCAL_INV closes a window of type 2, not a bind of length 0";
	return NULL;
}

static const char *region_error(const struct rxe_mr *mr, uint32_t pd, const struct rxe_bind *bind)
{
	const uint32_t changes = RXE_REMOTE_WRITE | RXE_REMOTE_ATOMIC;

	if (!mr)
		return "the region's key is not registered";
	if (mr->pd != pd)
		return "the region belongs to another protection domain than the window";
	if (!(mr->rights & RXE_MW_BIND))
		return "the region was registered without IBV_ACCESS_MW_BIND";
	if ((bind->rights & changes) && !(mr->rights & RXE_LOCAL_WRITE))
		return "remote write and atomic access need a region with "
		       "IBV_ACCESS_LOCAL_WRITE";
	if (rxe_mr_check(mr, pd, 0, bind->addr, bind->len) != MR_OK)
		return "the range is not inside the region";
	return "the region lacks an access right of the window";
}

void say_bind(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp,
	      const struct rxe_send_wqe *wqe)
{
	const struct rxe_bind *bind = rxe_wqe_bind(wqe);
	const struct rxe_mr *window = rxe_mw_find(&d->shared->mrs, bind->mw);
	const char *why = window_error(d, window, qp->pd, bind);

	if (!why)
		why = region_error(rxe_mr_find(&d->shared->mrs, bind->region), qp->pd, bind);
	say(s,
	    "the memory window 0x%08x cannot be bound to %" PRIu64 " bytes at 0x%" PRIx64
	    " of the region 0x%08x: %s",
	    bind->mw, bind->len, bind->addr, bind->region, why);
}

void say_invalidation(struct sentence *s, const struct diagnosis *d, const struct rxe_send_wqe *wqe)
{
	const uint32_t key = wqe->imm_or_rkey;

	say(s, "the key 0x%08x cannot be invalidated: ", key);
	if (rxe_mr_find(&d->shared->mrs, key))
		say(s, "it is a region's; ibv_dereg_mr ends it");
	else if (!rxe_mw_find(&d->shared->mrs, key))
		say(s, "it is not registered");
	else
		say(s, "no memory window of type 2 is bound under it by this queue pair");
}
