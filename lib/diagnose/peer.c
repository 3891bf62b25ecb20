// SPDX-License-Identifier: MIT
/* The peer's queue pair, if it is on this device: shared memory lists no others. */
#include "emu/limits.h"
#include "lib/control/process.h"
#include "lib/control/protocol.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"
#include "net/wire/gid.h"

static const char *state_str(uint32_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

bool peer_is_local(const struct diagnosis *d, const struct rxe_qp *qp)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (gid_equal(&d->gids[i], &qp->flow.dst))
			return true;
	}
	return false;
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
