// SPDX-License-Identifier: MIT
/* Queues that belong to an id: shared receive queues and queue pairs of XRC, on the domain that the
 * library opens or on the program's, and protection domains that the program names. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fixture.h"
#include "rdmacm_fixture.h"

#define ENTRIES 4

static struct rdma_cm_id *id;

/* An id with a route, for queue pairs of a type. */
static void open_id(int qp_type)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST,
				       .ai_qp_type = qp_type,
				       .ai_port_space = RDMA_PS_IB };
	struct rdma_addrinfo *info = NULL;

	if (qp_type == IBV_QPT_RC)
		hints.ai_port_space = RDMA_PS_TCP;
	ck_assert_int_eq(rdma_getaddrinfo(getenv("RXE_DM_ADDRESS"), "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&id, info, NULL, NULL), 0);
	rdma_freeaddrinfo(info);
	ck_assert_int_eq(id->qp_type, qp_type);
}

static void close_id(void)
{
	ck_assert_int_eq(rdma_destroy_id(id), 0);
}

static struct ibv_qp_init_attr_ex qp_attr(uint32_t comp_mask)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = id->qp_type,
		.comp_mask = comp_mask,
		.cap = { ENTRIES, ENTRIES, 1, 1, 0 },
	};
}

/* The SRQ makes the id's completion queue, and ends it. */
START_TEST(xrc_shared_receive_queue)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = ENTRIES, .max_sge = 1 } };

	open_id(IBV_QPT_XRC_RECV);
	ck_assert_int_eq(rdma_create_srq(id, NULL, &attr), 0);
	ck_assert_ptr_nonnull(id->srq);
	ck_assert_ptr_eq(id->srq->pd, id->pd);
	ck_assert_ptr_nonnull(id->recv_cq);
	ck_assert_ptr_eq(id->recv_cq->cq_context, id);
	ck_assert_ptr_null(id->send_cq);
	ck_assert_int_eq(rdma_create_srq(id, NULL, &attr), -1);
	ck_assert_int_eq(errno, EINVAL);
	rdma_destroy_srq(id);
	ck_assert_ptr_null(id->srq);
	ck_assert_ptr_null(id->recv_cq);
	ck_assert_ptr_null(id->recv_cq_channel);
	close_id();
}
END_TEST

/* A queue pair that responds has the library's domain, whether or not the program says "none". */
START_TEST(xrc_domains)
{
	struct ibv_qp_init_attr_ex attr;

	open_id(IBV_QPT_XRC_RECV);
	attr = qp_attr(0);
	ck_assert_int_eq(rdma_create_qp_ex(id, &attr), 0);
	ck_assert(attr.comp_mask & IBV_QP_INIT_ATTR_XRCD);
	ck_assert_ptr_nonnull(attr.xrcd);
	rdma_destroy_qp(id);
	attr = qp_attr(IBV_QP_INIT_ATTR_XRCD);
	ck_assert_int_eq(rdma_create_qp_ex(id, &attr), 0);
	ck_assert_ptr_nonnull(attr.xrcd);
	rdma_destroy_qp(id);
	close_id();
}
END_TEST

/* Named by the mask and the field together. */
START_TEST(xrc_domain_of_the_program)
{
	struct ibv_xrcd_init_attr init = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };
	struct ibv_qp_init_attr_ex attr;
	struct ibv_xrcd *xrcd;

	open_id(IBV_QPT_XRC_RECV);
	xrcd = ibv_open_xrcd(id->verbs, &init);
	ck_assert_ptr_nonnull(xrcd);
	attr = qp_attr(IBV_QP_INIT_ATTR_XRCD);
	attr.xrcd = xrcd;
	ck_assert_int_eq(rdma_create_qp_ex(id, &attr), 0);
	ck_assert_ptr_eq(attr.xrcd, xrcd);
	rdma_destroy_qp(id);
	attr = qp_attr(0);
	attr.xrcd = xrcd;
	ck_assert_int_eq(rdma_create_qp_ex(id, &attr), 0);
	ck_assert_ptr_ne(attr.xrcd, xrcd);
	rdma_destroy_qp(id);
	ck_assert_int_eq(ibv_close_xrcd(xrcd), 0);
	close_id();
}
END_TEST

START_TEST(protection_domains)
{
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { ENTRIES, ENTRIES, 1, 1, 0 } };
	struct ibv_pd *pd, *own;

	open_id(IBV_QPT_RC);
	own = id->pd;
	pd = ibv_alloc_pd(id->verbs);
	ck_assert_ptr_nonnull(pd);
	/* A mask without its field, and a field without its mask: the id's. */
	ex = qp_attr(IBV_QP_INIT_ATTR_PD);
	ck_assert_int_eq(rdma_create_qp_ex(id, &ex), 0);
	ck_assert_ptr_eq(id->qp->pd, own);
	rdma_destroy_qp(id);
	ex = qp_attr(0);
	ex.pd = pd;
	ck_assert_int_eq(rdma_create_qp_ex(id, &ex), 0);
	ck_assert_ptr_eq(id->qp->pd, own);
	rdma_destroy_qp(id);
	/* The program's. */
	ck_assert_int_eq(rdma_create_qp(id, pd, &attr), 0);
	ck_assert_ptr_eq(id->qp->pd, pd);
	rdma_destroy_qp(id);
	close_id();
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
}
END_TEST

/* What the port space IB leaves open follows from the queue pair's type. */
START_TEST(addresses_by_queue_pair)
{
	static const struct {
		int qp_type, family;
	} rows[] = { { IBV_QPT_RC, AF_INET },
		     { IBV_QPT_UC, AF_INET },
		     { IBV_QPT_XRC_SEND, AF_INET },
		     { IBV_QPT_UD, AF_INET } };
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST, .ai_port_space = RDMA_PS_IB };
	struct rdma_addrinfo *info;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hints.ai_qp_type = rows[i].qp_type;
		ck_assert_int_eq(rdma_getaddrinfo("10.0.0.9", "7471", &hints, &info), 0);
		ck_assert_int_eq(info->ai_qp_type, rows[i].qp_type);
		ck_assert_int_eq(info->ai_family, rows[i].family);
		rdma_freeaddrinfo(info);
	}
}
END_TEST

/* A service without a node is every address for a listener, and this host for others. */
START_TEST(passive_addresses)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE,
				       .ai_family = AF_INET,
				       .ai_port_space = RDMA_PS_TCP };
	struct sockaddr_in *in;
	struct rdma_addrinfo *info;

	ck_assert_int_eq(rdma_getaddrinfo(NULL, "7471", &hints, &info), 0);
	in = (struct sockaddr_in *)(void *)info->ai_src_addr;
	ck_assert_uint_eq(in->sin_addr.s_addr, htonl(INADDR_ANY));
	rdma_freeaddrinfo(info);
	hints.ai_flags = 0;
	ck_assert_int_eq(rdma_getaddrinfo(NULL, "7471", &hints, &info), 0);
	in = (struct sockaddr_in *)(void *)info->ai_dst_addr;
	ck_assert_uint_eq(in->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	rdma_freeaddrinfo(info);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, xrc_shared_receive_queue);
	tcase_add_test(tests, xrc_domains);
	tcase_add_test(tests, xrc_domain_of_the_program);
	tcase_add_test(tests, protection_domains);
	tcase_add_test(tests, addresses_by_queue_pair);
	tcase_add_test(tests, passive_addresses);
}

int main(void)
{
	return fixture_main("rdmacm_queues", add);
}
