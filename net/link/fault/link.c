// SPDX-License-Identifier: MIT
/* Passes packets through the shaper. Queues trains that the link below does not take, and arrivals
 * that the caller does not take. */
#include "net/link/fault/link.h"

#include <stdlib.h>
#include <string.h>

#include "net/link/clock.h"

/* Most arrivals in one read of the link below. */
#define BATCH	64u
#define IN_MAX	(BATCH * (1u + FAULT_MAX_COPIES) + 2u * FAULT_HELD)
#define OUT_MAX (TRAIN_MAX_SEGS * (2u + FAULT_MAX_COPIES) + FAULT_HELD)
/* Most reads in one call when rules drop all packets. */
#define ROUNDS	 16
#define RETRY_NS 100000u

struct fault_link {
	struct link base; /* first: a struct link * is one of these */
	struct fault_link_cfg cfg;
	struct fault_shaper *shaper;
	struct fault_stats *stats;	/* the shaper's */
	struct wire_train out[OUT_MAX]; /* buf is from malloc() */
	size_t first_out, num_out;
	/* Arrivals of the link below that are not shaped yet. */
	struct wire_arrival raw[BATCH];
	size_t first_raw, num_raw;
	struct wire_arrival in[IN_MAX];
	size_t first_in, num_in;
	uint8_t bytes[IN_MAX][FAULT_PACKET_MAX];
};

static void keep(struct fault_link *fault, const struct wire_train *train)
{
	struct wire_train *copy = &fault->out[fault->num_out]; /* not used when the queue is full */
	uint8_t *bytes = fault->num_out < OUT_MAX ? malloc(train->len) : NULL;

	/* The packet is lost, as in any network. */
	if (!bytes) {
		fault->stats->overflows += train->segs;
		return;
	}
	memcpy(bytes, train->buf, train->len);
	*copy = *train;
	copy->buf = bytes;
	fault->num_out++;
}

static void pass_out(struct fault_link *fault, const struct wire_train *trains, size_t n)
{
	size_t taken = 0;

	while (taken < n && fault->first_out == fault->num_out) {
		const int sent = link_send(fault->base.below, trains + taken, n - taken);

		if (sent <= 0)
			break;
		taken += (size_t)sent;
		assert(taken <= n);
	}
	for (; taken < n; taken++)
		keep(fault, &trains[taken]);
}

/* Offers the kept trains again. True when the link below took all of them. */
static bool pass_kept(struct fault_link *fault)
{
	while (fault->first_out < fault->num_out) {
		const int sent = link_send(fault->base.below, &fault->out[fault->first_out],
					   fault->num_out - fault->first_out);

		if (sent <= 0)
			return false;
		assert((size_t)sent <= fault->num_out - fault->first_out);
		for (int i = 0; i < sent; i++)
			free(fault->out[fault->first_out++].buf);
	}
	fault->first_out = fault->num_out = 0;
	return true;
}

static bool pass_due(struct fault_link *fault, uint64_t now_ns)
{
	const struct wire_train *due;
	size_t n;

	if (!pass_kept(fault))
		return false;
	n = fault_shaper_due_out(fault->shaper, now_ns, &due);
	pass_out(fault, due, n);
	return fault->first_out == fault->num_out;
}

static int drop_trains(struct fault_link *fault, const struct wire_train *trains, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fault->stats->silent_drops += trains[i].segs;
	return (int)n;
}

static int fault_send(struct link *base, const struct wire_train *trains, size_t n)
{
	struct fault_link *fault = (struct fault_link *)base;
	const uint64_t now_ns = clock_now_ns();
	size_t taken = 0;

	if (fault->cfg.is_silent(fault->cfg.shaper.arg))
		return drop_trains(fault, trains, n);
	if (fault_shaper_passes(fault->shaper, FAULT_OUT))
		return pass_kept(fault) ? link_send(base->below, trains, n) : 0;
	while (taken < n && pass_due(fault, now_ns)) {
		const struct wire_train *shaped;
		const size_t num = fault_shaper_out(fault->shaper, &trains[taken], now_ns, &shaped);

		pass_out(fault, shaped, num);
		taken++;
	}
	return (int)taken;
}

/* Copies the bytes of each arrival except from's, which stay valid until the queue is empty. */
static void queue_in(struct fault_link *fault, const struct wire_arrival *arrivals, size_t n,
		     const struct wire_arrival *from)
{
	for (size_t i = 0; i < n && fault->num_in < IN_MAX; i++) {
		struct wire_arrival *to = &fault->in[fault->num_in];

		*to = arrivals[i];
		if (!from || to->p != from->p) {
			memcpy(fault->bytes[fault->num_in], to->p, to->len);
			to->p = fault->bytes[fault->num_in];
		}
		fault->num_in++;
	}
}

/* Whether a rule answers with NAKs. The correct NAK depends on the requests before it, so the
 * engine must have handled those: such rules get one arrival in each call. */
static bool has_answers(const struct fault_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].action == FAULT_NAK || rules->rule[i].action == FAULT_RNR_NAK)
			return true;
	return false;
}

/* Returns what the link below returned. */
static int shape_arrivals(struct fault_link *fault, uint64_t now_ns)
{
	const bool singly = has_answers(fault_shaper_rules(fault->shaper));
	const struct wire_arrival *shaped;
	size_t num_due;
	int n = 1;

	if (fault->first_raw == fault->num_raw) {
		n = link_receive(fault->base.below, fault->raw, BATCH);
		fault->first_raw = 0;
		fault->num_raw = n > 0 ? (size_t)n : 0;
	}
	while (fault->first_raw < fault->num_raw) {
		const struct wire_arrival *arrival = &fault->raw[fault->first_raw++];
		const size_t num = fault_shaper_in(fault->shaper, arrival, now_ns, &shaped);

		queue_in(fault, shaped, num, arrival);
		if (singly)
			break;
	}
	num_due = fault_shaper_due_in(fault->shaper, now_ns, &shaped);
	queue_in(fault, shaped, num_due, NULL);
	return n;
}

/* Empties the link below, so that its wait descriptor is not readable. */
static int drop_arrivals(struct fault_link *fault)
{
	struct wire_arrival arrivals[BATCH];
	int n;

	fault->stats->silent_drops += fault->num_raw - fault->first_raw;
	fault->first_raw = fault->num_raw;
	do {
		n = link_receive(fault->base.below, arrivals, BATCH);
		fault->stats->silent_drops += n > 0 ? (uint64_t)n : 0;
	} while (n > 0);
	return n;
}

static bool has_arrivals(const struct fault_link *fault)
{
	return fault->first_in < fault->num_in || fault->first_raw < fault->num_raw;
}

static size_t take_in(struct fault_link *fault, struct wire_arrival *ret, size_t max)
{
	size_t n = fault->num_in - fault->first_in;

	assert(fault->first_in <= fault->num_in);
	n = n < max ? n : max;
	memcpy(ret, fault->in + fault->first_in, n * sizeof(*ret));
	fault->first_in += n;
	return n;
}

static int fault_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	struct fault_link *fault = (struct fault_link *)base;
	const uint64_t now_ns = clock_now_ns();
	int n = 0;

	if (fault->cfg.is_silent(fault->cfg.shaper.arg))
		return drop_arrivals(fault);
	if (fault_shaper_passes(fault->shaper, FAULT_IN) && !has_arrivals(fault)) {
		pass_due(fault, now_ns);
		return link_receive(base->below, ret, max);
	}
	for (int round = 0; round < ROUNDS && fault->first_in == fault->num_in; round++) {
		fault->first_in = fault->num_in = 0;
		n = shape_arrivals(fault, now_ns);
		if (n <= 0)
			break;
	}
	pass_due(fault, now_ns);
	if (fault->first_in == fault->num_in)
		return n < 0 ? n : 0;
	return (int)take_in(fault, ret, max);
}

static uint64_t fault_deadline(const struct link *base)
{
	const struct fault_link *fault = (const struct fault_link *)base;
	const uint64_t due_ns = fault_shaper_deadline(fault->shaper);
	uint64_t retry_ns;

	if (has_arrivals(fault))
		return 0;
	retry_ns = fault->first_out < fault->num_out ? clock_now_ns() + RETRY_NS : UINT64_MAX;
	return due_ns < retry_ns ? due_ns : retry_ns;
}

static const struct link_ops ops = {
	.send = fault_send,
	.receive = fault_receive,
	.deadline = fault_deadline,
};

struct fault_link *fault_link_open(const struct fault_link_cfg *cfg, const struct link *below)
{
	struct fault_link *fault = calloc(1, sizeof(*fault));

	if (!fault)
		return NULL;
	fault->base.ops = &ops;
	fault->cfg = *cfg;
	link_tx_ports(below, fault->cfg.shaper.tx_ports, LINK_TX_PORTS);
	fault->shaper = fault_shaper_new(&fault->cfg.shaper);
	if (!fault->shaper) {
		free(fault);
		return NULL;
	}
	fault->stats = fault_shaper_stats(fault->shaper);
	return fault;
}

void fault_link_close(struct fault_link *fault)
{
	if (!fault)
		return;
	while (fault->first_out < fault->num_out)
		free(fault->out[fault->first_out++].buf);
	fault_shaper_free(fault->shaper);
	free(fault);
}

struct link *fault_link_over(struct fault_link *fault, struct link *below)
{
	assert(below);
	fault->base.below = below;
	return &fault->base;
}

struct fault_rules *fault_link_rules(struct fault_link *fault)
{
	return fault_shaper_rules(fault->shaper);
}

bool fault_link_is_idle(const struct fault_link *fault)
{
	return fault_shaper_rules(fault->shaper)->n == 0 &&
	       fault_shaper_deadline(fault->shaper) == UINT64_MAX &&
	       fault->first_out == fault->num_out && !has_arrivals(fault);
}

struct fault_stats fault_link_stats(const struct fault_link *fault)
{
	return *fault->stats;
}
