/* SPDX-License-Identifier: MIT */
/* Requests that were carried out before (IBTA 9.7.4.5, 9.7.5.1.3): answered again, done again never. */
#ifndef RXE_EMU_RC_RESPONDER_DUPLICATE_H
#define RXE_EMU_RC_RESPONDER_DUPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"

struct reth;
struct rxe_engine;
struct rxe_qp;
struct wire_packet;

/* A peer has half as many READs open; one of our requesters may ask for two neighbors as one when it goes back. */
#define RC_RECENT_READS (2 * RXE_MAX_RD_ATOMIC)

/* The last READs that were accepted: a duplicate is answered only for bytes that one of them asked for. */
struct rc_recent_reads {
	struct rc_recent_read {
		uint32_t psn; /* of the answer's first packet */
		uint32_t packets;
		uint32_t rkey;
		uint32_t len;
		uint64_t va;
	} at[RC_RECENT_READS];
	uint32_t count; /* free-running */
};

/* The results of the last atomics: as many as a peer may have open. */
struct rc_replay {
	struct {
		uint32_t psn;
		uint64_t orig;
	} saved[RXE_MAX_RD_ATOMIC];
	uint32_t count; /* free-running; the last RXE_MAX_RD_ATOMIC of them are there */
};

void rc_replay_reset(struct rc_replay *replay);
void rc_replay_save(struct rc_replay *replay, uint32_t psn, uint64_t orig);
/* What the atomic with that PSN found, if it is one of the last. */
bool rc_replay_find(const struct rc_replay *replay, uint32_t psn, uint64_t *ret_orig);
void rc_recent_reads_reset(struct rc_recent_reads *reads);
void rc_recent_reads_save(struct rc_recent_reads *reads, uint32_t psn, uint32_t packets,
			  const struct reth *reth);
/* Is each of the packets from psn on, with the bytes that reth asks for in it, a packet of a recent READ's answer? */
bool rc_recent_reads_cover(const struct rc_recent_reads *reads, uint32_t psn,
			   const struct reth *reth, uint32_t mtu);
/* A request from before the expected PSN. */
void rc_responder_duplicate(struct rxe_engine *engine, struct rxe_qp *qp,
			    const struct wire_packet *packet);

#endif
