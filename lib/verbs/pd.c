// SPDX-License-Identifier: MIT
/* Protection domains, thread domains, and parent domains over both; buffers (ibv_alloc_buf()).
 * The server knows only the domain below all parent domains, whose handle they carry: key checks
 * compare it. */
#include "lib/verbs/pd.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"

#define ALLOW_CC_UNPROTECTED_ALLOC (1u << 2) /* rdma-core 65 */

bool vb_is_pd(const struct ibv_pd *pd)
{
	return vb_object_is_live(pd, VB_KIND_PD) && vb_is_context(pd->context);
}

bool vb_refuses_pd(const struct ibv_pd *pd)
{
	return vb_refuses(pd, VB_KIND_PD) || vb_refuses_context(pd->context);
}

bool vb_refuses_pd_of(const struct ibv_pd *pd, struct ibv_context *context)
{
	return vb_refuses_pd(pd) ||
	       refuse_if(vb_device(pd->context) != vb_device(context), WHY_OTHER_DEVICE, "the PD");
}

/* ibv_alloc_pd(3). EINVAL: no live context. ENOMEM: the device has as many domains as
 * ibv_query_device(3) reports. */
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_pd *pd;
	int err;

	if (vb_refuses_context(context))
		return vb_fail(refusal_noted());
	pd = vb_object_begin(context, VB_KIND_PD, sizeof(*pd), INJECT_VERB_alloc_pd);
	if (!pd)
		return vb_fail(errno);
	err = vb_server_result(ctl_alloc_pd(&vb_context(context)->ctl, &pd->base.handle),
			       VB_KIND_PD);
	if (err)
		return vb_fail(vb_object_undo(pd, err));
	vb_object_set_handle(pd, pd->base.handle);
	return &pd->base;
}

/* ibv_import_pd(3). ENOENT: the context has no domain of this handle. */
struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct ctl_object found;
	struct vb_pd *pd;
	int err;

	if (vb_refuses_context(context))
		return vb_fail(refusal_noted());
	pd = vb_object_begin(context, VB_KIND_PD, sizeof(*pd), INJECT_VERB_import_pd);
	if (!pd)
		return vb_fail(errno);
	err = vb_query_result(ctl_query(&vb_context(context)->ctl, CTL_KIND_PD, handle, &found),
			      VB_KIND_PD, handle);
	if (err)
		return vb_fail(vb_object_undo(pd, err));
	pd->base.handle = handle;
	vb_object_set_handle(pd, handle);
	return &pd->base;
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask))
		return vb_fail(refusal_noted());
	return vb_made(
		vb_object_begin(context, VB_KIND_TD, sizeof(struct ibv_td), INJECT_VERB_alloc_td));
}

static int check_parent(struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	/* ALLOW_CC_UNPROTECTED_ALLOC: for guests whose memory is hidden from adapters. */
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | ALLOW_CC_UNPROTECTED_ALLOC;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    vb_refuses_pd(attr->pd) ||
	    refuse_if(attr->pd->context != context, WHY_OTHER_CONTEXT, "the PD"))
		return refusal_noted();
	if (attr->td && (vb_refuses(attr->td, VB_KIND_TD) ||
			 refuse_if(attr->td->context != context, WHY_OTHER_CONTEXT, "the TD")))
		return refusal_noted();
	if (attr->comp_mask & ~known)
		return refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)(attr->comp_mask & ~known));
	/* Memory from an allocator without its counterpart would leak. */
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return refuse(WHY_ALLOCATORS);
	return 0;
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	struct vb_pd *pd;
	int err = check_parent(context, attr);

	if (err)
		return vb_fail(err);
	pd = vb_object_begin(context, VB_KIND_PD, sizeof(*pd), INJECT_VERB_alloc_parent_domain);
	if (!pd)
		return vb_fail(errno);
	err = vb_pd_use(attr->pd);
	if (err)
		return vb_fail(vb_object_undo(pd, err));
	pd->base.handle = attr->pd->handle;
	pd->under = vb_pd(attr->pd);
	pd->td = attr->td;
	if (pd->td)
		vb_object_use(pd->td);
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	vb_object_set_handle(pd, pd->base.handle);
	return &pd->base;
}

/* Protects the users of all domains: the first user in this process reports the domain to the
 * server as used, the last one reports its end. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool vb_is_pd_of(const struct ibv_pd *pd, struct ibv_context *context)
{
	return vb_is_pd(pd) && vb_device(pd->context) == vb_device(context);
}

/* A parent domain is itself a user of the domain below. */
int vb_pd_use(struct ibv_pd *base)
{
	struct vb_pd *pd = vb_pd(base);
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!pd->under && atomic_load(&pd->users) == 0)
		err = ctl_use_pd(&vb_context(base->context)->ctl, base->handle, 1);
	if (!err)
		atomic_fetch_add(&pd->users, 1);
	pthread_mutex_unlock(&lock);
	return vb_server_result(err, VB_KIND_PD);
}

void vb_pd_unuse(struct ibv_pd *base)
{
	struct vb_pd *pd = vb_pd(base);

	pthread_mutex_lock(&lock);
	if (atomic_fetch_sub(&pd->users, 1) == 1 && !pd->under)
		ctl_use_pd(&vb_context(base->context)->ctl, base->handle, -1);
	pthread_mutex_unlock(&lock);
}

void vb_pds_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* A cache line: a queue shares none with adjacent memory. */
#define ALIGNMENT 64

/* The callbacks of a parent domain are asked for each buffer of a queue; they may decline with
 * IBV_ALLOCATOR_USE_DEFAULT. */
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

/* Memory that suits the device (ibv_alloc_buf()). Any does: it is on the heap. */
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

	if (vb_refuses_pd(pd) || refuse_if(!ret, WHY_NULL, "buf") ||
	    refuse_if(size == 0, WHY_BELOW_ONE, "size", INT64_C(0)))
		return vb_fail(refusal_noted());
	buf = vb_object_begin(pd->context, VB_KIND_BUF, sizeof(*buf), INJECT_VERB_alloc_buf);
	if (!buf)
		return vb_fail(errno);
	if (posix_memalign(&addr, (size_t)sysconf(_SC_PAGESIZE), size))
		return vb_fail(vb_object_undo(buf, refuse(WHY_NO_MEMORY, "the buffer")));
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
	return vb_minus_one(vb_refuses(buf, VB_KIND_BUF) ? refusal_noted() : refuse(WHY_NO_DMABUF));
}

/* ibv_alloc_pd(3). EINVAL: no live domain. EBUSY: an object of any process uses the domain. */
int ibv_dealloc_pd(struct ibv_pd *base)
{
	int err = vb_end_check(base, VB_KIND_PD, INJECT_VERB_dealloc_pd);
	struct vb_pd *pd = vb_pd(base);

	if (!err && atomic_load(&pd->users))
		err = vb_refuse_used(pd, VB_KIND_PD);
	/* The server does not know parent domains. */
	if (!err && pd->under)
		err = vb_object_take(pd, VB_KIND_PD)
			      ? 0
			      : refuse(WHY_NOT_LIVE, (void *)base, vb_kind_str(VB_KIND_PD));
	else if (!err)
		err = vb_end_take(pd, VB_KIND_PD);
	if (err)
		return vb_result(err);
	if (pd->td)
		vb_object_unuse(pd->td);
	if (pd->under)
		vb_pd_unuse(&pd->under->base);
	free(pd);
	return 0;
}

/* ibv_import_pd(3). Also valid for the process that allocated the domain, after another one
 * deallocated it. A domain with users in this process stays. */
void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (!vb_is_pd(pd) || vb_pd(pd)->under || atomic_load(&vb_pd(pd)->users))
		return;
	if (vb_object_take(pd, VB_KIND_PD))
		free(pd);
}

static int dealloc_td(struct ibv_td *td)
{
	int err = vb_object_end(td, VB_KIND_TD, INJECT_VERB_dealloc_td);

	if (!err)
		free(td);
	return vb_result(err);
}

void vb_pd_ops(struct verbs_context_65 *verbs)
{
	verbs->base.alloc_td = alloc_td;
	verbs->base.dealloc_td = dealloc_td;
	verbs->base.alloc_parent_domain = alloc_parent_domain;
	VB_BUF_OPS(verbs)->alloc_buf = ibv_alloc_buf;
	VB_BUF_OPS(verbs)->free_buf = ibv_free_buf;
}
