// SPDX-License-Identifier: MIT
/* Copies a string to device memory. */
#include "mistakes.h"
#include "pair.h"

STACKED static struct ibv_dm *allocates(struct ibv_context *context)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return ibv_alloc_dm(context, &attr);
}

STACKED static void copies(struct ibv_dm *dm, size_t len)
{
	must(ibv_memcpy_to_dm(dm, 0, "what fits", len) == 0, "copy to device memory");
}

void port_dm_copy(bool right)
{
	struct ibv_context *context = open_first();
	struct ibv_dm *dm = allocates(context);

	must(dm != NULL, "allocate device memory");
	copies(dm, right ? 8 : 9);
	must(ibv_free_dm(dm) == 0, "free device memory");
	must(ibv_close_device(context) == 0, "close the device");
}
