// SPDX-License-Identifier: MIT
/* Rules stand as text in the shared memory, and each process counts in its slot how often one fired. Of a peer on another device only
 * the packets tell. */
#include "lib/diagnose/rules.h"

#include <string.h>

#include "emu/limits.h"
#include "emu/qp.h"
#include "lib/progress/progress.h"

#define PORT_DOWN 1u /* enum ibv_port_state */

static bool fired_in(const struct ctl_shared *shared, uint32_t slot, uint32_t place)
{
	const struct ctl_fault_count *count = &shared->slot[slot].faults[place];

	return atomic_load(&count->id) == shared->faults.at[place].id &&
	       atomic_load(&count->fired) > 0;
}

/* In this process, or in the peer's, which may have gone: then its counts are with those of all that have. */
static bool fired(const struct progress *progress, const struct rxe_qp *qp, uint32_t place)
{
	const struct ctl_shared *shared = progress->attachment->shared;
	const uint32_t peer = qp->attr.dest_qp_num >> RXE_SLOT_SHIFT;

	if (fired_in(shared, progress->attachment->slot, place))
		return true;
	return atomic_load(&shared->slot[peer].pid) ? fired_in(shared, peer, place)
						    : shared->faults.at[place].fired > 0;
}

static bool rule_at(const struct progress *progress, uint32_t place, struct fault_rule *ret)
{
	const struct ctl_fault *fault = &progress->attachment->shared->faults.at[place];
	char text[FAULT_TEXT_MAX], why[FAULT_TEXT_MAX];

	if (!fault->id)
		return false;
	memcpy(text, fault->text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	return fault_rule_parse(ret, text, why);
}

uint32_t vb_rule_that_answers(const struct progress *progress, const struct rxe_qp *qp,
			      uint8_t syndrome)
{
	for (uint32_t place = 0; place < FAULT_MAX_RULES; place++) {
		struct fault_rule rule;

		if (!rule_at(progress, place, &rule) || !fired(progress, qp, place))
			continue;
		if ((rule.action == FAULT_NAK && rule.syndrome == syndrome) ||
		    (rule.action == FAULT_RNR_NAK && syndrome == FAULT_SYNDROME_RNR))
			return progress->attachment->shared->faults.at[place].id;
	}
	return 0;
}

bool vb_rules_take_packets(const struct progress *progress, const struct rxe_qp *qp)
{
	for (uint32_t place = 0; place < FAULT_MAX_RULES; place++) {
		struct fault_rule rule;

		if (rule_at(progress, place, &rule) && rule.action < FAULT_PACKET_ACTIONS &&
		    rule.action != FAULT_DUPLICATE && fired(progress, qp, place))
			return true;
	}
	return false;
}

const char *vb_silence(const struct progress *progress)
{
	const struct ctl_shared *shared = progress->attachment->shared;
	const bool down = atomic_load(&shared->port_state) == PORT_DOWN;

	if (!atomic_load(&shared->faults.silent))
		return down ? "the port is down: so is its interface, or it has gone" : NULL;
	return down ? "the port is down by a fault rule ('rxe_dm fault list')"
		    : "a fault rule has the device's address out of its GID table";
}
