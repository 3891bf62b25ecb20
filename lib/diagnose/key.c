// SPDX-License-Identifier: MIT
/* Keys: every process can read the device's table of memory regions in shared memory. */
#include "emu/mr.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"

static enum mr_check check(const struct rxe_mr *mr, uint32_t pd, uint32_t rights, uint64_t addr,
			   uint64_t len)
{
	return rxe_mr_check(mr, pd == KEY_ANY_PD ? mr->pd : pd, rights, addr, len);
}

bool key_permits(const struct diagnosis *d, uint32_t key, uint32_t pd, uint32_t rights,
		 uint64_t addr, uint64_t len)
{
	const struct rxe_mr *mr = rxe_mr_find(&d->shared->mrs, key);

	return mr && check(mr, pd, rights, addr, len) == MR_OK;
}

const char *key_refusal(const struct diagnosis *d, uint32_t key, uint32_t pd, uint32_t rights,
			uint64_t addr, uint64_t len)
{
	const struct rxe_mr *mr = rxe_mr_find(&d->shared->mrs, key);

	if (!mr)
		return "the key is not registered";
	switch (check(mr, pd, rights, addr, len)) {
	case MR_BAD_PD: return "the region belongs to another protection domain";
	case MR_BAD_RIGHTS: return "the region was registered without that access right";
	case MR_BAD_RANGE: return "the range is not inside the region";
	case MR_BAD_KEY:
	case MR_BAD_QP:
	case MR_FAULT:
	case MR_DEFERRED:
	case MR_OK: break;
	}
	return pd == KEY_ANY_PD ? "the region belongs to another protection domain, or its memory "
				  "is unmapped"
				: "the region's memory is unmapped";
}
