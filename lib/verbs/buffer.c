// SPDX-License-Identifier: MIT
/* Asks the callbacks of a parent domain for each buffer; they may decline with
 * IBV_ALLOCATOR_USE_DEFAULT. */
#include "lib/verbs/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/abi/newer.h"
#include "lib/verbs/pd.h"

/* A cache line: a queue shares none with adjacent memory. */
#define ALIGNMENT 64

static uint64_t resource_type(enum vb_buffer_kind kind)
{
	return (uint64_t)VB_BUFFER_DRIVER << 32 | (uint64_t)kind;
}

/* The callback's answer; IBV_ALLOCATOR_USE_DEFAULT if there is no callback. */
static void *ask(struct ibv_pd *pd, size_t bytes, enum vb_buffer_kind kind)
{
	if (!pd || !vb_pd(pd)->alloc)
		return IBV_ALLOCATOR_USE_DEFAULT;
	return vb_pd(pd)->alloc(pd, vb_pd(pd)->pd_context, bytes, ALIGNMENT, resource_type(kind));
}

bool vb_buffer_alloc(struct vb_buffer *ret, struct ibv_pd *pd, size_t bytes,
		     enum vb_buffer_kind kind)
{
	struct vb_buffer buffer = { .memory = ask(pd, bytes, kind), .is_foreign = true };

	if (buffer.memory == IBV_ALLOCATOR_USE_DEFAULT) {
		buffer.is_foreign = false;
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
	if (old.is_foreign)
		vb_pd(pd)->free(pd, vb_pd(pd)->pd_context, old.memory, resource_type(kind));
	else
		free(old.memory);
}
