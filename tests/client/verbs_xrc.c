// SPDX-License-Identifier: MIT
/* XRC: domains of files, shared receive queues with numbers, queue pairs of one half each; and SRQs
 * of another process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

/* verbs.h's ibv_close_xrcd() follows what it looks up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

/* One side: an initiator, a target, and an SRQ in the target's domain. */
struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *ini, *tgt;
	uint64_t memory[512];
	struct ibv_mr *mr;
};

static struct ibv_xrcd *open_domain(struct ibv_context *context, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	errno = 0;
	return ibv_open_xrcd(context, &attr);
}

static struct ibv_srq *make_srq(struct side *s, uint32_t without)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			      IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ) &
			     ~without,
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
		.xrcd = s->xrcd,
		.cq = s->recv_cq,
	};

	return ibv_create_srq_ex(s->context, &attr);
}

static struct ibv_qp *make_ini(struct side *s)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = s->send_cq,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.sq_sig_all = 1,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};

	return ibv_create_qp_ex(s->context, &attr);
}

static struct ibv_qp *make_tgt(struct side *s, uint32_t comp_mask)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = comp_mask,
					    .xrcd = s->xrcd };

	return ibv_create_qp_ex(s->context, &attr);
}

static void side_open(struct side *s, int fd)
{
	memset(s, 0, sizeof(*s));
	s->context = fixture_open();
	s->pd = ibv_alloc_pd(s->context);
	s->send_cq = ibv_create_cq(s->context, 64, NULL, NULL, 0);
	s->recv_cq = ibv_create_cq(s->context, 64, NULL, NULL, 0);
	s->mr = ibv_reg_mr(s->pd, s->memory, sizeof(s->memory), FIXTURE_ALL_RIGHTS);
	s->xrcd = open_domain(s->context, fd, O_CREAT);
	ck_assert_ptr_nonnull(s->xrcd);
	s->srq = make_srq(s, 0);
	s->ini = make_ini(s);
	s->tgt = make_tgt(s, IBV_QP_INIT_ATTR_XRCD);
	ck_assert(s->mr && s->srq && s->ini && s->tgt);
}

static void side_close(struct side *s)
{
	ck_assert_int_eq(ibv_destroy_qp(s->ini), 0);
	ck_assert_int_eq(ibv_destroy_qp(s->tgt), 0);
	ck_assert_int_eq(ibv_destroy_srq(s->srq), 0);
	ck_assert_int_eq(ibv_close_xrcd(s->xrcd), 0);
	ck_assert_int_eq(ibv_destroy_cq(s->send_cq), 0);
	ck_assert_int_eq(ibv_destroy_cq(s->recv_cq), 0);
	ck_assert_int_eq(ibv_dereg_mr(s->mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(s->pd), 0);
	ck_assert_int_eq(ibv_close_device(s->context), 0);
}

#define TO_INIT	    (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define TO_RTR	    (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define TARGET_HALF (IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC)

static void connect_qp(struct side *s, struct ibv_qp *qp, uint32_t peer)
{
	const bool is_tgt = qp->qp_type == IBV_QPT_XRC_RECV;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = is_tgt ? FIXTURE_ALL_RIGHTS : 0,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer,
				    .max_dest_rd_atomic = 1,
				    .max_rd_atomic = 1,
				    .timeout = 18,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .min_rnr_timer = 1,
				    .ah_attr = { .is_global = 1, .port_num = 1 } };

	ck_assert_int_eq(ibv_query_gid(s->context, 1, 0, &attr.ah_attr.grh.dgid), 0);
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, TO_INIT), 0);
	attr.qp_state = IBV_QPS_RTR;
	/* A target needs its half; an initiator ignores it. */
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, is_tgt ? TO_RTR : TO_RTR | TARGET_HALF),
			 is_tgt ? EINVAL : 0);
	if (is_tgt)
		ck_assert_int_eq(ibv_modify_qp(qp, &attr, TO_RTR | TARGET_HALF), 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       is_tgt ? IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN
					      : IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN |
							IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void recv_at(struct side *s, uint64_t wr_id, size_t word)
{
	struct ibv_sge sge = { (uintptr_t)&s->memory[word], 8, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	ck_assert_int_eq(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
}

static int post(struct side *s, enum ibv_wr_opcode opcode, uint32_t srqn, uint64_t remote_addr,
		uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)&s->memory[0], 8, s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = opcode, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad;

	wr.qp_type.xrc.remote_srqn = srqn;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote_addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 2;
	} else {
		wr.wr.rdma.remote_addr = remote_addr;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(s->ini, &wr, &bad);
}

static struct ibv_wc wait_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	ck_assert_int_eq(n, 1);
	return wc;
}

static uint32_t number(struct ibv_srq *srq)
{
	uint32_t srqn = 0;

	ck_assert_int_eq(ibv_get_srq_num(srq, &srqn), 0);
	ck_assert_uint_ne(srqn, 0);
	return srqn;
}

static int a_file(void)
{
	char name[] = "/tmp/verbs_xrc.XXXXXX";
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	unlink(name);
	return fd;
}

START_TEST(domain_of_a_file)
{
	struct ibv_context *one = fixture_open(), *two = fixture_open();
	struct ibv_xrcd *a, *b;
	int fd = a_file();

	ck_assert_ptr_null(open_domain(one, fd, 0));
	ck_assert_int_eq(errno, EAGAIN);
	a = open_domain(one, fd, O_CREAT | O_EXCL);
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_null(open_domain(two, fd, O_CREAT | O_EXCL));
	ck_assert_int_eq(errno, EINVAL);
	b = open_domain(two, fd, 0);
	ck_assert_ptr_nonnull(b);
	ck_assert_int_eq(ibv_close_xrcd(a), 0);
	a = open_domain(one, fd, 0);
	ck_assert_ptr_nonnull(a);
	ck_assert_int_eq(ibv_close_xrcd(a), 0);
	ck_assert_int_eq(ibv_close_xrcd(b), 0);
	ck_assert_ptr_null(open_domain(one, fd, 0));
	close(fd);
	ck_assert_int_eq(ibv_close_device(one), 0);
	ck_assert_int_eq(ibv_close_device(two), 0);
}
END_TEST

START_TEST(bad_domains)
{
	struct ibv_context *context = fixture_open();
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1 };

	ck_assert_ptr_null(ibv_open_xrcd(context, &attr));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(open_domain(context, -1, 0));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(open_domain(context, -2, O_CREAT));
	ck_assert_int_eq(errno, EBADF);
	ck_assert_ptr_null(open_domain(context, -1, O_CREAT | O_APPEND));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(busy_while_in_use)
{
	struct side s;

	side_open(&s, -1);
	ck_assert_int_eq(ibv_close_xrcd(s.xrcd), EBUSY);
	ck_assert_int_eq(ibv_destroy_qp(s.tgt), 0);
	ck_assert_int_eq(ibv_close_xrcd(s.xrcd), EBUSY);
	ck_assert_int_eq(ibv_destroy_cq(s.recv_cq), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(s.pd), EBUSY);
	s.tgt = make_tgt(&s, IBV_QP_INIT_ATTR_XRCD);
	side_close(&s);
}
END_TEST

START_TEST(what_does_not_fit)
{
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp_init_attr rc = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_srq *srq;
	struct side s;
	uint32_t srqn;

	side_open(&s, -1);
	ck_assert_ptr_null(make_tgt(&s, IBV_QP_INIT_ATTR_PD));
	ck_assert_ptr_null(make_srq(&s, IBV_SRQ_INIT_ATTR_XRCD));
	ck_assert_ptr_null(make_srq(&s, IBV_SRQ_INIT_ATTR_CQ));
	ck_assert_ptr_null(make_srq(&s, IBV_SRQ_INIT_ATTR_PD));
	rc.send_cq = rc.recv_cq = s.send_cq;
	rc.srq = s.srq;
	ck_assert_ptr_null(ibv_create_qp(s.pd, &rc));
	srq = ibv_create_srq(s.pd, &basic);
	ck_assert_int_eq(ibv_get_srq_num(srq, &srqn), EOPNOTSUPP);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ck_assert_int_eq(ibv_post_recv(s.ini, &recv, &bad_recv), EINVAL);
	ck_assert_int_eq(ibv_post_recv(s.tgt, &recv, &bad_recv), EINVAL);
	ck_assert_int_eq(ibv_post_send(s.tgt, &wr, &bad), EINVAL);
	side_close(&s);
}
END_TEST

START_TEST(by_both_interfaces)
{
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	struct side s;

	side_open(&s, -1);
	connect_qp(&s, s.ini, s.tgt->qp_num);
	connect_qp(&s, s.tgt, s.ini->qp_num);
	recv_at(&s, 71, 8);
	recv_at(&s, 72, 9);
	s.memory[0] = 42;
	ck_assert_int_eq(post(&s, IBV_WR_SEND, number(s.srq), 0, 0), 0);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_SUCCESS);
	wc = wait_cq(s.recv_cq);
	ck_assert_uint_eq(wc.wr_id, 71);
	ck_assert_uint_eq(wc.qp_num, s.tgt->qp_num);
	ck_assert_uint_eq(s.memory[8], 42);
	ex = ibv_qp_to_qp_ex(s.ini);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, number(s.srq));
	ibv_wr_set_sge(ex, s.mr->lkey, (uintptr_t)s.memory, 8);
	ibv_wr_atomic_fetch_add(ex, s.mr->rkey, (uintptr_t)&s.memory[9], 1);
	ibv_wr_set_xrc_srqn(ex, number(s.srq));
	ibv_wr_set_sge(ex, s.mr->lkey, (uintptr_t)&s.memory[20], 8);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_SUCCESS);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(wait_cq(s.recv_cq).wr_id, 72);
	ck_assert_uint_eq(s.memory[9], 43);
	ck_assert_uint_eq(s.memory[20], 42);
	side_close(&s);
}
END_TEST

/* What the other process shows of itself. */
struct shown {
	uint32_t srqn, rkey;
	uint64_t addr;
};

static int shared_file = -1;
static bool close_it;

/* It has the SRQ, and never a packet of its own. */
static void has_the_srq(int sock)
{
	struct side s;
	struct shown shown;

	side_open(&s, shared_file);
	recv_at(&s, 71, 8);
	s.memory[30] = 40;
	shown = (struct shown){ number(s.srq), s.mr->rkey, (uintptr_t)&s.memory[30] };
	ck_assert_int_eq(write(sock, &shown, sizeof(shown)), sizeof(shown));
	ck_assert_uint_eq(wait_cq(s.recv_cq).wr_id, 71);
	ck_assert_uint_eq(s.memory[8], 42);
	meet(sock);
	ck_assert_uint_eq(s.memory[30], 42);
	recv_at(&s, 72, 9);
	ck_assert_uint_eq(wait_cq(s.recv_cq).wr_id, 72);
	side_close(&s);
	meet(sock);
}

START_TEST(srq_of_another_process)
{
	struct shown shown;
	struct side s;
	pid_t pid;
	int sock;

	shared_file = a_file();
	sock = beside(has_the_srq, &pid);
	side_open(&s, shared_file);
	ck_assert_int_eq(read(sock, &shown, sizeof(shown)), sizeof(shown));
	connect_qp(&s, s.ini, s.tgt->qp_num);
	connect_qp(&s, s.tgt, s.ini->qp_num);
	s.memory[0] = 42;
	ck_assert_int_eq(post(&s, IBV_WR_SEND, shown.srqn, 0, 0), 0);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_SUCCESS);
	ck_assert_int_eq(post(&s, IBV_WR_ATOMIC_FETCH_AND_ADD, shown.srqn, shown.addr, shown.rkey),
			 0);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(s.memory[0], 40);
	meet(sock);
	/* It has no receive now: it posts one, and the message comes in. */
	ck_assert_int_eq(post(&s, IBV_WR_SEND, shown.srqn, 0, 0), 0);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_SUCCESS);
	meet(sock);
	/* The SRQ is gone. */
	ck_assert_int_eq(post(&s, IBV_WR_SEND, shown.srqn, 0, 0), 0);
	ck_assert_int_eq(wait_cq(s.send_cq).status, IBV_WC_REM_INV_REQ_ERR);
	expect_event(s.context, IBV_EVENT_QP_REQ_ERR);
	expect_event(s.context, IBV_EVENT_QP_LAST_WQE_REACHED);
	side_close(&s);
	join(pid, sock);
	close(shared_file);
}
END_TEST

static struct ibv_qp *open_target(struct side *s, uint32_t qpn, uint32_t without)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = (IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			      IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE) &
			     ~without,
		.qp_num = qpn,
		.xrcd = s->xrcd,
		.qp_context = s,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	errno = 0;
	return ibv_open_qp(s->context, &attr);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq(init.qp_type, IBV_QPT_XRC_RECV);
	return attr.qp_state;
}

/* A message reaches the SRQ. */
static void send_one(struct side *s, uint64_t wr_id)
{
	recv_at(s, wr_id, 8);
	ck_assert_int_eq(post(s, IBV_WR_SEND, number(s->srq), 0, 0), 0);
	ck_assert_int_eq(wait_cq(s->send_cq).status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(wait_cq(s->recv_cq).wr_id, wr_id);
}

static void refuses_to_open(struct side *s, uint32_t qpn, uint32_t without)
{
	ck_assert_ptr_null(open_target(s, qpn, without));
	ck_assert_int_eq(errno, EINVAL);
}

START_TEST(what_cannot_be_opened)
{
	struct side s, other;

	side_open(&s, -1);
	side_open(&other, -1);
	refuses_to_open(&other, s.tgt->qp_num, 0);
	refuses_to_open(&s, s.ini->qp_num, 0);
	refuses_to_open(&s, s.tgt->qp_num, IBV_QP_OPEN_ATTR_NUM);
	refuses_to_open(&s, s.tgt->qp_num, IBV_QP_OPEN_ATTR_XRCD);
	refuses_to_open(&s, s.tgt->qp_num, IBV_QP_OPEN_ATTR_TYPE);
	side_close(&s);
	side_close(&other);
}
END_TEST

START_TEST(opened_by_number)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp *again, *third;
	struct side s;

	side_open(&s, -1);
	again = open_target(&s, s.tgt->qp_num, 0);
	ck_assert_ptr_nonnull(again);
	ck_assert(again != s.tgt && again->qp_num == s.tgt->qp_num && again->qp_context == &s &&
		  again->qp_type == IBV_QPT_XRC_RECV && !again->pd && !again->send_cq &&
		  !again->recv_cq && !again->srq);
	ck_assert_int_eq(ibv_post_recv(again, &recv, &bad_recv), EINVAL);
	ck_assert_int_eq(ibv_post_send(again, &wr, &bad), EINVAL);
	/* It is the same queue pair. */
	connect_qp(&s, again, s.ini->qp_num);
	connect_qp(&s, s.ini, s.tgt->qp_num);
	ck_assert_int_eq(state_of(again), IBV_QPS_RTS);
	ck_assert_int_eq(state_of(s.tgt), IBV_QPS_RTS);
	send_one(&s, 71);
	/* Its creator closes it; it lives on, and can be opened again. */
	ck_assert_int_eq(ibv_destroy_qp(s.tgt), 0);
	send_one(&s, 72);
	third = open_target(&s, again->qp_num, IBV_QP_OPEN_ATTR_CONTEXT);
	ck_assert(third && !third->qp_context);
	ck_assert_int_eq(ibv_close_xrcd(s.xrcd), EBUSY);
	ck_assert_int_eq(ibv_destroy_qp(again), 0);
	send_one(&s, 73);
	s.tgt = make_tgt(&s, IBV_QP_INIT_ATTR_XRCD);
	ck_assert_uint_ne(s.tgt->qp_num, third->qp_num);
	ck_assert_int_eq(ibv_destroy_qp(third), 0);
	side_close(&s);
}
END_TEST

static uint32_t take_number(int sock)
{
	uint32_t qpn;

	ck_assert_int_eq(read(sock, &qpn, sizeof(qpn)), sizeof(qpn));
	return qpn;
}

static void give_number(int sock, uint32_t qpn)
{
	ck_assert_int_eq(write(sock, &qpn, sizeof(qpn)), sizeof(qpn));
}

/* Opens the target of the other process, connects it, and puts it into error. */
static void opens_the_target(int sock)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *opened;
	uint32_t peer;
	struct side s;

	side_open(&s, shared_file);
	peer = take_number(sock);
	opened = open_target(&s, take_number(sock), 0);
	ck_assert_ptr_nonnull(opened);
	connect_qp(&s, opened, peer);
	ck_assert_int_eq(state_of(opened), IBV_QPS_RTS);
	meet(sock);
	/* The other process has closed it. */
	meet(sock);
	ck_assert_int_eq(state_of(opened), IBV_QPS_RTS);
	ck_assert_int_eq(ibv_modify_qp(opened, &attr, IBV_QP_STATE), 0);
	expect_event(s.context, IBV_EVENT_QP_LAST_WQE_REACHED);
	ck_assert_int_eq(state_of(opened), IBV_QPS_ERR);
	meet(sock);
	meet(sock);
	ck_assert_int_eq(ibv_destroy_qp(opened), 0);
	side_close(&s);
}

START_TEST(target_of_another_process)
{
	struct ibv_qp *third;
	struct side s;
	uint32_t qpn;
	pid_t pid;
	int sock;

	shared_file = a_file();
	sock = beside(opens_the_target, &pid);
	side_open(&s, shared_file);
	qpn = s.tgt->qp_num;
	connect_qp(&s, s.ini, qpn);
	give_number(sock, s.ini->qp_num);
	give_number(sock, qpn);
	meet(sock);
	ck_assert_int_eq(state_of(s.tgt), IBV_QPS_RTS);
	send_one(&s, 71);
	ck_assert_int_eq(ibv_destroy_qp(s.tgt), 0);
	send_one(&s, 72);
	third = open_target(&s, qpn, 0);
	ck_assert_ptr_nonnull(third);
	meet(sock);
	/* Its event reaches all who have it open. */
	expect_event(s.context, IBV_EVENT_QP_LAST_WQE_REACHED);
	meet(sock);
	ck_assert_int_eq(state_of(third), IBV_QPS_ERR);
	ck_assert_int_eq(ibv_destroy_qp(third), 0);
	meet(sock);
	join(pid, sock);
	refuses_to_open(&s, qpn, 0);
	s.tgt = make_tgt(&s, IBV_QP_INIT_ATTR_XRCD);
	side_close(&s);
	close(shared_file);
}
END_TEST

/* Opens the target, and is killed. */
static void opens_and_is_killed(int sock)
{
	struct side s;

	side_open(&s, shared_file);
	ck_assert_ptr_nonnull(open_target(&s, take_number(sock), 0));
	meet(sock);
	meet(sock);
}

static void kill_it(pid_t pid, int sock)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	close(sock);
}

START_TEST(opener_is_killed)
{
	struct ibv_qp *qp;
	struct side s;
	uint32_t qpn;
	pid_t pid;
	int sock;

	shared_file = a_file();
	sock = beside(opens_and_is_killed, &pid);
	side_open(&s, shared_file);
	qpn = s.tgt->qp_num;
	connect_qp(&s, s.tgt, s.ini->qp_num);
	connect_qp(&s, s.ini, qpn);
	give_number(sock, qpn);
	meet(sock);
	ck_assert_int_eq(ibv_destroy_qp(s.tgt), 0);
	send_one(&s, 71);
	kill_it(pid, sock);
	/* It was the last: the queue pair ends when the server learns of the kill. */
	while ((qp = open_target(&s, qpn, 0)))
		ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(errno, EINVAL);
	s.tgt = make_tgt(&s, IBV_QP_INIT_ATTR_XRCD);
	side_close(&s);
	close(shared_file);
}
END_TEST

/* Creates the target, opens it in a second context, and closes the context that it was created in;
 * or is killed. */
static void creates_the_target(int sock)
{
	struct side s;

	side_open(&s, shared_file);
	give_number(sock, s.tgt->qp_num);
	meet(sock);
	if (close_it)
		side_close(&s);
	meet(sock);
}

START_TEST(creator_has_exited)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *opened;
	struct side s;
	uint32_t qpn;
	pid_t pid;
	int sock;

	shared_file = a_file();
	close_it = _i;
	sock = beside(creates_the_target, &pid);
	side_open(&s, shared_file);
	qpn = take_number(sock);
	opened = open_target(&s, qpn, 0);
	ck_assert_ptr_nonnull(opened);
	meet(sock);
	if (close_it)
		meet(sock);
	else
		kill_it(pid, sock);
	/* docs/DEVIATIONS.md */
	expect_event(s.context, IBV_EVENT_QP_FATAL);
	ck_assert_int_eq(ibv_query_qp(opened, &attr, IBV_QP_STATE, &init), EIO);
	refuses_to_open(&s, qpn, 0);
	ck_assert_int_eq(ibv_destroy_qp(opened), 0);
	side_close(&s);
	if (close_it)
		join(pid, sock);
	close(shared_file);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, domain_of_a_file);
	tcase_add_test(tests, bad_domains);
	tcase_add_test(tests, busy_while_in_use);
	tcase_add_test(tests, what_does_not_fit);
	tcase_add_test(tests, by_both_interfaces);
	tcase_add_test(tests, srq_of_another_process);
	tcase_add_test(tests, what_cannot_be_opened);
	tcase_add_test(tests, opened_by_number);
	tcase_add_test(tests, target_of_another_process);
	tcase_add_test(tests, opener_is_killed);
	tcase_add_loop_test(tests, creator_has_exited, 0, 2);
}

int main(void)
{
	return fixture_main("verbs_xrc", add);
}
