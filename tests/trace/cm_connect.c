/* SPDX-License-Identifier: MIT */
/* Traces of connections that are set up: the common course, then what is lost, late or comes
 * twice. */
#include <errno.h>

#include "tests/trace/cm_fixture.h"

START_TEST(connects_and_disconnects)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	rtu();
	run_ms(1);
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(1);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU\n"
	       "     3.0 b   RTU_RECEIVED\n"
	       "     3.0 a > DREQ qpn 22\n"
	       "     4.0 b   DREQ_RECEIVED\n"
	       "     4.0 b > DREP\n"
	       "     5.0 a   DREP_RECEIVED\n"
	       "     8.2 b   TIME_WAIT_EXIT\n"
	       "     9.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

START_TEST(req_lost)
{
	listen_at(b);
	lose(a, CM_REQ, 2);
	connect_to(b);
	run_ms(150);
	accept_it();
	run_ms(1);
	rtu();
	run();
	expect("     0.0 a > REQ (lost)\n"
	       "    71.3 a > REQ (lost)\n"
	       "   142.6 a > REQ\n"
	       "   143.6 b   REQ_RECEIVED\n"
	       "   150.0 b > REP\n"
	       "   151.0 a   REP_RECEIVED\n"
	       "   151.0 a > RTU\n"
	       "   152.0 b   RTU_RECEIVED\n");
}
END_TEST

/* The other end is told, in case that only its answers are lost. */
START_TEST(req_retries_used_up)
{
	connect_to(b);
	lose(a, CM_REQ, 3);
	lose(a, CM_REJ, 1);
	cm_world_restart(b, false);
	run();
	expect("     0.0 a > REQ\n"
	       "    71.3 a > REQ (lost)\n"
	       "   142.6 a > REQ (lost)\n"
	       "   213.9 a > REJ of other, reason 4 (lost)\n"
	       "   213.9 a   REQ_TIMED_OUT\n");
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_IDLE);
}
END_TEST

/* An id that is idle again connects again, under another communication ID. */
START_TEST(connects_after_a_timeout)
{
	const struct cm_path path = cm_world_path(a, b);
	const struct cm_msg msg = req_of(a, b);
	struct cm_id_info before, after;

	cm_world_restart(b, false);
	connect_to(b);
	cm_id_info(ida, &before);
	run();
	skip();
	cm_world_restart(b, true);
	listen_at(b);
	ck_assert_int_eq(cm_send_req(ida, &path, &msg, cw.now_ns), 0);
	cm_id_info(ida, &after);
	ck_assert_uint_ne(before.local_comm_id, after.local_comm_id);
	ck_assert_uint_ne(after.local_comm_id, 0);
	run_ms(1);
	accept_it();
	run_ms(1);
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_REP_RCVD);
}
END_TEST

/* Until it is answered, a REQ that comes again changes nothing. */
START_TEST(req_twice)
{
	listen_at(b);
	double_next(a, CM_REQ);
	connect_to(b);
	run_ms(80);
	accept_it();
	run_ms(1);
	rtu();
	run();
	expect("     0.0 a > REQ (twice)\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    71.3 a > REQ\n"
	       "    80.0 b > REP\n"
	       "    81.0 a   REP_RECEIVED\n"
	       "    81.0 a > RTU\n"
	       "    82.0 b   RTU_RECEIVED\n");
}
END_TEST

/* A REQ that comes again finds the REP on its way, or lost: it is sent again. */
START_TEST(req_again_behind_the_rep)
{
	listen_at(b);
	connect_to(b);
	run_ms(60);
	lose(b, CM_REP, 1);
	accept_it();
	run_ms(20);
	rtu();
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    60.0 b > REP (lost)\n"
	       "    71.3 a > REQ\n"
	       "    72.3 b > REP\n"
	       "    73.3 a   REP_RECEIVED\n"
	       "    80.0 a > RTU\n"
	       "    81.0 b   RTU_RECEIVED\n");
}
END_TEST

/* A REQ that comes late finds its connection in TIME_WAIT. */
START_TEST(req_late_in_time_wait)
{
	struct cm_msg req = req_of(a, b);
	struct cm_id_info info;

	established();
	cm_id_info(ida, &info);
	req.local_comm_id = info.local_comm_id;
	inject(a, b, &req); /* nothing is due: the RTU says that the REP has arrived */
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(1);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	inject(a, b, &req);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     4.0 b   DREQ_RECEIVED\n"
	       "     4.0 b > DREP\n"
	       "     4.0 b > REJ of REQ, reason 10\n"
	       "     5.0 a   DREP_RECEIVED\n"
	       "     8.2 b   TIME_WAIT_EXIT\n"
	       "     9.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

START_TEST(rep_lost)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	lose(b, CM_REP, 1);
	accept_it();
	run_ms(69);
	run_ms(10);
	rtu();
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP (lost)\n"
	       "    68.1 b > REP\n"
	       "    69.1 a   REP_RECEIVED\n"
	       "    80.0 a > RTU\n"
	       "    81.0 b   RTU_RECEIVED\n");
}
END_TEST

/* The REP comes again until the RTU has arrived; each is answered. */
START_TEST(rtu_lost)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	lose(a, CM_RTU, 2);
	rtu();
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU (lost)\n"
	       "    68.1 b > REP\n"
	       "    69.1 a > RTU (lost)\n"
	       "   135.2 b > REP\n"
	       "   136.2 a > RTU\n"
	       "   137.2 b   RTU_RECEIVED\n");
}
END_TEST

START_TEST(rep_retries_used_up)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "    68.1 b > REP\n"
	       "   135.2 b > REP\n"
	       "   202.3 b > REJ of other, reason 4\n"
	       "   202.3 b   REP_TIMED_OUT\n"
	       "   203.3 a   REJ_RECEIVED reason 4\n"
	       "   206.5 b   TIME_WAIT_EXIT\n"
	       "   207.5 a   TIME_WAIT_EXIT\n");
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_IDLE);
}
END_TEST

START_TEST(rtu_twice)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	double_next(a, CM_RTU);
	rtu();
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU (twice)\n"
	       "     3.0 b   RTU_RECEIVED\n");
}
END_TEST

/* Data that arrives before the RTU establishes the connection, too (12.9.6). */
START_TEST(data_before_the_rtu)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	delay_next(a, CM_RTU, 5);
	rtu();
	ck_assert_int_eq(cm_established(idb), 0);
	ck_assert_int_eq(cm_established(idb), -EISCONN);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU (late)\n"
	       "     2.0 b   RTU_RECEIVED\n");
}
END_TEST

/* The REP is sent 100 ms late. Without an MRA the REQ would come again after 71.3 ms. */
START_TEST(mra_extends_the_wait)
{
	struct cm_msg mra = { .attr = CM_MRA, .u.mra.service_timeout = 15 };

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_send_mra(idb, &mra), 0);
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_MRA_REQ_SENT);
	run_ms(100);
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_MRA_REQ_RCVD);
	accept_it();
	run_ms(1);
	ck_assert_int_eq(cm_send_mra(ida, &mra), 0);
	run_ms(100);
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_MRA_REP_RCVD);
	rtu();
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > MRA of REQ\n"
	       "     2.0 a   MRA_RECEIVED\n"
	       "   101.0 b > REP\n"
	       "   102.0 a   REP_RECEIVED\n"
	       "   102.0 a > MRA of REP\n"
	       "   103.0 b   MRA_RECEIVED\n"
	       "   202.0 a > RTU\n"
	       "   203.0 b   RTU_RECEIVED\n");
}
END_TEST

/* What an MRA promises does not come: the REQ is sent again, and another MRA extends the wait
 * again. */
START_TEST(mra_runs_out)
{
	struct cm_msg mra = { .attr = CM_MRA, .u.mra.service_timeout = 15 };

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_send_mra(idb, &mra), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > MRA of REQ\n"
	       "     2.0 a   MRA_RECEIVED\n"
	       "   140.4 a > REQ\n"
	       "   141.4 b > MRA of REQ\n"
	       "   142.4 a   MRA_RECEIVED\n"
	       "   280.8 a > REQ\n"
	       "   281.8 b > MRA of REQ\n"
	       "   282.8 a   MRA_RECEIVED\n"
	       "   421.2 a > REJ of other, reason 4\n"
	       "   421.2 a   REQ_TIMED_OUT\n"
	       "   422.2 b   REJ_RECEIVED reason 4\n");
}
END_TEST

/* Only when the REQ, or the REP, comes again does the other end learn that it takes longer. */
START_TEST(deferred_mra)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_defer_mra(idb, 15), 0);
	run_ms(100);
	accept_it();
	run_ms(1);
	ck_assert_int_eq(cm_defer_mra(ida, 15), 0);
	run_ms(100);
	rtu();
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    71.3 a > REQ\n"
	       "    72.3 b > MRA of REQ\n"
	       "    73.3 a   MRA_RECEIVED\n"
	       "   101.0 b > REP\n"
	       "   102.0 a   REP_RECEIVED\n"
	       "   168.1 b > REP\n"
	       "   169.1 a > MRA of REP\n"
	       "   170.1 b   MRA_RECEIVED\n"
	       "   202.0 a > RTU\n"
	       "   203.0 b   RTU_RECEIVED\n");
}
END_TEST

/* Both ends in one manager, as two programs of one machine have them. */
START_TEST(connects_to_itself)
{
	struct cm_msg rep = rep_of(a);

	listen_at(a);
	connect_to(a);
	run_ms(1);
	ck_assert_int_eq(cm_send_rep(idb, &rep, cw.now_ns), 0);
	run_ms(1);
	rtu();
	run_ms(1);
	ck_assert_int_eq(send_plain(idb, CM_DREQ), 0);
	run_ms(1);
	ck_assert_int_eq(send_plain(ida, CM_DREP), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 a   REQ_RECEIVED\n"
	       "     1.0 a > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU\n"
	       "     3.0 a   RTU_RECEIVED\n"
	       "     3.0 a > DREQ qpn 11\n"
	       "     4.0 a   DREQ_RECEIVED\n"
	       "     4.0 a > DREP\n"
	       "     5.0 a   DREP_RECEIVED\n"
	       "     8.2 a   TIME_WAIT_EXIT\n"
	       "     9.2 a   TIME_WAIT_EXIT\n");
	expect_ids(a, 3);
}
END_TEST

/* An XRC target is where other REPs have an EE context, and stays when its program leaves. */
START_TEST(xrc_target)
{
	const struct cm_path path = cm_world_path(a, b);
	struct cm_msg req = req_of(a, b);
	struct cm_id_info info;

	listen_at(b);
	req.u.req.transport = CM_TRANSPORT_EXTENDED;
	req.u.req.extended_transport = CM_TRANSPORT_EXTENDED_XRC;
	ida = cm_id_create(a->cm, NULL);
	ck_assert_int_eq(cm_send_req(ida, &path, &req, cw.now_ns), 0);
	run_ms(1);
	accept_it();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP qpn 0 eecn 22 srq 1\n");
	run_ms(1);
	cm_id_info(ida, &info);
	ck_assert_uint_eq(info.remote_qpn, QPN_B);
	rtu();
	run_ms(1);
	cm_id_destroy(idb, cw.now_ns);
	expect_ids(b, 1);
	skip();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run();
	expect("     3.0 a > DREQ qpn 22\n"
	       "     4.0 b > DREP\n"
	       "     5.0 a   DREP_RECEIVED\n"
	       "     9.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

/* Calls that the state does not permit, and more private data than a message carries. */
START_TEST(calls_out_of_turn)
{
	const struct cm_path path = cm_world_path(a, b);
	struct cm_msg req = req_of(a, b), rep = rep_of(a), rej = rej_of(28);

	ida = cm_id_create(a->cm, NULL);
	ck_assert_int_eq(cm_send_rep(ida, &rep, 0), -EINVAL);
	ck_assert_int_eq(cm_send_rej(ida, &rej, 0), -EINVAL);
	ck_assert_int_eq(cm_defer_mra(ida, 1), -EINVAL);
	ck_assert_int_eq(cm_established(ida), -EINVAL);
	for (enum cm_attr attr = CM_RTU; attr <= CM_DREP; attr++)
		ck_assert_int_eq(send_plain(ida, attr), -EINVAL);
	ck_assert_int_eq(cm_send_req(ida, &path, &rep, 0), -EINVAL);
	req.private_len = CM_REQ_PRIVATE + 1;
	ck_assert_int_eq(cm_send_req(ida, &path, &req, 0), -EINVAL);
	req.private_len = CM_REQ_PRIVATE;
	ck_assert_int_eq(cm_send_req(ida, &path, &req, 0), 0);
	ck_assert_int_eq(cm_send_req(ida, &path, &req, 0), -EINVAL);
	ck_assert_int_eq(cm_listen(ida, SERVICE, NULL, CM_ANY_DEVICE), -EINVAL);
	rej.u.rej.ari_len = CM_REJ_ARI + 1;
	ck_assert_int_eq(cm_send_rej(ida, &rej, 0), -EINVAL);
}
END_TEST

/* Timeout code 0 is a packet lifetime of 4 us: it adds nothing to the retry's 67.1 ms, and
 * TIME_WAIT is as short. */
START_TEST(shortest_lifetime)
{
	const struct cm_path path = cm_world_path(a, b);
	struct cm_msg req = req_of(a, b);

	listen_at(b);
	req.u.req.primary.ack_timeout = 0;
	ida = cm_id_create(a->cm, NULL);
	lose(a, CM_REQ, 1);
	ck_assert_int_eq(cm_send_req(ida, &path, &req, cw.now_ns), 0);
	run_ms(69);
	expect("     0.0 a > REQ (lost)\n"
	       "    67.1 a > REQ\n"
	       "    68.1 b   REQ_RECEIVED\n");
	accept_it();
	run_ms(1);
	rtu();
	run_ms(1);
	skip();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	run_ms(3);
	expect("    71.0 a > DREQ qpn 22\n"
	       "    72.0 b   DREQ_RECEIVED\n");
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run_ms(2);
	expect("    74.0 b > DREP\n"
	       "    74.0 b   TIME_WAIT_EXIT\n"
	       "    75.0 a   DREP_RECEIVED\n"
	       "    75.0 a   TIME_WAIT_EXIT\n");
}
END_TEST

RUN_TESTS("cm_connect", connects_and_disconnects, req_lost, req_retries_used_up,
	  connects_after_a_timeout, req_twice, req_again_behind_the_rep, req_late_in_time_wait,
	  rep_lost, rtu_lost, rep_retries_used_up, rtu_twice, data_before_the_rtu,
	  mra_extends_the_wait, mra_runs_out, deferred_mra, connects_to_itself, xrc_target,
	  calls_out_of_turn, shortest_lifetime)
