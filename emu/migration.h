/* SPDX-License-Identifier: MIT */
/* Automatic path migration (IBTA 17.2.8): RC, UC and XRC queue pairs with a second path to the same
 * peer.
 *
 *   MIGRATED  no path is in reserve; packets carry MigReq.
 *   REARM     the program loaded an alternate path; packets do not carry MigReq. The peer's first
 *             packet without MigReq shows that the peer has done the same: ARMED.
 *   ARMED     the queue pair takes the alternate path when the program asks for it, when the
 *             retries on the primary path are exhausted, or when the peer does: a packet with
 *             MigReq comes by the alternate path. It is then MIGRATED.
 *
 * Called by the state table (qp_modify.c), by input and by the requester's retries. Packets between
 * the same two addresses are on different paths when they have different sending ports. */
#ifndef RXE_EMU_MIGRATION_H
#define RXE_EMU_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/icrc.h"

struct rxe_engine;
struct rxe_qp;
struct wire_arrival;
struct wire_packet;

/* Values of enum ibv_mig_state. */
enum rxe_mig_state {
	RXE_MIG_MIGRATED,
	RXE_MIG_REARM,
	RXE_MIG_ARMED,
};

struct rxe_migration {
	bool is_loaded;	 /* alt is the alternate path */
	bool has_before; /* before is the path that a migration left */
	bool refused;	 /* PATH_MIG_ERR was raised since the alternate path was loaded */
	uint8_t alt_tx_index;
	struct icrc_flow alt, before;
};

/* attr.alt_av is new. */
void rxe_migration_loaded(struct rxe_engine *engine, struct rxe_qp *qp);
/* Whether the program may set this state. loads: it loads an alternate path with it. */
bool rxe_migration_may_enter(const struct rxe_qp *qp, enum rxe_mig_state state, bool loads);
/* The program sets the state. */
void rxe_migration_enter(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_mig_state state);
/* The retries on the primary path are exhausted. False: there is no other path. */
bool rxe_migration_retries_exhausted(struct rxe_engine *engine, struct rxe_qp *qp);

/* Whether the packet came by a path of the connection: the primary one, the one that a migration
 * left, or the alternate one, as a request to migrate. Both addresses must be right: the QPN alone
 * does not identify the peer. */
bool rxe_migration_is_from_peer(const struct rxe_qp *qp, const struct wire_packet *packet,
				const struct wire_arrival *arrival);
/* A packet that is_from_peer() accepts is about to be handled. */
void rxe_migration_arrived(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct wire_packet *packet, const struct wire_arrival *arrival);
/* A packet that is_from_peer() does not accept: the peer may have migrated, and cannot be
 * followed. */
void rxe_migration_refused(struct rxe_engine *engine, struct rxe_qp *qp,
			   const struct wire_packet *packet, const struct wire_arrival *arrival);

#endif
