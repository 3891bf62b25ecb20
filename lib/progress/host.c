// SPDX-License-Identifier: MIT
/* The host of the engine: its settings, and the calls that it makes (struct rxe_host_ops). Under
 * the engine lock. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "emu/raw/frame.h"
#include "emu/supported.h"
#include "lib/progress/early.h"
#include "lib/progress/fault.h"
#include "lib/progress/link.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "lib/progress/stopped_peer.h"
#include "lib/progress/unkind.h"
#include "net/link/clock.h"
#include "net/link/link.h"

/* Longer than a program is usually kept from its processor. */
#define PROBE_NS 8000000u

/* Address of a region's byte in this process; NULL: it is not in this process. The range was
 * checked. */
static uint8_t *locate(const struct progress *progress, const struct rxe_mr *mr, uint64_t iova)
{
	uint64_t at = mr->addr + (iova - mr->iova);

	switch ((enum rxe_mr_kind)mr->kind) {
	case RXE_MR_PLAIN:
		return mr->owner == progress->attachment->slot ? (uint8_t *)(uintptr_t)at : NULL;
	case RXE_MR_ARENA: return progress->attachment->arena + at;
	case RXE_MR_WINDOW_1:
	case RXE_MR_WINDOW_2:
	case RXE_MR_NULL: break;
	}
	return NULL;
}

static bool is_foreign(const struct progress *progress, const struct rxe_mr *mr)
{
	return mr->kind == RXE_MR_PLAIN && mr->owner != progress->attachment->slot;
}

bool host_mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len)
{
	const uint8_t *p = locate(host, mr, iova);

	if (mr->kind == RXE_MR_NULL) {
		memset(dst, 0, len);
		return true;
	}
	if (is_foreign(host, mr))
		return remote_read(host, mr, iova, dst, len);
	return p && memory_copy(dst, p, len);
}

bool host_mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src, size_t len)
{
	uint8_t *p = locate(host, mr, iova);

	if (mr->kind == RXE_MR_NULL)
		return true;
	if (is_foreign(host, mr))
		return remote_write(host, mr, iova, src, len);
	return p && memory_copy_in_order(p, src, len);
}

bool host_mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		     uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig)
{
	uint8_t *p = locate(host, mr, iova);

	if (is_foreign(host, mr))
		return remote_atomic(host, mr, iova, op, compare_or_add, swap, ret_orig);
	return p && memory_atomic(p, op, compare_or_add, swap, ret_orig);
}

static void host_about_to_store(void *host, const struct rxe_mr *mr, uint64_t iova, size_t len)
{
	const uint8_t *p = locate(host, mr, iova);

	if (p)
		early_look(p, len);
}

static uint32_t host_random(void *host)
{
	struct progress *progress = host;
	uint32_t x = progress->random_state;

	/* 0 would be followed by 0. */
	assert(x != 0);
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return progress->random_state = x;
}

void progress_cq_armed(struct progress *progress)
{
	schedule_cq_armed(&progress->schedule);
}

void progress_cq_disarmed(struct progress *progress)
{
	schedule_cq_disarmed(&progress->schedule);
}

void progress_cq_notify(void *host, struct rxe_cq *cq)
{
	struct progress *progress = host;

	progress_cq_disarmed(progress);
	progress->owner->cq_notified(progress, cq);
}

static void host_event(void *host, const struct rxe_event *event)
{
	struct progress *progress = host;

	progress->owner->event_raised(progress, event);
}

static void host_failed(void *host, const struct rxe_qp *qp, enum rxe_failed what, uint32_t status)
{
	struct progress *progress = host;

	progress->owner->qp_failed(progress, qp, what, status);
}

static uint64_t host_grace_begin(void *host)
{
	return grace_begin(&((struct progress *)host)->grace);
}

static bool host_grace_over(void *host, uint64_t stamp)
{
	return grace_over(&((struct progress *)host)->grace, stamp, GRACE_NOBODY);
}

/* Every slot but the own one, whose accesses are made under the engine lock: one without a process
 * has its gauge at zero. */
static void watch_others(struct progress *progress)
{
	progress->grace = (struct grace){ .shared = progress->attachment->shared };
	for (uint32_t slot = 0; slot < RXE_MAX_SLOTS; slot++)
		if (slot != progress->attachment->slot)
			grace_watch(&progress->grace, slot);
}

static uint8_t *host_train_space(void *host, const struct gid *dst, uint32_t slot)
{
	struct progress *progress = host;
	uint8_t *space = device_link_space(&progress->link, dst, slot);

	return space ? space : progress_train_space(progress);
}

static const struct rxe_time_wait_table *host_time_wait_of(void *host, const struct gid *dst,
							   uint32_t slot)
{
	const struct progress *progress = host;

	return local_peer_presence(progress, dst, slot)
		       ? &progress->attachment->shared->slot[slot].time_wait
		       : NULL;
}

static const struct rxe_host_ops host_ops = {
	.mem_read = host_mem_read,
	.mem_write = host_mem_write,
	.mem_atomic = host_mem_atomic,
	.mem_persist = RXE_PERSISTENCE_SUPPORTED ? host_mem_persist : NULL,
	.is_deferred = remote_was_deferred,
	.cq_notify = progress_cq_notify,
	.event = host_event,
	.random = host_random,
	.grace_begin = host_grace_begin,
	.grace_over = host_grace_over,
	.peer_life = stopped_peer_life,
	.credits = credits_left,
	.credits_spent = credits_spent,
	.time_wait_of = host_time_wait_of,
	.train_space = host_train_space,
	.failed = host_failed,
	.srq_find = remote_srq_find,
	.srq_take = remote_srq_take,
	.srq_done = remote_srq_done,
	.completing = faults_completing,
	.raw_listens = RXE_RAW_SUPPORTED ? host_raw_listens : NULL,
	.raw_listener = RXE_RAW_SUPPORTED ? host_raw_listener : NULL,
};

/* A delayed ACK follows the next request. The peer's engine gets the ACK first where both arrive in
 * one train. As single packets the request may be received alone: the peer's program would see an
 * answer before the completion of what it answers. */
static uint32_t ack_delay_ns(struct progress *progress)
{
	const struct ctl_device *device = progress->info;

	if (device->link == CTL_LINK_ETHERNET || !device->trains)
		return 0;
	return schedule_ack_hold_ns(&progress->schedule, clock_now_ns());
}

/* The kernel reports twice what was asked for. */
static uint32_t local_window(const struct ctl_device *device)
{
	const uint32_t asked = device->rcvbuf / 2;

	if (device->link != CTL_LINK_UDP || asked <= RXE_WINDOW_BYTES)
		return RXE_WINDOW_BYTES;
	return asked < RXE_WINDOW_LOCAL_BYTES ? asked : RXE_WINDOW_LOCAL_BYTES;
}

static struct rxe_offer offer_of(const struct ctl_profile *profile)
{
	struct rxe_offer ret = {
		.max_qp = profile->max_qp,
		.max_sge_rd = profile->max_sge_rd,
		.max_rd_atomic = profile->max_qp_rd_atom,
		.max_init_rd_atomic = profile->max_qp_init_rd_atom,
		.max_msg_size = profile->max_msg_sz,
		.max_mcast_grp = profile->max_mcast_grp,
		.max_mcast_qp = profile->max_mcast_qp_attach,
	};

	if (!profile->atomic_cap) {
		ret.refused_ops |=
			1u << RXE_WR_ATOMIC_CMP_AND_SWP | 1u << RXE_WR_ATOMIC_FETCH_AND_ADD;
		ret.refused_rights |= RXE_REMOTE_ATOMIC;
	}
	if (!profile->mem_mgt_extensions)
		ret.refused_ops |= 1u << RXE_WR_SEND_WITH_INV | 1u << RXE_WR_LOCAL_INV;
	if (!profile->flush) {
		ret.refused_ops |= 1u << RXE_WR_FLUSH;
		ret.refused_rights |= RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT;
	}
	if (!profile->atomic_write)
		ret.refused_ops |= 1u << RXE_WR_ATOMIC_WRITE;
	if (!profile->path_migration)
		ret.refused_attrs |= RXE_QP_ALT_PATH | RXE_QP_PATH_MIG_STATE;
	if (!profile->rate_limit)
		ret.refused_attrs |= RXE_QP_RATE_LIMIT;
	return ret;
}

void host_init_engine(struct progress *progress)
{
	struct ctl_shared *shared = progress->attachment->shared;
	struct rxe_engine_cfg cfg = {
		.ops = &host_ops,
		.host = progress,
		.mrs = &shared->mrs,
		.mws = { &shared->slot[0].mws, sizeof(struct ctl_slot) },
		.counters = &shared->slot[progress->attachment->slot].counters,
		.slot = progress->attachment->slot,
		.max_mtu = progress->info->max_mtu,
		.offer = offer_of(&progress->info->profile),
		.max_frame = progress->info->max_mtu + RAW_ETH_LEN + RAW_VLAN_LEN,
		.raw_is_bare = progress->info->link == CTL_LINK_ETHERNET,
		.ack_delay_ns = ack_delay_ns(progress),
		.local_window = local_window(progress->info),
		.probe_ns = PROBE_NS,
		.qpn_last = atomic_load(&shared->slot[progress->attachment->slot].qpn_roll),
		.qpn_key = shared->slot[progress->attachment->slot].qpn_key,
		.held = progress->held,
		.time_wait = &shared->slot[progress->attachment->slot].time_wait,
	};

	assert(progress->attachment->slot > 0 && progress->attachment->slot < RXE_MAX_SLOTS);
	assert(progress_is_locked(progress));
	memcpy(cfg.gids, progress->info->gids, sizeof(cfg.gids));
	cfg.num_tx_ports = link_tx_ports(progress->link.phy, cfg.tx_ports, RXE_MAX_TX_PORTS);
	watch_others(progress);
	if (progress->link.unkind)
		progress_unkind_layer(progress->link.unkind, progress->engine, &cfg,
				      host_about_to_store);
	rxe_engine_init(progress->engine, &cfg);
	progress->engine->completions_asked = progress->link.unkind;
	/* No generation of a table is odd. */
	progress->gids_at = 1;
	device_link_follow_gids(progress);
	device_link_follow_rules(&progress->link);
}
