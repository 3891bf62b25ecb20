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

/* Whether the rule is for packets of this queue pair. order: FAULT_NO_INDEX: unknown. */
static bool is_for(const struct fault_rule *rule, uint32_t qpn, uint32_t order, uint32_t peer_qpn)
{
	return fault_in_range(&rule->qp, qpn) && fault_in_range(&rule->peer_qp, peer_qpn) &&
	       (order == FAULT_NO_INDEX || fault_in_range(&rule->qp_index, order));
}

/* The server adds up the counts of processes that have exited in the rule itself. */
static bool fired_at_peer(const struct diagnosis *d, const struct rxe_qp *qp, uint32_t place)
{
	const uint32_t slot = qp->attr.dest_qp_num >> RXE_SLOT_SHIFT;

	if (!peer_is_local(d, qp))
		return false;
	return atomic_load(&d->shared->slot[slot].pid) ? fired_in(d->shared, slot, place)
						       : d->shared->faults.at[place].fired > 0;
}

/* Whether the rule fired in a process of this connection, and may have fired for its packets. */
static bool fired(const struct diagnosis *d, const struct rxe_qp *qp, uint32_t place,
		  const struct fault_rule *rule)
{
	const uint32_t peer_qpn = qp->attr.dest_qp_num;

	if (is_for(rule, qp->qpn, qp->order, peer_qpn) && fired_in(d->shared, d->slot, place))
		return true;
	return is_for(rule, peer_qpn, FAULT_NO_INDEX, qp->qpn) && fired_at_peer(d, qp, place);
}

/* Reads the rule at a place. False: there is none, or it has nothing to do with the failure. */
static bool fired_rule(const struct diagnosis *d, const struct rxe_qp *qp, uint32_t place,
		       struct inject_rule *ret)
{
	const struct ctl_fault *fault = &d->shared->faults.at[place];
	char text[INJECT_TEXT_MAX], why[INJECT_TEXT_MAX];

	if (!fault->id)
		return false;
	memcpy(text, fault->text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	return inject_rule_parse(ret, text, why) && fired(d, qp, place, &ret->packet);
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
