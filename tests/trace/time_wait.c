/* SPDX-License-Identifier: MIT */
/* Queue pairs that no longer exist while their peer still waits for an ACK: destroyed, or of a
 * program that exited or was killed. What they received is acknowledged, and nothing else is. */
#include "tests/trace/fixture.h"

static void b_is_destroyed_at(double us)
{
	world_run_until(&w, us);
	node_remove_qp(b);
	b = NULL;
}

static void y_is_killed_at(double us)
{
	world_run_until(&w, us);
	node_kill(y, w.now_ns);
	b = NULL;
	world_flush(&w);
}

START_TEST(last_ack_lost)
{
	connect_ends(NULL);
	fault("drop b ACK 100");
	RECV(64);
	SEND(64);
	b_is_destroyed_at(6);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b x ACK 100 msn 1\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   267.1 ?   duplicate SEND_ONLY 100\n"
	       "   267.1 ? > ACK 100 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(y->counters.rcvd_no_qp, 0);
}
END_TEST

START_TEST(lost_again_and_again)
{
	connect_ends(NULL);
	fault("drop b ACK 100");
	fault("drop ? ACK 100");
	fault("drop ? ACK 100");
	WRITE(64);
	b_is_destroyed_at(6);
	world_run(&w);
	expect_some("   262.1 a   timeout, 6 left, rewind to 100\n"
		    "   267.1 ? x ACK 100 msn 1\n"
		    "   524.3 a   timeout, 5 left, rewind to 100\n"
		    "   529.3 ? x ACK 100 msn 1\n"
		    "   786.4 a   timeout, 4 left, rewind to 100\n"
		    "   791.4 ? > ACK 100 msn 1\n"
		    "   796.4 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(one_ack_for_all_that_come_together)
{
	connect_ends(NULL);
	fault("drop b ACK 102");
	RECV(4000);
	SEND(2500);
	b_is_destroyed_at(6);
	skip();
	world_run(&w);
	expect("   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_FIRST 100 len 1024\n"
	       "   262.1 a > SEND_MIDDLE 101 len 1024\n"
	       "   262.1 a > SEND_LAST 102 len 452 ackreq\n"
	       "   267.1 ?   duplicate SEND_FIRST 100\n"
	       "   267.1 ?   duplicate SEND_MIDDLE 101\n"
	       "   267.1 ?   duplicate SEND_LAST 102\n"
	       "   267.1 ? > ACK 102 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(a_new_request_is_not_acknowledged)
{
	connect_ends(NULL);
	fault("drop b ACK 100");
	fault("drop a SEND_ONLY 101");
	RECV(64);
	RECV(64);
	SEND(64);
	SEND(65);
	b_is_destroyed_at(6);
	world_run(&w);
	expect_some("     5.0 b   recv 1 SUCCESS len 64\n"
		    "   262.1 a > SEND_ONLY 101 len 65 ackreq\n"
		    "   267.1 ?   duplicate SEND_ONLY 100\n"
		    "   267.1 ? > ACK 100 msn 1\n"
		    "   272.1 a   send 1 SUCCESS\n"
		    "  2369.3 a   send 2 RETRY_EXC\n");
	ck_assert_uint_eq(y->counters.duplicate_request, 1);
	ck_assert_uint_eq(y->counters.rcvd_no_qp, 8);
}
END_TEST

START_TEST(half_a_message_is_no_message)
{
	connect_ends(NULL);
	fault("drop a SEND_LAST 102");
	RECV(4000);
	SEND(2500);
	b_is_destroyed_at(6);
	world_run(&w);
	expect_some("   267.1 ?   duplicate SEND_MIDDLE 101\n"
		    "   267.1 ? > ACK 101 msn 0\n"
		    "  2369.3 a   send 1 RETRY_EXC\n");
}
END_TEST

START_TEST(atomic)
{
	connect_ends(NULL);
	fault("drop b ATOMIC_ACK 101");
	set_word(y, 0, 7);
	ADD(1, .from = READ_AT);
	ADD(1, .from = READ_AT);
	b_is_destroyed_at(6);
	skip();
	world_run(&w);
	expect("    10.0 a   send 1 SUCCESS\n"
	       "   272.1 a   timeout, 6 left, rewind to 101\n"
	       "   272.1 a > FETCH_ADD 101 ackreq\n"
	       "   277.1 ?   duplicate FETCH_ADD 101\n"
	       "   277.1 ? > ATOMIC_ACK 101 orig 8\n"
	       "   282.1 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(x, READ_AT), 8);
	ck_assert_uint_eq(word_at(y, 0), 9);
	ck_assert_uint_eq(y->atomics, 2);
}
END_TEST

START_TEST(a_read_has_no_memory_to_read)
{
	connect_ends(NULL);
	fault("drop b READ_RESP_ONLY 100");
	READ(64, .from = READ_AT);
	b_is_destroyed_at(6);
	world_run(&w);
	expect_some("   262.1 a > READ_REQUEST 100 len 64 ackreq\n"
		    "  2097.2 a   send 1 RETRY_EXC\n");
	ck_assert_uint_eq(y->counters.rcvd_no_qp, 7);
	ck_assert(node_is_untouched(x, READ_AT, 64));
}
END_TEST

START_TEST(a_stranger_is_not_answered)
{
	const struct node_qp_opts opts = world_opts();
	struct node *z = world_add_node(&w);
	struct end *stranger;

	connect_ends(NULL);
	stranger = node_add_qp(z, 's', &opts);
	node_connect(stranger, b, &opts, 500);
	WRITE(64);
	world_run(&w);
	inject(stranger, OP_WRITE_ONLY, 100, 8);
	node_remove_qp(b);
	skip();
	world_run(&w);
	expect("");
	ck_assert_uint_eq(y->counters.rcvd_no_qp, 1);
	ck_assert_uint_eq(y->counters.duplicate_request, 0);
}
END_TEST

/* In error it did not answer, so nothing answers in its place. */
START_TEST(one_in_error_is_not_answered_for)
{
	connect_ends(NULL);
	fault("drop b ACK 100");
	WRITE(64);
	world_run_until(&w, 6);
	world_modify(&w, b, RXE_QPS_ERR);
	node_remove_qp(b);
	world_run(&w);
	expect_some("  2097.2 a   send 1 RETRY_EXC\n");
	ck_assert_uint_eq(y->counters.rcvd_no_qp, 7);
}
END_TEST

/* The peer's timer may be longer than ours: TIME_WAIT lasts four times our retries, and a second at
 * least. */
START_TEST(not_forever)
{
	struct node_qp_opts patient = world_opts(), usual = world_opts();

	patient.timeout = 17; /* 537 ms */
	patient.retry_cnt = 2;
	usual.psn = 500;
	a = node_add_qp(x, 'a', &patient);
	b = node_add_qp(y, 'b', &usual);
	node_connect(a, b, &patient, 500);
	node_connect(b, a, &usual, 100);
	fault("drop b ACK 100");
	fault("drop ? ACK 100");
	WRITE(64);
	b_is_destroyed_at(6);
	world_run(&w);
	expect_some("536875.9 ? x ACK 100 msn 1\n"
		    "1073741.8 a   timeout, 0 left, rewind to 100\n"
		    "1610612.7 a   send 1 RETRY_EXC\n");
	ck_assert_uint_eq(y->counters.duplicate_request, 1);
	ck_assert_uint_eq(y->counters.rcvd_no_qp, 1);
}
END_TEST

/* Longer than a second, where the timers that the two agreed on are long. */
START_TEST(as_long_as_its_peer_waits)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 17; /* 537 ms */
	connect_ends(&opts);
	fault("drop b ACK 100");
	fault("drop ? ACK 100 x3");
	WRITE(64);
	b_is_destroyed_at(6);
	world_run(&w);
	expect_some("1610617.7 ? x ACK 100 msn 1\n"
		    "2147488.6 ? > ACK 100 msn 1\n"
		    "2147493.6 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(its_number_is_not_used_again)
{
	uint32_t qpn, round;

	connect_ends(NULL);
	qpn = b->qp.qpn;
	WRITE(64);
	b_is_destroyed_at(20);
	for (round = 0; round < 0x20000; round++)
		ck_assert_uint_ne(rxe_engine_alloc_qpn(&y->engine), qpn);
	y->engine.now_ns += RXE_TIME_WAIT_MIN_NS;
	for (round = 0; round < 0x10000 && rxe_engine_alloc_qpn(&y->engine) != qpn; round++)
		;
	ck_assert_uint_lt(round, 0x10000);
}
END_TEST

/* A SEND arrives at 5 us and completes at once; its ACK waits for a request until 25 us. */
static void send_whose_ack_is_delayed(void)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	b->qp.rc.reply.piggybacks = b->qp.rc.reply.threshold;
	RECV(64);
	SEND(64);
}

START_TEST(killed_while_an_ack_is_delayed)
{
	send_whose_ack_is_delayed();
	y_is_killed_at(8);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "     8.0 ? > ACK 100 msn 1\n"
	       "    13.0 a   send 1 SUCCESS\n");
}
END_TEST

/* Its record then answers duplicates like every other. */
START_TEST(delayed_ack_of_a_killed_program_lost)
{
	send_whose_ack_is_delayed();
	fault("drop ? ACK 100");
	y_is_killed_at(8);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "     8.0 ? x ACK 100 msn 1\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   267.1 ?   duplicate SEND_ONLY 100\n"
	       "   267.1 ? > ACK 100 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(delayed_ack_is_sent_once)
{
	send_whose_ack_is_delayed();
	y_is_killed_at(8);
	node_kill(y, w.now_ns);
	world_flush(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "     8.0 ? > ACK 100 msn 1\n");
}
END_TEST

START_TEST(killed_after_the_ack_was_sent)
{
	send_whose_ack_is_delayed();
	world_run(&w);
	skip();
	y_is_killed_at(40);
	world_run(&w);
	expect("");
}
END_TEST

/* The atomic before the SEND was executed, and its response was lost. */
START_TEST(delayed_ack_behind_an_atomic)
{
	connect_ends(NULL);
	b->qp.rc.reply.ack_delay_ns = 20000;
	b->qp.rc.reply.piggybacks = b->qp.rc.reply.threshold;
	fault("drop b ATOMIC_ACK 100");
	set_word(y, 0, 7);
	ADD(1, .from = READ_AT);
	world_run_until(&w, 1);
	RECV(64);
	SEND(64);
	y_is_killed_at(8);
	skip();
	world_run(&w);
	expect_some("    18.0 ? > ATOMIC_ACK 100 orig 7\n"
		    "    23.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(x, READ_AT), 7);
	ck_assert_uint_eq(word_at(y, 0), 8);
}
END_TEST

RUN_TESTS("time_wait", last_ack_lost, lost_again_and_again, one_ack_for_all_that_come_together,
	  a_new_request_is_not_acknowledged, half_a_message_is_no_message, atomic,
	  a_read_has_no_memory_to_read, a_stranger_is_not_answered,
	  one_in_error_is_not_answered_for, not_forever, as_long_as_its_peer_waits,
	  its_number_is_not_used_again, killed_while_an_ack_is_delayed,
	  delayed_ack_of_a_killed_program_lost, delayed_ack_is_sent_once,
	  killed_after_the_ack_was_sent, delayed_ack_behind_an_atomic)
