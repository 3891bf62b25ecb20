/* SPDX-License-Identifier: MIT */
/* Traces of a link that takes no more for a while, as a full ring of the memory link does: one
 * train that was built waits for it, nothing is lost, and what arrives meanwhile is handled. */
#include "tests/trace/fixture.h"

#define US 1000u

START_TEST(requests_wait)
{
	connect_ends(NULL);
	world_fill(&w, x, 100 * US);
	WRITE(64);
	WRITE(65);
	world_run(&w);
	expect("   100.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   100.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "   105.0 b > ACK 101 msn 2\n"
	       "   110.0 a   send 1 SUCCESS\n"
	       "   110.0 a   send 2 SUCCESS\n");
}
END_TEST

/* The timer runs from when the train was built. */
START_TEST(longer_than_the_timeout)
{
	connect_ends(NULL);
	world_fill(&w, x, 300 * US);
	WRITE(64);
	world_run(&w);
	expect("   262.1 a   timeout, 6 left, rewind to 100\n"
	       "   300.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   300.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   305.0 b   duplicate WRITE_ONLY 100\n"
	       "   305.0 b > ACK 100 msn 1\n"
	       "   310.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(an_acknowledgement_waits)
{
	connect_ends(NULL);
	world_fill(&w, y, 100 * US);
	WRITE(64);
	WRITE(65);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     0.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "   100.0 b > ACK 101 msn 2\n"
	       "   105.0 a   send 1 SUCCESS\n"
	       "   105.0 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(acknowledgements_arrive_meanwhile)
{
	connect_ends(NULL);
	WRITE(64);
	world_run_until(&w, 1);
	world_fill(&w, x, 100 * US);
	WRITE(65);
	READ(66, .to = READ_AT);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "   100.0 a > WRITE_ONLY 101 len 65 ackreq\n"
	       "   100.0 a > READ_REQUEST 102 len 66 ackreq\n"
	       "   105.0 b > READ_RESP_ONLY 102 len 66\n"
	       "   110.0 a   send 2 SUCCESS\n"
	       "   110.0 a   send 3 SUCCESS\n");
}
END_TEST

/* A train that was built is a packet under way: it has its bytes. */
START_TEST(an_error_takes_back_nothing)
{
	connect_ends(NULL);
	world_fill(&w, x, 100 * US);
	WRITE(64);
	WRITE(65);
	world_run_until(&w, 50);
	world_modify(&w, a, RXE_QPS_ERR);
	world_run(&w);
	expect("    50.0 a   to ERR\n"
	       "    50.0 a   send 1 WR_FLUSH_ERR\n"
	       "    50.0 a   send 2 WR_FLUSH_ERR\n"
	       "   100.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "   105.0 b > ACK 100 msn 1\n");
}
END_TEST

RUN_TESTS("back_pressure", requests_wait, longer_than_the_timeout, an_acknowledgement_waits,
	  acknowledgements_arrive_meanwhile, an_error_takes_back_nothing)
