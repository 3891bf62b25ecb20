// SPDX-License-Identifier: MIT
/* On-demand memory of another process: an owner registers it, hands its context on and then maps,
 * protects and unmaps it; this process reaches it by packets to the owner's queue pairs, or imports
 * the region and accesses it as its own.
 *
 * RXE_DM_NO_VM=1: every access to an imported region is a request to the owner. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attempt.h"
#include "fixture.h"
#include "pages.h"

#define ODP   (FIXTURE_ALL_RIGHTS | IBV_ACCESS_ON_DEMAND)
#define PAIRS 4

/* What the owner reports. */
struct letter {
	uint32_t pd, mr, key, implicit, implicit_key;
	uint64_t place;
};

enum word {
	WORD_MAP, /* and fill with .number */
	WORD_UNMAP,
	WORD_GUARD,
	WORD_CHECK, /* its first 8 bytes are filled with .number */
	WORD_END,
};

struct order {
	enum word word;
	uint32_t number;
};

static void order(int sock, enum word word, uint32_t number)
{
	const struct order order = { word, number };

	ck_assert_int_eq(send(sock, &order, sizeof(order), MSG_NOSIGNAL), sizeof(order));
	meet(sock);
}

static void obey(int sock, uint8_t *place)
{
	struct order order = { WORD_UNMAP, 0 };

	while (order.word != WORD_END) {
		ck_assert_int_eq(recv(sock, &order, sizeof(order), MSG_WAITALL), sizeof(order));
		switch (order.word) {
		case WORD_MAP:
			pages_map(place, PROT_READ | PROT_WRITE);
			fill(place, BYTES, order.number);
			break;
		case WORD_UNMAP: pages_unmap(place); break;
		case WORD_GUARD: ck_assert_int_eq(mprotect(place, BYTES, PROT_NONE), 0); break;
		case WORD_CHECK: expect_filled(place, 8, order.number); break;
		case WORD_END: break;
		}
		meet(sock);
	}
}

static void own(int sock)
{
	struct ibv_context *context = fixture_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	uint8_t *place = pages_place();
	struct ibv_mr *mr = ibv_reg_mr(pd, place, BYTES, ODP);
	struct ibv_mr *implicit = ibv_reg_mr(pd, NULL, SIZE_MAX, ODP);
	struct letter letter;

	ck_assert(mr && implicit);
	letter = (struct letter){ pd->handle,	    mr->handle,	    mr->lkey,
				  implicit->handle, implicit->lkey, (uintptr_t)place };
	give_fd(sock, context->cmd_fd);
	ck_assert_int_eq(send(sock, &letter, sizeof(letter), 0), sizeof(letter));
	obey(sock, place);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dereg_mr(implicit), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

static int owner;
static pid_t owner_pid;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct letter letter;
static struct end a, b;

static void import(void)
{
	int fd;

	owner = beside(own, &owner_pid);
	fd = take_fd(owner);
	ck_assert_int_eq(recv(owner, &letter, sizeof(letter), MSG_WAITALL), sizeof(letter));
	context = ibv_import_device(fd);
	ck_assert_ptr_nonnull(context);
	close(fd);
	pd = ibv_import_pd(context, letter.pd);
	ck_assert_ptr_nonnull(pd);
}

static void unimport(void)
{
	ibv_unimport_pd(pd);
	ck_assert_int_eq(ibv_close_device(context), 0);
	order(owner, WORD_END, 0);
	join(owner_pid, owner);
}

static void try(const struct operation *op, uint32_t key, bool local, enum ibv_wc_status status)
{
	const struct end_cfg cfg = { .pd = pd };
	struct end_address of_a, of_b;

	end_open(&a, context, &cfg);
	end_open(&b, context, &cfg);
	of_a = end_address(&a);
	of_b = end_address(&b);
	end_connect(&a, &of_b);
	end_connect(&b, &of_a);
	fill(a.memory, 8, 7);
	attempt_expect(&a, &b, op, key, letter.place + PAGE - 4, local, status);
	ends_close(&a, &b);
}

static void try_aligned(const struct operation *op, uint32_t key, bool local,
			enum ibv_wc_status status)
{
	letter.place += 4;
	try(op, key, local, status);
	letter.place -= 4;
}

/* Each state of the owner's memory, under the explicit and the implicit key. */
START_TEST(imported_region)
{
	const struct operation *op = &operations[_i % OPERATIONS];
	bool local = _i >= OPERATIONS;
	void (*const attempt)(const struct operation *, uint32_t, bool, enum ibv_wc_status) =
		op->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP ? try_aligned : try;

	import();
	for (int round = 0; round < 2; round++) {
		uint32_t key = round ? letter.implicit_key : letter.key;

		attempt(op, key, local, attempt_refusal(op, local));
		order(owner, WORD_MAP, 1);
		attempt(op, key, local, IBV_WC_SUCCESS);
		order(owner, WORD_GUARD, 0);
		attempt(op, key, local, attempt_refusal(op, local));
		order(owner, WORD_UNMAP, 0);
		attempt(op, key, local, attempt_refusal(op, local));
	}
	unimport();
}
END_TEST

/* Only its own process makes memory present. */
START_TEST(advice_on_imported_region)
{
	struct ibv_sge sge;
	struct ibv_mr *mr;

	import();
	mr = ibv_import_mr(pd, letter.mr);
	ck_assert_ptr_nonnull(mr);
	sge = (struct ibv_sge){ letter.place, PAGE, mr->lkey };
	order(owner, WORD_MAP, 1);
	for (uint32_t flags = 0; flags < 2; flags++)
		ck_assert_int_eq(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, flags, &sge, 1),
				 EPERM);
	ibv_unimport_mr(mr);
	mr = ibv_import_mr(pd, letter.implicit);
	ck_assert_ptr_nonnull(mr);
	ck_assert_uint_eq(mr->length, SIZE_MAX);
	ibv_unimport_mr(mr);
	unimport();
}
END_TEST

/* The owner's engine serves its queue pairs, while the program sleeps. */
static void serve(int sock)
{
	struct ibv_context *own_context = fixture_open();
	struct ibv_pd *own_pd = ibv_alloc_pd(own_context);
	const struct end_cfg cfg = { .pd = own_pd };
	uint8_t *place = pages_place();
	struct ibv_mr *mr = ibv_reg_mr(own_pd, place, BYTES, ODP);
	struct end ends[PAIRS];

	ck_assert_ptr_nonnull(mr);
	for (int i = 0; i < PAIRS; i++) {
		struct end_address mine, theirs;

		end_open(&ends[i], own_context, &cfg);
		mine = end_address(&ends[i]);
		mine.rkey = mr->rkey;
		mine.addr = (uintptr_t)place;
		ck_assert_int_eq(send(sock, &mine, sizeof(mine), MSG_NOSIGNAL), sizeof(mine));
		ck_assert_int_eq(recv(sock, &theirs, sizeof(theirs), MSG_WAITALL), sizeof(theirs));
		end_connect(&ends[i], &theirs);
	}
	obey(sock, place);
	for (int i = 0; i < PAIRS; i++)
		end_close(&ends[i]);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(own_pd), 0);
	ck_assert_int_eq(ibv_close_device(own_context), 0);
}

static void post_and_wait(struct end *end, enum ibv_wr_opcode opcode, enum ibv_wc_status status)
{
	end_post(end, opcode, 1, 0, 8);
	end_wait_for(end, 1, status);
}

START_TEST(served_by_a_sleeping_process)
{
	struct end ends[PAIRS];

	owner = beside(serve, &owner_pid);
	for (int i = 0; i < PAIRS; i++) {
		struct end_address theirs;

		end_open(&ends[i], NULL, NULL);
		theirs = swap_addresses(owner, &ends[i]);
		end_connect(&ends[i], &theirs);
	}
	post_and_wait(&ends[0], IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	order(owner, WORD_MAP, 1);
	post_and_wait(&ends[1], IBV_WR_RDMA_READ, IBV_WC_SUCCESS);
	expect_filled(ends[1].memory, 8, 1);
	fill(ends[1].memory, 8, 2);
	post_and_wait(&ends[1], IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
	order(owner, WORD_CHECK, 2);
	order(owner, WORD_GUARD, 0);
	post_and_wait(&ends[1], IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
	order(owner, WORD_MAP, 3);
	post_and_wait(&ends[2], IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_SUCCESS);
	expect_filled(ends[2].memory, 8, 3);
	order(owner, WORD_UNMAP, 0);
	post_and_wait(&ends[2], IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR);
	post_and_wait(&ends[3], IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < PAIRS; i++)
		end_close(&ends[i]);
	order(owner, WORD_END, 0);
	join(owner_pid, owner);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, imported_region, 0, 2 * OPERATIONS);
	tcase_add_test(tests, advice_on_imported_region);
	tcase_add_test(tests, served_by_a_sleeping_process);
}

int main(void)
{
	return fixture_main("verbs_odp_share", add);
}
