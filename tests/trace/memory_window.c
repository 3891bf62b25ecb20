/* SPDX-License-Identifier: MIT */
/* Traces of memory windows: b opens a part of a region to a, and closes it. */
#include "tests/trace/fixture.h"

#define AREA	 0x4000u
#define AREA_LEN 4096u
#define WRITABLE (RXE_LOCAL_WRITE | RXE_MW_BIND)
#define ALL	 (RXE_REMOTE_WRITE | RXE_REMOTE_READ | RXE_REMOTE_ATOMIC)

static uint32_t region, window;

/* Connected; b has a region that peers cannot reach, and a window that is not bound. */
static void start(enum rxe_mr_kind kind)
{
	connect_ends(NULL);
	region = node_reg(y, AREA, AREA_LEN, WRITABLE);
	window = node_add_mw(y, kind);
}

static uint32_t tagged(uint8_t tag)
{
	return (window & ~RXE_MW_TAG) | tag;
}

/* [AREA + at, AREA + at + len), under the window's key with this tag. */
static struct rxe_bind binding(uint8_t tag, uint32_t at, uint32_t len, uint32_t rights)
{
	return (struct rxe_bind){ .addr = y->base + AREA + at,
				  .len = len,
				  .mw = window,
				  .rkey = tag,
				  .region = region,
				  .rights = rights };
}

#define BIND(...)	     POST(b, BIND_MW, 0, .bind = binding(__VA_ARGS__))
#define INVALIDATE(key)	     POST(b, LOCAL_INV, 0, .imm = (key))
#define WRITE_AT(at, n, ...) WRITE(n, .to = AREA + (at), __VA_ARGS__)

/* Of another connected pair, on b's host. */
static struct end *other_end(void)
{
	const struct node_qp_opts opts = world_opts();
	struct end *c, *d;

	world_pair(&w, x, y, &opts, &c, &d);
	return d;
}

START_TEST(opens_a_part_of_a_region)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	world_run(&w);
	WRITE_AT(64, 128, .rkey = tagged(7));
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "     0.0 a > WRITE_ONLY 100 len 128 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, AREA + 64, 128);
}
END_TEST

static void expect_refused(uint32_t at, uint32_t len, uint32_t rkey)
{
	WRITE_AT(at, len, .rkey = rkey);
	world_run(&w);
	expect_some("     5.0 b > NAK 100 remote access\n"
		    "    10.0 a   send 1 REM_ACCESS_ERR\n");
	ck_assert(node_is_untouched(y, AREA, AREA_LEN));
}

START_TEST(not_beside_it)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	expect_refused(65, 128, tagged(7));
}
END_TEST

START_TEST(not_before_it)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	expect_refused(63, 8, tagged(7));
}
END_TEST

START_TEST(not_with_another_tag)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	expect_refused(64, 8, tagged(8));
}
END_TEST

START_TEST(not_for_what_it_does_not_grant)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_READ | RXE_REMOTE_ATOMIC);
	expect_refused(64, 8, tagged(7));
}
END_TEST

START_TEST(not_before_it_is_bound)
{
	start(RXE_MR_WINDOW_2);
	expect_refused(64, 8, window);
}
END_TEST

/* 2B: the queue pair counts, and not only its domain. */
START_TEST(not_by_another_queue_pair)
{
	struct end *d;

	start(RXE_MR_WINDOW_2);
	d = other_end();
	POST(d, BIND_MW, 0, .bind = binding(7, 64, 128, RXE_REMOTE_WRITE));
	expect_refused(64, 8, tagged(7));
}
END_TEST

START_TEST(type_1_serves_every_queue_pair)
{
	struct end *d;

	start(RXE_MR_WINDOW_1);
	d = other_end();
	POST(d, BIND_MW, 0, .bind = binding(7, 64, 128, RXE_REMOTE_WRITE));
	world_run(&w);
	skip();
	WRITE_AT(64, 8, .rkey = tagged(7));
	world_run(&w);
	expect_some("    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(zero_based)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE | RXE_ZERO_BASED);
	WRITE(8, .has_va = true, .va = 120, .rkey = tagged(7));
	world_run(&w);
	expect_some("    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, AREA + 64 + 120, 8);
}
END_TEST

START_TEST(reads_and_atomics)
{
	start(RXE_MR_WINDOW_2);
	set_word(y, AREA + 64, 5);
	BIND(7, 64, 128, ALL);
	ADD(2, .from = READ_AT, .to = AREA + 64, .rkey = tagged(7));
	READ(8, .from = READ_AT + 8, .to = AREA + 64, .rkey = tagged(7), .flags = RXE_SEND_FENCE);
	world_run(&w);
	ck_assert_uint_eq(word_at(x, READ_AT), 5);
	ck_assert_uint_eq(word_at(x, READ_AT + 8), 7);
}
END_TEST

/* What a bind opens is open to the answer of the next SEND (IBTA 10.8.3.3). */
START_TEST(binds_before_what_follows)
{
	start(RXE_MR_WINDOW_2);
	world_recv(&w, a, RECV_AT, 64);
	world_recv(&w, a, RECV_AT, 64);
	POST(b, SEND, 8);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	POST(b, SEND, 8);
	world_run_until(&w, 5);
	WRITE_AT(64, 8, .rkey = tagged(7));
	world_run(&w);
	expect("     0.0 b > SEND_ONLY 500 len 8 ackreq\n"
	       "     0.0 b > SEND_ONLY 501 len 8 ackreq\n"
	       "     5.0 a > ACK 501 msn 2\n"
	       "     5.0 a   recv 1 SUCCESS len 8\n"
	       "     5.0 a   recv 2 SUCCESS len 8\n"
	       "     5.0 a > WRITE_ONLY 100 len 8 ackreq\n"
	       "    10.0 b > ACK 100 msn 1\n"
	       "    10.0 b   send 1 SUCCESS\n"
	       "    10.0 b   bind 2 SUCCESS\n"
	       "    10.0 b   send 3 SUCCESS\n"
	       "    15.0 a   send 1 SUCCESS\n");
}
END_TEST

/* Completions are in the order of the queue: the bind has taken effect, and waits for the WRITE. */
START_TEST(completes_in_order)
{
	start(RXE_MR_WINDOW_2);
	POST(b, RDMA_WRITE, 8);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	INVALIDATE(tagged(7));
	BIND(8, 64, 128, RXE_REMOTE_WRITE);
	world_run(&w);
	expect("     0.0 b > WRITE_ONLY 500 len 8 ackreq\n"
	       "     5.0 a > ACK 500 msn 1\n"
	       "    10.0 b   send 1 SUCCESS\n"
	       "    10.0 b   bind 2 SUCCESS\n"
	       "    10.0 b   invalidate 3 SUCCESS\n"
	       "    10.0 b   bind 4 SUCCESS\n");
	WRITE_AT(64, 8, .rkey = tagged(8));
	world_run(&w);
	expect_some("   272.1 a   send 1 SUCCESS\n");
}
END_TEST

/* A packet is lost and sent again: what was executed after it is not executed again. */
START_TEST(a_rewind_passes_it_by)
{
	start(RXE_MR_WINDOW_2);
	fault("drop b WRITE_ONLY 500");
	POST(b, RDMA_WRITE, 8);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	POST(b, RDMA_WRITE, 8, .to = 8);
	INVALIDATE(tagged(7));
	POST(b, RDMA_WRITE, 8, .to = 16);
	world_run(&w);
	expect_some("     0.0 b > WRITE_ONLY 502 len 8 ackreq\n"
		    "    10.0 b > WRITE_ONLY 500 len 8 ackreq\n"
		    "    20.0 b   send 1 SUCCESS\n"
		    "    20.0 b   bind 2 SUCCESS\n"
		    "    20.0 b   send 3 SUCCESS\n"
		    "    20.0 b   invalidate 4 SUCCESS\n"
		    "    20.0 b   send 5 SUCCESS\n");
}
END_TEST

START_TEST(a_fence_waits_for_reads)
{
	start(RXE_MR_WINDOW_2);
	POST(b, RDMA_READ, 8, .from = READ_AT);
	POST(b, BIND_MW, 0, .bind = binding(7, 64, 128, RXE_REMOTE_WRITE), .flags = RXE_SEND_FENCE);
	world_run_until(&w, 6);
	ck_assert_uint_eq(b->qp.num_mws, 0);
	world_run(&w);
	ck_assert_uint_eq(b->qp.num_mws, 1);
}
END_TEST

START_TEST(invalidated)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	INVALIDATE(tagged(7));
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "     0.0 b   invalidate 2 SUCCESS\n");
	expect_refused(64, 8, tagged(7));
}
END_TEST

/* Half of a WRITE has arrived when the window closes: the rest is refused. */
START_TEST(invalidated_within_a_message)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 0, 4096, RXE_REMOTE_WRITE);
	fault("delay a WRITE_LAST 102 10");
	WRITE_AT(0, 3000, .rkey = tagged(7));
	world_run_until(&w, 6);
	INVALIDATE(tagged(7));
	world_run(&w);
	expect_some("     6.0 b   invalidate 2 SUCCESS\n"
		    "    15.0 b > NAK 102 remote access\n"
		    "    20.0 a   send 1 REM_ACCESS_ERR\n");
	ck_assert(node_is_untouched(y, AREA + 2048, 1024));
}
END_TEST

START_TEST(invalidated_by_the_peer)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	RECV(64);
	WRITE_AT(64, 8, .rkey = tagged(7));
	POST(a, SEND_WITH_INV, 8, .imm = tagged(7));
	WRITE_AT(64, 8, .rkey = tagged(7));
	world_run(&w);
	expect_some("     5.0 b > NAK 102 remote access\n"
		    "     5.0 b   recv 1 SUCCESS len 8 inv 0x30007\n");
}
END_TEST

/* The ACK is lost: the SEND comes again and is a duplicate, though its key is dead. */
START_TEST(invalidated_once)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	RECV(64);
	fault("drop b ACK 100");
	POST(a, SEND_WITH_INV, 8, .imm = tagged(7));
	world_run(&w);
	expect_some("     5.0 b   recv 1 SUCCESS len 8 inv 0x30007\n"
		    "duplicate");
	ck_assert_int_eq(a->qp.state, RXE_QPS_RTS);
}
END_TEST

START_TEST(type_1_is_not_the_peers_to_invalidate)
{
	start(RXE_MR_WINDOW_1);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	RECV(64);
	POST(a, SEND_WITH_INV, 8, .imm = tagged(7));
	world_run(&w);
	expect_some("     5.0 b > NAK 100 remote access\n"
		    "     5.0 b   recv 1 REM_INV_REQ_ERR\n"
		    "    10.0 a   send 1 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(type_1_is_bound_again)
{
	start(RXE_MR_WINDOW_1);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	BIND(8, 256, 16, RXE_REMOTE_WRITE);
	WRITE_AT(256, 16, .rkey = tagged(8));
	world_run(&w);
	expect_some("     0.0 b   bind 1 SUCCESS\n"
		    "     0.0 b   bind 2 SUCCESS\n"
		    "    10.0 a   send 1 SUCCESS\n");
	WRITE_AT(64, 8, .rkey = tagged(7));
	world_run(&w);
	expect_some("   272.1 a   send 2 REM_ACCESS_ERR\n");
}
END_TEST

START_TEST(type_1_closes_with_length_0)
{
	start(RXE_MR_WINDOW_1);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	BIND(8, 0, 0, 0);
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "     0.0 b   bind 2 SUCCESS\n");
	expect_refused(64, 8, tagged(7));
}
END_TEST

/* Another process of the host is still inside an access by the old binding: no process gets in by
 * it any more, and the bind, with what follows it, waits until that one is out. */
START_TEST(type_1_waits_for_others)
{
	start(RXE_MR_WINDOW_1);
	RECV(64);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	y->others_inside_until_ns = 2500000;
	BIND(8, 256, 16, RXE_REMOTE_WRITE);
	POST(b, RDMA_WRITE, 8);
	world_run_until(&w, 1);
	ck_assert_uint_eq(atomic_load(&y->mws->mw[0].state) & UINT32_MAX, 0);
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "  3000.0 b > WRITE_ONLY 500 len 8 ackreq\n"
	       "  3000.0 b   bind 2 SUCCESS\n"
	       "  3005.0 a > ACK 500 msn 1\n"
	       "  3010.0 b   send 3 SUCCESS\n");
	ck_assert_uint_eq(atomic_load(&y->mws->mw[0].state) & UINT32_MAX, tagged(8));
}
END_TEST

START_TEST(type_1_waits_for_nobody_forever)
{
	start(RXE_MR_WINDOW_1);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	world_run_until(&w, 3000);
	y->others_inside_until_ns = UINT64_MAX;
	/* The grace period begins with the bind, not with the device. */
	BIND(8, 0, 0, 0);
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "103000.0 b   bind 2 SUCCESS\n");
}
END_TEST

/* Only the queue pair's own process uses a window of type 2. */
START_TEST(type_2_waits_for_nobody)
{
	start(RXE_MR_WINDOW_2);
	y->others_inside_until_ns = UINT64_MAX;
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	INVALIDATE(tagged(7));
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "     0.0 b   invalidate 2 SUCCESS\n");
}
END_TEST

/* The queue pair fails while its bind waits. */
START_TEST(fails_while_it_waits)
{
	start(RXE_MR_WINDOW_1);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	y->others_inside_until_ns = UINT64_MAX;
	BIND(8, 0, 0, 0);
	world_run_until(&w, 10);
	world_modify(&w, b, RXE_QPS_ERR);
	world_run(&w);
	expect("     0.0 b   bind 1 SUCCESS\n"
	       "    10.0 b   to ERR\n"
	       "    10.0 b   bind 2 WR_FLUSH_ERR\n");
}
END_TEST

/* Unreliable connections bind and invalidate also. */
START_TEST(on_uc)
{
	struct node_qp_opts opts = world_opts();

	opts.type = RXE_QPT_UC;
	connect_ends(&opts);
	region = node_reg(y, AREA, AREA_LEN, WRITABLE);
	window = node_add_mw(y, RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	POST(b, RDMA_WRITE, 8);
	world_run(&w);
	expect_some("     0.0 b   bind 1 SUCCESS\n"
		    "     0.0 b   send 2 SUCCESS\n");
	WRITE_AT(64, 8, .rkey = tagged(7));
	world_run(&w);
	expect_same(x, 0, y, AREA + 64, 8);
	INVALIDATE(tagged(7));
	INVALIDATE(tagged(7));
	world_run(&w);
	expect_some("invalidate 3 SUCCESS\n"
		    "invalidate 4 MW_BIND_ERR\n");
	ck_assert_int_eq(b->qp.state, RXE_QPS_SQE);
	WRITE_AT(128, 8, .rkey = tagged(7));
	world_run(&w);
	ck_assert(node_is_untouched(y, AREA + 128, 8));
}
END_TEST

/* A bind that the rules exclude fails its queue pair, and opens nothing. */
static void expect_bind_error(struct rxe_bind bind)
{
	POST(b, BIND_MW, 0, .bind = bind);
	POST(b, SEND, 8);
	world_run(&w);
	expect("     0.0 b   to ERR\n"
	       "     0.0 b   bind 1 MW_BIND_ERR\n"
	       "     0.0 b   send 2 WR_FLUSH_ERR\n");
	ck_assert_uint_eq(b->qp.num_mws, 0);
}

static struct rxe_bind with_rights(uint32_t region_rights, uint32_t rights)
{
	start(RXE_MR_WINDOW_2);
	region = node_reg(y, AREA, AREA_LEN, region_rights);
	return binding(7, 64, 128, rights);
}

START_TEST(needs_the_right_to_bind)
{
	expect_bind_error(with_rights(RXE_LOCAL_WRITE | RXE_REMOTE_WRITE, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(to_be_written_needs_local_write)
{
	expect_bind_error(with_rights(RXE_MW_BIND | RXE_REMOTE_READ, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(for_atomics_needs_local_write)
{
	expect_bind_error(with_rights(RXE_MW_BIND | RXE_REMOTE_READ, RXE_REMOTE_ATOMIC));
}
END_TEST

/* A zero-based region's addresses are offsets, and so are those that its windows are bound to. */
START_TEST(over_a_zero_based_region)
{
	struct rxe_bind bind;

	start(RXE_MR_WINDOW_2);
	region = node_reg_at(y, AREA, AREA_LEN, WRITABLE | RXE_ZERO_BASED, RXE_MR_PLAIN, 0);
	bind = binding(7, 64, 128, RXE_REMOTE_WRITE);
	bind.addr = 64;
	POST(b, BIND_MW, 0, .bind = bind);
	WRITE(8, .has_va = true, .va = 72, .rkey = tagged(7));
	world_run(&w);
	expect_some("    10.0 a   send 1 SUCCESS\n");
	expect_same(x, 0, y, AREA + 72, 8);
}
END_TEST

START_TEST(not_over_its_end)
{
	start(RXE_MR_WINDOW_2);
	expect_bind_error(binding(7, AREA_LEN - 127, 128, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(not_over_a_dead_region)
{
	start(RXE_MR_WINDOW_2);
	node_dereg(y, region);
	expect_bind_error(binding(7, 64, 128, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(not_over_another_domains_region)
{
	start(RXE_MR_WINDOW_2);
	y->mrs->entry[rxe_key_index(region)].pd = NODE_OTHER_PD;
	expect_bind_error(binding(7, 64, 128, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(not_a_window_of_another_domain)
{
	start(RXE_MR_WINDOW_2);
	y->mrs->entry[rxe_key_index(window)].pd = NODE_OTHER_PD;
	expect_bind_error(binding(7, 64, 128, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(not_a_window_over_a_window)
{
	start(RXE_MR_WINDOW_2);
	region = node_add_mw(y, RXE_MR_WINDOW_2);
	expect_bind_error(binding(7, 64, 128, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(not_another_process_s_window)
{
	start(RXE_MR_WINDOW_2);
	y->mrs->entry[rxe_key_index(window)].owner++;
	expect_bind_error(binding(7, 64, 128, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(type_2_has_a_length)
{
	start(RXE_MR_WINDOW_2);
	expect_bind_error(binding(7, 64, 0, RXE_REMOTE_WRITE));
}
END_TEST

START_TEST(type_1_is_not_zero_based)
{
	start(RXE_MR_WINDOW_1);
	expect_bind_error(binding(7, 64, 128, RXE_REMOTE_WRITE | RXE_ZERO_BASED));
}
END_TEST

/* The failed bind leaves the window as it was: open to the queue pair that had bound it. */
START_TEST(type_2_is_bound_once)
{
	struct end *d;

	start(RXE_MR_WINDOW_2);
	d = other_end();
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	world_run(&w);
	POST(d, BIND_MW, 0, .bind = binding(8, 0, 8, RXE_REMOTE_WRITE));
	world_run(&w);
	expect_some("     0.0 d   bind 1 MW_BIND_ERR\n");
	WRITE_AT(64, 8, .rkey = tagged(7));
	world_run(&w);
	expect_some("    10.0 a   send 1 SUCCESS\n");
}
END_TEST

static void expect_no_invalidation(uint32_t key)
{
	INVALIDATE(key);
	world_run(&w);
	expect_some("     0.0 b   invalidate 1 MW_BIND_ERR\n");
}

START_TEST(a_region_is_not_invalidated)
{
	start(RXE_MR_WINDOW_2);
	expect_no_invalidation(region);
}
END_TEST

START_TEST(nor_a_window_that_is_not_bound)
{
	start(RXE_MR_WINDOW_2);
	expect_no_invalidation(window);
}
END_TEST

START_TEST(errors_come_in_their_turn)
{
	start(RXE_MR_WINDOW_2);
	POST(b, RDMA_WRITE, 8);
	INVALIDATE(window);
	world_run(&w);
	expect("     0.0 b > WRITE_ONLY 500 len 8 ackreq\n"
	       "     5.0 a > ACK 500 msn 1\n"
	       "    10.0 b   to ERR\n"
	       "    10.0 b   send 1 SUCCESS\n"
	       "    10.0 b   invalidate 2 MW_BIND_ERR\n");
}
END_TEST

/* The region's key dies: so does what the window grants. */
START_TEST(ends_with_its_region)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	world_run(&w);
	node_dereg(y, region);
	expect_refused(64, 8, tagged(7));
}
END_TEST

START_TEST(ends_with_its_queue_pair)
{
	struct end *d;

	start(RXE_MR_WINDOW_2);
	d = other_end();
	POST(d, BIND_MW, 0, .bind = binding(7, 64, 128, RXE_REMOTE_WRITE));
	world_run(&w);
	node_retire_qp(d);
	ck_assert_uint_eq(atomic_load(&y->mws->mw[0].state) & UINT32_MAX, 0);
}
END_TEST

/* A binding may claim what it likes: the server's entry of the region decides. */
START_TEST(lies_open_nothing)
{
	struct rxe_bind bind;

	start(RXE_MR_WINDOW_2);
	region = node_reg(y, AREA, 64, RXE_MW_BIND);
	bind = binding(0, 0, 4096, RXE_REMOTE_WRITE);
	node_open_mw(b, 0x50007, &bind);
	expect_refused(0, 8, 0x50007);
}
END_TEST

START_TEST(drained_before_the_next_bind)
{
	start(RXE_MR_WINDOW_2);
	world_modify(&w, b, RXE_QPS_SQD);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	world_run(&w);
	ck_assert_uint_eq(b->qp.num_mws, 0);
	world_modify(&w, b, RXE_QPS_RTS);
	world_run(&w);
	ck_assert_uint_eq(b->qp.num_mws, 1);
}
END_TEST

START_TEST(flushed)
{
	start(RXE_MR_WINDOW_2);
	world_modify(&w, b, RXE_QPS_ERR);
	BIND(7, 64, 128, RXE_REMOTE_WRITE);
	INVALIDATE(tagged(7));
	world_run(&w);
	expect_some("     0.0 b   bind 1 WR_FLUSH_ERR\n"
		    "     0.0 b   invalidate 2 WR_FLUSH_ERR\n");
	ck_assert_uint_eq(b->qp.num_mws, 0);
}
END_TEST

START_TEST(not_an_lkey)
{
	start(RXE_MR_WINDOW_2);
	BIND(7, 64, 128, ALL);
	POST(b, SEND, 8, .from = AREA + 64, .lkey = tagged(7));
	world_run(&w);
	expect_some("     0.0 b   send 2 LOC_PROT_ERR\n");
}
END_TEST

RUN_TESTS("memory_window", opens_a_part_of_a_region, not_beside_it, not_before_it,
	  not_with_another_tag, not_for_what_it_does_not_grant, not_before_it_is_bound,
	  not_by_another_queue_pair, type_1_serves_every_queue_pair, zero_based, reads_and_atomics,
	  binds_before_what_follows, completes_in_order, a_rewind_passes_it_by,
	  a_fence_waits_for_reads, invalidated, invalidated_within_a_message,
	  invalidated_by_the_peer, invalidated_once, type_1_is_not_the_peers_to_invalidate,
	  type_1_is_bound_again, type_1_closes_with_length_0, type_1_waits_for_others,
	  type_1_waits_for_nobody_forever, type_2_waits_for_nobody, fails_while_it_waits, on_uc,
	  needs_the_right_to_bind, to_be_written_needs_local_write, for_atomics_needs_local_write,
	  over_a_zero_based_region, not_over_its_end, not_over_a_dead_region,
	  not_over_another_domains_region, not_a_window_of_another_domain,
	  not_a_window_over_a_window, not_another_process_s_window, type_2_has_a_length,
	  type_1_is_not_zero_based, type_2_is_bound_once, a_region_is_not_invalidated,
	  nor_a_window_that_is_not_bound, errors_come_in_their_turn, ends_with_its_region,
	  ends_with_its_queue_pair, lies_open_nothing, drained_before_the_next_bind, flushed,
	  not_an_lkey)
