/* SPDX-License-Identifier: MIT */
/* Traces of SQD: requests in flight finish, the others wait. */
#include "tests/trace/fixture.h"

START_TEST(idle)
{
	connect_ends(NULL);
	world_modify(&w, a, RXE_QPS_SQD);
	world_run(&w);
	expect("     0.0 a   event SQ_DRAINED\n");
}
END_TEST

START_TEST(message_under_way)
{
	connect_ends(NULL);
	WRITE(2500);
	world_run_until(&w, 1);
	world_modify(&w, a, RXE_QPS_SQD);
	WRITE(64);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a > WRITE_LAST 102 len 452 ackreq\n"
	       "     5.0 b > ACK 102 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   event SQ_DRAINED\n");
	world_modify(&w, a, RXE_QPS_RTS);
	world_run(&w);
	expect("   262.1 a > WRITE_ONLY 103 len 64 ackreq\n"
	       "   267.1 b > ACK 103 msn 2\n"
	       "   272.1 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(loss_while_draining)
{
	connect_ends(NULL);
	fault("drop a WRITE_LAST 102");
	WRITE(2500);
	world_run_until(&w, 1);
	world_modify(&w, a, RXE_QPS_SQD);
	world_run(&w);
	expect("     0.0 a > WRITE_FIRST 100 len 1024\n"
	       "     0.0 a > WRITE_MIDDLE 101 len 1024\n"
	       "     0.0 a x WRITE_LAST 102 len 452 ackreq\n"
	       "   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   262.1 a > WRITE_FIRST 100 len 1024\n"
	       "   262.1 a > WRITE_MIDDLE 101 len 1024\n"
	       "   262.1 a > WRITE_LAST 102 len 452 ackreq\n"
	       "   267.1 b   duplicate WRITE_FIRST 100\n"
	       "   267.1 b   duplicate WRITE_MIDDLE 101\n"
	       "   267.1 b > ACK 102 msn 1\n"
	       "   272.1 a   send 1 SUCCESS\n"
	       "   272.1 a   event SQ_DRAINED\n");
}
END_TEST

RUN_TESTS("drain", idle, message_under_way, loss_while_draining)
