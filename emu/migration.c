/* SPDX-License-Identifier: MIT */
/* Automatic path migration: who may set which state, and what a change of path takes along. */
#include "emu/migration.h"

#include <assert.h>

#include "emu/complete.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

/* Networks choose among equal routes by the sending port, so another flow label takes another
 * port. */
void rxe_migration_loaded(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rxe_migration *migration = &qp->migration;
	const struct rxe_av *av = &qp->attr.alt_av;
	uint8_t tx_index = rxe_tx_index(engine, &av->dgid, qp->attr.dest_qp_num);

	assert(av->sgid_index < RXE_MAX_GIDS);
	if (tx_index == qp->tx_index && av->flow_label != qp->attr.av.flow_label)
		tx_index = (uint8_t)((tx_index + 1u) % engine->cfg.num_tx_ports);
	migration->alt_tx_index = tx_index;
	migration->alt = (struct icrc_flow){ .src = engine->cfg.gids[av->sgid_index],
					     .dst = av->dgid,
					     .src_port = engine->cfg.tx_ports[tx_index] };
	migration->is_loaded = true;
	migration->refused = false;
}

/* IBTA 17.2.8: the program arms again from any state, migrates an armed queue pair in RTS, and
 * never sets ARMED. */
bool rxe_migration_may_enter(const struct rxe_qp *qp, enum rxe_mig_state state, bool loads)
{
	switch (state) {
	case RXE_MIG_MIGRATED:
		return qp->state == RXE_QPS_RTS && qp->attr.path_mig_state == RXE_MIG_ARMED;
	case RXE_MIG_REARM: return loads || qp->migration.is_loaded;
	case RXE_MIG_ARMED: return false;
	}
	return false;
}

/* The alternate path becomes the primary one; both are the same until the program loads another.
 * An ACK that is delayed leaves at once: its record has the old addresses. */
static void migrate(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rxe_migration *migration = &qp->migration;
	struct rxe_qp_attr *attr = &qp->attr;

	assert(attr->path_mig_state == RXE_MIG_ARMED && migration->is_loaded);
	migration->before = qp->flow;
	migration->has_before = true;
	qp->flow = migration->alt;
	qp->tx_index = migration->alt_tx_index;
	attr->av = attr->alt_av;
	attr->has_grh = true;
	attr->pkey_index = attr->alt_pkey_index;
	attr->port_num = attr->alt_port_num;
	attr->timeout = attr->alt_timeout;
	attr->path_mig_state = RXE_MIG_MIGRATED;
	if (rxe_qp_is_reliable(qp))
		rc_requester_path_changed(engine, qp);
	rxe_qp_flush_delayed_ack(engine, qp);
	rxe_raise(engine, qp, RXE_EVENT_PATH_MIG);
}

void rxe_migration_enter(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_mig_state state)
{
	if (state == RXE_MIG_MIGRATED) {
		migrate(engine, qp);
		return;
	}
	assert(state == RXE_MIG_REARM && qp->migration.is_loaded);
	qp->attr.path_mig_state = state;
	qp->migration.has_before = false;
}

bool rxe_migration_retries_exhausted(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (qp->attr.path_mig_state != RXE_MIG_ARMED)
		return false;
	migrate(engine, qp);
	return true;
}

static bool came_by(const struct icrc_flow *path, const struct wire_arrival *arrival)
{
	return gid_equal(&arrival->src, &path->dst) && gid_equal(&arrival->dst, &path->src);
}

static bool is_request_to_migrate(const struct rxe_qp *qp, const struct wire_packet *packet,
				  const struct wire_arrival *arrival)
{
	return packet->bth.mig_req && qp->migration.is_loaded &&
	       came_by(&qp->migration.alt, arrival);
}

bool rxe_migration_is_from_peer(const struct rxe_qp *qp, const struct wire_packet *packet,
				const struct wire_arrival *arrival)
{
	const struct rxe_migration *migration = &qp->migration;

	return came_by(&qp->flow, arrival) ||
	       (migration->has_before && came_by(&migration->before, arrival)) ||
	       (qp->attr.path_mig_state == RXE_MIG_ARMED &&
		is_request_to_migrate(qp, packet, arrival));
}

void rxe_migration_arrived(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct wire_packet *packet, const struct wire_arrival *arrival)
{
	switch (qp->attr.path_mig_state) {
	case RXE_MIG_MIGRATED: return;
	case RXE_MIG_REARM:
		if (!packet->bth.mig_req && came_by(&qp->flow, arrival))
			qp->attr.path_mig_state = RXE_MIG_ARMED;
		return;
	case RXE_MIG_ARMED:
		if (is_request_to_migrate(qp, packet, arrival))
			migrate(engine, qp);
		return;
	}
}

void rxe_migration_refused(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct wire_packet *packet, const struct wire_arrival *arrival)
{
	if (qp->migration.refused || !is_request_to_migrate(qp, packet, arrival))
		return;
	qp->migration.refused = true;
	rxe_raise(engine, qp, RXE_EVENT_PATH_MIG_ERR);
}
