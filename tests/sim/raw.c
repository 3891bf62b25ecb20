// SPDX-License-Identifier: MIT
/* Raw packets of one device, by the thousand: programs with raw queue pairs on a private wire that
 * loses and doubles packets. They make and remove flows, post receives, send frames.
 *
 * A model steers each frame that arrives, by the text of ibv_create_flow(3): the completions that
 * the engine makes are exactly the model's, in order, with the bytes of the frame and the flow's
 * tag; nothing after the frame is written; a frame without a receive counts as dropped. Each
 * program that has flows gets each frame in one packet.
 *
 *     sim_raw [--seed N] [--count N]     count seeds from N on; --seed alone: that one */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/raw/flow.h"
#include "emu/raw/frame.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/qp_required.h"
#include "tests/raw_frame.h"
#include "tests/sim/link.h"
#include "tests/sim/node.h"

#define NODES	   3u
#define QPS	   2u /* of each program */
#define FLOWS	   8u /* of each program */
#define SLOT_BYTES 0x800u
#define DEPTH	   8u
#define SEND_AT	   0x10000u
#define MEM_BYTES  0x20000u
#define PORTS	   3u
#define STEPS	   200u

/* A flow and the model's view of it. */
struct made {
	struct rxe_flow flow;
	struct end *end;
	uint32_t port, age; /* port PORTS: any frame */
	bool exists;
};

/* What the engine must complete. */
struct wanted {
	struct end *end;
	uint32_t tag;
};

static uint64_t seed;
static struct link dice;
static struct node *node[NODES];
static struct end *end[NODES][QPS];
static struct made made[NODES][FLOWS];
static bool listens[NODES];
static uint32_t ages;
static uint64_t posted[NODES][QPS], taken[NODES][QPS];
static uint64_t frames_seen, frames_taken;
static struct rxe_host_ops ops;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fprintf(stderr, "\nseed %llu; replay: tests/sim/sim_raw --seed %llu\n",
		      (unsigned long long)seed, (unsigned long long)seed);
	exit(EXIT_FAILURE);
}

static uint32_t throw(uint32_t limit)
{
	return link_random(&dice, limit);
}

static void raw_listens(void *host, bool yes)
{
	listens[((struct node *)host)->index] = yes;
}

/* Slots count from 1. */
static uint32_t raw_listener(void *host, uint32_t slot)
{
	(void)host;
	for (uint32_t i = 0; i < NODES; i++)
		if (listens[i] && i + 1 >= slot)
			return i + 1;
	return RXE_MAX_SLOTS;
}

static uint32_t place_of(const struct end *which)
{
	return end[which->node->index][1] == which;
}

static uint32_t slot_of(const struct end *which, uint64_t number)
{
	return (place_of(which) * DEPTH + (uint32_t)(number % DEPTH)) * SLOT_BYTES;
}

static void begin(void)
{
	struct node_qp_opts opts = { .type = RXE_QPT_RAW, .depth = DEPTH };

	memset(made, 0, sizeof(made));
	memset(listens, 0, sizeof(listens));
	memset(posted, 0, sizeof(posted));
	memset(taken, 0, sizeof(taken));
	link_init(&dice, seed);
	dice.dice = (struct link_dice){ .drop = 50, .dup = 50 };
	for (uint32_t i = 0; i < NODES; i++) {
		node[i] = node_new(i, MEM_BYTES);
		ops = *node[i]->engine.cfg.ops;
		ops.raw_listens = raw_listens;
		ops.raw_listener = raw_listener;
		node[i]->engine.cfg.ops = &ops;
		node[i]->engine.cfg.gids[0] = node[0]->engine.cfg.gids[0];
		node[i]->engine.cfg.max_frame = 1518;
		for (uint32_t k = 0; k < QPS; k++) {
			struct rxe_qp_attr attr = { .port_num = 1 };

			end[i][k] = node_add_qp(node[i], (char)('a' + i * QPS + k), &opts);
			for (uint32_t to = RXE_QPS_INIT; to <= RXE_QPS_RTS; to++) {
				attr.qp_state = (enum rxe_qp_state)to;
				if (rxe_qp_modify(&node[i]->engine, &end[i][k]->qp, &attr,
						  qp_required(RXE_QPT_RAW, attr.qp_state),
						  0) != MODIFY_OK)
					fail("modify");
			}
		}
	}
}

static void finish(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t k = 0; k < FLOWS; k++)
			if (made[i][k].exists)
				rxe_flow_remove(&node[i]->engine, &made[i][k].flow);
		node_free(node[i]);
	}
	link_fini(&dice);
}

static void change_flow(void)
{
	const uint32_t at = throw(NODES), number = throw(FLOWS);
	struct made *m = &made[at][number];
	struct raw_ports value = { .dst = { 0 } }, mask = { .dst = { 0xff, 0xff } };

	if (m->exists) {
		rxe_flow_remove(&node[at]->engine, &m->flow);
		m->exists = false;
		return;
	}
	*m = (struct made){
		.end = end[at][throw(QPS)], .port = throw(PORTS + 1), .age = ages++, .exists = true
	};
	m->flow.qp = &m->end->qp;
	m->flow.type = throw(2) ? RXE_FLOW_NORMAL : (enum rxe_flow_type) throw(4);
	m->flow.tag = m->age;
	if (m->flow.type == RXE_FLOW_NORMAL) {
		m->flow.priority = (uint16_t) throw(3);
		m->flow.drops = throw(6) == 0;
		m->flow.passes_on = throw(5) == 0;
		value.dst[1] = (uint8_t)m->port;
		if (m->port < PORTS && !raw_rule_add(&m->flow.rule, RAW_UDP, false, &value, &mask))
			fail("raw_rule_add");
	}
	m->flow.hears_self = throw(3) == 0;
	rxe_flow_add(&node[at]->engine, &m->flow);
}

/* The oldest flow of the program that follows this one, in the order of the manual page. */
static const struct made *next_flow(uint32_t at, const struct made *last)
{
	static const uint32_t rank[] = { 1, 2, 2, 0 }; /* sniffers, normal ones, defaults */
	const struct made *ret = NULL;

#define ORDER(m)                                                                                   \
	((uint64_t)rank[(m)->flow.type] << 48 | (uint64_t)(m)->flow.priority << 32 | (m)->age)
	for (uint32_t i = 0; i < FLOWS; i++) {
		const struct made *m = &made[at][i];

		if (m->exists && (!last || ORDER(m) > ORDER(last)) &&
		    (!ret || ORDER(m) < ORDER(ret)))
			ret = m;
	}
#undef ORDER
	return ret;
}

static bool matches(const struct made *m, uint32_t port, bool to_group, uint32_t from)
{
	if (m->end->qp.qpn == from && !m->flow.hears_self)
		return false;
	switch (m->flow.type) {
	case RXE_FLOW_NORMAL: return m->port == PORTS || m->port == port;
	case RXE_FLOW_MC_DEFAULT: return to_group;
	case RXE_FLOW_ALL_DEFAULT:
	case RXE_FLOW_SNIFFER: return true;
	}
	return false;
}

/* The model: who gets the frame, in order. */
static uint32_t steer(uint32_t at, const struct raw_build *b, uint32_t from,
		      struct wanted ret[FLOWS])
{
	const uint32_t port = get_be16(b->p + 36);
	const struct made *taker = NULL, *m = NULL;
	uint32_t n = 0;

	while ((m = next_flow(at, m))) {
		const bool is_normal = m->flow.type == RXE_FLOW_NORMAL;

		if (!matches(m, port, b->p[0] & 1, from))
			continue;
		if (taker && taker->flow.type == RXE_FLOW_NORMAL &&
		    (!is_normal || m->flow.priority != taker->flow.priority ||
		     m->port != taker->port))
			continue;
		if (!taker && m->flow.type != RXE_FLOW_SNIFFER && !m->flow.passes_on)
			taker = m;
		if (!m->flow.drops)
			ret[n++] = (struct wanted){ m->end, m->flow.tag };
	}
	return n;
}

static void check_frame(const struct wanted *w, const struct raw_build *b,
			const struct rxe_cqe *cqe)
{
	const uint32_t i = w->end->node->index, k = place_of(w->end);
	const uint8_t *p = w->end->node->mem + slot_of(w->end, taken[i][k]);

	if (cqe->status != RXE_WC_SUCCESS || cqe->qpn != w->end->qp.qpn ||
	    cqe->flow_tag != w->tag || cqe->wr_id != taken[i][k] || cqe->byte_len != b->len)
		fail("%c: completion %llu of flow %u, not %llu of flow %u", w->end->letter,
		     (unsigned long long)cqe->wr_id, cqe->flow_tag, (unsigned long long)taken[i][k],
		     w->tag);
	if (memcmp(p, b->p, b->len) != 0 || p[b->len] != 0xee)
		fail("%c: wrong bytes", w->end->letter);
	taken[i][k]++;
}

static void arrive(uint32_t at, const struct wire_arrival *arrival, const struct raw_build *b,
		   uint32_t from)
{
	struct node *to = node[at];
	const uint64_t dropped = to->counters.rcvd_dropped, strays = to->counters.rcvd_no_qp;
	uint64_t missing = 0;
	struct wanted w[FLOWS];
	const uint32_t n = steer(at, b, from, w);
	struct rxe_cqe cqe;

	rxe_engine_input(&to->engine, arrival, 0);
	rxe_engine_settle(&to->engine);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t k = place_of(w[i].end);

		if (taken[at][k] == posted[at][k]) {
			missing++;
			continue;
		}
		if (rxe_cq_poll(&to->cq, &cqe, 1) != 1)
			fail("%c: flow %u got nothing", w[i].end->letter, w[i].tag);
		check_frame(&w[i], b, &cqe);
		frames_taken++;
	}
	if (rxe_cq_poll(&to->cq, &cqe, 1) != 0)
		fail("QP 0x%x: a frame too many, of flow %u", cqe.qpn, cqe.flow_tag);
	if (to->counters.rcvd_dropped != dropped + missing)
		fail("frames without a receive were not counted");
	if (to->counters.rcvd_no_qp > strays && n > 0)
		fail("a frame that flows took counts as a stray");
}

static void carry(const struct wire_train *train, const struct raw_build *b, uint32_t from,
		  uint32_t seen[NODES])
{
	for (uint32_t i = 0; i < train->segs; i++) {
		const uint8_t *p = wire_train_packet(train, i);
		const struct wire_arrival arrival = {
			.p = p,
			.len = wire_train_packet_len(train, i),
			.src_port = node[from]->engine.cfg.tx_ports[train->tx_index],
			.ip_id = (uint16_t)i,
			.id_rule = IP_ID_EXACT,
			.src = train->src,
			.dst = train->dst,
		};
		const uint32_t at = p[5] - 1u;
		uint64_t delay_ns;
		enum link_act act = link_judge(&dice, '?', "RAW", 0, &delay_ns);

		if (at >= NODES || !listens[at])
			fail("a packet for slot %u, which does not listen", p[5]);
		seen[at]++;
		for (int copies = act == LINK_DROP  ? 0
				  : act == LINK_DUP ? 2
						    : 1;
		     copies > 0; copies--)
			arrive(at, &arrival, b, get_be24(p + 17));
	}
}

static void send_frame(void)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	const uint32_t at = throw(NODES);
	struct end *from = end[at][throw(QPS)];
	struct raw_build b = raw_build_datagram((uint16_t) throw(65536), (uint16_t) throw(PORTS),
						throw(4) ? 18 + throw(100) : 18 + throw(1400));
	const struct rxe_sge sge = { node[at]->base + SEND_AT, b.len, node[at]->key };
	const struct rxe_send_wr wr = { .wr_id = frames_seen,
					.opcode = RXE_WR_SEND,
					.flags = RXE_SEND_SIGNALED,
					.num_sge = 1,
					.sges = &sge };
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	uint32_t seen[NODES] = { 0 };
	struct rxe_cqe cqe;

	b.p[0] |= (uint8_t) throw(2);
	memcpy(node[at]->mem + SEND_AT, b.p, b.len);
	if (rxe_post_send(&node[at]->engine, &from->qp, &wr, 0) != POST_OK)
		fail("post");
	/* The sender's completion comes first: its own copy arrives after it. */
	while (rxe_engine_output(&node[at]->engine, &train, 0)) {
		rxe_engine_settle(&node[at]->engine);
		if (rxe_cq_poll(&node[at]->cq, &cqe, 1) == 1 &&
		    (cqe.opcode & RXE_WC_RECV || cqe.wr_id != frames_seen ||
		     cqe.status != RXE_WC_SUCCESS))
			fail("%c: the send completes as %u", from->letter, cqe.status);
		carry(&train, &b, at, seen);
	}
	rxe_engine_settle(&node[at]->engine);
	while (rxe_cq_poll(&node[at]->cq, &cqe, 1) == 1)
		if (cqe.opcode & RXE_WC_RECV || cqe.wr_id != frames_seen)
			fail("%c: a completion too many", from->letter);
	if (rxe_ring_used(&from->qp.sq))
		fail("%c: the frame did not leave", from->letter);
	for (uint32_t i = 0; i < NODES; i++)
		if (seen[i] != listens[i])
			fail("slot %u got the frame %u times", i + 1, seen[i]);
	frames_seen++;
}

static void post_recv(void)
{
	const uint32_t at = throw(NODES), k = throw(QPS);
	struct end *to = end[at][k];
	const uint32_t slot = slot_of(to, posted[at][k]);
	const struct rxe_sge sge = { node[at]->base + slot, SLOT_BYTES, node[at]->key };
	const struct rxe_recv_wr wr = { .wr_id = posted[at][k], .num_sge = 1, .sges = &sge };

	if (posted[at][k] - taken[at][k] == DEPTH)
		return;
	memset(node[at]->mem + slot, 0xee, SLOT_BYTES);
	if (rxe_post_recv(&node[at]->engine, &to->qp, &wr, 0) != POST_OK)
		fail("%c: a receive is refused", to->letter);
	posted[at][k]++;
}

static void live(void)
{
	for (uint32_t step = 0; step < STEPS; step++) {
		const uint32_t what = throw(10);

		if (what < 2)
			change_flow();
		else if (what < 6)
			send_frame();
		else
			post_recv();
	}
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			first = strtoull(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--count") == 0)
			count = strtoull(argv[i + 1], NULL, 0);
	}
	if (count == 0)
		count = argc > 1 ? 1 : 1000;
	for (seed = first; seed < first + count; seed++) {
		begin();
		live();
		finish();
	}
	(void)printf("%llu lives, %llu frames, taken %llu times\n", (unsigned long long)count,
		     (unsigned long long)frames_seen, (unsigned long long)frames_taken);
	return EXIT_SUCCESS;
}
