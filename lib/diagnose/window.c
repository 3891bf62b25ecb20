// SPDX-License-Identifier: MIT
/* Failures of binds and invalidations of memory windows: the first rule of emu/mw.c that is
 * broken. */
#include <inttypes.h>

#include "emu/mw.h"
#include "emu/queue.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"

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
