// SPDX-License-Identifier: MIT
/* Device memory under the data path: written, read, added to and gathered from like any other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define DM_BYTES 65536u
#define RIGHTS	 ((unsigned int)FIXTURE_ALL_RIGHTS | IBV_ACCESS_ZERO_BASED)

struct card {
	struct ibv_dm *dm;
	struct ibv_mr *mr;
};

static struct card card_open(struct end *end)
{
	struct ibv_alloc_dm_attr attr = { .length = DM_BYTES };
	struct card card = { .dm = ibv_alloc_dm(end->context, &attr) };

	ck_assert_ptr_nonnull(card.dm);
	card.mr = ibv_reg_dm_mr(end->pd, card.dm, 0, DM_BYTES, RIGHTS);
	ck_assert_ptr_nonnull(card.mr);
	return card;
}

static void card_close(struct card *card)
{
	ck_assert_int_eq(ibv_dereg_mr(card->mr), 0);
	ck_assert_int_eq(ibv_free_dm(card->dm), 0);
}

START_TEST(remote_access)
{
	struct end a, b;
	struct card card;
	uint8_t bytes[5000];

	ends_open(&a, &b, NULL);
	card = card_open(&b);
	a.peer.rkey = card.mr->rkey;
	a.peer.addr = 0;
	fill(a.memory, 5000, 1);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 5000);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_memcpy_from_dm(bytes, card.dm, 0, 5000), 0);
	expect_filled(bytes, 5000, 1);
	memset(a.memory, 0, 5000);
	end_post(&a, IBV_WR_RDMA_READ, 2, 0, 5000);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	expect_filled(a.memory, 5000, 1);
	end_post(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 8192, 8);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	expect_zero(a.memory + 8192, 8);
	ck_assert_int_eq(ibv_free_dm(card.dm), EBUSY);
	card_close(&card);
	ends_close(&a, &b);
}
END_TEST

START_TEST(local_access)
{
	struct end a, b;
	struct card card;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_recv_wr in = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad_in;
	uint8_t bytes[6000];

	ends_open(&a, &b, NULL);
	card = card_open(&a);
	fill(bytes, 6000, 4);
	ck_assert_int_eq(ibv_memcpy_to_dm(card.dm, 1024, bytes, 6000), 0);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, 1, 0, 6000);
	sge = (struct ibv_sge){ 1024, 6000, card.mr->lkey };
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory, 6000, 4);
	sge = (struct ibv_sge){ 32768, 6000, card.mr->lkey };
	ck_assert_int_eq(ibv_post_recv(a.qp, &in, &bad_in), 0);
	end_post(&b, IBV_WR_SEND, 2, 0, 6000);
	end_wait_for(&a, 7, IBV_WC_SUCCESS);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	memset(bytes, 0, sizeof(bytes));
	ck_assert_int_eq(ibv_memcpy_from_dm(bytes, card.dm, 32768, 6000), 0);
	expect_filled(bytes, 6000, 4);
	card_close(&card);
	ends_close(&a, &b);
}
END_TEST

START_TEST(beyond_its_end)
{
	struct end a, b;
	struct card card;

	ends_open(&a, &b, NULL);
	card = card_open(&b);
	a.peer.rkey = card.mr->rkey;
	a.peer.addr = DM_BYTES - 99;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 100);
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
	card_close(&card);
	ends_close(&a, &b);
}
END_TEST

/* Each of the operations that bring bytes to it or take them from it, in one piece of it after the
 * other. */
START_TEST(every_operation)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						  IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
						  IBV_WR_RDMA_READ };
	struct card of_a, of_b;
	struct end a, b;
	uint8_t bytes[3000];

	ends_open(&a, &b, NULL);
	of_a = card_open(&a);
	of_b = card_open(&b);
	a.peer.rkey = of_b.mr->rkey;
	a.peer.addr = 0;
	for (uint32_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		bool read = ops[i] == IBV_WR_RDMA_READ,
		     send = ops[i] == IBV_WR_SEND || ops[i] == IBV_WR_SEND_WITH_IMM;
		struct ibv_sge sge, to = { i * 4096, sizeof(bytes), of_b.mr->lkey };
		struct ibv_send_wr wr = end_wr(&a, &sge, ops[i], 10, i * 4096, sizeof(bytes)), *bad;
		struct ibv_recv_wr in = { .wr_id = 20, .sg_list = &to, .num_sge = 1 }, *bad_in;

		fill(bytes, sizeof(bytes), i);
		ck_assert_int_eq(
			ibv_memcpy_to_dm(read ? of_b.dm : of_a.dm, i * 4096, bytes, sizeof(bytes)),
			0);
		sge = (struct ibv_sge){ i * 4096, sizeof(bytes), of_a.mr->lkey };
		if (send || ops[i] == IBV_WR_RDMA_WRITE_WITH_IMM)
			ck_assert_int_eq(ibv_post_recv(b.qp, &in, &bad_in), 0);
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
		end_wait_for(&a, 10, IBV_WC_SUCCESS);
		if (send || ops[i] == IBV_WR_RDMA_WRITE_WITH_IMM)
			end_wait_for(&b, 20, IBV_WC_SUCCESS);
		memset(bytes, 0, sizeof(bytes));
		ck_assert_int_eq(ibv_memcpy_from_dm(bytes, read ? of_a.dm : of_b.dm, i * 4096,
						    sizeof(bytes)),
				 0);
		expect_filled(bytes, sizeof(bytes), i);
	}
	card_close(&of_a);
	card_close(&of_b);
	ends_close(&a, &b);
}
END_TEST

/* Old values land in device memory as well; the word is where its own region's zero says. */
START_TEST(both_atomics)
{
	const uint64_t start = 100, zero = 0;
	struct ibv_mr *word;
	struct card of_a, of_b;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct end a, b;
	uint64_t now;

	ends_open(&a, &b, NULL);
	of_a = card_open(&a);
	of_b = card_open(&b);
	word = ibv_reg_dm_mr(b.pd, of_b.dm, 4096, 8, RIGHTS);
	ck_assert_ptr_nonnull(word);
	ck_assert_int_eq(ibv_memcpy_to_dm(of_b.dm, 4096, &start, 8), 0);
	a.peer.rkey = word->rkey;
	a.peer.addr = 0;
	for (uint32_t i = 0; i < 20; i++) {
		bool swap = i % 2;

		wr = end_wr(&a, &sge,
			    swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, i, 0,
			    8);
		sge = (struct ibv_sge){ 64, 8, of_a.mr->lkey };
		wr.wr.atomic.compare_add = swap ? start + i : 1;
		wr.wr.atomic.swap = start + i + 1;
		ck_assert_int_eq(ibv_memcpy_to_dm(of_a.dm, 64, &zero, 8), 0);
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		ck_assert_int_eq(ibv_memcpy_from_dm(&now, of_a.dm, 64, 8), 0);
		ck_assert_uint_eq(now, start + i);
	}
	ck_assert_int_eq(ibv_memcpy_from_dm(&now, of_b.dm, 4096, 8), 0);
	ck_assert_uint_eq(now, start + 20);
	ck_assert_int_eq(ibv_dereg_mr(word), 0);
	card_close(&of_a);
	card_close(&of_b);
	ends_close(&a, &b);
}
END_TEST

/* An address that is no multiple of 8: an invalid request. A multiple that falls on half a word: it
 * cannot be one instruction. */
static void unaligned(uint64_t offset, uint64_t addr, enum ibv_wc_status status)
{
	struct card card;
	struct ibv_mr *mr;
	struct end a, b;

	ends_open(&a, &b, NULL);
	card = card_open(&b);
	mr = ibv_reg_dm_mr(b.pd, card.dm, offset, 64, RIGHTS);
	ck_assert_ptr_nonnull(mr);
	a.peer.rkey = mr->rkey;
	a.peer.addr = addr;
	end_post(&a, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	end_wait_for(&a, 1, status);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	card_close(&card);
	ends_close(&a, &b);
}

START_TEST(unaligned_atomics)
{
	for (uint64_t addr = 1; addr < 8; addr++)
		unaligned(0, addr, IBV_WC_REM_INV_REQ_ERR);
	unaligned(4, 0, IBV_WC_REM_ACCESS_ERR);
	unaligned(0, 56, IBV_WC_SUCCESS);
	unaligned(0, 64, IBV_WC_REM_ACCESS_ERR);
}
END_TEST

/* A datagram gathered from device memory and from the program's; one that lands in device memory,
 * after the room for its GRH. */
START_TEST(datagrams)
{
	const struct end_cfg cfg = { .type = IBV_QPT_UD };
	struct card of_a, of_b;
	struct ibv_sge sge[2], to;
	struct ibv_recv_wr in = { .wr_id = 20, .sg_list = &to, .num_sge = 1 }, *bad_in;
	struct ibv_send_wr wr, *bad;
	struct end a, b;
	uint8_t bytes[1000];

	ends_open(&a, &b, &cfg);
	of_a = card_open(&a);
	of_b = card_open(&b);
	fill(bytes, sizeof(bytes), 6);
	ck_assert_int_eq(ibv_memcpy_to_dm(of_a.dm, 2048, bytes, 600), 0);
	memcpy(a.memory, bytes + 600, 400);
	wr = end_wr(&a, sge, IBV_WR_SEND, 10, 0, 600);
	sge[0] = (struct ibv_sge){ 2048, 600, of_a.mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)a.memory, 400, a.mr->lkey };
	wr.num_sge = 2;
	to = (struct ibv_sge){ 8192, 2000, of_b.mr->lkey };
	ck_assert_int_eq(ibv_post_recv(b.qp, &in, &bad_in), 0);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&b, 20, IBV_WC_SUCCESS);
	end_wait_for(&a, 10, IBV_WC_SUCCESS);
	memset(bytes, 0, sizeof(bytes));
	ck_assert_int_eq(ibv_memcpy_from_dm(bytes, of_b.dm, 8192 + 40, sizeof(bytes)), 0);
	expect_filled(bytes, sizeof(bytes), 6);
	card_close(&of_a);
	card_close(&of_b);
	ends_close(&a, &b);
}
END_TEST

static void write_by(struct end *a, uint32_t rkey, uint64_t addr, uint32_t len,
		     enum ibv_wc_status status)
{
	a->peer.rkey = rkey;
	a->peer.addr = addr;
	end_post(a, IBV_WR_RDMA_WRITE, 1, 0, len);
	end_wait_for(a, 1, status);
}

/* Regions that overlap, each from its own zero and to its own end; one goes, the other stays. */
START_TEST(several_regions)
{
	struct ibv_mr *low, *high, *empty;
	struct card card;
	struct end a, b;
	uint8_t bytes[64];

	ends_open(&a, &b, NULL);
	card = card_open(&b);
	low = ibv_reg_dm_mr(b.pd, card.dm, 0, 128, RIGHTS);
	high = ibv_reg_dm_mr(b.pd, card.dm, 64, 128, RIGHTS);
	empty = ibv_reg_dm_mr(b.pd, card.dm, 64, 0, RIGHTS);
	ck_assert(low && high && empty);
	ck_assert_uint_ne(low->rkey, high->rkey);
	fill(a.memory, 64, 1);
	write_by(&a, high->rkey, 0, 64, IBV_WC_SUCCESS); /* is low's second half */
	ck_assert_int_eq(ibv_memcpy_from_dm(bytes, card.dm, 64, 64), 0);
	expect_filled(bytes, 64, 1);
	memset(a.memory, 0, 64);
	a.peer.rkey = low->rkey;
	a.peer.addr = 64;
	end_post(&a, IBV_WR_RDMA_READ, 2, 0, 64);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	expect_filled(a.memory, 64, 1);
	ck_assert_int_eq(ibv_dereg_mr(high), 0);
	write_by(&a, low->rkey, 0, 128, IBV_WC_SUCCESS);
	write_by(&a, empty->rkey, 0, 0, IBV_WC_SUCCESS);
	write_by(&a, empty->rkey, 0, 1, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(ibv_dereg_mr(empty), 0);
	ck_assert_int_eq(ibv_dereg_mr(low), 0);
	card_close(&card);
	ends_close(&a, &b);
}
END_TEST

/* Where a DM begins is not told; that it begins at a multiple is seen by who finds two that are
 * apart by less. So: each alignment is taken or answered with ENOMEM, and once it is taken, what is
 * aligned to all of memory is at its start, and there is only one. */
START_TEST(every_alignment)
{
	struct ibv_context *context = fixture_open();
	struct ibv_device_attr_ex attr;
	struct ibv_dm *dm, *second;
	uint32_t largest = 0;

	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	while (1ull << (largest + 1) <= attr.max_dm_size)
		largest++;
	for (uint32_t align = 0; align < 64; align++) {
		struct ibv_alloc_dm_attr want = { .length = 8, .log_align_req = align };

		dm = ibv_alloc_dm(context, &want);
		ck_assert_ptr_nonnull(dm);
		errno = 0;
		second = ibv_alloc_dm(context, &want);
		ck_assert_msg((second != NULL) == (align < largest), "alignment %u", align);
		if (second)
			ck_assert_int_eq(ibv_free_dm(second), 0);
		else
			ck_assert_int_eq(errno, ENOMEM);
		ck_assert_int_eq(ibv_free_dm(dm), 0);
	}
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

/* The allocator's bound is proven in server_range; here that nothing of it is lost on the way:
 * after thousands of random allocs and frees, some while full, all of max_dm_size can be had in one
 * piece. */
START_TEST(all_of_it_again)
{
	struct ibv_context *context = fixture_open();
	struct ibv_device_attr_ex attr;
	struct ibv_dm *dm[64] = { 0 };
	uint32_t refused = 0;

	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	srandom(3);
	for (uint32_t i = 0; i < 5000; i++) {
		struct ibv_alloc_dm_attr want = { .log_align_req = (uint32_t)random() % 22 };
		uint32_t at = (uint32_t)random() % 64;

		want.length = 1 + (size_t)random() % (i % 7 ? 20000 : attr.max_dm_size / 3);
		if (dm[at]) {
			ck_assert_int_eq(ibv_free_dm(dm[at]), 0);
			dm[at] = NULL;
			continue;
		}
		dm[at] = ibv_alloc_dm(context, &want);
		refused += !dm[at];
		ck_assert(dm[at] || errno == ENOMEM);
	}
	for (uint32_t at = 0; at < 64; at++)
		ck_assert_int_eq(dm[at] ? ibv_free_dm(dm[at]) : 0, 0);
	dm[0] = ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){ .length = attr.max_dm_size });
	ck_assert_ptr_nonnull(dm[0]);
	ck_assert_int_eq(ibv_free_dm(dm[0]), 0);
	ck_assert_uint_gt(refused, 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, remote_access);
	tcase_add_test(tests, local_access);
	tcase_add_test(tests, beyond_its_end);
	tcase_add_test(tests, every_operation);
	tcase_add_test(tests, both_atomics);
	tcase_add_test(tests, unaligned_atomics);
	tcase_add_test(tests, datagrams);
	tcase_add_test(tests, several_regions);
	tcase_add_test(tests, every_alignment);
	tcase_add_test(tests, all_of_it_again);
}

int main(void)
{
	return fixture_main("verbs_dm", add);
}
