// SPDX-License-Identifier: MIT
/* ibv_alloc_buf(): buffers in memory that suits the device. Any does: they are on the heap. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/abi/newer.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/mr.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

struct ibv_buf {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint8_t *addr;
	size_t size;
};

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **ret)
{
	struct ibv_buf *buf;
	void *addr;

	if (!vb_is_pd(pd) || !ret || size == 0)
		return vb_fail(EINVAL);
	if (vb_verb_fails(pd->context, alloc_buf))
		return NULL;
	buf = vb_object_new(pd->context, VB_KIND_BUF, sizeof(*buf));
	if (!buf)
		return NULL;
	if (posix_memalign(&addr, (size_t)sysconf(_SC_PAGESIZE), size))
		return vb_object_undo(buf, ENOMEM);
	buf->pd = pd;
	buf->addr = addr;
	buf->size = size;
	*ret = buf;
	return addr;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	if (!vb_object_take(buf, VB_KIND_BUF))
		return;
	free(buf->addr);
	free(buf);
}

bool vb_buf_holds(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		  size_t length)
{
	uint64_t offset;

	if (!vb_object_is_live(buf, VB_KIND_BUF) || buf->pd != pd)
		return false;
	offset = (uintptr_t)addr - (uintptr_t)buf->addr;
	return offset <= buf->size && length <= buf->size - offset;
}

/* No buffer is a dmabuf's. */
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	return vb_minus_one(vb_object_is_live(buf, VB_KIND_BUF) ? ENODATA : EINVAL);
}

void vb_buf_ops(struct verbs_context_65 *verbs)
{
	VB_BUF_OPS(verbs)->alloc_buf = ibv_alloc_buf;
	VB_BUF_OPS(verbs)->free_buf = ibv_free_buf;
}
