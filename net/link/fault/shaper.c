// SPDX-License-Identifier: MIT
/* The shaper: does the actions of fault rules, packet by packet.
 *
 * A train in which no rule fires passes unchanged. Otherwise it is cut: runs of unchanged packets
 * stay trains, each other packet is a train of its own. A packet's index in its train is its IP
 * identification, which the IPv4 ICRC covers, so a piece of a train gets new ICRCs, before any byte
 * is corrupted. */
#include "net/link/fault/shaper.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/fault/flight.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define MAX_OUT	    (TRAIN_MAX_SEGS * (2u + FAULT_MAX_COPIES) + FAULT_HELD)
#define MAX_IN	    (1u + FAULT_MAX_COPIES + FAULT_HELD)
#define MAX_MUTED   64u
#define ANSWER_PORT 0xc000 /* source port of a NAK to the device itself */

/* A QP whose request psn a rule answered with a NAK. Like a responder, the shaper drops later
 * requests of the QP until that one is sent again. */
struct muted {
	bool set;
	uint64_t stream;
	uint32_t psn;
};

/* Unchanged packets of the current train that are not in out yet. */
struct run {
	const struct wire_train *train;
	uint16_t first, segs;
};

struct fault_shaper {
	struct fault_shaper_cfg cfg;
	struct fault_rules rules;
	struct fault_counters *counters;
	struct hold hold;
	struct muted muted[MAX_MUTED];
	uint32_t next_muted;
	struct fault_stats stats;
	uint64_t now_ns; /* time of the current call */
	struct wire_train out[MAX_OUT];
	struct wire_arrival in[MAX_IN];
	size_t num_out, num_in;
	struct run run;
	uint8_t scratch[FAULT_PACKET_MAX]; /* copy of an arrival's bytes, to be corrupted */
};

/* What the shaper has read from a packet. */
struct inspected {
	struct fault_packet packet;
	struct fault_qp qp;
	bool qp_known;
	uint64_t stream;
	uint32_t attempt;
	uint64_t dice;
};

struct fault_shaper *fault_shaper_new(const struct fault_shaper_cfg *cfg)
{
	struct fault_shaper *shaper = calloc(1, sizeof(*shaper));

	if (!shaper)
		return NULL;
	shaper->cfg = *cfg;
	shaper->counters = fault_counters_new();
	if (!shaper->counters) {
		free(shaper);
		return NULL;
	}
	return shaper;
}

void fault_shaper_free(struct fault_shaper *shaper)
{
	if (!shaper)
		return;
	fault_counters_free(shaper->counters);
	free(shaper);
}

struct fault_rules *fault_shaper_rules(struct fault_shaper *shaper)
{
	return &shaper->rules;
}

struct fault_stats *fault_shaper_stats(struct fault_shaper *shaper)
{
	return &shaper->stats;
}

uint64_t fault_shaper_deadline(const struct fault_shaper *shaper)
{
	return hold_deadline(&shaper->hold);
}

bool fault_shaper_passes(const struct fault_shaper *shaper, enum fault_dir dir)
{
	const struct fault_rules *rules = &shaper->rules;

	/* A muted queue pair stays muted when its rule is removed. */
	if (shaper->hold.waiting > 0 || shaper->next_muted > 0)
		return false;
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].any_dir || rules->rule[i].dir == dir)
			return false;
	return true;
}

static struct icrc_flow flow_of(const struct fault_shaper *s, const struct flight *flight)
{
	if (flight->dir == FAULT_OUT)
		return (struct icrc_flow){ .src = flight->train.src,
					   .dst = flight->train.dst,
					   .src_port = s->cfg.tx_ports[flight->train.tx_index] };
	return (struct icrc_flow){ .src = flight->arrival.src,
				   .dst = flight->arrival.dst,
				   .src_port = flight->arrival.src_port };
}

static struct flight segment(const struct wire_train *train, uint16_t index)
{
	assert(index < train->segs);
	return (struct flight){ .dir = FAULT_OUT,
				.p = wire_train_packet(train, index),
				.len = wire_train_packet_len(train, index),
				.index = index,
				.train = *train };
}

/* Computes the ICRC of a packet for another index in a train. */
static void move_to(const struct fault_shaper *s, const struct flight *flight, uint16_t index)
{
	const struct icrc_flow flow = flow_of(s, flight);

	if (flight->index != index && gid_is_v4(&flow.dst) && flight->len >= BTH_LEN + ICRC_LEN)
		fault_store_icrc(flight->p, flight->len, &flow, index);
}

static void stand_alone(const struct fault_shaper *s, struct flight *flight)
{
	move_to(s, flight, 0);
	flight->index = 0;
}

/* Moves the run to out, as a train of its own. */
static void flush_run(struct fault_shaper *s)
{
	const struct wire_train *train = s->run.train;
	struct wire_train *piece = &s->out[s->num_out];
	struct flight first, last;

	if (s->run.segs == 0)
		return;
	assert(s->num_out < MAX_OUT);
	first = last = segment(train, s->run.first);
	for (uint16_t i = 0; i < s->run.segs; i++) {
		last = segment(train, (uint16_t)(s->run.first + i));
		move_to(s, &last, i);
	}
	*piece = *train;
	piece->buf = first.p;
	piece->len = (uint32_t)(last.p + last.len - first.p);
	piece->segs = s->run.segs;
	s->num_out++;
	s->run.segs = 0;
}

static void extend_run(struct fault_shaper *s, uint16_t index)
{
	if (index != s->run.first + s->run.segs)
		flush_run(s);
	if (s->run.segs == 0)
		s->run.first = index;
	s->run.segs++;
}

static void emit(struct fault_shaper *s, const struct flight *flight)
{
	if (flight->dir == FAULT_OUT) {
		struct wire_train *train;

		flush_run(s);
		assert(s->num_out < MAX_OUT);
		train = &s->out[s->num_out++];
		*train = flight->train;
		train->buf = flight->p;
		train->len = flight->len;
		train->seg_len = (uint16_t)flight->len;
		train->segs = 1;
		return;
	}
	assert(s->num_in < MAX_IN);
	s->in[s->num_in] = flight->arrival;
	s->in[s->num_in].p = flight->p;
	s->in[s->num_in++].len = flight->len;
}

static void emit_due(struct fault_shaper *s, enum fault_dir dir)
{
	const struct flight *flight;

	while ((flight = hold_pop(&s->hold, dir, s->now_ns)))
		emit(s, flight);
}

static void hold_back(struct fault_shaper *s, const struct flight *flight, uint64_t delay_ns,
		      uint64_t stream, uint32_t behind)
{
	if (hold_push(&s->hold, flight, s->now_ns + delay_ns, stream, behind))
		return;
	s->stats.overflows++;
	emit(s, flight);
}

static void inspect(struct fault_shaper *s, const struct flight *flight, struct inspected *ret)
{
	const enum fault_dir dir = flight->dir;
	const struct gid *peer = dir == FAULT_OUT ? &flight->train.dst : &flight->arrival.src;
	struct fault_packet *packet = &ret->packet;
	struct bth bth;

	bth_parse(&bth, flight->p);
	*ret = (struct inspected){ .packet = { .dir = dir,
					       .opcode = bth.opcode,
					       .psn = bth.psn,
					       .qp_index = FAULT_NO_INDEX } };
	*(dir == FAULT_OUT ? &packet->peer_qpn : &packet->qpn) = bth.dest_qpn;
	if ((wire_shape(bth.opcode) & SHAPE_DETH) && flight->len >= BTH_LEN + DETH_LEN) {
		struct deth deth;

		deth_parse(&deth, flight->p + BTH_LEN);
		*(dir == FAULT_OUT ? &packet->qpn : &packet->peer_qpn) = deth.src_qpn;
	}
	ret->qp_known =
		s->cfg.find_qp && s->cfg.find_qp(s->cfg.arg, dir, peer, bth.dest_qpn, &ret->qp);
	if (ret->qp_known) {
		packet->qpn = ret->qp.qpn;
		packet->qp_index = ret->qp.index;
		packet->peer_qpn = ret->qp.peer_qpn;
		/* A response has the PSN of its request. */
		packet->first_psn = (dir == FAULT_OUT) == !!(wire_shape(bth.opcode) & SHAPE_REQUEST)
					    ? ret->qp.first_sq_psn
					    : ret->qp.first_rq_psn;
	}
	ret->stream = (ret->qp_known ? 1ull << 40 | ret->qp.qpn : bth.dest_qpn) << 8 | dir;
	ret->attempt = fault_attempt(s->counters, packet);
}

/* Whether this is a request of a muted QP that is dropped. */
static bool is_muted(struct fault_shaper *s, const struct inspected *i)
{
	if (!fault_can_answer(&i->packet))
		return false;
	for (uint32_t k = 0; k < MAX_MUTED; k++) {
		struct muted *m = &s->muted[k];

		if (!m->set || m->stream != i->stream)
			continue;
		if (psn_diff(i->packet.psn, m->psn) > 0 && i->qp.answer_psn == m->psn)
			return true;
		m->set = psn_diff(i->packet.psn, m->psn) < 0;
	}
	return false;
}

static void mute(struct fault_shaper *s, const struct inspected *i)
{
	s->muted[s->next_muted++ % MAX_MUTED] =
		(struct muted){ .set = true, .stream = i->stream, .psn = i->packet.psn };
}

/* Replaces the packet by a NAK, to the peer for a packet in, to the device for a packet out. False:
 * the NAK would be wrong, or the hold is full. */
static bool answer(struct fault_shaper *s, const struct fault_rule *rule, const struct inspected *i,
		   const struct flight *flight)
{
	struct flight nak = { .dir = flight->dir == FAULT_IN ? FAULT_OUT : FAULT_IN };
	uint8_t bytes[WIRE_MAX_HEADERS + ICRC_LEN];
	struct icrc_flow flow;

	if (!i->qp_known || !i->qp.can_answer || i->qp.answer_psn != i->packet.psn)
		return false;
	nak.p = bytes;
	nak.len = fault_emit_nak(bytes, opcode_service(i->packet.opcode),
				 nak.dir == FAULT_OUT ? i->qp.peer_qpn : i->qp.qpn, i->packet.psn,
				 rule->syndrome, i->qp.msn);
	if (nak.dir == FAULT_OUT)
		nak.train = (struct wire_train){ .max_segs = 1,
						 .hop_limit = 64,
						 .src = flight->arrival.dst,
						 .dst = flight->arrival.src };
	else
		nak.arrival = (struct wire_arrival){ .src = flight->train.dst,
						     .dst = flight->train.src,
						     .src_port = ANSWER_PORT,
						     .hop_limit = 64,
						     .id_rule = IP_ID_EXACT };
	flow = flow_of(s, &nak);
	fault_store_icrc(bytes, nak.len, &flow, 0);
	if (!hold_push(&s->hold, &nak, s->now_ns, UINT64_MAX, 0))
		return false;
	mute(s, i);
	return true;
}

static void corrupt(struct fault_shaper *s, const struct fault_rule *rule,
		    const struct inspected *i, struct flight *flight)
{
	if (flight->dir == FAULT_IN) {
		memcpy(s->scratch, flight->p, flight->len);
		flight->p = s->scratch;
	}
	fault_flip_bit(flight->p, flight->len, rule->part, i->dice);
	if (rule->good_icrc) {
		const struct icrc_flow flow = flow_of(s, flight);

		fault_store_icrc(flight->p, flight->len, &flow, 0);
		flight->arrival.ip_id = 0;
		flight->arrival.id_rule = IP_ID_EXACT;
	}
	emit(s, flight);
}

/* Does the action of a rule. False: impossible for this packet, which stays unchanged. */
static bool act(struct fault_shaper *s, const struct fault_rule *rule, const struct inspected *i,
		struct flight *flight)
{
	switch (rule->action) {
	case FAULT_DROP: return true;
	case FAULT_DUPLICATE:
		for (uint32_t k = 0; k <= rule->copies; k++)
			emit(s, flight);
		return true;
	case FAULT_DELAY: hold_back(s, flight, rule->delay_ns, i->stream, 0); return true;
	case FAULT_REORDER:
		hold_back(s, flight, rule->delay_ns, i->stream, rule->behind + 1);
		return true;
	case FAULT_CORRUPT:
		if (flight->len > FAULT_PACKET_MAX)
			return false;
		corrupt(s, rule, i, flight);
		return true;
	case FAULT_TRUNCATE:
		if (rule->keep >= flight->len)
			return false;
		flight->len = rule->keep;
		emit(s, flight);
		return true;
	case FAULT_RNR_NAK:
	case FAULT_NAK:
		if (answer(s, rule, i, flight))
			return true;
		s->stats.unanswered++;
		return false;
	}
	return false;
}

static void fired(struct fault_shaper *s, uint32_t at, const struct inspected *i,
		  const struct flight *flight)
{
	const struct fault_firing firing = { .id = s->rules.id[at],
					     .rule = &s->rules.rule[at],
					     .packet = i->packet,
					     .attempt = i->attempt,
					     .p = flight->p,
					     .len = flight->len,
					     .train = &flight->train,
					     .arrival = &flight->arrival };

	if (s->cfg.fired)
		s->cfg.fired(s->cfg.arg, &firing);
}

/* Decides about a packet and does the action. False: no rule fires. */
static bool judge(struct fault_shaper *s, struct flight *flight, uint64_t *ret_stream)
{
	struct inspected i;
	int at;

	inspect(s, flight, &i);
	*ret_stream = i.stream;
	if (is_muted(s, &i))
		return true;
	at = fault_decide(&s->rules, s->counters, &i.packet, i.attempt);
	if (at < 0)
		return false;
	assert((uint32_t)at < s->rules.n);
	i.dice = fault_dice(&s->rules.rule[at], s->rules.id[at], &i.packet, i.attempt);
	stand_alone(s, flight);
	if (act(s, &s->rules.rule[at], &i, flight))
		fired(s, (uint32_t)at, &i, flight);
	else
		emit(s, flight);
	return true;
}

static void begin(struct fault_shaper *s, enum fault_dir dir, uint64_t now_ns)
{
	s->now_ns = now_ns;
	hold_reclaim(&s->hold, dir);
	*(dir == FAULT_OUT ? &s->num_out : &s->num_in) = 0;
}

size_t fault_shaper_out(struct fault_shaper *shaper, const struct wire_train *train,
			uint64_t now_ns, const struct wire_train **ret)
{
	begin(shaper, FAULT_OUT, now_ns);
	shaper->run = (struct run){ .train = train };
	for (uint16_t i = 0; i < train->segs; i++) {
		struct flight flight = segment(train, i);
		uint64_t stream;

		if (flight.len < BTH_LEN + ICRC_LEN) {
			extend_run(shaper, i);
			continue;
		}
		if (!judge(shaper, &flight, &stream))
			extend_run(shaper, i);
		hold_passed(&shaper->hold, stream, now_ns);
		emit_due(shaper, FAULT_OUT);
	}
	flush_run(shaper);
	*ret = shaper->out;
	return shaper->num_out;
}

size_t fault_shaper_in(struct fault_shaper *shaper, const struct wire_arrival *arrival,
		       uint64_t now_ns, const struct wire_arrival **ret)
{
	/* corrupt() copies the bytes of an arrival; no other code writes them. */
	struct flight flight = { .dir = FAULT_IN,
				 .p = (uint8_t *)(uintptr_t)arrival->p,
				 .len = arrival->len,
				 .arrival = *arrival };
	uint64_t stream;

	begin(shaper, FAULT_IN, now_ns);
	*ret = shaper->in;
	if (arrival->len < BTH_LEN + ICRC_LEN) {
		emit(shaper, &flight);
		return shaper->num_in;
	}
	if (!judge(shaper, &flight, &stream))
		emit(shaper, &flight);
	hold_passed(&shaper->hold, stream, now_ns);
	emit_due(shaper, FAULT_IN);
	return shaper->num_in;
}

size_t fault_shaper_due_out(struct fault_shaper *shaper, uint64_t now_ns,
			    const struct wire_train **ret)
{
	begin(shaper, FAULT_OUT, now_ns);
	emit_due(shaper, FAULT_OUT);
	*ret = shaper->out;
	return shaper->num_out;
}

size_t fault_shaper_due_in(struct fault_shaper *shaper, uint64_t now_ns,
			   const struct wire_arrival **ret)
{
	begin(shaper, FAULT_IN, now_ns);
	emit_due(shaper, FAULT_IN);
	*ret = shaper->in;
	return shaper->num_in;
}
