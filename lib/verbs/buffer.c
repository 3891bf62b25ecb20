// SPDX-License-Identifier: MIT
/* Memory of queues: a parent domain's callbacks are asked for each buffer, and may leave it to us. */
#include "lib/verbs/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/abi/newer.h"
#include "lib/verbs/pd.h"

#define ALIGNMENT 64 /* a cache line: a queue never shares one with what lies beside it */

static uint64_t resource_type(enum vb_buffer_kind kind)
{
	return (uint64_t)VB_BUFFER_DRIVER << 32 | (uint64_t)kind;
}

/* The callback's answer, or IBV_ALLOCATOR_USE_DEFAULT where nobody is to be asked. */
static void *ask(struct ibv_pd *pd, size_t bytes, enum vb_buffer_kind kind)
{
	if (!pd || !vb_pd(pd)->alloc)
		return IBV_ALLOCATOR_USE_DEFAULT;
	return vb_pd(pd)->alloc(pd, vb_pd(pd)->pd_context, bytes, ALIGNMENT, resource_type(kind));
}

bool vb_buffer_alloc(struct vb_buffer *ret, struct ibv_pd *pd, size_t bytes,
		     enum vb_buffer_kind kind)
{
	struct vb_buffer buffer = { .memory = ask(pd, bytes, kind), .is_theirs = true };

	if (buffer.memory == IBV_ALLOCATOR_USE_DEFAULT) {
		buffer.is_theirs = false;
		if (posix_memalign(&buffer.memory, ALIGNMENT, bytes))
			return false;
	}
	if (!buffer.memory)
		return false;
	memset(buffer.memory, 0, bytes);
	*ret = buffer;
	return true;
}

void vb_buffer_free(struct vb_buffer *buffer, struct ibv_pd *pd, enum vb_buffer_kind kind)
{
	struct vb_buffer old = *buffer;

	*buffer = (struct vb_buffer){ 0 };
	if (!old.memory)
		return;
	if (old.is_theirs)
		vb_pd(pd)->free(pd, vb_pd(pd)->pd_context, old.memory, resource_type(kind));
	else
		free(old.memory);
}
