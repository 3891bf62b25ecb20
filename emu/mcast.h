/* SPDX-License-Identifier: MIT */
/* Multicast groups of one engine: the UD QPs that receive a datagram to a group GID (IBTA 10.5). */
#ifndef RXE_EMU_MCAST_H
#define RXE_EMU_MCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/limits.h"
#include "net/wire/gid.h"

struct rxe_engine;
struct rxe_qp;

struct rxe_mcast_group {
	struct gid gid;
	uint32_t num_qps; /* 0: free */
	struct rxe_qp *qp[RXE_MAX_MCAST_QP];
};

struct rxe_mcast {
	struct rxe_mcast_group group[RXE_MAX_MCAST_GRP];
};

enum mcast_result {
	MCAST_OK,
	/* attach: the group is new, the host joins it; detach: it is empty, the host leaves it. */
	MCAST_FIRST,
	MCAST_NOT_UD,
	MCAST_NOT_GROUP, /* not a multicast GID */
	MCAST_FULL,
	MCAST_NOT_ATTACHED,
};

enum mcast_result rxe_mcast_attach(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct gid *gid);
enum mcast_result rxe_mcast_detach(struct rxe_engine *engine, struct rxe_qp *qp,
				   const struct gid *gid);
/* NULL when no QP is attached to the group. */
const struct rxe_mcast_group *rxe_mcast_find(const struct rxe_engine *engine,
					     const struct gid *gid);
/* Whether the QP is in any group: ibv_destroy_qp returns EBUSY then. */
bool rxe_mcast_is_attached(const struct rxe_engine *engine, const struct rxe_qp *qp);
/* Removes a QP that is being destroyed from every group. */
void rxe_mcast_forget(struct rxe_engine *engine, const struct rxe_qp *qp);

#endif
