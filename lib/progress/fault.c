// SPDX-License-Identifier: MIT
/* Gives the fault link the device's rules and its queue pairs, and decides about completions. */
#include "lib/progress/fault.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/log.h"
#include "lib/inject/rule.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "net/link/capture/recorder.h"
#include "net/link/fault/shaper.h"
#include "net/link/link.h"
#include "net/wire/gid.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

void faults_copy_rules(const struct ctl_faults *from, struct inject_rules *rules,
		       uint32_t place[FAULT_MAX_RULES])
{
	memset(rules, 0, sizeof(*rules));
	for (uint32_t id = 0;;) {
		uint32_t next = FAULT_MAX_RULES;
		char text[INJECT_TEXT_MAX], why[INJECT_TEXT_MAX];

		for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
			if (from->at[i].id > id &&
			    (next == FAULT_MAX_RULES || from->at[i].id < from->at[next].id))
				next = i;
		}
		if (next == FAULT_MAX_RULES)
			return;
		assert(rules->n < FAULT_MAX_RULES);
		id = from->at[next].id;
		memcpy(text, from->at[next].text, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		if (!inject_rule_parse(&rules->rule[rules->n], text, why))
			/* Half of a change. */
			continue;
		rules->id[rules->n] = id;
		place[rules->n++] = next;
	}
}

static bool find_qp(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
		    struct fault_qp *ret)
{
	struct progress *progress = ((const struct faults *)arg)->progress;
	const struct rxe_engine *engine = progress->engine;
	const struct rxe_qp *qp = dir == FAULT_IN ? rxe_engine_find_qp(engine, dest_qpn)
						  : packet_qp_connected_to(engine, peer, dest_qpn,
									   &progress->link.sender);

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

void faults_count(struct progress *progress, uint32_t place, uint32_t id)
{
	struct ctl_slot *slot = &progress->attachment->shared->slot[progress->attachment->slot];
	struct ctl_fault_count *count = &slot->faults[place];

	assert(place < FAULT_MAX_RULES && id != 0);
	if (atomic_load_explicit(&count->id, memory_order_relaxed) != id) {
		atomic_store(&count->fired, 0);
		atomic_store(&count->id, id);
	}
	atomic_fetch_add_explicit(&count->fired, 1, memory_order_relaxed);
}

void faults_show(struct recorder *recorder, const struct fault_firing *firing,
		 const struct inject_rule *rule)
{
	char note[CAPTURE_NOTE_MAX];
	int len;

	if (!recorder)
		return;
	len = snprintf(note, sizeof(note), "fault %u: ", firing->id);
	assert(len > 0 && (size_t)len < sizeof(note));
	(void)inject_rule_format(note + len, sizeof(note) - (size_t)len, rule);
	recorder_fault(recorder, firing, note);
}

static void fired(void *arg, const struct fault_firing *firing)
{
	const struct faults *faults = arg;
	const struct fault_packet *packet = &firing->packet;
	uint32_t at = 0;

	while (at < faults->rules->n && faults->rules->id[at] != firing->id)
		at++;
	assert(at < faults->rules->n);
	faults_count(faults->progress, faults->place[at], firing->id);
	faults_show(faults->progress->link.recorder, firing, &faults->rules->rule[at]);
	/* +N: N PSNs after the connection's first; #N: by order of creation. Both are the same in
	 * the next run. */
	ctl_log(CTL_LOG_INFO,
		"fault %u: %s %s_%s psn %u (+%u) of QP 0x%06x (#%d) %s QP 0x%06x, attempt %u",
		firing->id, inject_action_str(firing->rule->action),
		wire_service_str(packet->opcode), wire_op_str(packet->opcode), packet->psn,
		(packet->psn - packet->first_psn) & PSN_MASK, packet->qpn, (int)packet->qp_index,
		packet->dir == FAULT_OUT ? "to" : "from", packet->peer_qpn, firing->attempt);
}

void faults_report(struct faults *faults)
{
	const struct ctl_attachment *at = faults->progress->attachment;
	struct ctl_lost *lost = &at->shared->slot[at->slot].lost;
	struct fault_stats stats;

	if (!faults->link)
		return;
	stats = fault_link_stats(faults->link);
	assert(stats.overflows >= faults->reported.overflows &&
	       stats.unanswered >= faults->reported.unanswered &&
	       stats.silent_drops >= faults->reported.silent_drops);
	lost->fault_overflows += stats.overflows - faults->reported.overflows;
	lost->fault_unanswered += stats.unanswered - faults->reported.unanswered;
	lost->port_down_drops += stats.silent_drops - faults->reported.silent_drops;
	faults->reported = stats;
}

/* The port is down, or its address is not in the GID table. */
static bool is_silent(void *arg)
{
	const struct faults *faults = arg;

	return ctl_is_silent(faults->progress->attachment->shared);
}

void faults_close(struct faults *faults)
{
	const struct faults last = *faults;

	/* A child of fork() closes what it finds here. */
	faults->rules = NULL;
	faults->link = NULL;
	faults->completions = NULL;
	fault_link_close(last.link);
	fault_counters_free(last.completions);
	free(last.rules);
}

static void open_link(struct faults *faults)
{
	const struct fault_link_cfg cfg = {
		.shaper = { .find_qp = find_qp, .fired = fired, .arg = faults },
		.is_silent = is_silent,
	};

	assert(!faults->link && !faults->rules && !faults->completions);
	faults->reported = (struct fault_stats){ 0 };
	faults->link = fault_link_open(&cfg, faults->progress->link.phy);
	faults->completions = fault_counters_new();
	faults->rules = calloc(1, sizeof(*faults->rules));
	if (faults->link && faults->completions && faults->rules)
		return;
	faults_close(faults);
	ctl_log(CTL_LOG_WARNING,
		"no memory for the fault rules of %s: they do not apply to this process",
		faults->progress->info->name);
}

static bool has_rules(const struct ctl_faults *faults)
{
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (faults->at[i].id)
			return true;
	}
	return false;
}

static bool has_completions(const struct inject_rules *rules)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (rules->rule[i].action == INJECT_COMPLETION)
			return true;
	return false;
}

uint32_t faults_completing(void *host, const struct rxe_qp *qp, bool is_recv)
{
	struct progress *progress = host;
	struct faults *faults = &progress->link.faults;
	const struct inject_completion completion = {
		.qpn = qp->qpn,
		.qp_index = qp->order,
		.side = is_recv ? INJECT_RECV : INJECT_SEND,
	};
	const struct inject_rules *rules;
	uint32_t nth;
	int at;

	if (!faults->link)
		return RXE_WC_SUCCESS;
	rules = faults->rules;
	at = inject_decide_completion(rules, faults->completions, &completion, &nth);
	if (at < 0)
		return RXE_WC_SUCCESS;
	faults_count(progress, faults->place[at], rules->id[at]);
	ctl_log(CTL_LOG_INFO, "fault %u: %s completion %u of QP 0x%06x (#%u) ends with %s",
		rules->id[at], is_recv ? "receive" : "send", nth, qp->qpn, qp->order,
		inject_status_str(rules->rule[at].u.completion.status));
	return rules->rule[at].u.completion.status;
}

/* Rules that are being changed at this moment are taken over with the next packet. */
static void take_over(struct faults *faults)
{
	const struct ctl_faults *from = &faults->progress->attachment->shared->faults;
	const uint32_t before = atomic_load(&from->generation);

	if (before == faults->generation || before & 1)
		return;
	if (!faults->link && has_rules(from))
		open_link(faults);
	if (faults->link) {
		faults_copy_rules(from, faults->rules, faults->place);
		inject_packet_rules(fault_link_rules(faults->link), faults->rules);
	}
	if (atomic_load(&from->generation) == before)
		faults->generation = before;
}

bool faults_follow(struct faults *faults)
{
	const struct fault_link *had = faults->link;

	take_over(faults);
	if (faults->link && faults->rules->n == 0 && fault_link_is_idle(faults->link) &&
	    atomic_load(faults->now) == faults->generation)
		faults_close(faults);
	if (faults->progress->engine)
		faults->progress->engine->completions_asked =
			faults->progress->link.unkind ||
			(faults->link && has_completions(faults->rules));
	return faults->link != had;
}

void faults_open(struct faults *faults, struct progress *progress)
{
	*faults = (struct faults){ .progress = progress,
				   .now = &progress->attachment->shared->faults.generation };
}
