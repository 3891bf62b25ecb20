/* SPDX-License-Identifier: MIT */
/* Unreliable datagram (IBTA 9.8.3): each message is one packet and names its peer. */
#ifndef RXE_EMU_UD_H
#define RXE_EMU_UD_H

#include <stdint.h>

#include "emu/rc/rc.h"

struct wire_arrival;

/* Handles a packet for this QP, parsed and with a good ICRC. The program sees its addresses in the
 * GRH. */
void ud_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
	      const struct wire_arrival *arrival, uint64_t now_ns);
enum output_result ud_output(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train,
			     uint64_t now_ns);

#endif
