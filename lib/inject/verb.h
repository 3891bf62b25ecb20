/* SPDX-License-Identifier: MIT */
/* The calls that fault rules know by name: verbs, and calls of librdmacm. A verb asks the gate
 * (lib/verbs/gate.h) whether it fails; a call of librdmacm is a request to the device server, which
 * decides (rxe_dm/server/cm/fault.c).
 *
 * COMMAND: a command of the adapter, which returns EIO once the device is fatal. DESTROY: the same,
 * unless RDMAV_ALLOW_DISASSOC_DESTROY is set. LOCAL: works on memory of the process alone. */
#ifndef RXE_INJECT_VERB_H
#define RXE_INJECT_VERB_H

/* clang-format off */
#define INJECT_VERB_TABLE(X) \
	X(open_device, COMMAND) X(import_device, COMMAND) \
	X(query_device, COMMAND) X(query_device_ex, COMMAND) X(query_rt_values_ex, LOCAL) \
	X(query_port, COMMAND) X(query_port_speed, COMMAND) X(query_pkey, COMMAND) X(get_pkey_index, COMMAND) \
	X(query_gid, COMMAND) X(query_gid_ex, COMMAND) X(query_gid_table, COMMAND) X(query_gid_type, COMMAND) \
	X(alloc_pd, COMMAND) X(dealloc_pd, DESTROY) X(import_pd, COMMAND) \
	X(alloc_td, COMMAND) X(dealloc_td, DESTROY) X(alloc_parent_domain, COMMAND) \
	X(reg_mr, COMMAND) X(reg_mr_iova, COMMAND) X(reg_dmabuf_mr, COMMAND) X(reg_mr_ex, COMMAND) X(reg_dm_mr, COMMAND) X(alloc_null_mr, COMMAND) \
	X(rereg_mr, COMMAND) X(advise_mr, COMMAND) X(dereg_mr, DESTROY) X(import_mr, COMMAND) \
	X(alloc_dm, COMMAND) X(free_dm, DESTROY) X(import_dm, COMMAND) X(dm_export_dmabuf_fd, COMMAND) \
	X(memcpy_to_dm, LOCAL) X(memcpy_from_dm, LOCAL) \
	X(alloc_mw, COMMAND) X(bind_mw, LOCAL) X(dealloc_mw, DESTROY) \
	X(alloc_dmah, COMMAND) X(dealloc_dmah, DESTROY) X(alloc_buf, LOCAL) X(reg_buf_mr, COMMAND) \
	X(create_comp_channel, COMMAND) X(destroy_comp_channel, DESTROY) X(get_cq_event, LOCAL) \
	X(create_cq, COMMAND) X(create_cq_ex, COMMAND) X(resize_cq, COMMAND) X(modify_cq, COMMAND) X(destroy_cq, DESTROY) \
	X(poll_cq, LOCAL) X(req_notify_cq, LOCAL) \
	X(create_qp, COMMAND) X(create_qp_ex, COMMAND) X(modify_qp, COMMAND) X(modify_qp_rate_limit, COMMAND) X(query_qp, COMMAND) X(open_qp, COMMAND) X(destroy_qp, DESTROY) \
	X(create_srq, COMMAND) X(create_srq_ex, COMMAND) X(modify_srq, COMMAND) X(query_srq, COMMAND) X(destroy_srq, DESTROY) \
	X(create_wq, COMMAND) X(modify_wq, COMMAND) X(destroy_wq, DESTROY) \
	X(create_rwq_ind_table, COMMAND) X(destroy_rwq_ind_table, DESTROY) X(create_flow, COMMAND) X(destroy_flow, DESTROY) \
	X(create_counters, COMMAND) X(destroy_counters, DESTROY) X(attach_counters_point_flow, COMMAND) X(read_counters, COMMAND) \
	X(open_xrcd, COMMAND) X(close_xrcd, DESTROY) X(get_srq_num, LOCAL) \
	X(post_send, LOCAL) X(wr_complete, LOCAL) X(post_recv, LOCAL) X(post_srq_recv, LOCAL) X(post_srq_ops, LOCAL) X(post_wq_recv, LOCAL) \
	X(create_comp_cntr, COMMAND) X(destroy_comp_cntr, DESTROY) X(qp_attach_comp_cntr, COMMAND) \
	X(create_ah, COMMAND) X(create_ah_from_wc, COMMAND) X(init_ah_from_wc, LOCAL) X(destroy_ah, DESTROY) \
	X(attach_mcast, COMMAND) X(detach_mcast, DESTROY) \
	X(get_async_event, LOCAL)

#define INJECT_RDMA_TABLE(X) \
	X(create_event_channel) X(create_id) X(bind_addr) X(resolve_addr) X(resolve_route) X(listen) X(connect) \
	X(accept) X(reject) X(establish) X(notify) X(disconnect) X(init_qp_attr) X(set_option) X(migrate_id) \
	X(join_multicast) X(leave_multicast)

enum inject_verb {
#define X(name, kind) INJECT_VERB_##name,
	INJECT_VERB_TABLE(X)
#undef X
#define X(name) INJECT_VERB_rdma_##name,
	INJECT_RDMA_TABLE(X)
#undef X
	INJECT_VERBS
};
/* clang-format on */

enum inject_verb_kind {
	INJECT_VERB_COMMAND,
	INJECT_VERB_DESTROY,
	INJECT_VERB_LOCAL,
};

/* "ibv_alloc_pd", "rdma_connect" */
const char *inject_verb_str(enum inject_verb verb);
enum inject_verb_kind inject_verb_kind(enum inject_verb verb);

#endif
