// SPDX-License-Identifier: MIT
/* Limits of ids: READs and atomics that a peer asks for beyond what was asked or what the device
 * has, and connection requests beyond the backlog. */
#include <errno.h>
#include <infiniband/verbs.h>

#include "cma_id_fixture.h"
#include "tests/suite.h"

#define MUCH 128 /* more than the devices have: what perftest's server sends over rdma_rxe */

static const struct ctl_cm_conn plain = { .qpn = 0x111, .retry_count = 7, .rnr_retry_count = 6 };

static struct ctl_cm_conn with_reads(uint8_t responder_resources, uint8_t initiator_depth)
{
	struct ctl_cm_conn ret = plain;

	ret.responder_resources = responder_resources;
	ret.initiator_depth = initiator_depth;
	return ret;
}

static void expect_reads(const struct cma_id *id, uint8_t responds, uint8_t initiates)
{
	struct ctl_cm_qp_attr rtr, rts;

	ck_assert_int_eq(cma_id_init_qp_attr(id, IBV_QPS_RTR, &rtr), 0);
	ck_assert_uint_eq(rtr.max_dest_rd_atomic, responds);
	ck_assert_int_eq(cma_id_init_qp_attr(id, IBV_QPS_RTS, &rts), 0);
	ck_assert_uint_eq(rts.max_rd_atomic, initiates);
}

/* The peer's REP: responder_resources MUCH, initiator_depth MUCH. */
START_TEST(rep_with_more_than_the_req)
{
	static const struct {
		uint8_t asked, initiates;
	} cases[] = {
		{ FIXTURE_MAX_READS, FIXTURE_MAX_READS },
		{ 4, 4 },
		{ 0, FIXTURE_MAX_READS },
	};

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
		struct ctl_cm_conn asked = with_reads(1, cases[i].asked);
		struct ctl_cm_conn much = with_reads(MUCH, MUCH);

		/* A queue pair of its own for each connection. */
		asked.qpn += (uint32_t)i;
		much.qpn += (uint32_t)i;
		ck_assert_int_eq(cma_id_connect(active, &asked, now_ns), 0);
		deliver();
		ck_assert_int_eq(cma_id_accept(requested(&b), &much, now_ns), 0);
		deliver();
		expect("     0 a > REQ port 7174\n"
		       "     0 b CONNECT_REQUEST of 20\n"
		       "     0 b > REP\n"
		       "     0 a CONNECT_RESPONSE of 10\n");
		/* The program sees what the peer said. */
		ck_assert_uint_eq(a.last.conn.responder_resources, MUCH);
		ck_assert_uint_eq(a.last.conn.initiator_depth, MUCH);
		expect_reads(active, FIXTURE_MAX_READS, cases[i].initiates);
		ck_assert_uint_eq(a.last.attr.max_dest_rd_atomic, FIXTURE_MAX_READS);
		ck_assert_uint_eq(a.last.attr.max_rd_atomic, cases[i].initiates);
	}
}
END_TEST

START_TEST(rep_with_less_than_the_req)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	const struct ctl_cm_conn asked = with_reads(8, 9), less = with_reads(2, 3);

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &asked, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_accept(requested(&b), &less, now_ns), 0);
	deliver();
	expect_reads(active, 3, 2);
}
END_TEST

START_TEST(req_with_more_than_the_device)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	const struct ctl_cm_conn much = with_reads(MUCH, MUCH);

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &much, now_ns), 0);
	deliver();
	ck_assert_uint_eq(b.last.conn.responder_resources, MUCH);
	ck_assert_uint_eq(b.last.conn.initiator_depth, MUCH);
	expect_reads(requested(&b), FIXTURE_MAX_READS, FIXTURE_MAX_READS);
}
END_TEST

/* Beyond the backlog a request is dropped, and the active side sends it again. */
START_TEST(backlog)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	b.unread = 4;
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	expect("     0 a > REQ port 7174\n");
	b.unread = 3;
	pass_ms(10000);
	expect("  6442 a > REQ port 7174\n"
	       "  6442 b CONNECT_REQUEST of 20\n");
}
END_TEST

/* The listener has no id for the request: its port says whose program is stopped. */
START_TEST(backlog_of_a_stopped_program)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.1:7174", 10);

	a.stopped = listener(&a, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	a.unread = 4;
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	expect("     0 a > REQ port 7174\n");
	pass_ms(300000);
	expect("");
	a.stopped = NULL;
	a.unread = 3;
	pass_ms(10000);
	expect("306884 a > REQ port 7174\n"
	       "306884 a CONNECT_REQUEST of 20\n");
}
END_TEST

/* The trace has only what was sent last, and how it ended. */
static void let_it_fail(struct cma_id *active, uint32_t ms)
{
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	pass_ms(ms);
	forget();
	pass_ms(10000);
}

static uint32_t dropped_by(const struct cma_id *id)
{
	struct ctl_cm_listed listed;

	cma_id_describe(id, &listed);
	return listed.dropped;
}

/* As in Linux: a program that reads nothing refuses nothing. The active side gets UNREACHABLE
 * once its retries are used up, and the listener has counted them all. */
START_TEST(backlog_stays_full)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	const struct cma_id *full = listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);

	b.unread = 4;
	let_it_fail(active, 95000);
	expect(" 96636 a > REQ port 7174\n"
	       "103079 a > REJ reason 4\n"
	       "103079 a UNREACHABLE of 10, status -110\n");
	ck_assert_uint_eq(dropped_by(full), 16);
	/* Nothing is left of it: another id is accepted. */
	b.unread = 0;
	active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 11);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	deliver();
	ck_assert_uint_eq(a.last.event, CTL_CM_EVENT_CONNECT_RESPONSE);
}
END_TEST

START_TEST(backlog_of_datagrams_stays_full)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_UDP, "10.0.0.2:7174", 10);
	const struct cma_id *full = listener(&b, CTL_CM_PS_UDP, "0.0.0.0:7174", 20);

	b.unread = 4;
	let_it_fail(active, 60000);
	expect(" 61440 a > SIDR_REQ\n"
	       " 65536 a UNREACHABLE of 10, status -110\n");
	ck_assert_uint_eq(dropped_by(full), 16);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cma_id_limits");
	TCase *tc = tcase_create("cma_id_limits");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, rep_with_more_than_the_req);
	tcase_add_test(tc, rep_with_less_than_the_req);
	tcase_add_test(tc, req_with_more_than_the_device);
	tcase_add_test(tc, backlog);
	tcase_add_test(tc, backlog_of_a_stopped_program);
	tcase_add_test(tc, backlog_stays_full);
	tcase_add_test(tc, backlog_of_datagrams_stays_full);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
