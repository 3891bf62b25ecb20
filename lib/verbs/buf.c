// SPDX-License-Identifier: MIT
/* ibv_alloc_buf(): buffers in memory that suits the device. Any does: they are on the heap. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/abi/newer.h"
#include "lib/verbs/error.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/mr.h"
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
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return vb_fail(ENOMEM);
	if (posix_memalign(&addr, (size_t)sysconf(_SC_PAGESIZE), size))
		goto no_memory;
	*buf = (struct ibv_buf){ .context = pd->context, .pd = pd, .addr = addr, .size = size };
	if (!vb_live_add(buf, VB_KIND_BUF))
		goto no_object;
	*ret = buf;
	return addr;

no_object:
	free(addr);
no_memory:
	free(buf);
	return vb_fail(ENOMEM);
}

void ibv_free_buf(struct ibv_buf *buf)
{
	if (!vb_live_take(buf, VB_KIND_BUF))
		return;
	free(buf->addr);
	free(buf);
}

bool vb_buf_holds(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		  size_t length)
{
	uint64_t offset;

	if (!vb_live_is(buf, VB_KIND_BUF) || buf->pd != pd)
		return false;
	offset = (uintptr_t)addr - (uintptr_t)buf->addr;
	return offset <= buf->size && length <= buf->size - offset;
}

/* No buffer is a dmabuf's. */
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	errno = vb_live_is(buf, VB_KIND_BUF) ? ENODATA : EINVAL;
	return -1;
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	if (!vb_buf_holds(buf, pd, addr, length))
		return vb_fail(EINVAL);
	if (vb_verb_fails(pd->context, reg_buf_mr))
		return NULL;
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

void vb_buf_ops(struct verbs_context_65 *verbs)
{
	VB_BUF_OPS(verbs)->alloc_buf = ibv_alloc_buf;
	VB_BUF_OPS(verbs)->free_buf = ibv_free_buf;
}
