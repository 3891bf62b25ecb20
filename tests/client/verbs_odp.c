// SPDX-License-Identifier: MIT
/* On-demand paging: which regions there are, and what each operation finds where a page fault
 * cannot be resolved. ibv_reg_mr(3). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attempt.h"
#include "fixture.h"
#include "pages.h"

#define ODP (FIXTURE_ALL_RIGHTS | IBV_ACCESS_ON_DEMAND)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct end a, b; /* connected, both on pd */
static uint8_t *place;

static void setup(void)
{
	context = fixture_open();
	pd = ibv_alloc_pd(context);
	ck_assert_ptr_nonnull(pd);
	place = pages_place();
}

static void teardown(void)
{
	pages_unmap(place);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

static void connect_ends(enum ibv_qp_type type, bool srq)
{
	const struct end_cfg cfg = { .type = type, .pd = pd, .srq = srq };
	struct end_address of_a, of_b;

	end_open(&a, context, &cfg);
	end_open(&b, context, &cfg);
	of_a = end_address(&a);
	of_b = end_address(&b);
	end_connect(&a, &of_b);
	end_connect(&b, &of_a);
}

static struct ibv_mr *reg(void *addr, size_t len, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

	ck_assert_msg(mr != NULL, "access 0x%x: %s", access, strerror(errno));
	ck_assert_ptr_eq(mr->addr, addr);
	ck_assert_uint_eq(mr->length, len);
	return mr;
}

static void expect_refused(void *addr, size_t len, unsigned int access)
{
	errno = 0;
	ck_assert_ptr_null(ibv_reg_mr(pd, addr, len, access));
	ck_assert_msg(errno == EINVAL, "access 0x%x, length %zu: %s", access, len, strerror(errno));
}

START_TEST(capabilities)
{
	/* FLUSH and ATOMIC WRITE, which verbs.h may be too old for. */
	const uint32_t newer = 1 << 6 | 1 << 7;
	const uint32_t rdma =
		IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | newer;
	const uint32_t messages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	struct ibv_device_attr_ex attr;

	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	ck_assert_uint_eq(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	ck_assert_uint_eq(attr.odp_caps.per_transport_caps.rc_odp_caps,
			  messages | rdma | IBV_ODP_SUPPORT_SRQ_RECV);
	ck_assert_uint_eq(attr.odp_caps.per_transport_caps.uc_odp_caps,
			  messages | IBV_ODP_SUPPORT_WRITE);
	ck_assert_uint_eq(attr.odp_caps.per_transport_caps.ud_odp_caps,
			  messages | IBV_ODP_SUPPORT_SRQ_RECV);
	ck_assert_uint_eq(attr.xrc_odp_caps,
			  IBV_ODP_SUPPORT_SEND | rdma | IBV_ODP_SUPPORT_SRQ_RECV);
}
END_TEST

/* Registration needs no memory and touches none; an access makes present what it touches. */
START_TEST(pages_come_with_the_access)
{
	struct ibv_mr *mr = reg(place, BYTES, ODP);

	pages_map(place, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	mr = reg(place, BYTES, ODP);
	ck_assert_uint_eq(pages_num_present(place), 0);
	connect_ends(IBV_QPT_RC, false);
	a.peer.rkey = mr->rkey;
	a.peer.addr = (uintptr_t)place + 5 * PAGE;
	fill(a.memory, 2 * PAGE, 1);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 2 * PAGE);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ck_assert_uint_eq(pages_num_present(place), 2);
	ck_assert(pages_present(place, 5) && pages_present(place, 6));
	expect_filled(place + 5 * PAGE, 2 * PAGE, 1);
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}
END_TEST

START_TEST(access_flags)
{
	static const unsigned int with[] = {
		0,
		IBV_ACCESS_REMOTE_READ,
		FIXTURE_ALL_RIGHTS,
		IBV_ACCESS_HUGETLB,
		IBV_ACCESS_MW_BIND,
		IBV_ACCESS_ZERO_BASED,
		IBV_ACCESS_RELAXED_ORDERING,
		IBV_ACCESS_OPTIONAL_RANGE,
	};
	struct ibv_mr *mr;

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		mr = reg(place, BYTES, IBV_ACCESS_ON_DEMAND | with[i]);
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	}
	expect_refused(place, BYTES, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_WRITE);
	expect_refused(place, BYTES, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_ATOMIC);
	expect_refused(place, BYTES, IBV_ACCESS_ON_DEMAND | 1 << 10);
	ck_assert_int_eq(ibv_dereg_mr(reg(place, 0, IBV_ACCESS_ON_DEMAND)), 0);
	expect_refused(place, SIZE_MAX - 1, IBV_ACCESS_ON_DEMAND);
	expect_refused(place, SIZE_MAX - (uintptr_t)place + 1, IBV_ACCESS_ON_DEMAND);
	/* More than the machine has, none of it mapped. */
	mr = reg(place, 1ull << 45, ODP);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	errno = 0;
	ck_assert_ptr_null(ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, 0, ODP));
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

START_TEST(implicit_forms)
{
	struct ibv_mr *mr = reg(NULL, SIZE_MAX, ODP);

	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova(pd, NULL, SIZE_MAX, 0, ODP);
	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	mr = reg(NULL, SIZE_MAX, ODP | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_RELAXED_ORDERING);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	expect_refused(NULL, SIZE_MAX, FIXTURE_ALL_RIGHTS);
	expect_refused(place, SIZE_MAX, ODP);
	expect_refused(NULL, SIZE_MAX, ODP | IBV_ACCESS_HUGETLB);
	errno = 0;
	ck_assert_ptr_null(ibv_reg_mr_iova(pd, NULL, SIZE_MAX, PAGE, ODP));
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* On-demand and ordinary regions turn into each other under one key. */
START_TEST(registered_again)
{
	const int access = IBV_REREG_MR_CHANGE_ACCESS, move = IBV_REREG_MR_CHANGE_TRANSLATION;
	uint8_t *ordinary = aligned_alloc(PAGE, BYTES);
	struct ibv_mr *mr = reg(ordinary, BYTES, FIXTURE_ALL_RIGHTS);
	uint32_t key = mr->lkey;

	ck_assert_int_ne(ibv_rereg_mr(mr, move, NULL, place, BYTES, 0), 0);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(ibv_rereg_mr(mr, access | move, NULL, place, BYTES, ODP), 0);
	ck_assert_int_ne(ibv_rereg_mr(mr, access, NULL, NULL, 0, FIXTURE_ALL_RIGHTS), 0);
	ck_assert_int_eq(errno, EFAULT);
	pages_map(place, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(ibv_rereg_mr(mr, access, NULL, NULL, 0, FIXTURE_ALL_RIGHTS), 0);
	ck_assert_uint_eq(pages_num_present(place), PAGES);
	ck_assert_int_ne(ibv_rereg_mr(mr, move, NULL, NULL, SIZE_MAX, 0), 0);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_rereg_mr(mr, access | move, NULL, NULL, SIZE_MAX, ODP), 0);
	ck_assert_ptr_null(mr->addr);
	ck_assert_uint_eq(mr->lkey, key);
	ck_assert_int_ne(ibv_rereg_mr(mr, access, NULL, NULL, 0, FIXTURE_ALL_RIGHTS), 0);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	free(ordinary);
}
END_TEST

/* What an access can find. */
enum state {
	ABSENT,
	GUARDED,   /* PROT_NONE */
	READ_ONLY, /* where the access writes */
	BEYOND,	   /* the end of a file: SIGBUS */
	STATES,
};

static void arrange(enum state state)
{
	int fd;

	switch (state) {
	case ABSENT: pages_unmap(place); return;
	case GUARDED: pages_map(place, PROT_NONE); return;
	case READ_ONLY: pages_map(place, PROT_READ); return;
	case BEYOND:
		fd = memfd_create("short", MFD_CLOEXEC);
		pages_map_file(place, fd);
		close(fd);
		return;
	case STATES: return;
	}
}

static void try(const struct operation *op, const struct ibv_mr *mr, void *at, bool local,
		enum ibv_wc_status status)
{
	connect_ends(IBV_QPT_RC, false);
	attempt_expect(&a, &b, op, mr->lkey, (uintptr_t)at, local, status);
	ends_close(&a, &b);
}

static enum ibv_wc_status attempt(const struct operation *op, const struct ibv_mr *mr, void *at,
				  bool local)
{
	return attempt_status(&a, &b, op, mr->lkey, (uintptr_t)at, local);
}

/* Under one key all the time: an access fails while it cannot be resolved, and works once it
 * can. */
START_TEST(every_operation)
{
	const struct operation *op = &operations[_i];
	struct ibv_mr *mr = reg(place, BYTES, ODP);

	for (int local = 0; local < 2; local++) {
		for (enum state state = ABSENT; state < STATES; state++) {
			if (state == READ_ONLY && !attempt_writes(op, local))
				continue;
			arrange(state);
			try(op, mr, place + PAGE, local, attempt_refusal(op, local));
			pages_map(place, PROT_READ | PROT_WRITE);
			try(op, mr, place + PAGE, local, IBV_WC_SUCCESS);
		}
	}
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}
END_TEST

/* Addresses that cannot be mapped at all fail like those that are not. */
START_TEST(implicit)
{
	const struct operation *op = &operations[_i];
	void *const bad[] = { NULL, place, (void *)0xdead000000000000, (void *)-4096l };
	struct ibv_mr *mr = reg(NULL, SIZE_MAX, ODP);
	uint64_t word = 0, *heap = calloc(1, sizeof(*heap));

	for (int local = 0; local < 2; local++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			try(op, mr, bad[i], local, attempt_refusal(op, local));
		try(op, mr, &word, local, IBV_WC_SUCCESS);
		try(op, mr, heap, local, IBV_WC_SUCCESS);
	}
	free(heap);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}
END_TEST

START_TEST(shared_receive_queue)
{
	struct ibv_mr *mr = reg(place, BYTES, ODP);

	connect_ends(IBV_QPT_RC, true);
	ck_assert_int_eq(attempt(&operations[0], mr, place, false), IBV_WC_REM_OP_ERR);
	end_wait_for(&b, 2, IBV_WC_LOC_PROT_ERR);
	ends_close(&a, &b);
	pages_map(place, PROT_READ | PROT_WRITE);
	connect_ends(IBV_QPT_RC, true);
	ck_assert_int_eq(attempt(&operations[0], mr, place, false), IBV_WC_SUCCESS);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}
END_TEST

/* UC and UD: a send fails at its sender, a receive at its receiver; a WRITE that finds no memory is
 * lost. */
static void unreliable(enum ibv_qp_type type, const struct operation *op)
{
	struct ibv_mr *mr = reg(place, BYTES, ODP);

	connect_ends(type, false);
	ck_assert_int_eq(attempt(op, mr, place, true), IBV_WC_LOC_PROT_ERR);
	ends_close(&a, &b);
	connect_ends(type, false);
	ck_assert_int_eq(attempt(op, mr, place, false), IBV_WC_SUCCESS);
	if (op->receives)
		end_wait_for(&b, 2, IBV_WC_LOC_PROT_ERR);
	else
		end_expect_nothing(&b);
	ends_close(&a, &b);
	pages_map(place, PROT_READ | PROT_WRITE);
	connect_ends(type, false);
	ck_assert_int_eq(attempt(op, mr, place, false), IBV_WC_SUCCESS);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	ck_assert_int_eq(attempt(op, mr, place, true), IBV_WC_SUCCESS);
	ends_close(&a, &b);
	pages_unmap(place);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
}

START_TEST(ud)
{
	unreliable(IBV_QPT_UD, &operations[0]);
}
END_TEST

START_TEST(uc)
{
	unreliable(IBV_QPT_UC, &operations[0]);
	unreliable(IBV_QPT_UC, &operations[2]);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, capabilities);
	tcase_add_test(tests, pages_come_with_the_access);
	tcase_add_test(tests, access_flags);
	tcase_add_test(tests, implicit_forms);
	tcase_add_test(tests, registered_again);
	tcase_add_loop_test(tests, every_operation, 0, (int)OPERATIONS);
	tcase_add_loop_test(tests, implicit, 0, (int)OPERATIONS);
	tcase_add_test(tests, shared_receive_queue);
	tcase_add_test(tests, uc);
	tcase_add_test(tests, ud);
}

int main(void)
{
	return fixture_main("verbs_odp", add);
}
