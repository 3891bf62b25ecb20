/* SPDX-License-Identifier: MIT */
/* Fault rules in this process: while the device has rules, the fault link (net/link/fault/link.h) is in the stack, and completions are
 * decided here. The rules stand in shared memory; a change is seen by one relaxed load. Under the engine lock. */
#ifndef RXE_PROGRESS_FAULT_H
#define RXE_PROGRESS_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/control/fault.h"
#include "lib/inject/rule.h"
#include "net/link/fault/link.h"

struct progress;
struct rxe_qp;

struct faults {
	struct progress *progress;
	const _Atomic uint32_t *now;	    /* the generation of the rules */
	uint32_t generation;		    /* the one that link has */
	struct fault_link *link;	    /* NULL: no rules, and nothing waits */
	struct inject_rules *rules;	    /* NULL: none */
	struct fault_counters *completions; /* counted */
	/* In shared memory, of each of the rules. */
	uint32_t place[FAULT_MAX_RULES];
	struct fault_link_stats reported; /* of the link, so much is in the slot's counters */
};

void faults_open(struct faults *faults, struct progress *progress);
void faults_close(struct faults *faults);

/* Copies the rules as they stand, oldest first, and the place of each in shared memory. */
void faults_copy_rules(const struct ctl_faults *from, struct inject_rules *rules,
		       uint32_t place[FAULT_MAX_RULES]);
/* Counts that the rule at this place has fired. */
void faults_count(struct progress *progress, uint32_t place, uint32_t id);

/* The engine's completing (emu/host.h); host: struct progress. */
uint32_t faults_completing(void *host, const struct rxe_qp *qp, bool is_recv);
/* Takes over changed rules, and puts the fault link into the stack or out of it. */
void faults_follow(struct faults *faults);
/* Adds what the fault link counted to the slot's counters. */
void faults_report(struct faults *faults);

/* True when there are rules, packets that wait for them, or changed rules. */
static inline bool faults_apply(const struct faults *faults)
{
	return faults->link ||
	       atomic_load_explicit(faults->now, memory_order_relaxed) != faults->generation;
}

#endif
