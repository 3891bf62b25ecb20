/* SPDX-License-Identifier: MIT */
/* What the responder keeps. Pure.
 *
 * Requests that arrive after a missing one are held, and executed in the order of their PSNs once
 * the missing one has arrived. Nothing of a held request takes effect before. On the wire only the
 * ACK shows it: it covers more than the packet that was resent. The memory is the host's, one pool
 * for all queue pairs of the engine. Where it is used up, requests after a missing one are dropped,
 * as by a responder that holds none.
 *
 * Results of the last atomics, FLUSHes and ATOMIC WRITEs answer their duplicates. */
#ifndef RXE_EMU_RC_RESPONDER_HOLD_H
#define RXE_EMU_RC_RESPONDER_HOLD_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "net/wire/packet.h"

/* Most packets held: by one engine, and for one queue pair. */
#define RXE_HOLD_PACKETS 512u
#define RC_HOLD_MAX	 256u

struct rxe_held {
	struct wire_packet packet; /* its payload is the copy below */
	uint32_t next;		   /* number of the next one of the list, from 1; 0: none */
	uint8_t payload[WIRE_MAX_PAYLOAD];
};

/* Those of all queue pairs. Entries that were never used are never touched: their pages cost
 * nothing. */
struct rxe_hold {
	struct rxe_held *at;
	uint32_t size;
	uint32_t used; /* entries used since the start */
	uint32_t free; /* list of free ones among them */
};

/* Those of a queue pair, by PSN. */
struct rc_hold {
	uint32_t first, last; /* numbers, from 1; 0: none */
	uint32_t count;
};

/* Copies a request that is ahead of the expected one. It is dropped where the pool or the queue
 * pair's share is used up, and where a request of this PSN is held already. */
void rc_hold_add(struct rxe_hold *pool, struct rc_hold *hold, const struct wire_packet *packet);
/* The held request with the PSN that is expected now, NULL if that one is missing. Those before are
 * released. */
const struct wire_packet *rc_hold_at(struct rxe_hold *pool, struct rc_hold *hold, uint32_t psn);
/* PSN of the first held request; there must be one. */
uint32_t rc_hold_first_psn(const struct rxe_hold *pool, const struct rc_hold *hold);
/* Releases all. */
void rc_hold_clear(struct rxe_hold *pool, struct rc_hold *hold);

/* A request whose duplicates are answered without execution. */
enum rc_replay_kind {
	RC_REPLAY_ATOMIC,
	RC_REPLAY_EMPTY, /* FLUSH, ATOMIC WRITE: an empty READ response */
};

/* Results of the last of them: as many as a peer may have outstanding. */
struct rc_replay {
	uint32_t count; /* free-running; the last RXE_MAX_RD_ATOMIC are kept */
	uint32_t reserved;
	struct {
		uint32_t psn;
		uint32_t kind; /* enum rc_replay_kind */
		uint64_t orig;
	} saved[RXE_MAX_RD_ATOMIC]; /* not initialized */
};
static_assert(sizeof(struct rc_replay) == 8 + 16 * RXE_MAX_RD_ATOMIC, "shared memory layout");

void rc_replay_save(struct rc_replay *replay, enum rc_replay_kind kind, uint32_t psn,
		    uint64_t orig);
/* Copies the entries in use. */
void rc_replay_copy(struct rc_replay *to, const struct rc_replay *from);
/* Finds the result of the request of this kind and PSN among the last ones. */
bool rc_replay_find(const struct rc_replay *replay, enum rc_replay_kind kind, uint32_t psn,
		    uint64_t *ret_orig);
/* The kind of a request of SHAPE_ANSWERED that is no READ. */
enum rc_replay_kind rc_replay_kind(uint32_t shape);

#endif
