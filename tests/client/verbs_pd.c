// SPDX-License-Identifier: MIT
/* Parent domains and thread domains: ibv_alloc_parent_domain(3), ibv_alloc_td(3). */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fixture.h"

#define MAX_CALLS 16

enum answer {
	ANSWER_MEMORY,
	ANSWER_DEFAULT,
	ANSWER_NULL,
};

struct call {
	void *memory;
	void *map;
	size_t map_len;
	uint64_t type;
	bool returned;
};

/* What the callbacks saw, and what they are to answer. */
static struct {
	struct ibv_pd *parent;
	pthread_t thread;
	enum answer answer[MAX_CALLS];
	struct call call[MAX_CALLS];
	int calls, given, returned;
	bool busy;   /* do something with the device in between */
	bool fenced; /* after what is given comes a page that no process may touch */
} seen;

static struct ibv_context *context;
static struct ibv_pd *pd;

/* What a program can do with one: objects of every kind, and bytes over the wire to itself. */
static void *use_the_device(void *arg)
{
	struct end a, b;

	(void)arg;
	ends_open(&a, &b, NULL);
	fill(a.memory, 100, 1);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 100);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory, 100, 1);
	ends_close(&a, &b);
	return NULL;
}

/* The same, by the caller's thread and by another: a lock held during the call would block one of
 * them forever. */
static void use_the_device_twice(void)
{
	struct ibv_pd *other = ibv_alloc_pd(context);
	pthread_t thread;

	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
	use_the_device(NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, use_the_device, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* As near to its end as the alignment allows, and then comes a page that no process may touch. */
static void *fenced(struct call *call, size_t size, size_t alignment)
{
	size_t room = (size + alignment - 1) / alignment * alignment, page = 4096;
	size_t pages = (room + page - 1) / page * page;

	call->map_len = pages + page;
	call->map = mmap(NULL, call->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ck_assert_ptr_ne(call->map, MAP_FAILED);
	ck_assert_int_eq(mprotect((uint8_t *)call->map + pages, page, PROT_NONE), 0);
	return (uint8_t *)call->map + pages - room;
}

static void *give(struct ibv_pd *parent, void *pd_context, size_t size, size_t alignment,
		  uint64_t type)
{
	struct call *call = &seen.call[seen.calls];

	ck_assert_ptr_eq(parent, seen.parent);
	ck_assert_ptr_eq(pd_context, &seen);
	ck_assert(pthread_equal(pthread_self(), seen.thread));
	ck_assert_uint_gt(size, 0);
	ck_assert_uint_ge(alignment, 8);
	ck_assert_uint_eq(alignment & (alignment - 1), 0);
	ck_assert_uint_eq(type >> 32, 14);
	ck_assert_uint_ne((uint32_t)type, 0);
	ck_assert_int_lt(seen.calls, MAX_CALLS);
	if (seen.busy)
		use_the_device_twice();
	call->type = type;
	switch (seen.answer[seen.calls++]) {
	case ANSWER_MEMORY:
		if (seen.fenced)
			call->memory = fenced(call, size, alignment);
		else
			call->memory = aligned_alloc(alignment, (size + alignment - 1) / alignment *
									alignment);
		memset(call->memory, 0, size);
		seen.given++;
		return call->memory;
	case ANSWER_DEFAULT: return IBV_ALLOCATOR_USE_DEFAULT;
	case ANSWER_NULL: return NULL;
	}
	return NULL;
}

static void take_back(struct ibv_pd *parent, void *pd_context, void *ptr, uint64_t type)
{
	ck_assert_ptr_eq(parent, seen.parent);
	ck_assert_ptr_eq(pd_context, &seen);
	ck_assert(pthread_equal(pthread_self(), seen.thread));
	if (seen.busy)
		use_the_device_twice();
	for (int i = 0; i < seen.calls; i++) {
		if (seen.call[i].memory != ptr || seen.call[i].returned)
			continue;
		ck_assert_uint_eq(seen.call[i].type, type);
		seen.call[i].returned = true;
		seen.returned++;
		if (seen.fenced)
			munmap(seen.call[i].map, seen.call[i].map_len);
		else
			free(ptr);
		return;
	}
	ck_abort_msg("%p was never given, or has been returned", ptr);
}

static struct ibv_pd *make_parent(struct ibv_td *td, bool allocators)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };

	if (allocators) {
		attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
		attr.alloc = give;
		attr.free = take_back;
		attr.pd_context = &seen;
	}
	seen.parent = ibv_alloc_parent_domain(context, &attr);
	ck_assert_ptr_nonnull(seen.parent);
	return seen.parent;
}

static void set_up(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.thread = pthread_self();
	context = fixture_open();
	pd = ibv_alloc_pd(context);
	ck_assert_ptr_nonnull(pd);
}

static void tear_down(void)
{
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
	ck_assert_int_eq(seen.given, seen.returned);
}

static struct ibv_cq *make_cq(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 50,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = parent };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static struct ibv_srq *make_srq(struct ibv_pd *parent)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };

	return ibv_create_srq(parent, &attr);
}

static struct ibv_qp *make_qp(struct ibv_pd *parent, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(parent, &attr);
}

/* CQ, SRQ and both queues of the QP: a call each, a return each. */
START_TEST(once_for_each_buffer)
{
	struct ibv_pd *parent = make_parent(NULL, true);
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	seen.busy = true;
	cq = make_cq(parent);
	ck_assert_ptr_nonnull(cq);
	ck_assert_int_eq(seen.given, 1);
	srq = make_srq(parent);
	ck_assert_ptr_nonnull(srq);
	ck_assert_int_eq(seen.given, 2);
	qp = make_qp(parent, cq);
	ck_assert_ptr_nonnull(qp);
	ck_assert_int_eq(seen.given, 4);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(seen.returned, 2);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ck_assert_int_eq(seen.returned, 3);
	ck_assert_int_eq(ibv_resize_cq(cq, 100), 0);
	ck_assert_int_eq(seen.given, 5);
	ck_assert_int_eq(seen.returned, 4);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(seen.returned, 5);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

static void ends_on(struct ibv_pd *parent, struct end *a, struct end *b, struct end_cfg cfg)
{
	struct end_address of_a, of_b;

	cfg.pd = parent;
	end_open(a, context, &cfg);
	end_open(b, context, &cfg);
	of_a = end_address(a);
	of_b = end_address(b);
	end_connect(a, &of_b);
	end_connect(b, &of_a);
}

/* Only what was asked for is used, and nothing of it after it was returned: full queues of odd
 * sizes, in memory that ends where they end. */
START_TEST(no_byte_beyond)
{
	const struct end_cfg cfg = { .wrs = 13, .sges = 3, .cqe = 29, .srq = true };
	struct ibv_pd *parent;
	struct end a, b;

	seen.fenced = true;
	parent = make_parent(NULL, true);
	ends_on(parent, &a, &b, cfg);
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 13; i++)
			end_recv(&b, i, 4096 * (size_t)i, 4096);
		for (uint32_t i = 0; i < 13; i++)
			end_post(&a, IBV_WR_SEND, i, 4096 * (size_t)i, 100);
		for (uint32_t i = 0; i < 13; i++) {
			end_wait_for(&a, i, IBV_WC_SUCCESS);
			end_wait_for(&b, i, IBV_WC_SUCCESS);
		}
	}
	ends_close(&a, &b);
	ck_assert_int_ge(seen.given, 4);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

START_TEST(left_to_the_library)
{
	struct ibv_pd *parent = make_parent(NULL, true);
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	seen.answer[0] = seen.answer[2] = ANSWER_DEFAULT;
	cq = make_cq(parent);
	qp = make_qp(parent, cq); /* its first queue is theirs, its second ours */
	ck_assert_ptr_nonnull(qp);
	ck_assert_int_eq(seen.calls, 3);
	ck_assert_int_eq(seen.given, 1);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(seen.returned, 1);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

START_TEST(refused_by_the_callback)
{
	struct ibv_pd *parent = make_parent(NULL, true);
	struct ibv_cq *cq;

	seen.answer[0] = seen.answer[1] = ANSWER_NULL;
	ck_assert_ptr_null(make_cq(parent));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_ptr_null(make_srq(parent));
	ck_assert_int_eq(errno, ENOMEM);
	cq = make_cq(parent);
	ck_assert_ptr_nonnull(cq);
	seen.answer[4] = ANSWER_NULL; /* the QP's second queue: the first goes back */
	ck_assert_ptr_null(make_qp(parent, cq));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(seen.returned, 1);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

START_TEST(order_of_ends)
{
	struct ibv_td_init_attr no_attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(context, &no_attr);
	struct ibv_pd *parent = make_parent(td, false);
	static uint8_t bytes[64];
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_dealloc_td(td), EBUSY);
	mr = ibv_reg_mr(parent, bytes, sizeof(bytes), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	cq = make_cq(parent);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EBUSY);
	srq = make_srq(parent);
	qp = make_qp(parent, cq);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EBUSY);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
	ck_assert_int_eq(ibv_dealloc_td(td), 0);
}
END_TEST

START_TEST(what_is_refused)
{
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct ibv_td_init_attr no_attr = { 0 };
	struct ibv_context *other = fixture_open();
	struct ibv_td *foreign = ibv_alloc_td(other, &no_attr);

	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr)); /* no domain */
	ck_assert_int_eq(errno, EINVAL);
	attr.pd = pd;
	attr.td = foreign;
	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr));
	ck_assert_int_eq(errno, EINVAL);
	attr.td = NULL;
	attr.comp_mask = 1u << 31;
	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.alloc = give; /* and no free */
	ck_assert_ptr_null(ibv_alloc_parent_domain(context, &attr));
	ck_assert_int_eq(errno, EINVAL);
	no_attr.comp_mask = 1;
	ck_assert_ptr_null(ibv_alloc_td(context, &no_attr));
	ck_assert_int_eq(ibv_dealloc_td(foreign), 0);
	ck_assert_int_eq(ibv_close_device(other), 0);
}
END_TEST

/* A region of the domain, a queue pair of its parent, and the other way round: one domain to every
 * check of a key. */
static void write_across(struct ibv_pd *of_mr, enum ibv_wc_status status, bool parent_qp)
{
	struct ibv_pd *parent = make_parent(NULL, false);
	struct end_cfg cfg = { .pd = parent_qp ? parent : pd };
	struct ibv_mr *mr;
	struct end a, b;
	struct end_address of_a, of_b;

	end_open(&a, context, NULL);
	end_open(&b, context, &cfg);
	mr = ibv_reg_mr(of_mr ? of_mr : parent, b.memory, 4096, FIXTURE_ALL_RIGHTS);
	of_a = end_address(&a);
	of_b = end_address(&b);
	of_b.rkey = mr->rkey;
	end_connect(&a, &of_b);
	end_connect(&b, &of_a);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, status);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	end_close(&a);
	end_close(&b);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}

START_TEST(one_domain_to_every_key)
{
	struct ibv_pd *other = ibv_alloc_pd(context);

	write_across(pd, IBV_WC_SUCCESS, true);
	write_across(NULL, IBV_WC_SUCCESS, true);
	write_across(NULL, IBV_WC_SUCCESS, false);
	write_across(other, IBV_WC_REM_ACCESS_ERR, true);
	ck_assert_int_eq(ibv_dealloc_pd(other), 0);
}
END_TEST

START_TEST(usable_as_a_domain)
{
	struct ibv_td_init_attr no_attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(context, &no_attr);
	struct ibv_pd *parent = make_parent(td, true);
	struct end_cfg cfg = { .pd = parent, .srq = true };
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(context, &dm_attr);
	struct ibv_mr *mr = ibv_reg_dm_mr(parent, dm, 0, 64, IBV_ACCESS_ZERO_BASED);
	struct ibv_ah_attr way = { .is_global = 1, .port_num = 1 };
	struct ibv_ah *ah;
	struct end a, b;

	ck_assert_ptr_nonnull(mr);
	ck_assert_ptr_eq(mr->pd, parent);
	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &way.grh.dgid), 0);
	ah = ibv_create_ah(parent, &way);
	ck_assert_ptr_nonnull(ah);
	end_open(&a, context, &cfg);
	end_open(&b, context, &cfg);
	end_connect(&a, &(struct end_address){ b.qp->qp_num, b.mr->rkey, (uintptr_t)b.memory,
					       way.grh.dgid });
	end_connect(&b, &(struct end_address){ a.qp->qp_num, a.mr->rkey, (uintptr_t)a.memory,
					       way.grh.dgid });
	fill(a.memory, 5000, 2);
	end_recv(&b, 1, 0, 8192);
	end_post(&a, IBV_WR_SEND, 2, 0, 5000);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	expect_filled(b.memory, 5000, 2);
	end_close(&a);
	end_close(&b);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
	ck_assert_int_eq(ibv_dealloc_td(td), 0);
}
END_TEST

static struct ibv_wq *make_wq(struct ibv_pd *parent, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = parent, .cq = cq
	};

	return ibv_create_wq(context, &attr);
}

/* Wherever else a verb takes a domain: ways of registering, of importing, a work queue. */
START_TEST(in_every_other_verb)
{
	static uint8_t bytes[8192];
	struct ibv_pd *parent = make_parent(NULL, false), *imported;
	struct ibv_mr *mr = ibv_reg_mr_iova(parent, bytes, 4096, 0, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *other = ibv_reg_mr(pd, bytes, 4096, IBV_ACCESS_LOCAL_WRITE), *again;
	struct ibv_cq *cq = make_cq(parent);
	struct ibv_wq *wq;

	ck_assert_ptr_nonnull(mr);
	ck_assert_ptr_nonnull(cq);
	ck_assert_uint_eq(parent->handle, pd->handle);
	ck_assert_int_eq(ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_PD, parent, NULL, 0, 0), 0);
	ck_assert_ptr_eq(other->pd, parent);
	again = ibv_import_mr(parent, other->handle);
	ck_assert_ptr_nonnull(again);
	ck_assert_uint_eq(again->lkey, other->lkey);
	ibv_unimport_mr(again);
	imported = ibv_import_pd(context, parent->handle); /* the domain beneath it */
	ck_assert_ptr_nonnull(imported);
	again = ibv_import_mr(imported, other->handle);
	ck_assert_ptr_nonnull(again);
	ibv_unimport_mr(again);
	ibv_unimport_pd(imported);
	wq = make_wq(parent, cq);
	ck_assert_ptr_nonnull(wq);
	ck_assert_ptr_eq(wq->pd, parent);
	ck_assert_int_eq(ibv_dealloc_pd(parent), EBUSY);
	ck_assert_int_eq(ibv_destroy_wq(wq), 0);
	ck_assert_int_eq(ibv_dereg_mr(other), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

/* A parent domain is a domain for another one also. */
START_TEST(over_each_other)
{
	struct ibv_parent_domain_init_attr attr = { .pd = make_parent(NULL, false) };
	struct ibv_pd *lower = attr.pd, *upper = ibv_alloc_parent_domain(context, &attr);
	struct ibv_cq *cq;
	struct end a, b;

	ck_assert_ptr_nonnull(upper);
	ck_assert_uint_eq(upper->handle, pd->handle);
	ck_assert_int_eq(ibv_dealloc_pd(lower), EBUSY);
	cq = make_cq(upper);
	ck_assert_ptr_nonnull(cq);
	ck_assert_int_eq(ibv_dealloc_pd(upper), EBUSY);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ends_on(upper, &a, &b, (struct end_cfg){ 0 });
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_dealloc_pd(upper), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_dealloc_pd(lower), 0);
}
END_TEST

/* The bit of guests whose memory no device can reach: ours can, and nothing changes. */
START_TEST(of_a_confidential_guest)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .comp_mask = 1u << 2 };
	struct ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);
	struct end a, b;

	ck_assert_ptr_nonnull(parent);
	ends_on(parent, &a, &b, (struct end_cfg){ 0 });
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 64);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_dealloc_pd(parent), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, once_for_each_buffer);
	tcase_add_test(tests, left_to_the_library);
	tcase_add_test(tests, refused_by_the_callback);
	tcase_add_test(tests, order_of_ends);
	tcase_add_test(tests, what_is_refused);
	tcase_add_test(tests, one_domain_to_every_key);
	tcase_add_test(tests, usable_as_a_domain);
	tcase_add_test(tests, in_every_other_verb);
	tcase_add_test(tests, over_each_other);
	tcase_add_test(tests, of_a_confidential_guest);
	tcase_add_test(tests, no_byte_beyond);
}

int main(void)
{
	return fixture_main("verbs_pd", add);
}
