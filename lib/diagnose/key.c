// SPDX-License-Identifier: MIT
/* Keys: every process can read the device's table of memory regions and windows, and the bindings
 * of windows, in shared memory. */
#include <inttypes.h>

#include "emu/mr.h"
#include "emu/mw.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"

static struct rxe_mw_tables bindings(const struct diagnosis *d)
{
	return (struct rxe_mw_tables){ (struct rxe_mw_table *)(uintptr_t)&d->shared->slot[0].mws,
				       sizeof(struct ctl_slot) };
}

static enum mr_check check(const struct rxe_mr *mr, const struct key_use *use)
{
	return rxe_mr_check(mr, use->pd == KEY_ANY_PD ? mr->pd : use->pd, use->rights, use->addr,
			    use->len);
}

static enum mr_check check_window(const struct diagnosis *d, const struct rxe_mr *window,
				  const struct key_use *use)
{
	const struct rxe_mw_tables tables = bindings(d);
	const struct rxe_key_user user = { use->pd == KEY_ANY_PD ? window->pd : use->pd, use->qpn };
	struct rxe_span at;

	return rxe_mw_check(&d->shared->mrs, &tables, use->key, user, use->rights, use->addr,
			    use->len, &at);
}

bool key_permits(const struct diagnosis *d, const struct key_use *use)
{
	const struct rxe_mr *mr = rxe_mr_find(&d->shared->mrs, use->key);
	const struct rxe_mr *window = mr ? NULL : rxe_mw_find(&d->shared->mrs, use->key);

	if (window)
		return check_window(d, window, use) == MR_OK;
	return mr && check(mr, use) == MR_OK;
}

static const char *region_refusal(const struct rxe_mr *mr, const struct key_use *use)
{
	switch (check(mr, use)) {
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
static void say_window(struct sentence *s, const struct diagnosis *d, const struct rxe_mr *window,
		       const struct rxe_mw_bound *bound, const struct key_use *use)
{
	enum mr_check result = check_window(d, window, use);

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
	const struct rxe_mr *mr = rxe_mr_find(&d->shared->mrs, use->key);
	const struct rxe_mr *window = mr ? NULL : rxe_mw_find(&d->shared->mrs, use->key);
	const struct rxe_mw_tables tables = bindings(d);
	struct rxe_mw_bound bound;

	if (mr)
		say(s, "%s", region_refusal(mr, use));
	else if (!window)
		say(s, "the key is not registered");
	else if (use->qpn == 0)
		say(s, "a memory window's key is no lkey");
	else if (!rxe_mw_read(&tables, window, use->key, &bound))
		say(s, "the memory window is not bound under this key");
	else
		say_window(s, d, window, &bound, use);
}
