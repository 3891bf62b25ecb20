/* SPDX-License-Identifier: MIT */
/* Peers on another device of this machine that are stopped: stopped_peer.c asks where a peer is not
 * on the device of this process. Those that are found stopped are in the process's slot, for
 * 'rxe_dm show'. Under the engine lock. */
#ifndef RXE_PROGRESS_STOPPED_ELSEWHERE_H
#define RXE_PROGRESS_STOPPED_ELSEWHERE_H

#include <stdint.h>

#include "emu/host.h"

struct ctl_slot;

/* As rxe_host_ops.peer_life. own: the slot of this process. */
enum rxe_peer_life stopped_elsewhere_life(struct ctl_slot *own, const struct rxe_qp *qp,
					  uint64_t now_ns, uint32_t *process);

#endif
