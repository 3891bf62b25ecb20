/* SPDX-License-Identifier: MIT */
/* Counters of packets lost outside the engine: by the link, in the kernel's sockets, by fault rules
 * that could not be applied. The engine's counters (emu/counters.h) cover the packets that it sees,
 * and as send_err (rdma_rxe's name) those that the link could not send.
 *
 * A process counts its losses in its slot. The server adds what the kernel drops at a full receive
 * buffer, also for a stopped program (rxe_dm/server/lost.c). */
#ifndef RXE_CONTROL_LOST_H
#define RXE_CONTROL_LOST_H

#include <assert.h>
#include <stdint.h>

#define CTL_LOST(X)                                                                                 \
	X(link_recv_drops) /* packets or trains dropped at a full receive buffer */                 \
	X(foreign_drops) /* UDP: packets or trains of this host from a sender without permission */ \
	X(link_bad_frames) /* on an interface: frames to the device that are not valid RoCE v2 */   \
	X(fault_overflows) /* packets that a rule could not delay: too many are delayed already */  \
	X(fault_unanswered) /* requests that a rule could not answer: no NAK would be valid */      \
	X(port_down_drops)  /* while the port is down or its address is not in the GID table */

struct ctl_lost {
#define X(name) uint64_t name;
	CTL_LOST(X)
#undef X
};
static_assert(sizeof(struct ctl_lost) == 48, "shared memory layout");

#endif
