// SPDX-License-Identifier: MIT
/* The operations that this device does not have: each returns EOPNOTSUPP, so that no entry of a context's tables is NULL. */
#include "lib/verbs/context.h"
#include "lib/verbs/objects.h"

/* Functions of one type for each entry: a call through a pointer of another type is undefined, and some checkers trap it. */
#define REFUSE_INT(name, ...)                                                                      \
	static int name(__VA_ARGS__)                                                               \
	{                                                                                          \
		return EOPNOTSUPP;                                                                 \
	}

#define REFUSE_PTR(type, name, ...)                                                                \
	static type *name(__VA_ARGS__)                                                             \
	{                                                                                          \
		return vb_fail(EOPNOTSUPP);                                                        \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

REFUSE_INT(advise_mr, struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
	   struct ibv_sge *sg_list, uint32_t num_sge)
REFUSE_PTR(struct ibv_mr, alloc_null_mr, struct ibv_pd *pd)
REFUSE_INT(read_counters, struct ibv_counters *counters, uint64_t *values, uint32_t n,
	   uint32_t flags)
REFUSE_INT(attach_counters, struct ibv_counters *counters, struct ibv_counter_attach_attr *attr,
	   struct ibv_flow *flow)
REFUSE_PTR(struct ibv_counters, create_counters, struct ibv_context *context,
	   struct ibv_counters_init_attr *attr)
REFUSE_INT(destroy_counters, struct ibv_counters *counters)
REFUSE_INT(modify_esp, struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
REFUSE_INT(destroy_flow_action, struct ibv_flow_action *action)
REFUSE_PTR(struct ibv_flow_action, create_esp, struct ibv_context *context,
	   struct ibv_flow_action_esp_attr *attr)
REFUSE_INT(modify_qp_rate_limit, struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
REFUSE_INT(modify_cq, struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
REFUSE_INT(destroy_rwq_ind_table, struct ibv_rwq_ind_table *table)
REFUSE_PTR(struct ibv_rwq_ind_table, create_rwq_ind_table, struct ibv_context *context,
	   struct ibv_rwq_ind_table_init_attr *attr)
REFUSE_INT(destroy_wq, struct ibv_wq *wq)
REFUSE_INT(modify_wq, struct ibv_wq *wq, struct ibv_wq_attr *attr)
REFUSE_PTR(struct ibv_wq, create_wq, struct ibv_context *context, struct ibv_wq_init_attr *attr)
REFUSE_PTR(struct ibv_cq_ex, create_cq_ex, struct ibv_context *context,
	   struct ibv_cq_init_attr_ex *attr)
REFUSE_INT(destroy_flow, struct ibv_flow *flow)
REFUSE_PTR(struct ibv_flow, create_flow, struct ibv_qp *qp, struct ibv_flow_attr *attr)
REFUSE_PTR(struct ibv_qp, open_qp, struct ibv_context *context, struct ibv_qp_open_attr *attr)
REFUSE_PTR(struct ibv_qp, create_qp_ex, struct ibv_context *context,
	   struct ibv_qp_init_attr_ex *attr)
REFUSE_INT(get_srq_num, struct ibv_srq *srq, uint32_t *srq_num)
REFUSE_PTR(struct ibv_srq, create_srq_ex, struct ibv_context *context,
	   struct ibv_srq_init_attr_ex *attr)
REFUSE_PTR(struct ibv_xrcd, open_xrcd, struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
REFUSE_INT(close_xrcd, struct ibv_xrcd *xrcd)
REFUSE_PTR(struct ibv_mw, alloc_mw, struct ibv_pd *pd, enum ibv_mw_type type)
REFUSE_INT(bind_mw, struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
REFUSE_INT(dealloc_mw, struct ibv_mw *mw)
REFUSE_INT(req_notify_cq, struct ibv_cq *cq, int solicited_only)

static int post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	errno = EOPNOTSUPP;
	return -1;
}

/* Entries that nothing has called since the ABI of 1.1, and places that are no functions any more. */
static void *retired(void)
{
	return vb_fail(ENOSYS);
}

static void retired_place(void)
{
}

static int retired_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return ibv_query_device(context, attr);
}

static int retired_query_port(struct ibv_context *context, uint8_t port,
			      struct _compat_ibv_port_attr *attr)
{
	return (ibv_query_port)(context, port, attr);
}

static void refuse_basic(struct ibv_context_ops *ops)
{
	*ops = (struct ibv_context_ops){
		/* Its type differs between releases. */
		._compat_query_device =
			(__typeof__(ops->_compat_query_device))(void (*)(void))retired_query_device,
		._compat_query_port = retired_query_port,
		._compat_alloc_pd = retired,
		._compat_dealloc_pd = retired,
		._compat_reg_mr = retired,
		._compat_rereg_mr = retired,
		._compat_dereg_mr = retired,
		.alloc_mw = alloc_mw,
		.bind_mw = bind_mw,
		.dealloc_mw = dealloc_mw,
		._compat_create_cq = retired,
		.poll_cq = poll_cq,
		.req_notify_cq = req_notify_cq,
		._compat_cq_event = retired,
		._compat_resize_cq = retired,
		._compat_destroy_cq = retired,
		._compat_create_srq = retired,
		._compat_modify_srq = retired,
		._compat_query_srq = retired,
		._compat_destroy_srq = retired,
		.post_srq_recv = post_srq_recv,
		._compat_create_qp = retired,
		._compat_query_qp = retired,
		._compat_modify_qp = retired,
		._compat_destroy_qp = retired,
		.post_send = post_send,
		.post_recv = post_recv,
		._compat_create_ah = retired,
		._compat_destroy_ah = retired,
		._compat_attach_mcast = retired,
		._compat_detach_mcast = retired,
		._compat_async_event = retired,
	};
}

void vb_refuse_ops(struct verbs_context_65 *verbs)
{
	verbs->base = (struct verbs_context){
		.advise_mr = advise_mr,
		.alloc_null_mr = alloc_null_mr,
		.read_counters = read_counters,
		.attach_counters_point_flow = attach_counters,
		.create_counters = create_counters,
		.destroy_counters = destroy_counters,
		.modify_flow_action_esp = modify_esp,
		.destroy_flow_action = destroy_flow_action,
		.create_flow_action_esp = create_esp,
		.modify_qp_rate_limit = modify_qp_rate_limit,
		.modify_cq = modify_cq,
		.post_srq_ops = post_srq_ops,
		.destroy_rwq_ind_table = destroy_rwq_ind_table,
		.create_rwq_ind_table = create_rwq_ind_table,
		.destroy_wq = destroy_wq,
		.modify_wq = modify_wq,
		.create_wq = create_wq,
		.create_cq_ex = create_cq_ex,
		.ibv_destroy_flow = destroy_flow,
		.ABI_placeholder2 = retired_place,
		.ibv_create_flow = create_flow,
		.ABI_placeholder1 = retired_place,
		.open_qp = open_qp,
		.create_qp_ex = create_qp_ex,
		.get_srq_num = get_srq_num,
		.create_srq_ex = create_srq_ex,
		.open_xrcd = open_xrcd,
		.close_xrcd = close_xrcd,
	};
	refuse_basic(&verbs->base.context.ops);
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	/* Enhanced connection establishment: no options are known, so only "none" can be set. */
	if (!vb_live_is(qp, VB_KIND_QP) || !ece || ece->comp_mask)
		return EINVAL;
	return ece->vendor_id || ece->options ? EOPNOTSUPP : 0;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!vb_live_is(qp, VB_KIND_QP) || !ece)
		return EINVAL;
	*ece = (struct ibv_ece){ 0 };
	return 0;
}
