// SPDX-License-Identifier: MIT
/* Looks at the state of a peer's process: see stopped_peer.h. */
#include "lib/progress/stopped_peer.h"

#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/process.h"
#include "lib/progress/progress.h"
#include "lib/progress/stopped_elsewhere.h"
#include "net/wire/gid.h"

/* The queue pairs of a process wait for one peer together: it is looked at once for all. */
#define LOOK_NS	       10000000u
#define STARVED_MAX_NS 2000000000u

static struct ctl_slot *slot_at(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->slot[slot];
}

static bool is_local(const struct progress *progress, const struct gid *dst)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++)
		if (gid_equal(dst, &progress->engine->cfg.gids[i]))
			return true;
	return false;
}

/* Whether this process can look at others of its server. */
static bool looks(const struct progress *progress)
{
	const uint32_t own = progress->attachment->slot;

	return progress->info->stopped == CTL_STOPPED_WAIT &&
	       atomic_load(&slot_at(progress, own)->pid) == getpid();
}

static void found_running(struct ctl_stopped_peer *peer)
{
	atomic_store(&peer->epoch, 0);
}

static void found_stopped(struct ctl_stopped_peer *peer, uint32_t epoch, uint64_t now_ns)
{
	if (atomic_load(&peer->epoch) != epoch)
		atomic_store(&peer->since_ns, now_ns);
	atomic_store(&peer->asked_ns, now_ns);
	atomic_store(&peer->epoch, epoch);
}

/* Its engine has not run since then, and one of its threads waits for a processor. A process that
 * waits for something else has no packet to answer; one that does not run its engine for longer
 * hangs. */
static bool is_starved(const struct progress *progress, uint32_t slot, uint64_t since_ns)
{
	const struct ctl_slot *peer = slot_at(progress, slot);
	const uint64_t ran_ns = atomic_load(&peer->presence.at_ns);

	return ran_ns < since_ns && progress->engine->now_ns - ran_ns < STARVED_MAX_NS &&
	       ctl_process_is_runnable(atomic_load(&peer->pid));
}

/* The process that has that slot of this device. */
static enum rxe_peer_life local_life(const struct progress *progress, uint32_t slot,
				     uint64_t since_ns, uint32_t *process)
{
	const uint64_t now_ns = progress->engine->now_ns;
	struct ctl_stopped_peer *peer;
	uint32_t epoch;
	int32_t pid;

	if (slot >= RXE_MAX_SLOTS || slot == progress->attachment->slot)
		return RXE_PEER_UNKNOWN;
	peer = &slot_at(progress, progress->attachment->slot)->stopped_peers[slot];
	epoch = atomic_load(&slot_at(progress, slot)->epoch);
	pid = atomic_load(&slot_at(progress, slot)->pid);
	if (*process && (*process != epoch || pid == 0)) {
		found_running(peer);
		return RXE_PEER_EXITED;
	}
	if (pid == 0)
		return RXE_PEER_UNKNOWN;
	if (atomic_load(&peer->epoch) != epoch ||
	    now_ns - atomic_load(&peer->asked_ns) >= LOOK_NS) {
		if (ctl_process_is_stopped(pid))
			found_stopped(peer, epoch, now_ns);
		else
			found_running(peer);
	}
	if (atomic_load(&peer->epoch) != epoch)
		return is_starved(progress, slot, since_ns) ? RXE_PEER_STARVED : RXE_PEER_RUNS;
	*process = epoch;
	return RXE_PEER_STOPPED;
}

enum rxe_peer_life stopped_peer_life(void *host, const struct rxe_qp *qp, uint64_t since_ns,
				     uint32_t *process)
{
	const struct progress *progress = host;

	if (!looks(progress))
		return RXE_PEER_UNKNOWN;
	if (is_local(progress, &qp->flow.dst))
		return local_life(progress, qp->attr.dest_qp_num >> RXE_SLOT_SHIFT, since_ns,
				  process);
	return stopped_elsewhere_life(slot_at(progress, progress->attachment->slot), qp,
				      progress->engine->now_ns, process);
}
