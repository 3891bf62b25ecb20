/* SPDX-License-Identifier: MIT */
/* Traces of service ID resolution. */
#include <errno.h>

#include "tests/trace/cm_fixture.h"

static int resolve(void)
{
	struct cm_msg msg = { .attr = CM_SIDR_REQ, .u.sidr_req.service_id = SERVICE };
	const struct cm_path path = cm_world_path(a, b);

	ida = cm_id_create(a->cm, NULL);
	return cm_send_sidr_req(ida, &path, &msg, 100 * MS, 2, cw.now_ns);
}

static int answer(void)
{
	struct cm_msg msg = { .attr = CM_SIDR_REP, .u.sidr_rep.qpn = QPN_B };

	return cm_send_sidr_rep(idb, &msg, cw.now_ns);
}

START_TEST(resolves)
{
	listen_at(b);
	ck_assert_int_eq(resolve(), 0);
	run_ms(1);
	ck_assert_int_eq(answer(), 0);
	ck_assert_int_eq(answer(), -EINVAL);
	run();
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 b   SIDR_REQ_RECEIVED\n"
	       "     1.0 b > SIDR_REP status 0 qpn 22\n"
	       "     2.0 a   SIDR_REP_RECEIVED\n");
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_IDLE);
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_IDLE);
}
END_TEST

START_TEST(lost_on_the_way)
{
	listen_at(b);
	lose(a, CM_SIDR_REQ, 1);
	ck_assert_int_eq(resolve(), 0);
	run_ms(150);
	lose(b, CM_SIDR_REP, 1);
	ck_assert_int_eq(answer(), 0);
	cm_id_destroy(idb, cw.now_ns);
	run();
	expect("     0.0 a > SIDR_REQ (lost)\n"
	       "   100.0 a > SIDR_REQ\n"
	       "   101.0 b   SIDR_REQ_RECEIVED\n"
	       "   150.0 b > SIDR_REP status 0 qpn 22 (lost)\n"
	       "   200.0 a > SIDR_REQ\n"
	       "   201.0 b > SIDR_REP status 0 qpn 22\n"
	       "   202.0 a   SIDR_REP_RECEIVED\n");
	expect_ids(b, 1);
}
END_TEST

START_TEST(twice)
{
	listen_at(b);
	double_next(a, CM_SIDR_REQ);
	ck_assert_int_eq(resolve(), 0);
	run_ms(1);
	double_next(b, CM_SIDR_REP);
	ck_assert_int_eq(answer(), 0);
	run();
	expect("     0.0 a > SIDR_REQ (twice)\n"
	       "     1.0 b   SIDR_REQ_RECEIVED\n"
	       "     1.0 b > SIDR_REP status 0 qpn 22 (twice)\n"
	       "     2.0 a   SIDR_REP_RECEIVED\n");
}
END_TEST

START_TEST(nobody_listens)
{
	ck_assert_int_eq(resolve(), 0);
	run();
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 b > SIDR_REP status 1 qpn 0\n"
	       "     2.0 a   SIDR_REP_RECEIVED\n");
	expect_ids(b, 0);
}
END_TEST

START_TEST(retries_used_up)
{
	cm_world_restart(b, false);
	ck_assert_int_eq(resolve(), 0);
	run();
	expect("     0.0 a > SIDR_REQ\n"
	       "   100.0 a > SIDR_REQ\n"
	       "   200.0 a > SIDR_REQ\n"
	       "   300.0 a   SIDR_REQ_TIMED_OUT\n");
}
END_TEST

START_TEST(program_leaves)
{
	listen_at(b);
	ck_assert_int_eq(resolve(), 0);
	run_ms(1);
	cm_id_destroy(idb, cw.now_ns);
	run();
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 b   SIDR_REQ_RECEIVED\n"
	       "     1.0 b > SIDR_REP status 2 qpn 0\n"
	       "     2.0 a   SIDR_REP_RECEIVED\n");
	expect_ids(b, 1);
}
END_TEST

START_TEST(asker_leaves)
{
	listen_at(b);
	ck_assert_int_eq(resolve(), 0);
	cm_id_destroy(ida, cw.now_ns);
	expect_ids(a, 0);
	run_ms(1);
	ck_assert_int_eq(answer(), 0);
	run();
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 b   SIDR_REQ_RECEIVED\n"
	       "     1.0 b > SIDR_REP status 0 qpn 22\n");
}
END_TEST

START_TEST(forgotten)
{
	listen_at(b);
	ck_assert_int_eq(resolve(), 0);
	run_ms(1);
	cm_id_forget(idb);
	run_ms(110);
	ck_assert_int_eq(answer(), 0);
	run_ms(1);
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 b   SIDR_REQ_RECEIVED\n"
	       "   100.0 a > SIDR_REQ\n"
	       "   101.0 b   SIDR_REQ_RECEIVED\n"
	       "   111.0 b > SIDR_REP status 0 qpn 22\n"
	       "   112.0 a   SIDR_REP_RECEIVED\n");
}
END_TEST

START_TEST(no_resources)
{
	listen_at(b);
	while (cm_id_create(b->cm, NULL))
		continue;
	ck_assert_int_eq(resolve(), 0);
	run();
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 b > SIDR_REP status 3 qpn 0\n"
	       "     2.0 a   SIDR_REP_RECEIVED\n");
}
END_TEST

RUN_TESTS("cm_sidr", resolves, lost_on_the_way, twice, nobody_listens, retries_used_up,
	  program_leaves, asker_leaves, forgotten, no_resources)
