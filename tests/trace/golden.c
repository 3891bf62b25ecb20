/* SPDX-License-Identifier: MIT */
/* The conversations of Linux's rdma_rxe with itself (tests/wire), with our engine in the place of
 * each side in turn. Its requests go to our responder, its responses to our requester. Our packets
 * are compared with its packets: operation, PSN, syndrome, MSN, values, payload; then byte for
 * byte. The table marks intended differences (docs/DEVIATIONS.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/rc/nak.h"
#include "tests/trace/fixture.h"
#include "tests/trace/golden_bytes.h"
#include "tests/unit/wire_vectors.h"

#define BUFFER	   0x10000u /* address of the program's buffer in a node's memory */
#define BUFFER_LEN 0x10000u
#define ALL	   (RXE_REMOTE_WRITE | RXE_REMOTE_READ | RXE_REMOTE_ATOMIC)
#define MAX_OPS	   6
#define MAX_SAID   512

struct golden {
	const char *file;
	uint32_t qpn; /* of both */
	uint32_t mtu; /* 0: 1024 */
	uint32_t rkey;
	uint64_t addr;
	uint32_t rights;    /* of the region; 0: all */
	uint32_t qp_rights; /* 0: all */
	uint32_t recv_len;
	uint32_t recv_from; /* receives are posted from this request on */
	uint32_t lost[6];   /* numbers of packets that were lost */
	uint32_t psn;	    /* the requester's first; 0: 256 */
	uint64_t word;	    /* at the start of the responder's buffer */
	uint8_t retries;    /* of both kinds; 0: 7 */
	uint8_t rnr_timer;  /* code; 0: 20 */
	uint8_t rd_atomic;  /* 0: 16 */
	bool reads_again;   /* rdma_rxe continues with MIDDLE where we begin with FIRST */
	uint8_t syndrome;   /* our syndrome, where rdma_rxe's is another */
	bool only_answers;  /* our requester goes back less far, or the capture lacks responses */
	bool only_end;	    /* the capture lacks packets: only the bytes count */
	bool repeats_less;  /* with memory for what follows a loss, ours resends less */
	struct {
		enum rxe_wr_opcode opcode;
		uint32_t len;
		uint32_t flags;
	} ops[MAX_OPS];
	uint32_t num_ops;
	enum rxe_wc_status status; /* status of the last request that is not flushed */
};

#define OPS(n) .num_ops = (n), .ops =
#define ADDR   .addr = 0x3b36b000
#define S      RXE_WR_SEND
#define W      RXE_WR_RDMA_WRITE
#define R      RXE_WR_RDMA_READ
#define FAA    RXE_WR_ATOMIC_FETCH_AND_ADD
#define CAS    RXE_WR_ATOMIC_CMP_AND_SWP
#define SI     RXE_WR_SEND_WITH_IMM
#define WI     RXE_WR_RDMA_WRITE_WITH_IMM
#define INV    RXE_WR_SEND_WITH_INV

/* clang-format off */
static const struct golden goldens[] = {
	{ "rc_send_only", 0x11, .recv_len = 64, OPS(3) { { S, 8, 0 }, { S, 13, 0 }, { S, 0, 0 } } },
	{ "rc_send_multi", 0x12, .recv_len = 4096, OPS(2) { { S, 3500, 0 }, { S, 2048, 0 } } },
	{ "rc_send_imm", 0x13, .recv_len = 4096, OPS(3) { { SI, 16, 0 }, { SI, 2500, 0 }, { SI, 0, 0 } } },
	{ "rc_send_inv", 0x14, .rkey = 0x5e8, .addr = 0x3b2d2000, .recv_len = 4096,
	  OPS(4) { { W, 8, 0 }, { INV, 16, 0 }, { W, 8, 0 }, { INV, 2500, 0 } } },
	{ "rc_send_solicited", 0x15, .recv_len = 4096, OPS(2) { { S, 8, RXE_SEND_SOLICITED }, { S, 2500, RXE_SEND_SOLICITED } } },
	{ "rc_send_burst", 0x16, .recv_len = 64, .only_answers = true },
	{ "rc_psn_wrap", 0x17, .psn = 0xfffffe, .recv_len = 8192, OPS(1) { { S, 5000, 0 } } },
	{ "rc_mtu", 0x19, 4096, .recv_len = 16384, OPS(1) { { S, 9000, 0 } } },
	{ "rc_ipv6", 0x1a, .rkey = 0xb4b, .addr = 0x3b327000, .recv_len = 64, OPS(3) { { S, 8, 0 }, { W, 2500, 0 }, { R, 2500, 0 } } },
	{ "rc_grh_fields", 0x1c, .recv_len = 64, OPS(1) { { S, 8, 0 } } },
	{ "rc_write", 0x1d, .rkey = 0xec4, .addr = 0x3b35a000, OPS(4) { { W, 8, 0 }, { W, 13, 0 }, { W, 0, 0 }, { W, 3500, 0 } } },
	{ "rc_write_imm", 0x1e, .rkey = 0xf91, ADDR, .recv_len = 64, OPS(3) { { WI, 16, 0 }, { WI, 2500, 0 }, { WI, 0, 0 } } },
	{ "rc_read", 0x1f, .rkey = 0x1077, ADDR, OPS(5) { { R, 8, 0 }, { R, 13, 0 }, { R, 0, 0 }, { R, 3500, 0 }, { R, 2048, 0 } } },
	{ "rc_read_pipeline", 0x20, .rkey = 0x1185, ADDR, .recv_len = 64, .rd_atomic = 1,
	  OPS(6) { { R, 2000, 0 }, { R, 2000, 0 }, { R, 2000, 0 }, { R, 2000, 0 }, { W, 100, 0 }, { S, 4, RXE_SEND_FENCE } } },
	{ "rc_atomic", 0x21, .rkey = 0x12d1, ADDR, .word = 0x1111111111111111, OPS(3) { { CAS, 8, 0 }, { CAS, 8, 0 }, { FAA, 8, 0 } } },
	{ "rc_rnr", 0x27, .recv_len = 64, .recv_from = 3, OPS(1) { { S, 64, 0 } } },
	{ "rc_rnr_exhausted", 0x28, .rnr_timer = 14, .recv_len = 64, .recv_from = 99, .retries = 2, OPS(1) { { S, 64, 0 } }, .status = RXE_WC_RNR_RETRY_EXC_ERR },
	{ "rc_rnr_write_imm", 0x29, .rnr_timer = 14, .rkey = 0x1af0, ADDR, .recv_len = 64, .recv_from = 7, .only_answers = true },
	{ "rc_loss_request", 0x2a, .rkey = 0x1bdf, ADDR, .lost = { 6 }, .repeats_less = true, OPS(1) { { W, 12288, 0 } } },
	{ "rc_loss_last", 0x2b, .recv_len = 4096, .lost = { 3 }, OPS(1) { { S, 3000, 0 } } },
	{ "rc_loss_ack", 0x2c, .recv_len = 64, .lost = { 2 }, OPS(1) { { S, 64, 0 } } },
	{ "rc_loss_read", 0x2d, .rkey = 0x1ec5, ADDR, .lost = { 4 }, .reads_again = true, .repeats_less = true, OPS(1) { { R, 6144, 0 } } },
	{ "rc_loss_atomic", 0x2e, .rkey = 0x1f8a, ADDR, .lost = { 2 }, .word = 100, OPS(1) { { FAA, 8, 0 } } },
	{ "rc_retry_exhausted", 0x2f, .recv_len = 64, .lost = { 1, 2, 3 }, .retries = 2, OPS(1) { { S, 64, 0 } }, .status = RXE_WC_RETRY_EXC_ERR },
	{ "rc_netem_loss", 0x30, 256, 0x21cc, ADDR, .recv_len = 16384, .only_end = true },
	{ "rc_netem_reorder", 0x31, 256, 0x222e, ADDR, .only_end = true },
	{ "rc_err_write_rkey", 0x32, .rkey = 0x2305, ADDR, OPS(1) { { W, 64, 0 } }, .status = RXE_WC_REM_ACCESS_ERR },
	{ "rc_err_read_bounds", 0x33, .rkey = 0x243f, ADDR, OPS(1) { { R, 64, 0 } }, .status = RXE_WC_REM_ACCESS_ERR },
	{ "rc_err_write_perm", 0x34, .rkey = 0x250f, ADDR, .rights = RXE_REMOTE_READ, OPS(1) { { W, 64, 0 } }, .status = RXE_WC_REM_ACCESS_ERR },
	{ "rc_err_qp_access", 0x35, .rkey = 0x261a, ADDR, .qp_rights = RXE_REMOTE_READ, OPS(1) { { W, 64, 0 } }, .status = RXE_WC_REM_INV_REQ_ERR },
	{ "rc_err_write_bounds", 0x36, .rkey = 0x2716, ADDR, OPS(1) { { W, 3500, 0 } }, .status = RXE_WC_REM_ACCESS_ERR },
	{ "rc_err_recv_short", 0x37, .recv_len = 16, .syndrome = RC_NAK_INVALID_REQUEST, OPS(1) { { S, 64, 0 } }, .status = RXE_WC_REM_OP_ERR },
	{ "rc_err_atomic", 0x39, .rkey = 0x2a36, ADDR, .rights = RXE_REMOTE_READ, OPS(1) { { FAA, 8, 0 } }, .status = RXE_WC_REM_ACCESS_ERR },
	{ "rc_err_inv_rkey", 0x3a, .recv_len = 64, .syndrome = RC_NAK_REMOTE_ACCESS, OPS(1) { { INV, 8, 0 } } },
	{ "rc_err_flush", 0x3b, .rkey = 0x2c58, ADDR, .recv_len = 64, OPS(3) { { S, 8, 0 }, { W, 8, 0 }, { S, 8, 0 } }, .status = RXE_WC_REM_ACCESS_ERR },
};
/* clang-format on */

#define NUM_GOLDENS (sizeof(goldens) / sizeof(goldens[0]))

/* Packets of our engine that are not compared yet. */
static struct said {
	struct wire_packet packet;
	uint8_t bytes[4200];
	uint32_t len;
} said[MAX_SAID];
static uint32_t num_said, next_said;

static const struct vector *vectors;
static size_t num_vectors;
static struct node *ours;
static struct end *end;
static uint64_t now_ns;
static bool over_udp; /* ends whose sockets do not show the IPv4 identification */
static bool holds;    /* our engine has memory for requests after a missing one */

static void complain(const struct golden *g, const struct vector *v, const char *why)
{
	(void)fprintf(stderr, "%s, packet %u: %s\n", v ? v->file : g->file, v ? v->number : 0, why);
	ck_abort_msg("our engine and rdma_rxe differ");
}

static bool is_of(const struct vector *v, const struct golden *g)
{
	size_t len = strlen(g->file);

	return strncmp(v->file, g->file, len) == 0 && v->file[len] == '.';
}

static bool is_lost(const struct vector *v, const struct golden *g)
{
	size_t i;

	for (i = 0; i < sizeof(g->lost) / sizeof(g->lost[0]); i++) {
		if (g->lost[i] == v->number)
			return true;
	}
	return false;
}

/* Returns the next packet of the conversation from *at on. The first one shows which side is the
 * requester. */
static const struct vector *next_of(const struct golden *g, size_t *at, struct wire_packet *ret)
{
	for (; *at < num_vectors; (*at)++) {
		const struct vector *v = &vectors[*at];

		if (!is_of(v, g) || wire_parse(ret, v->p, v->len) != WIRE_OK ||
		    ret->bth.dest_qpn != g->qpn)
			continue;
		(*at)++;
		return v;
	}
	return NULL;
}

static bool is_from(const struct vector *v, const struct gid *gid)
{
	return gid_equal(&v->flow.src, gid);
}

static void say(void)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = 1 };

	/* After a loss rdma_rxe requests as much at a time as before. */
	rc_window_reset(&end->qp.rc.req.window, false);
	while (rxe_engine_output(&ours->engine, &train, now_ns)) {
		struct said *s = &said[num_said++];

		ck_assert_uint_le(num_said, MAX_SAID);
		memcpy(s->bytes, buf, train.len);
		s->len = train.len;
		ck_assert_int_eq(wire_parse(&s->packet, s->bytes, train.len), WIRE_OK);
	}
	rxe_engine_settle(&ours->engine);
}

static void hear(const struct vector *v)
{
	const bool blind = over_udp && gid_is_v4(&v->flow.dst);
	const struct wire_arrival arrival = {
		.p = v->p,
		.len = (uint32_t)v->len,
		.src_port = v->flow.src_port,
		.ip_id = blind ? 0 : v->ip_id,
		.id_rule = blind ? IP_ID_ANY : IP_ID_EXACT,
		.src = v->flow.src,
		.dst = v->flow.dst,
	};

	rxe_engine_input(&ours->engine, &arrival, now_ns);
	if (ours->counters.rcvd_bad_icrc || ours->counters.rcvd_dropped)
		complain(NULL, v, "we do not take it");
}

/* Our engine takes the place of one side, with its address, QPN, buffer and key. v is a request. */
static void take_place(const struct golden *g, const struct vector *v, bool responder)
{
	uint32_t psn = g->psn ? g->psn : 0x100;
	const struct gid *here = responder ? &v->flow.dst : &v->flow.src;
	const struct gid *there = responder ? &v->flow.src : &v->flow.dst;
	struct node_qp_opts opts = world_opts();
	struct rxe_mr *mr;
	struct end twin;
	uint32_t i;

	w.now_ns = now_ns = 0;
	num_said = next_said = 0;
	ours = world_add_node(&w);
	if (holds)
		node_hold(ours);
	ours->engine.cfg.gids[0] = *here;
	ours->engine.cfg.tx_ports[0] = v->flow.src_port;
	opts.mtu = g->mtu ? g->mtu : 1024;
	opts.psn = responder ? 0x800200 : psn;
	opts.timeout = 14;
	opts.rnr_timer = g->rnr_timer ? g->rnr_timer : 20;
	opts.retry_cnt = opts.rnr_retry = g->retries ? g->retries : 7;
	opts.rd_atomic = g->rd_atomic ? g->rd_atomic : 16;
	opts.rights = g->qp_rights ? g->qp_rights : ALL;
	end = node_add_qp_numbered(ours, 'o', &opts, g->qpn);
	twin = *end;
	node_connect_to(end, &twin, &opts, responder ? psn : 0x800200, there);
	for (i = 0; i < BUFFER_LEN; i++)
		ours->mem[BUFFER + i] = (uint8_t)(7 * i + (responder ? 0x80 : 0x11));
	if (g->word)
		set_word(ours, BUFFER, g->word);
	if (!responder || !g->rkey)
		return;
	mr = &ours->mrs->entry[rxe_key_index(g->rkey)];
	*mr = (struct rxe_mr){ .pd = NODE_PD,
			       .iova = g->addr,
			       .addr = ours->base + BUFFER,
			       .len = BUFFER_LEN,
			       .rights = g->rights ? g->rights : ALL,
			       .kind = RXE_MR_PLAIN };
	atomic_store_explicit(&mr->key, g->rkey, memory_order_release);
}

static void leave_place(void)
{
	node_free(ours);
	w.num_nodes--;
}

/* The windows of rc_send_inv are bound before they are written to. */
static void bind_window(const struct golden *g, const struct wire_packet *packet)
{
	const struct rxe_bind bind = {
		.addr = g->addr, .len = BUFFER_LEN, .region = g->rkey, .rights = RXE_REMOTE_WRITE
	};

	if (!(packet->shape & SHAPE_RETH) || rxe_key_index(packet->reth.rkey) == 0)
		return;
	ours->mrs->entry[rxe_key_index(g->rkey)].rights = ALL | RXE_LOCAL_WRITE | RXE_MW_BIND;
	node_open_mw(end, packet->reth.rkey, &bind);
}

static bool same_answer_op(const struct golden *g, const struct wire_packet *mine,
			   const struct wire_packet *theirs)
{
	return mine->bth.opcode == theirs->bth.opcode ||
	       (g->reads_again && theirs->bth.opcode == OP_READ_RESP_MIDDLE &&
		mine->bth.opcode == OP_READ_RESP_FIRST);
}

static void compare_answer(const struct golden *g, const struct vector *v,
			   const struct wire_packet *theirs)
{
	const struct wire_packet *mine = &said[next_said].packet;
	uint8_t syndrome = g->syndrome ? g->syndrome : theirs->aeth.syndrome;

	if (next_said++ == num_said)
		complain(g, v, "we answer nothing");
	if (!same_answer_op(g, mine, theirs) || mine->bth.psn != theirs->bth.psn)
		complain(g, v, "another operation or PSN");
	if ((theirs->shape & SHAPE_AETH) &&
	    (mine->aeth.syndrome != syndrome || mine->aeth.msn != theirs->aeth.msn))
		complain(g, v, "another syndrome or MSN");
	if ((theirs->shape & SHAPE_ATOMIC) && mine->atomic_orig != theirs->atomic_orig)
		complain(g, v, "another value");
	if (mine->payload_len != theirs->payload_len || mine->bth.pad != theirs->bth.pad ||
	    memcmp(mine->payload, theirs->payload, mine->payload_len) != 0)
		complain(g, v, "another payload");
	if (mine->bth.opcode == theirs->bth.opcode && !g->syndrome &&
	    !golden_same_bytes(v, said[next_said - 1].bytes, said[next_said - 1].len))
		complain(g, v, "other bytes");
}

static void post_receives(const struct golden *g)
{
	uint32_t i;

	for (i = 0; i < 16 && g->recv_len > 0; i++)
		world_recv(&w, end, 0x40000 + i * 0x4000, g->recv_len);
}

/* Whether only the bytes are compared. */
static bool ends_alike(const struct golden *g)
{
	return g->only_end || (holds && g->repeats_less && g->ops[0].opcode == W);
}

/* In any order, the requester wrote at least so much of its buffer to the start of ours. */
static void check_written(const struct golden *g)
{
	uint32_t i;

	for (i = 0; i < 10240; i++) {
		if (ours->mem[BUFFER + i] != (uint8_t)(7 * i + 0x11))
			complain(g, NULL, "other bytes were written");
	}
}

static void play_responder(const struct golden *g)
{
	struct wire_packet packet;
	size_t at = 0;
	const struct vector *v = next_of(g, &at, &packet);
	struct gid asker;
	uint32_t requests = 0;

	if (!v)
		complain(g, NULL, "no such conversation");
	asker = v->flow.src;
	take_place(g, v, true);
	for (; v; v = next_of(g, &at, &packet)) {
		if (is_from(v, &asker) != !!(packet.shape & SHAPE_REQUEST))
			continue; /* rc_psn_wrap: the other way round */
		if (!(packet.shape & SHAPE_REQUEST)) {
			if (!ends_alike(g))
				compare_answer(g, v, &packet);
			continue;
		}
		if (requests++ == g->recv_from)
			post_receives(g);
		bind_window(g, &packet);
		if (is_lost(v, g))
			continue;
		hear(v);
		say();
	}
	if (!ends_alike(g) && next_said != num_said)
		complain(g, v, "we answer more");
	if (ends_alike(g))
		check_written(g);
	leave_place();
}

static void compare_request(const struct golden *g, const struct vector *v,
			    const struct wire_packet *theirs)
{
	const struct wire_packet *mine = NULL;

	do {
		if (next_said == num_said) {
			now_ns = rxe_engine_deadline(&ours->engine);
			if (now_ns == UINT64_MAX)
				complain(g, v, "we ask nothing");
			rxe_engine_expire(&ours->engine, now_ns);
			say();
		}
		if (next_said < num_said)
			mine = &said[next_said++].packet;
		/* We may have sent more, before the response that made us go back. */
	} while (!mine || mine->bth.psn != theirs->bth.psn);
	if (mine->bth.opcode != theirs->bth.opcode)
		complain(g, v, "another operation");
	if (mine->payload_len != theirs->payload_len || mine->bth.pad != theirs->bth.pad ||
	    memcmp(mine->payload, theirs->payload, mine->payload_len) != 0)
		complain(g, v, "another payload");
	if ((theirs->bth.ack_req && !mine->bth.ack_req) ||
	    mine->bth.solicited != theirs->bth.solicited)
		complain(g, v, "other flags");
	if ((theirs->shape & SHAPE_RETH) && memcmp(&mine->reth, &theirs->reth, sizeof(mine->reth)))
		complain(g, v, "another RETH");
	if ((theirs->shape & SHAPE_IMM) && mine->imm != theirs->imm)
		complain(g, v, "another immediate");
	if ((theirs->shape & SHAPE_IETH) && mine->inv_rkey != theirs->inv_rkey)
		complain(g, v, "another key to invalidate");
	if ((theirs->shape & SHAPE_ATOMIC) &&
	    memcmp(&mine->atomic, &theirs->atomic, sizeof(mine->atomic)))
		complain(g, v, "another AtomicETH");
	if (!golden_same_bytes(v, said[next_said - 1].bytes, said[next_said - 1].len))
		complain(g, v, "other bytes");
}

/* Keys, addresses and operands come from the packets, not from the table. */
static void fill_from_packets(const struct golden *g, uint32_t index, struct rxe_send_wr *wr)
{
	struct wire_packet packet;
	const struct vector *v;
	uint32_t messages = 0, last_psn = 0;
	struct gid asker;
	size_t at = 0;

	for (v = next_of(g, &at, &packet); v; v = next_of(g, &at, &packet)) {
		if (at == 1 || messages == 0)
			asker = messages == 0 ? v->flow.src : asker;
		if (!is_from(v, &asker) || !(packet.shape & SHAPE_REQUEST) ||
		    (messages > 0 && psn_diff(packet.bth.psn, last_psn) <= 0))
			continue;
		messages += !!(packet.shape & SHAPE_FIRST);
		last_psn = packet.bth.psn;
		if (messages != index + 1)
			continue;
		if (packet.shape & SHAPE_RETH) {
			wr->rkey = packet.reth.rkey;
			wr->remote_addr = packet.reth.va;
		}
		if (packet.shape & SHAPE_ATOMIC) {
			bool swaps = wr->opcode == RXE_WR_ATOMIC_CMP_AND_SWP;

			wr->rkey = packet.atomic.rkey;
			wr->remote_addr = packet.atomic.va;
			wr->compare_add = swaps ? packet.atomic.compare : packet.atomic.swap_add;
			wr->swap = packet.atomic.swap_add;
		}
		if (packet.shape & SHAPE_IMM)
			wr->imm_or_rkey = packet.imm;
		if (packet.shape & SHAPE_IETH)
			wr->imm_or_rkey = packet.inv_rkey;
	}
}

static void post_requests(const struct golden *g)
{
	uint32_t i;

	for (i = 0; i < g->num_ops; i++) {
		const struct rxe_sge sge = { .addr = ours->base + BUFFER,
					     .length = g->ops[i].len,
					     .lkey = ours->key };
		struct rxe_send_wr wr = { .wr_id = i,
					  .opcode = g->ops[i].opcode,
					  .flags = g->ops[i].flags | RXE_SEND_SIGNALED,
					  .num_sge = 1,
					  .sges = &sge };

		fill_from_packets(g, i, &wr);
		ck_assert_int_eq(rxe_post_send(&ours->engine, &end->qp, &wr, now_ns), POST_OK);
	}
	say();
}

static void check_completions(const struct golden *g)
{
	struct rxe_cqe cqe;
	uint32_t i;

	while (rxe_ring_used(&end->qp.sq) > 0 && rxe_engine_deadline(&ours->engine) != UINT64_MAX) {
		now_ns = rxe_engine_deadline(&ours->engine);
		rxe_engine_expire(&ours->engine, now_ns);
		say();
	}
	for (i = 0; rxe_cq_poll(&ours->cq, &cqe, 1); i++) {
		if (cqe.status == RXE_WC_WR_FLUSH_ERR)
			continue;
		if (cqe.status != RXE_WC_SUCCESS && cqe.status != (uint32_t)g->status)
			complain(g, NULL, trace_status_str(cqe.status));
	}
	if (i != g->num_ops)
		complain(g, NULL, "not every request was completed");
}

static void play_requester(const struct golden *g)
{
	struct wire_packet packet;
	size_t at = 0;
	const struct vector *v = next_of(g, &at, &packet);
	struct gid asker = v->flow.src;

	take_place(g, v, false);
	post_requests(g);
	for (; v; v = next_of(g, &at, &packet)) {
		if (is_from(v, &asker) != !!(packet.shape & SHAPE_REQUEST))
			continue;
		if (packet.shape & SHAPE_REQUEST) {
			compare_request(g, v, &packet);
		} else if (!is_lost(v, g)) {
			hear(v);
			say();
		}
	}
	check_completions(g);
	leave_place();
}

static void all_responders(void)
{
	num_vectors = vectors_load(&vectors);
	for (size_t i = 0; i < NUM_GOLDENS; i++)
		play_responder(&goldens[i]);
}

static void all_requesters(void)
{
	num_vectors = vectors_load(&vectors);
	for (size_t i = 0; i < NUM_GOLDENS; i++) {
		if (!goldens[i].only_answers && !goldens[i].only_end &&
		    !(holds && goldens[i].repeats_less))
			play_requester(&goldens[i]);
	}
}

START_TEST(our_responder)
{
	all_responders();
}
END_TEST

START_TEST(our_requester)
{
	all_requesters();
}
END_TEST

/* Its requests after a missing one are held, though it sends them again. */
START_TEST(our_responder_that_holds)
{
	holds = true;
	all_responders();
}
END_TEST

START_TEST(our_requester_that_repeats_less)
{
	holds = true;
	all_requesters();
}
END_TEST

START_TEST(our_responder_over_udp)
{
	over_udp = true;
	all_responders();
}
END_TEST

START_TEST(our_requester_over_udp)
{
	over_udp = true;
	all_requesters();
}
END_TEST

RUN_TESTS("golden", our_responder, our_requester, our_responder_that_holds,
	  our_requester_that_repeats_less, our_responder_over_udp, our_requester_over_udp)
