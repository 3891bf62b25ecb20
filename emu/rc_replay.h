/* SPDX-License-Identifier: MIT */
/* Requests that were carried out before (IBTA 9.7.4.5, 9.7.5.1.3): answered again, done again never. */
#ifndef RXE_EMU_RC_REPLAY_H
#define RXE_EMU_RC_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"

struct rxe_engine;
struct rxe_qp;
struct wire_packet;

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
/* A request from before the expected PSN. */
void rc_replay_request(struct rxe_engine *engine, struct rxe_qp *qp,
		       const struct wire_packet *packet);

#endif
