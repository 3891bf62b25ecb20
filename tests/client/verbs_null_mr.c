// SPDX-License-Identifier: MIT
/* Null regions (ibv_alloc_null_mr(3)): as part of each list that the engine gathers or scatters,
 * and what they are not good for. */
#include <errno.h>
#include <string.h>

#include "fixture.h"

/* verbs.h's ibv_alloc_null_mr() follows what it looks up without asking. */
#pragma GCC diagnostic ignored "-Wnull-dereference"

#define PART 5000u /* more than a packet */
#define AT   8192u

static struct end a, b;
static struct ibv_mr *null;

static void open_ends(enum ibv_qp_type type, bool srq)
{
	const struct end_cfg cfg = { .type = type, .srq = srq };

	ends_open(&a, &b, &cfg);
	null = ibv_alloc_null_mr(a.pd);
	ck_assert_ptr_nonnull(null);
}

static void close_ends(void)
{
	ck_assert_int_eq(ibv_dereg_mr(null), 0);
	ends_close(&a, &b);
}

/* Memory, nothing, and memory after the place where the second part would be. addr of nothing is
 * any. */
static void around(struct ibv_sge sges[static 3], const struct end *end, size_t at,
		   const struct ibv_mr *nothing)
{
	sges[0] = (struct ibv_sge){ (uintptr_t)end->memory + at, PART, end->mr->lkey };
	sges[1] = (struct ibv_sge){ 0xdeadbeef, PART, nothing->lkey };
	sges[2] = (struct ibv_sge){ (uintptr_t)end->memory + at + 2 * PART, PART, end->mr->lkey };
}

static void post_around(enum ibv_wr_opcode opcode)
{
	struct ibv_sge one, sges[3];
	struct ibv_send_wr wr = end_wr(&a, &one, opcode, 1, AT, 3 * PART), *bad;

	around(sges, &a, AT, null);
	wr.sg_list = sges;
	wr.num_sge = 3;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
}

/* The parts of a message, the second of zeros. */
static void expect_parts(const uint8_t *bytes, const uint8_t *sent)
{
	ck_assert_mem_eq(bytes, sent, PART);
	expect_zero(bytes + PART, PART);
	ck_assert_mem_eq(bytes + 2 * PART, sent + 2 * PART, PART);
}

/* 0: RC, 1: RC with an SRQ, 2: UC. */
static void open_kind(int kind)
{
	open_ends(kind == 2 ? IBV_QPT_UC : IBV_QPT_RC, kind == 1);
	fill(a.memory + AT, 3 * PART, 1);
	fill(b.memory + AT, 3 * PART, 2);
}

START_TEST(reads_as_zeros)
{
	open_kind(_i);
	end_recv(&b, 2, AT, 3 * PART);
	post_around(IBV_WR_SEND);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	expect_parts(b.memory + AT, a.memory + AT);
	fill(b.memory + AT, 3 * PART, 2);
	post_around(IBV_WR_RDMA_WRITE);
	end_recv(&b, 3, 0, 8);
	end_post(&a, IBV_WR_SEND, 4, 0, 8);
	end_wait_for(&a, 4, IBV_WC_SUCCESS);
	end_wait_for(&b, 3, IBV_WC_SUCCESS);
	expect_parts(b.memory + AT, a.memory + AT);
	close_ends();
}
END_TEST

START_TEST(discards_what_is_received)
{
	struct ibv_sge sges[3];
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sges, .num_sge = 3 }, *bad;
	struct ibv_mr *nothing;
	uint8_t was[PART];

	open_kind(_i);
	nothing = ibv_alloc_null_mr(b.pd);
	around(sges, &b, AT, nothing);
	memcpy(was, b.memory + AT + PART, PART);
	ck_assert_int_eq(
		b.srq ? ibv_post_srq_recv(b.srq, &wr, &bad) : ibv_post_recv(b.qp, &wr, &bad), 0);
	end_post(&a, IBV_WR_SEND, 1, AT, 3 * PART);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_uint_eq(end_wait_for(&b, 2, IBV_WC_SUCCESS).byte_len, 3 * PART);
	ck_assert_mem_eq(b.memory + AT, a.memory + AT, PART);
	ck_assert_mem_eq(b.memory + AT + PART, was, PART);
	ck_assert_mem_eq(b.memory + AT + 2 * PART, a.memory + AT + 2 * PART, PART);
	ck_assert_int_eq(ibv_dereg_mr(nothing), 0);
	close_ends();
}
END_TEST

/* A program that does not want the GRH. */
START_TEST(discards_a_grh)
{
	struct ibv_sge sges[2];
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sges, .num_sge = 2 }, *bad;
	struct ibv_mr *nothing;

	open_ends(IBV_QPT_UD, false);
	nothing = ibv_alloc_null_mr(b.pd);
	fill(a.memory, 256, 1);
	sges[0] = (struct ibv_sge){ 0, 40, nothing->lkey };
	sges[1] = (struct ibv_sge){ (uintptr_t)b.memory, 256, b.mr->lkey };
	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
	end_post(&a, IBV_WR_SEND, 1, 0, 256);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_uint_eq(end_wait_for(&b, 2, IBV_WC_SUCCESS).byte_len, 296);
	ck_assert_mem_eq(b.memory, a.memory, 256);
	ck_assert_int_eq(ibv_dereg_mr(nothing), 0);
	close_ends();
}
END_TEST

START_TEST(discards_what_is_fetched)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	uint8_t was[PART];
	uint64_t *word;

	open_kind(0);
	memcpy(was, a.memory + AT + PART, PART);
	post_around(IBV_WR_RDMA_READ);
	ck_assert_mem_eq(a.memory + AT, b.memory + AT, PART);
	ck_assert_mem_eq(a.memory + AT + PART, was, PART);
	ck_assert_mem_eq(a.memory + AT + 2 * PART, b.memory + AT + 2 * PART, PART);
	word = (uint64_t *)(void *)b.memory;
	*word = 40;
	wr = end_wr(&a, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0, 8);
	wr.wr.atomic.compare_add = 2;
	sge.lkey = null->lkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 5, IBV_WC_SUCCESS);
	ck_assert_uint_eq(*word, 42);
	close_ends();
}
END_TEST

/* Longer than any memory, at any address. */
START_TEST(has_the_greatest_length)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	open_ends(IBV_QPT_RC, false);
	ck_assert_uint_eq(null->length, SIZE_MAX);
	ck_assert_ptr_null(null->addr);
	fill(b.memory, FIXTURE_MEMORY, 1);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, 1, 0, FIXTURE_MEMORY);
	sge.lkey = null->lkey;
	sge.addr = UINT64_MAX - FIXTURE_MEMORY;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_zero(b.memory, FIXTURE_MEMORY);
	close_ends();
}
END_TEST

/* 0: write, 1: read, 2: atomic. */
START_TEST(is_not_for_peers)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct ibv_mr *theirs;

	open_ends(IBV_QPT_RC, false);
	theirs = ibv_alloc_null_mr(b.pd);
	ck_assert_uint_ne(theirs->lkey, 0);
	ck_assert_uint_eq(theirs->rkey, 0);
	a.peer.rkey = theirs->lkey;
	end_post(&a, opcodes[_i], 1, 0, 8);
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dereg_mr(theirs), 0);
	close_ends();
}
END_TEST

START_TEST(belongs_to_its_domain)
{
	struct ibv_pd *other;
	struct ibv_mr *theirs, *again;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	open_ends(IBV_QPT_RC, false);
	other = ibv_alloc_pd(a.context);
	theirs = ibv_alloc_null_mr(other);
	ck_assert_int_eq(ibv_dealloc_pd(other), EBUSY);
	again = ibv_import_mr(other, theirs->handle);
	ck_assert(again && again->lkey == theirs->lkey && again->rkey == 0);
	ibv_unimport_mr(again);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, 1, 0, 8);
	sge.lkey = theirs->lkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_dereg_mr(theirs), 0);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
	close_ends();
}
END_TEST

START_TEST(is_neither_changed_nor_bound)
{
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;

	open_ends(IBV_QPT_RC, false);
	ck_assert_int_eq(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_READ),
			 IBV_REREG_MR_ERR_INPUT);
	mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = null, .addr = 64, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ
	};
	ck_assert_int_eq(ibv_bind_mw(a.qp, mw, &bind), 0);
	end_wait_for(&a, 1, IBV_WC_MW_BIND_ERR);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	close_ends();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, reads_as_zeros, 0, 3);
	tcase_add_loop_test(tests, discards_what_is_received, 0, 3);
	tcase_add_test(tests, discards_a_grh);
	tcase_add_test(tests, discards_what_is_fetched);
	tcase_add_test(tests, has_the_greatest_length);
	tcase_add_loop_test(tests, is_not_for_peers, 0, 3);
	tcase_add_test(tests, belongs_to_its_domain);
	tcase_add_test(tests, is_neither_changed_nor_bound);
}

int main(void)
{
	return fixture_main("verbs_null_mr", add);
}
