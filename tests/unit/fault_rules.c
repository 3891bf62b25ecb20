// SPDX-License-Identifier: MIT
/* Fault rules: the language, its error messages, and when a rule fires. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "lib/inject/value.h"
#include "net/wire/opcode.h"
#include "tests/suite.h"

#define RC_ACK	     0x11
#define RC_SEND_ONLY 0x04

static struct inject_rule parsed_whole(const char *text)
{
	char error[INJECT_TEXT_MAX] = "";
	struct inject_rule rule;

	ck_assert_msg(inject_rule_parse(&rule, text, error), "%s: %s", text, error);
	return rule;
}

static struct fault_rule parsed(const char *text)
{
	const struct inject_rule rule = parsed_whole(text);

	ck_assert_uint_lt(rule.action, FAULT_ACTIONS);
	return rule.packet;
}

static void fault_rules_add(struct fault_rules *rules, const struct fault_rule *rule)
{
	rules->rule[rules->n] = *rule;
	rules->id[rules->n++] = ++rules->next_id;
}

static struct fault_packet packet_of(enum fault_dir dir, uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	return (struct fault_packet){
		.dir = dir, .opcode = opcode, .psn = psn, .qpn = qpn, .qp_index = FAULT_NO_INDEX
	};
}

/* Each text, and its normal form, which parses to the same rule. */
static const char *const row[][2] = {
	{ "drop", NULL },
	{ "  drop   opcode=ACKNOWLEDGE nth=3 qp=0x11\n", "drop opcode=ACKNOWLEDGE qp=0x11 nth=3" },
	{ "duplicate", "duplicate copies=1" },
	{ "duplicate copies=3 dir=in", NULL },
	{ "delay time=5ms", NULL },
	{ "delay time=0.25ms", "delay time=250us" },
	{ "delay time=1s dir=out", "delay time=1000ms dir=out" },
	{ "delay time=17ns", NULL },
	{ "reorder", "reorder behind=1 within=1ms" },
	{ "reorder behind=5 within=20us psn=16777210..3", NULL },
	{ "corrupt", "corrupt part=payload" },
	{ "corrupt part=header icrc=good", NULL },
	{ "corrupt part=icrc icrc=bad", "corrupt part=icrc" },
	{ "truncate", "truncate keep=12" },
	{ "truncate keep=0", NULL },
	{ "rnr_nak", "rnr_nak timer=1" },
	{ "rnr_nak timer=0x1f opcode=SEND_*", "rnr_nak timer=31 opcode=SEND_*" },
	{ "nak code=remote_access", NULL },
	{ "nak code=0", "nak code=psn_sequence" },
	{ "nak code=17", NULL },
	{ "drop opcode=RC_WRITE_*,0x11,UD_SEND_ONLY", NULL },
	{ "drop qp=#0..3 peer_qp=0x10..0x20 attempt=1..9", NULL },
	{ "drop every=10 seen=5..6 seed=18446744073709551615", NULL },
	{ "drop probability=1% seed=7", "drop probability=0.01 seed=7" },
	{ "drop probability=33.3%", "drop probability=0.333" },
	{ "drop probability=0.00000001", "drop probability=1e-08" },
	{ "drop probability=1", "drop" },
	{ "drop dir=any", "drop" },
	{ "drop probability=0", NULL },
	{ "completion status=REM_ACCESS_ERR", "completion status=IBV_WC_REM_ACCESS_ERR" },
	{ "completion status=IBV_WC_RETRY_EXC_ERR side=send qp=#1 nth=3", NULL },
	{ "completion status=IBV_WC_TM_RNDV_INCOMPLETE side=recv qp=0x11 every=2", NULL },
	{ "completion status=GENERAL_ERR side=any probability=0.5 seed=1",
	  "completion status=IBV_WC_GENERAL_ERR probability=0.5 seed=1" },
	{ "verb name=ibv_reg_mr errno=ENOMEM nth=2", NULL },
	{ "verb name=create_*,ibv_alloc_pd errno=12 every=3",
	  "verb name=create_*,ibv_alloc_pd errno=ENOMEM every=3" },
	{ "verb errno=4000 name=ibv_post_send", "verb name=ibv_post_send errno=4000" },
	{ "port_down", NULL },
	{ "port_down after=2s time=500ms", "port_down time=500ms after=2000ms" },
	{ "gid_change", "gid_change index=0" },
	{ "gid_change index=1 gid=10.0.0.9 time=1s",
	  "gid_change index=1 gid=10.0.0.9 time=1000ms" },
	{ "gid_change gid=fe80::1", "gid_change index=0 gid=fe80::1" },
	{ "gid_change gid=none", "gid_change index=0 gid=none" },
	{ "gid_change to=3", "gid_change index=0 to=3" },
	{ "device_fatal after=3600s", "device_fatal after=3600000ms" },
	{ "cm_drop", NULL },
	{ "cm_drop message=REQ,SIDR_REQ dir=in nth=1..3", NULL },
	{ "cm_duplicate every=2 message=REP", "cm_duplicate message=REP every=2" },
	{ "cm_delay message=REP time=2s dir=out", "cm_delay message=REP time=2000ms dir=out" },
	{ "cm_reject", "cm_reject reason=28" },
	{ "cm_reject reason=3 nth=2", NULL },
};

START_TEST(round_trip)
{
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct inject_rule rule = parsed_whole(row[i][0]), again;
		char text[INJECT_TEXT_MAX], second[INJECT_TEXT_MAX];

		ck_assert_int_lt(inject_rule_format(text, sizeof(text), &rule), (int)sizeof(text));
		ck_assert_str_eq(text, row[i][1] ? row[i][1] : row[i][0]);
		again = parsed_whole(text);
		ck_assert_mem_eq(rule.packet.opcode_set, again.packet.opcode_set,
				 sizeof(rule.packet.opcode_set));
		ck_assert_uint_eq(rule.packet.probability, again.packet.probability);
		ck_assert_uint_eq(rule.packet.delay_ns, again.packet.delay_ns);
		ck_assert_uint_eq(rule.packet.syndrome, again.packet.syndrome);
		ck_assert_int_lt(inject_rule_format(second, sizeof(second), &again),
				 INJECT_TEXT_MAX);
		ck_assert_str_eq(text, second);
	}
}
END_TEST

/* A rule above the link depends only on its selectors and on counts. */
START_TEST(completions_counted)
{
	static struct inject_rules rules;
	static struct fault_rules packets;
	struct fault_counters *counters = fault_counters_new();
	const struct inject_rule rule =
		parsed_whole("completion status=GENERAL_ERR side=send qp=#1 nth=2..3");
	const struct inject_completion other = { 0x11, 0, INJECT_SEND },
				       recv = { 0x12, 1, INJECT_RECV },
				       send = { 0x12, 1, INJECT_SEND };
	uint32_t nth = 0;

	ck_assert_uint_eq(inject_rules_add(&rules, &rule), 1);
	for (uint32_t i = 1; i <= 4; i++) {
		ck_assert_int_eq(inject_decide_completion(&rules, counters, &other, &nth), -1);
		ck_assert_int_eq(inject_decide_completion(&rules, counters, &recv, &nth), -1);
		ck_assert_int_eq(inject_decide_completion(&rules, counters, &send, &nth),
				 i == 2 || i == 3 ? 0 : -1);
		if (i == 3)
			ck_assert_uint_eq(nth, 3);
	}
	inject_packet_rules(&packets, &rules);
	ck_assert_uint_eq(packets.n, 0);
	fault_counters_free(counters);
}
END_TEST

START_TEST(verbs_by_name)
{
	const struct inject_rule one = parsed_whole("verb name=ibv_reg_mr errno=ENOMEM nth=2"),
				 some = parsed_whole(
					 "verb name=create_* errno=ENOMEM probability=50% seed=3"),
				 rdma = parsed_whole("verb name=rdma_resolve_* errno=EINTR");
	uint32_t fell = 0;

	ck_assert(inject_selects_verb(&one, INJECT_VERB_reg_mr));
	ck_assert(!inject_selects_verb(&one, INJECT_VERB_reg_mr_iova));
	ck_assert(!inject_fires_verb(&one, 1, INJECT_VERB_reg_mr, 1));
	ck_assert(inject_fires_verb(&one, 1, INJECT_VERB_reg_mr, 2));
	ck_assert(inject_selects_verb(&some, INJECT_VERB_create_qp) &&
		  inject_selects_verb(&some, INJECT_VERB_create_comp_channel) &&
		  !inject_selects_verb(&some, INJECT_VERB_destroy_qp));
	for (uint32_t nth = 1; nth <= 1000; nth++)
		fell += inject_fires_verb(&some, 7, INJECT_VERB_create_qp, nth);
	ck_assert_uint_gt(fell, 400);
	ck_assert_uint_lt(fell, 600);
	ck_assert(inject_selects_verb(&rdma, INJECT_VERB_rdma_resolve_addr) &&
		  inject_selects_verb(&rdma, INJECT_VERB_rdma_resolve_route) &&
		  !inject_selects_verb(&rdma, INJECT_VERB_rdma_connect));
	ck_assert(!inject_selects_verb(&some, INJECT_VERB_rdma_create_id));
	ck_assert_str_eq(inject_verb_str(INJECT_VERB_alloc_dm), "ibv_alloc_dm");
	ck_assert_str_eq(inject_verb_str(INJECT_VERB_rdma_connect), "rdma_connect");
	ck_assert_int_eq(inject_verb_kind(INJECT_VERB_dereg_mr), INJECT_VERB_DESTROY);
	ck_assert_int_eq(inject_verb_kind(INJECT_VERB_poll_cq), INJECT_VERB_LOCAL);
}
END_TEST

static const char *const bad_text[][2] = {
	{ "", "unknown action ''; known are drop duplicate" },
	{ "loose nth=3", "unknown action 'loose'" },
	{ "drop nht=3", "unknown word 'nht=3'; drop knows dir= opcode=" },
	{ "drop qp", "unknown word 'qp'" },
	{ "drop =3", "unknown word '=3'" },
	{ "drop nth=0", "nth=0: expected a count from 1" },
	{ "drop nth=", "nth=: expected a count" },
	{ "drop nth=3..2", "nth=3..2: expected" },
	{ "drop nth=-1", "expected a count" },
	{ "drop nth=99999999999", "expected a count" },
	{ "drop nth=3x", "expected a count" },
	{ "drop delay time=5ms", "drop and delay: a rule has one action" },
	{ "nth=3 drop", "a rule begins with its action: drop nth=3" },
	{ "drop nth=1 nth=2", "nth= is there twice" },
	{ "drop opcode=ACKNOWLEGDE", "opcode=ACKNOWLEGDE: expected ACKNOWLEDGE, RC_SEND_ONLY" },
	{ "drop opcode=256", "expected ACKNOWLEDGE" },
	{ "drop opcode=", "expected ACKNOWLEDGE" },
	{ "drop dir=up", "expected in, out or any" },
	{ "drop psn=0x1000000", "expected a number below 2^24" },
	{ "drop qp=0x1000000", "expected a QP number" },
	{ "drop probability=1.5", "expected 0.01 or 1%" },
	{ "drop probability=nan", "expected 0.01 or 1%" },
	{ "drop probability=200%", "expected 0.01 or 1%" },
	{ "drop time=5ms", "time= does not go with drop" },
	{ "delay", "delay needs time=, as in time=5ms" },
	{ "cm_delay", "cm_delay needs time=, as in time=5ms" },
	{ "verb name=rdma_dance errno=EIO", "name=rdma_dance: expected ibv_reg_mr" },
	{ "delay time=5", "expected 5ms, 20us or 1s" },
	{ "delay time=61s", "up to 60s" },
	{ "delay within=5ms", "within= does not go with delay" },
	{ "duplicate copies=4", "expected 1 to 3" },
	{ "corrupt part=middle", "expected payload, header or icrc" },
	{ "corrupt part=icrc icrc=good", "contradict" },
	{ "nak", "nak needs code=" },
	{ "nak code=5x", "expected psn_sequence" },
	{ "rnr_nak timer=32", "expected an RNR timer code, 0 to 31" },
	{ "completion", "completion needs status=" },
	{ "completion status=SUCCESS", "status=SUCCESS: expected IBV_WC_REM_ACCESS_ERR" },
	{ "completion status=IBV_WC_OOPS", "any other error of enum ibv_wc_status" },
	{ "completion status=GENERAL_ERR side=both", "expected send, recv or any" },
	{ "completion status=GENERAL_ERR psn=3", "psn= does not go with completion" },
	{ "completion stat=1",
	  "completion knows qp= nth= every= probability= seed= status= side=" },
	{ "verb name=ibv_reg_mr", "verb needs errno=" },
	{ "verb errno=EIO", "verb needs name=" },
	{ "verb name=ibv_reg_mrs errno=EIO", "name=ibv_reg_mrs: expected ibv_reg_mr" },
	{ "verb name=, errno=EIO", "name=,: expected" },
	{ "verb name=reg_mr errno=EWHAT", "errno=EWHAT: expected ENOMEM" },
	{ "verb name=reg_mr errno=0", "errno=0: expected" },
	{ "verb name=reg_mr errno=EIO qp=1", "qp= does not go with verb" },
	{ "port_down time=3601s", "port_down and gid_change: 3600s" },
	{ "port_down nth=1", "nth= does not go with port_down" },
	{ "gid_change index=16", "an index of the GID table, 0 to 15" },
	{ "gid_change gid=localhost", "an IPv4 or IPv6 address, or none" },
	{ "gid_change gid=none to=1", "contradict" },
	{ "gid_change to=0", "nothing would change" },
	{ "device_fatal time=1s", "time= does not go with device_fatal" },
	{ "cm_drop message=HELLO", "message=HELLO: expected REQ, REP" },
	{ "cm_reject message=REQ", "message= does not go with cm_reject" },
	{ "cm_reject reason=0", "expected a reason of a REJ" },
	{ "cm_drop opcode=SEND_ONLY", "opcode= does not go with cm_drop" },
};

START_TEST(messages_say_what_is_wrong)
{
	for (size_t i = 0; i < sizeof(bad_text) / sizeof(bad_text[0]); i++) {
		char error[INJECT_TEXT_MAX] = "";
		struct inject_rule rule;

		ck_assert_msg(!inject_rule_parse(&rule, bad_text[i][0], error), "%s",
			      bad_text[i][0]);
		ck_assert_msg(strstr(error, bad_text[i][1]), "'%s' says '%s', not '%s'",
			      bad_text[i][0], error, bad_text[i][1]);
	}
}
END_TEST

START_TEST(long_texts)
{
	char text[1000], error[INJECT_TEXT_MAX];
	struct inject_rule rule;

	memset(text, 'x', sizeof(text));
	text[999] = '\0';
	ck_assert(!inject_rule_parse(&rule, text, error));
	memcpy(text, "drop opcode=", 12);
	text[200] = '\0';
	ck_assert(!inject_rule_parse(&rule, text, error));
	memcpy(text, "drop nth=123456789012345678901234567890..", 41);
	text[250] = '\0';
	ck_assert(!inject_rule_parse(&rule, text, error));
}
END_TEST

START_TEST(files)
{
	struct inject_rules rules = { 0 };
	char error[INJECT_TEXT_MAX] = "";

	ck_assert(inject_rules_add_text(&rules,
					"# lost ACKs\n\n  drop opcode=ACKNOWLEDGE nth=3\n"
					"\tdelay time=1ms # no: a word\n",
					error) == false);
	ck_assert_ptr_nonnull(strstr(error, "line 4: unknown word '#'"));
	ck_assert_uint_eq(rules.n, 0);

	ck_assert(inject_rules_add_text(&rules, "# lost ACKs\n\n  drop nth=3\r\n\t\ndelay time=1ms",
					error));
	ck_assert_uint_eq(rules.n, 2);
	ck_assert_uint_eq(rules.id[1], 2);
	ck_assert_uint_eq(rules.rule[1].action, FAULT_DELAY);

	/* The table is full. */
	for (uint32_t i = rules.n; i < FAULT_MAX_RULES; i++)
		ck_assert_uint_eq(inject_rules_add(&rules, &rules.rule[0]), i + 1);
	ck_assert(!inject_rules_add_text(&rules, "drop", error));
	ck_assert_ptr_nonnull(strstr(error, "line 1: there are 32 rules already"));
}
END_TEST

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 32)
#define SYSTEM_HAS_NAMES
#endif
#endif

#ifdef SYSTEM_HAS_NAMES
START_TEST(errno_names)
{
	for (int error = -1; error < 200; error++) {
		const char *name = error ? strerrorname_np(error) : NULL;

		ck_assert_pstr_eq(inject_errno_name(error), name);
	}
}
END_TEST
#endif

START_TEST(opcode_names)
{
	const struct fault_rule ack = parsed("drop opcode=ACKNOWLEDGE"),
				sends = parsed("drop opcode=SEND_*"),
				ud = parsed("drop opcode=UD_*,0x81");

	for (uint32_t op = 0; op < 256; op++) {
		const struct fault_packet p = packet_of(FAULT_IN, (uint8_t)op, 1, 1);
		const uint32_t shape = wire_shape((uint8_t)op);
		const bool is_ud = shape && opcode_service((uint8_t)op) == WIRE_UD;

		ck_assert_int_eq(fault_selects(&ack, &p), op == 0x11 || op == 0xb1);
		ck_assert_int_eq(fault_selects(&sends, &p), (shape & SHAPE_SEND) != 0);
		ck_assert_int_eq(fault_selects(&ud, &p), is_ud || op == 0x81);
	}
}
END_TEST

START_TEST(selectors)
{
	const struct fault_rule qp = parsed("drop qp=5 dir=in"), index = parsed("drop qp=#1..2"),
				psn = parsed("drop psn=0xfffffe..1"), rnr = parsed("rnr_nak");
	struct fault_packet p = packet_of(FAULT_IN, RC_SEND_ONLY, 5, 0);

	ck_assert(fault_selects(&qp, &p));
	ck_assert(!fault_selects(&index, &p));
	ck_assert(fault_selects(&rnr, &p));
	p.qp_index = 1;
	ck_assert(fault_selects(&index, &p));
	p.qp_index = 3;
	ck_assert(!fault_selects(&index, &p));
	p.dir = FAULT_OUT;
	ck_assert(!fault_selects(&qp, &p));
	for (uint32_t i = 0; i < 8; i++) {
		p.psn = (0xfffffc + i) & 0xffffff;
		ck_assert_int_eq(fault_selects(&psn, &p), i >= 2 && i <= 5);
	}
	/* Only requests of reliable connections can be answered. */
	p.opcode = RC_ACK;
	ck_assert(!fault_selects(&rnr, &p));
	p.opcode = 0x64;
	ck_assert(!fault_selects(&rnr, &p));
}
END_TEST

/* Returns a mask: for which of the first n packets, with PSNs from 0, the rule fires. */
static uint64_t firings(struct fault_rules *rules, struct fault_counters *counters,
			struct fault_packet p, uint32_t n)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < n; i++) {
		p.psn = i;
		if (fault_decide(rules, counters, &p, fault_attempt(counters, &p)) >= 0)
			mask |= 1ull << i;
	}
	return mask;
}

static uint64_t firings_of(const char *text, struct fault_packet p, uint32_t n)
{
	struct fault_rules rules = { 0 };
	struct fault_counters *counters = fault_counters_new();
	const struct fault_rule rule = parsed(text);
	uint64_t mask;

	fault_rules_add(&rules, &rule);
	mask = firings(&rules, counters, p, n);
	fault_counters_free(counters);
	return mask;
}

START_TEST(counted)
{
	const struct fault_packet p = packet_of(FAULT_OUT, RC_SEND_ONLY, 9, 0);

	ck_assert_uint_eq(firings_of("drop nth=3", p, 20), 1u << 2);
	ck_assert_uint_eq(firings_of("drop nth=3..5", p, 20), 7u << 2);
	ck_assert_uint_eq(firings_of("drop every=4", p, 16), 0x8888);
	ck_assert_uint_eq(firings_of("drop every=4 nth=5..9", p, 16), 0x80);
	ck_assert_uint_eq(firings_of("drop seen=2", p, 16), 0x2);
	ck_assert_uint_eq(firings_of("drop psn=4..6 nth=2", p, 16), 1u << 5);
	ck_assert_uint_eq(firings_of("drop attempt=1", p, 16), 0);
	ck_assert_uint_eq(firings_of("drop", p, 16), 0xffff);
	ck_assert_uint_eq(firings_of("drop probability=0", p, 64), 0);
}
END_TEST

/* A process reads all rules again when one is added or cleared. The counts of the others
 * continue. */
START_TEST(counts_outlive_a_change)
{
	const struct fault_packet p = packet_of(FAULT_OUT, RC_SEND_ONLY, 9, 0);
	struct fault_rules before = { 0 }, after = { 0 };
	struct fault_counters *counters = fault_counters_new();
	const struct fault_rule nth = parsed("drop nth=5"), seen = parsed("drop seen=7"),
				other = parsed("drop opcode=ACKNOWLEDGE");

	fault_rules_add(&before, &nth);
	fault_rules_add(&before, &seen);
	ck_assert_uint_eq(firings(&before, counters, p, 4), 0);
	fault_rules_add(&after, &nth);
	fault_rules_add(&after, &seen);
	fault_rules_add(&after, &other);
	ck_assert_uint_eq(firings(&after, counters, p, 6), 1u << 0 | 1u << 2);
	fault_counters_free(counters);
}
END_TEST

/* Counts are per QP, direction and opcode, independent of other packets. */
START_TEST(counted_apart)
{
	struct fault_rules rules = { 0 };
	struct fault_counters *counters = fault_counters_new();
	const struct fault_rule rule = parsed("drop nth=3");
	uint32_t fired[2][2][2] = { 0 };

	fault_rules_add(&rules, &rule);
	for (uint32_t i = 0; i < 3 * 8; i++) {
		const uint32_t qp = i & 1, op = i >> 1 & 1, dir = i >> 2 & 1;
		const struct fault_packet p = packet_of(dir ? FAULT_IN : FAULT_OUT,
							op ? RC_ACK : RC_SEND_ONLY, qp + 7, i);

		if (fault_decide(&rules, counters, &p, fault_attempt(counters, &p)) < 0)
			continue;
		ck_assert_uint_ge(i, 16);
		fired[qp][op][dir]++;
	}
	for (uint32_t i = 0; i < 8; i++)
		ck_assert_uint_eq(fired[i & 1][i >> 1 & 1][i >> 2], 1);
	fault_counters_free(counters);
}
END_TEST

/* The first rule that fires acts; the others continue to count. */
START_TEST(several_rules)
{
	struct inject_rules written = { 0 };
	struct fault_rules rules;
	struct fault_counters *counters = fault_counters_new();
	const struct fault_packet p = packet_of(FAULT_OUT, RC_SEND_ONLY, 9, 0);
	char error[INJECT_TEXT_MAX];
	int got[6];

	ck_assert(inject_rules_add_text(
		&written, "drop nth=2\nduplicate nth=2..4\ntruncate nth=4..5\n", error));
	inject_packet_rules(&rules, &written);
	for (uint32_t i = 0; i < 6; i++)
		got[i] = fault_decide(&rules, counters, &p, 0);
	ck_assert_int_eq(got[0], -1);
	ck_assert_int_eq(got[1], 0);
	ck_assert_int_eq(got[2], 1);
	ck_assert_int_eq(got[3], 1);
	ck_assert_int_eq(got[4], 2);
	ck_assert_int_eq(got[5], -1);
	fault_counters_free(counters);
}
END_TEST

/* The same seed gives the same result in every run, with the probability that the rule names. */
START_TEST(repeatable)
{
	struct fault_packet p = packet_of(FAULT_OUT, RC_SEND_ONLY, 0x010009, 0);
	const uint64_t first = firings_of("drop probability=0.25 seed=1", p, 64);
	const struct fault_rule rule = parsed("drop probability=0.1 seed=3");
	const struct fault_count none = { 0 };
	uint32_t hits = 0;

	ck_assert_uint_eq(firings_of("drop probability=0.25 seed=1", p, 64), first);
	ck_assert_uint_ne(firings_of("drop probability=0.25 seed=2", p, 64), first);
	p.qpn++;
	ck_assert_uint_ne(firings_of("drop probability=0.25 seed=1", p, 64), first);
	/* QPs are identified by order of creation; the number does not matter. */
	p.qp_index = 4;
	const uint64_t by_index = firings_of("drop probability=0.25 seed=1", p, 64);

	p.qpn += 77;
	ck_assert_uint_eq(firings_of("drop probability=0.25 seed=1", p, 64), by_index);

	for (p.psn = 0; p.psn < 100000; p.psn++)
		hits += fault_fires(&rule, 1, &p, &none);
	ck_assert_uint_gt(hits, 9500);
	ck_assert_uint_lt(hits, 10500);
}
END_TEST

/* A repeated packet has another attempt number, and so another hash. */
START_TEST(attempts)
{
	struct fault_counters *counters = fault_counters_new();
	const struct fault_rule half = parsed("drop probability=0.5"),
				again = parsed("drop attempt=1..2");
	struct fault_packet p = packet_of(FAULT_OUT, RC_SEND_ONLY, 9, 0);
	uint32_t differ = 0;

	for (uint32_t turn = 0; turn < 4; turn++)
		for (p.psn = 0; p.psn < 1000; p.psn++) {
			const struct fault_count count = { .attempt = fault_attempt(counters, &p) };
			const struct fault_count zero = { 0 };

			ck_assert_uint_eq(count.attempt, turn);
			ck_assert_int_eq(fault_fires(&again, 1, &p, &count),
					 turn == 1 || turn == 2);
			differ += fault_fires(&half, 1, &p, &count) !=
				  fault_fires(&half, 1, &p, &zero);
		}
	ck_assert_uint_gt(differ, 1300);
	ck_assert_uint_lt(differ, 1700);
	fault_counters_free(counters);
}
END_TEST

/* With any number of QPs and PSNs memory stays bounded, and new ones count from the start. */
START_TEST(bounded)
{
	struct fault_rules rules = { 0 };
	struct fault_counters *counters = fault_counters_new();
	const struct fault_rule rule = parsed("drop nth=2");
	struct fault_packet p = packet_of(FAULT_OUT, RC_SEND_ONLY, 0, 0);

	fault_rules_add(&rules, &rule);
	for (uint32_t qpn = 1; qpn < 100000; qpn++) {
		p.qpn = qpn;
		for (p.psn = 0; p.psn < 3; p.psn++)
			ck_assert_int_eq(
				fault_decide(&rules, counters, &p, fault_attempt(counters, &p)),
				p.psn == 1 ? 0 : -1);
	}
	fault_counters_free(counters);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fault_rules");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, round_trip);
	tcase_add_test(tc, messages_say_what_is_wrong);
	tcase_add_test(tc, long_texts);
	tcase_add_test(tc, files);
#ifdef SYSTEM_HAS_NAMES
	tcase_add_test(tc, errno_names);
#endif
	tcase_add_test(tc, opcode_names);
	suite_add_tcase(suite, tc);
	tc = tcase_create("decisions");
	tcase_add_test(tc, selectors);
	tcase_add_test(tc, counted);
	tcase_add_test(tc, counted_apart);
	tcase_add_test(tc, counts_outlive_a_change);
	tcase_add_test(tc, completions_counted);
	tcase_add_test(tc, verbs_by_name);
	tcase_add_test(tc, several_rules);
	tcase_add_test(tc, repeatable);
	tcase_add_test(tc, attempts);
	tcase_add_test(tc, bounded);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
