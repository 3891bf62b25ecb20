/* SPDX-License-Identifier: MIT */
/* Traces of stopped processes on one machine: the ACK timers of their peers stand still. */
#include "tests/trace/fixture.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS	  (3600 * SECOND_NS)

static void on_one_machine(uint8_t retry_cnt)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = retry_cnt;
	connect_ends(&opts);
	world_share_machine(&w);
}

static void expect_no_retry(const struct node *node)
{
	ck_assert_uint_eq(node->counters.completer_retry_err, 0);
	ck_assert_uint_eq(node->counters.retry_exceeded_err, 0);
}

START_TEST(twenty_seconds)
{
	on_one_machine(7);
	RECV(64);
	world_stop(&w, y, 20 * SECOND_NS);
	SEND(64);
	SEND(65);
	RECV(65);
	world_run(&w);
	expect("     0.0 *   node 1 stopped\n"
	       "     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > SEND_ONLY 101 len 65 ackreq\n"
	       "   262.1 a   peer is stopped\n"
	       "20000000.0 *   node 1 runs\n"
	       "20000000.0 b > ACK 101 msn 2\n"
	       "20000000.0 b   recv 1 SUCCESS len 64\n"
	       "20000000.0 b   recv 2 SUCCESS len 65\n"
	       "20000005.0 a   send 1 SUCCESS\n"
	       "20000005.0 a   send 2 SUCCESS\n");
	expect_no_retry(x);
}
END_TEST

/* Without a retry to spend. A READ needs a response of its own. */
START_TEST(an_hour)
{
	on_one_machine(0);
	world_stop(&w, y, HOUR_NS / 2);
	WRITE(64);
	READ(64, .from = READ_AT);
	ADD(1, .from = READ_AT);
	world_run(&w);
	expect_some("     0.0 *   node 1 stopped\n"
		    "   262.1 a   peer is stopped\n"
		    "1800000000.0 *   node 1 runs\n"
		    "1800000005.0 a   send 1 SUCCESS\n"
		    "1800000005.0 a   send 2 SUCCESS\n"
		    "1800000005.0 a   send 3 SUCCESS\n");
	expect_no_retry(x);
}
END_TEST

START_TEST(both_at_once)
{
	on_one_machine(0);
	RECV(64);
	SEND(64);
	POST(b, RDMA_WRITE, 65);
	world_flush(&w);
	world_stop(&w, x, HOUR_NS / 2);
	world_stop(&w, y, HOUR_NS / 2);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 b > WRITE_ONLY 500 len 65 ackreq\n"
	       "     0.0 *   node 0 stopped\n"
	       "     0.0 *   node 1 stopped\n"
	       "1800000000.0 *   node 0 runs\n"
	       "1800000000.0 *   node 1 runs\n"
	       "1800000000.0 a > ACK 500 msn 1\n"
	       "1800000000.0 b > ACK 100 msn 1\n"
	       "1800000000.0 b   recv 1 SUCCESS len 64\n"
	       "1800000005.0 a   send 1 SUCCESS\n"
	       "1800000005.0 b   send 1 SUCCESS\n");
	expect_no_retry(x);
	expect_no_retry(y);
}
END_TEST

/* One after the other: each end is found stopped by the other. */
START_TEST(in_turns)
{
	on_one_machine(0);
	WRITE(64);
	world_stop(&w, y, 10 * SECOND_NS);
	world_run_until(&w, 5e6);
	world_stop(&w, x, 30 * SECOND_NS);
	POST(b, RDMA_WRITE, 65);
	world_run(&w);
	expect("     0.0 *   node 1 stopped\n"
	       "     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   peer is stopped\n"
	       "5000000.0 *   node 0 stopped\n"
	       "10000000.0 *   node 1 runs\n"
	       "10000000.0 b > WRITE_ONLY 500 len 65 ackreq\n"
	       "10000000.0 b > ACK 100 msn 1\n"
	       "10000262.1 b   peer is stopped\n"
	       "30000000.0 *   node 0 runs\n"
	       "30000000.0 a > ACK 500 msn 1\n"
	       "30000000.0 a   send 1 SUCCESS\n"
	       "30000005.0 b   send 1 SUCCESS\n");
	expect_no_retry(x);
	expect_no_retry(y);
}
END_TEST

/* The request was lost. From the time at which the peer is seen to run, it has a whole period. */
START_TEST(what_was_lost_comes_again)
{
	on_one_machine(1);
	fault("drop a WRITE_ONLY 100");
	world_stop(&w, y, SECOND_NS);
	WRITE(64);
	world_run(&w);
	expect("     0.0 *   node 1 stopped\n"
	       "     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   peer is stopped\n"
	       "1000000.0 *   node 1 runs\n"
	       "1000524.3 a   timeout, 0 left, rewind to 100\n"
	       "1000524.3 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "1000529.3 b > ACK 100 msn 1\n"
	       "1000534.3 a   send 1 SUCCESS\n");
}
END_TEST

/* What the peer has not executed fails one period after the kill, not eight. */
START_TEST(killed_while_stopped)
{
	on_one_machine(7);
	world_stop(&w, y, HOUR_NS / 2);
	WRITE(64);
	world_run_until(&w, 1e6);
	world_kill(&w, y);
	skip();
	world_run_until(&w, 1e6 + 200000);
	expect("1000262.1 a   timeout, 0 left, rewind to 100\n"
	       "1000262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "1000524.3 a   to ERR\n"
	       "1000524.3 a   send 1 RETRY_EXC_ERR\n");
}
END_TEST

/* A process that is killed while it runs costs all retries, as without stops. */
START_TEST(killed)
{
	on_one_machine(2);
	WRITE(64);
	world_kill(&w, y);
	skip();
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   timeout, 1 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   524.3 a   timeout, 0 left, rewind to 100\n"
	       "   524.3 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   786.4 a   to ERR\n"
	       "   786.4 a   send 1 RETRY_EXC_ERR\n");
}
END_TEST

/* The back-off goes on, and its copy waits in the socket. One RNR NAK spends one of two retries. */
START_TEST(in_rnr_back_off)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_retry = 1;
	connect_ends(&opts);
	world_share_machine(&w);
	SEND(64);
	world_run_until(&w, 11);
	world_stop(&w, y, HOUR_NS / 2);
	world_run_until(&w, 1e6);
	RECV(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    11.0 *   node 1 stopped\n"
	       "    20.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   282.1 a   peer is stopped\n"
	       "1800000000.0 *   node 1 runs\n"
	       "1800000000.0 b > ACK 100 msn 1\n"
	       "1800000000.0 b   recv 1 SUCCESS len 64\n"
	       "1800000005.0 a   send 1 SUCCESS\n");
	expect_no_retry(x);
}
END_TEST

/* A process knows nothing of another machine. */
START_TEST(on_another_machine)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 1;
	connect_ends(&opts);
	world_stop(&w, y, SECOND_NS);
	WRITE(64);
	world_run_until(&w, 1000);
	expect("     0.0 *   node 1 stopped\n"
	       "     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   timeout, 0 left, rewind to 100\n"
	       "   262.1 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   524.3 a   to ERR\n"
	       "   524.3 a   send 1 RETRY_EXC_ERR\n");
}
END_TEST

/* A timer that is a period late excuses one period: then the peer must answer. */
START_TEST(excused_once)
{
	on_one_machine(1);
	fault("drop a * * x9");
	WRITE(64);
	world_flush(&w);
	world_stop(&w, x, SECOND_NS);
	world_run(&w);
	expect("     0.0 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 *   node 0 stopped\n"
	       "1000000.0 *   node 0 runs\n"
	       "1000262.1 a   timeout, 0 left, rewind to 100\n"
	       "1000262.1 a x WRITE_ONLY 100 len 64 ackreq\n"
	       "1000524.3 a   to ERR\n"
	       "1000524.3 a   send 1 RETRY_EXC_ERR\n");
}
END_TEST

/* The process is not stopped, but other processes have its processor: longer than all retries
 * last. Then it answers. */
START_TEST(starved)
{
	on_one_machine(1);
	RECV(64);
	world_sleep(&w, y, SECOND_NS / 1000);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   262.1 a   timeout, 1 left, rewind to 100\n"
	       "   262.1 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   524.3 a   timeout, 1 left, rewind to 100\n"
	       "   524.3 a > SEND_ONLY 100 len 64 ackreq\n"
	       "   786.4 a   timeout, 1 left, rewind to 100\n"
	       "   786.4 a > SEND_ONLY 100 len 64 ackreq\n"
	       "  1000.0 b   duplicate SEND_ONLY 100\n"
	       "  1000.0 b   duplicate SEND_ONLY 100\n"
	       "  1000.0 b   duplicate SEND_ONLY 100\n"
	       "  1000.0 b > ACK 100 msn 1\n"
	       "  1000.0 b   recv 1 SUCCESS len 64\n"
	       "  1005.0 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("stopped", starved, twenty_seconds, an_hour, both_at_once, in_turns,
	  what_was_lost_comes_again, killed_while_stopped, killed, in_rnr_back_off,
	  on_another_machine, excused_once)
