// SPDX-License-Identifier: MIT
/* Objects of which the checks know only whether they are alive: domains, address handles, memory
 * windows, channels, device memory. */
#include "lib/check/event.h"
#include "lib/check/inner.h"
#include "lib/check/listener.h"
#include "lib/check/portable.h"
#include "lib/check/thread.h"
#include "lib/check/wrap.h"

INNER(ibv_alloc_pd);
INNER(ibv_dealloc_pd);
INNER(ibv_create_ah);
INNER(ibv_create_ah_from_wc);
INNER(ibv_destroy_ah);
INNER(ibv_create_comp_channel);
INNER(ibv_destroy_comp_channel);
INNER(ibv_get_async_event);
INNER(ibv_ack_async_event);

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	wrap_used(context, VB_KIND_CONTEXT, "ibv_alloc_pd");
	return wrap_made(inner_ibv_alloc_pd(context), VB_KIND_PD, context);
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct check_object *object = wrap_ending(pd, VB_KIND_PD, "ibv_dealloc_pd");

	return wrap_ended(object, inner_ibv_dealloc_pd(pd));
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah;

	wrap_used(pd, VB_KIND_PD, "ibv_create_ah");
	ah = inner_ibv_create_ah(pd, attr);
	return wrap_made(ah, VB_KIND_AH, ah ? ah->context : NULL);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	struct ibv_ah *ah;

	wrap_used(pd, VB_KIND_PD, "ibv_create_ah_from_wc");
	ah = inner_ibv_create_ah_from_wc(pd, wc, grh, port_num);
	return wrap_made(ah, VB_KIND_AH, ah ? ah->context : NULL);
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct check_object *object = wrap_ending(ah, VB_KIND_AH, "ibv_destroy_ah");

	return wrap_ended(object, inner_ibv_destroy_ah(ah));
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	wrap_used(context, VB_KIND_CONTEXT, "ibv_create_comp_channel");
	return wrap_made(inner_ibv_create_comp_channel(context), VB_KIND_CHANNEL, context);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct check_object *object =
		wrap_ending(channel, VB_KIND_CHANNEL, "ibv_destroy_comp_channel");

	if (object) {
		check_lock();
		event_channel_ending(object);
		check_unlock();
	}
	return wrap_ended(object, inner_ibv_destroy_comp_channel(channel));
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int err;

	wrap_used(context, VB_KIND_CONTEXT, "ibv_get_async_event");
	err = inner_ibv_get_async_event(context, event);
	if (err)
		return err;
	check_lock();
	event_async(event, false);
	check_unlock();
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	check_lock();
	if (event)
		event_async(event, true);
	check_unlock();
	inner_ibv_ack_async_event(event);
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	struct ibv_pd *pd = check_inner.base.alloc_parent_domain(context, attr);
	struct check_object *object;

	if (!pd)
		return NULL;
	check_lock();
	object = object_made(pd, VB_KIND_PD, context);
	if (object)
		thread_joins(object, attr->td);
	check_unlock();
	return pd;
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct ibv_td *td = check_inner.base.alloc_td(context, attr);
	struct check_object *object;

	if (!td)
		return NULL;
	check_lock();
	object = object_made(td, VB_KIND_TD, context);
	if (object)
		thread_single(object);
	listener_refresh();
	check_unlock();
	return td;
}

static int dealloc_td(struct ibv_td *td)
{
	struct check_object *object = wrap_ending(td, VB_KIND_TD, "ibv_dealloc_td");

	return wrap_ended(object, check_inner.base.dealloc_td(td));
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = INNER_OPS->alloc_mw(pd, type);

	return wrap_made(mw, VB_KIND_MW, mw ? mw->context : NULL);
}

static int dealloc_mw(struct ibv_mw *mw)
{
	struct check_object *object = wrap_ending(mw, VB_KIND_MW, "ibv_dealloc_mw");

	return wrap_ended(object, INNER_OPS->dealloc_mw(mw));
}

/* The library's functions: the same for all device memory. */
static struct ibv_dm inner_dm;

static void look_at_copy(const struct ibv_dm *dm, uint64_t offset, size_t len, const char *verb)
{
	check_lock();
	object_is_dead(dm, VB_KIND_DM, verb);
	portable_dm_copying(dm, offset, len, verb);
	check_unlock();
}

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t len)
{
	look_at_copy(dm, offset, len, "ibv_memcpy_to_dm");
	return inner_dm.memcpy_to_dm(dm, offset, from, len);
}

static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t len)
{
	look_at_copy(dm, offset, len, "ibv_memcpy_from_dm");
	return inner_dm.memcpy_from_dm(to, dm, offset, len);
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct ibv_dm *dm = check_inner.base.alloc_dm(context, attr);
	struct check_object *object;

	if (!dm)
		return NULL;
	check_lock();
	inner_dm = *dm;
	object = object_made(dm, VB_KIND_DM, context);
	if (object)
		portable_dm_made(object, attr->log_align_req);
	check_unlock();
	dm->memcpy_to_dm = memcpy_to_dm;
	dm->memcpy_from_dm = memcpy_from_dm;
	return dm;
}

static int free_dm(struct ibv_dm *dm)
{
	struct check_object *object = wrap_ending(dm, VB_KIND_DM, "ibv_free_dm");

	return wrap_ended(object, check_inner.base.free_dm(dm));
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	return wrap_made(check_inner.base.open_xrcd(context, attr), VB_KIND_XRCD, context);
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	struct check_object *object = wrap_ending(xrcd, VB_KIND_XRCD, "ibv_close_xrcd");

	return wrap_ended(object, check_inner.base.close_xrcd(xrcd));
}

void wrap_object_ops(struct verbs_context_65 *verbs)
{
	verbs->base.alloc_parent_domain = alloc_parent_domain;
	verbs->base.alloc_td = alloc_td;
	verbs->base.dealloc_td = dealloc_td;
	verbs->base.alloc_dm = alloc_dm;
	verbs->base.free_dm = free_dm;
	verbs->base.open_xrcd = open_xrcd;
	verbs->base.close_xrcd = close_xrcd;
	verbs->base.context.ops.alloc_mw = alloc_mw;
	verbs->base.context.ops.dealloc_mw = dealloc_mw;
}
