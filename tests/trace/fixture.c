/* SPDX-License-Identifier: MIT */
/* The fixture of the trace tests, and the comparison of traces. */
#include "tests/trace/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/rc/nak.h"
#include "net/wire/opcode.h"
#include "tests/suite.h"

struct world w;
struct node *x, *y;
struct end *a, *b;

void fixture_setup(void)
{
	world_init(&w, 1);
	x = world_add_node(&w);
	y = world_add_node(&w);
}

void fixture_teardown(void)
{
	world_fini(&w);
}

void connect_ends(const struct node_qp_opts *opts)
{
	const struct node_qp_opts usual = world_opts();

	world_pair(&w, x, y, opts ? opts : &usual, &a, &b);
}

void connect_with_mtu(uint32_t mtu)
{
	struct node_qp_opts opts = world_opts();

	opts.mtu = mtu;
	connect_ends(&opts);
}

void skip(void)
{
	w.trace.len = 0;
	if (w.trace.text)
		w.trace.text[0] = '\0';
}

static const char *text_now(void)
{
	return w.trace.text ? w.trace.text : "";
}

void expect_at(const char *text, const char *file, int line)
{
	if (strcmp(text_now(), text) != 0) {
		fprintf(stderr, "--- %s:%d expected\n%s--- got\n%s---\n", file, line, text,
			text_now());
		ck_abort_msg("the trace is another: %s:%d", file, line);
	}
	skip();
}

void expect_some_at(const char *text, const char *file, int line)
{
	const char *at = text_now();

	while (*text) {
		size_t len = strcspn(text, "\n");
		char part[256];

		snprintf(part, sizeof(part), "%.*s", (int)len, text);
		at = strstr(at, part);
		if (!at) {
			fprintf(stderr,
				"--- %s:%d lacks, behind those before\n%s\n--- got\n%s---\n", file,
				line, part, text_now());
			ck_abort_msg("the trace lacks a line: %s:%d", file, line);
		}
		at += len;
		text += len + (text[len] == '\n');
	}
	skip();
}

void fault(const char *rule)
{
	link_rule_add(&w.link, rule);
}

void expect_same(const struct node *n, uint32_t at, const struct node *m, uint32_t m_at,
		 uint32_t len)
{
	ck_assert_msg(memcmp(n->mem + at, m->mem + m_at, len) == 0, "the bytes differ");
}

uint64_t word_at(const struct node *n, uint32_t at)
{
	uint64_t value;

	memcpy(&value, n->mem + at, sizeof(value));
	return value;
}

void set_word(struct node *n, uint32_t at, uint64_t value)
{
	memcpy(n->mem + at, &value, sizeof(value));
}

void inject(struct end *from, enum wire_op op, uint32_t psn, uint32_t len)
{
	static const uint8_t payload[4096];
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RC, op), .psn = psn, .ack_req = true },
		.reth = { .va = from->peer->node->base, .rkey = from->peer->node->key, .len = len },
		.aeth = { .syndrome = AETH_ACK },
		.payload_len = wire_shape(opcode_make(WIRE_RC, op)) & SHAPE_PAYLOAD ? len : 0,
	};

	world_inject(&w, from, &packet, payload);
}

void inject_ack(struct end *from, uint8_t syndrome, uint32_t psn)
{
	struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_RC, OP_ACKNOWLEDGE), .psn = psn },
		.aeth = { .syndrome = syndrome },
	};

	world_inject(&w, from, &packet, NULL);
}

int run_tests(const char *theme, const TTest *const *tests, size_t num)
{
	Suite *suite = suite_create(theme);
	TCase *tcase = tcase_create(theme);
	size_t i;

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	for (i = 0; i < num; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
