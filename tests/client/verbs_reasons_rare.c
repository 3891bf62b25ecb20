// SPDX-License-Identifier: MIT
/* Every refusal says why: calls of the objects that fewer programs use, as verbs_reasons.c does for
 * the others. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/abi/newer.h"
#include "log_lines.h"

#define NO_HANDLE 123456u

/* verbs.h's ibv_close_xrcd() follows what it looks up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

static struct end end;

static void setup(void)
{
	log_lines_begin();
	end_open(&end, NULL, NULL);
	log_lines_none();
}

static void teardown(void)
{
	log_lines_none();
	end_close(&end);
	log_lines_end();
}

static struct ibv_xrcd *open_domain(int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(end.context, &attr);
}

START_TEST(xrc_domains)
{
	const int fd = memfd_create("domain", MFD_CLOEXEC);
	struct ibv_qp_init_attr_ex target = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp_open_attr open = { .qp_num = 0x123456, .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_xrcd *domain;

	ck_assert_ptr_null(open_domain(fd, 0));
	log_line_is("ibv_open_xrcd: the file of descriptor %d has no XRC domain: add O_CREAT to "
		    "oflags to create one (ibv_open_xrcd(3))",
		    fd);
	ck_assert_ptr_null(open_domain(-1, 0));
	log_line_is("ibv_open_xrcd: without a file, oflags needs O_CREAT (ibv_open_xrcd(3))");
	domain = open_domain(fd, O_CREAT);
	ck_assert_ptr_nonnull(domain);
	ck_assert_ptr_null(open_domain(fd, O_CREAT | O_EXCL));
	log_line_is("ibv_open_xrcd: the file of descriptor %d has an XRC domain already: drop "
		    "O_EXCL from oflags to open it (ibv_open_xrcd(3))",
		    fd);
	ck_assert_ptr_null(ibv_create_qp_ex(end.context, &target));
	log_line_is("ibv_create_qp_ex: an XRC target needs IBV_QP_INIT_ATTR_XRCD "
		    "(ibv_create_qp_ex(3))");
	open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	open.xrcd = domain;
	ck_assert_ptr_null(ibv_open_qp(end.context, &open));
	log_line_is("ibv_open_qp: the XRC domain has no QP 0x123456 (ibv_open_qp(3))");
	ck_assert_int_eq(ibv_close_xrcd(domain), 0);
	close(fd);
}
END_TEST

START_TEST(work_queues)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = end.pd, .cq = end.cq
	};
	struct ibv_wq_attr move = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = 77 };
	struct ibv_wq *wq = ibv_create_wq(end.context, &attr);
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 30, .ind_tbl = &wq };

	ck_assert_ptr_nonnull(wq);
	ck_assert_int_eq(ibv_modify_wq(wq, &move), EINVAL);
	ck_assert(strstr(log_line(), "ibv_modify_wq: wq_state is 77: "));
	ck_assert_ptr_null(ibv_create_rwq_ind_table(end.context, &table));
	ck_assert(strstr(log_line(), "ibv_create_rwq_ind_table: log_ind_tbl_size 30 is above the "
				     "device's "));
	ck_assert_int_eq(ibv_destroy_wq(wq), 0);
	attr.wq_type = (enum ibv_wq_type)5;
	ck_assert_ptr_null(ibv_create_wq(end.context, &attr));
	log_line_is("ibv_create_wq: wq_type 5 is not IBV_WQT_RQ (ibv_create_wq(3))");
}
END_TEST

START_TEST(flows)
{
	struct ibv_flow_attr attr = { .type = IBV_FLOW_ATTR_NORMAL,
				      .size = sizeof(attr),
				      .port = 1 };

	ck_assert_ptr_null(ibv_create_flow(end.qp, &attr));
	log_line_is("ibv_create_flow: QP 0x%06x takes no packets: flows need a RAW_PACKET queue "
		    "pair (ibv_create_flow(3))",
		    end.qp->qp_num);
}
END_TEST

START_TEST(dma_handles)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID,
					   .cpu_id = 1000000 };
	struct ibv_mr_init_attr region = { .length = 64, .access = IBV_ACCESS_LOCAL_WRITE };

	ck_assert_ptr_null(ibv_alloc_dmah(end.context, &attr));
	log_line_is("ibv_alloc_dmah: cpu_id 1000000: the machine has %ld processors",
		    sysconf(_SC_NPROCESSORS_CONF));
	ck_assert_ptr_null(ibv_reg_mr_ex(end.pd, &region));
	log_line_is("ibv_reg_mr_ex: comp_mask 0x0 describes no memory: give ADDR, or FD with "
		    "FD_OFFSET and IOVA, not both (ibv_reg_mr_ex(3))");
}
END_TEST

START_TEST(imports)
{
	ck_assert_ptr_null(ibv_import_mr(end.pd, NO_HANDLE));
	log_line_is("ibv_import_mr: the context has no MR with handle 123456");
	ck_assert_ptr_null(ibv_import_dm(end.context, NO_HANDLE));
	log_line_is("ibv_import_dm: the context has no DM with handle 123456");
	ck_assert_ptr_null(ibv_import_device(999));
	log_line_is("ibv_import_device: descriptor 999 is not open");
}
END_TEST

START_TEST(thread_domains)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_td *td = ibv_alloc_td(end.context, &none);
	struct ibv_parent_domain_init_attr attr = { .pd = end.pd, .td = td };
	struct ibv_pd *parent = ibv_alloc_parent_domain(end.context, &attr);

	ck_assert_ptr_nonnull(parent);
	ck_assert_int_eq(ibv_dealloc_td(td), EBUSY);
	log_line_is("ibv_dealloc_td: TD %p is in use: PD %u", (void *)td, parent->handle);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	ck_assert_ptr_null(ibv_alloc_parent_domain(end.context, &attr));
	log_line_is("ibv_alloc_parent_domain: an allocator needs both alloc and free "
		    "(ibv_alloc_parent_domain(3))");
	none.comp_mask = 0x10;
	ck_assert_ptr_null(ibv_alloc_td(end.context, &none));
	log_line_is("ibv_alloc_td: comp_mask has unknown bits 0x10");
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
	ck_assert_int_eq(ibv_dealloc_td(td), 0);
}
END_TEST

START_TEST(shared_receive_queues)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(end.pd, &init);
	struct ibv_srq_attr attr = { .srq_limit = 5 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	uint32_t number;

	ck_assert_ptr_nonnull(srq);
	ck_assert_int_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	log_line_is("ibv_modify_srq: srq_limit 5 is above the SRQ's max_wr 4 (ibv_modify_srq(3))");
	ck_assert_int_ne(ibv_get_srq_num(srq, &number), 0);
	log_line_is("ibv_get_srq_num: only XRC addresses SRQs by number, and this SRQ is of "
		    "another type (ibv_get_srq_num(3))");
	while (ibv_post_srq_recv(srq, &wr, &bad) == 0)
		;
	log_line_is("ibv_post_srq_recv: the receive queue of SRQ %u is full: 4 receives are "
		    "outstanding (ibv_post_recv(3))",
		    srq->handle);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = 0;
	ck_assert_ptr_null(ibv_create_srq(end.pd, &init));
	log_line_is("ibv_create_srq: max_wr is 0: at least 1 is needed");
}
END_TEST

START_TEST(multicast)
{
	const struct end_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid = { .raw = { 0xff, 0x0e } };
	struct end ud;

	ck_assert_int_eq(ibv_attach_mcast(end.qp, &gid, 0), EINVAL);
	log_line_is("ibv_attach_mcast: QP 0x%06x is not UD (ibv_attach_mcast(3))", end.qp->qp_num);
	end_open(&ud, end.context, &cfg);
	ck_assert_int_eq(ibv_detach_mcast(ud.qp, &gid, 0), EINVAL);
	log_line_is("ibv_detach_mcast: QP 0x%06x is not attached to this group "
		    "(ibv_attach_mcast(3))",
		    ud.qp->qp_num);
	gid.raw[0] = 0xfe;
	ck_assert_int_eq(ibv_attach_mcast(ud.qp, &gid, 0), EINVAL);
	log_line_is("ibv_attach_mcast: the GID is no multicast GID (ibv_attach_mcast(3))");
	end_close(&ud);
}
END_TEST

START_TEST(counter_points)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counters *made = ibv_create_counters(end.context, &init);
	struct ibv_counter_attach_attr attach = { .counter_desc = (enum ibv_counter_description)9 };

	ck_assert_ptr_nonnull(made);
	ck_assert_int_eq(ibv_attach_counters_point_flow(made, &attach, NULL), ENOTSUP);
	log_line_is("ibv_attach_counters_point_flow: counter_desc 9 is neither packets nor bytes "
		    "(ibv_create_counters(3))");
	ck_assert_int_eq(ibv_destroy_counters(made), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, xrc_domains);
	tcase_add_test(tests, work_queues);
	tcase_add_test(tests, flows);
	tcase_add_test(tests, dma_handles);
	tcase_add_test(tests, imports);
	tcase_add_test(tests, thread_domains);
	tcase_add_test(tests, shared_receive_queues);
	tcase_add_test(tests, multicast);
	tcase_add_test(tests, counter_points);
}

int main(void)
{
	return fixture_main("verbs_reasons_rare", add);
}
