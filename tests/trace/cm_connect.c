/* SPDX-License-Identifier: MIT */
/* Traces of connections that begin and end: the common course, then what is lost or comes twice. */
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

RUN_TESTS("cm_connect", connects_and_disconnects)
