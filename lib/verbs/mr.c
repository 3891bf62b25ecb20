// SPDX-License-Identifier: MIT
/* Memory regions over the program's own memory. The server enters them into the key table; only the
 * engine of this process accesses their bytes. */

#include "lib/verbs/mr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/limits.h"
#include "emu/supported.h"
#include "lib/control/client.h"
#include "lib/control/protocol.h"
#include "lib/progress/memory.h"
#include "lib/progress/persist.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"

#define ACCESS_KNOWN                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_FLUSH_GLOBAL |                     \
	 IBV_ACCESS_FLUSH_PERSISTENT | IBV_ACCESS_OPTIONAL_RANGE)
#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT |            \
	 IBV_ACCESS_RELAXED_ORDERING)
#define DMABUF_ACCESS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_OPTIONAL_RANGE)

/* IBTA 10.6.3.1: remote write and remote atomic access require local write access. */
int vb_access_check(unsigned int access)
{
	if (access & ~(unsigned int)ACCESS_KNOWN)
		return refuse(WHY_ACCESS_UNKNOWN, access & ~(unsigned int)ACCESS_KNOWN);
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return refuse(WHY_ACCESS_NEEDS, access & IBV_ACCESS_REMOTE_WRITE
							? "IBV_ACCESS_REMOTE_WRITE"
							: "IBV_ACCESS_REMOTE_ATOMIC");
	return 0;
}

struct ibv_mr *vb_mr_make(struct ibv_pd *pd, const struct vb_mr *like, const struct ctl_reg_mr *reg)
{
	struct vb_mr *mr = vb_object_new(pd->context, VB_KIND_MR, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = vb_pd_use(pd);
	if (err) {
		errno = vb_object_undo(mr, err);
		return NULL;
	}
	*mr = *like;
	mr->base.context = pd->context;
	mr->base.pd = pd;
	err = vb_server_result(
		ctl_reg_mr(&vb_context(pd->context)->ctl, reg, &mr->base.handle, &mr->base.lkey),
		VB_KIND_MR);
	if (err) {
		vb_pd_unuse(pd);
		errno = vb_object_undo(mr, err);
		return NULL;
	}
	mr->base.rkey = mr->base.lkey;
	vb_object_set_handle(mr, mr->base.handle);
	return &mr->base;
}

/* Neither the range of memory nor the range of its addresses may wrap. */
static int range_check(uint64_t addr, uint64_t length, uint64_t iova)
{
	if (length > RXE_MAX_MR_SIZE)
		return refuse(WHY_MR_LENGTH, length, (uint64_t)RXE_MAX_MR_SIZE);
	if (addr > UINT64_MAX - length)
		return refuse(WHY_WRAPS, "address", addr, length);
	return iova > UINT64_MAX - length ? refuse(WHY_WRAPS, "iova", iova, length) : 0;
}

int vb_memory_admit(const void *addr, size_t length, bool write)
{
	const int err = memory_admit(addr, length, write);

	if (err == ENOMEM)
		return refuse(WHY_TOO_LARGE, (uint64_t)length, addr);
	return err ? refuse(WHY_NOT_MAPPED, (uint64_t)length, addr,
			    write ? ", or not writable" : "")
		   : 0;
}

/* May this memory be registered? An on-demand region need not be mapped, and no page is touched;
 * the implicit one is the whole address space. 0 or an errno. */
static int admit(const void *addr, size_t length, uint64_t iova, unsigned int access)
{
	int err;

	if (!(access & IBV_ACCESS_ON_DEMAND)) {
		err = range_check((uintptr_t)addr, length, iova);
		/* A region without bytes serves operations without bytes. */
		if (err || length == 0)
			return err;
		return vb_memory_admit(addr, length, access & IBV_ACCESS_LOCAL_WRITE);
	}
	memory_guard();
	if (length == SIZE_MAX)
		return addr || iova || (access & IBV_ACCESS_HUGETLB) ? refuse(WHY_IMPLICIT) : 0;
	return range_check((uintptr_t)addr, length, iova);
}

int vb_mr_memory_check(const void *addr, size_t length, uint64_t iova, unsigned int access)
{
	int err = admit(addr, length, iova, access);

	if (err || !(access & IBV_ACCESS_FLUSH_PERSISTENT))
		return err;
	if (!RXE_PERSISTENCE_SUPPORTED)
		return refuse(WHY_NOT_OFFERED, "FLUSH for persistence");
	if ((access & IBV_ACCESS_ON_DEMAND) || !persist_is_possible(addr, length))
		return refuse(WHY_PERSISTENT);
	return 0;
}

struct ctl_reg_mr vb_mr_plain(const struct ibv_pd *pd, const void *addr, size_t length,
			      uint64_t iova, unsigned int access)
{
	return (struct ctl_reg_mr){
		.pd = pd->handle,
		.kind = RXE_MR_PLAIN,
		.addr = (uintptr_t)addr,
		.len = length,
		.iova = iova,
		.rights = access & RIGHTS,
	};
}

static struct ibv_mr *reg_by_addr(const char *call, struct ibv_pd *pd, void *addr, size_t length,
				  uint64_t iova, unsigned int access, uint32_t dmah)
{
	struct vb_mr like = { .by_addr = true, .access = access };
	struct ctl_reg_mr reg;
	int err;

	if (vb_refuses_pd(pd))
		return vb_fail_as(call, refusal_noted());
	err = vb_access_check(access);
	if (!err)
		err = vb_mr_memory_check(addr, length, iova, access);
	if (err)
		return vb_fail_as(call, err);

	like.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	like.base.addr = addr;
	like.base.length = length;
	reg = vb_mr_plain(pd, addr, length, like.iova, access);
	reg.dmah = dmah;
	return vb_made_as(call, vb_mr_make(pd, &like, &reg));
}

/* ibv_reg_mr(3). EINVAL: bad domain, access flags or length. EFAULT: the memory is not mapped, or
 * not writable although access includes writes. ENOMEM: the key table is full, or the memory is
 * more than the machine can hold. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	/* verbs.h may turn ibv_reg_mr() into this call: the fault rules of both names apply. */
	const enum inject_verb verb =
		iova == (uintptr_t)addr ? INJECT_VERB_reg_mr : INJECT_VERB_reg_mr_iova;

	if (vb_is_pd(pd) && vb_gate_fails(pd->context, verb))
		return vb_fail_as(inject_verb_str(verb), errno);
	return reg_by_addr(inject_verb_str(verb), pd, addr, length, iova, access, 0);
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	if (!vb_buf_holds(buf, pd, addr, length))
		return vb_fail(refuse(WHY_NOT_IN_BUF));
	if (vb_verb_fails(pd->context, reg_buf_mr))
		return vb_fail(errno);
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

/* ibv_alloc_null_mr(3). Peers cannot reach it: it has no rkey. */
static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	const struct vb_mr like = { .base = { .length = SIZE_MAX },
				    .access = IBV_ACCESS_LOCAL_WRITE };
	struct ctl_reg_mr reg = { .kind = RXE_MR_NULL,
				  .len = UINT64_MAX,
				  .rights = RXE_LOCAL_WRITE };
	struct ibv_mr *mr;

	if (vb_refuses_pd(pd))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(pd->context, alloc_null_mr))
		return vb_fail(errno);
	reg.pd = pd->handle;
	mr = vb_mr_make(pd, &like, &reg);
	if (mr)
		mr->rkey = 0;
	return vb_made(mr);
}

int vb_map_fd(int fd, uint64_t offset, uint64_t length, bool write, void **ret_map,
	      size_t *ret_map_len, uint8_t **ret_first)
{
	uint64_t skip = offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	off_t size;
	void *map;

	if (fcntl(fd, F_GETFD) < 0)
		return refuse(WHY_BAD_FD, fd);
	size = lseek(fd, 0, SEEK_END);
	if (size < 0 || offset > (uint64_t)size || length > (uint64_t)size - offset)
		return refuse(WHY_FD_RANGE, offset, length, (int64_t)size, fd);
	map = mmap(NULL, length + skip, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		   (off_t)(offset - skip));
	if (map == MAP_FAILED)
		return refuse(WHY_FD_MMAP(errno == ENODEV ? EINVAL : errno), fd, strerror(errno));
	memory_guard();
	*ret_map = map;
	*ret_map_len = length + skip;
	*ret_first = (uint8_t *)map + skip;
	return 0;
}

static int check_by_fd(const struct ibv_pd *pd, const struct ibv_mr_init_attr *attr)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int err;

	if (vb_refuses_pd(pd))
		return refusal_noted();
	if (attr->access & ~DMABUF_ACCESS)
		return refuse(WHY_ACCESS_UNKNOWN, (unsigned int)(attr->access & ~DMABUF_ACCESS));
	err = vb_access_check((unsigned int)attr->access);
	if (!err && attr->length == 0)
		err = refuse(WHY_BELOW_ONE, "length", INT64_C(0));
	if (!err)
		err = range_check(attr->fd_offset, attr->length, attr->iova);
	/* An adapter maps pages: the offset and the iova must agree within a page. */
	if (!err && ((attr->fd_offset ^ attr->iova) & (page - 1)))
		err = refuse(WHY_FD_PAGE, (uint64_t)attr->fd_offset, (uint64_t)attr->iova);
	return err;
}

/* Maps a dmabuf, or any file that can be mapped, and registers the mapping. */
static struct ibv_mr *reg_by_fd(const char *call, struct ibv_pd *pd,
				const struct ibv_mr_init_attr *attr, uint32_t dmah)
{
	struct vb_mr like = { .access = (unsigned int)attr->access };
	uint8_t *first = NULL;
	struct ctl_reg_mr reg;
	struct ibv_mr *mr;
	int err = check_by_fd(pd, attr);

	if (!err)
		err = vb_map_fd(attr->fd, attr->fd_offset, attr->length,
				attr->access & IBV_ACCESS_LOCAL_WRITE, &like.map, &like.map_len,
				&first);
	if (err)
		return vb_fail_as(call, err);
	like.iova = attr->iova;
	like.base.addr = (void *)(uintptr_t)attr->fd_offset; /* as in rdma-core */
	like.base.length = attr->length;
	reg = vb_mr_plain(pd, first, attr->length, attr->iova, like.access);
	reg.dmah = dmah;
	mr = vb_mr_make(pd, &like, &reg);
	if (!mr) {
		err = errno;
		munmap(like.map, like.map_len);
		return vb_fail_as(call, err);
	}
	return mr;
}

/* ibv_reg_dmabuf_mr(3); also for a memfd. EBADF: fd is not open. EINVAL: outside the file, cannot
 * be mapped, or the offset and iova disagree within a page. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	const struct ibv_mr_init_attr attr = {
		.length = length,
		.access = access,
		.iova = iova,
		.fd = fd,
		.fd_offset = offset,
	};

	if (vb_is_pd(pd) && vb_verb_fails(pd->context, reg_dmabuf_mr))
		return vb_fail(errno);
	return reg_by_fd(__func__, pd, &attr, 0);
}

/* A region is described by an address, perhaps within a buffer, or by a descriptor with an offset
 * and an iova. 0 or an errno. */
static int check_ways(const struct ibv_pd *pd, const struct ibv_mr_init_attr *attr)
{
	const uint64_t by_fd = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET;
	const uint64_t known = by_fd | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA |
			       IBV_REG_MR_MASK_DMAH | IBV_REG_MR_MASK_BUF;
	const struct ibv_mr_init_attr_65 *newer = (const void *)attr;
	uint64_t mask = attr->comp_mask;
	bool has_addr = mask & IBV_REG_MR_MASK_ADDR;

	bool is_one_way;

	if (mask & ~known)
		return refuse(WHY_BITS_REFUSED, "comp_mask", mask & ~known);
	if ((mask & IBV_REG_MR_MASK_BUF) &&
	    (!has_addr || !vb_buf_holds(newer->buf, pd, attr->addr, attr->length)))
		return refuse(WHY_NOT_IN_BUF);
	is_one_way = has_addr ? !(mask & by_fd)
			      : (mask & by_fd) == by_fd && (mask & IBV_REG_MR_MASK_IOVA);
	return is_one_way ? 0 : refuse(WHY_MR_WAYS, mask);
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	uint32_t dmah = 0;
	uint64_t iova;
	int err;

	if (vb_refuses_pd(pd) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(pd->context, reg_mr_ex))
		return vb_fail(errno);
	err = check_ways(pd, attr);
	if (err)
		return vb_fail(err);
	/* As mlx5: an adapter cannot steer what it pages. rdma-core's tests demand it. */
	if ((attr->comp_mask & IBV_REG_MR_MASK_DMAH) && (attr->access & IBV_ACCESS_ON_DEMAND))
		return vb_fail(refuse(WHY_DMAH_ODP));
	if ((attr->comp_mask & IBV_REG_MR_MASK_DMAH) &&
	    !vb_dmah_handle(attr->dmah, pd->context, &dmah))
		return vb_fail(refusal_noted());
	if (attr->comp_mask & IBV_REG_MR_MASK_FD)
		return reg_by_fd(__func__, pd, attr, dmah);
	iova = attr->comp_mask & IBV_REG_MR_MASK_IOVA ? attr->iova : (uintptr_t)attr->addr;
	return reg_by_addr(__func__, pd, attr->addr, attr->length, iova, (unsigned int)attr->access,
			   dmah);
}

/* ibv_import_mr(3). ENOENT: the context has no region of this handle. EINVAL: the region belongs to
 * another domain. addr of the region is NULL: its memory may be another process's. */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct ctl_object found;
	struct vb_mr *mr;
	int err;

	if (vb_refuses_pd(pd))
		return vb_fail(refusal_noted());
	mr = vb_object_begin(pd->context, VB_KIND_MR, sizeof(*mr), INJECT_VERB_import_mr);
	if (!mr)
		return vb_fail(errno);
	err = vb_query_result(ctl_query(&vb_context(pd->context)->ctl, CTL_KIND_MR, handle, &found),
			      VB_KIND_MR, handle);
	if (!err)
		err = found.pd == pd->handle ? vb_pd_use(pd)
					     : refuse(WHY_OTHER_PD, "the MR", found.pd, pd->handle);
	if (err)
		return vb_fail(vb_object_undo(mr, err));
	mr->access = found.rights;
	mr->iova = found.iova;
	mr->base.pd = pd;
	mr->base.length = found.len;
	mr->base.handle = handle;
	mr->base.lkey = found.key;
	mr->base.rkey = found.mr_kind == RXE_MR_NULL ? 0 : found.key;
	vb_object_set_handle(mr, handle);
	return &mr->base;
}

/* ibv_reg_mr(3). On return no engine on this host accesses the region. EINVAL: no live region. */
int ibv_dereg_mr(struct ibv_mr *base)
{
	int err = vb_object_end(base, VB_KIND_MR, INJECT_VERB_dereg_mr);
	struct vb_mr *mr = vb_mr(base);

	if (err)
		return vb_result(err);
	/* The key is revoked; the engine may still be inside the region. */
	progress_quiesce(&vb_device(base->context)->progress);
	if (mr->map)
		munmap(mr->map, mr->map_len);
	vb_pd_unuse(base->pd);
	free(mr);
	return 0;
}

void ibv_unimport_mr(struct ibv_mr *base)
{
	struct vb_mr *mr = vb_mr(base);

	if (!vb_object_take(mr, VB_KIND_MR))
		return;
	vb_pd_unuse(base->pd);
	free(mr);
}

void vb_mr_ops(struct verbs_context_65 *verbs)
{
	VB_REG_MR_EX_OPS(verbs)->reg_mr_ex = ibv_reg_mr_ex;
	verbs->base.alloc_null_mr = alloc_null_mr;
}
