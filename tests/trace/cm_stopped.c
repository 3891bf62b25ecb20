/* SPDX-License-Identifier: MIT */
/* Traces of exchanges between two programs on host a, one of which is stopped. */
#include "tests/trace/cm_fixture.h"

#define HOUR_MS (3600 * 1000ull)

/* Users of ids. */
static char listening, accepting, connecting;

static void listen_on_a(void)
{
	struct cm_id *id = cm_id_create(a->cm, &listening);

	ck_assert_int_eq(cm_listen(id, SERVICE, NULL, CM_ANY_DEVICE), 0);
}

static void connect_on_a(void)
{
	const struct cm_path path = cm_world_path(a, a);
	const struct cm_msg msg = req_of(a, a);

	ida = cm_id_create(a->cm, &connecting);
	ck_assert_int_eq(cm_send_req(ida, &path, &msg, cw.now_ns), 0);
}

static void accept_on_a(void)
{
	const struct cm_msg msg = rep_of(a);

	ck_assert_int_eq(cm_send_rep(idb, &msg, cw.now_ns), 0);
}

static void stop_for(const void *user, uint64_t ms)
{
	cw.stopped = user;
	run_ms(ms);
	cw.stopped = NULL;
}

/* Two retries at 71 ms would end the attempt after 214 ms. */
START_TEST(listener_stopped)
{
	listen_on_a();
	connect_on_a();
	run_ms(1);
	cm_id_set_user(idb, &accepting);
	stop_for(&accepting, HOUR_MS);
	accept_on_a();
	run_ms(1);
	rtu();
	run_ms(1);
	expect("     0.0 a > REQ\n"
	       "     1.0 a   REQ_RECEIVED\n"
	       "3600001.0 a > REP\n"
	       "3600002.0 a   REP_RECEIVED\n"
	       "3600002.0 a > RTU\n"
	       "3600003.0 a   RTU_RECEIVED\n");
}
END_TEST

/* The REQ was lost, and has no id at the listener. The retry comes when the program runs again. */
START_TEST(listener_stopped_and_req_lost)
{
	listen_on_a();
	lose(a, CM_REQ, 1);
	connect_on_a();
	stop_for(&listening, HOUR_MS);
	run_ms(200);
	expect("     0.0 a > REQ (lost)\n"
	       "3600142.6 a > REQ\n"
	       "3600143.6 a   REQ_RECEIVED\n");
}
END_TEST

START_TEST(connecting_program_stopped)
{
	listen_on_a();
	connect_on_a();
	run_ms(1);
	accept_on_a();
	stop_for(&connecting, HOUR_MS);
	rtu();
	run_ms(1);
	expect("     0.0 a > REQ\n"
	       "     1.0 a   REQ_RECEIVED\n"
	       "     1.0 a > REP\n"
	       "     2.0 a   REP_RECEIVED\n"
	       "3600001.0 a > RTU\n"
	       "3600002.0 a   RTU_RECEIVED\n");
}
END_TEST

START_TEST(disconnecting_from_a_stopped_program)
{
	listen_on_a();
	connect_on_a();
	run_ms(1);
	cm_id_set_user(idb, &accepting);
	accept_on_a();
	run_ms(1);
	rtu();
	run_ms(1);
	skip();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	stop_for(&accepting, HOUR_MS);
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run_ms(1);
	expect("     3.0 a > DREQ qpn 22\n"
	       "     4.0 a   DREQ_RECEIVED\n"
	       "3600003.0 a > DREP\n"
	       "3600004.0 a   DREP_RECEIVED\n");
}
END_TEST

START_TEST(resolved_program_stopped)
{
	const struct cm_path path = cm_world_path(a, a);
	const struct cm_msg req = { .attr = CM_SIDR_REQ, .u.sidr_req.service_id = SERVICE };
	const struct cm_msg rep = { .attr = CM_SIDR_REP, .u.sidr_rep.qpn = QPN_B };

	listen_on_a();
	ida = cm_id_create(a->cm, &connecting);
	ck_assert_int_eq(cm_send_sidr_req(ida, &path, &req, 100 * MS, 2, cw.now_ns), 0);
	run_ms(1);
	cm_id_set_user(idb, &accepting);
	stop_for(&accepting, HOUR_MS);
	ck_assert_int_eq(cm_send_sidr_rep(idb, &rep, cw.now_ns), 0);
	run_ms(1);
	expect("     0.0 a > SIDR_REQ\n"
	       "     1.0 a   SIDR_REQ_RECEIVED\n"
	       "3600001.0 a > SIDR_REP status 0 qpn 22\n"
	       "3600002.0 a   SIDR_REP_RECEIVED\n");
}
END_TEST

/* A program that runs again has a whole period to answer, then the retries go on. */
START_TEST(never_answers)
{
	listen_on_a();
	connect_on_a();
	run_ms(1);
	cm_id_set_user(idb, &accepting);
	stop_for(&accepting, 10000);
	run_ms(3000);
	expect("     0.0 a > REQ\n"
	       "     1.0 a   REQ_RECEIVED\n"
	       " 10142.6 a > REQ\n"
	       " 10213.9 a > REQ\n"
	       " 10285.2 a > REJ of other, reason 4\n"
	       " 10285.2 a   REQ_TIMED_OUT\n"
	       " 10286.2 a   REJ_RECEIVED reason 4\n");
}
END_TEST

/* The server knows nothing of a program on another host. */
START_TEST(on_another_host)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	cm_id_set_user(idb, &accepting);
	stop_for(&accepting, 1000);
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    71.3 a > REQ\n"
	       "   142.6 a > REQ\n"
	       "   213.9 a > REJ of other, reason 4\n"
	       "   213.9 a   REQ_TIMED_OUT\n"
	       "   214.9 b   REJ_RECEIVED reason 4\n");
}
END_TEST

/* Its server is another one of this machine. The REQ comes again, and no retry is spent. */
START_TEST(on_another_server)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	cw.has_stopped = b;
	run_ms(400);
	cw.has_stopped = NULL;
	run_ms(300);
	expect("     0.0 a > REQ\n"
	       "     1.0 b   REQ_RECEIVED\n"
	       "    71.3 a > REQ\n"
	       "   142.6 a > REQ\n"
	       "   213.9 a > REQ\n"
	       "   285.2 a > REQ\n"
	       "   356.5 a > REQ\n"
	       "   427.8 a > REQ\n"
	       "   499.1 a > REQ\n"
	       "   570.4 a > REJ of other, reason 4\n"
	       "   570.4 a   REQ_TIMED_OUT\n"
	       "   571.4 b   REJ_RECEIVED reason 4\n");
}
END_TEST

/* An MRA that the other server sends for its stopped program spends none, either. */
START_TEST(promised_by_another_server)
{
	struct cm_msg mra = { .attr = CM_MRA, .u.mra.service_timeout = 15 };

	listen_at(b);
	connect_to(b);
	run_ms(1);
	ck_assert_int_eq(cm_send_mra(idb, &mra), 0);
	cw.has_stopped = b;
	run_ms(60000);
	skip();
	cw.has_stopped = NULL;
	accept_it();
	run_ms(1);
	rtu();
	run_ms(1);
	expect(" 60001.0 b > REP\n"
	       " 60002.0 a   REP_RECEIVED\n"
	       " 60002.0 a > RTU\n"
	       " 60003.0 b   RTU_RECEIVED\n");
}
END_TEST

/* The DREQ has no answer until the program runs again. */
START_TEST(disconnecting_from_another_server)
{
	established();
	ck_assert_int_eq(send_plain(ida, CM_DREQ), 0);
	cw.has_stopped = b;
	run_ms(HOUR_MS / 60);
	skip();
	cw.has_stopped = NULL;
	ck_assert_int_eq(send_plain(idb, CM_DREP), 0);
	run_ms(1);
	expect(" 60003.0 b > DREP\n"
	       " 60004.0 a   DREP_RECEIVED\n");
}
END_TEST

RUN_TESTS("cm_stopped", listener_stopped, listener_stopped_and_req_lost, connecting_program_stopped,
	  disconnecting_from_a_stopped_program, resolved_program_stopped, never_answers,
	  on_another_host, on_another_server, promised_by_another_server,
	  disconnecting_from_another_server)
