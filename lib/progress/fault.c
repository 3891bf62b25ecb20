// SPDX-License-Identifier: MIT
/* The shaper's host. What it hands out is valid only until its next call, and the link may take less than it is offered, so both
 * ways have a queue: out, copies of trains that the link did not take; in, arrivals that were not asked for yet. */
#include "lib/progress/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/progress/capture.h"
#include "lib/progress/log.h"
#include "lib/progress/packet_qp.h"
#include "lib/progress/progress.h"
#include "net/link/clock.h"
#include "net/link/fault/shaper.h"
#include "net/link/link.h"
#include "net/wire/gid.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

#define LOOK	 64u /* arrivals at a time */
#define IN_MAX	 (LOOK * (1u + FAULT_MAX_COPIES) + 2u * FAULT_HELD)
#define OUT_MAX	 (TRAIN_MAX_SEGS * (2u + FAULT_MAX_COPIES) + FAULT_HELD)
#define ROUNDS	 16 /* looks that found only what was lost */
#define AGAIN_NS 100000u

struct vb_fault_shop {
	struct fault_shaper *shaper;
	struct fault_counters *completions; /* counted */
	uint32_t place[FAULT_MAX_RULES];    /* in shared memory, of each rule of the shaper */
	struct wire_train out[OUT_MAX];	    /* their bytes are malloc()ed */
	size_t first_out, num_out;
	struct wire_arrival raw[LOOK]; /* from the link, not looked at yet */
	size_t first_raw, num_raw;
	struct wire_arrival in[IN_MAX];
	size_t first_in, num_in;
	uint8_t bytes[IN_MAX][FAULT_PACKET_MAX];
};

/* Rules. */

void vb_fault_copy_rules(const struct ctl_faults *from, struct fault_rules *rules,
			 uint32_t place[FAULT_MAX_RULES])
{
	memset(rules, 0, sizeof(*rules));
	for (uint32_t id = 0;;) {
		uint32_t next = FAULT_MAX_RULES;
		char text[FAULT_TEXT_MAX], why[FAULT_TEXT_MAX];

		for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
			if (from->at[i].id > id &&
			    (next == FAULT_MAX_RULES || from->at[i].id < from->at[next].id))
				next = i;
		}
		if (next == FAULT_MAX_RULES)
			return;
		id = from->at[next].id;
		memcpy(text, from->at[next].text, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		if (!fault_rule_parse(&rules->rule[rules->n], text, why))
			continue; /* half of a change */
		rules->id[rules->n] = id;
		place[rules->n++] = next;
	}
}

static bool find_qp(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
		    struct fault_qp *ret)
{
	const struct rxe_engine *engine = ((struct vb_fault *)arg)->progress->engine;
	const struct rxe_qp *qp = dir == FAULT_IN ? rxe_engine_find_qp(engine, dest_qpn)
						  : vb_wire_qp_connected_to(engine, peer, dest_qpn);

	if (!qp)
		return false;
	*ret = (struct fault_qp){
		.qpn = qp->qpn,
		.index = qp->order,
		.peer_qpn = qp->type == RXE_QPT_UD ? 0 : qp->attr.dest_qp_num,
		.can_answer = rxe_qp_is_reliable(qp) &&
			      (qp->state == RXE_QPS_RTS || qp->state == RXE_QPS_RTR),
		.answer_psn = dir == FAULT_IN ? qp->attr.rq_psn : qp->rc.req.una_psn,
		.msn = qp->rc.resp.msn,
		.first_sq_psn = qp->first_sq_psn,
		.first_rq_psn = qp->first_rq_psn,
	};
	return true;
}

void vb_fault_count(struct progress *progress, uint32_t place, uint32_t id)
{
	struct ctl_slot *slot = &progress->attachment->shared->slot[progress->attachment->slot];
	struct ctl_fault_count *count = &slot->faults[place];

	if (atomic_load_explicit(&count->id, memory_order_relaxed) != id) {
		atomic_store(&count->fired, 0);
		atomic_store(&count->id, id);
	}
	atomic_fetch_add_explicit(&count->fired, 1, memory_order_relaxed);
}

static void count(const struct vb_fault *fault, uint32_t id)
{
	const struct fault_rules *rules = fault_shaper_rules(fault->shop->shaper);

	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->id[i] == id)
			vb_fault_count(fault->progress, fault->shop->place[i], id);
}

static void fired(void *arg, const struct fault_firing *firing)
{
	struct vb_fault *fault = arg;
	const struct fault_packet *packet = &firing->packet;

	count(fault, firing->id);
	vb_capture_fault(&fault->progress->wire, firing);
	/* +N: so many PSNs behind the connection's first; #N: by order of creation. Both are the same in the next run. */
	rxe_log(RXE_LOG_INFO,
		"fault %u: %s %s_%s psn %u (+%u) of QP 0x%06x (#%d) %s QP 0x%06x, attempt %u",
		firing->id, fault_action_str(firing->rule->action),
		wire_service_str(packet->opcode), wire_op_str(packet->opcode), packet->psn,
		(packet->psn - packet->first_psn) & PSN_MASK, packet->qpn, (int)packet->qp_index,
		packet->dir == FAULT_OUT ? "to" : "from", packet->peer_qpn, firing->attempt);
}

/* What rules wanted and could not be done. */
static void tell_lost(const struct vb_wire *wire)
{
	struct vb_fault *fault = wire->fault;
	const uint64_t overflows = fault_shaper_overflows(fault->shop->shaper);
	const uint64_t unanswered = fault_shaper_unanswered(fault->shop->shaper);

	wire->lost->fault_overflows += overflows - fault->told_overflows;
	wire->lost->fault_unanswered += unanswered - fault->told_unanswered;
	fault->told_overflows = overflows;
	fault->told_unanswered = unanswered;
}

static struct vb_fault_shop *open_shop(struct vb_fault *fault)
{
	struct vb_fault_shop *shop = calloc(1, sizeof(*shop));
	struct fault_shaper_cfg cfg = { .find_qp = find_qp, .fired = fired, .arg = fault };

	fault->told_overflows = fault->told_unanswered = 0;
	link_tx_ports(fault->progress->wire.phy, cfg.tx_ports, FAULT_TX_PORTS);
	if (shop)
		shop->shaper = fault_shaper_new(&cfg);
	if (shop && shop->shaper)
		shop->completions = fault_counters_new();
	if (shop && shop->completions)
		return shop;
	if (shop)
		fault_shaper_free(shop->shaper);
	free(shop);
	rxe_log(RXE_LOG_WARNING,
		"no memory for the fault rules of %s: they do not apply to this process",
		fault->progress->info->name);
	return NULL;
}

static void close_shop(struct vb_fault *fault)
{
	struct vb_fault_shop *shop = fault->shop;

	if (!shop)
		return;
	while (shop->first_out < shop->num_out)
		free(shop->out[shop->first_out++].buf);
	fault_shaper_free(shop->shaper);
	fault_counters_free(shop->completions);
	free(shop);
	fault->shop = NULL;
}

static bool has_rules(const struct ctl_faults *faults)
{
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (faults->at[i].id)
			return true;
	}
	return false;
}

static bool has_completions(const struct fault_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].action == FAULT_COMPLETION)
			return true;
	return false;
}

uint32_t vb_fault_completing(void *host, const struct rxe_qp *qp, bool is_recv)
{
	struct progress *progress = host;
	struct vb_fault_shop *shop = progress->wire.fault->shop;
	const struct fault_completion completion = {
		.qpn = qp->qpn,
		.qp_index = qp->order,
		.side = is_recv ? FAULT_RECV : FAULT_SEND,
	};
	const struct fault_rules *rules;
	uint32_t nth;
	int at;

	if (!shop)
		return RXE_WC_SUCCESS;
	rules = fault_shaper_rules(shop->shaper);
	at = fault_decide_completion(fault_shaper_rules(shop->shaper), shop->completions,
				     &completion, &nth);
	if (at < 0)
		return RXE_WC_SUCCESS;
	vb_fault_count(progress, shop->place[at], rules->id[at]);
	rxe_log(RXE_LOG_INFO, "fault %u: %s completion %u of QP 0x%06x (#%u) ends with %s",
		rules->id[at], is_recv ? "receive" : "send", nth, qp->qpn, qp->order,
		fault_status_str(rules->rule[at].status));
	return rules->rule[at].status;
}

/* The rules as they are now. One that is being changed this moment is taken with the next packet. */
static void refresh(struct vb_fault *fault)
{
	const struct ctl_faults *faults = &fault->progress->attachment->shared->faults;
	const uint32_t before = atomic_load(&faults->generation);
	struct vb_fault_shop *shop = fault->shop;

	if (before != fault->generation && !(before & 1)) {
		if (!shop && has_rules(faults))
			fault->shop = shop = open_shop(fault);
		if (shop)
			vb_fault_copy_rules(faults, fault_shaper_rules(shop->shaper), shop->place);
		if (atomic_load(&faults->generation) == before)
			fault->generation = before;
	}
	if (fault->progress->engine)
		fault->progress->engine->completions_asked =
			shop && has_completions(fault_shaper_rules(shop->shaper));
	if (shop && before == fault->generation && fault_shaper_idle(shop->shaper) &&
	    shop->first_out == shop->num_out && shop->first_in == shop->num_in &&
	    shop->first_raw == shop->num_raw)
		close_shop(fault);
}

void vb_fault_follow(struct progress *progress)
{
	refresh(progress->wire.fault);
}

/* The port is down, or its address has gone from the GID table. */
static bool is_silent(const struct vb_fault *fault)
{
	return atomic_load(&fault->progress->attachment->shared->faults.silent);
}

int vb_fault_open(struct progress *progress)
{
	struct vb_fault *fault = calloc(1, sizeof(*fault));

	if (!fault)
		return -ENOMEM;
	fault->progress = progress;
	fault->now = &progress->attachment->shared->faults.generation;
	progress->wire.fault = fault;
	return 0;
}

void vb_fault_close(struct vb_wire *wire)
{
	if (wire->fault)
		close_shop(wire->fault);
	free(wire->fault);
	wire->fault = NULL;
}

/* Out. */

static void keep(const struct vb_wire *wire, const struct wire_train *train)
{
	struct vb_fault_shop *shop = wire->fault->shop;
	struct wire_train *copy = &shop->out[shop->num_out];
	uint8_t *bytes = shop->num_out < OUT_MAX ? malloc(train->len) : NULL;

	if (!bytes) {
		wire->lost->fault_overflows += train->segs; /* the network has lost it */
		return;
	}
	memcpy(bytes, train->buf, train->len);
	*copy = *train;
	copy->buf = bytes;
	shop->num_out++;
}

static void pass_out(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	struct vb_fault_shop *shop = wire->fault->shop;
	size_t taken = 0;

	while (taken < n && shop->first_out == shop->num_out) {
		const int sent = vb_wire_pass_out(wire, trains + taken, n - taken);

		if (sent <= 0)
			break;
		taken += (size_t)sent;
	}
	for (; taken < n; taken++)
		keep(wire, &trains[taken]);
}

/* What the link did not take. True: it has all of it. */
static bool pass_kept(struct vb_wire *wire)
{
	struct vb_fault_shop *shop = wire->fault->shop;

	while (shop->first_out < shop->num_out) {
		const int sent = vb_wire_pass_out(wire, &shop->out[shop->first_out],
						  shop->num_out - shop->first_out);

		if (sent <= 0)
			return false;
		for (int i = 0; i < sent; i++)
			free(shop->out[shop->first_out++].buf);
	}
	shop->first_out = shop->num_out = 0;
	return true;
}

static bool pass_due(struct vb_wire *wire, uint64_t now_ns)
{
	struct vb_fault_shop *shop = wire->fault->shop;
	const struct wire_train *due;
	size_t n;

	if (!pass_kept(wire))
		return false;
	n = fault_shaper_due_out(shop->shaper, now_ns, &due);
	pass_out(wire, due, n);
	return shop->first_out == shop->num_out;
}

static int lose_trains(const struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wire->lost->port_down_drops += trains[i].segs;
	return (int)n;
}

int vb_fault_send(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	const uint64_t now_ns = clock_now_ns();
	size_t taken = 0;

	refresh(wire->fault);
	if (is_silent(wire->fault))
		return lose_trains(wire, trains, n);
	if (!wire->fault->shop)
		return vb_wire_pass_out(wire, trains, n);
	while (taken < n && pass_due(wire, now_ns)) {
		const struct wire_train *shaped;
		size_t num = fault_shaper_out(wire->fault->shop->shaper, &trains[taken], now_ns,
					      &shaped);

		pass_out(wire, shaped, num);
		taken++;
	}
	tell_lost(wire);
	return (int)taken;
}

/* In. */

/* from: its bytes stay until the queue is empty; else they are copied. */
static void queue_in(struct vb_fault_shop *shop, const struct wire_arrival *arrivals, size_t n,
		     const struct wire_arrival *from)
{
	for (size_t i = 0; i < n && shop->num_in < IN_MAX; i++) {
		struct wire_arrival *to = &shop->in[shop->num_in];

		*to = arrivals[i];
		if (!from || to->p != from->p) {
			memcpy(shop->bytes[shop->num_in], to->p, to->len);
			to->p = shop->bytes[shop->num_in];
		}
		shop->num_in++;
	}
}

/* Whether a NAK in a request's place would be true depends on those before it: the engine must have had them. */
static bool has_answers(const struct fault_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].action == FAULT_NAK || rules->rule[i].action == FAULT_RNR_NAK)
			return true;
	return false;
}

/* Returns what the link said. */
static int look(struct vb_wire *wire, uint64_t now_ns)
{
	struct vb_fault_shop *shop = wire->fault->shop;
	const bool singly = has_answers(fault_shaper_rules(shop->shaper));
	const struct wire_arrival *shaped;
	int n = 1;

	if (shop->first_raw == shop->num_raw) {
		n = vb_wire_pass_in(wire, shop->raw, LOOK);
		shop->first_raw = 0;
		shop->num_raw = n > 0 ? (size_t)n : 0;
	}
	while (shop->first_raw < shop->num_raw) {
		const struct wire_arrival *arrival = &shop->raw[shop->first_raw++];
		size_t num = fault_shaper_in(shop->shaper, arrival, now_ns, &shaped);

		queue_in(shop, shaped, num, arrival);
		if (singly)
			break;
	}
	queue_in(shop, shaped, fault_shaper_due_in(shop->shaper, now_ns, &shaped), NULL);
	tell_lost(wire);
	return n;
}

/* None is left to wake anybody. */
static int lose_arrivals(struct vb_wire *wire)
{
	struct vb_fault_shop *shop = wire->fault->shop;
	struct wire_arrival arrivals[LOOK];
	int n;

	if (shop) {
		wire->lost->port_down_drops += shop->num_raw - shop->first_raw;
		shop->first_raw = shop->num_raw = 0;
	}
	do {
		n = vb_wire_pass_in(wire, arrivals, LOOK);
		wire->lost->port_down_drops += n > 0 ? (uint64_t)n : 0;
	} while (n > 0);
	return n;
}

static size_t take_in(struct vb_fault_shop *shop, struct wire_arrival *ret, size_t max)
{
	size_t n = shop->num_in - shop->first_in;

	n = n < max ? n : max;
	memcpy(ret, shop->in + shop->first_in, n * sizeof(*ret));
	shop->first_in += n;
	return n;
}

int vb_fault_recv(struct vb_wire *wire, struct wire_arrival *ret, size_t max)
{
	const uint64_t now_ns = clock_now_ns();
	struct vb_fault_shop *shop;
	int n = 0;

	refresh(wire->fault);
	shop = wire->fault->shop;
	if (is_silent(wire->fault))
		return lose_arrivals(wire);
	if (!shop)
		return vb_wire_pass_in(wire, ret, max);
	for (int round = 0; round < ROUNDS && shop->first_in == shop->num_in; round++) {
		shop->first_in = shop->num_in = 0;
		n = look(wire, now_ns);
		if (n <= 0)
			break;
	}
	pass_due(wire, now_ns);
	if (shop->first_in == shop->num_in)
		return n < 0 ? n : 0;
	return (int)take_in(shop, ret, max);
}

uint64_t vb_fault_deadline(const struct vb_fault *fault)
{
	const struct vb_fault_shop *shop = fault->shop;
	uint64_t soon_ns;

	if (!shop)
		return UINT64_MAX;
	if (shop->first_in < shop->num_in || shop->first_raw < shop->num_raw)
		return 0;
	soon_ns = shop->first_out < shop->num_out ? clock_now_ns() + AGAIN_NS : UINT64_MAX;
	return fault_shaper_deadline(shop->shaper) < soon_ns ? fault_shaper_deadline(shop->shaper)
							     : soon_ns;
}
