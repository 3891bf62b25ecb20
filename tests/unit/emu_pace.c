// SPDX-License-Identifier: MIT
/* Pacing: UC and UD wait for credits of the receiver's socket, other QPs do not wait for them, and
 * the wait has a bound. */
#include <string.h>

#include "emu/engine.h"
#include "emu/host.h"
#include "emu/pace.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu_fixture.h"
#include "net/wire/gid.h"
#include "net/wire/train.h"
#include "tests/suite.h"

static struct end *end;
static struct qp_set set, other;
static struct rxe_host_ops ops;
static uint32_t room_left;
static uint64_t offered_sum;
static uint8_t buf[TRAIN_MAX_BYTES];
static struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };

static uint32_t room(void *host, const struct gid *dst, uint32_t slot)
{
	(void)host;
	return dst->raw[15] == 2 && slot == 4 ? room_left : UINT32_MAX;
}

static void offered(void *host, const struct gid *dst, uint32_t slot, uint32_t cost)
{
	(void)host;
	if (dst->raw[15] != 2 || slot != 4)
		return;
	offered_sum += cost;
	room_left -= cost < room_left ? cost : room_left;
}

static void setup(void)
{
	end = end_new(1, 1);
	ops = *end->engine.cfg.ops;
	ops.credits = room;
	ops.credits_spent = offered;
	end->engine.cfg.ops = &ops;
	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_new(end, &other, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 0x40009);
	qp_to(end, &other, RXE_QPS_RTS, 2, 0x50009);
	room_left = 0;
	offered_sum = 0;
}

static void teardown(void)
{
	qp_free(end, &set);
	qp_free(end, &other);
	end_free(end);
}

static void post(struct qp_set *from, uint32_t len)
{
	const struct rxe_sge sge = sge_at(0, len, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);

	ck_assert_int_eq(rxe_post_send(&end->engine, &from->qp, &wr, 0), POST_OK);
}

START_TEST(as_many_as_there_is_room)
{
	uint32_t cost = rxe_pace_cost(12 + 64 + 4), i;

	for (i = 0; i < 10; i++)
		post(&set, 64);
	room_left = 3 * cost - 1; /* the last packet may exceed the credits */
	ck_assert(rxe_engine_output(&end->engine, &train, 0));
	ck_assert_uint_eq(train.segs, 3);
	ck_assert_uint_eq(offered_sum, 3 * cost);
	ck_assert(!rxe_engine_output(&end->engine, &train, 1000));
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), 1000 + RXE_PACE_RETRY_NS);
	room_left = UINT32_MAX;
	rxe_engine_expire(&end->engine, 1000 + RXE_PACE_RETRY_NS);
	ck_assert(rxe_engine_output(&end->engine, &train, 1000 + RXE_PACE_RETRY_NS));
	ck_assert_uint_eq(train.segs, 7);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
}
END_TEST

START_TEST(others_pass_by)
{
	post(&set, 64);
	post(&other, 64);
	ck_assert(rxe_engine_output(&end->engine, &train, 0));
	ck_assert_uint_eq(other.qp.sq.head, 1);
	ck_assert_uint_eq(set.qp.sq.head, 0);
	ck_assert(!rxe_engine_output(&end->engine, &train, 0));
	ck_assert_uint_eq(rxe_ring_used(&set.qp.sq), 1);
}
END_TEST

/* A receiver that never reads: the wait ends after a time-out, until the socket has credits
 * again. */
START_TEST(not_forever)
{
	const uint64_t over_ns = RXE_PACE_TIMEOUT_NS + 2;

	post(&set, 64);
	ck_assert(!rxe_engine_output(&end->engine, &train, 1));
	ck_assert(!rxe_engine_output(&end->engine, &train, over_ns - 1));
	ck_assert(rxe_engine_output(&end->engine, &train, over_ns));
	post(&set, 64);
	ck_assert(rxe_engine_output(&end->engine, &train, over_ns));
	room_left = 1;
	post(&set, 64);
	post(&set, 64);
	ck_assert(rxe_engine_output(&end->engine, &train, over_ns));
	ck_assert(!rxe_engine_output(&end->engine, &train, over_ns));
}
END_TEST

/* The wait of a connection that was reset does not count against the next one. */
START_TEST(reset_ends_the_wait)
{
	struct rxe_qp_attr attr = good_attr(2, 0x40009);
	const uint64_t later_ns = RXE_PACE_TIMEOUT_NS + 2;

	post(&set, 64);
	ck_assert(!rxe_engine_output(&end->engine, &train, 1));
	attr.qp_state = RXE_QPS_RESET;
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE, 2), MODIFY_OK);
	qp_to(end, &set, RXE_QPS_RTS, 2, 0x40009);
	post(&set, 64);
	ck_assert(!rxe_engine_output(&end->engine, &train, later_ns));
	ck_assert(rxe_engine_output(&end->engine, &train, later_ns + RXE_PACE_TIMEOUT_NS + 2));
}
END_TEST

START_TEST(datagrams_too)
{
	const struct rxe_sge sge = sge_at(0, 64, KEY_ALL);
	const struct rxe_av av = { .dgid = fixture_gid(2) };
	struct rxe_send_wr wr = send_wr(1, &sge);
	struct qp_set ud;

	qp_new(end, &ud, RXE_QPT_UD, NULL, FIXTURE_CQE);
	qp_to(end, &ud, RXE_QPS_RTS, 1, 0);
	wr.av = &av;
	wr.remote_qpn = 0x40009;
	ck_assert_int_eq(rxe_post_send(&end->engine, &ud.qp, &wr, 0), POST_OK);
	ck_assert(!rxe_engine_output(&end->engine, &train, 0));
	room_left = 1;
	ck_assert(rxe_engine_output(&end->engine, &train, 0));
	ck_assert_uint_eq(offered_sum, rxe_pace_cost(12 + 8 + 64 + 4));
	qp_free(end, &ud);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_pace");
	TCase *tcase = tcase_create("pace");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, as_many_as_there_is_room);
	tcase_add_test(tcase, others_pass_by);
	tcase_add_test(tcase, not_forever);
	tcase_add_test(tcase, reset_ends_the_wait);
	tcase_add_test(tcase, datagrams_too);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
