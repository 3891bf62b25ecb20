/* SPDX-License-Identifier: MIT */
/* Traces of invalidations that must not close a window of type 2: those of another queue pair of
 * the same domain, and of its peer. */
#include "tests/trace/fixture.h"

#define AREA 0x4000u

static struct end *c, *d; /* another pair, on the same hosts */
static uint32_t key;

/* b opens 64 bytes to its peer. */
static void start(void)
{
	const struct node_qp_opts opts = world_opts();
	struct rxe_bind bind = { .addr = y->base + AREA, .len = 64, .rights = RXE_REMOTE_WRITE };

	connect_ends(NULL);
	world_pair(&w, x, y, &opts, &c, &d);
	bind.region = node_reg(y, AREA, 64, RXE_LOCAL_WRITE | RXE_MW_BIND);
	key = (node_add_mw(y, RXE_MR_WINDOW_2) & ~RXE_MW_TAG) | 7;
	node_bind_mw(b, key, &bind);
}

static void expect_open(void)
{
	WRITE(8, .to = AREA, .rkey = key);
	world_run(&w);
	expect_some("send 1 SUCCESS");
	expect_same(x, 0, y, AREA, 8);
}

START_TEST(by_another_queue_pair)
{
	start();
	POST(d, LOCAL_INV, 0, .imm = key);
	world_run(&w);
	expect("     0.0 d   to ERR\n"
	       "     0.0 d   invalidate 1 MW_BIND_ERR\n");
	expect_open();
}
END_TEST

START_TEST(by_the_peer_of_another_queue_pair)
{
	start();
	world_recv(&w, d, RECV_AT, 64);
	POST(c, SEND_WITH_INV, 8, .imm = key);
	world_run(&w);
	expect("     0.0 c > SEND_ONLY_INV 100 len 8 inv 0x30007 ackreq\n"
	       "     5.0 d > NAK 100 remote access\n"
	       "     5.0 d   to ERR\n"
	       "     5.0 d   recv 1 REM_INV_REQ_ERR\n"
	       "    10.0 c   to ERR\n"
	       "    10.0 c   send 1 REM_ACCESS_ERR\n");
	expect_open();
}
END_TEST

RUN_TESTS("invalidation", by_another_queue_pair, by_the_peer_of_another_queue_pair)
