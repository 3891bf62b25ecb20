// SPDX-License-Identifier: MIT
/* What goes wrong between two ends: each fault has its completion on both sides, and the queues
 * flush after it. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault_at.h"
#include "fixture.h"
#include "pages.h"

/* A write that the responder refuses: remote access error here, an access event there, both queue
 * pairs in error. */
static void expect_refused_write(struct end *a, struct end *b)
{
	end_post(a, IBV_WR_RDMA_WRITE, 2, 0, 10);
	end_recv(a, 50, 0, 10);
	end_wait_for(a, 1, IBV_WC_REM_ACCESS_ERR);
	end_wait_for(a, 2, IBV_WC_WR_FLUSH_ERR);
	end_wait_for(a, 50, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(end_state(a), IBV_QPS_ERR);
	ck_assert_int_eq(end_state(b), IBV_QPS_ERR);
	expect_event(a->context, IBV_EVENT_QP_ACCESS_ERR);
}

START_TEST(remote_key_unknown)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	a.peer.rkey ^= 0x5;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	expect_refused_write(&a, &b);
	expect_zero(b.memory, 10);
	ends_close(&a, &b);
}
END_TEST

/* IBTA 11.6.2: the receive that the immediate would have taken shows it. */
START_TEST(remote_key_unknown_with_immediate)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	a.peer.rkey ^= 0x5;
	end_recv(&b, 5, 0, 0);
	end_recv(&b, 6, 0, 0);
	end_post(&a, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, 10);
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
	end_wait_for(&b, 5, IBV_WC_LOC_ACCESS_ERR);
	end_wait_for(&b, 6, IBV_WC_WR_FLUSH_ERR);
	expect_zero(b.memory, 10);
	ends_close(&a, &b);
}
END_TEST

START_TEST(remote_range_exceeded)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	a.peer.addr += FIXTURE_MEMORY - 9;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	expect_refused_write(&a, &b);
	expect_zero(b.memory + FIXTURE_MEMORY - 9, 9);
	ends_close(&a, &b);
}
END_TEST

START_TEST(remote_range_wraps)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	a.peer.addr = UINT64_MAX - 4;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	expect_refused_write(&a, &b);
	ends_close(&a, &b);
}
END_TEST

START_TEST(remote_right_missing_in_region)
{
	struct end a, b;
	struct ibv_mr *mr;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(b.pd, b.memory, FIXTURE_MEMORY, IBV_ACCESS_REMOTE_READ);
	ck_assert_ptr_nonnull(mr);
	a.peer.rkey = mr->rkey;
	end_post(&a, IBV_WR_RDMA_READ, 1, 0, 10);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	expect_refused_write(&a, &b);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(remote_region_of_another_domain)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	a.peer.rkey = a.mr->rkey; /* a live key, but not of b's domain */
	a.peer.addr = (uintptr_t)a.memory;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	expect_refused_write(&a, &b);
	ends_close(&a, &b);
}
END_TEST

/* The region allows it, the queue pair does not: an invalid request, not an access error. */
START_TEST(remote_right_missing_in_queue_pair)
{
	struct end_cfg cfg = { .remote_rights = IBV_ACCESS_REMOTE_READ };
	struct end a, b;

	ends_open(&a, &b, &cfg);
	end_post(&a, IBV_WR_RDMA_READ, 1, 0, 10);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	end_post(&a, IBV_WR_RDMA_WRITE, 2, 0, 10);
	ck_assert_int_eq(end_wait(&a).status, IBV_WC_REM_INV_REQ_ERR);
	expect_zero(b.memory, 10);
	ends_close(&a, &b);
}
END_TEST

START_TEST(key_deregistered)
{
	struct end a, b;
	struct ibv_mr *mr;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(b.pd, b.memory, FIXTURE_MEMORY, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	a.peer.rkey = mr->rkey;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10);
	expect_refused_write(&a, &b);
	ends_close(&a, &b);
}
END_TEST

START_TEST(local_key_unknown)
{
	struct end a, b;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	ends_open(&a, &b, NULL);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, 1, 0, 10);
	sge.lkey ^= 0x5;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_post(&a, IBV_WR_RDMA_WRITE, 2, 0, 10);
	end_wait_for(&a, 1, IBV_WC_LOC_PROT_ERR);
	end_wait_for(&a, 2, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(end_state(&b), IBV_QPS_RTS);
	ends_close(&a, &b);
}
END_TEST

/* A read lands in memory that its region does not let be written. */
START_TEST(read_into_a_region_without_local_write)
{
	struct end a, b;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(a.pd, a.memory, FIXTURE_MEMORY, 0);
	ck_assert_ptr_nonnull(mr);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_READ, 1, 0, 10);
	sge.lkey = mr->lkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(receive_too_short)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	end_recv(&b, 5, 0, 99);
	end_recv(&b, 6, 0, 99);
	end_post(&a, IBV_WR_SEND, 1, 0, 100);
	end_wait_for(&b, 5, IBV_WC_LOC_LEN_ERR);
	end_wait_for(&b, 6, IBV_WC_WR_FLUSH_ERR);
	end_wait_for(&a, 1, IBV_WC_REM_INV_REQ_ERR);
	ends_close(&a, &b);
}
END_TEST

START_TEST(receive_with_a_bad_key)
{
	struct end a, b;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;

	ends_open(&a, &b, NULL);
	sge = (struct ibv_sge){ (uintptr_t)b.memory, 100, b.mr->lkey ^ 5 };
	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
	end_post(&a, IBV_WR_SEND, 1, 0, 100);
	end_wait_for(&b, 5, IBV_WC_LOC_PROT_ERR);
	end_wait_for(&a, 1, IBV_WC_REM_OP_ERR);
	ends_close(&a, &b);
}
END_TEST

START_TEST(atomic_not_aligned)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	end_post(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 4, 8);
	end_wait_for(&a, 1, IBV_WC_REM_INV_REQ_ERR);
	ends_close(&a, &b);
}
END_TEST

static uint8_t *new_page(void)
{
	uint8_t *page = pages_place();

	pages_map(page, PROT_READ | PROT_WRITE);
	return page;
}

/* Memory that the program gave back before it deregistered it: an error, never a crash. */
START_TEST(local_memory_is_unmapped)
{
	struct end a, b;
	uint8_t *page = new_page();
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(a.pd, page, PAGE, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	pages_unmap(page);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, 1, 0, 100);
	sge.addr = (uintptr_t)page;
	sge.lkey = mr->lkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
}
END_TEST

START_TEST(remote_memory_is_unmapped)
{
	for (int op = 0; op < 3; op++) {
		static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
							  IBV_WR_ATOMIC_FETCH_AND_ADD };
		uint8_t *page = new_page();
		struct ibv_mr *mr;
		struct end a, b;

		ends_open(&a, &b, NULL);
		mr = ibv_reg_mr(b.pd, page, PAGE, FIXTURE_ALL_RIGHTS);
		ck_assert_ptr_nonnull(mr);
		pages_unmap(page);
		a.peer.rkey = mr->rkey;
		a.peer.addr = (uintptr_t)page;
		end_post(&a, ops[op], 1, 0, 8);
		ck_assert_int_ne(end_wait(&a).status, IBV_WC_SUCCESS);
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
		ends_close(&a, &b);
	}
}
END_TEST

START_TEST(receive_memory_is_unmapped)
{
	struct end a, b;
	uint8_t *page = new_page();
	struct ibv_mr *mr;
	struct ibv_sge sge = { (uintptr_t)page, PAGE, 0 };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(b.pd, page, PAGE, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	sge.lkey = mr->lkey;
	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
	pages_unmap(page);
	end_post(&a, IBV_WR_SEND, 1, 0, 100);
	end_wait_for(&b, 5, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(end_wait(&a).status, IBV_WC_REM_OP_ERR);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ends_close(&a, &b);
}
END_TEST

static void write_to_and_from(struct end *a, uint8_t *page, const struct ibv_mr *mr, bool own)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = end_wr(a, &sge, IBV_WR_RDMA_WRITE, 1, 0, 8), *bad;

	if (own) {
		sge.addr = (uintptr_t)page;
		sge.lkey = mr->lkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)page;
		wr.wr.rdma.rkey = mr->rkey;
	}
	ck_assert_int_eq(ibv_post_send(a->qp, &wr, &bad), 0);
	end_wait_for(a, 1, own ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
}

/* A page to unmap, and one beyond the end of its file. */
static uint8_t *page_that_goes(bool bus, int *ret_fd)
{
	*ret_fd = -1;
	if (!bus)
		return new_page();
	*ret_fd = memfd_create("cut", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(*ret_fd, PAGE), 0);
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
}

/* The program's handlers come after ibv_reg_mr() and replace all that was there; or it blocks every
 * signal in its threads. Its own faults are its handlers' all the same. _i: the memory's own end or
 * its peer posts, SIGSEGV or SIGBUS, blocked or not. */
START_TEST(handlers_of_the_program_come_later)
{
	struct sigaction segv = { .sa_handler = on_segv }, bus = { .sa_handler = on_bus };
	sigset_t all, before;
	struct ibv_mr *mr;
	struct end a, b;
	int fd;
	uint8_t *page = page_that_goes(_i & 2, &fd);

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(_i & 1 ? a.pd : b.pd, page, PAGE, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	if (fd < 0)
		pages_unmap(page);
	else
		ck_assert_int_eq(ftruncate(fd, 0), 0);
	sigfillset(&all);
	if (_i & 4)
		pthread_sigmask(SIG_SETMASK, &all, &before);
	write_to_and_from(&a, page, mr, _i & 1);
	if (_i & 4)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	ck_assert_int_eq(segv_calls + bus_calls, 0);
	fault_at(page);
	ck_assert_int_eq(segv_calls, fd < 0);
	ck_assert_int_eq(bus_calls, fd >= 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	close(fd);
	ends_close(&a, &b);
}
END_TEST

START_TEST(to_error_flushes_and_back_again)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct end a, b;

	ends_open(&a, &b, NULL);
	end_recv(&a, 1, 0, 10);
	end_recv(&a, 2, 0, 10);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	end_wait_for(&a, 1, IBV_WC_WR_FLUSH_ERR);
	end_wait_for(&a, 2, IBV_WC_WR_FLUSH_ERR);
	end_post(&a, IBV_WR_SEND, 3, 0, 10);
	end_wait_for(&a, 3, IBV_WC_WR_FLUSH_ERR);
	end_recv(&a, 4, 0, 10);
	end_wait_for(&a, 4, IBV_WC_WR_FLUSH_ERR);
	end_recv(&a, 5, 0, 10); /* its completion goes with the reset */
	attr.qp_state = IBV_QPS_RESET;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	end_expect_nothing(&a);
	ends_close(&a, &b);
}
END_TEST

static void flush_a_receive(struct end *end, uint64_t wr_id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	ck_assert_int_eq(
		ibv_modify_qp(end->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	end_recv(end, wr_id, 0, 10);
	attr.qp_state = IBV_QPS_ERR;
	ck_assert_int_eq(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE), 0);
}

START_TEST(reset_takes_what_a_receive_cq_of_its_own_holds)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_cq *recv_cq;
	struct ibv_wc wc;
	struct end a;

	end_open(&a, NULL, NULL);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	recv_cq = ibv_create_cq(a.context, 4, NULL, NULL, 0);
	ck_assert_ptr_nonnull(recv_cq);
	init.send_cq = a.cq;
	init.recv_cq = recv_cq;
	a.qp = ibv_create_qp(a.pd, &init);
	ck_assert_ptr_nonnull(a.qp);
	flush_a_receive(&a, 1);
	ck_assert_int_eq(ibv_poll_cq(recv_cq, 1, &wc), 1); /* seen as soon as modify returns */
	ck_assert_uint_eq(wc.wr_id, 1);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	flush_a_receive(&a, 2);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(ibv_poll_cq(recv_cq, 1, &wc), 0);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	ck_assert_int_eq(ibv_destroy_cq(recv_cq), 0);
	end_close(&a);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, remote_key_unknown);
	tcase_add_test(tests, remote_key_unknown_with_immediate);
	tcase_add_test(tests, remote_range_exceeded);
	tcase_add_test(tests, remote_range_wraps);
	tcase_add_test(tests, remote_right_missing_in_region);
	tcase_add_test(tests, remote_region_of_another_domain);
	tcase_add_test(tests, remote_right_missing_in_queue_pair);
	tcase_add_test(tests, key_deregistered);
	tcase_add_test(tests, local_key_unknown);
	tcase_add_test(tests, read_into_a_region_without_local_write);
	tcase_add_test(tests, receive_too_short);
	tcase_add_test(tests, receive_with_a_bad_key);
	tcase_add_test(tests, atomic_not_aligned);
	tcase_add_test(tests, local_memory_is_unmapped);
	tcase_add_test(tests, remote_memory_is_unmapped);
	tcase_add_test(tests, receive_memory_is_unmapped);
	tcase_add_loop_test(tests, handlers_of_the_program_come_later, 0, 8);
	tcase_add_test(tests, to_error_flushes_and_back_again);
	tcase_add_test(tests, reset_takes_what_a_receive_cq_of_its_own_holds);
}

int main(void)
{
	return fixture_main("verbs_errors", add);
}
