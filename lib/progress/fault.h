/* SPDX-License-Identifier: MIT */
/* Fault rules in this process: while the device has rules, the fault link (net/link/fault/link.h)
 * is in the stack, and completions are decided here. The rules stand in shared memory; a change is
 * seen by one relaxed load. Under the engine lock. */
#ifndef RXE_PROGRESS_FAULT_H
#define RXE_PROGRESS_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/control/shared.h"
#include "lib/inject/rule.h"
#include "net/link/fault/link.h"

struct fault_firing;
struct progress;
struct recorder;
struct rxe_qp;

struct faults {
	struct progress *progress;
	/* Current generation of the device's rules, in shared memory. */
	const _Atomic uint32_t *now;
	/* Generation of the rules below. */
	uint32_t generation;
	/* NULL: the device has no rules, and no packet waits for one. The next two go with it. */
	struct fault_link *link;
	struct inject_rules *rules;
	/* Completions counted so far, by rule. */
	struct fault_counters *completions;
	/* Place of each rule in shared memory. */
	uint32_t place[FAULT_MAX_RULES];
	/* Counts of the link that the slot's counters include. */
	struct fault_stats reported;
};

/* The device's link opens or closes. */
void faults_open(struct faults *faults, struct progress *progress);
void faults_close(struct faults *faults);

/* Copies the rules, oldest first, and the place of each in shared memory. */
void faults_copy_rules(const struct ctl_faults *from, struct inject_rules *rules,
		       uint32_t place[FAULT_MAX_RULES]);
/* Counts that the rule at this place has fired. */
void faults_count(struct progress *progress, uint32_t place, uint32_t id);

/* The engine's completing (emu/host.h); host: struct progress. */
uint32_t faults_completing(void *host, const struct rxe_qp *qp, bool is_recv);
/* Takes over changed rules. True: the fault link opened or closed, and the stack changes. */
bool faults_follow(struct faults *faults);
/* Records in a capture, unless it is NULL, that this rule was carried out. */
void faults_show(struct recorder *recorder, const struct fault_firing *firing,
		 const struct inject_rule *rule);
/* Adds what the fault link counted to the slot's counters. */
void faults_report(struct faults *faults);

static inline bool faults_changed(const struct faults *faults)
{
	return atomic_load_explicit(faults->now, memory_order_relaxed) != faults->generation;
}

/* True when there are rules, packets that wait for them, or changed rules. */
static inline bool faults_apply(const struct faults *faults)
{
	return faults->link || faults_changed(faults);
}

#endif
