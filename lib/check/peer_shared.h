/* SPDX-License-Identifier: MIT */
/* The ends of a connection as they are compared, and the end that another process of the device
 * has. */
#ifndef RXE_CHECK_PEER_SHARED_H
#define RXE_CHECK_PEER_SHARED_H

#include <stdbool.h>
#include <stdint.h>

struct check_qp;
struct check_stack;
union ibv_gid;

struct peer_end {
	char label[96];
	const struct check_stack *made; /* NULL: by another process */
	uint32_t type;			/* enum ibv_qp_type */
	uint32_t path_mtu;		/* bytes */
	uint32_t sq_psn, rq_psn;
	uint32_t max_rd_atomic, max_dest_rd_atomic;
	uint32_t access;      /* enum ibv_access_flags */
	bool sends, receives; /* reached RTS, RTR */
	/* The GID that it sends to is none of the device's, where its peer is; NULL: it is one. */
	const union ibv_gid *elsewhere;
};

/* The address of the device that has this queue pair is the one that it sends to. */
bool peer_shared_is_here(const struct check_qp *qp);
/* The peer of a queue pair in RTS, which is in RTS itself, connected to it and in another process.
 * False: there is none on this device. */
bool peer_shared_find(const struct check_qp *qp, struct peer_end *ret);

#endif
