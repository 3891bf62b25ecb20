// SPDX-License-Identifier: MIT
/* lib/abi/features.tsv against the libraries: every function of the table is called. One that works
 * succeeds; one that is refused fails with EOPNOTSUPP; one that works in part does both. The device
 * was started with --mlx5 on. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/sa.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/supported.h"
#include "feature_table.h"
#include "fixture.h"
#include "lib/abi/newer.h"
#include "lib/mlx5/newer.h"
#include "verbs_features.h"

/* verbs.h's ibv_close_xrcd() follows what it looks up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

static struct end a, b;
static uint8_t bytes[4096];

static void devices(void)
{
	struct ibv_device **list = NULL;
	struct ibv_context *context;
	int n;

	GOOD(ibv_get_device_list, (list = ibv_get_device_list(&n)) && n == 1);
	GOOD(ibv_get_device_name, ibv_get_device_name(list[0]));
	GOOD(ibv_get_device_guid, ibv_get_device_guid(list[0]));
	GOOD(ibv_get_device_index, ibv_get_device_index(list[0]) == -1);
	feature_find("ibv_get_device_index")->refused = true; /* -1 is both */
	GOOD(ibv_open_device, (context = ibv_open_device(list[0])));
	GOOD(ibv_close_device, ibv_close_device(context) == 0);
	CALLED(ibv_free_device_list, ibv_free_device_list(list));
	GOOD(ibv_import_device, (context = ibv_import_device(dup(a.context->cmd_fd))));
	ck_assert_int_eq(ibv_close_device(context), 0);
	GOOD(ibv_fork_init, ibv_fork_init() == 0);
	GOOD(ibv_is_fork_initialized, (int)ibv_is_fork_initialized() >= 0);
	GOOD(ibv_dontfork_range,
	     ((int (*)(void *, size_t))dlsym(RTLD_DEFAULT, "ibv_dontfork_range"))(
		     bytes, sizeof(bytes)) == 0);
	GOOD(ibv_dofork_range, ((int (*)(void *, size_t))dlsym(RTLD_DEFAULT, "ibv_dofork_range"))(
				       bytes, sizeof(bytes)) == 0);
}

static void queries(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex device_ex;
	struct ibv_device_attr device;
	struct ibv_gid_entry entries[16];
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint64_t speed;
	__be16 pkey;

	GOOD(ibv_query_device, ibv_query_device(a.context, &device) == 0);
	GOOD(ibv_query_device_ex, ibv_query_device_ex(a.context, NULL, &device_ex) == 0);
	GOOD(ibv_query_rt_values_ex, ibv_query_rt_values_ex(a.context, &values) == 0);
	GOOD(ibv_query_port, ibv_query_port(a.context, 1, &port) == 0);
	GOOD(ibv_query_port_speed, ibv_query_port_speed(a.context, 1, &speed) == 0);
	GOOD(ibv_query_gid, ibv_query_gid(a.context, 1, 0, &gid) == 0);
	GOOD(ibv_query_gid_ex, ibv_query_gid_ex(a.context, 1, 0, entries, 0) == 0);
	GOOD(ibv_query_gid_table, ibv_query_gid_table(a.context, entries, 16, 0) > 0);
	GOOD(ibv_query_pkey, ibv_query_pkey(a.context, 1, 0, &pkey) == 0);
	GOOD(ibv_get_pkey_index, ibv_get_pkey_index(a.context, 1, pkey) == 0);
	GOOD(ibv_is_qpt_supported, ibv_is_qpt_supported(1u << IBV_QPT_RC, IBV_QPT_RC));
	GOOD(ibv_flow_label_to_udp_sport, ibv_flow_label_to_udp_sport(1) >= 0xc000);
	GOOD(ibv_inc_rkey, ibv_inc_rkey(0x100) == 0x101);
	GOOD(ibv_node_type_str, ibv_node_type_str(IBV_NODE_CA));
	GOOD(ibv_port_state_str, ibv_port_state_str(IBV_PORT_ACTIVE));
	GOOD(ibv_event_type_str, ibv_event_type_str(IBV_EVENT_CQ_ERR));
	GOOD(ibv_wc_status_str, ibv_wc_status_str(IBV_WC_SUCCESS));
	GOOD(ibv_rate_to_mult, ibv_rate_to_mult(IBV_RATE_5_GBPS) == 2);
	GOOD(mult_to_ibv_rate, mult_to_ibv_rate(2) == IBV_RATE_5_GBPS);
	GOOD(ibv_rate_to_mbps, ibv_rate_to_mbps(IBV_RATE_5_GBPS) == 5000);
	GOOD(mbps_to_ibv_rate, mbps_to_ibv_rate(5000) == IBV_RATE_5_GBPS);
}

static void domains(void)
{
	struct ibv_parent_domain_init_attr parent = { 0 };
	struct ibv_xrcd_init_attr xrc = { .comp_mask = 3, .fd = -1, .oflags = O_CREAT };
	struct ibv_td_init_attr td = { 0 };
	struct ibv_xrcd *xrcd;
	struct ibv_pd *pd;

	GOOD(ibv_alloc_pd, (parent.pd = ibv_alloc_pd(a.context)));
	GOOD(ibv_alloc_td, (parent.td = ibv_alloc_td(a.context, &td)));
	GOOD(ibv_alloc_parent_domain, (pd = ibv_alloc_parent_domain(a.context, &parent)));
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	GOOD(ibv_dealloc_td, ibv_dealloc_td(parent.td) == 0);
	GOOD(ibv_import_pd, (pd = ibv_import_pd(a.context, parent.pd->handle)));
	CALLED(ibv_unimport_pd, ibv_unimport_pd(pd));
	GOOD(ibv_dealloc_pd, ibv_dealloc_pd(parent.pd) == 0);
	GOOD(ibv_open_xrcd, (xrcd = ibv_open_xrcd(a.context, &xrc)));
	GOOD(ibv_close_xrcd, ibv_close_xrcd(xrcd) == 0);
}

static void regions(void)
{
	struct ibv_mr_init_attr attr = { .length = 8, .addr = bytes, .comp_mask = 1 << 1 };
	struct ibv_sge sge = { (uintptr_t)bytes, 8, 0 };
	int fd = memfd_create("features", MFD_CLOEXEC);
	struct ibv_mr *mr;

	GOOD(ibv_reg_mr_iova, (mr = ibv_reg_mr_iova(a.pd, bytes, 8, 0, 0)));
	ibv_dereg_mr(mr);
	GOOD(ibv_reg_mr_iova2, (mr = ibv_reg_mr_iova2(a.pd, bytes, 8, 0, 0)));
	ibv_dereg_mr(mr);
	GOOD(ibv_reg_mr_ex, (mr = ibv_reg_mr_ex(a.pd, &attr)));
	ibv_dereg_mr(mr);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	GOOD(ibv_reg_dmabuf_mr, (mr = ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, fd, 0)));
	ibv_dereg_mr(mr);
	close(fd);
	GOOD(ibv_reg_mr, (mr = ibv_reg_mr(a.pd, bytes, 8, IBV_ACCESS_ON_DEMAND)));
	sge.lkey = mr->lkey;
	GOOD(ibv_advise_mr, ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1) == 0);
	GOOD(ibv_rereg_mr, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == 0);
	GOOD(ibv_dereg_mr, ibv_dereg_mr(mr) == 0);
	GOOD(ibv_import_mr, (mr = ibv_import_mr(a.pd, a.mr->handle)));
	CALLED(ibv_unimport_mr, ibv_unimport_mr(mr));
	GOOD(ibv_alloc_null_mr, (mr = ibv_alloc_null_mr(a.pd)));
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct feature *export = feature_find("ibv_dm_export_dmabuf_fd");
	struct ibv_dm *dm, *again;
	struct ibv_mr *mr;
	int fd;

	GOOD(ibv_alloc_dm, (dm = ibv_alloc_dm(a.context, &attr)));
	GOOD(ibv_memcpy_to_dm, ibv_memcpy_to_dm(dm, 0, bytes, 8) == 0);
	GOOD(ibv_memcpy_from_dm, ibv_memcpy_from_dm(bytes, dm, 0, 8) == 0);
	GOOD(ibv_reg_dm_mr, (mr = ibv_reg_dm_mr(a.pd, dm, 0, 8, IBV_ACCESS_ZERO_BASED)));
	NOT_THERE(ibv_rereg_mr, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	ibv_dereg_mr(mr);
	GOOD(ibv_import_dm,
	     (again = ibv_import_dm(a.context, ((struct ibv_dm_65 *)(void *)dm)->handle)));
	CALLED(ibv_unimport_dm, ibv_unimport_dm(again));
	/* As the machine permits. */
	fd = ibv_dm_export_dmabuf_fd(dm);
	ck_assert(fd >= 0 || errno == EOPNOTSUPP);
	export->good = export->refused = true;
	close(fd);
	GOOD(ibv_free_dm, ibv_free_dm(dm) == 0);
}

static void buffers(void)
{
	struct ibv_dmah_init_attr attr = { 0 };
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
	struct ibv_mr *mr;
	void *memory;

	GOOD(ibv_alloc_buf, (memory = ibv_alloc_buf(a.pd, 64, &buf)));
	GOOD(ibv_reg_buf_mr, (mr = ibv_reg_buf_mr(a.pd, buf, memory, 64, 0)));
	ibv_dereg_mr(mr);
	GOOD(ibv_export_buf_dmabuf_fd, ibv_export_buf_dmabuf_fd(buf) == -1 && errno == ENODATA);
	CALLED(ibv_free_buf, ibv_free_buf(buf));
	GOOD(ibv_alloc_dmah, (dmah = ibv_alloc_dmah(a.context, &attr)));
	GOOD(ibv_dealloc_dmah, ibv_dealloc_dmah(dmah) == 0);
}

/* A window of type 1 is bound; requests for one of type 2 are built, and not sent. */
static void windows(void)
{
	struct ibv_mr *mr =
		ibv_reg_mr(a.pd, a.memory, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw_bind bind = { .wr_id = 9,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { mr, (uintptr_t)a.memory, 64, 0 } };
	struct ibv_mw *two = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2), *one;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);

	ck_assert(mr && two && ex);
	GOOD(ibv_alloc_mw, (one = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1)));
	GOOD(ibv_bind_mw, ibv_bind_mw(a.qp, one, &bind) == 0);
	end_wait_for(&a, 9, IBV_WC_SUCCESS);
	GOOD(ibv_dealloc_mw, ibv_dealloc_mw(one) == 0);
	ibv_wr_start(ex);
	CALLED(ibv_wr_bind_mw, ibv_wr_bind_mw(ex, two, ibv_inc_rkey(two->rkey), &bind.bind_info));
	CALLED(ibv_wr_local_inv, ibv_wr_local_inv(ex, two->rkey));
	ibv_wr_abort(ex);
	ck_assert_int_eq(ibv_dealloc_mw(two), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}

static void completion_queues(void)
{
	struct ibv_modify_cq_attr moderate = { 0 };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *user;

	GOOD(ibv_create_comp_channel, (channel = ibv_create_comp_channel(a.context)));
	GOOD(ibv_create_cq, (cq = ibv_create_cq(a.context, 8, NULL, channel, 0)));
	GOOD(ibv_resize_cq, ibv_resize_cq(cq, 16) == 0);
	GOOD(ibv_req_notify_cq, ibv_req_notify_cq(a.cq, 0) == 0);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 8);
	GOOD(ibv_get_cq_event, ibv_get_cq_event(a.channel, &cq, &user) == 0);
	CALLED(ibv_ack_cq_events, ibv_ack_cq_events(cq, 1));
	GOOD(ibv_poll_cq, ibv_poll_cq(a.cq, 1, &wc) == 1);
	GOOD(ibv_modify_cq, ibv_modify_cq(a.cq, &moderate) == 0);
}

static void destroyed_queues(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(a.context);
	struct ibv_cq *cq = ibv_create_cq(a.context, 8, NULL, NULL, 0);

	GOOD(ibv_destroy_cq, ibv_destroy_cq(cq) == 0);
	GOOD(ibv_destroy_comp_channel, ibv_destroy_comp_channel(channel) == 0);
}

static void fields(struct ibv_cq_ex *cq)
{
	GOOD(ibv_wc_read_opcode, ibv_wc_read_opcode(cq) == IBV_WC_SEND);
	GOOD(ibv_wc_read_vendor_err, ibv_wc_read_vendor_err(cq) == 0);
	GOOD(ibv_wc_read_byte_len, ibv_wc_read_byte_len(cq) == 0);
	CALLED(ibv_wc_read_imm_data, ibv_wc_read_imm_data(cq));
	CALLED(ibv_wc_read_invalidated_rkey, ibv_wc_read_invalidated_rkey(cq));
	GOOD(ibv_wc_read_qp_num, ibv_wc_read_qp_num(cq));
	CALLED(ibv_wc_read_src_qp, ibv_wc_read_src_qp(cq));
	CALLED(ibv_wc_read_wc_flags, ibv_wc_read_wc_flags(cq));
	GOOD(ibv_wc_read_slid, ibv_wc_read_slid(cq) == 0);
	GOOD(ibv_wc_read_sl, ibv_wc_read_sl(cq) == 0);
	GOOD(ibv_wc_read_dlid_path_bits, ibv_wc_read_dlid_path_bits(cq) == 0);
	GOOD(ibv_wc_read_cvlan, ibv_wc_read_cvlan(cq) == 0);
	GOOD(ibv_wc_read_flow_tag, ibv_wc_read_flow_tag(cq) == 0);
	GOOD(ibv_wc_read_completion_ts, ibv_wc_read_completion_ts(cq));
	GOOD(ibv_wc_read_completion_wallclock_ns, ibv_wc_read_completion_wallclock_ns(cq));
	CALLED(ibv_wc_read_tm_info, ibv_wc_read_tm_info(cq, &(struct ibv_wc_tm_info){ 0 }));
}

/* A queue pair in error completes at once, in an extended CQ. */
static void extended_queues(void)
{
	/* 0xc80: both timestamps, and tags. */
	struct ibv_cq_init_attr_ex attr = { .cqe = 8,
					    .wc_flags = IBV_WC_STANDARD_FLAGS |
							IBV_WC_EX_WITH_CVLAN |
							IBV_WC_EX_WITH_FLOW_TAG | 0xc80 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	GOOD(ibv_create_cq_ex, (cq = ibv_create_cq_ex(a.context, &attr)));
	GOOD(ibv_cq_ex_to_cq, (init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq)));
	GOOD(ibv_create_qp, (qp = ibv_create_qp(a.pd, &init)));
	GOOD(ibv_modify_qp, ibv_modify_qp(qp, &to,
					  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						  IBV_QP_ACCESS_FLAGS) == 0);
	to.qp_state = IBV_QPS_ERR;
	ck_assert_int_eq(ibv_modify_qp(qp, &to, IBV_QP_STATE), 0);
	ck_assert_int_eq(ibv_post_send(qp, &wr, &bad), 0);
	GOOD(ibv_start_poll, ibv_start_poll(cq, &none) == 0);
	fields(cq);
	GOOD(ibv_next_poll, ibv_next_poll(cq) == ENOENT);
	CALLED(ibv_end_poll, ibv_end_poll(cq));
	NOT_THERE(ibv_modify_qp, ibv_modify_qp(qp, &to, IBV_QP_CAP));
	GOOD(ibv_destroy_qp, ibv_destroy_qp(qp) == 0);
	ck_assert_int_eq(ibv_destroy_cq(init.send_cq), 0);
	init.qp_type = IBV_QPT_DRIVER;
	init.send_cq = init.recv_cq = a.cq;
	NOT_THERE(ibv_create_qp, !ibv_create_qp(a.pd, &init));
}

static void queue_pairs(void)
{
	struct ibv_qp_init_attr_ex attr = { .send_cq = a.cq,
					    .recv_cq = a.cq,
					    .qp_type = IBV_QPT_RC,
					    .pd = a.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_CREATE_FLAGS };
	struct ibv_qp_rate_limit_attr rate = { 0 };
	struct ibv_ece ece = { .vendor_id = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;
	struct ibv_qp *qp;

	GOOD(ibv_create_qp_ex, (qp = ibv_create_qp_ex(a.context, &attr)));
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	NOT_THERE(ibv_create_qp_ex, !ibv_create_qp_ex(a.context, &attr));
	GOOD(ibv_qp_to_qp_ex, ibv_qp_to_qp_ex(a.qp));
	GOOD(ibv_query_qp, ibv_query_qp(a.qp, &got, 0, &init) == 0);
	GOOD(ibv_query_qp_data_in_order,
	     ibv_query_qp_data_in_order(a.qp, IBV_WR_RDMA_WRITE, 0) >= 0);
	GOOD(ibv_modify_qp_rate_limit, ibv_modify_qp_rate_limit(a.qp, &rate) == 0);
	NOT_THERE(ibv_set_ece, ibv_set_ece(a.qp, &ece));
	NOT_THERE(ibv_query_ece, ibv_query_ece(a.qp, &ece));
}

static void shared_queues(void)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { 8, 1, 0 },
					     .pd = a.pd,
					     .comp_mask = IBV_SRQ_INIT_ATTR_PD,
					     .tm_cap = { 1, 1 } };
	struct ibv_srq_init_attr init = { .attr = { 8, 1, 0 } };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_srq_attr limit = { .max_wr = 16, .srq_limit = 3 };
	struct ibv_async_event event;
	struct ibv_ops_wr ops = { 0 }, *bad_ops;
	struct ibv_srq *srq;

	GOOD(ibv_create_srq_ex, (srq = ibv_create_srq_ex(a.context, &attr)));
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
	attr.srq_type = IBV_SRQT_TM;
	attr.cq = a.cq;
	GOOD(ibv_create_srq_ex, (srq = ibv_create_srq_ex(a.context, &attr)));
	GOOD(ibv_post_srq_ops, ibv_post_srq_ops(srq, &ops, &bad_ops) == 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	GOOD(ibv_create_srq, (srq = ibv_create_srq(a.pd, &init)));
	GOOD(ibv_post_srq_recv, ibv_post_srq_recv(srq, &wr, &bad) == 0);
	GOOD(ibv_modify_srq, ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR) == 0);
	GOOD(ibv_get_async_event, ibv_get_async_event(a.context, &event) == 0);
	CALLED(ibv_ack_async_event, ibv_ack_async_event(&event));
	GOOD(ibv_query_srq, ibv_query_srq(srq, &limit) == 0);
	GOOD(ibv_destroy_srq, ibv_destroy_srq(srq) == 0);
}

static void xrc(void)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = 3, .fd = -1, .oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(a.context, &domain);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { 8, 1, 0 },
		.comp_mask = (1u << 4) - 1,
		.srq_type = IBV_SRQT_XRC,
		.pd = a.pd,
		.xrcd = xrcd,
		.cq = a.cq,
	};
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_SEND,
					    .send_cq = a.cq,
					    .cap = { 4, 0, 1, 0, 0 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = a.pd,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_srq *srq = ibv_create_srq_ex(a.context, &attr);
	struct ibv_qp *qp = ibv_create_qp_ex(a.context, &init);
	struct ibv_qp_ex *ex;
	struct ibv_qp_init_attr_ex half = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };
	struct ibv_qp_open_attr open = { .comp_mask = IBV_QP_OPEN_ATTR_RESERVED - 1,
					 .xrcd = xrcd,
					 .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp *target = ibv_create_qp_ex(a.context, &half), *opened;
	uint32_t number;

	ck_assert(xrcd && srq && qp && target);
	open.qp_num = target->qp_num;
	GOOD(ibv_open_qp, (opened = ibv_open_qp(a.context, &open)));
	ck_assert_int_eq(ibv_destroy_qp(opened), 0);
	ck_assert_int_eq(ibv_destroy_qp(target), 0);
	GOOD(ibv_get_srq_num, ibv_get_srq_num(srq, &number) == 0);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	CALLED(ibv_wr_set_xrc_srqn, ibv_wr_set_xrc_srqn(ex, number));
	ibv_wr_abort(ex);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ck_assert_int_eq(ibv_close_xrcd(xrcd), 0);
}

static void address_handles(void)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .dgid = a.peer.gid } };
	struct ibv_grh grh = { .version_tclass_flow = htonl(6u << 28),
			       .sgid = a.peer.gid,
			       .dgid = a.peer.gid };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah *ah;
	uint8_t mac[6];

	GOOD(ibv_create_ah, (ah = ibv_create_ah(a.pd, &way)));
	GOOD(ibv_destroy_ah, ibv_destroy_ah(ah) == 0);
	GOOD(ibv_resolve_eth_l2_from_gid,
	     ibv_resolve_eth_l2_from_gid(a.context, &way, mac, NULL) == 0);
	GOOD(ibv_init_ah_from_wc, ibv_init_ah_from_wc(a.context, 1, &wc, &grh, &way) == 0);
	GOOD(ibv_create_ah_from_wc, (ah = ibv_create_ah_from_wc(a.pd, &wc, &grh, 1)));
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
}

static bool lacks_builder(uint64_t operation)
{
	struct ibv_qp_init_attr_ex attr = { .send_cq = a.cq,
					    .recv_cq = a.cq,
					    .qp_type = IBV_QPT_RC,
					    .pd = a.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = operation };

	return ibv_create_qp_ex(a.context, &attr) == NULL;
}

/* A build that leaves out persistence has no FLUSH, and registers no memory for it. */
static void persistence_left_out(void)
{
	static const unsigned int rights[] = { IBV_ACCESS_FLUSH_GLOBAL,
					       IBV_ACCESS_FLUSH_PERSISTENT };

	NOT_THERE(ibv_wr_flush, lacks_builder(IBV_QP_EX_WITH_FLUSH));
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		errno = 0;
		ck_assert_ptr_null(ibv_reg_mr(a.pd, a.memory, 4096, rights[i]));
		ck_assert_int_eq(errno, EOPNOTSUPP);
	}
}

/* Requests are built, and not sent. */
static void built(struct ibv_qp_ex *ex)
{
	struct ibv_sge sge = { (uintptr_t)a.memory, 8, a.mr->lkey };
	struct ibv_data_buf piece = { a.memory, 8 };

	CALLED(ibv_wr_start, ibv_wr_start(ex));
	CALLED(ibv_wr_rdma_write, ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr));
	CALLED(ibv_wr_set_sge, ibv_wr_set_sge(ex, sge.lkey, sge.addr, 8));
	CALLED(ibv_wr_rdma_write_imm, ibv_wr_rdma_write_imm(ex, a.peer.rkey, a.peer.addr, 1));
	CALLED(ibv_wr_set_sge_list, ibv_wr_set_sge_list(ex, 1, &sge));
	CALLED(ibv_wr_rdma_read, ibv_wr_rdma_read(ex, a.peer.rkey, a.peer.addr));
	CALLED(ibv_wr_atomic_cmp_swp, ibv_wr_atomic_cmp_swp(ex, a.peer.rkey, a.peer.addr, 1, 2));
	CALLED(ibv_wr_atomic_fetch_add, ibv_wr_atomic_fetch_add(ex, a.peer.rkey, a.peer.addr, 1));
	CALLED(ibv_wr_atomic_write, ibv_wr_atomic_write(ex, a.peer.rkey, a.peer.addr, a.memory));
	if (RXE_PERSISTENCE_SUPPORTED)
		CALLED(ibv_wr_flush, ibv_wr_flush(ex, a.peer.rkey, a.peer.addr, 8, IBV_FLUSH_GLOBAL,
						  IBV_FLUSH_RANGE));
	else
		persistence_left_out();
	CALLED(ibv_wr_send, ibv_wr_send(ex));
	CALLED(ibv_wr_set_inline_data, ibv_wr_set_inline_data(ex, a.memory, 8));
	CALLED(ibv_wr_send_imm, ibv_wr_send_imm(ex, 1));
	CALLED(ibv_wr_set_inline_data_list, ibv_wr_set_inline_data_list(ex, 1, &piece));
	CALLED(ibv_wr_send_inv, ibv_wr_send_inv(ex, a.peer.rkey));
	CALLED(ibv_wr_abort, ibv_wr_abort(ex));
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, a.peer.rkey, a.peer.addr);
	ibv_wr_set_sge(ex, sge.lkey, sge.addr, 8);
	GOOD(ibv_wr_complete, ibv_wr_complete(ex) == 0);
	end_wait_for(&a, 7, IBV_WC_SUCCESS);
}

static void requests(void)
{
	struct ibv_recv_wr recv = { .wr_id = 2 }, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	wr = end_wr(&a, &sge, IBV_WR_SEND, 1, 0, 0);
	GOOD(ibv_post_recv, ibv_post_recv(b.qp, &recv, &bad_recv) == 0);
	GOOD(ibv_post_send, ibv_post_send(a.qp, &wr, &bad) == 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	built(ibv_qp_to_qp_ex(a.qp));
	NOT_THERE(ibv_wr_send_tso, lacks_builder(IBV_QP_EX_WITH_TSO));
}

static void datagrams(void)
{
	struct end_cfg cfg = { .type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_SEND };
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_qp_ex *ex;
	struct end c, d;

	ends_open(&c, &d, &cfg);
	GOOD(ibv_attach_mcast, ibv_attach_mcast(c.qp, &group, 0) == 0);
	GOOD(ibv_detach_mcast, ibv_detach_mcast(c.qp, &group, 0) == 0);
	ex = ibv_qp_to_qp_ex(c.qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	CALLED(ibv_wr_set_ud_addr, ibv_wr_set_ud_addr(ex, c.ah, c.peer.qpn, FIXTURE_QKEY));
	ibv_wr_abort(ex);
	ends_close(&c, &d);
}

static void completion_counters(void)
{
	struct ibv_qp_attach_comp_cntr_attr all = { .op_mask = (1u << 6) - 1 };
	struct ibv_comp_cntr_init_attr attr = { 0 };
	struct ibv_comp_cntr_caps caps;
	struct ibv_comp_cntr *cntr;
	struct end counted;
	uint64_t value;

	end_open(&counted, a.context, NULL);
	GOOD(ibv_query_comp_cntr_caps, ibv_query_comp_cntr_caps(a.context, &caps) == 0);
	GOOD(ibv_create_comp_cntr, (cntr = ibv_create_comp_cntr(a.context, &attr)));
	GOOD(ibv_qp_attach_comp_cntr, ibv_qp_attach_comp_cntr(counted.qp, cntr, &all) == 0);
	GOOD(ibv_set_comp_cntr, ibv_set_comp_cntr(cntr, 1) == 0);
	GOOD(ibv_set_err_comp_cntr, ibv_set_err_comp_cntr(cntr, 1) == 0);
	GOOD(ibv_inc_comp_cntr, ibv_inc_comp_cntr(cntr, 1) == 0);
	GOOD(ibv_inc_err_comp_cntr, ibv_inc_err_comp_cntr(cntr, 2) == 0);
	GOOD(ibv_read_comp_cntr, ibv_read_comp_cntr(cntr, &value) == 0 && value == 2);
	GOOD(ibv_read_err_comp_cntr, ibv_read_err_comp_cntr(cntr, &value) == 0 && value == 3);
	end_close(&counted);
	GOOD(ibv_destroy_comp_cntr, ibv_destroy_comp_cntr(cntr) == 0);
}

static void raw_packets(void)
{
	features_raw(&a);
}

/* Bits of a command, the most significant first. */
static void put(uint8_t *cmd, unsigned int at, unsigned int bits, uint64_t value)
{
	for (unsigned int i = 0; i < bits; i++)
		if (value >> (bits - 1 - i) & 1)
			cmd[(at + i) / 8] |= (uint8_t)(0x80 >> (at + i) % 8);
}

/* CREATE_MKEY over a umem. */
static struct mlx5dv_devx_obj *memory_key(uint32_t pdn, uint32_t umem_id)
{
	uint8_t cmd[0x400] = { 0 }, out[16];

	put(cmd, 0, 16, 0x200);
	put(cmd, 0x61, 1, 1);
	put(cmd, 0x80 + 0x11, 5, 0x1f);
	put(cmd, 0x80 + 0x16, 2, 1);
	put(cmd, 0x80 + 0x20, 24, 0xffffff);
	put(cmd, 0x80 + 0x68, 24, pdn);
	put(cmd, 0x80 + 0xc0, 64, 64);
	put(cmd, 0x320, 32, umem_id);
	return mlx5dv_devx_obj_create(a.context, cmd, sizeof(cmd), out, sizeof(out));
}

static void mlx5(void)
{
	struct mlx5dv_devx_umem_in in = { .addr = bytes, .size = 64, .pgsz_bitmap = 4096 };
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	uint8_t out[16], none[16] = { 5, 0 }, data[64];
	struct mlx5dv_export_sizes sizes;
	struct mlx5dv_pd number = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = a.pd, .out = &number } };
	struct mlx5dv_devx_umem *umem, *other;
	struct mlx5dv_devx_obj *key;
	struct ibv_context *context;

	GOOD(mlx5dv_is_supported, mlx5dv_is_supported(a.context->device));
	feature_find("mlx5dv_is_supported")->refused = true; /* verbs_umem_off */
	GOOD(mlx5dv_open_device, (context = mlx5dv_open_device(a.context->device, &attr)));
	ck_assert_int_eq(ibv_close_device(context), 0);
	GOOD(mlx5dv_init_obj, mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD) == 0);
	NOT_THERE(mlx5dv_init_obj, mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	GOOD(mlx5dv_devx_umem_reg_ex, (umem = mlx5dv_devx_umem_reg_ex(a.context, &in)));
	GOOD(mlx5dv_devx_umem_dereg, mlx5dv_devx_umem_dereg(umem) == 0);
	GOOD(mlx5dv_devx_umem_reg,
	     (umem = mlx5dv_devx_umem_reg(a.context, bytes, 64, FIXTURE_ALL_RIGHTS)));
	CALLED(mlx5dv_get_export_sizes, _mlx5dv_get_export_sizes(&sizes, sizeof(sizes)));
	ck_assert_uint_le(sizes.devx_umem_attrs_size, sizeof(data));
	GOOD(mlx5dv_devx_umem_export, mlx5dv_devx_umem_export(umem, data) == 0);
	GOOD(mlx5dv_devx_umem_import, (other = mlx5dv_devx_umem_import(a.context, data)));
	CALLED(mlx5dv_devx_umem_unimport, mlx5dv_devx_umem_unimport(other));
	GOOD(mlx5dv_devx_obj_create, (key = memory_key(number.pdn, umem->umem_id)));
	GOOD(mlx5dv_devx_obj_destroy, mlx5dv_devx_obj_destroy(key) == 0);
	NOT_THERE(mlx5dv_devx_obj_create,
		  !mlx5dv_devx_obj_create(a.context, none, sizeof(none), out, sizeof(out)));
	ck_assert_int_eq(mlx5dv_devx_umem_dereg(umem), 0);
}

/* Generated refusals look at none of their arguments. Those that return nothing say nothing. */
static void generated(void)
{
	static const char *const silent[] = { "mlx5dv_devx_free_uar",
					      "mlx5dv_devx_destroy_cmd_comp",
					      "mlx5dv_devx_destroy_event_channel",
					      "mlx5dv_free_var",
					      "mlx5dv_pp_free",
					      "mlx5dv_dr_domain_set_reclaim_device_memory",
					      "mlx5dv_dr_domain_allow_duplicate_rules" };
	struct feature *f;

	for (size_t i = 0; (f = feature_at(i)); i++) {
		void (*function)(void) = NULL;
		char name[80];
		int expected = EOPNOTSUPP;

		if (f->state != REFUSED || f->refused)
			continue;
		for (int k = 0; k < 3 && !function; k++) {
			snprintf(name, sizeof(name), "__%s", f->name);
			*(void **)&function = dlsym(RTLD_DEFAULT, name + 2 - k);
		}
		ck_assert_msg(function != NULL, "%s: no such symbol", f->name);
		for (size_t k = 0; k < sizeof(silent) / sizeof(silent[0]); k++)
			if (strcmp(f->name, silent[k]) == 0)
				expected = 0;
		errno = 0;
		function();
		ck_assert_msg(errno == expected, "%s: %s", f->name, strerror(errno));
		f->refused = true;
	}
}

START_TEST(every_function)
{
	const struct feature *f;
	struct end_cfg cfg = {
		.channel = true,
		.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			    IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
			    IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV
	};
	void (*const groups[])(void) = { devices,
					 queries,
					 domains,
					 regions,
					 device_memory,
					 buffers,
					 destroyed_queues,
					 completion_queues,
					 extended_queues,
					 queue_pairs,
					 shared_queues,
					 xrc,
					 address_handles,
					 windows,
					 requests,
					 datagrams,
					 raw_packets,
					 completion_counters,
					 mlx5,
					 generated };

	ends_open(&a, &b, &cfg);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		groups[i]();
	ends_close(&a, &b);
	for (size_t i = 0; (f = feature_at(i)); i++) {
		ck_assert_msg(f->good == (f->state != REFUSED), "%s: %s", f->name,
			      f->good ? "works, but is refused in the table"
				      : "was not seen to work");
		ck_assert_msg(f->refused == (f->state != WORKS), "%s: %s", f->name,
			      f->refused ? "is refused, but works in the table"
					 : "was not seen to be refused");
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, every_function);
}

int main(void)
{
	return fixture_main("verbs_features", add);
}
