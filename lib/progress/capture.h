/* SPDX-License-Identifier: MIT */
/* Captures of this process's packets. Maps a packet to its queue pair and work request, for
 * captures, fault rules and reports of failures. The engine never asks, so speed does not matter.
 * Under the engine lock. */
#ifndef RXE_PROGRESS_CAPTURE_H
#define RXE_PROGRESS_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct progress;
struct recorder;
struct rxe_engine;
struct rxe_qp;
struct rxe_send_wqe;
struct tail;
struct tail_packet;

/* The RC or UC queue pair that is connected to qpn of the peer, or NULL. *place: index in the
 * engine's table where the search begins, 0 at first; becomes that of the queue pair found. */
struct rxe_qp *packet_qp_connected_to(const struct rxe_engine *engine, const struct gid *peer,
				      uint32_t qpn, uint32_t *place);
/* Copies the last packets of the queue pair from the tail, oldest first. Returns how many, up to
 * max. */
uint32_t packet_qp_tail(const struct rxe_qp *qp, struct tail *tail, struct tail_packet *ret,
			uint32_t max);

/* Opens the recorder of a capture with the descriptor of its rings, which stays open. NULL: its
 * memory cannot be mapped, and the log says so. */
struct recorder *capture_open(struct progress *progress, int fd);

#endif
