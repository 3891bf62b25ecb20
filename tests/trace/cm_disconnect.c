/* SPDX-License-Identifier: MIT */
/* Traces of connections that end, and of ids that their programs leave in each state. */
#include "tests/trace/cm_fixture.h"

START_TEST(dreq_lost)
{
	established();
	lose(a, CM_DREQ, 1);
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(75);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run();
	expect("     3.0 a > DREQ qpn 22 (lost)\n"
	       "    74.3 a > DREQ qpn 22\n"
	       "    75.3 b   DREQ_RECEIVED\n"
	       "    78.0 b > DREP\n"
	       "    79.0 a   DREP_RECEIVED\n"
	       "    82.2 b   TIME_WAIT_EXIT\n"
	       "    83.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

/* The DREQ comes again and finds TIME_WAIT, or nothing any more: the answer is the same. */
START_TEST(drep_lost)
{
	established();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(1);
	lose(b, CM_DREP, 1);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     4.0 b   DREQ_RECEIVED\n"
	       "     4.0 b > DREP (lost)\n"
	       "     8.2 b   TIME_WAIT_EXIT\n"
	       "    74.3 a > DREQ qpn 22\n"
	       "    75.3 b > DREP\n"
	       "    76.3 a   DREP_RECEIVED\n"
	       "    80.5 a   TIME_WAIT_EXIT\n");
}
END_TEST

START_TEST(dreq_twice)
{
	established();
	double_next(a, CM_DREQ);
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(1);
	delay_next(b, CM_DREP, 72);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run();
	expect("     3.0 a > DREQ qpn 22 (twice)\n"
	       "     4.0 b   DREQ_RECEIVED\n"
	       "     4.0 b > DREP (late)\n"
	       "     8.2 b   TIME_WAIT_EXIT\n"
	       "    74.3 a > DREQ qpn 22\n"
	       "    75.3 b > DREP\n"
	       "    76.0 a   DREP_RECEIVED\n"
	       "    80.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

START_TEST(dreq_again_in_time_wait)
{
	struct cm_msg dreq = { .attr = CM_DREQ, .u.dreq.remote_qpn = QPN_B };
	struct cm_id_info info;

	established();
	cm_id_info(idb, &info);
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(1);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run_ms(1);
	skip();
	dreq.local_comm_id = info.remote_comm_id;
	dreq.remote_comm_id = info.local_comm_id;
	inject(a, b, &dreq);
	expect("     5.0 b > DREP\n");
	dreq.u.dreq.remote_qpn++;
	inject(a, b, &dreq); /* of another queue pair */
	expect("");
}
END_TEST

START_TEST(dreq_of_nobody)
{
	const struct cm_msg dreq = { .attr = CM_DREQ, .tid = 7, .local_comm_id = 5 };

	inject(a, b, &dreq);
	run();
	expect("     0.0 b > DREP\n");
}
END_TEST

START_TEST(dreq_retries_used_up)
{
	established();
	cm_world_restart(b, false);
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "    74.3 a > DREQ qpn 22\n"
	       "   145.6 a > DREQ qpn 22\n"
	       "   216.9 a   DREQ_TIMED_OUT\n"
	       "   221.1 a   TIME_WAIT_EXIT\n");
}
END_TEST

/* The other end restarted: it knows nothing of the connection, and agrees. */
START_TEST(other_end_restarted)
{
	established();
	cm_world_restart(b, true);
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     4.0 b > DREP\n"
	       "     5.0 a   DREP_RECEIVED\n"
	       "     9.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

START_TEST(both_at_once)
{
	established();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	ck_assert_int_eq(send_plain(idb, CM_DREQ), 0);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     3.0 b > DREQ qpn 11\n"
	       "     4.0 b > DREP\n"
	       "     4.0 b   DREQ_RECEIVED\n"
	       "     4.0 a > DREP\n"
	       "     4.0 a   DREQ_RECEIVED\n"
	       "     8.2 a   TIME_WAIT_EXIT\n"
	       "     8.2 b   TIME_WAIT_EXIT\n");
}
END_TEST

/* The RTU is lost and the active end disconnects: the DREQ takes the RTU's place. */
START_TEST(dreq_before_the_rtu)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	lose(a, CM_RTU, 1);
	rtu();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(1);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU (lost)\n"
	       "     2.0 a > DREQ qpn 22\n"
	       "     3.0 b   DREQ_RECEIVED\n"
	       "     3.0 b > DREP\n"
	       "     4.0 a   DREP_RECEIVED\n"
	       "     7.2 b   TIME_WAIT_EXIT\n"
	       "     8.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

/* From here on: the program leaves an id, which finishes alone, without an event. */

START_TEST(left_idle_and_listening)
{
	ida = cm_id_create(a->cm, NULL);
	cm_id_destroy(ida, 0);
	expect_ids(a, 0);
	listen_at(a);
	ida = cm_id_create(a->cm, NULL);
	ck_assert_int_eq(cm_listen(ida, SERVICE + 1, NULL, CM_ANY_DEVICE), 0);
	cm_id_destroy(ida, 0);
	expect_ids(a, 1);
	run();
	expect("");
}
END_TEST

START_TEST(left_with_a_request)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	cm_id_destroy(idb, cw.now_ns);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REJ of REQ, reason 28\n"
	       "     2.0 a   REJ_RECEIVED reason 28\n");
	expect_ids(b, 1);
}
END_TEST

START_TEST(left_with_a_rep_received)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	cm_id_destroy(ida, cw.now_ns);
	expect_ids(a, 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > REJ of REP, reason 28\n"
	       "     3.0 b   REJ_RECEIVED reason 28\n");
}
END_TEST

/* Both leave while the REP is on its way. */
START_TEST(left_while_connecting)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	cm_id_destroy(ida, cw.now_ns);
	cm_id_destroy(idb, cw.now_ns);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     1.0 a > REJ of other, reason 4\n"
	       "     1.0 b > REJ of other, reason 28\n"
	       "     2.0 a > REJ of REP, reason 6\n");
	expect_ids(a, 0);
	expect_ids(b, 1);
}
END_TEST

/* The DREQ is retried without an owner; the other end's program learns of it. */
START_TEST(left_established)
{
	established();
	lose(a, CM_DREQ, 1);
	cm_id_destroy(ida, cw.now_ns);
	expect_ids(a, 1);
	run_ms(75);
	cm_id_destroy(idb, cw.now_ns);
	run();
	expect("     3.0 a > DREQ qpn 22 (lost)\n"
	       "    74.3 a > DREQ qpn 22\n"
	       "    75.3 b   DREQ_RECEIVED\n"
	       "    78.0 b > DREP\n");
	expect_ids(a, 0);
	expect_ids(b, 1);
}
END_TEST

START_TEST(left_while_disconnecting)
{
	established();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	cm_id_destroy(ida, cw.now_ns);
	run_ms(1);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	cm_id_destroy(idb, cw.now_ns);
	expect_ids(b, 2);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     4.0 b   DREQ_RECEIVED\n"
	       "     4.0 b > DREP\n");
	expect_ids(a, 0);
	expect_ids(b, 1);
}
END_TEST

START_TEST(both_left_established)
{
	established();
	cm_id_destroy(ida, cw.now_ns);
	cm_id_destroy(idb, cw.now_ns);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     3.0 b > DREQ qpn 11\n"
	       "     4.0 b > DREP\n"
	       "     4.0 a > DREP\n");
	expect_ids(a, 0);
	expect_ids(b, 1);
}
END_TEST

RUN_TESTS("cm_disconnect", dreq_lost, drep_lost, dreq_twice, dreq_again_in_time_wait,
	  dreq_of_nobody, dreq_retries_used_up, other_end_restarted, both_at_once,
	  dreq_before_the_rtu, left_idle_and_listening, left_with_a_request,
	  left_with_a_rep_received, left_while_connecting, left_established,
	  left_while_disconnecting, both_left_established)
