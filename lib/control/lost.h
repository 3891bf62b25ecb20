/* SPDX-License-Identifier: MIT */
/* What was lost beside the engine, counted: by the link, by the kernel's sockets, by fault rules that could not be carried out. The
 * engine's own counters (emu/counters.h) are of packets that it saw; a person who looks for a lost packet needs both. (What the link
 * could not send stands there as send_err, which is rdma_rxe's name for it.)
 *
 * A process counts its own in its slot; what the kernel threw away only the server sees in time, as it does of a program that is
 * stopped (rxe_dm/server/lost.c). */
#ifndef RXE_CONTROL_LOST_H
#define RXE_CONTROL_LOST_H

#include <assert.h>
#include <stdint.h>

#define CTL_LOST(X)                                                                                \
	X(link_recv_drops)  /* packets or trains that found the receive buffer full */             \
	X(foreign_drops)    /* UDP: packets or trains of this host, of nobody who may send here */ \
	X(link_bad_frames)  /* on an interface: frames to us that are no sound RoCE v2 */          \
	X(fault_overflows)  /* packets that a rule wanted to wait, but too many did already */     \
	X(fault_unanswered) /* requests that a rule wanted answered, but no NAK could be true */   \
	X(port_down_drops)  /* packets while the port was down or its address not in the table */

struct ctl_lost {
#define X(name) uint64_t name;
	CTL_LOST(X)
#undef X
};
static_assert(sizeof(struct ctl_lost) == 48, "shared memory layout");

#endif
