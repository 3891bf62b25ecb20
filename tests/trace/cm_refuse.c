/* SPDX-License-Identifier: MIT */
/* Traces of what is refused: where no program listens, by the program, by the standard. */
#include <errno.h>

#include "tests/trace/cm_fixture.h"

START_TEST(nobody_listens)
{
	connect_to(b);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b > REJ of REQ, reason 8\n"
	       "     2.0 a   REJ_RECEIVED reason 8\n");
	expect_ids(b, 0);
}
END_TEST

START_TEST(listens_at_another_address)
{
	struct cm_id *listener = cm_id_create(b->cm, NULL);

	ck_assert_int_eq(cm_listen(listener, SERVICE, &c->gid, CM_ANY_DEVICE), 0);
	connect_to(b);
	run_ms(2);
	expect("     0.0 a > REQ\n"
	       "     1.0 b > REJ of REQ, reason 8\n"
	       "     2.0 a   REJ_RECEIVED reason 8\n");
	cm_id_destroy(listener, cw.now_ns);
	listener = cm_id_create(b->cm, NULL);
	ck_assert_int_eq(cm_listen(listener, SERVICE, &b->gid, 1), 0);
	connect_to(b);
	run_ms(2);
	expect("     2.0 a > REQ\n"
	       "     3.0 b > REJ of REQ, reason 8\n"
	       "     4.0 a   REJ_RECEIVED reason 8\n");
	listener = cm_id_create(b->cm, NULL);
	ck_assert_int_eq(cm_listen(listener, SERVICE, &b->gid, 0), 0);
	connect_to(b);
	run_ms(2);
	expect("     4.0 a > REQ\n"
	       "     5.0 b   REQ_RECEIVED\n");
}
END_TEST

START_TEST(address_in_use)
{
	struct cm_id *first = cm_id_create(b->cm, NULL), *second = cm_id_create(b->cm, NULL);

	ck_assert_int_eq(cm_listen(first, SERVICE, &b->gid, CM_ANY_DEVICE), 0);
	ck_assert_int_eq(cm_listen(second, SERVICE, NULL, 0), -EADDRINUSE);
	ck_assert_int_eq(cm_listen(second, SERVICE, &b->gid, 0), -EADDRINUSE);
	ck_assert_int_eq(cm_listen(second, SERVICE, &c->gid, 0), 0);
	ck_assert_int_eq(cm_listen(second, SERVICE + 1, &c->gid, 0), -EINVAL);
	cm_id_destroy(first, 0);
	first = cm_id_create(b->cm, NULL);
	ck_assert_int_eq(cm_listen(first, SERVICE, &b->gid, CM_ANY_DEVICE), 0);
}
END_TEST

START_TEST(program_refuses)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REJ of REQ, reason 28\n"
	       "     2.0 a   REJ_RECEIVED reason 28\n");
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_IDLE);
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_IDLE);
}
END_TEST

/* The REQ comes again and gets the same answer; the program does not learn of it twice. */
START_TEST(rej_lost)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_defer_mra(idb, 15), 0);
	lose(b, CM_REJ, 1);
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	cm_id_destroy(idb, cw.now_ns);
	expect_ids(b, 2);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REJ of REQ, reason 28 (lost)\n"
	       "    71.3 a > REQ\n"
	       "    72.3 b > REJ of REQ, reason 28\n"
	       "    73.3 a   REJ_RECEIVED reason 28\n");
	expect_ids(b, 1);
}
END_TEST

/* The queue pair of a refused REQ may ask again at once. */
START_TEST(refused_and_asks_again)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	run_ms(1);
	connect_to(b);
	run_ms(1);
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REJ of REQ, reason 28\n"
	       "     2.0 a   REJ_RECEIVED reason 28\n"
	       "     2.0 a > REQ\n"
	       "     3.0 b   REQ_RECEIVED\n");
}
END_TEST

START_TEST(active_end_refuses_the_rep)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	ck_assert_int_eq(cm_send_rej(ida, &rej, cw.now_ns), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > REJ of REP, reason 28\n"
	       "     3.0 b   REJ_RECEIVED reason 28\n");
}
END_TEST

/* The REJ is lost. The REP comes again and finds no connection. */
START_TEST(refusal_of_the_rep_lost)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	lose(a, CM_REJ, 1);
	ck_assert_int_eq(cm_send_rej(ida, &rej, cw.now_ns), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > REJ of REP, reason 28 (lost)\n"
	       "    68.1 b > REP\n"
	       "    69.1 a > REJ of REP, reason 6\n"
	       "    70.1 b   REJ_RECEIVED reason 6\n");
}
END_TEST

/* The passive end withdraws its REP: by a REJ, and by a DREQ in case that the REJ is lost and the
 * active end has its connection. */
START_TEST(rep_withdrawn)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     1.0 b > REJ of other, reason 28\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a   REJ_RECEIVED reason 28\n"
	       "     6.2 a   TIME_WAIT_EXIT\n"
	       "    68.1 b > DREQ qpn 11\n"
	       "    69.1 a > DREP\n"
	       "    70.1 b   DREP_RECEIVED\n"
	       "    74.3 b   TIME_WAIT_EXIT\n");
}
END_TEST

START_TEST(rep_withdrawn_rej_lost)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	lose(b, CM_REJ, 1);
	lose(a, CM_RTU, 1);
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	run_ms(1);
	rtu();
	run_ms(75);
	ck_assert_int_eq(send_plain(ida, CM_DREP), 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     1.0 b > REJ of other, reason 28 (lost)\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU (lost)\n"
	       "    68.1 b > DREQ qpn 11\n"
	       "    69.1 a   DREQ_RECEIVED\n"
	       "    77.0 a > DREP\n"
	       "    78.0 b   DREP_RECEIVED\n"
	       "    81.2 a   TIME_WAIT_EXIT\n"
	       "    82.2 b   TIME_WAIT_EXIT\n");
}
END_TEST

/* The other end's queue pair is in a new connection: the old one is over, and says so. */
START_TEST(stale_connection)
{
	struct cm_id *old;

	established();
	old = idb;
	cm_world_restart(a, true);
	connect_to(b);
	run_ms(3);
	expect("     3.0 a > REQ\n"
	       "     4.0 b > REJ of REQ, reason 10\n"
	       "     4.0 b > DREQ qpn 11\n"
	       "     5.0 a   REJ_RECEIVED reason 10\n"
	       "     5.0 a > DREP\n"
	       "     6.0 b   DREP_RECEIVED\n");
	ck_assert_int_eq(cm_id_state(old), CM_STATE_TIME_WAIT);
	run();
	expect("     9.2 a   TIME_WAIT_EXIT\n"
	       "    10.2 b   TIME_WAIT_EXIT\n");
	connect_to(b);
	run_ms(1);
	expect("    10.2 a > REQ\n"
	       "    11.2 b   REQ_RECEIVED\n");
}
END_TEST

START_TEST(stale_in_time_wait)
{
	established();
	ck_assert_int_eq(send_plain(idb, CM_DREQ), 0);
	run_ms(1);
	cm_id_destroy(ida, cw.now_ns);
	run_ms(1);
	skip();
	cm_world_restart(a, true);
	connect_to(b);
	run_ms(2);
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_TIME_WAIT);
	run();
	expect("     5.0 a > REQ\n"
	       "     6.0 b > REJ of REQ, reason 10\n"
	       "     7.0 a   REJ_RECEIVED reason 10\n"
	       "     9.2 b   TIME_WAIT_EXIT\n"
	       "    11.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

/* A REP whose queue pair is in a connection of ours already. */
START_TEST(stale_rep)
{
	established();
	cm_world_restart(b, true);
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(3);
	expect("     3.0 a > REQ\n"
	       "     4.0 b   REQ_RECEIVED\n"
	       "     4.0 b > REP\n"
	       "     5.0 a > REJ of REP, reason 10\n"
	       "     5.0 a > DREQ qpn 22\n"
	       "     6.0 b   REJ_RECEIVED reason 10\n"
	       "     6.0 b > DREP\n"
	       "     7.0 a   DREP_RECEIVED\n");
}
END_TEST

/* The first of two REPs is refused as stale. The second, which was late, does not connect to an end
 * that is gone. */
START_TEST(stale_rep_twice)
{
	struct cm_msg rep = rep_of(b);
	struct cm_id_info info;

	established();
	cm_world_restart(b, true);
	listen_at(b);
	connect_to(b);
	run_ms(1);
	cm_id_info(idb, &info);
	accept_it();
	run_ms(20);
	skip();
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_REQ_SENT);
	rep.local_comm_id = info.local_comm_id;
	rep.remote_comm_id = info.remote_comm_id;
	inject(b, a, &rep);
	expect("    24.0 a > REJ of REP, reason 10\n");
}
END_TEST

/* The passive end withdraws its REP. The REJ is lost, the DREQ overtakes the REP: when that arrives
 * at last, it connects to no id. */
START_TEST(rep_behind_the_dreq)
{
	listen_at(b);
	connect_to(b);
	run_ms(60);
	delay_next(b, CM_REP, 100);
	accept_it();
	lose(b, CM_REJ, 1);
	lose(a, CM_REQ, 1);
	cm_id_destroy(idb, cw.now_ns);
	run_ms(110);
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    60.0 b > REP (late)\n"
	       "    60.0 b > REJ of other, reason 28 (lost)\n"
	       "    71.3 a > REQ (lost)\n"
	       "   127.1 b > DREQ qpn 11\n"
	       "   128.1 a > DREP\n"
	       "   142.6 a > REQ\n"
	       "   143.6 b   REQ_RECEIVED\n"
	       "   160.0 a > REJ of REP, reason 10\n");
}
END_TEST

/* The other end takes for established what is over here. */
START_TEST(rtu_of_nobody)
{
	const struct cm_msg rtu = { .attr = CM_RTU, .local_comm_id = 5, .remote_comm_id = 6 };

	inject(a, b, &rtu);
	expect("     0.0 b > REJ of other, reason 6\n");
}
END_TEST

START_TEST(no_resources)
{
	listen_at(b);
	while (cm_id_create(b->cm, NULL))
		continue;
	expect_ids(b, 16);
	connect_to(b);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b > REJ of REQ, reason 3\n"
	       "     2.0 a   REJ_RECEIVED reason 3\n");
}
END_TEST

/* A listener without room forgets the REQ; the retry is a new one. */
START_TEST(forgotten)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	cm_id_forget(idb);
	expect_ids(b, 1);
	run_ms(75);
	accept_it();
	run_ms(1);
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    71.3 a > REQ\n"
	       "    72.3 b   REQ_RECEIVED\n"
	       "    76.0 b > REP\n"
	       "    77.0 a   REP_RECEIVED\n");
}
END_TEST

/* Alternate paths are not supported. */
START_TEST(lap_refused)
{
	struct cm_msg lap = { .attr = CM_LAP };
	struct cm_id_info info;

	established();
	cm_id_info(idb, &info);
	lap.local_comm_id = info.remote_comm_id;
	lap.remote_comm_id = info.local_comm_id;
	inject(a, b, &lap);
	lap.remote_comm_id++;
	inject(a, b, &lap);
	run_ms(2);
	expect("     3.0 b > APR status 2\n"
	       "     3.0 b > APR status 1\n");
}
END_TEST

/* A REJ ends an established connection: the other end has lost it. */
START_TEST(rej_of_a_connection)
{
	struct cm_msg rej = rej_of(CM_REJ_INVALID_COMM_ID);
	struct cm_id_info info;

	established();
	cm_id_info(ida, &info);
	rej.local_comm_id = info.remote_comm_id;
	rej.remote_comm_id = info.local_comm_id;
	rej.u.rej.message_rejected = CM_ANSWERED_OTHER;
	rej.local_comm_id++;
	inject(b, a, &rej);
	expect("");
	rej.local_comm_id--;
	inject(b, a, &rej);
	run();
	expect("     3.0 a   REJ_RECEIVED reason 6\n"
	       "     7.2 a   TIME_WAIT_EXIT\n");
}
END_TEST

/* An active end that gives up names itself by its CA GUID: it does not know our communication ID.
 */
START_TEST(active_end_gives_up)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	cm_id_destroy(ida, cw.now_ns);
	expect_ids(a, 0);
	run();
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 a > REJ of other, reason 4\n"
	       "     2.0 b   REJ_RECEIVED reason 4\n");
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_IDLE);
}
END_TEST

/* A refused end answers duplicates of its REQ for two of the sender's intervals, 142.6 ms. */
START_TEST(refusal_kept_for_duplicates)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	cm_id_destroy(idb, cw.now_ns);
	run_ms(142);
	expect_ids(b, 2);
	run_ms(1);
	expect_ids(b, 1);
}
END_TEST

/* An RTU that crosses the withdrawal of its REP gets the DREQ at once. */
START_TEST(rtu_of_a_withdrawn_rep)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);

	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	lose(b, CM_REJ, 1);
	ck_assert_int_eq(cm_send_rej(idb, &rej, cw.now_ns), 0);
	run_ms(1);
	rtu();
	run_ms(2);
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "     1.0 b > REP\n"
	       "     1.0 b > REJ of other, reason 28 (lost)\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "     2.0 a > RTU\n"
	       "     3.0 b > DREQ qpn 11\n"
	       "     4.0 a   DREQ_RECEIVED\n");
}
END_TEST

/* A DREQ that overtakes its REP condemns that REP for this connection. The id's next connection
 * takes a REP of the same communication ID. */
START_TEST(refusal_ends_with_the_connection)
{
	const struct cm_path path = cm_world_path(a, b);
	const struct cm_msg req = req_of(a, b);
	struct cm_msg dreq = { .attr = CM_DREQ, .local_comm_id = 0x77 }, rep = rep_of(b);
	struct cm_id_info info;

	cm_world_restart(b, false);
	connect_to(b);
	cm_id_info(ida, &info);
	dreq.remote_comm_id = info.local_comm_id;
	dreq.u.dreq.remote_qpn = QPN_A;
	inject(b, a, &dreq);
	run();
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_IDLE);
	skip();
	ck_assert_int_eq(cm_send_req(ida, &path, &req, cw.now_ns), 0);
	cm_id_info(ida, &info);
	rep.local_comm_id = 0x77;
	rep.remote_comm_id = info.local_comm_id;
	inject(b, a, &rep);
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_REP_RCVD);
}
END_TEST

/* An id without a connection names no queue pair of a peer. */
START_TEST(no_peer_after_the_end)
{
	const struct cm_msg rej = rej_of(CM_REJ_CONSUMER_DEFINED);
	struct cm_id_info info;

	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	cm_id_info(ida, &info);
	ck_assert_uint_eq(info.remote_qpn, QPN_B);
	ck_assert_int_eq(cm_send_rej(ida, &rej, cw.now_ns), 0);
	cm_id_info(ida, &info);
	ck_assert_uint_eq(info.remote_qpn, 0);
}
END_TEST

RUN_TESTS("cm_refuse", nobody_listens, listens_at_another_address, address_in_use, program_refuses,
	  rej_lost, refused_and_asks_again, active_end_refuses_the_rep, refusal_of_the_rep_lost,
	  rep_withdrawn, rep_withdrawn_rej_lost, stale_connection, stale_in_time_wait, stale_rep,
	  stale_rep_twice, rep_behind_the_dreq, rtu_of_nobody, no_resources, forgotten, lap_refused,
	  rej_of_a_connection, active_end_gives_up, refusal_kept_for_duplicates,
	  rtu_of_a_withdrawn_rep, refusal_ends_with_the_connection, no_peer_after_the_end)
