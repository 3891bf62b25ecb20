/* SPDX-License-Identifier: MIT */
/* Requests that were executed before (IBTA 9.7.4.5, 9.7.5.1.3): answered again, never executed
 * again. */
#ifndef RXE_EMU_RC_RESPONDER_DUPLICATE_H
#define RXE_EMU_RC_RESPONDER_DUPLICATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"

struct reth;
struct rxe_engine;
struct rxe_qp;
struct wire_packet;

/* A peer has at most half as many READs outstanding. A requester of ours may merge two adjacent
 * ones when it resends. */
#define RC_RECENT_READS (2 * RXE_MAX_RD_ATOMIC)

/* The last READs accepted. A duplicate READ is answered only for bytes that one of them
 * requested. */
struct rc_recent_reads {
	uint32_t count; /* free-running */
	struct rc_recent_read {
		uint32_t psn; /* of the first response packet */
		uint32_t packets;
		uint32_t rkey;
		uint32_t len;
		uint64_t va;
	} at[RC_RECENT_READS]; /* not initialized */
};

void rc_recent_reads_save(struct rc_recent_reads *reads, uint32_t psn, uint32_t packets,
			  const struct reth *reth);
/* Handles a request before the expected PSN. */
void rc_responder_duplicate(struct rxe_engine *engine, struct rxe_qp *qp,
			    const struct wire_packet *packet);

#endif
