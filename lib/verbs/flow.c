// SPDX-License-Identifier: MIT
/* Creates and destroys flows (ibv_create_flow(3)): converts the list of specifications to a
 * rule. */
#include "lib/verbs/flow.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/raw/frame.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/qp.h"

static_assert((int)RXE_FLOW_SNIFFER == (int)IBV_FLOW_ATTR_SNIFFER, "enum ibv_flow_attr_type");
static_assert((int)RXE_FLOW_MC_DEFAULT == (int)IBV_FLOW_ATTR_MC_DEFAULT, "ibv_flow_attr_type");

/* A specification that names a header. The filter's bytes are those of the engine's header; either
 * may be longer, by members that the other lacks. */
struct spec_row {
	uint32_t type;
	uint16_t size;
	enum raw_header header;
	size_t val, mask, len;
};

#define SPEC(name)                                                                                 \
	offsetof(struct ibv_flow_spec_##name, val), offsetof(struct ibv_flow_spec_##name, mask),   \
		sizeof(((struct ibv_flow_spec_##name *)0)->val)
#define SIZE(name) sizeof(struct ibv_flow_spec_##name)

/* clang-format off */
static const struct spec_row rows[] = {
	{ IBV_FLOW_SPEC_ETH,          SIZE(eth),      RAW_ETH,   SPEC(eth) },
	{ IBV_FLOW_SPEC_IPV4,         SIZE(ipv4),     RAW_IPV4,  SPEC(ipv4) },
	{ IBV_FLOW_SPEC_IPV4_EXT,     SIZE(ipv4_ext), RAW_IPV4,  SPEC(ipv4_ext) },
	{ IBV_FLOW_SPEC_IPV6,         SIZE(ipv6),     RAW_IPV6,  SPEC(ipv6) },
	{ IBV_FLOW_SPEC_ESP,          SIZE(esp),      RAW_ESP,   SPEC(esp) },
	{ IBV_FLOW_SPEC_TCP,          SIZE(tcp_udp),  RAW_TCP,   SPEC(tcp_udp) },
	{ IBV_FLOW_SPEC_UDP,          SIZE(tcp_udp),  RAW_UDP,   SPEC(tcp_udp) },
	{ IBV_FLOW_SPEC_VXLAN_TUNNEL, SIZE(tunnel),   RAW_VXLAN, SPEC(tunnel) },
	{ IBV_FLOW_SPEC_GRE,          SIZE(gre),      RAW_GRE,   SPEC(gre) },
	{ IBV_FLOW_SPEC_MPLS,         SIZE(mpls),     RAW_MPLS,  SPEC(mpls) },
};
/* clang-format on */

static const struct spec_row *find_row(uint32_t type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type == type)
			return &rows[i];
	}
	return NULL;
}

static int add_header(struct vb_flow *flow, const struct spec_row *row, bool inner,
		      const uint8_t *spec)
{
	uint8_t value[RAW_MAX_MATCH_LEN] = { 0 }, mask[RAW_MAX_MATCH_LEN] = { 0 };
	const uint32_t have = raw_match_len(row->header);
	const size_t n = row->len < have ? row->len : have;

	memcpy(value, spec + row->val, n);
	memcpy(mask, spec + row->mask, n);
	/* A tag is asked for: frames without one do not match, whatever the value. */
	if (row->header == RAW_ETH &&
	    (mask[offsetof(struct raw_eth, vlan)] | mask[offsetof(struct raw_eth, vlan) + 1])) {
		value[offsetof(struct raw_eth, tagged)] = 0xff;
		mask[offsetof(struct raw_eth, tagged)] = 0xff;
	}
	return raw_rule_add(&flow->flow.rule, row->header, inner, value, mask)
		       ? 0
		       : refuse(WHY_FLOW_SPEC, row->type, row->size,
				"it does not follow the specifications before it, or is too much");
}

/* One for each flow, as Linux demands. */
static int add_counters(struct vb_flow *flow, struct ibv_counters *counters)
{
	const bool is_first = !flow->counters;

	flow->counters = is_first ? vb_counters_find(flow->context, counters) : NULL;
	return flow->counters ? 0 : refuse(WHY_FLOW_COUNTERS);
}

static int refuse_size(uint32_t type, uint16_t size)
{
	return refuse(WHY_FLOW_SPEC, type, size, "this type has another size");
}

/* Copies: specifications may lie unaligned. */
static int add_action(struct vb_flow *flow, uint32_t type, uint16_t size, const uint8_t *spec)
{
	struct ibv_flow_spec_counter_action count;
	struct ibv_flow_spec_action_tag tag;

	switch (type) {
	case IBV_FLOW_SPEC_ACTION_TAG:
		if (size != sizeof(tag))
			return refuse_size(type, size);
		memcpy(&tag, spec, sizeof(tag));
		flow->flow.tag = tag.tag_id;
		return 0;
	case IBV_FLOW_SPEC_ACTION_DROP:
		flow->flow.drops = true;
		return size == sizeof(struct ibv_flow_spec_action_drop) ? 0
									: refuse_size(type, size);
	case IBV_FLOW_SPEC_ACTION_COUNT:
		if (size != sizeof(count))
			return refuse_size(type, size);
		memcpy(&count, spec, sizeof(count));
		return add_counters(flow, count.counters);
	case IBV_FLOW_SPEC_ACTION_HANDLE: return refuse(WHY_FLOW_ACTION);
	default: return refuse(WHY_FLOW_SPEC, type, size, "the type is unknown");
	}
}

static int add_spec(struct vb_flow *flow, const uint8_t *spec, uint16_t *ret_size)
{
	const struct spec_row *row;
	uint32_t type;

	memcpy(&type, spec, sizeof(type));
	memcpy(ret_size, spec + offsetof(struct ibv_flow_spec_eth, size), sizeof(*ret_size));
	row = find_row(type & ~(uint32_t)IBV_FLOW_SPEC_INNER);
	if (!row)
		return add_action(flow, type, *ret_size, spec);
	if (*ret_size != row->size)
		return refuse_size(type, *ret_size);
	return add_header(flow, row, type & IBV_FLOW_SPEC_INNER, spec);
}

static int convert(struct vb_flow *flow, const struct ibv_flow_attr *attr)
{
	const uint8_t *spec = (const uint8_t *)(attr + 1);
	int err = 0;

	flow->flow.type = (enum rxe_flow_type)attr->type;
	flow->flow.priority = attr->priority;
	flow->flow.passes_on = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	flow->flow.hears_self = attr->flags & 1; /* IBV_FLOW_ATTR_FLAGS_ALLOW_LOOP_BACK, once */
	for (uint32_t i = 0; !err && i < attr->num_of_specs; i++) {
		uint16_t size;

		err = add_spec(flow, spec, &size);
		spec += size;
	}
	return err;
}

#define FLAGS_KNOWN (1u | IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS)

static int check_attr(const struct ibv_flow_attr *attr)
{
	if (attr->comp_mask)
		return refuse(WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask);
	if (attr->port != VB_PORT)
		return refuse(WHY_BAD_PORT, attr->port);
	if (attr->flags & ~FLAGS_KNOWN)
		return refuse(WHY_UNKNOWN_BITS, "flags", (uint64_t)(attr->flags & ~FLAGS_KNOWN));
	if ((uint32_t)attr->type > IBV_FLOW_ATTR_SNIFFER)
		return refuse(WHY_BAD_VALUE, "type", (uint64_t)attr->type,
			      "no enum ibv_flow_attr_type");
	if (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS)
		return refuse(WHY_FLOW_EGRESS);
	/* ibv_create_flow(3): the others match by their type, and none passes on. */
	if (attr->type != IBV_FLOW_ATTR_NORMAL &&
	    (attr->num_of_specs || attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP))
		return refuse(WHY_FLOW_TYPE, attr->type);
	return 0;
}

static int check_qp(const struct ibv_qp *qp)
{
	if (qp->qp_type == IBV_QPT_UD)
		return refuse(WHY_FLOW_UD, qp->qp_num);
	return qp->qp_type == IBV_QPT_RAW_PACKET ? 0 : refuse(WHY_FLOW_QP, qp->qp_num);
}

static int enter_engine(struct vb_flow *flow)
{
	int err;

	if (!vb_lock_engine(flow->qp->dev, flow->qp->forks))
		return refuse(WHY_NO_ENGINE, "object");
	flow->flow.qp = &flow->qp->qp;
	err = vb_counters_bind(flow);
	if (!err)
		rxe_flow_add(flow->qp->dev->progress.engine, &flow->flow);
	progress_unlock(&flow->qp->dev->progress);
	return err;
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	static _Atomic uint32_t last_handle;
	struct vb_flow *flow;
	int err;

	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(qp->context, create_flow))
		return vb_fail(errno);
	err = check_qp(qp);
	if (!err)
		err = check_attr(attr);
	if (err)
		return vb_fail(err);
	flow = vb_object_new(qp->context, VB_KIND_FLOW, sizeof(*flow));
	if (!flow)
		return vb_fail(errno);
	flow->base.context = qp->context;
	flow->base.handle = atomic_fetch_add(&last_handle, 1) + 1;
	flow->qp = vb_qp(qp);
	err = convert(flow, attr);
	if (!err)
		err = enter_engine(flow);
	if (err)
		return vb_fail(vb_object_undo(flow, err));
	vb_object_use(qp);
	return &flow->base;
}

static int destroy_flow(struct ibv_flow *base)
{
	struct vb_flow *flow = vb_flow(base);
	int err = vb_object_end(flow, VB_KIND_FLOW, INJECT_VERB_destroy_flow);
	bool is_ours;

	if (err)
		return vb_result(err);
	is_ours = vb_lock_engine(flow->qp->dev, flow->qp->forks);
	if (is_ours)
		rxe_flow_remove(flow->qp->dev->progress.engine, &flow->flow);
	vb_counters_unbind(flow);
	if (is_ours)
		progress_unlock(&flow->qp->dev->progress);
	vb_object_unuse(flow->qp);
	free(flow);
	return 0;
}

void vb_flow_ops(struct verbs_context_65 *verbs)
{
	verbs->base.ibv_create_flow = create_flow;
	verbs->base.ibv_destroy_flow = destroy_flow;
}
