// SPDX-License-Identifier: MIT
/* Finds the peer's process by the device that its server publishes: see stopped_elsewhere.h. */
#include "lib/progress/stopped_elsewhere.h"

#include <stdio.h>
#include <string.h>

#include "emu/qp.h"
#include "lib/control/process.h"
#include "lib/control/published.h"
#include "lib/control/shared.h"

/* The queue pairs of a process that wait for one peer have one look in this time. */
#define LOOK_NS 10000000u

static uint32_t slot_of_peer(const struct rxe_qp *qp)
{
	return qp->attr.dest_qp_num >> RXE_SLOT_SHIFT;
}

/* NULL: this peer was not found stopped last. */
static struct ctl_stopped_elsewhere *find(struct ctl_slot *own, const struct rxe_qp *qp)
{
	for (uint32_t i = 0; i < CTL_STOPPED_ELSEWHERE; i++) {
		struct ctl_stopped_elsewhere *at = &own->stopped_elsewhere[i];

		if (atomic_load(&at->peer.epoch) && at->slot == slot_of_peer(qp) &&
		    gid_equal(&at->gid, &qp->flow.dst))
			return at;
	}
	return NULL;
}

/* A free place, or that of the peer that was looked at longest ago. */
static struct ctl_stopped_elsewhere *take_place(struct ctl_slot *own)
{
	struct ctl_stopped_elsewhere *ret = &own->stopped_elsewhere[0];

	for (uint32_t i = 0; i < CTL_STOPPED_ELSEWHERE; i++) {
		struct ctl_stopped_elsewhere *at = &own->stopped_elsewhere[i];

		if (!atomic_load(&at->peer.epoch))
			return at;
		if (atomic_load(&at->peer.asked_ns) < atomic_load(&ret->peer.asked_ns))
			ret = at;
	}
	atomic_store(&ret->peer.epoch, 0);
	return ret;
}

static void found_stopped(struct ctl_slot *own, struct ctl_stopped_elsewhere *known,
			  const struct rxe_qp *qp, const struct ctl_published_peer *peer,
			  uint64_t now_ns)
{
	struct ctl_stopped_elsewhere *at = known ? known : take_place(own);

	if (atomic_load(&at->peer.epoch) != peer->epoch || at->pid != peer->pid)
		atomic_store(&at->peer.since_ns, now_ns);
	at->gid = qp->flow.dst;
	at->slot = slot_of_peer(qp);
	at->pid = peer->pid;
	memcpy(at->comm, peer->comm, sizeof(at->comm));
	snprintf(at->instance, sizeof(at->instance), "%s", peer->instance);
	atomic_store(&at->peer.asked_ns, now_ns);
	atomic_store(&at->peer.epoch, peer->epoch);
}

enum rxe_peer_life stopped_elsewhere_life(struct ctl_slot *own, const struct rxe_qp *qp,
					  uint64_t now_ns, uint32_t *process)
{
	struct ctl_stopped_elsewhere *known = find(own, qp);
	struct ctl_published_peer peer;
	bool is_there;

	if (known && *process == atomic_load(&known->peer.epoch) &&
	    now_ns - atomic_load(&known->peer.asked_ns) < LOOK_NS)
		return RXE_PEER_STOPPED;
	is_there = ctl_published_find(&qp->flow.dst, qp->attr.dest_qp_num, qp->qpn, &peer) &&
		   (*process == 0 || *process == peer.epoch);
	if (is_there && ctl_process_is_stopped(peer.pid)) {
		found_stopped(own, known, qp, &peer, now_ns);
		*process = peer.epoch;
		return RXE_PEER_STOPPED;
	}
	if (known)
		atomic_store(&known->peer.epoch, 0);
	if (is_there)
		return RXE_PEER_RUNS;
	return *process ? RXE_PEER_EXITED : RXE_PEER_UNKNOWN;
}
