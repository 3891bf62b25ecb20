// SPDX-License-Identifier: MIT
/* Device memory under the data path: written, read, added to and gathered from like any other. */
#include <errno.h>
#include <string.h>

#include "bed.h"

#define DM_BYTES 65536u
#define RIGHTS	 ((unsigned int)BED_ALL_RIGHTS | IBV_ACCESS_ZERO_BASED)

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

static void add(TCase *tests)
{
	tcase_add_test(tests, remote_access);
	tcase_add_test(tests, local_access);
	tcase_add_test(tests, beyond_its_end);
}

int main(void)
{
	return bed_main("verbs_dm", add);
}
