// SPDX-License-Identifier: MIT
/* Reads the bindings, which processes write into their slots. */
#include "lib/check/window.h"

#include "emu/mr.h"
#include "lib/control/shared.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"

void window_resolve(struct ibv_context *context, struct ibv_sge *there)
{
	struct ctl_shared *shared = vb_device(context)->attachment.shared;
	const struct rxe_mw_tables tables = { &shared->slot[0].mws, sizeof(struct ctl_slot) };
	const struct rxe_mr *window = rxe_mw_find(&shared->mrs, there->lkey);
	struct rxe_mw_bound bound;

	if (!window || !rxe_mw_read(&tables, window, there->lkey, &bound) ||
	    there->addr - bound.iova > bound.len ||
	    there->length > bound.len - (there->addr - bound.iova))
		return;
	there->lkey = bound.region;
	there->addr = bound.at + (there->addr - bound.iova);
}
