/* SPDX-License-Identifier: MIT */
/* The unkind device: does whatever the standard allows and adapters seldom do, so that a program
 * that relies on more fails here. docs/WORST.md has each switch with its sentence of the standard.
 *
 * plan.h   which switches are on, and what a seed decides. Pure.
 * host.h   memory and completions: a layer between the engine and its host.
 *
 * Packets are held back by net/link/unkind. lib/progress puts both into a device's stacks when
 * RXE_DM_WORST is set, and the simulator (tests/sim) puts the layer into its hosts. Nothing here
 * knows a clock, a thread or a socket: time and waiting are the caller's.
 *
 * Whether something happens is a hash of seed, switch and what programs repeat from run to run: the
 * order in which queue pairs were created, lengths of regions, counts. So a seed has the same
 * effect whatever the addresses, keys and PSNs of a run. */
#ifndef RXE_UNKIND_PLAN_H
#define RXE_UNKIND_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Each is named as its member in small letters. */
#define UNKIND_SWITCHES(X)                                                                         \
	X(LATE_READS, late_reads)                                                                  \
	X(BYTE_ORDER, byte_order)                                                                  \
	X(FILL, fill)                                                                              \
	X(LATE_COMPLETIONS, late_completions)                                                      \
	X(COMPLETION_ORDER, completion_order)                                                      \
	X(FEW_COMPLETIONS, few_completions)                                                        \
	X(LATE_EVENTS, late_events)                                                                \
	X(QP_ORDER, qp_order)                                                                      \
	X(FILL_RECEIVES, fill_receives)                                                            \
	X(FILL_DM, fill_dm)

/* Programs that are used every day break fill_receives: it is only on where it is named. */
#define UNKIND_USUAL (((1u << UNKIND_NUM_SWITCHES) - 1) & ~(1u << UNKIND_FILL_RECEIVES))

enum unkind_switch {
#define X(name, word) UNKIND_##name,
	UNKIND_SWITCHES(X)
#undef X
		UNKIND_NUM_SWITCHES,
};

struct unkind_plan {
	uint64_t seed;
	uint32_t switches; /* 1 << enum unkind_switch; 0: the device is kind */
};

#define UNKIND_WHY_MAX 256

/* Parses "none", no switch; or "SEED[,[+|-]SWITCH]...": a number; then the usual switches, with
 * those that have a plus and without those that have a minus; or, where one has no sign, only those
 * without and with a plus. False: why says what is wrong, and *ret is unchanged. */
bool unkind_plan_parse(struct unkind_plan *ret, const char *text, char why[static UNKIND_WHY_MAX]);
const char *unkind_switch_str(enum unkind_switch which);

static inline bool unkind_has(const struct unkind_plan *plan, enum unkind_switch which)
{
	return plan->switches >> which & 1;
}

uint64_t unkind_mix(uint64_t hash, uint64_t value);
/* A hash of seed, switch, and what happens for the nth time, from 0. */
uint64_t unkind_hash(const struct unkind_plan *plan, enum unkind_switch which, uint64_t what,
		     uint32_t nth);
/* Whether it happens: never while the switch is off; of the first ones every second, later one in
 * rare, and after 256 one in 64 times rare. So short programs are hit, and long ones stay fast. */
bool unkind_strikes(const struct unkind_plan *plan, enum unkind_switch which, uint64_t what,
		    uint32_t nth, uint32_t rare);
/* A time between least and most, by hash. */
static inline uint64_t unkind_between(uint64_t hash, uint64_t least, uint64_t most)
{
	return least + (hash >> 16) % (most - least + 1);
}

#endif
