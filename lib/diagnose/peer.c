// SPDX-License-Identifier: MIT
/* What shared memory shows of the peer and of the path to it: the peer's queue pair and process, if
 * they are on this device, the fault rules that fired at either end, the port. */
#include <string.h>

#include "emu/limits.h"
#include "lib/control/process.h"
#include "lib/control/protocol.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"
#include "lib/inject/rule.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"

#define PORT_DOWN 1u /* enum ibv_port_state */

bool peer_is_local(const struct diagnosis *d, const struct rxe_qp *qp)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (gid_equal(&d->gids[i], &qp->flow.dst))
			return true;
	}
	return false;
}

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

/* The number of the first rule from this place on that may be a cause, and the place after it. 0:
 * no more. */
static uint32_t next_rule(const struct diagnosis *d, const struct rxe_qp *qp, uint32_t *place,
			  struct inject_rule *ret)
{
	while (*place < FAULT_MAX_RULES) {
		const uint32_t at = (*place)++;
		const struct ctl_fault *fault = &d->shared->faults.at[at];
		char text[INJECT_TEXT_MAX], why[INJECT_TEXT_MAX];

		memcpy(text, fault->text, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		if (fault->id && inject_rule_parse(ret, text, why) &&
		    fired(d, qp, at, &ret->packet))
			return fault->id;
	}
	return 0;
}

uint32_t rule_sending_nak(const struct diagnosis *d, const struct rxe_qp *qp, uint8_t syndrome)
{
	struct inject_rule rule;
	uint32_t place = 0, id;

	while ((id = next_rule(d, qp, &place, &rule))) {
		if ((rule.action == FAULT_NAK && rule.packet.syndrome == syndrome) ||
		    (rule.action == FAULT_RNR_NAK && syndrome == AETH_RNR_NAK))
			break;
	}
	return id;
}

/* Whether a rule that drops, delays or changes packets fired in this process or the peer's. */
static bool rules_disturb_packets(const struct diagnosis *d, const struct rxe_qp *qp)
{
	struct inject_rule rule;
	uint32_t place = 0;

	while (next_rule(d, qp, &place, &rule)) {
		if (rule.action < FAULT_ACTIONS && rule.action != FAULT_DUPLICATE)
			return true;
	}
	return false;
}

static const char *state_str(uint32_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static void say_connected(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp,
			  const struct ctl_slot *slot)
{
	const int32_t pid = atomic_load(&slot->pid);

	say(s, "%.15s (process %d) has the QP, but ", slot->comm, (int)pid);
	if (ctl_process_is_stopped(pid))
		say(s, "is stopped");
	else if (rules_disturb_packets(d, qp))
		say(s, "fault rules drop, delay or change packets ('rxe_dm fault list')");
	else
		say(s, "did not run in time, or packets were lost ('rxe_dm show' counts lost "
		       "packets)");
}

static void say_local_silent(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	const uint32_t qpn = qp->attr.dest_qp_num;
	const struct ctl_slot *slot = &d->shared->slot[qpn >> RXE_SLOT_SHIFT];
	const struct ctl_shared_qp *other = &slot->qp[qpn % RXE_MAX_QP];
	const int32_t pid = atomic_load(&slot->pid);

	if (pid == 0)
		say(s, "the program of QP 0x%06x has exited", qpn);
	else if (atomic_load(&other->qpn) != qpn)
		say(s, "%.15s (process %d) has no QP 0x%06x", slot->comm, (int)pid, qpn);
	else if (other->state < RXE_QPS_RTR || other->state == RXE_QPS_ERR)
		say(s, "QP 0x%06x of %.15s (process %d) is in state %s", qpn, slot->comm, (int)pid,
		    state_str(other->state));
	else if (other->dest_qpn != qp->qpn)
		say(s, "QP 0x%06x is connected to QP 0x%06x, not to this one", qpn,
		    other->dest_qpn);
	else
		say_connected(s, d, qp, slot);
}

/* Why the device can send and receive nothing; NULL: it can. */
static const char *port_silence(const struct diagnosis *d)
{
	const bool down = atomic_load(&d->shared->port_state) == PORT_DOWN;

	if (!ctl_is_silent(d->shared))
		return down ? "the port is down: its interface is down or was removed" : NULL;
	return down ? "the port is down by a fault rule ('rxe_dm fault list')"
		    : "a fault rule removed the device's address from its GID table ('rxe_dm fault "
		      "list')";
}

void say_peer_silent(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	const char *silence = port_silence(d);

	if (silence) {
		say(s, "%s", silence);
		return;
	}
	if (peer_is_local(d, qp)) {
		say_local_silent(s, d, qp);
		return;
	}
	if (d->link == CTL_LINK_MEMORY)
		say(s, "no program of this device has that address, and packets in memory reach no "
		       "others ('--link udp' does)");
	else
		say(s, "the peer has exited, its address is wrong, or UDP port 4791 is blocked");
	if (rules_disturb_packets(d, qp))
		say(s, "; or fault rules here drop, delay or change packets ('rxe_dm fault list')");
}

/* The newest cause recorded for qpn. count entries were written to the ring at[0..size). NULL:
 * none, or cleared meanwhile. */
static const char *newest_cause(const struct ctl_failure *at, uint32_t size, uint32_t count,
				uint32_t qpn)
{
	const uint32_t used = count < size ? count : size;

	for (uint32_t i = count; i != count - used; i--) {
		const struct ctl_failure *failure = &at[(i - 1) % size];

		if (failure->qpn == qpn && failure->why[0])
			return failure->why;
	}
	return NULL;
}

/* The server copies a dead process's failures to shared->failures before it clears the slot. */
const char *peer_cause(const struct diagnosis *d, const struct rxe_qp *qp)
{
	const uint32_t qpn = qp->attr.dest_qp_num;
	const struct ctl_slot_failures *own = &d->shared->slot[qpn >> RXE_SLOT_SHIFT].failures;
	const struct ctl_kept_failures *kept = &d->shared->failures;
	const char *cause;

	if (!peer_is_local(d, qp))
		return NULL;
	cause = newest_cause(own->at, CTL_FAILURES_OF_SLOT, atomic_load(&own->count), qpn);
	return cause ? cause
		     : newest_cause(kept->at, CTL_FAILURES_KEPT, atomic_load(&kept->count), qpn);
}
