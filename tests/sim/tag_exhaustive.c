/* SPDX-License-Identifier: MIT */
/* Tag matching, and automatic path migration below it, with every fate of the first packets: each
 * subset of them is dropped, duplicated, or delayed after the next. Each message is matched once
 * and in order, each rendezvous is READ and finished once, all bytes are right.
 *
 *     tag_exhaustive [FATE SUBSET]     one of them alone, with its trace */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/tag_matching.h"
#include "net/wire/packet.h"
#include "tests/sim/world.h"

#define FIRST_PACKETS 12
#define SWAP_NS	      7000
#define SLOT	      0x1000u
#define MAX_SEEN      32

/* What a sends: a header at its slot, after it or by rendezvous the bytes; what b must see. */
struct message {
	enum tmh_op op;
	uint64_t tag;
	uint32_t len;
	bool is_expected;
};

static const struct message messages[] = {
	{ TMH_EAGER, 1, 600, true }, { TMH_RNDV, 2, 700, true }, { TMH_EAGER, 9, 20, false },
	{ TMH_RNDV, 4, 300, true },  { TMH_EAGER, 5, 8, true },
};
#define NUM_MESSAGES (sizeof(messages) / sizeof(messages[0]))

/* Completions of one end, as text. */
struct seen {
	char text[1024];
};

static const enum link_act fates[] = { LINK_DROP, LINK_DUP, LINK_DELAY };
static const char *const fate_names[] = { "drop", "double", "swap" };
#define NUM_FATES (sizeof(fates) / sizeof(fates[0]))

static struct world w;
static struct end *a, *b;
static struct seen seen[2];
static size_t fate;
static uint32_t subset;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fprintf(stderr, "; replay: tests/sim/tag_exhaustive %s %u\n%s", fate_names[fate],
		      subset, w.trace.text ? w.trace.text : "");
	exit(EXIT_FAILURE);
}

static void saw(void *context, struct end *end, const struct rxe_cq *cq, const struct rxe_cqe *cqe)
{
	char *text = seen[end == b].text;
	const size_t len = strlen(text);

	(void)context;
	(void)cq;
	(void)snprintf(text + len, sizeof(seen[0].text) - len, "%llu:%u:%u:%x:%u ",
		       (unsigned long long)cqe->wr_id, cqe->status, cqe->opcode, cqe->flags,
		       cqe->opcode & RXE_WC_RECV ? cqe->byte_len : 0);
}

static uint32_t slot_of(size_t i)
{
	return (uint32_t)(i + 1) * SLOT;
}

static void add(size_t i)
{
	const struct message *m = &messages[i];
	const struct rxe_sge sge = { .addr = b->node->base + slot_of(i),
				     .length = SLOT,
				     .lkey = b->node->key };
	struct rxe_tm_wr wr = { .op = RXE_TM_ADD,
				.tag = m->tag,
				.mask = UINT64_MAX,
				.recv = { .wr_id = 100 + m->tag, .num_sge = 1, .sges = &sge } };

	if (m->is_expected && rxe_tm_post(&b->node->engine, &b->node->srq, &wr, 0) != POST_OK)
		fail("add %zu", i);
}

static void post(size_t i)
{
	const struct message *m = &messages[i];
	const struct tmh tmh = { .op = (uint8_t)m->op, .app_ctx = 7, .tag = m->tag };
	const struct rvh rvh = { .va = a->node->base + slot_of(i) + SLOT / 2,
				 .rkey = a->node->key,
				 .len = m->len };
	uint8_t *p = a->node->mem + slot_of(i);
	uint32_t len = TMH_LEN + m->len;

	tmh_emit(p, &tmh);
	if (m->op == TMH_RNDV) {
		rvh_emit(p + TMH_LEN, &rvh);
		len = TMH_LEN + RVH_LEN;
	}
	world_post(&w, a, (struct post){ .op = RXE_WR_SEND, .len = len, .from = slot_of(i) });
}

static void build(void)
{
	struct node_qp_opts opts = world_opts(), other;
	struct node *x, *y;
	size_t i;

	memset(seen, 0, sizeof(seen));
	world_init(&w, 1);
	w.mem_len = 1u << 16;
	x = world_add_node(&w);
	y = world_add_node(&w);
	node_match_tags(y, 8);
	opts.mtu = 256;
	other = opts;
	other.psn = 500;
	other.use_srq = true;
	a = node_add_qp(x, 'a', &opts);
	b = node_add_qp(y, 'b', &other);
	node_connect(a, b, &opts, other.psn);
	node_connect(b, a, &other, opts.psn);
	node_rearm(a, opts.timeout);
	node_rearm(b, opts.timeout);
	w.watch.completion = saw;
	for (i = 0; i < NUM_MESSAGES; i++)
		add(i);
	world_srq_recv(&w, y, 71, slot_of(2), SLOT);
	for (i = 0; i < 2; i++)
		world_recv(&w, a, 0x8000 + (uint32_t)i * 64, 64);
	link_fate(&w.link, fates[fate], subset, SWAP_NS);
	for (i = 0; i < NUM_MESSAGES; i++)
		post(i);
}

/* The text has these completions in this order, and as many in all. */
static void in_order(const char *text, const char *const *parts, size_t num, size_t total)
{
	const char *at = text;
	size_t i, found = 0;

	for (i = 0; i < num; i++) {
		at = strstr(at, parts[i]);
		if (!at)
			fail("%s is not in its place: %s", parts[i], text);
	}
	for (at = text; *at; at++)
		found += *at == ' ';
	if (found != total)
		fail("%zu completions: %s", found, text);
}

/* The same, however packets were lost. Matches are in the order of the messages; data may become
 * valid later. */
static void check_order(void)
{
	static const char *const firsts[] = { "101:0:133:20:0", "102:0:133:20:0", "71:0:133:0:36",
					      "104:0:133:20:0", "105:0:133:60:8" };
	static const char *const pairs[][2] = { { "101:0:133:20:0", "101:0:133:40:600" },
						{ "102:0:133:20:0", "102:0:133:40:700" },
						{ "104:0:133:20:0", "104:0:133:40:300" },
						{ "102:0:133:40:700", "104:0:133:40:300" } };
	static const char *const sends[] = { "1:0:0:0:0", "2:0:0:0:0", "3:0:0:0:0", "4:0:0:0:0",
					     "5:0:0:0:0" };
	static const char *const fins[] = { "1:0:128:0:32", "2:0:128:0:32" };
	size_t i;

	in_order(seen[0].text, sends, 5, 7);
	in_order(seen[0].text, fins, 2, 7);
	in_order(seen[1].text, firsts, 5, 8);
	for (i = 0; i < 4; i++)
		in_order(seen[1].text, pairs[i], 2, 8);
}

static void check_bytes(size_t i)
{
	const struct message *m = &messages[i];
	const uint8_t *from = a->node->mem + slot_of(i), *to = b->node->mem + slot_of(i);
	uint32_t len = m->len;

	if (m->op == TMH_RNDV)
		from += SLOT / 2;
	else if (m->is_expected)
		from += TMH_LEN;
	else
		len += TMH_LEN;
	if (memcmp(from, to, len) != 0 || !node_is_untouched(b->node, slot_of(i) + len, 256))
		fail("bytes of message %zu", i);
}

static void check_fin(uint32_t at, uint64_t tag)
{
	struct tmh tmh;

	tmh_parse(&tmh, a->node->mem + at);
	if (tmh.op != TMH_FIN || tmh.tag != tag)
		fail("FIN of %llu", (unsigned long long)tag);
}

static void run(bool shows_trace)
{
	size_t i;

	build();
	w.trace.quiet = !shows_trace;
	world_run(&w);
	check_order();
	for (i = 0; i < NUM_MESSAGES; i++)
		check_bytes(i);
	check_fin(0x8000, 2);
	check_fin(0x8040, 4);
	if (b->node->tags.num || b->qp.rndvs || a->qp.state != RXE_QPS_RTS ||
	    b->qp.state != RXE_QPS_RTS)
		fail("not at rest");
}

int main(int argc, char **argv)
{
	uint32_t total = 0;

	if (argc == 3) {
		while (fate < NUM_FATES - 1 && strcmp(argv[1], fate_names[fate]) != 0)
			fate++;
		subset = (uint32_t)strtoul(argv[2], NULL, 0);
		run(true);
		(void)fputs(w.trace.text, stdout);
		return EXIT_SUCCESS;
	}
	for (fate = 0; fate < NUM_FATES; fate++) {
		for (subset = 0; subset < 1u << FIRST_PACKETS; subset++, total++) {
			run(false);
			world_fini(&w);
		}
	}
	(void)printf("%u schedules\n", total);
	return EXIT_SUCCESS;
}
