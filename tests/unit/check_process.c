// SPDX-License-Identifier: MIT
/* Slots of shared memory without a server. */
#include "tests/unit/check_process.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/limits.h"

void process_new(struct process *process, const struct process *first, uint32_t slot)
{
	struct vb_device *dev = calloc(1, sizeof(*dev));

	ck_assert_ptr_nonnull(dev);
	memset(process, 0, sizeof(*process));
	process->dev = process->context.dev = dev;
	if (first)
		dev->attachment.shared = first->dev->attachment.shared;
	else
		dev->attachment.shared =
			mmap(NULL, sizeof(struct ctl_shared), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(dev->attachment.shared, MAP_FAILED);
	dev->attachment.slot = slot;
	dev->info.gids[0] = (struct gid){ .raw = { [15] = 1 } };
	atomic_store(&dev->forks, vb_forks());
	atomic_store(&vb_slot(dev)->epoch, 1);
	ctl_slot_set_pid(dev->attachment.shared, slot, (int32_t)(1000 + slot));
	access_begin(process_context(process));
}

void process_free(struct process *process, bool is_first)
{
	if (is_first)
		munmap(process->dev->attachment.shared, sizeof(struct ctl_shared));
	free(process->dev);
}

struct ibv_context *process_context(struct process *process)
{
	return &process->context.verbs.base.context;
}

struct ctl_checked *process_checked(struct process *process)
{
	return (struct ctl_checked *)(void *)vb_slot(process->dev)->checked;
}

uint32_t process_qpn(const struct process *process, uint32_t number)
{
	return process->dev->attachment.slot << RXE_SLOT_SHIFT | number;
}

struct ctl_shared_qp *process_qp_entry(struct process *process, uint32_t qpn)
{
	return &vb_slot(process->dev)->qp[qpn % RXE_MAX_QP];
}

void qp_new(struct process_qp *qp, struct process *process, uint32_t number, uint32_t dest)
{
	struct ctl_shared_qp *entry;

	memset(qp, 0, sizeof(*qp));
	qp->qp.context = process_context(process);
	qp->qp.qp_num = process_qpn(process, number);
	qp->qp.qp_type = IBV_QPT_RC;
	qp->object.kind = VB_KIND_QP;
	qp->object.context = qp->qp.context;
	qp->object.part = &qp->check;
	qp->check.qp = &qp->qp;
	qp->check.object = qp->check.send.owner = qp->check.recv.owner = &qp->object;
	qp->check.attr.dest_qp_num = dest;
	memcpy(&qp->check.attr.ah_attr.grh.dgid, &process->dev->info.gids[0], 16);
	qp->check.attr_mask = IBV_QP_DEST_QPN;
	entry = process_qp_entry(process, qp->qp.qp_num);
	entry->dest_qpn = dest;
	entry->state = IBV_QPS_RTS;
	atomic_store(&entry->qpn, qp->qp.qp_num);
}

void qp_free(struct process_qp *qp)
{
	free(qp->request);
}

struct check_request *qp_request(struct process_qp *qp)
{
	free(qp->request);
	qp->request = calloc(1, sizeof(*qp->request) + sizeof(qp->request->range[0]));
	ck_assert_ptr_nonnull(qp->request);
	qp->request->queue = &qp->check.send;
	qp->request->num_ranges = 1;
	qp->request->range[0].region = &qp->region;
	qp->request->remote_writes = true;
	return qp->request;
}

void request_to(struct check_request *request, const struct process *owner, uint64_t start,
		uint64_t end)
{
	request->remote.owner = vb_slot(owner->dev);
	request->remote.owner_epoch = atomic_load(&vb_slot(owner->dev)->epoch);
	request->remote.owner_key = 77;
	request->remote.span.start = start;
	request->remote.span.end = end;
	request->remote.len = end - start;
}
