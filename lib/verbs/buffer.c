// SPDX-License-Identifier: MIT
/* Memory of queues. */
#include "lib/verbs/buffer.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 4096

void *dm_buffer_alloc(struct ibv_pd *pd, size_t bytes, enum dm_buffer_kind kind)
{
	void *memory;

	(void)pd;
	(void)kind;
	if (posix_memalign(&memory, ALIGNMENT, bytes ? bytes : ALIGNMENT))
		return NULL;
	memset(memory, 0, bytes);
	return memory;
}

void dm_buffer_free(struct ibv_pd *pd, void *memory, enum dm_buffer_kind kind)
{
	(void)pd;
	(void)kind;
	free(memory);
}
