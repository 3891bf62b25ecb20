/* SPDX-License-Identifier: MIT */
/* Memory regions: lookup of a key, check of an access (IBTA 10.6, 9.7.4.1.3). */
#include "emu/mr.h"

#include <stddef.h>

const struct rxe_mr *rxe_mr_find(const struct rxe_mr_table *table, uint32_t key)
{
	const struct rxe_mr *mr = &table->entry[rxe_key_index(key)];

	/* Pairs with the server's release when it grants a key: the entry's members are
	 * complete. */
	if (key == 0 || atomic_load_explicit(&mr->key, memory_order_acquire) != key)
		return NULL;
	return rxe_mr_is_window(mr) ? NULL : mr;
}

enum mr_check rxe_mr_check(const struct rxe_mr *mr, uint32_t pd, uint32_t rights, uint64_t iova,
			   uint64_t len)
{
	if (mr->pd != pd)
		return MR_BAD_PD;
	if ((mr->rights & rights) != rights)
		return MR_BAD_RIGHTS;

	/* Subtract, never add: iova and len come from the wire and may wrap. */
	if (iova < mr->iova || len > mr->len || iova - mr->iova > mr->len - len)
		return MR_BAD_RANGE;

	return MR_OK;
}
