/* SPDX-License-Identifier: MIT */
/* The attributes that a move of a queue pair requires (IBTA 11.2.4.2, ibv_modify_qp(3)), for tests
 * that connect queue pairs. Written independently of emu/qp_modify.c. */
#ifndef TESTS_QP_REQUIRED_H
#define TESTS_QP_REQUIRED_H

#include <stdint.h>

#include "emu/qp.h"

/* The mask of a move to a state from the one before it: exactly what it requires. */
static inline uint32_t qp_required(enum rxe_qp_type type, enum rxe_qp_state to)
{
	uint32_t mask = RXE_QP_STATE;

	if (type == RXE_QPT_RAW)
		return to == RXE_QPS_INIT ? mask | RXE_QP_PORT : mask;
	if (to == RXE_QPS_INIT)
		return mask | RXE_QP_PKEY_INDEX | RXE_QP_PORT |
		       (type == RXE_QPT_UD ? RXE_QP_QKEY : RXE_QP_ACCESS_FLAGS);
	if (to == RXE_QPS_RTR && type != RXE_QPT_UD)
		mask |= RXE_QP_AV | RXE_QP_PATH_MTU | RXE_QP_DEST_QPN | RXE_QP_RQ_PSN;
	if (to == RXE_QPS_RTR && (type == RXE_QPT_RC || type == RXE_QPT_XRC_RECV))
		mask |= RXE_QP_MAX_DEST_RD_ATOMIC | RXE_QP_MIN_RNR_TIMER;
	if (to == RXE_QPS_RTS)
		mask |= RXE_QP_SQ_PSN;
	if (to == RXE_QPS_RTS && type == RXE_QPT_XRC_RECV)
		mask |= RXE_QP_TIMEOUT;
	if (to == RXE_QPS_RTS && (type == RXE_QPT_RC || type == RXE_QPT_XRC_SEND))
		mask |= RXE_QP_TIMEOUT | RXE_QP_RETRY_CNT | RXE_QP_RNR_RETRY |
			RXE_QP_MAX_QP_RD_ATOMIC;
	return mask;
}

#endif
