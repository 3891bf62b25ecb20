/* SPDX-License-Identifier: MIT */
/* Peers on this machine that are stopped, or that others keep from the processors: the engine asks
 * when the timer of a request has expired, so that nothing is done where all peers run. Those that
 * are found stopped are in the process's slot, for 'rxe_dm show'.
 * Under the engine lock. */
#ifndef RXE_PROGRESS_STOPPED_PEER_H
#define RXE_PROGRESS_STOPPED_PEER_H

#include <stdint.h>

#include "emu/host.h"

/* struct rxe_host_ops. Peers are also unknown with --stopped lose, and in another PID namespace
 * than the server's, where the numbers of processes mean nothing. */
enum rxe_peer_life stopped_peer_life(void *host, const struct rxe_qp *qp, uint64_t since_ns,
				     uint32_t *process);

#endif
