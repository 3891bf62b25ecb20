// SPDX-License-Identifier: MIT
/* Traces of hosts that are unkind (lib/unkind), a switch at a time: what a program sees, and that a
 * program which relies on no more than the standard's promises sees nothing wrong. */
#include <stdlib.h>
#include <string.h>

#include "lib/unkind/host.h"
#include "tests/trace/fixture.h"

#define ONE(bit) (1u << UNKIND_##bit)
/* Decides that the first event of a kind is not struck. */
#define SEED_WITHOUT_FIRST 1

static void be_unkind(struct node *node, uint64_t seed, uint32_t switches)
{
	const struct unkind_plan plan = { .seed = seed, .switches = switches };

	node_be_unkind(node, &plan);
}

/* The program changes its buffer before the completion, and the peer gets the change. */
START_TEST(late_reads)
{
	be_unkind(x, 4, ONE(LATE_READS));
	connect_ends(NULL);
	WRITE(64);
	world_flush(&w);
	set_word(x, 0, 0x1122334455667788);
	world_run(&w);
	expect("  1000.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "  1005.0 b > ACK 100 msn 1\n"
	       "  1010.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0), 0x1122334455667788);
}
END_TEST

/* The first reads of a region are late by a millisecond, those after them by a tenth of one. */
START_TEST(late_reads_get_shorter)
{
	be_unkind(x, 7, ONE(LATE_READS));
	connect_ends(NULL);
	for (int i = 0; i < 5; i++)
		WRITE(64);
	world_run(&w);
	expect_some("  2000.0 a > WRITE_ONLY 102 len 64 ackreq\n"
		    "  3000.0 a > WRITE_ONLY 103 len 64 ackreq\n"
		    "  3100.0 a > WRITE_ONLY 104 len 64 ackreq\n");
}
END_TEST

/* What a host stores, in order: the place in memory and the number of bytes. */
static struct {
	uint32_t at[8], len[8], n;
} stored;

static void wrote(void *context, struct node *node, uint32_t at, uint32_t len)
{
	(void)context, (void)node;
	ck_assert_uint_lt(stored.n, 8);
	stored.at[stored.n] = at;
	stored.len[stored.n++] = len;
}

static void watch_stores(struct node *node)
{
	stored.n = 0;
	node->wrote = wrote;
}

static void expect_store(uint32_t i, uint32_t at, uint32_t len)
{
	ck_assert_uint_lt(i, stored.n);
	ck_assert_uint_eq(stored.at[i], at);
	ck_assert_uint_eq(stored.len[i], len);
}

START_TEST(byte_order)
{
	be_unkind(y, 1, ONE(BYTE_ORDER));
	connect_ends(NULL);
	watch_stores(y);
	WRITE(600, .to = 0x1000);
	world_run(&w);
	ck_assert_uint_eq(stored.n, 4);
	expect_store(0, 0x1000 + 599, 1);
	expect_store(1, 0x1000 + 512, 87);
	expect_store(2, 0x1000 + 256, 256);
	expect_store(3, 0x1000, 256);
	expect_same(x, 0, y, 0x1000, 600);
}
END_TEST

static uint32_t pauses;

static void pause_once(void *host, uint64_t ns)
{
	(void)host, (void)ns;
	ck_assert_uint_eq(stored.n, 1);
	pauses++;
}

/* A program may look at the last byte of one message only: whatever the seed, it is there alone. */
START_TEST(first_store_pauses)
{
	be_unkind(y, SEED_WITHOUT_FIRST, ONE(BYTE_ORDER));
	y->unkind->cfg.pause = pause_once;
	connect_ends(NULL);
	watch_stores(y);
	WRITE(600, .to = 0x1000);
	world_run(&w);
	ck_assert_uint_eq(pauses, 1);
}
END_TEST

/* The last bytes of the packets that look() was asked of. */
static struct {
	uint64_t iova[8];
	size_t len[8];
	uint32_t n;
} looks;

static void look(void *host, const struct rxe_mr *mr, uint64_t iova, size_t len)
{
	(void)host, (void)mr;
	ck_assert_uint_lt(looks.n, 8);
	looks.iova[looks.n] = iova;
	looks.len[looks.n++] = len;
}

static void nothing_is_stored(void *context, struct node *node, uint32_t at, uint32_t len)
{
	(void)context, (void)node, (void)at;
	ck_assert(looks.n > 0 || len <= 8);
}

/* A look comes before the first byte of the packet, the pattern included; a word gets none. */
START_TEST(looks_before_it_stores)
{
	be_unkind(y, 1, ONE(BYTE_ORDER) | ONE(FILL));
	y->unkind->cfg.about_to_store = look;
	looks.n = 0;
	connect_ends(NULL);
	y->wrote = nothing_is_stored;
	WRITE(8, .to = 0x3000);
	world_run(&w);
	ck_assert_uint_eq(looks.n, 0);
	WRITE(1500, .to = 0x1000);
	world_run(&w);
	ck_assert_uint_eq(looks.n, 2);
	ck_assert_uint_eq(looks.len[0], 1024);
	ck_assert_uint_eq(looks.len[1], 476);
	ck_assert_uint_eq(looks.iova[1], looks.iova[0] + 1024);
	expect_same(x, 0, y, 0x1000, 1500);
}
END_TEST

/* A pattern first, except in the last byte. */
START_TEST(fill)
{
	be_unkind(y, 1, ONE(FILL));
	connect_ends(NULL);
	watch_stores(y);
	WRITE(100, .to = 0x1000);
	world_run(&w);
	ck_assert_uint_eq(stored.n, 2);
	expect_store(0, 0x1000, 99);
	expect_store(1, 0x1000, 100);
	expect_same(x, 0, y, 0x1000, 100);
}
END_TEST

/* ATOMIC WRITEs, and flags of a word. */
START_TEST(a_word_is_stored_whole)
{
	be_unkind(y, 1, ONE(FILL) | ONE(BYTE_ORDER));
	connect_ends(NULL);
	watch_stores(y);
	POST(a, ATOMIC_WRITE, 8, .to = 0x1000);
	WRITE(8, .to = 0x1008);
	world_run(&w);
	ck_assert_uint_eq(stored.n, 2);
	expect_store(0, 0x1000, 8);
	expect_store(1, 0x1008, 8);
}
END_TEST

/* The ACK leaves at once: the peer knows before the program does. */
START_TEST(late_completions)
{
	be_unkind(y, 3, ONE(LATE_COMPLETIONS));
	connect_ends(NULL);
	RECV(64);
	SEND(64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    58.4 b   recv 1 SUCCESS len 64\n");
}
END_TEST

/* Two pairs, whose requests complete in the other order; each pair's keep theirs. */
START_TEST(completion_order)
{
	const struct node_qp_opts opts = world_opts();
	struct end *c, *d;

	be_unkind(x, 12, ONE(LATE_COMPLETIONS) | ONE(COMPLETION_ORDER));
	connect_ends(NULL);
	world_pair(&w, x, y, &opts, &c, &d);
	WRITE(64);
	WRITE(64);
	POST(c, RDMA_WRITE, 64);
	POST(c, RDMA_WRITE, 64);
	world_run(&w);
	expect_some("     5.0 b > ACK 101 msn 2\n"
		    "     5.0 d > ACK 101 msn 2\n"
		    "    21.8 c   send 1 SUCCESS\n"
		    "    21.8 c   send 2 SUCCESS\n"
		    "    21.8 a   send 1 SUCCESS\n"
		    "    21.8 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(few_completions)
{
	be_unkind(x, 18, ONE(LATE_COMPLETIONS) | ONE(FEW_COMPLETIONS));
	connect_ends(NULL);
	for (int i = 0; i < 4; i++)
		WRITE(64);
	world_run(&w);
	expect_some("     5.0 b > ACK 103 msn 4\n"
		    "   108.7 a   send 1 SUCCESS\n"
		    "   127.5 a   send 2 SUCCESS\n"
		    "   127.5 a   send 3 SUCCESS\n"
		    "   127.5 a   send 4 SUCCESS\n");
}
END_TEST

/* An armed CQ notifies later than its completion is visible. */
START_TEST(late_events)
{
	be_unkind(x, 1, ONE(LATE_EVENTS));
	connect_ends(NULL);
	ck_assert(!rxe_cq_arm(&x->cq, RXE_CQ_ARM_ANY));
	WRITE(64);
	world_run_until(&w, 20);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
	ck_assert_int_eq(x->cq.armed, RXE_CQ_ARM_ANY);
	world_run(&w);
	ck_assert_int_eq(x->cq.armed, RXE_CQ_IDLE);
}
END_TEST

/* An event of a queue pair comes after the completions that it is about. */
START_TEST(events_come_last)
{
	be_unkind(x, 1, ONE(LATE_COMPLETIONS));
	connect_ends(NULL);
	WRITE(64);
	world_flush(&w);
	world_modify(&w, a, RXE_QPS_SQD);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   event SQ_DRAINED\n");
}
END_TEST

/* The same seed, the same effect. */
START_TEST(a_seed_repeats)
{
	char *first = NULL;

	for (int run = 0; run < 2; run++) {
		be_unkind(x, 11, UINT32_MAX);
		be_unkind(y, 12, UINT32_MAX);
		connect_ends(NULL);
		for (int i = 0; i < 6; i++) {
			RECV(3000);
			SEND(3000);
			READ(500, .from = READ_AT);
		}
		world_run(&w);
		expect_same(x, 0, y, RECV_AT, 3000);
		if (run == 0) {
			first = strdup(w.trace.text);
			fixture_teardown();
			fixture_setup();
		}
	}
	ck_assert_str_eq(first, w.trace.text);
	free(first);
	skip();
}
END_TEST

RUN_TESTS("unkind", late_reads, late_reads_get_shorter, byte_order, first_store_pauses,
	  looks_before_it_stores, fill, a_word_is_stored_whole, late_completions, completion_order,
	  few_completions, late_events, events_come_last, a_seed_repeats)
