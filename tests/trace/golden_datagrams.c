/* SPDX-License-Identifier: MIT */
/* The unreliable conversations of Linux's rdma_rxe (tests/wire, uc_* and ud_*). Its packets go to
 * our receiver, which must complete receives with the same lengths, immediates and bytes; and the
 * same requests must send the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/trace/fixture.h"
#include "tests/trace/golden_bytes.h"

#define BUFFER	    0x10000u /* address of the program's buffer in a node's memory */
#define RECEIVES_AT 0x40000u
#define RECEIVE_LEN 0x2000u
#define SEED	    0x11 /* byte i of the requester's buffer is 7 * i + SEED */
#define IMM	    0xa1b2c3d4u
#define QKEY	    0x11223344u
#define GRH	    40u
#define MAX_OPS	    5
#define S	    RXE_WR_SEND
#define SI	    RXE_WR_SEND_WITH_IMM
#define W	    RXE_WR_RDMA_WRITE
#define WI	    RXE_WR_RDMA_WRITE_WITH_IMM

struct golden {
	const char *file;
	enum rxe_qp_type type;
	uint32_t qpn; /* of both */
	uint32_t rkey;
	uint32_t lost; /* number of the lost packet */
	struct {
		enum rxe_wr_opcode opcode;
		uint32_t len;
		bool unheard; /* completes nothing at the receiver */
	} ops[MAX_OPS];
	uint32_t num_ops;
	const char *grh; /* before the first payload, as in rdma_rxe */
};

/* rdma_rxe also loses the message after one that lost a packet; ours does not
 * (docs/DEVIATIONS.md). */
/* clang-format off */
static const struct golden goldens[] = {
	{ "uc_send", RXE_QPT_UC, 0x24, .num_ops = 4, .ops = { { S, 8, 0 }, { S, 3500, 0 }, { SI, 16, 0 }, { SI, 2500, 0 } } },
	{ "uc_write", RXE_QPT_UC, 0x25, 0x16c4, .num_ops = 4, .ops = { { W, 8, 1 }, { W, 3500, 1 }, { WI, 16, 0 }, { WI, 2500, 0 } } },
	{ "uc_loss", RXE_QPT_UC, 0x26, .lost = 2, .num_ops = 5, .ops = { { S, 3500, 1 }, { S, 8, 0 }, { S, 9, 0 }, { S, 2000, 0 }, { S, 10, 0 } } },
	{ "ud_send", RXE_QPT_UD, 0x22, .num_ops = 4, .ops = { { S, 8, 0 }, { S, 13, 0 }, { S, 1024, 0 }, { SI, 16, 0 } },
	  .grh = "00000000000000000000000000000000000000004500003c0f754000401117280a0900020a090001" },
	{ "ud_ipv6", RXE_QPT_UD, 0x23, .num_ops = 2, .ops = { { S, 8, 0 }, { SI, 16, 0 } },
	  .grh = "6000000000281140fe80000000000000000000fffe000902fe80000000000000000000fffe000901" },
};
/* clang-format on */

static const struct vector *vectors;
static size_t num_vectors;
static struct node *ours;
static struct end *end;

static const struct vector *next_of(const struct golden *g, size_t *at)
{
	const size_t len = strlen(g->file);

	for (; *at < num_vectors; (*at)++) {
		const struct vector *v = &vectors[*at];

		if (strncmp(v->file, g->file, len) == 0 && v->file[len] == '.')
			return &vectors[(*at)++];
	}
	return NULL;
}

/* Our engine has the address and the QP of either side. */
static void take_place(const struct golden *g, const struct vector *v, bool receives)
{
	struct node_qp_opts opts = world_opts();
	const struct rxe_qp_attr qkey = { .qkey = QKEY };
	struct rxe_mr *mr;
	struct end twin;

	ours = world_add_node(&w);
	ours->engine.cfg.gids[0] = receives ? v->flow.dst : v->flow.src;
	ours->engine.cfg.tx_ports[0] = v->flow.src_port;
	opts.type = g->type;
	opts.psn = receives ? 0x800200 : 0x100;
	opts.rights = RXE_REMOTE_WRITE;
	end = node_add_qp_numbered(ours, 'o', &opts, g->qpn);
	twin = *end;
	node_connect_to(end, &twin, &opts, receives ? 0x100 : 0x800200,
			receives ? &v->flow.src : &v->flow.dst);
	if (g->type == RXE_QPT_UD)
		ck_assert_int_eq(rxe_qp_modify(&ours->engine, &end->qp, &qkey, RXE_QP_QKEY, 0),
				 MODIFY_OK);
	for (uint32_t i = 0; i < RECEIVE_LEN; i++)
		ours->mem[BUFFER + i] = (uint8_t)(7 * i + SEED + receives);
	if (!receives || !g->rkey)
		return;
	mr = &ours->mrs->entry[rxe_key_index(g->rkey)];
	*mr = (struct rxe_mr){ .pd = NODE_PD,
			       .iova = 0x3b36b000,
			       .addr = ours->base + BUFFER,
			       .len = RECEIVE_LEN,
			       .rights = RXE_REMOTE_WRITE,
			       .kind = RXE_MR_PLAIN };
	atomic_store_explicit(&mr->key, g->rkey, memory_order_release);
}

static void leave_place(void)
{
	node_free(ours);
	w.num_nodes--;
}

static void hear(const struct vector *v)
{
	const struct wire_arrival arrival = {
		.p = v->p,
		.len = (uint32_t)v->len,
		.src_port = v->flow.src_port,
		.ip_id = v->ip_id,
		.id_rule = IP_ID_EXACT,
		.traffic_class = v->traffic_class,
		.hop_limit = v->hop_limit,
		.flow_label = v->flow_label,
		.src = v->flow.src,
		.dst = v->flow.dst,
	};

	rxe_engine_input(&ours->engine, &arrival, 0);
	rxe_engine_settle(&ours->engine);
}

/* Expects the first len bytes of the requester's buffer. */
static void expect_bytes(const struct golden *g, uint32_t op, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		ck_assert_msg(p[i] == (uint8_t)(7 * i + SEED), "%s, message %u: byte %u", g->file,
			      op, i);
}

static void expect_grh(const struct golden *g, const uint8_t *p)
{
	for (uint32_t i = 0; i < GRH; i++) {
		unsigned int byte;

		ck_assert_int_eq(sscanf(g->grh + (size_t)2 * i, "%2x", &byte), 1);
		ck_assert_msg(p[i] == byte, "%s: byte %u of the GRH", g->file, i);
	}
}

/* Expects the n-th receive to hold what that operation sent. */
static void expect_receive(const struct golden *g, uint32_t op, uint32_t n)
{
	const bool writes = g->ops[op].opcode == WI, imm = writes || g->ops[op].opcode == SI;
	const uint32_t grh = g->type == RXE_QPT_UD ? GRH : 0;
	const uint8_t *p = ours->mem + (writes ? BUFFER : RECEIVES_AT + n * RECEIVE_LEN);
	struct rxe_cqe cqe;

	ck_assert_msg(rxe_cq_poll(&ours->cq, &cqe, 1) == 1, "%s: message %u", g->file, op);
	ck_assert_uint_eq(cqe.status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(cqe.byte_len, grh + g->ops[op].len);
	ck_assert_uint_eq(cqe.imm_or_rkey, imm ? IMM : 0);
	if (grh)
		ck_assert_uint_eq(cqe.src_qpn, g->qpn);
	if (grh && n == 0)
		expect_grh(g, p);
	expect_bytes(g, op, p + grh, g->ops[op].len);
}

START_TEST(our_receiver)
{
	const struct golden *g = &goldens[_i];
	const struct vector *v;
	uint32_t n = 0;
	size_t at = 0;
	struct rxe_cqe cqe;

	num_vectors = vectors_load(&vectors);
	v = next_of(g, &at);
	ck_assert_ptr_nonnull(v);
	take_place(g, v, true);
	for (uint32_t i = 0; i < MAX_OPS; i++)
		world_recv(&w, end, RECEIVES_AT + i * RECEIVE_LEN, RECEIVE_LEN);
	for (; v; v = next_of(g, &at)) {
		if (v->number != g->lost)
			hear(v);
	}
	ck_assert_uint_eq(ours->counters.rcvd_bad_icrc + ours->counters.rcvd_malformed +
				  ours->counters.rcvd_no_qp + ours->counters.rcvd_bad_key,
			  0);
	for (uint32_t op = 0; op < g->num_ops; op++) {
		if (!g->ops[op].unheard)
			expect_receive(g, op, n++);
	}
	ck_assert_int_eq(rxe_cq_poll(&ours->cq, &cqe, 1), 0);
	if (g->rkey) /* the longest write: 3500 bytes */
		expect_bytes(g, 1, ours->mem + BUFFER, 3500);
	leave_place();
}
END_TEST

static void post(const struct golden *g, const struct vector *v, uint32_t op)
{
	const struct rxe_sge sge = { .addr = ours->base + BUFFER,
				     .length = g->ops[op].len,
				     .lkey = ours->key };
	const struct rxe_av av = { .dgid = v->flow.dst, .hop_limit = 64 };
	const struct rxe_send_wr wr = {
		.opcode = g->ops[op].opcode,
		.flags = RXE_SEND_SIGNALED,
		.imm_or_rkey = IMM,
		.remote_addr = 0x3b36b000,
		.rkey = g->rkey,
		.av = &av,
		.remote_qpn = g->qpn,
		.remote_qkey = QKEY,
		.num_sge = 1,
		.sges = &sge,
	};

	ck_assert_int_eq(rxe_post_send(&ours->engine, &end->qp, &wr, 0), POST_OK);
}

START_TEST(our_sender)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = 1 };
	const struct golden *g = &goldens[_i];
	const struct vector *v;
	size_t at = 0;

	num_vectors = vectors_load(&vectors);
	v = next_of(g, &at);
	ck_assert_ptr_nonnull(v);
	take_place(g, v, false);
	for (uint32_t op = 0; op < g->num_ops; op++)
		post(g, v, op);
	for (; v; v = next_of(g, &at)) {
		train = (struct wire_train){ .buf = buf, .max_segs = 1 };
		ck_assert_msg(rxe_engine_output(&ours->engine, &train, 0), "%s packet %u", g->file,
			      v->number);
		ck_assert_msg(golden_same_bytes(v, buf, train.len),
			      "%s packet %u: ours has other bytes", g->file, v->number);
	}
	train = (struct wire_train){ .buf = buf, .max_segs = 1 };
	ck_assert(!rxe_engine_output(&ours->engine, &train, 0));
	leave_place();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden_datagrams");
	TCase *tc = tcase_create("uc and ud");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, our_receiver, 0, sizeof(goldens) / sizeof(goldens[0]));
	tcase_add_loop_test(tc, our_sender, 0, sizeof(goldens) / sizeof(goldens[0]));
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
