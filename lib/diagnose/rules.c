// SPDX-License-Identifier: MIT
/* Fault rules as causes of a failure. Shared memory has the rules as text, and each slot the counts
 * of its process. Of a peer on another device only its packets are seen. */
#include <string.h>

#include "emu/limits.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"
#include "lib/inject/rule.h"
#include "net/wire/packet.h"

#define PORT_DOWN 1u /* enum ibv_port_state */

static bool fired_in(const struct ctl_shared *shared, uint32_t slot, uint32_t place)
{
	const struct ctl_fault_count *count = &shared->slot[slot].faults[place];

	return atomic_load(&count->id) == shared->faults.at[place].id &&
	       atomic_load(&count->fired) > 0;
}

/* Counts of processes that have exited are added up in the rule itself. */
static bool fired(const struct diagnosis *d, const struct rxe_qp *qp, uint32_t place)
{
	const uint32_t peer = qp->attr.dest_qp_num >> RXE_SLOT_SHIFT;

	if (fired_in(d->shared, d->slot, place))
		return true;
	return atomic_load(&d->shared->slot[peer].pid) ? fired_in(d->shared, peer, place)
						       : d->shared->faults.at[place].fired > 0;
}

/* Reads the rule at a place that has one which fired. */
static bool fired_rule(const struct diagnosis *d, const struct rxe_qp *qp, uint32_t place,
		       struct inject_rule *ret)
{
	const struct ctl_fault *fault = &d->shared->faults.at[place];
	char text[INJECT_TEXT_MAX], why[INJECT_TEXT_MAX];

	if (!fault->id)
		return false;
	memcpy(text, fault->text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	return inject_rule_parse(ret, text, why) && fired(d, qp, place);
}

uint32_t rule_sending_nak(const struct diagnosis *d, const struct rxe_qp *qp, uint8_t syndrome)
{
	for (uint32_t place = 0; place < FAULT_MAX_RULES; place++) {
		struct inject_rule rule;

		if (!fired_rule(d, qp, place, &rule))
			continue;
		if ((rule.action == FAULT_NAK && rule.packet.syndrome == syndrome) ||
		    (rule.action == FAULT_RNR_NAK && syndrome == AETH_RNR_NAK))
			return d->shared->faults.at[place].id;
	}
	return 0;
}

bool rules_disturb_packets(const struct diagnosis *d, const struct rxe_qp *qp)
{
	for (uint32_t place = 0; place < FAULT_MAX_RULES; place++) {
		struct inject_rule rule;

		if (fired_rule(d, qp, place, &rule) && rule.action < FAULT_ACTIONS &&
		    rule.action != FAULT_DUPLICATE)
			return true;
	}
	return false;
}

const char *port_silence(const struct diagnosis *d)
{
	const bool down = atomic_load(&d->shared->port_state) == PORT_DOWN;

	if (!atomic_load(&d->shared->faults.silent))
		return down ? "the port is down: its interface is down or was removed" : NULL;
	return down ? "the port is down by a fault rule ('rxe_dm fault list')"
		    : "a fault rule removed the device's address from its GID table ('rxe_dm fault "
		      "list')";
}
