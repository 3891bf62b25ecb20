/* SPDX-License-Identifier: MIT */
/* Unreliable datagram (IBTA 9.8.3): each message is one packet and names its peer, or a multicast
 * group. */
#ifndef RXE_EMU_UD_H
#define RXE_EMU_UD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/emit.h"
#include "emu/limits.h"
#include "net/wire/gid.h"

struct wire_arrival;
struct rxe_engine;
struct rxe_qp;

/* Handles a packet for this QP, parsed and with a good ICRC. The program sees its addresses in the
 * GRH. */
void ud_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
	      const struct wire_arrival *arrival);
enum output_result ud_output(struct rxe_engine *engine, struct rxe_qp *qp,
			     struct wire_train *train);

/* Multicast groups of one engine: the UD QPs that receive a datagram to a group GID (IBTA 10.5). */

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
