/* SPDX-License-Identifier: MIT */
/* Writing one packet into a train: space and headers first, then the caller's payload, then pad,
 * ICRC and counters. */
#ifndef RXE_EMU_EMIT_H
#define RXE_EMU_EMIT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/mr.h"
#include "emu/queue.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

struct rxe_engine;

/* What sending returns: one turn of a transport at a train, and one packet of it. */
enum output_result {
	/* Nothing to send now. */
	OUTPUT_IDLE,
	/* Packets were added or wait for credits; there may be more once this train is sent. */
	OUTPUT_ADDED,
	/* The next packet does not fit this train: send the train and ask again. */
	OUTPUT_TRAIN_FULL,
};

enum send_result {
	SEND_OK,
	SEND_TRAIN_FULL,
	/* The receiver's socket has no credits (pace.h). */
	SEND_NO_CREDITS,
	/* The payload's memory is not ready: try again after RXE_DEFER_NS. */
	SEND_DEFERRED,
	/* The payload cannot be read. */
	SEND_FAILED,
};

struct rxe_emit {
	struct wire_train *train;
	uint8_t *packet; /* the BTH */
	/* The caller fills packet->payload_len bytes. */
	uint8_t *payload;
	uint32_t len; /* BTH to pad */
	uint8_t pad;
	/* State of the train before this packet. */
	bool was_closed;
	uint16_t was_seg_len;
	uint32_t was_len;
};

/* Operations of a request's packets, by [enum rxe_wr_opcode][first packet][last packet]. */
extern const uint8_t rxe_wqe_ops[RXE_WR_OPCODES][2][2];

static inline enum wire_op rxe_wqe_op(const struct rxe_send_wqe *wqe, bool first, bool last)
{
	assert(wqe->opcode < RXE_WR_OPCODES);
	return (enum wire_op)rxe_wqe_ops[wqe->opcode][first][last];
}

/* The sending port for packets to the peer's socket: the same for all QPs, so that they share
 * trains. */
uint8_t rxe_tx_index(const struct rxe_engine *engine, const struct gid *dgid, uint32_t dest_qpn);

/* Whether the GID at sgid_index exists and is of the destination's address family. */
bool rxe_av_is_good(const struct rxe_engine *engine, const struct rxe_av *av);

/* Addresses an empty train. For a train with packets, returns whether a packet of this flow to
 * dest_qpn may join it. */
bool rxe_train_take(struct rxe_engine *engine, struct wire_train *train,
		    const struct icrc_flow *flow, uint8_t tx_index, const struct rxe_av *av,
		    uint32_t dest_qpn);

/* Reserves space and writes headers for a packet with payload_len bytes of payload. Sets bth.pad;
 * the caller sets the rest. False: the packet does not fit this train. */
bool rxe_emit_start(struct rxe_emit *ret, struct wire_train *train, struct wire_packet *packet);
/* Appends pad and ICRC to a complete payload, and counts the packet. */
void rxe_emit_finish(struct rxe_engine *engine, const struct rxe_emit *emit,
		     const struct icrc_flow *flow);
/* Finishes the packet when the access to its payload's memory ended with MR_OK; otherwise takes the
 * packet out of the train. */
enum send_result rxe_emit_end(struct rxe_engine *engine, const struct rxe_emit *emit,
			      const struct icrc_flow *flow, enum mr_check access);

#endif
