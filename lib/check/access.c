// SPDX-License-Identifier: MIT
/* The log of accesses in this process's slot, and those in the slots of others. */
#include "lib/check/access.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "emu/limits.h"
#include "emu/mr.h"
#include "lib/check/module.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/control/shared.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"
#include "lib/verbs/forks.h"

/* Pages of 4 KiB of a range that are counted one by one. */
#define PAGES_MAX 64u

/* Bytes of the longest value that programs poll as a flag. */
#define FLAG_MAX 8u

#define RECEIVED_BITS 40
#define RECEIVED_MASK ((1ull << RECEIVED_BITS) - 1)

static uint64_t last_number;
/* The stack whose modules were published last: a loop that posts has the same one each time. */
static struct {
	const struct ctl_checked *by;
	uint32_t depth;
	uint64_t pc[CTL_ACCESS_DEPTH];
} last_stack;

static bool is_checked(const struct ctl_slot *slot)
{
	return atomic_load(&slot->pid) &&
	       atomic_load(&ctl_checked(slot)->epoch) == atomic_load(&slot->epoch);
}

/* What the slot's previous process published goes. */
static void begin(struct ctl_checked *checked, uint32_t epoch)
{
	for (uint32_t i = 0; i < CTL_ACCESSES; i++)
		atomic_store(&checked->access[i].number, 0);
	for (uint32_t i = 0; i < CTL_ACCESS_PAGES; i++)
		atomic_store(&checked->pages[i], 0);
	for (uint32_t i = 0; i < RXE_MAX_QP; i++) {
		atomic_store(&checked->received[i], 0);
		atomic_store(&checked->wrote[i], 0);
	}
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		atomic_store(&checked->known[i], 0);
		atomic_store(&checked->reported[i], 0);
	}
	/* 0 stands for what has not happened. */
	if (!atomic_load(&checked->clock))
		atomic_store(&checked->clock, 1);
	atomic_store(&checked->count, 0);
	atomic_store(&checked->num_long, 0);
	atomic_store(&checked->modules.count, 0);
	last_stack.by = NULL;
	atomic_store(&checked->epoch, epoch);
}

static bool is_attached(struct ibv_context *context)
{
	return atomic_load(&vb_device(context)->forks) == vb_forks();
}

struct ctl_checked *access_own(struct ibv_context *context)
{
	struct ctl_slot *slot = vb_slot(vb_device(context));
	struct ctl_checked *checked = (struct ctl_checked *)(void *)slot->checked;
	const uint32_t epoch = atomic_load(&slot->epoch);

	if (!is_attached(context))
		return NULL;
	if (atomic_load(&checked->epoch) != epoch)
		begin(checked, epoch);
	return checked;
}

void access_begin(struct ibv_context *context)
{
	access_own(context);
}

bool access_is_open(const struct check_region *region)
{
	return region && (region->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
					    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND));
}

static uint32_t number_of(struct ibv_context *context, const struct ctl_slot *slot)
{
	return (uint32_t)(slot - vb_device(context)->attachment.shared->slot);
}

bool access_is_shared(struct ibv_context *context)
{
	const struct ctl_shared *shared = vb_device(context)->attachment.shared;
	const uint32_t first = ctl_next_slot(shared, 0);

	return is_attached(context) && first < RXE_MAX_SLOTS &&
	       ctl_next_slot(shared, first + 1) < RXE_MAX_SLOTS;
}

/* The queue pair executes requests, and is connected to this number. */
static const struct ctl_shared_qp *find_qp(const struct ctl_slot *slot, uint32_t qpn, uint32_t dest)
{
	const struct ctl_shared_qp *qp = &slot->qp[qpn % RXE_MAX_QP];

	return atomic_load(&qp->qpn) == qpn && qp->dest_qpn == dest &&
			       (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS)
		       ? qp
		       : NULL;
}

static bool is_own_address(const struct vb_device *dev, const union ibv_gid *gid)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (memcmp(&dev->info.gids[i], gid, sizeof(*gid)) == 0)
			return true;
	}
	return false;
}

/* The peer is a queue pair of another process of this device. */
static bool has_local_peer(const struct vb_device *dev, const struct check_qp *qp)
{
	const uint32_t dest = qp->attr.dest_qp_num, number = dest >> RXE_SLOT_SHIFT;

	return qp->qp->qp_type == IBV_QPT_RC && (qp->attr_mask & IBV_QP_DEST_QPN) &&
	       number < RXE_MAX_SLOTS && number != dev->attachment.slot &&
	       is_own_address(dev, &qp->attr.ah_attr.grh.dgid) &&
	       find_qp(&dev->attachment.shared->slot[number], dest, qp->qp->qp_num);
}

void access_target(const struct check_qp *qp, const struct ibv_sge *there,
		   struct check_range *range)
{
	const struct vb_device *dev = vb_device(qp->qp->context);
	const struct ctl_shared *shared = dev->attachment.shared;
	const struct rxe_mr *mr;

	if (!has_local_peer(dev, qp))
		return;
	region_find_dm(qp->qp->context, there, range);
	mr = rxe_mr_find(&shared->mrs, there->lkey);
	if (!mr || mr->kind != RXE_MR_PLAIN || mr->owner >= RXE_MAX_SLOTS ||
	    mr->owner == dev->attachment.slot || there->addr - mr->iova > mr->len ||
	    there->length > mr->len - (there->addr - mr->iova))
		return;
	range->span.start = (uintptr_t)(mr->addr + (there->addr - mr->iova));
	range->span.end = range->span.start + there->length;
	range->owner = &shared->slot[mr->owner];
	range->owner_epoch = mr->epoch;
	range->owner_key = there->lkey;
}

static uint64_t num_pages(uint64_t start, uint64_t end)
{
	return ((end - 1) >> 12) - (start >> 12) + 1;
}

static uint32_t page_hash(uint32_t owner, uint64_t page)
{
	const uint64_t hash = (page ^ (uint64_t)owner << 40) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 54) % CTL_ACCESS_PAGES;
}

/* This process alone writes. by: 1, or -1 as an unsigned number. */
static void add(_Atomic uint32_t *to, uint32_t by)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + by,
			      memory_order_release);
}

static void add_page(_Atomic uint16_t *to, uint32_t by)
{
	atomic_store_explicit(to, (uint16_t)(atomic_load_explicit(to, memory_order_relaxed) + by),
			      memory_order_release);
}

static void count(struct ctl_checked *checked, const struct ctl_access *access, uint32_t by)
{
	const uint64_t pages = num_pages(access->start, access->end);

	add(&checked->count, by);
	if (pages > PAGES_MAX)
		add(&checked->num_long, by);
	for (uint64_t i = 0; i < pages && pages <= PAGES_MAX; i++)
		add_page(&checked->pages[page_hash(access->owner, (access->start >> 12) + i)], by);
}

/* What is cleared first is seen first by who reads the rest. */
static void withdraw(struct ctl_checked *checked, struct ctl_access *access)
{
	if (!atomic_load_explicit(&access->number, memory_order_relaxed))
		return;
	atomic_store_explicit(&access->number, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	count(checked, access, UINT32_MAX);
}

static uint32_t flags_of(const struct check_request *request, bool is_remote)
{
	const bool writes = is_remote ? request->remote_writes : request->writes;
	const bool is_rdma_write =
		request->remote.len && request->remote_writes && !request->is_atomic;

	return (writes ? CTL_ACCESS_WRITES : 0u) | (is_remote ? CTL_ACCESS_REMOTE : 0u) |
	       (request->is_atomic ? CTL_ACCESS_ATOMIC : 0u) |
	       (is_rdma_write ? CTL_ACCESS_RDMA_WRITE : 0u) |
	       (request->takes_receive ? CTL_ACCESS_MESSAGE : 0u);
}

static void set_stack(struct ctl_checked *checked, struct ctl_access *access,
		      const struct check_stack *stack)
{
	access->thread = stack->thread;
	access->depth = stack->depth < CTL_ACCESS_DEPTH ? stack->depth : CTL_ACCESS_DEPTH;
	for (uint32_t i = 0; i < access->depth; i++)
		access->pc[i] = stack->pc[i];
	if (last_stack.by == checked && last_stack.depth == access->depth &&
	    memcmp(last_stack.pc, access->pc, access->depth * sizeof(access->pc[0])) == 0)
		return;
	last_stack.by = checked;
	last_stack.depth = access->depth;
	for (uint32_t i = 0; i < access->depth; i++) {
		last_stack.pc[i] = access->pc[i];
		module_publish(&checked->modules, access->pc[i] - 1);
	}
}

/* The next place of the log, which stays empty until publish(). */
static struct ctl_access *take_place(struct ctl_checked *checked)
{
	struct ctl_access *access = &checked->access[++last_number % CTL_ACCESSES];

	withdraw(checked, access);
	atomic_store_explicit(&access->done, 0, memory_order_relaxed);
	return access;
}

/* The fence: of two processes that publish at the same time, one sees the other's. */
static uint64_t publish(struct ctl_checked *checked, struct ctl_access *access,
			const struct check_stack *stack)
{
	set_stack(checked, access, stack);
	count(checked, access, 1);
	atomic_store_explicit(&access->number, last_number, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	return last_number;
}

static uint32_t owner_of(struct ibv_context *context, const struct check_range *range)
{
	if (range->dm)
		return CTL_ACCESS_OF_DM;
	return range->owner ? number_of(context, range->owner)
			    : vb_device(context)->attachment.slot;
}

/* own: the epoch of this process. */
static uint32_t epoch_of(uint32_t own, const struct check_range *range)
{
	if (range->dm)
		return range->dm;
	return range->owner ? range->owner_epoch : own;
}

void access_add(const struct check_request *request, struct check_range *range)
{
	const bool is_remote = range == &request->remote;
	const struct check_qp *qp = request->queue->owner->part;
	struct ibv_context *context = qp->qp->context;
	struct ctl_checked *checked = access_own(context);
	struct ctl_access *access = take_place(checked);

	access->start = range->span.start;
	access->end = range->span.end;
	access->owner = owner_of(context, range);
	access->owner_epoch = epoch_of(atomic_load(&checked->epoch), range);
	access->flags = flags_of(request, is_remote);
	access->qpn = qp->qp->qp_num;
	access->dest_qpn = qp->attr.dest_qp_num;
	access->key = range->region ? (uint32_t)range->region->key.lkey : range->owner_key;
	access->message = request->message;
	access->wr_id = request->wr_id;
	range->access = publish(checked, access, &request->posted);
}

void access_wrote(const struct check_qp *qp)
{
	struct ctl_checked *checked = access_own(qp->qp->context);

	if (checked)
		atomic_store_explicit(&checked->wrote[qp->qp->qp_num % RXE_MAX_QP], ++last_number,
				      memory_order_release);
}

/* The access of this number; NULL: it has given way to a later one, or is another process's. */
static struct ctl_access *find_number(struct ctl_checked *checked, uint64_t number)
{
	struct ctl_access *access = checked ? &checked->access[number % CTL_ACCESSES] : NULL;

	return access && number && atomic_load(&access->number) == number ? access : NULL;
}

void access_ended(const struct check_request *request, struct check_range *range)
{
	struct ctl_checked *checked = access_own(request->queue->owner->context);
	struct ctl_access *access = find_number(checked, range->access);

	if (access)
		withdraw(checked, access);
	range->access = 0;
}

void access_completed(const struct check_request *request, struct check_range *range,
		      uint64_t clock)
{
	struct ctl_access *access =
		find_number(access_own(request->queue->owner->context), range->access);

	if (access)
		atomic_store(&access->done, clock);
	range->access = 0;
}

uint64_t access_note(const struct check_region *region, const struct span *ended,
		     const struct check_stack *where)
{
	struct ibv_context *context = region->object->context;
	struct ctl_checked *checked = access_own(context);
	struct ctl_access *access = take_place(checked);

	access->start = ended->start;
	access->end = ended->end;
	access->owner = vb_device(context)->attachment.slot;
	access->owner_epoch = atomic_load(&checked->epoch);
	access->flags = CTL_ACCESS_ENDED;
	access->qpn = access->dest_qpn = 0;
	access->key = (uint32_t)region->key.lkey;
	access->message = access->wr_id = 0;
	return publish(checked, access, where);
}

void access_forget(const struct check_region *region, uint64_t note)
{
	struct ctl_checked *checked;
	struct ctl_access *access;

	if (!region->object || region->object->dead)
		return;
	checked = access_own(region->object->context);
	access = find_number(checked, note);
	if (access)
		withdraw(checked, access);
}

void access_received(const struct check_qp *qp)
{
	const uint32_t qpn = qp->qp->qp_num;
	struct ctl_checked *checked = access_own(qp->qp->context);

	if (!checked)
		return;
	atomic_store(&checked->received[qpn % RXE_MAX_QP],
		     (uint64_t)qpn << RECEIVED_BITS | (qp->received & RECEIVED_MASK));
}

/* What is looked for. */
struct bytes {
	uint64_t start, end;
	uint32_t owner, owner_epoch;
};

static bool may_have(const struct ctl_checked *checked, const struct bytes *place)
{
	const uint64_t pages = num_pages(place->start, place->end);

	if (!atomic_load(&checked->count))
		return false;
	if (pages > PAGES_MAX || atomic_load(&checked->num_long))
		return true;
	for (uint64_t i = 0; i < pages; i++) {
		if (atomic_load(&checked->pages[page_hash(place->owner, (place->start >> 12) + i)]))
			return true;
	}
	return false;
}

/* False: it is not there, or changes. */
static bool read_access(const struct ctl_access *from, const struct bytes *place,
			struct ctl_access *ret)
{
	const uint64_t number = atomic_load(&from->number);

	if (!number || from->owner != place->owner || from->owner_epoch != place->owner_epoch ||
	    from->start >= place->end || place->start >= from->end)
		return false;
	memcpy(ret, from, sizeof(*ret));
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&from->number) == number && atomic_load(&ret->number) == number;
}

static void each_of(const struct ctl_shared *shared, uint32_t number, const struct bytes *place,
		    void (*visit)(const struct access *other, void *arg), void *arg)
{
	const struct ctl_slot *slot = &shared->slot[number];
	struct access other = { .slots = shared->slot, .slot = slot };

	for (uint32_t i = 0; i < CTL_ACCESSES; i++) {
		if (read_access(&ctl_checked(slot)->access[i], place, &other.at) &&
		    ((other.at.flags & CTL_ACCESS_ENDED) || atomic_load(&other.at.done) ||
		     find_qp(slot, other.at.qpn, other.at.dest_qpn)))
			visit(&other, arg);
	}
}

void access_each(struct ibv_context *context, const struct access_place *place,
		 void (*visit)(const struct access *other, void *arg), void *arg)
{
	const struct vb_device *dev = vb_device(context);
	const struct ctl_shared *shared = dev->attachment.shared;
	const struct check_range range = { .owner = place->owner,
					   .owner_epoch = place->owner_epoch,
					   .dm = place->dm };
	const struct bytes bytes = {
		.start = place->start,
		.end = place->end,
		.owner = owner_of(context, &range),
		.owner_epoch = epoch_of(atomic_load(&vb_slot(dev)->epoch), &range),
	};

	CTL_FOR_EACH_USED_SLOT (shared, number) {
		const struct ctl_slot *slot = &shared->slot[number];

		if (number != dev->attachment.slot && may_have(ctl_checked(slot), &bytes) &&
		    is_checked(slot))
			each_of(shared, number, &bytes, visit, arg);
	}
}

bool access_find(struct ibv_context *context, const struct ctl_slot *slot, uint64_t number,
		 struct access *ret)
{
	const struct ctl_access *from = &ctl_checked(slot)->access[number % CTL_ACCESSES];

	*ret = (struct access){ .slots = vb_device(context)->attachment.shared->slot,
				.slot = slot };
	if (!is_checked(slot) || atomic_load(&from->number) != number)
		return false;
	memcpy(&ret->at, from, sizeof(ret->at));
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&from->number) == number && atomic_load(&ret->at.number) == number;
}

/* The peer of the access has polled a message that was sent after the request, or is the request
 * (IBTA 9.7.1); a peer that says nothing may have. What an RDMA READ or an atomic brings back, no
 * message of its queue pair proves. */
static bool is_received(const struct access *other)
{
	const struct ctl_access *at = &other->at;
	const uint32_t number = at->dest_qpn >> RXE_SLOT_SHIFT;
	const struct ctl_slot *peer;
	uint64_t received;

	if ((at->flags & CTL_ACCESS_WRITES) && !(at->flags & CTL_ACCESS_REMOTE))
		return false;
	if (number >= RXE_MAX_SLOTS)
		return true;
	peer = &other->slots[number];
	if (!is_checked(peer) || !find_qp(peer, at->dest_qpn, at->qpn))
		return true;
	received = atomic_load(&ctl_checked(peer)->received[at->dest_qpn % RXE_MAX_QP]);
	if (received >> RECEIVED_BITS != at->dest_qpn)
		return false;
	received &= RECEIVED_MASK;
	return received > at->message ||
	       (received == at->message && (at->flags & CTL_ACCESS_MESSAGE));
}

bool access_is_flag(const struct access *other)
{
	return (other->at.flags & (CTL_ACCESS_RDMA_WRITE | CTL_ACCESS_ATOMIC)) &&
	       other->at.end - other->at.start <= FLAG_MAX;
}

bool access_may_be_known(const struct access *other)
{
	const struct ctl_access *at = &other->at;
	const struct ctl_checked *checked = ctl_checked(other->slot);
	const bool is_write = at->flags & (CTL_ACCESS_RDMA_WRITE | CTL_ACCESS_ATOMIC);

	return is_received(other) ||
	       (is_write && atomic_load(&checked->wrote[at->qpn % RXE_MAX_QP]) > at->number);
}

bool access_is_of_peer(struct ibv_context *context, const struct access *other)
{
	return other->at.dest_qpn >> RXE_SLOT_SHIFT == vb_device(context)->attachment.slot;
}

struct check_stack access_stack(const struct access *other)
{
	struct check_stack ret = {
		.modules = &ctl_checked(other->slot)->modules,
		.depth = other->at.depth < CTL_ACCESS_DEPTH ? other->at.depth : CTL_ACCESS_DEPTH,
		.thread = other->at.thread,
	};

	for (uint32_t i = 0; i < ret.depth; i++)
		ret.pc[i] = (uintptr_t)other->at.pc[i];
	return ret;
}

void access_label(const struct access *other, char *ret, uint32_t len)
{
	snprintf(ret, len, "QP 0x%06x of %.15s (process %d)", other->at.qpn, other->slot->comm,
		 (int)atomic_load(&other->slot->pid));
}
