// SPDX-License-Identifier: MIT
/* Memory windows, as the tables of their processes say where they are bound. */
#include "rxe_dm/server/window.h"

#include <utlist.h>

#include "rxe_dm/server/context.h"

/* Read from the process's own table. What a process claims there, it claims against regions of its
 * own domains only. */
static bool is_over(const struct object *mw, const struct object *mr)
{
	const struct rxe_mw *bound = &mr->context->device->shared->slot[mw->slot].mws.mw[mw->addr];
	const uint32_t key = (uint32_t)atomic_load(&bound->state);

	return key != 0 && (key & ~RXE_MW_TAG) == (mw->key & ~RXE_MW_TAG) && mw->pd == mr->pd &&
	       __atomic_load_n(&bound->region, __ATOMIC_RELAXED) == mr->key;
}

bool window_is_over(const struct object *mr)
{
	const struct object *mw;

	DL_FOREACH2(mr->context->windows, mw, wnext)
	{
		if (mr->key && is_over(mw, mr))
			return true;
	}
	return false;
}
