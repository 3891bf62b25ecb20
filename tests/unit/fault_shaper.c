// SPDX-License-Identifier: MIT
/* The shaper as traces: a train goes in, and the output is compared as text. Each packet that no
 * rule corrupts has the ICRC for its index in its train. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "net/link/fault/shaper.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/allocated.h"
#include "tests/suite.h"

#define LOCAL_QP  0x010005u
#define PEER_QP	  0x020006u
#define PAYLOAD	  64u
#define TX_PORT	  50000
#define PEER_PORT 51000
#define MS	  1000000ull

static struct fault_shaper *shaper;
static uint8_t buf[TRAIN_MAX_BYTES];
static struct wire_train train;
static char trace[8000];
static struct fault_qp qp;
static bool qp_known;
static char fired_log[1000];
static const struct gid us = { { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } },
			them = { { [10] = 0xff, [11] = 0xff, 127, 0, 0, 2 } };

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	const size_t at = strlen(trace);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(trace + at, sizeof(trace) - at, format, args);
	va_end(args);
}

static bool find_qp(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
		    struct fault_qp *ret)
{
	(void)arg;
	ck_assert(gid_equal(peer, &them));
	if (!qp_known || dest_qpn != (dir == FAULT_OUT ? PEER_QP : LOCAL_QP))
		return false;
	*ret = qp;
	return true;
}

static void fired(void *arg, const struct fault_firing *firing)
{
	const size_t at = strlen(fired_log);

	(void)arg;
	(void)snprintf(fired_log + at, sizeof(fired_log) - at, "%u:%s psn %u attempt %u\n",
		       firing->id, inject_action_str(firing->rule->action), firing->packet.psn,
		       firing->attempt);
}

static void setup(void)
{
	const struct fault_shaper_cfg cfg = { .tx_ports = { TX_PORT },
					      .find_qp = find_qp,
					      .fired = fired };

	shaper = fault_shaper_new(&cfg);
	qp = (struct fault_qp){ .qpn = LOCAL_QP, .index = 0, .peer_qpn = PEER_QP };
	qp_known = true;
	trace[0] = fired_log[0] = '\0';
}

static void teardown(void)
{
	fault_shaper_free(shaper);
}

static struct inject_rules written;

static void rules(const char *text)
{
	char error[INJECT_TEXT_MAX] = "";

	ck_assert_msg(inject_rules_add_text(&written, text, error), "%s", error);
	inject_packet_rules(fault_shaper_rules(shaper), &written);
}

static void write_packet(uint8_t *p, enum wire_op op, uint32_t dest_qpn, uint32_t psn)
{
	const struct bth bth = { .opcode = opcode_make(WIRE_RC, op),
				 .mig_req = true,
				 .pkey = 0xffff,
				 .dest_qpn = dest_qpn,
				 .psn = psn };

	memset(p, (int)psn, BTH_LEN + PAYLOAD);
	bth_emit(p, &bth);
}

/* Describes a packet of a train or an arrival: its PSN, and marks for what is wrong. */
static void tell(const uint8_t *p, uint32_t len, const struct icrc_flow *flow, enum ip_id_rule rule,
		 uint16_t ip_id)
{
	struct bth bth;

	if (len < BTH_LEN + ICRC_LEN) {
		say(" runt(%u)", len);
		return;
	}
	bth_parse(&bth, p);
	if (bth.opcode == opcode_make(WIRE_RC, OP_ACKNOWLEDGE))
		say(" nak(%02x qp %06x msn %u)", p[BTH_LEN], bth.dest_qpn,
		    get_be24(p + BTH_LEN + 1));
	say(" %u", bth.psn);
	if (icrc_check(flow, rule, ip_id, p, len) != ICRC_OK)
		say("!");
	if (len == BTH_LEN + PAYLOAD + ICRC_LEN)
		for (uint32_t i = BTH_LEN; i < BTH_LEN + PAYLOAD; i++)
			if (p[i] != (uint8_t)bth.psn)
				say("~");
}

static void tell_trains(const struct wire_train *t, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		const struct icrc_flow flow = { .src = us, .dst = them, .src_port = TX_PORT };

		say("[");
		for (uint16_t i = 0; i < t[k].segs; i++) {
			const uint32_t at = (uint32_t)i * t[k].seg_len;
			const uint32_t left = t[k].len - at;

			tell(t[k].buf + at, left < t[k].seg_len ? left : t[k].seg_len, &flow,
			     IP_ID_EXACT, i);
		}
		say(" ]");
	}
}

static void tell_arrivals(const struct wire_arrival *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct icrc_flow flow = { .src = a[i].src,
						.dst = a[i].dst,
						.src_port = a[i].src_port };

		ck_assert(gid_equal(&a[i].src, &them) && gid_equal(&a[i].dst, &us));
		tell(a[i].p, a[i].len, &flow, a[i].id_rule, a[i].ip_id);
	}
}

/* Makes a train of segs SEND_ONLY from psn. */
static void make_train(uint32_t psn, uint16_t segs)
{
	const struct icrc_flow flow = { .src = us, .dst = them, .src_port = TX_PORT };

	train = (struct wire_train){
		.buf = buf, .max_segs = TRAIN_MAX_SEGS, .src = us, .dst = them
	};
	for (uint16_t i = 0; i < segs; i++) {
		uint8_t *p = wire_train_add(&train, BTH_LEN + PAYLOAD + ICRC_LEN);

		ck_assert_ptr_nonnull(p);
		write_packet(p, OP_SEND_ONLY, PEER_QP, psn + i);
		icrc_store(p + BTH_LEN + PAYLOAD, icrc_compute(&flow, i, p, BTH_LEN + PAYLOAD));
	}
}

/* Sends it at time now. */
static void out(uint32_t psn, uint16_t segs, uint64_t now_ns)
{
	const struct wire_train *ret;
	size_t n;

	make_train(psn, segs);
	say("out:");
	n = fault_shaper_out(shaper, &train, now_ns, &ret);
	tell_trains(ret, n);
	say("\n");
}

/* Delivers a SEND_ONLY with index in its train. */
static void in(uint32_t psn, uint16_t index, uint64_t now_ns)
{
	const struct icrc_flow flow = { .src = them, .dst = us, .src_port = PEER_PORT };
	uint8_t p[BTH_LEN + PAYLOAD + ICRC_LEN], before[sizeof(p)];
	const struct wire_arrival *ret, arrival = { .p = p,
						    .len = sizeof(p),
						    .src_port = PEER_PORT,
						    .ip_id = index,
						    .id_rule = IP_ID_RULED,
						    .src = them,
						    .dst = us };
	size_t n;

	write_packet(p, OP_SEND_ONLY, LOCAL_QP, psn);
	icrc_store(p + BTH_LEN + PAYLOAD, icrc_compute(&flow, index, p, BTH_LEN + PAYLOAD));
	memcpy(before, p, sizeof(p));
	say("in:");
	n = fault_shaper_in(shaper, &arrival, now_ns, &ret);
	tell_arrivals(ret, n);
	say("\n");
	ck_assert_mem_eq(before, p, sizeof(p));
}

static void due(uint64_t now_ns)
{
	const struct wire_arrival *a;
	const struct wire_train *t;
	size_t n = fault_shaper_due_out(shaper, now_ns, &t);

	if (n) {
		say("due out:");
		tell_trains(t, n);
		say("\n");
	}
	n = fault_shaper_due_in(shaper, now_ns, &a);
	if (n) {
		say("due in:");
		tell_arrivals(a, n);
		say("\n");
	}
}

static void expect(const char *want)
{
	ck_assert_str_eq(trace, want);
	trace[0] = '\0';
}

START_TEST(untouched)
{
	const struct wire_train *ret;

	ck_assert(fault_shaper_passes(shaper, FAULT_OUT));
	out(100, 4, 0);
	expect("out:[ 100 101 102 103 ]\n");
	ck_assert_uint_eq(fault_shaper_out(shaper, &train, 0, &ret), 1);
	ck_assert_ptr_eq(ret[0].buf, buf);
	in(5, 3, 0);
	expect("in: 5\n");
	ck_assert_uint_eq(fault_shaper_deadline(shaper), UINT64_MAX);
}
END_TEST

/* A dropped packet: those before and after it stay trains, with new ICRCs. */
START_TEST(dropped)
{
	rules("drop psn=102..103 attempt=0");
	ck_assert(!fault_shaper_passes(shaper, FAULT_OUT));
	out(100, 8, 0);
	out(102, 2, 0);
	rules("drop dir=in nth=2");
	in(7, 0, 0);
	in(8, 1, 0);
	in(9, 2, 0);
	expect("out:[ 100 101 ][ 104 105 106 107 ]\n"
	       "out:[ 102 103 ]\n"
	       "in: 7\n"
	       "in:\n"
	       "in: 9\n");
	ck_assert_str_eq(fired_log, "1:drop psn 102 attempt 0\n"
				    "1:drop psn 103 attempt 0\n"
				    "2:drop psn 8 attempt 0\n");
}
END_TEST

/* A packet without payload that follows a dropped one has another index, and so another ICRC. */
START_TEST(dropped_before_the_shortest)
{
	const struct icrc_flow flow = { .src = us, .dst = them, .src_port = TX_PORT };
	const struct wire_train *ret;

	rules("drop psn=100");
	make_train(100, 0);
	for (uint16_t i = 0; i < 3; i++) {
		uint8_t *p = wire_train_add(&train, BTH_LEN + ICRC_LEN);
		const struct bth bth = { .opcode = opcode_make(WIRE_RC, OP_SEND_ONLY),
					 .dest_qpn = PEER_QP,
					 .psn = 100u + i };

		ck_assert_ptr_nonnull(p);
		bth_emit(p, &bth);
		icrc_store(p + BTH_LEN, icrc_compute(&flow, i, p, BTH_LEN));
	}
	ck_assert_uint_eq(fault_shaper_out(shaper, &train, 0, &ret), 1);
	ck_assert_uint_eq(ret->segs, 2);
	tell_trains(ret, 1);
	expect("[ 101 102 ]");
}
END_TEST

START_TEST(all_dropped)
{
	rules("drop");
	out(1, 64, 0);
	in(1, 0, 0);
	expect("out:\nin:\n");
}
END_TEST

START_TEST(duplicated)
{
	rules("duplicate nth=2 copies=2");
	out(100, 4, 0);
	in(7, 3, 0);
	in(8, 4, 0);
	expect("out:[ 100 ][ 101 ][ 101 ][ 101 ][ 102 103 ]\n"
	       "in: 7\n"
	       "in: 8 8 8\n");
}
END_TEST

START_TEST(delayed)
{
	rules("delay time=5ms nth=2\ndelay time=2ms nth=3");
	out(100, 4, 10 * MS);
	ck_assert_uint_eq(fault_shaper_deadline(shaper), 12 * MS);
	due(12 * MS - 1);
	due(12 * MS);
	ck_assert_uint_eq(fault_shaper_deadline(shaper), 15 * MS);
	in(7, 0, 13 * MS);
	in(8, 1, 13 * MS);
	due(15 * MS);
	due(17 * MS);
	due(18 * MS);
	ck_assert_uint_eq(fault_shaper_deadline(shaper), UINT64_MAX);
	expect("out:[ 100 ][ 103 ]\n"
	       "due out:[ 102 ]\n"
	       "in: 7\n"
	       "in:\n"
	       "due out:[ 101 ]\n"
	       "due in: 8\n");
}
END_TEST

/* A packet that waited leaves when it is due, with the next packet if nothing asked before. */
START_TEST(due_with_the_next_packet)
{
	rules("delay time=1ms nth=1");
	out(100, 1, 0);
	out(101, 2, 5 * MS);
	expect("out:\nout:[ 101 ][ 100 ][ 102 ]\n");
}
END_TEST

START_TEST(reordered)
{
	rules("reorder behind=2 nth=2");
	out(100, 5, 0);
	in(1, 0, 0);
	in(2, 1, 0);
	in(3, 2, 0);
	in(4, 3, 0);
	in(5, 4, 0);
	expect("out:[ 100 ][ 102 103 ][ 101 ][ 104 ]\n"
	       "in: 1\n"
	       "in:\n"
	       "in: 3\n"
	       "in: 4 2\n"
	       "in: 5\n");
}
END_TEST

/* No packet follows: it leaves at its latest time. */
START_TEST(reordered_last)
{
	rules("reorder behind=2 within=3ms nth=2");
	out(100, 2, 0);
	due(3 * MS - 1);
	due(3 * MS);
	expect("out:[ 100 ]\ndue out:[ 101 ]\n");
}
END_TEST

/* One flipped bit is seen by the ICRC: ! is a bad ICRC, ~ a changed byte of payload. */
START_TEST(corrupted)
{
	rules("corrupt part=payload nth=1\ncorrupt part=payload icrc=good nth=2\n"
	      "corrupt part=icrc nth=3\n");
	out(100, 4, 0);
	in(7, 0, 0);
	in(8, 1, 0);
	in(9, 2, 0);
	in(10, 3, 0);
	expect("out:[ 100!~ ][ 101~ ][ 102! ][ 103 ]\n"
	       "in: 7!~\n"
	       "in: 8~\n"
	       "in: 9!\n"
	       "in: 10\n");
}
END_TEST

/* An ICRC that was computed again holds for one identification, which the link then knows. */
START_TEST(corrupted_with_good_icrc)
{
	const struct wire_arrival *ret, arrival = { .p = buf,
						    .len = BTH_LEN + PAYLOAD + ICRC_LEN,
						    .ip_id = 5,
						    .id_rule = IP_ID_ANY,
						    .src = them,
						    .dst = us };

	rules("corrupt part=payload icrc=good");
	write_packet(buf, OP_SEND_ONLY, LOCAL_QP, 7);
	ck_assert_uint_eq(fault_shaper_in(shaper, &arrival, 0, &ret), 1);
	ck_assert_int_eq(ret->id_rule, IP_ID_EXACT);
	ck_assert_uint_eq(ret->ip_id, 0);
}
END_TEST

/* The shortest packets, of a header and an ICRC, also get the ICRC of their new place. */
START_TEST(cut_shortest)
{
	const struct icrc_flow flow = { .src = us, .dst = them, .src_port = TX_PORT };
	const struct wire_train *ret;

	rules("drop nth=1");
	train = (struct wire_train){
		.buf = buf, .max_segs = TRAIN_MAX_SEGS, .src = us, .dst = them
	};
	for (uint16_t i = 0; i < 3; i++) {
		const struct bth bth = { .opcode = opcode_make(WIRE_RC, OP_SEND_ONLY),
					 .dest_qpn = PEER_QP,
					 .psn = i };
		uint8_t *p = wire_train_add(&train, BTH_LEN + ICRC_LEN);

		ck_assert_ptr_nonnull(p);
		bth_emit(p, &bth);
		icrc_store(p + BTH_LEN, icrc_compute(&flow, i, p, BTH_LEN));
	}
	ck_assert_uint_eq(fault_shaper_out(shaper, &train, 0, &ret), 1);
	tell_trains(ret, 1);
	expect("[ 1 2 ]");
}
END_TEST

/* Every flipped bit of the headers changes the ICRC. */
START_TEST(corrupted_headers)
{
	const struct icrc_flow flow = { .src = us, .dst = them, .src_port = TX_PORT };

	rules("corrupt part=header dir=out");
	for (uint32_t psn = 0; psn < 2000; psn++) {
		const struct wire_train *ret;

		make_train(psn, 1);
		fired_log[0] = '\0';
		ck_assert_uint_eq(fault_shaper_out(shaper, &train, 0, &ret), 1);
		ck_assert_int_eq(icrc_check(&flow, IP_ID_EXACT, 0, ret->buf, ret->len), ICRC_BAD);
	}
}
END_TEST

START_TEST(truncated)
{
	rules("truncate keep=9 nth=2\ntruncate keep=30 nth=3\ntruncate keep=4000 nth=4\n"
	      "truncate keep=0 nth=5");
	out(100, 5, 0);
	expect("out:[ 100 ][ runt(9) ][ 102! ][ 103 ][ runt(0) ]\n");
	ck_assert_ptr_null(strstr(fired_log, "3:"));
}
END_TEST

/* An RNR NAK to the peer: later requests are dropped until that one comes again. */
START_TEST(rnr_in)
{
	rules("rnr_nak dir=in timer=14 nth=2");
	qp.can_answer = true;
	qp.msn = 41;
	qp.answer_psn = 7;
	in(7, 0, 0);
	qp.answer_psn = 8;
	in(8, 1, 5);
	ck_assert_uint_eq(fault_shaper_deadline(shaper), 5);
	in(9, 2, 6);
	due(6);
	in(6, 0, 7);
	in(9, 0, 7);
	in(8, 0, 8);
	qp.answer_psn = 9;
	in(9, 1, 8);
	expect("in: 7\n"
	       "in:\n"
	       "in:\n"
	       "due out:[ nak(2e qp 020006 msn 41) 8 ]\n"
	       "in: 6\n"
	       "in:\n"
	       "in: 8\n"
	       "in: 9\n");
}
END_TEST

/* An RNR NAK to the device itself: its own packets are not sent. */
START_TEST(nak_out)
{
	rules("nak dir=out code=remote_access psn=101");
	qp.can_answer = true;
	qp.answer_psn = 101;
	out(100, 4, 0);
	due(0);
	expect("out:[ 100 ]\n"
	       "due in: nak(62 qp 010005 msn 0) 101\n");
	ck_assert_str_eq(fired_log, "1:nak psn 101 attempt 0\n");
}
END_TEST

/* A NAK acknowledges all before it. Where that is unknown, no NAK is sent and the packet passes. */
START_TEST(not_answered)
{
	rules("rnr_nak");
	out(100, 2, 0);
	qp.can_answer = true;
	qp.answer_psn = 99;
	out(102, 1, 0);
	qp_known = false;
	in(7, 0, 0);
	due(0);
	expect("out:[ 100 ][ 101 ]\nout:[ 102 ]\nin: 7\n");
	ck_assert_uint_eq(fault_shaper_stats(shaper)->unanswered, 4);
	ck_assert_str_eq(fired_log, "");
}
END_TEST

/* Selection by order of creation, also where the packet does not name the device's QP. */
START_TEST(by_index)
{
	rules("drop qp=#3");
	out(100, 1, 0);
	qp.index = 3;
	out(101, 1, 0);
	in(7, 0, 0);
	qp_known = false;
	out(102, 1, 0);
	expect("out:[ 100 ]\nout:\nin:\nout:[ 102 ]\n");
}
END_TEST

/* More packets than can wait: the rest passes at once and is counted. */
START_TEST(overflow)
{
	rules("delay time=10ms");
	for (uint32_t i = 0; i < FAULT_HELD / 64; i++)
		out(i * 64, 64, 0);
	out(1000, 2, 0);
	expect("out:\nout:\nout:\nout:\nout:[ 1000 ][ 1001 ]\n");
	ck_assert_uint_eq(fault_shaper_stats(shaper)->overflows, 2);
	for (uint32_t turn = 0; turn < 3; turn++) {
		const struct wire_train *ret;

		ck_assert_uint_eq(fault_shaper_due_out(shaper, 10 * MS, &ret),
				  turn ? 0 : FAULT_HELD);
	}
	out(2000, 1, 11 * MS);
	expect("out:\n");
	ck_assert_uint_eq(fault_shaper_stats(shaper)->overflows, 2);
}
END_TEST

START_TEST(frees_what_it_has)
{
	const struct fault_shaper_cfg cfg = { .find_qp = find_qp };
	const size_t before = allocated_bytes();

	for (uint32_t i = 0; i < 3; i++)
		fault_shaper_free(fault_shaper_new(&cfg));
	ck_assert_uint_eq(allocated_bytes(), before);
}
END_TEST

START_TEST(runts)
{
	const struct wire_arrival *ret, runt = { .p = buf, .len = 3, .src = them, .dst = us };

	rules("drop");
	ck_assert_uint_eq(fault_shaper_in(shaper, &runt, 0, &ret), 1);
	ck_assert_uint_eq(ret->len, 3);
}
END_TEST

static void expect_passes(bool outgoing, bool incoming)
{
	ck_assert(fault_shaper_passes(shaper, FAULT_OUT) == outgoing);
	ck_assert(fault_shaper_passes(shaper, FAULT_IN) == incoming);
}

/* Packets of a direction that no rule is about bypass the shaper, unless packets wait in it. */
START_TEST(bypassed)
{
	expect_passes(true, true);
	rules("delay time=1ms dir=in nth=1");
	expect_passes(true, false);
	in(7, 0, 0);
	expect_passes(false, false);
	due(1 * MS);
	expect_passes(true, false);
	rules("drop opcode=ACKNOWLEDGE dir=out");
	expect_passes(false, false);
}
END_TEST

START_TEST(bypassed_by_no_direction)
{
	rules("drop nth=1000000");
	expect_passes(false, false);
}
END_TEST

/* The shaper drops what follows a request that it answered with a NAK, also without the rule. */
START_TEST(not_bypassed_when_muted)
{
	rules("rnr_nak dir=in timer=14 nth=1");
	qp.can_answer = true;
	qp.answer_psn = 7;
	in(7, 0, 0);
	due(1);
	inject_packet_rules(fault_shaper_rules(shaper), &(struct inject_rules){ 0 });
	expect_passes(false, false);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fault_shaper");
	TCase *tc = tcase_create("shaper");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, untouched);
	tcase_add_test(tc, dropped);
	tcase_add_test(tc, dropped_before_the_shortest);
	tcase_add_test(tc, all_dropped);
	tcase_add_test(tc, frees_what_it_has);
	tcase_add_test(tc, duplicated);
	tcase_add_test(tc, delayed);
	tcase_add_test(tc, due_with_the_next_packet);
	tcase_add_test(tc, reordered);
	tcase_add_test(tc, reordered_last);
	tcase_add_test(tc, corrupted);
	tcase_add_test(tc, corrupted_with_good_icrc);
	tcase_add_test(tc, cut_shortest);
	tcase_add_test(tc, corrupted_headers);
	tcase_add_test(tc, truncated);
	tcase_add_test(tc, rnr_in);
	tcase_add_test(tc, nak_out);
	tcase_add_test(tc, not_answered);
	tcase_add_test(tc, by_index);
	tcase_add_test(tc, overflow);
	tcase_add_test(tc, runts);
	tcase_add_test(tc, bypassed);
	tcase_add_test(tc, bypassed_by_no_direction);
	tcase_add_test(tc, not_bypassed_when_muted);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
