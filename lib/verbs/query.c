// SPDX-License-Identifier: MIT
/* Attributes of the device and its port. Each reported limit is enforced (emu/limits.h). */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "emu/limits.h"
#include "emu/pace.h"
#include "emu/raw/flow.h"
#include "emu/tag_matching.h"
#include "lib/abi/newer.h"
#include "lib/abi/version.h"
#include "lib/control/client.h"
#include "lib/control/profile.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "net/link/clock.h"

/* Bits of device_cap_flags_ex (enum ib_uverbs_device_cap_flags). */
#define CAP_FLUSH_GLOBAL     (1ull << 38)
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE     (1ull << 40)

/* Every region is paged on demand, so a transport does on demand what it does at all. */
#define ODP_UD (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV)
#define ODP_UC (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE)
#define ODP_RC                                                                                     \
	(ODP_UD | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |          \
	 IBV_ODP_SUPPORT_FLUSH | IBV_ODP_SUPPORT_ATOMIC_WRITE)
/* XRC receives by SRQs only. */
#define ODP_XRC (ODP_RC & ~IBV_ODP_SUPPORT_RECV)

static uint32_t cap_flags(const struct ctl_profile *profile)
{
	uint32_t flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
			 IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
			 IBV_DEVICE_UD_AV_PORT_ENFORCE;

	if (profile->path_migration)
		flags |= IBV_DEVICE_AUTO_PATH_MIG;
	if (profile->max_srq)
		flags |= IBV_DEVICE_SRQ_RESIZE;
	if (profile->xrc)
		flags |= IBV_DEVICE_XRC;
	if (profile->max_mw)
		flags |= IBV_DEVICE_MEM_WINDOW;
	if (profile->max_mw && profile->mem_mgt_extensions)
		flags |= IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	if (profile->mem_mgt_extensions)
		flags |= IBV_DEVICE_MEM_MGT_EXTENSIONS;
	if (profile->raw_packet)
		flags |= IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING;
	return flags;
}

static void device_attr(const struct vb_device *dev, struct ibv_device_attr *ret)
{
	const struct ctl_profile *profile = vb_profile(dev);

	*ret = (struct ibv_device_attr){
		.node_guid = dev->info.node_guid,
		.sys_image_guid = dev->info.sys_image_guid,
		.max_mr_size = profile->max_mr_size,
		.page_size_cap = 0xfffff000, /* any page size from 4 KiB */
		.vendor_id = profile->vendor_id,
		.vendor_part_id = profile->vendor_part_id,
		.hw_ver = profile->hw_ver,
		.max_qp = (int)profile->max_qp,
		.max_qp_wr = (int)profile->max_qp_wr,
		.device_cap_flags = cap_flags(profile),
		.max_sge = (int)profile->max_sge,
		.max_sge_rd = (int)profile->max_sge_rd,
		.max_cq = (int)profile->max_cq,
		.max_cqe = (int)profile->max_cqe,
		.max_mr = (int)profile->max_mr,
		.max_mw = (int)profile->max_mw,
		.max_pd = (int)profile->max_pd,
		.max_qp_rd_atom = (int)profile->max_qp_rd_atom,
		.max_res_rd_atom = (int)(profile->max_qp_rd_atom * profile->max_qp),
		.max_qp_init_rd_atom = (int)profile->max_qp_init_rd_atom,
		.atomic_cap = (enum ibv_atomic_cap)profile->atomic_cap,
		.max_raw_ethy_qp = profile->raw_packet ? (int)profile->max_qp : 0,
		.max_mcast_grp = (int)profile->max_mcast_grp,
		.max_mcast_qp_attach = (int)profile->max_mcast_qp_attach,
		.max_total_mcast_qp_attach =
			(int)(profile->max_mcast_grp * profile->max_mcast_qp_attach),
		.max_ah = (int)profile->max_ah,
		.max_srq = (int)profile->max_srq,
		.max_srq_wr = profile->max_srq ? (int)profile->max_srq_wr : 0,
		.max_srq_sge = profile->max_srq ? (int)profile->max_srq_sge : 0,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = 1,
	};
	memcpy(ret->fw_ver, profile->fw_ver, sizeof(profile->fw_ver));
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(context, query_device))
		return vb_result(errno);
	device_attr(vb_device(context), attr);
	return 0;
}

/* ODP: a transport does on demand what it does at all, as far as the profile lets it. */
static uint32_t odp_of(const struct ctl_profile *profile, uint32_t all)
{
	uint32_t off = 0;

	if (!profile->odp)
		return 0;
	if (!profile->max_srq)
		off |= IBV_ODP_SUPPORT_SRQ_RECV;
	if (profile->atomic_cap == IBV_ATOMIC_NONE)
		off |= IBV_ODP_SUPPORT_ATOMIC;
	if (!profile->flush)
		off |= IBV_ODP_SUPPORT_FLUSH;
	if (!profile->atomic_write)
		off |= IBV_ODP_SUPPORT_ATOMIC_WRITE;
	return all & ~off;
}

static void fill_odp(const struct ctl_profile *profile, struct ibv_device_attr_ex *ret)
{
	if (profile->odp)
		ret->odp_caps.general_caps =
			IBV_ODP_SUPPORT | (profile->odp_implicit ? IBV_ODP_SUPPORT_IMPLICIT : 0u);
	ret->odp_caps.per_transport_caps.rc_odp_caps = odp_of(profile, ODP_RC);
	ret->odp_caps.per_transport_caps.uc_odp_caps = odp_of(profile, ODP_UC);
	ret->odp_caps.per_transport_caps.ud_odp_caps = odp_of(profile, ODP_UD);
	ret->xrc_odp_caps = profile->xrc ? odp_of(profile, ODP_XRC) : 0;
}

static void fill_raw_packet(const struct ctl_profile *profile, struct ibv_device_attr_ex *ret)
{
	ret->raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_IP_CSUM;
	ret->max_wq_type_rq = profile->max_qp;
	ret->rss_caps = (struct ibv_rss_caps){
		.supported_qpts = 1u << IBV_QPT_RAW_PACKET,
		.max_rwq_indirection_tables = RXE_MAX_WQ_TABLE,
		.max_rwq_indirection_table_size = 1u << RSS_MAX_LOG_TBL,
		.rx_hash_fields_mask = RSS_FIELDS,
		.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
	};
}

static void fill_queues(const struct ctl_profile *profile, struct ibv_device_attr_ex *ret)
{
	if (profile->completion_timestamp) {
		ret->completion_timestamp_mask = UINT64_MAX;
		ret->hca_core_clock = 1000000; /* kHz: timestamps count nanoseconds */
	}
	if (profile->cq_moderation)
		ret->cq_mod_caps = (struct ibv_cq_moderation_caps){ UINT16_MAX, UINT16_MAX };
	if (profile->rate_limit)
		ret->packet_pacing_caps = (struct ibv_packet_pacing_caps){
			.qp_rate_limit_min = RXE_RATE_MIN_KBPS,
			.qp_rate_limit_max = RXE_RATE_MAX_KBPS,
			.supported_qpts = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD |
					  (profile->xrc ? 1u << IBV_QPT_XRC_SEND : 0u) |
					  (profile->raw_packet ? 1u << IBV_QPT_RAW_PACKET : 0u),
		};
	if (profile->max_srq && profile->max_num_tags)
		ret->tm_caps = (struct ibv_tm_caps){
			.max_rndv_hdr_size = RXE_TM_RNDV_BYTES,
			.max_num_tags = profile->max_num_tags,
			.flags = IBV_TM_CAP_RC,
			.max_ops = RXE_MAX_TM_OPS,
			.max_sge = profile->max_srq_sge,
		};
}

static uint64_t largest_dm(const struct vb_device *dev)
{
	const uint64_t most = vb_profile(dev)->max_dm_size;

	return most < dev->info.arena_bytes ? most : dev->info.arena_bytes;
}

static void fill_extended(const struct vb_device *dev, struct ibv_device_attr_ex_65 *ret)
{
	const struct ctl_profile *profile = vb_profile(dev);
	struct ibv_device_attr_ex *base = &ret->base;

	device_attr(dev, &base->orig_attr);
	base->device_cap_flags_ex = base->orig_attr.device_cap_flags |
				    (profile->flush ? CAP_FLUSH_GLOBAL | CAP_FLUSH_PERSISTENT : 0) |
				    (profile->atomic_write ? CAP_ATOMIC_WRITE : 0);
	base->max_dm_size = largest_dm(dev);
	fill_odp(profile, base);
	fill_queues(profile, base);
	if (profile->raw_packet)
		fill_raw_packet(profile, base);
}

/* attr_size: of the structure in the program. The end of a longer one is cleared. */
static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex_65 full = { .phys_port_cnt_ex = 1 };

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr_size < sizeof(attr->orig_attr), WHY_SMALL_STRUCT,
		      "struct ibv_device_attr_ex", attr_size, sizeof(attr->orig_attr)) ||
	    refuse_if(input && input->comp_mask, WHY_UNKNOWN_BITS, "input->comp_mask",
		      (uint64_t)(input ? input->comp_mask : 0)))
		return vb_result(refusal_noted());
	if (vb_verb_fails(context, query_device_ex))
		return vb_result(errno);
	fill_extended(vb_device(context), &full);
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

/* The clock of completion timestamps. As the libraries of adapters do, the whole count of ticks is
 * in tv_nsec: programs compare that one member with completion timestamps. */
static int query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)
{
	if (vb_refuses_context(context) || refuse_if(!values, WHY_NULL, "values"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(context, query_rt_values_ex))
		return vb_result(errno);
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK ||
	    !vb_profile(vb_device(context))->completion_timestamp)
		return vb_result(refuse(WHY_NOT_OFFERED, "these values, or completion timestamps"));
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK)
		values->raw_clock = (struct timespec){ .tv_nsec = (long)clock_now_ns() };
	return 0;
}

static void port_attr(const struct vb_device *dev, struct ibv_port_attr_65 *ret)
{
	uint32_t state = atomic_load(&dev->attachment.shared->port_state);

	memset(ret, 0, sizeof(*ret));
	ret->base = (struct ibv_port_attr){
		.state = (enum ibv_port_state)state,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = vb_mtu_enum(dev->info.max_mtu),
		.gid_tbl_len = RXE_MAX_GIDS,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = vb_profile(dev)->max_msg_sz,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = (uint8_t)vb_profile(dev)->active_width,
		.active_speed = (uint8_t)vb_profile(dev)->active_speed,
		.phys_state = state == IBV_PORT_ACTIVE ? CTL_PHYS_UP : CTL_PHYS_DOWN,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
#ifndef RXE_DM_HAVE_ACTIVE_SPEED_EX
	ret->active_speed_ex = vb_profile(dev)->active_speed;
#endif
}

static int query_port_n(struct ibv_context *context, uint32_t port, void *attr, size_t len)
{
	struct ibv_port_attr_65 full;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(port != VB_PORT, WHY_BAD_PORT, port))
		return vb_result_as("ibv_query_port", refusal_noted());
	if (vb_verb_fails(context, query_port))
		return vb_result_as("ibv_query_port", errno);
	port_attr(vb_device(context), &full);
	memset(attr, 0, len);
	memcpy(attr, &full, len < sizeof(full) ? len : sizeof(full));
	return 0;
}

/* The inline ibv_query_port passes the size its program was compiled with: 52 or 56. */
static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t len)
{
	return query_port_n(context, port, attr, len);
}

/* For old programs, whose structure ends before port_cap_flags2. New ones reach query_port()
 * through an inline function. */
#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port_n(context, port, attr, offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	if (vb_refuses_context(context) || refuse_if(port != VB_PORT, WHY_BAD_PORT, port) ||
	    refuse_if(!speed, WHY_NULL, "speed"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(context, query_port_speed))
		return vb_result(errno);
	*speed = ctl_profile_speed(vb_profile(vb_device(context)));
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	if (vb_refuses_context(context) || refuse_if(port != VB_PORT, WHY_BAD_PORT, port) ||
	    refuse_if(index != 0, WHY_NO_PKEY, index) || refuse_if(!pkey, WHY_NULL, "pkey"))
		return vb_minus_one(refusal_noted());
	if (vb_verb_fails(context, query_pkey))
		return vb_minus_one(errno);
	*pkey = CTL_PKEY;
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	/* The membership bit is ignored: 0x7fff matches 0xffff. */
	if (vb_refuses_context(context) || refuse_if(port != VB_PORT, WHY_BAD_PORT, port) ||
	    refuse_if((pkey | __builtin_bswap16(0x8000)) != 0xffff, WHY_OTHER_PKEY,
		      __builtin_bswap16(pkey)))
		return vb_minus_one(refusal_noted());
	return vb_verb_fails(context, get_pkey_index) ? vb_minus_one(errno) : 0;
}

void vb_query_ops(struct verbs_context_65 *verbs)
{
	struct ibv_context_ops *ops = &verbs->base.context.ops;

	/* The two entries of the oldest table that programs still call. The type of the first
	 * differs between releases. */
	ops->_compat_query_device =
		(__typeof__(ops->_compat_query_device))(void (*)(void))ibv_query_device;
	ops->_compat_query_port = ibv_query_port;
	verbs->base.query_device_ex = query_device_ex;
	verbs->base.query_rt_values = query_rt_values_ex;
	verbs->base.query_port = query_port;
}
