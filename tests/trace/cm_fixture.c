/* SPDX-License-Identifier: MIT */
/* The fixture of the connection manager's traces. */
#include "tests/trace/cm_fixture.h"
#include "tests/sim/cm_names.h"
#include "tests/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 8

struct cm_world cw;
struct cm_host *a, *b, *c;
struct cm_id *ida, *idb;

static char text[1 << 16];
static size_t text_len;

enum what { LOSE, DOUBLE, DELAY };
static struct rule {
	const struct cm_host *from;
	enum cm_attr attr;
	enum what what;
	uint32_t times;
	uint64_t ms;
} rules[MAX_RULES];

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_len += (size_t)vsnprintf(text + text_len, sizeof(text) - text_len, format, args);
	va_end(args);
	ck_assert(text_len < sizeof(text));
}

static void say_head(const struct cm_host *host, char arrow)
{
	say("%8.1f %c %c ", (double)cw.now_ns / (double)MS, (char)('a' + host->index), arrow);
}

static const char *answered(uint8_t what)
{
	static const char *const names[] = { "REQ", "REP", "other", "?" };

	return names[what & 3];
}

static void say_details(const struct cm_msg *msg)
{
	if (msg->attr == CM_REJ)
		say(" of %s, reason %u", answered(msg->u.rej.message_rejected), msg->u.rej.reason);
	else if (msg->attr == CM_MRA)
		say(" of %s", answered(msg->u.mra.message_mraed));
	else if (msg->attr == CM_APR)
		say(" status %u", msg->u.apr.status);
	else if (msg->attr == CM_SIDR_REP)
		say(" status %u qpn %x", msg->u.sidr_rep.status, msg->u.sidr_rep.qpn);
	else if (msg->attr == CM_REP && msg->u.rep.local_eecn)
		say(" qpn %x eecn %x srq %u", msg->u.rep.local_qpn, msg->u.rep.local_eecn,
		    msg->u.rep.srq);
	else if (msg->attr == CM_DREQ)
		say(" qpn %x", msg->u.dreq.remote_qpn);
}

static struct rule *rule_for(const struct cm_host *from, const struct cm_msg *msg)
{
	for (size_t i = 0; i < MAX_RULES; i++)
		if (rules[i].times > 0 && rules[i].from == from && rules[i].attr == msg->attr)
			return &rules[i];
	return NULL;
}

static uint32_t sent(void *arg, struct cm_host *from, struct cm_host *to, const struct cm_msg *msg,
		     uint64_t ret_delay_ns[2])
{
	struct rule *rule = rule_for(from, msg);
	uint32_t copies = 1;

	(void)arg;
	(void)to;
	say_head(from, '>');
	say("%s", cm_attr_str(msg->attr));
	say_details(msg);
	ret_delay_ns[0] = ret_delay_ns[1] = MS;
	if (rule) {
		static const char *const fates[] = { " (lost)", " (twice)", " (late)" };

		rule->times--;
		say("%s", fates[rule->what]);
		copies = (uint32_t)rule->what;
		if (rule->what == DELAY) {
			ret_delay_ns[0] = rule->ms * MS;
			copies = 1;
		} else if (rule->what == DOUBLE) {
			copies = 2;
		}
	}
	say("\n");
	return copies;
}

static void event(void *arg, struct cm_host *host, const struct cm_event *event)
{
	(void)arg;
	say_head(host, ' ');
	say("%s", cm_event_str(event->type));
	if (event->type == CM_EVENT_REJ_RECEIVED)
		say(" reason %u", event->msg->u.rej.reason);
	say("\n");
	if (event->listener)
		idb = event->id;
}

static const struct cm_world_hooks hooks = { .sent = sent, .event = event };

void cm_setup(void)
{
	cm_world_init(&cw, 3, 16, 1, &hooks, NULL);
	a = &cw.hosts[0];
	b = &cw.hosts[1];
	c = &cw.hosts[2];
	ida = idb = NULL;
	memset(rules, 0, sizeof(rules));
	skip();
}

void cm_teardown(void)
{
	cm_world_free(&cw);
}

void listen_at(struct cm_host *host)
{
	struct cm_id *id = cm_id_create(host->cm, NULL);

	ck_assert_int_eq(cm_listen(id, SERVICE, NULL, CM_ANY_DEVICE), 0);
}

struct cm_msg req_of(const struct cm_host *from, const struct cm_host *to)
{
	struct cm_msg msg = { .attr = CM_REQ };

	msg.u.req.service_id = SERVICE;
	msg.u.req.local_ca_guid = from->ca_guid;
	msg.u.req.local_qpn = QPN_A;
	msg.u.req.remote_cm_timeout = msg.u.req.local_cm_timeout = 14;
	msg.u.req.max_cm_retries = 2;
	msg.u.req.primary.local_gid = from->gid;
	msg.u.req.primary.remote_gid = to->gid;
	msg.u.req.primary.ack_timeout = 10;
	return msg;
}

struct cm_msg rep_of(const struct cm_host *host)
{
	struct cm_msg msg = { .attr = CM_REP };

	msg.u.rep.local_qpn = QPN_B;
	msg.u.rep.local_ca_guid = host->ca_guid;
	return msg;
}

struct cm_msg rej_of(uint16_t reason)
{
	struct cm_msg msg = { .attr = CM_REJ };

	msg.u.rej.reason = reason;
	return msg;
}

void connect_to(struct cm_host *to)
{
	const struct cm_path path = cm_world_path(a, to);
	const struct cm_msg msg = req_of(a, to);

	ida = cm_id_create(a->cm, NULL);
	ck_assert_ptr_nonnull(ida);
	ck_assert_int_eq(cm_send_req(ida, &path, &msg, cw.now_ns), 0);
}

void accept_it(void)
{
	const struct cm_msg msg = rep_of(b);

	ck_assert_int_eq(cm_send_rep(idb, &msg, cw.now_ns), 0);
}

void rtu(void)
{
	ck_assert_int_eq(send_plain(ida, CM_RTU), 0);
}

int send_plain(struct cm_id *id, enum cm_attr attr)
{
	const struct cm_msg msg = { .attr = attr };

	if (attr == CM_RTU)
		return cm_send_rtu(id, &msg);
	if (attr == CM_DREQ)
		return cm_send_dreq(id, &msg, cw.now_ns);
	ck_assert_int_eq(attr, CM_DREP);
	return cm_send_drep(id, &msg, cw.now_ns);
}

void established(void)
{
	listen_at(b);
	connect_to(b);
	run_ms(1);
	accept_it();
	run_ms(1);
	rtu();
	run_ms(1);
	ck_assert_int_eq(cm_id_state(ida), CM_STATE_ESTABLISHED);
	ck_assert_int_eq(cm_id_state(idb), CM_STATE_ESTABLISHED);
	skip();
}

static void add_rule(struct rule rule)
{
	for (size_t i = 0; i < MAX_RULES; i++)
		if (rules[i].times == 0) {
			rules[i] = rule;
			return;
		}
	ck_abort_msg("more than MAX_RULES rules");
}

void lose(struct cm_host *from, enum cm_attr attr, uint32_t n)
{
	add_rule((struct rule){ .from = from, .attr = attr, .what = LOSE, .times = n });
}

void double_next(struct cm_host *from, enum cm_attr attr)
{
	add_rule((struct rule){ .from = from, .attr = attr, .what = DOUBLE, .times = 1 });
}

void delay_next(struct cm_host *from, enum cm_attr attr, uint64_t ms)
{
	add_rule((struct rule){ .from = from, .attr = attr, .what = DELAY, .times = 1, .ms = ms });
}

void inject(struct cm_host *from, struct cm_host *to, const struct cm_msg *msg)
{
	const struct cm_path path = cm_world_path(to, from);
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, msg);
	cm_input(to->cm, &path, mad, cw.now_ns);
}

void run_ms(uint64_t ms)
{
	cm_world_run_until(&cw, cw.now_ns + ms * MS);
}

void run(void)
{
	while (cm_world_step(&cw, UINT64_MAX - 1))
		continue;
}

void expect_at(const char *expected, const char *file, int line)
{
	if (strcmp(text, expected) != 0) {
		(void)fprintf(stderr, "--- %s:%d expected\n%s--- got\n%s---\n", file, line,
			      expected, text);
		ck_abort_msg("the trace is another: %s:%d", file, line);
	}
	skip();
}

void skip(void)
{
	text_len = 0;
	text[0] = '\0';
}

int run_tests(const char *theme, const TTest *const *tests, size_t num)
{
	Suite *suite = suite_create(theme);
	TCase *tcase = tcase_create(theme);

	tcase_add_checked_fixture(tcase, cm_setup, cm_teardown);
	for (size_t i = 0; i < num; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
