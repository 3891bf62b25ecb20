/* SPDX-License-Identifier: MIT */
/* Raw packet queue pairs (IBV_QPT_RAW_PACKET): a message is one Ethernet frame.
 *
 * Where the device has an interface of its own, frames travel as they are, in bare trains
 * (net/wire/train.h). Elsewhere the device is a private wire: each frame goes in a packet of our
 * own to every process of the device that has flows (WIRE_RAW in net/wire/opcode.h). Either way it
 * reaches every other raw queue pair of the device, and flow.h decides who receives it. Delivery is
 * unreliable: a frame without a receive is counted and dropped.
 *
 * A work queue (ibv_create_wq(3)) is the receiving half of a raw queue pair alone, in the states
 * RESET, RTR (ready) and ERR. An RSS queue pair has no queues: it delivers to work queues. */
#ifndef RXE_EMU_RAW_RAW_H
#define RXE_EMU_RAW_RAW_H

#include "emu/emit.h"

struct rxe_engine;
struct rxe_qp;
struct wire_arrival;
struct wire_packet;
struct wire_train;

enum output_result raw_output(struct rxe_engine *engine, struct rxe_qp *qp,
			      struct wire_train *train);
/* A packet of the private wire, parsed and with a good ICRC. */
void raw_input(struct rxe_engine *engine, const struct wire_packet *packet,
	       const struct wire_arrival *arrival);

#endif
