// SPDX-License-Identifier: MIT
/* Every verb that takes an object, called with none, with memory that never was one, with one of
 * another kind, and with one that was destroyed: refused, each time, and other users of the device
 * do not notice. tests/abi/check_bad_input.py sees to it that no verb is forgotten. Inline verbs
 * look into the object before the library sees it: those get no null and no destroyed ones. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/sa.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/abi/newer.h"

enum what {
	NONE,
	DESTROYED,
	FOREIGN,
	OTHER_KIND,
	WHATS,
};

static union {
	struct ibv_context *context; /* the first member of every object but contexts */
	uint8_t bytes[8192];
} foreign;

static struct bad {
	void *context[WHATS], *pd[WHATS], *mr[WHATS], *cq[WHATS], *qp[WHATS], *srq[WHATS],
		*ah[WHATS], *channel[WHATS], *dm[WHATS], *dmah[WHATS], *td[WHATS], *buf[WHATS],
		*mw[WHATS];
} bad;

static struct end a, b;

/* A verb that fails leaves errno set, whether it returns -1 or the errno itself. */
#define REFUSED(call)                                                                              \
	do {                                                                                       \
		int ret;                                                                           \
                                                                                                   \
		errno = 0;                                                                         \
		ret = (call);                                                                      \
		ck_assert_msg(ret != 0, #call " with %s", said[i]);                                \
		ck_assert_msg(ret < 0 ? errno : errno == ret,                                      \
			      #call " with %s: returns %d, errno %d", said[i], ret, errno);        \
	} while (0)
#define REFUSED_NULL(call)                                                                         \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_msg((call) == NULL && errno, #call " with %s", said[i]);                 \
	} while (0)

static const char *const said[WHATS] = { "none", "a destroyed one", "foreign memory",
					 "another kind" };

static void set_all(void **row, void *gone, void *other)
{
	row[NONE] = NULL;
	row[DESTROYED] = gone;
	row[FOREIGN] = &foreign;
	row[OTHER_KIND] = other;
}

/* Made and destroyed, of each kind one; none is made afterwards, so that no address comes back to
 * life. */
static void make_destroyed(void)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .dgid = a.peer.gid } };
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_dmah_init_attr dmah_attr = { 0 };
	struct ibv_td_init_attr td_attr = { 0 };
	struct end_cfg cfg = { .channel = true, .srq = true };
	struct end gone;
	struct ibv_buf *buf;
	struct ibv_dmah *dmah;
	struct ibv_td *td;
	struct ibv_dm *dm;
	struct ibv_mw *mw;

	end_open(&gone, NULL, &cfg);
	gone.ah = ibv_create_ah(gone.pd, &way);
	dm = ibv_alloc_dm(gone.context, &dm_attr);
	dmah = ibv_alloc_dmah(gone.context, &dmah_attr);
	td = ibv_alloc_td(gone.context, &td_attr);
	mw = ibv_alloc_mw(gone.pd, IBV_MW_TYPE_1);
	ck_assert(gone.ah && dm && dmah && td && mw && ibv_alloc_buf(gone.pd, 64, &buf));
	set_all(bad.context, gone.context, a.cq);
	set_all(bad.pd, gone.pd, a.cq);
	set_all(bad.mr, gone.mr, a.cq);
	set_all(bad.cq, gone.cq, a.pd);
	set_all(bad.qp, gone.qp, a.cq);
	set_all(bad.srq, gone.srq, a.qp);
	set_all(bad.ah, gone.ah, a.cq);
	set_all(bad.channel, gone.channel, a.cq);
	set_all(bad.dm, dm, a.mr);
	set_all(bad.dmah, dmah, a.mr);
	set_all(bad.td, td, a.mr);
	set_all(bad.buf, buf, a.mr);
	set_all(bad.mw, mw, a.mr);
	ibv_free_buf(buf);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	ck_assert_int_eq(ibv_dealloc_dmah(dmah), 0);
	ck_assert_int_eq(ibv_dealloc_td(td), 0);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	end_close(&gone);
}

static void setup(void)
{
	ends_open(&a, &b, NULL);
	make_destroyed();
	foreign.context = a.context;
}

static void still_works(void)
{
	fill(a.memory, 5000, 3);
	end_recv(&b, 1, 100000, 5000);
	end_post(&a, IBV_WR_SEND, 1, 0, 5000);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory + 100000, 5000, 3);
}

static void teardown(void)
{
	still_works();
	ends_close(&a, &b);
}

START_TEST(contexts)
{
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .dgid = a.peer.gid } };
	struct ibv_device_attr device;
	struct ibv_async_event event;
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = { 0 };
	struct ibv_gid_entry entry;
	struct ibv_dmah_init_attr dmah = { 0 };
	union ibv_gid gid;
	uint8_t mac[6];
	uint64_t speed;
	uint16_t vlan;
	__be16 pkey;

	for (int i = 0; i < WHATS; i++) {
		struct ibv_context *p = bad.context[i];

		REFUSED_NULL(ibv_alloc_pd(p));
		REFUSED_NULL(ibv_create_comp_channel(p));
		REFUSED_NULL(ibv_create_cq(p, 1, NULL, NULL, 0));
		REFUSED_NULL(ibv_import_pd(p, a.pd->handle));
		REFUSED_NULL(ibv_import_dm(p, 1));
		REFUSED_NULL(ibv_alloc_dmah(p, &dmah));
		REFUSED(ibv_query_device(p, &device));
		REFUSED((ibv_query_port)(p, 1, NULL));
		REFUSED(ibv_query_port_speed(p, 1, &speed));
		REFUSED(ibv_query_gid(p, 1, 0, &gid));
		REFUSED(ibv_query_gid_ex(p, 1, 0, &entry, 0));
		ck_assert_int_lt(ibv_query_gid_table(p, &entry, 1, 0), 0);
		REFUSED(ibv_query_pkey(p, 1, 0, &pkey));
		ck_assert_int_lt(ibv_get_pkey_index(p, 1, 0xffff), 0);
		REFUSED(ibv_init_ah_from_wc(p, 1, &wc, &grh, &way));
		REFUSED(ibv_resolve_eth_l2_from_gid(p, &way, mac, &vlan));
		REFUSED(ibv_get_async_event(p, &event));
		REFUSED(ibv_close_device(p));
	}
}
END_TEST

START_TEST(domains)
{
	struct ibv_qp_init_attr qp = { .send_cq = a.cq, .recv_cq = a.cq, .qp_type = IBV_QPT_RC };
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .dgid = a.peer.gid } };
	struct ibv_mr_init_attr mr = { .addr = a.memory, .length = 8, .comp_mask = 1 };
	struct ibv_srq_init_attr srq = { .attr = { 1, 1, 0 } };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = { 0 };
	struct ibv_buf *buf;

	for (int i = 0; i < WHATS; i++) {
		struct ibv_pd *p = bad.pd[i];

		REFUSED_NULL((ibv_reg_mr)(p, a.memory, 8, 0));
		REFUSED_NULL((ibv_reg_mr_iova)(p, a.memory, 8, 0, 0));
		REFUSED_NULL(ibv_reg_mr_iova2(p, a.memory, 8, 0, 0));
		REFUSED_NULL(ibv_reg_mr_ex(p, &mr));
		REFUSED_NULL(ibv_reg_dmabuf_mr(p, 0, 8, 0, 0, 0));
		REFUSED_NULL(ibv_alloc_buf(p, 64, &buf));
		REFUSED_NULL(ibv_reg_buf_mr(p, bad.buf[i], a.memory, 8, 0));
		REFUSED_NULL(ibv_import_mr(p, a.mr->handle));
		REFUSED_NULL(ibv_create_ah(p, &way));
		REFUSED_NULL(ibv_create_ah_from_wc(p, &wc, &grh, 1));
		REFUSED_NULL(ibv_create_qp(p, &qp));
		REFUSED_NULL(ibv_create_srq(p, &srq));
		ibv_unimport_pd(p);
		REFUSED(ibv_dealloc_pd(p));
	}
}
END_TEST

START_TEST(memory)
{
	struct ibv_mr_init_attr attr = { .length = 8, .addr = a.memory };
	struct ibv_sge sge = { (uintptr_t)a.memory, 8, a.mr->lkey };

	for (int i = 0; i < WHATS; i++) {
		REFUSED(ibv_rereg_mr(bad.mr[i], IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
		ck_assert_int_ne(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, bad.pd[i], NULL, 0, 0),
				 0);
		ibv_unimport_mr(bad.mr[i]);
		REFUSED(ibv_dereg_mr(bad.mr[i]));
		ibv_unimport_dm(bad.dm[i]);
		REFUSED(ibv_dm_export_dmabuf_fd(bad.dm[i]) + 1 > 0 ? 0 : -1);
		REFUSED(ibv_dealloc_dmah(bad.dmah[i]));
		REFUSED(ibv_export_buf_dmabuf_fd(bad.buf[i]));
		ck_assert_int_eq(errno, EINVAL);
		ibv_free_buf(bad.buf[i]);
		attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH;
		attr.dmah = bad.dmah[i];
		REFUSED_NULL(ibv_reg_mr_ex(a.pd, &attr));
		attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF;
		attr.buf = bad.buf[i];
		REFUSED_NULL(ibv_reg_mr_ex(a.pd, &attr));
		REFUSED_NULL(ibv_reg_buf_mr(a.pd, bad.buf[i], a.memory, 8, 0));
	}
	for (int i = FOREIGN; i < WHATS; i++) {
		REFUSED(ibv_advise_mr(bad.pd[i], IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
		REFUSED(ibv_free_dm(bad.dm[i]));
		REFUSED_NULL(ibv_reg_dm_mr(a.pd, bad.dm[i], 0, 8, IBV_ACCESS_ZERO_BASED));
		REFUSED(ibv_dealloc_td(bad.td[i]));
	}
}
END_TEST

START_TEST(windows)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { 0 };

	for (int i = FOREIGN; i < WHATS; i++) {
		REFUSED_NULL(ibv_alloc_mw(bad.pd[i], IBV_MW_TYPE_1));
		REFUSED_NULL(ibv_alloc_null_mr(bad.pd[i]));
		REFUSED(ibv_dealloc_mw(bad.mw[i]));
		REFUSED(ibv_bind_mw(bad.qp[i], mw, &bind));
		/* The inline function itself refuses, without errno. */
		ck_assert_int_eq(ibv_bind_mw(a.qp, bad.mw[i], &bind), EINVAL);
		ck_assert_int_eq(
			ibv_bind_mw(a.qp, mw, &(struct ibv_mw_bind){ .bind_info.mr = bad.mr[i] }),
			EPERM);
	}
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
}
END_TEST

START_TEST(completion_queues)
{
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct ibv_cq *cq;
	void *user;

	for (int i = FOREIGN; i < WHATS; i++)
		REFUSED(ibv_modify_cq(bad.cq[i], &moderate));
	for (int i = 0; i < WHATS; i++) {
		REFUSED(ibv_resize_cq(bad.cq[i], 10));
		REFUSED(ibv_destroy_cq(bad.cq[i]));
		REFUSED(ibv_get_cq_event(bad.channel[i], &cq, &user));
		REFUSED(ibv_destroy_comp_channel(bad.channel[i]));
		if (bad.channel[i])
			REFUSED_NULL(ibv_create_cq(a.context, 1, NULL, bad.channel[i], 0));
	}
}
END_TEST

static void bad_parts(int i)
{
	struct ibv_qp_init_attr_ex attr = { .send_cq = a.cq,
					    .recv_cq = a.cq,
					    .qp_type = IBV_QPT_RC,
					    .pd = a.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD };

	attr.send_cq = bad.cq[i];
	REFUSED_NULL(ibv_create_qp_ex(a.context, &attr));
	attr.send_cq = a.cq;
	attr.recv_cq = bad.cq[i];
	REFUSED_NULL(ibv_create_qp_ex(a.context, &attr));
	attr.recv_cq = a.cq;
	attr.srq = bad.srq[i];
	if (attr.srq)
		REFUSED_NULL(ibv_create_qp_ex(a.context, &attr));
	attr.srq = NULL;
	attr.pd = bad.pd[i];
	REFUSED_NULL(ibv_create_qp_ex(a.context, &attr));
}

START_TEST(queue_pairs)
{
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	struct ibv_ece ece = { 0 };

	for (int i = 0; i < WHATS; i++) {
		struct ibv_qp *p = bad.qp[i];

		bad_parts(i);
		REFUSED(ibv_modify_qp(p, &attr, IBV_QP_STATE));
		REFUSED(ibv_query_qp(p, &attr, IBV_QP_STATE, &init));
		REFUSED(ibv_attach_mcast(p, &group, 0));
		REFUSED(ibv_detach_mcast(p, &group, 0));
		REFUSED(ibv_query_ece(p, &ece));
		REFUSED(ibv_set_ece(p, &ece));
		ck_assert_int_eq(ibv_query_qp_data_in_order(p, IBV_WR_RDMA_WRITE, 0), 0);
		REFUSED_NULL(ibv_qp_to_qp_ex(p));
		REFUSED(ibv_destroy_qp(p));
	}
}
END_TEST

START_TEST(completion_counters)
{
	struct ibv_qp_attach_comp_cntr_attr ops = { .op_mask = 1 };
	struct ibv_comp_cntr_init_attr attr = { 0 };
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(a.context, &attr);
	struct ibv_comp_cntr_caps caps;
	uint64_t value;

	ck_assert_ptr_nonnull(cntr);
	for (int i = 0; i < WHATS; i++) {
		struct ibv_comp_cntr *p = (void *)bad.qp[i];

		/* The allocator may have given it the memory of the destroyed queue pair. */
		if (p == cntr)
			continue;
		REFUSED(ibv_query_comp_cntr_caps(bad.context[i], &caps));
		REFUSED_NULL(ibv_create_comp_cntr(bad.context[i], &attr));
		REFUSED(ibv_qp_attach_comp_cntr(a.qp, p, &ops));
		REFUSED(ibv_qp_attach_comp_cntr(bad.qp[i], cntr, &ops));
		REFUSED(ibv_set_comp_cntr(p, 1));
		REFUSED(ibv_set_err_comp_cntr(p, 1));
		REFUSED(ibv_inc_comp_cntr(p, 1));
		REFUSED(ibv_inc_err_comp_cntr(p, 1));
		REFUSED(ibv_read_comp_cntr(p, &value));
		REFUSED(ibv_read_err_comp_cntr(p, &value));
		REFUSED(ibv_destroy_comp_cntr(p));
	}
	ck_assert_int_eq(ibv_destroy_comp_cntr(cntr), 0);
}
END_TEST

START_TEST(the_rest)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	for (int i = 0; i < WHATS; i++) {
		REFUSED(ibv_modify_srq(bad.srq[i], &attr, IBV_SRQ_LIMIT));
		REFUSED(ibv_query_srq(bad.srq[i], &attr));
		REFUSED(ibv_destroy_srq(bad.srq[i]));
		REFUSED(ibv_destroy_ah(bad.ah[i]));
		REFUSED_NULL(ibv_open_device(i == FOREIGN ? (void *)&foreign : NULL));
		REFUSED_NULL(ibv_get_device_name(i == FOREIGN ? (void *)&foreign : NULL));
		ck_assert_uint_eq(ibv_get_device_guid(i == FOREIGN ? (void *)&foreign : NULL), 0);
		ck_assert_int_lt(ibv_get_device_index(i == FOREIGN ? (void *)&foreign : NULL), 0);
	}
	ibv_free_device_list(NULL);
}
END_TEST

/* The inline ones that take a context find the library by it: only a live one gets that far. Their
 * structures may be bad. */
START_TEST(structures)
{
	struct ibv_parent_domain_init_attr parent = { .pd = bad.pd[FOREIGN] };
	struct ibv_srq_init_attr_ex srq = { .attr = { 1, 1, 0 } };
	struct ibv_values_ex values = { .comp_mask = 1u << 30 };
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex device;
	struct ibv_td_init_attr td = { .comp_mask = 1 };
	int i = FOREIGN;

	REFUSED_NULL(ibv_alloc_parent_domain(a.context, &parent));
	parent.pd = a.pd;
	parent.td = bad.td[FOREIGN];
	REFUSED_NULL(ibv_alloc_parent_domain(a.context, &parent));
	REFUSED_NULL(ibv_alloc_parent_domain(a.context, NULL));
	REFUSED_NULL(ibv_alloc_td(a.context, &td));
	REFUSED_NULL(ibv_alloc_td(a.context, NULL));
	REFUSED_NULL(ibv_create_srq_ex(a.context, &srq)); /* of no domain */
	srq.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	srq.pd = bad.pd[FOREIGN];
	REFUSED_NULL(ibv_create_srq_ex(a.context, &srq));
	REFUSED_NULL(ibv_create_cq_ex(a.context, NULL));
	REFUSED(ibv_query_rt_values_ex(a.context, &values));
	REFUSED(ibv_query_rt_values_ex(a.context, NULL));
	/* The inline function itself refuses, without errno. */
	ck_assert_int_eq(ibv_query_device_ex(a.context, &input, &device), EINVAL);
}
END_TEST

/* Work queues, tables and flows: the inline functions find the library by the context of the
 * object. */
START_TEST(raw_objects)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = a.pd, .cq = bad.cq[FOREIGN]
	};
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq foreign_wq = { .context = a.context }, *wqs[] = { &foreign_wq }, *wq;
	struct ibv_rwq_ind_table_init_attr table_init = { .ind_tbl = wqs };
	struct ibv_rwq_ind_table table = { .context = a.context };
	struct ibv_flow_attr all = { .type = IBV_FLOW_ATTR_ALL_DEFAULT, .port = 1 };
	struct ibv_flow flow = { .context = a.context };
	int i = FOREIGN;

	REFUSED_NULL(ibv_create_wq(a.context, &init));
	init.cq = a.cq;
	init.pd = bad.pd[DESTROYED];
	REFUSED_NULL(ibv_create_wq(a.context, &init));
	REFUSED(ibv_modify_wq(&foreign_wq, &attr));
	REFUSED(ibv_destroy_wq(&foreign_wq));
	REFUSED_NULL(ibv_create_rwq_ind_table(a.context, NULL));
	REFUSED_NULL(ibv_create_rwq_ind_table(a.context, &table_init));
	REFUSED(ibv_destroy_rwq_ind_table(&table));
	REFUSED_NULL(ibv_create_flow(a.qp, NULL));
	REFUSED_NULL(ibv_create_flow(a.qp, &all)); /* of another type */
	REFUSED(ibv_destroy_flow(&flow));
	init.pd = a.pd;
	wq = ibv_create_wq(a.context, &init);
	ck_assert_ptr_nonnull(wq);
	REFUSED(ibv_modify_wq(wq, NULL));
	attr.wq_state = IBV_WQS_UNKNOWN;
	REFUSED(ibv_modify_wq(wq, &attr));
	wq->handle++;
	REFUSED(ibv_destroy_wq(wq));
	wq->handle--;
	ck_assert_int_eq(ibv_destroy_wq(wq), 0);
}
END_TEST

START_TEST(counters_of_flows)
{
	struct ibv_counters foreign_counters = { .context = a.context };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };
	uint64_t value;
	int i = FOREIGN;

	REFUSED_NULL(ibv_create_counters(a.context, NULL));
	REFUSED(ibv_attach_counters_point_flow(&foreign_counters, &packets, NULL));
	REFUSED(ibv_read_counters(&foreign_counters, &value, 1, 0));
	REFUSED(ibv_destroy_counters(&foreign_counters));
}
END_TEST

/* What is not there says so, and looks at nothing. */
START_TEST(not_built)
{
	struct ibv_qp_rate_limit_attr rate = { .comp_mask = 1 };
	struct ibv_qp_open_attr open_attr = { 0 };
	struct ibv_xrcd_init_attr xrcd = { 0 };
	uint32_t number;
	int i = NONE;

	REFUSED(ibv_modify_qp_rate_limit(a.qp, &rate));
	REFUSED_NULL(ibv_open_qp(a.context, &open_attr));
	REFUSED_NULL(ibv_open_xrcd(a.context, &xrcd));
	REFUSED(ibv_get_srq_num((struct ibv_srq *)(void *)&foreign, &number));
}
END_TEST

/* Descriptors that are no cmd_fd: nothing is said to them, nothing waits for their answer. */
START_TEST(descriptors)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), pipes[2], i = 0;

	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	REFUSED_NULL(ibv_import_device(-1));
	REFUSED_NULL(ibv_import_device(9999));
	REFUSED_NULL(ibv_import_device(null));
	REFUSED_NULL(ibv_import_device(pipes[0]));
	REFUSED_NULL(ibv_import_device(pipes[1]));
	REFUSED_NULL(ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, -1, 0));
	REFUSED_NULL(ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, null, 0));
	REFUSED_NULL(ibv_reg_dmabuf_mr(a.pd, UINT64_MAX - 4095, 4096, 0, null, 0));
	REFUSED_NULL(ibv_import_pd(a.context, 0xffffffff));
	REFUSED_NULL(ibv_import_mr(a.pd, a.pd->handle));
	REFUSED_NULL(ibv_import_dm(a.context, a.mr->handle));
	close(null);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

/* The kernel finds objects by their handles. An object whose handle was overwritten is not found;
 * with its own it goes on. */
static void overwrite(int delta)
{
	a.pd->handle += (uint32_t)delta;
	a.mr->handle += (uint32_t)delta;
	a.cq->handle += (uint32_t)delta;
	a.qp->handle += (uint32_t)delta;
}

START_TEST(overwritten)
{
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .dgid = a.peer.gid } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);
	struct ibv_ah *ah = ibv_create_ah(a.pd, &way);
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_qp_init_attr made;
	int i = FOREIGN;

	ck_assert(srq && ah);
	srq->handle++;
	ah->handle++;
	overwrite(1);
	REFUSED(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	REFUSED(ibv_query_srq(srq, &attr));
	REFUSED(ibv_destroy_srq(srq));
	REFUSED(ibv_destroy_ah(ah));
	REFUSED(ibv_modify_qp(a.qp, &to, IBV_QP_STATE));
	REFUSED(ibv_query_qp(a.qp, &to, IBV_QP_STATE, &made));
	REFUSED(ibv_destroy_qp(a.qp));
	REFUSED(ibv_resize_cq(a.cq, 300));
	REFUSED(ibv_destroy_cq(a.cq));
	REFUSED(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	REFUSED(ibv_dereg_mr(a.mr));
	REFUSED_NULL(ibv_create_srq(a.pd, &init));
	REFUSED(ibv_dealloc_pd(a.pd));
	srq->handle--;
	ah->handle--;
	overwrite(-1);
	ck_assert_int_eq(ibv_query_srq(srq, &attr), 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
}
END_TEST

/* A context that closes ends its objects, whatever their handles say: the device has room for as
 * many again, and still works. */
START_TEST(overwritten_and_closed)
{
	for (int i = 0; i < 3; i++) {
		struct end_cfg cfg = { .srq = true };
		struct end lost;

		end_open(&lost, NULL, &cfg);
		lost.pd->handle++;
		lost.mr->handle++;
		lost.cq->handle++;
		lost.qp->handle++;
		lost.srq->handle++;
		ck_assert_int_eq(ibv_close_device(lost.context), 0);
	}
}
END_TEST

/* Numbers that no enumeration has. */
START_TEST(names_and_rates)
{
	static const int numbers[] = { -2, 99, 0x7fffffff };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const int n = numbers[i];

		ck_assert_ptr_nonnull(ibv_node_type_str((enum ibv_node_type)n));
		ck_assert_ptr_nonnull(ibv_port_state_str((enum ibv_port_state)n));
		ck_assert_ptr_nonnull(ibv_event_type_str((enum ibv_event_type)n));
		ck_assert_ptr_nonnull(ibv_wc_status_str((enum ibv_wc_status)n));
		ck_assert_int_eq(ibv_rate_to_mult((enum ibv_rate)n), -1);
		ck_assert_int_eq(ibv_rate_to_mbps((enum ibv_rate)n), -1);
		ck_assert_int_eq(mult_to_ibv_rate(n), IBV_RATE_MAX);
		ck_assert_int_eq(mbps_to_ibv_rate(n), IBV_RATE_MAX);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, contexts);
	tcase_add_test(tests, domains);
	tcase_add_test(tests, memory);
	tcase_add_test(tests, windows);
	tcase_add_test(tests, completion_queues);
	tcase_add_test(tests, queue_pairs);
	tcase_add_test(tests, completion_counters);
	tcase_add_test(tests, the_rest);
	tcase_add_test(tests, structures);
	tcase_add_test(tests, raw_objects);
	tcase_add_test(tests, counters_of_flows);
	tcase_add_test(tests, not_built);
	tcase_add_test(tests, descriptors);
	tcase_add_test(tests, overwritten);
	tcase_add_test(tests, overwritten_and_closed);
	tcase_add_test(tests, names_and_rates);
}

int main(void)
{
	return fixture_main("verbs_bad_handles", add);
}
