/* SPDX-License-Identifier: MIT */
/* Traces of tag matching: b's SRQ matches the tags of a's messages. */
#include <string.h>

#include "emu/tag_matching.h"
#include "net/wire/packet.h"
#include "tests/trace/fixture.h"

#define MAX_TAGS 8
/* At y: tagged buffers. At x: messages, and what a rendezvous READs. */
#define TAGGED_AT  0x180000u
#define MESSAGE_AT 0x8000u
#define RNDV_AT	   0x40000u

static uint32_t handle;
static uint32_t max_tags = MAX_TAGS;

static void connect_with(const struct node_qp_opts *more)
{
	struct node_qp_opts opts = *more, other;

	node_match_tags(y, max_tags);
	other = opts;
	other.psn = 500;
	other.use_srq = true;
	opts.own_sends = false;
	a = node_add_qp(x, 'a', &opts);
	b = node_add_qp(y, 'b', &other);
	node_connect(a, b, &opts, other.psn);
	node_connect(b, a, &other, opts.psn);
	handle = 0;
}

static void connect_tagged(void)
{
	const struct node_qp_opts opts = world_opts();

	connect_with(&opts);
}

static enum post_result op(enum rxe_tm_op what, uint64_t wr_id, uint64_t tag, uint32_t len,
			   int count)
{
	const struct rxe_sge sge = { .addr = y->base + TAGGED_AT + (uint32_t)tag * 0x4000,
				     .length = len,
				     .lkey = y->key };
	struct rxe_tm_wr wr = {
		.wr_id = wr_id,
		.op = what,
		.signaled = true,
		.has_count = count >= 0,
		.unexpected_cnt = (uint32_t)count,
		.handle = handle,
		.tag = tag,
		.mask = UINT64_MAX,
		.recv = { .wr_id = wr_id + 100, .num_sge = 1, .sges = &sge },
	};
	enum post_result result = rxe_tm_post(&y->engine, &y->srq, &wr, w.now_ns);

	handle = wr.handle;
	return result;
}

static void add(uint64_t tag, uint32_t len, int count)
{
	ck_assert_int_eq(op(RXE_TM_ADD, tag, tag, len, count), POST_OK);
}

static void header(enum tmh_op what, uint64_t tag)
{
	const struct tmh tmh = { .op = (uint8_t)what, .app_ctx = 77, .tag = tag };

	tmh_emit(x->mem + MESSAGE_AT, &tmh);
}

static void eager(uint64_t tag, uint32_t len)
{
	header(TMH_EAGER, tag);
	SEND(TMH_LEN + len, .from = MESSAGE_AT);
}

static void rendezvous(uint64_t tag, uint32_t len)
{
	const struct rvh rvh = { .va = x->base + RNDV_AT, .rkey = x->key, .len = len };

	header(TMH_RNDV, tag);
	rvh_emit(x->mem + MESSAGE_AT + TMH_LEN, &rvh);
	SEND(TMH_LEN + RVH_LEN, .from = MESSAGE_AT);
}

static void receive(uint64_t wr_id)
{
	world_srq_recv(&w, y, wr_id, RECV_AT, 4096);
}

static void expect_fin(uint64_t tag, uint32_t len)
{
	const uint8_t *p = x->mem + RECV_AT;
	struct tmh tmh;
	struct rvh rvh;

	tmh_parse(&tmh, p);
	rvh_parse(&rvh, p + TMH_LEN);
	ck_assert_uint_eq(tmh.op, TMH_FIN);
	ck_assert_uint_eq(tmh.app_ctx, 77);
	ck_assert_uint_eq(tmh.tag, tag);
	ck_assert_uint_eq(rvh.va, x->base + RNDV_AT);
	ck_assert_uint_eq(rvh.rkey, x->key);
	ck_assert_uint_eq(rvh.len, len);
}

START_TEST(eager_in_one_packet)
{
	connect_tagged();
	add(5, 200, 0);
	eager(5, 100);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 116 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 105 SUCCESS len 100 match 5 priv 77 valid\n"
	       "    10.0 a   send 1 SUCCESS\n");
	expect_same(x, MESSAGE_AT + TMH_LEN, y, TAGGED_AT + 5 * 0x4000, 100);
	ck_assert(node_is_untouched(y, TAGGED_AT + 5 * 0x4000 + 100, 100));
}
END_TEST

/* The match is known with the first packet, the data with the last. */
START_TEST(eager_in_three_packets)
{
	connect_tagged();
	add(5, 4096, 0);
	fault("drop a SEND_MIDDLE 101");
	eager(5, 2500);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a x SEND_MIDDLE 101 len 1024\n"
	       "     0.0 a > SEND_LAST 102 len 468 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b   early SEND_LAST 102\n"
	       "     5.0 b > NAK 101 sequence\n"
	       "     5.0 b   recv 105 SUCCESS len 0 match 5 priv 77\n"
	       "    10.0 a   rewind to 101\n"
	       "    10.0 a > SEND_MIDDLE 101 len 1024\n"
	       "    10.0 a > SEND_LAST 102 len 468 ackreq\n"
	       "    15.0 b > ACK 102 msn 1\n"
	       "    15.0 b   recv 105 SUCCESS len 2500 valid\n"
	       "    20.0 a   send 1 SUCCESS\n");
	expect_same(x, MESSAGE_AT + TMH_LEN, y, TAGGED_AT + 5 * 0x4000, 2500);
}
END_TEST

START_TEST(eager_too_long)
{
	connect_tagged();
	add(5, 99, 0);
	eager(5, 100);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 116 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   recv 105 LOC_LEN_ERR\n"
	       "     5.0 b   event QP_LAST_WQE_REACHED\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

/* The memory is not ready: the packet comes again, and is matched once. */
START_TEST(eager_is_deferred)
{
	connect_tagged();
	add(5, 4096, 0);
	add(5, 4096, 0);
	y->deferred_at = y->base + TAGGED_AT;
	y->deferred_end = y->deferred_at + 0x100000;
	y->deferred_until_ns = 500000;
	eager(5, 2000);
	world_run(&w);
	ck_assert_uint_eq(y->tags.num, 1);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_LAST 101 len 992 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b   early SEND_LAST 101\n"
	       "     5.0 b > RNR_NAK 100 timer 14\n"
	       "     5.0 b   recv 105 SUCCESS len 0 match 5 priv 77\n"
	       "    10.0 a   wait until 1290.0, rewind to 100\n"
	       "  1290.0 a > SEND_FIRST 100 len 1024 ackreq\n"
	       "  1295.0 b > ACK 100 msn 0\n"
	       "  1300.0 a > SEND_LAST 101 len 992 ackreq\n"
	       "  1305.0 b > ACK 101 msn 1\n"
	       "  1305.0 b   recv 105 SUCCESS len 2000 valid\n"
	       "  1310.0 a   send 1 SUCCESS\n");
}
END_TEST

/* A peer that sends another packet in the place of the deferred one, shorter than a header. */
START_TEST(another_packet_instead)
{
	connect_tagged();
	add(5, 4096, 0);
	y->deferred_at = y->base + TAGGED_AT;
	y->deferred_end = y->deferred_at + 0x100000;
	y->deferred_until_ns = 500000;
	eager(5, 2000);
	world_run_until(&w, 7);
	inject(a, OP_SEND_ONLY, 100, 3);
	world_run(&w);
	expect("     0.0 a > SEND_FIRST 100 len 1024\n"
	       "     0.0 a > SEND_LAST 101 len 992 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b   early SEND_LAST 101\n"
	       "     5.0 b > RNR_NAK 100 timer 14\n"
	       "     5.0 b   recv 105 SUCCESS len 0 match 5 priv 77\n"
	       "     7.0 a > SEND_ONLY 100 len 3 ackreq\n"
	       "    10.0 a   wait until 1290.0, rewind to 100\n"
	       "    12.0 b > NAK 100 invalid request\n"
	       "    12.0 b   to ERR\n"
	       "    12.0 b   recv 105 WR_FLUSH_ERR\n"
	       "    12.0 b   event QP_REQ_ERR\n"
	       "    12.0 b   event QP_LAST_WQE_REACHED\n"
	       "    17.0 a   to ERR\n"
	       "    17.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

START_TEST(unexpected)
{
	connect_tagged();
	add(5, 200, 0);
	receive(71);
	eager(6, 100);
	world_run(&w);
	/* The whole message. */
	expect_same(x, MESSAGE_AT, y, RECV_AT, TMH_LEN + 100);
	/* The list is out of step: what is added now waits for the count. */
	add(6, 200, 0);
	receive(72);
	eager(6, 50);
	world_run(&w);
	ck_assert_int_eq(op(RXE_TM_SYNC, 9, 0, 0, 2), POST_OK);
	eager(6, 60);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 116 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 116 unexpected\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "   262.1 a > SEND_ONLY 101 len 66 ackreq\n"
	       "   262.1 *   add 6 SUCCESS, sync\n"
	       "   267.1 b > ACK 101 msn 2\n"
	       "   267.1 b   recv 72 SUCCESS len 66 unexpected\n"
	       "   272.1 a   send 2 SUCCESS\n"
	       "   524.3 a > SEND_ONLY 102 len 76 ackreq\n"
	       "   524.3 *   sync 9 SUCCESS\n"
	       "   529.3 b > ACK 102 msn 3\n"
	       "   529.3 b   recv 106 SUCCESS len 60 match 6 priv 77 valid\n"
	       "   534.3 a   send 3 SUCCESS\n");
}
END_TEST

/* Each operation says that the list is out of step, also one that adds nothing. */
START_TEST(out_of_step)
{
	connect_tagged();
	add(5, 200, 0);
	receive(71);
	eager(6, 100);
	world_run(&w);
	skip();
	ck_assert_int_eq(op(RXE_TM_SYNC, 8, 0, 0, 0), POST_OK);
	ck_assert_int_eq(op(RXE_TM_DEL, 9, 0, 0, -1), POST_OK);
	ck_assert_int_eq(op(RXE_TM_SYNC, 10, 0, 0, 1), POST_OK);
	world_run(&w);
	expect("   262.1 *   sync 8 SUCCESS, sync\n"
	       "   262.1 *   delete 9 SUCCESS, sync\n"
	       "   262.1 *   sync 10 SUCCESS\n");
}
END_TEST

START_TEST(without_a_receive)
{
	struct node_qp_opts opts = world_opts();

	opts.rnr_retry = 1;
	connect_with(&opts);
	eager(6, 100);
	world_run(&w);
	ck_assert_uint_eq(y->tags.unexpected, 0);
	expect("     0.0 a > SEND_ONLY 100 len 116 ackreq\n"
	       "     5.0 b > RNR_NAK 100 timer 1\n"
	       "    10.0 a   wait until 20.0, rewind to 100\n"
	       "    20.0 a > SEND_ONLY 100 len 116 ackreq\n"
	       "    25.0 b > RNR_NAK 100 timer 1\n"
	       "    30.0 a   to ERR\n"
	       "    30.0 a   send 1 RNR_RETRY_EXC_ERR\n");
}
END_TEST

START_TEST(no_tag)
{
	connect_tagged();
	add(5, 200, 0);
	receive(71);
	receive(72);
	receive(73);
	header(TMH_NO_TAG, 5);
	SEND(64, .from = MESSAGE_AT);
	world_run(&w);
	header(TMH_FIN, 5);
	SEND(64, .from = MESSAGE_AT);
	SEND(3, .from = MESSAGE_AT);
	world_run(&w);
	ck_assert_uint_eq(y->tags.unexpected, 0);
	expect("     0.0 a > SEND_ONLY 100 len 64 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 64 no tag\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "   262.1 a > SEND_ONLY 101 len 64 ackreq\n"
	       "   262.1 a > SEND_ONLY 102 len 3 ackreq\n"
	       "   267.1 b > ACK 102 msn 3\n"
	       "   267.1 b   recv 72 SUCCESS len 64 no tag\n"
	       "   267.1 b   recv 73 SUCCESS len 3 no tag\n"
	       "   272.1 a   send 2 SUCCESS\n"
	       "   272.1 a   send 3 SUCCESS\n");
}
END_TEST

START_TEST(deleted)
{
	connect_tagged();
	add(5, 200, 0);
	ck_assert_int_eq(op(RXE_TM_DEL, 8, 0, 0, -1), POST_OK);
	ck_assert_int_eq(op(RXE_TM_DEL, 9, 0, 0, -1), POST_OK);
	receive(71);
	eager(5, 100);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 116 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     0.0 *   delete 8 SUCCESS\n"
	       "     0.0 *   delete 9 TM_ERR\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 116 unexpected\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(rendezvous_is_read)
{
	connect_tagged();
	add(5, 4096, 0);
	world_recv(&w, a, RECV_AT, 64);
	rendezvous(5, 3000);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 32 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > READ_REQUEST 500 len 3000 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 105 SUCCESS len 0 match 5 priv 77\n"
	       "    10.0 a > READ_RESP_FIRST 500 len 1024\n"
	       "    10.0 a > READ_RESP_MIDDLE 501 len 1024\n"
	       "    10.0 a > READ_RESP_LAST 502 len 952\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    15.0 b > SEND_ONLY 503 len 32 ackreq\n"
	       "    15.0 b   recv 105 SUCCESS len 3000 valid solicited\n"
	       "    20.0 a > ACK 503 msn 2\n"
	       "    20.0 a   recv 1 SUCCESS len 32\n");
	expect_same(x, RNDV_AT, y, TAGGED_AT + 5 * 0x4000, 3000);
	expect_fin(5, 3000);
}
END_TEST

/* The FIN has no flags, and asks for its ACK all the same. */
START_TEST(rendezvous_on_one_machine)
{
	struct node_qp_opts opts = world_opts();

	opts.timeout = 15;
	y->engine.cfg.probe_ns = 8000000;
	world_share_machine(&w);
	connect_with(&opts);
	add(5, 4096, 0);
	world_recv(&w, a, RECV_AT, 64);
	rendezvous(5, 3000);
	world_run(&w);
	expect_some("    15.0 b > SEND_ONLY 503 len 32 ackreq\n"
		    "    20.0 a > ACK 503 msn 2\n"
		    "    20.0 a   recv 1 SUCCESS len 32\n");
}
END_TEST

/* Two at a time, with losses: each has its data and its FIN. */
START_TEST(rendezvous_through_loss)
{
	connect_tagged();
	add(5, 4096, 0);
	add(6, 4096, 0);
	world_recv(&w, a, RECV_AT, 64);
	world_recv(&w, a, RECV_AT + 64, 64);
	fault("drop a READ_RESP_MIDDLE 501");
	fault("drop b SEND_ONLY *");
	fault("drop b ACK 100");
	rendezvous(5, 3000);
	world_run_until(&w, 1);
	rendezvous(6, 2000);
	world_run(&w);
	expect_some("recv 105 SUCCESS len 0 match 5 priv 77\n"
		    "recv 106 SUCCESS len 0 match 6 priv 77\n"
		    "recv 105 SUCCESS len 3000 valid\n"
		    "recv 106 SUCCESS len 2000 valid\n");
	expect_same(x, RNDV_AT, y, TAGGED_AT + 5 * 0x4000, 3000);
	expect_same(x, RNDV_AT, y, TAGGED_AT + 6 * 0x4000, 2000);
	expect_fin(5, 3000);
}
END_TEST

START_TEST(rendezvous_without_the_right)
{
	connect_tagged();
	add(5, 4096, 0);
	add(6, 4096, 0);
	rendezvous(5, 3000);
	a->qp.attr.qp_access_flags = 0;
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 32 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     0.0 *   add 6 SUCCESS\n"
	       "     5.0 b > READ_REQUEST 500 len 3000 ackreq\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 105 SUCCESS len 0 match 5 priv 77\n"
	       "    10.0 a > NAK 500 invalid request\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   event QP_REQ_ERR\n"
	       "    15.0 b   to ERR\n"
	       "    15.0 b   recv 105 REM_INV_REQ_ERR\n"
	       "    15.0 b   event QP_LAST_WQE_REACHED\n");
}
END_TEST

/* The buffer takes the header, and the program goes on. */
START_TEST(rendezvous_is_incomplete)
{
	connect_tagged();
	add(5, 2999, 0);
	rendezvous(5, 3000);
	world_run(&w);
	expect_same(x, MESSAGE_AT, y, TAGGED_AT + 5 * 0x4000, TMH_LEN + RVH_LEN);
	expect("     0.0 a > SEND_ONLY 100 len 32 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 105 TM_RNDV_INCOMPLETE len 32 match 5 priv 77 valid\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

START_TEST(rendezvous_with_own_sends)
{
	struct node_qp_opts opts = world_opts();

	opts.own_sends = true;
	connect_with(&opts);
	add(5, 4096, 0);
	rendezvous(5, 3000);
	world_run(&w);
	POST(b, RDMA_READ, 3000, .from = TAGGED_AT + 5 * 0x4000, .to = RNDV_AT);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 32 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 105 TM_RNDV_INCOMPLETE len 32 match 5 priv 77 valid\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "   262.1 b > READ_REQUEST 500 len 3000 ackreq\n"
	       "   267.1 a > READ_RESP_FIRST 500 len 1024\n"
	       "   267.1 a > READ_RESP_MIDDLE 501 len 1024\n"
	       "   267.1 a > READ_RESP_LAST 502 len 952\n"
	       "   272.1 b   send 1 SUCCESS\n");
	expect_same(x, RNDV_AT, y, TAGGED_AT + 5 * 0x4000, 3000);
}
END_TEST

START_TEST(rendezvous_header_too_long)
{
	connect_tagged();
	add(5, 4096, 0);
	header(TMH_RNDV, 5);
	SEND(RXE_TM_RNDV_BYTES + 1, .from = MESSAGE_AT);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 65 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > NAK 100 invalid request\n"
	       "     5.0 b   to ERR\n"
	       "     5.0 b   event QP_REQ_ERR\n"
	       "     5.0 b   event QP_LAST_WQE_REACHED\n"
	       "    10.0 a   to ERR\n"
	       "    10.0 a   send 1 REM_INV_REQ_ERR\n");
}
END_TEST

/* More than the queue pair carries out at a time wait. */
START_TEST(many_rendezvous)
{
	uint32_t i;

	max_tags = 4 * RXE_TM_RNDVS;
	connect_tagged();
	for (i = 0; i < max_tags; i++) {
		add(5, 4096, 0);
		world_recv(&w, a, RECV_AT, 64);
		rendezvous(5, 64);
	}
	world_run_until(&w, 6);
	ck_assert_uint_eq(b->qp.rndvs, RXE_TM_RNDVS);
	expect_some("     5.0 b > RNR_NAK 132 timer 1\n");
	world_run(&w);
	skip();
	ck_assert_uint_eq(y->tags.num, 0);
	ck_assert_uint_eq(b->qp.rndvs, 0);
	ck_assert_int_eq(a->qp.state, RXE_QPS_RTS);
	ck_assert_uint_eq(rxe_ring_used(&a->qp.rq), 0);
	expect_fin(5, 64);
}
END_TEST

/* The program gets every buffer back. */
START_TEST(queue_pair_fails)
{
	connect_tagged();
	add(5, 4096, 0);
	add(6, 4096, 0);
	rendezvous(5, 3000);
	world_run_until(&w, 6);
	eager(6, 2000);
	fault("drop a SEND_LAST 102 x9");
	world_run_until(&w, 12);
	world_modify(&w, b, RXE_QPS_ERR);
	world_flush(&w);
	expect_some("recv 105 WR_FLUSH_ERR\n");
	skip();
}
END_TEST

START_TEST(list_is_full)
{
	uint64_t i;

	connect_tagged();
	for (i = 0; i < MAX_TAGS; i++)
		add(i, 64, 0);
	ck_assert_int_eq(op(RXE_TM_ADD, 9, 9, 64, 0), POST_FULL);
	skip();
}
END_TEST

/* A receive of data with immediate takes no tag. */
START_TEST(write_with_immediate)
{
	connect_tagged();
	add(5, 64, 0);
	receive(71);
	POST(a, RDMA_WRITE_WITH_IMM, 64, .imm = 3);
	world_run(&w);
	expect("     0.0 a > WRITE_ONLY_IMM 100 len 64 imm 0x3 ackreq\n"
	       "     0.0 *   add 5 SUCCESS\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "     5.0 b   recv 71 SUCCESS len 64 imm 0x3\n"
	       "    10.0 a   send 1 SUCCESS\n");
}
END_TEST

RUN_TESTS("tag_matching", eager_in_one_packet, eager_in_three_packets, eager_too_long,
	  eager_is_deferred, another_packet_instead, unexpected, out_of_step, without_a_receive,
	  no_tag, deleted, rendezvous_is_read, rendezvous_on_one_machine, rendezvous_through_loss,
	  rendezvous_without_the_right, rendezvous_is_incomplete, rendezvous_with_own_sends,
	  rendezvous_header_too_long, many_rendezvous, queue_pair_fails, list_is_full,
	  write_with_immediate)
