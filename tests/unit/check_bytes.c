// SPDX-License-Identifier: MIT
/* The bytes that a key of the peer names: lib/check/access.c, region.c and window.c. "writer" has a
 * queue pair that is connected to "owner", which has the memory. */
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emu/limits.h"
#include "emu/mr.h"
#include "lib/check/region.h"
#include "lib/check/window.h"
#include "tests/suite.h"
#include "tests/unit/check_process.h"

#define START  0x10008u
#define KEY    0x30001u
#define WINDOW 0x40000u

static struct process writer, owner;
static struct process_qp qp;

static void begin(void)
{
	process_new(&writer, NULL, 1);
	process_new(&owner, &writer, 2);
	qp_new(&qp, &writer, 5, process_qpn(&owner, 6));
}

static void finish(void)
{
	qp_free(&qp);
	process_free(&owner, false);
	process_free(&writer, true);
}

/* A region of the owner, and what the writer's queue pair finds under its key. */
static struct rxe_mr *grant(void)
{
	struct rxe_mr *mr = &writer.dev->attachment.shared->mrs.entry[rxe_key_index(KEY)];

	*mr = (struct rxe_mr){ .iova = 0x500,
			       .len = 64,
			       .addr = START,
			       .kind = RXE_MR_PLAIN,
			       .owner = 2,
			       .epoch = 1 };
	atomic_store(&mr->key, KEY);
	return mr;
}

static struct check_range target(uint64_t addr, uint32_t len)
{
	const struct ibv_sge there = { .addr = addr, .length = len, .lkey = KEY };
	struct check_range ret = { 0 };

	access_target(&qp.check, &there, &ret);
	return ret;
}

START_TEST(bytes_of_the_peer)
{
	struct process_qp peer;

	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	grant();
	ck_assert_uint_eq(target(0x508, 8).span.start, START + 8);
	ck_assert_uint_eq(target(0x508, 8).span.end, START + 16);
	ck_assert_ptr_eq(target(0x508, 8).owner, vb_slot(owner.dev));
	ck_assert_uint_eq(target(0x508, 8).owner_epoch, 1);
	ck_assert_uint_eq(target(0x508, 8).owner_key, KEY);
	ck_assert_ptr_nonnull(target(0x500, 64).owner);
	ck_assert_ptr_nonnull(target(0x53f, 1).owner);
	ck_assert_ptr_null(target(0x500, 65).owner);
	ck_assert_ptr_null(target(0x501, 64).owner);
	ck_assert_ptr_null(target(0x541, 1).owner);
	ck_assert_ptr_null(target(0x4ff, 1).owner);
}
END_TEST

START_TEST(bytes_of_nobody)
{
	struct process_qp peer;
	struct rxe_mr *mr = grant();

	ck_assert_ptr_null(target(0x500, 1).owner); /* no peer */
	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	mr->kind = RXE_MR_ARENA;
	ck_assert_ptr_null(target(0x500, 1).owner);
	mr->kind = RXE_MR_PLAIN;
	mr->owner = RXE_MAX_SLOTS;
	ck_assert_ptr_null(target(0x500, 1).owner);
	mr->owner = 1; /* the writer's own */
	ck_assert_ptr_null(target(0x500, 1).owner);
	mr->owner = 2;
	qp.qp.qp_type = IBV_QPT_UC;
	ck_assert_ptr_null(target(0x500, 1).owner);
	qp.qp.qp_type = IBV_QPT_RC;
	qp.check.attr_mask = 0;
	ck_assert_ptr_null(target(0x500, 1).owner);
	qp.check.attr_mask = IBV_QP_DEST_QPN;
	qp.check.attr.ah_attr.grh.dgid.raw[15] = 2;
	ck_assert_ptr_null(target(0x500, 1).owner);
	qp.check.attr.ah_attr.grh.dgid.raw[15] = 1;
	qp.check.attr.dest_qp_num = RXE_MAX_SLOTS << RXE_SLOT_SHIFT;
	ck_assert_ptr_null(target(0x500, 1).owner);
	/* A queue pair of the same process. */
	qp_new(&peer, &writer, 6, qp.qp.qp_num);
	qp.check.attr.dest_qp_num = peer.qp.qp_num;
	ck_assert_ptr_null(target(0x500, 1).owner);
	qp.check.attr.dest_qp_num = process_qpn(&owner, 6);
	ck_assert_ptr_nonnull(target(0x500, 1).owner);
}
END_TEST

static struct check_range device_bytes(uint64_t addr, uint32_t len)
{
	const struct ibv_sge there = { .addr = addr, .length = len, .lkey = KEY };
	struct check_range ret = { 0 };

	region_find_dm(process_context(&writer), &there, &ret);
	return ret;
}

START_TEST(bytes_of_device_memory)
{
	struct rxe_mr *mr = grant();
	struct check_range range;

	mr->dm = 33;
	ck_assert_uint_eq(device_bytes(0x500, 8).dm, 0);
	mr->kind = RXE_MR_ARENA;
	mr->owner = 0;
	range = device_bytes(0x508, 8);
	ck_assert_uint_eq(range.dm, 33);
	ck_assert_uint_eq(range.span.start, START + 8);
	ck_assert_uint_eq(range.span.end, START + 16);
	ck_assert_uint_eq(range.owner_key, KEY);
	ck_assert_ptr_null(range.owner);
	ck_assert_uint_eq(device_bytes(0x500, 64).dm, 33);
	ck_assert_uint_eq(device_bytes(0x501, 64).dm, 0);
	ck_assert_uint_eq(device_bytes(0x4ff, 1).dm, 0);
	ck_assert_uint_eq(device_bytes(0x500, 0).dm, 0);
	/* The queue pair is not connected on this device. */
	ck_assert_uint_eq(target(0x500, 8).dm, 0);
}
END_TEST

START_TEST(regions_that_peers_reach)
{
	struct check_region region = { .access = IBV_ACCESS_LOCAL_WRITE };

	ck_assert(!access_is_open(NULL));
	ck_assert(!access_is_open(&region));
	region.access = IBV_ACCESS_REMOTE_READ;
	ck_assert(access_is_open(&region));
	region.access = IBV_ACCESS_REMOTE_WRITE;
	ck_assert(access_is_open(&region));
	region.access = IBV_ACCESS_REMOTE_ATOMIC;
	ck_assert(access_is_open(&region));
	region.access = IBV_ACCESS_MW_BIND;
	ck_assert(access_is_open(&region));
}
END_TEST

/* A window of the owner that is bound to bytes 16 to 48 of its region, and has addresses from 0x900
 * on. */
static struct rxe_mw *bind_window(uint32_t rkey)
{
	struct ctl_shared *shared = owner.dev->attachment.shared;
	struct rxe_mr *entry = &shared->mrs.entry[rxe_key_index(WINDOW)];
	struct rxe_mw *mw = &vb_slot(owner.dev)->mws.mw[3];

	*entry = (struct rxe_mr){ .kind = RXE_MR_WINDOW_2, .owner = 2, .addr = 3 };
	atomic_store(&entry->key, WINDOW);
	*mw = (struct rxe_mw){ .iova = 0x900, .len = 32, .at = 0x510, .region = KEY };
	atomic_store(&mw->state, rkey);
	return mw;
}

static struct ibv_sge resolve(uint32_t rkey, uint64_t addr, uint32_t len)
{
	struct ibv_sge ret = { .addr = addr, .length = len, .lkey = rkey };

	window_resolve(process_context(&writer), &ret);
	return ret;
}

START_TEST(bytes_of_a_window)
{
	bind_window(WINDOW + 7);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x908, 8).lkey, KEY);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x908, 8).addr, 0x518);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x900, 32).lkey, KEY);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x901, 32).lkey, WINDOW + 7);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x8ff, 1).lkey, WINDOW + 7);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x921, 1).lkey, WINDOW + 7);
}
END_TEST

/* Bound again, the window has another key. */
START_TEST(window_that_is_not_bound)
{
	struct rxe_mw *mw = bind_window(WINDOW + 8);

	ck_assert_uint_eq(resolve(WINDOW + 7, 0x900, 8).lkey, WINDOW + 7);
	ck_assert_uint_eq(resolve(WINDOW + 7, 0x900, 8).addr, 0x900);
	ck_assert_uint_eq(resolve(WINDOW + 8, 0x900, 8).lkey, KEY);
	atomic_store(&mw->state, 0);
	ck_assert_uint_eq(resolve(WINDOW + 8, 0x900, 8).lkey, WINDOW + 8);
	ck_assert_uint_eq(resolve(KEY, 0x900, 8).lkey, KEY);
	ck_assert_uint_eq(resolve(KEY, 0x900, 8).addr, 0x900);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check_bytes");
	TCase *tests = tcase_create("keys");

	tcase_add_checked_fixture(tests, begin, finish);
	tcase_add_test(tests, bytes_of_the_peer);
	tcase_add_test(tests, bytes_of_nobody);
	tcase_add_test(tests, bytes_of_device_memory);
	tcase_add_test(tests, regions_that_peers_reach);
	tcase_add_test(tests, bytes_of_a_window);
	tcase_add_test(tests, window_that_is_not_bound);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
