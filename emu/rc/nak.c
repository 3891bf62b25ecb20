/* SPDX-License-Identifier: MIT */
/* Faults of requests as tables: the responder's side (IBTA 9.9.3, table 58) and the requester's
 * (IBTA 9.9.2.4, table 56). */
#include "emu/rc/nak.h"

#include <assert.h>

#define LIVES false
#define DIES  true

/* clang-format off */
static const struct rc_nak naks[] = {
	/* fault                    syndrome                   QP     event
	 * receive */
	[RC_FAULT_NONE]         = { AETH_ACK,                  LIVES, false, RXE_EVENT_QP_FATAL,       RXE_WC_SUCCESS },
	[RC_FAULT_PSN_GAP]      = { RC_NAK_PSN_SEQUENCE,       LIVES, false, RXE_EVENT_QP_FATAL,       RXE_WC_SUCCESS },
	[RC_FAULT_RNR]          = { AETH_RNR_NAK,              LIVES, false, RXE_EVENT_QP_FATAL,       RXE_WC_SUCCESS },
	[RC_FAULT_SEQUENCE]     = { RC_NAK_INVALID_REQUEST,    DIES,  true,  RXE_EVENT_QP_REQ_ERR,     RXE_WC_SUCCESS },
	[RC_FAULT_LENGTH]       = { RC_NAK_INVALID_REQUEST,    DIES,  true,  RXE_EVENT_QP_REQ_ERR,     RXE_WC_SUCCESS },
	[RC_FAULT_QP_RIGHTS]    = { RC_NAK_INVALID_REQUEST,    DIES,  true,  RXE_EVENT_QP_REQ_ERR,     RXE_WC_SUCCESS },
	[RC_FAULT_MISALIGNED]   = { RC_NAK_INVALID_REQUEST,    DIES,  true,  RXE_EVENT_QP_REQ_ERR,     RXE_WC_SUCCESS },
	[RC_FAULT_TOO_MANY]     = { RC_NAK_INVALID_REQUEST,    DIES,  true,  RXE_EVENT_QP_REQ_ERR,     RXE_WC_SUCCESS },
	[RC_FAULT_KEY]          = { RC_NAK_REMOTE_ACCESS,      DIES,  true,  RXE_EVENT_QP_ACCESS_ERR,  RXE_WC_LOC_ACCESS_ERR },
	[RC_FAULT_INVALIDATE]   = { RC_NAK_REMOTE_ACCESS,      DIES,  true,  RXE_EVENT_QP_ACCESS_ERR,  RXE_WC_REM_INV_REQ_ERR },
	[RC_FAULT_RECV_SHORT]   = { RC_NAK_INVALID_REQUEST,    DIES,  false, RXE_EVENT_QP_FATAL,       RXE_WC_LOC_LEN_ERR },
	[RC_FAULT_RECV_MEMORY]  = { RC_NAK_REMOTE_OPERATIONAL, DIES,  false, RXE_EVENT_QP_FATAL,       RXE_WC_LOC_PROT_ERR },
	[RC_FAULT_XRC_SRQ]      = { RC_NAK_INVALID_REQUEST,    DIES,  true,  RXE_EVENT_QP_REQ_ERR,     RXE_WC_SUCCESS },
	[RC_FAULT_XRC_CQ]       = { RC_NAK_REMOTE_OPERATIONAL, DIES,  true,  RXE_EVENT_QP_FATAL,       RXE_WC_SUCCESS },
	[RC_FAULT_DEFERRED]        = { AETH_RNR_NAK,              LIVES, false, RXE_EVENT_QP_FATAL,       RXE_WC_SUCCESS },
	[RC_FAULT_RECV_INJECTED]    = { RC_NAK_REMOTE_OPERATIONAL, DIES,  false, RXE_EVENT_QP_FATAL,       RXE_WC_GENERAL_ERR },
};
/* clang-format on */

const struct rc_nak *rc_nak_for(enum rc_fault fault)
{
	assert((size_t)fault < sizeof(naks) / sizeof(naks[0]));
	return &naks[fault];
}

enum rxe_wc_status rc_nak_status(uint8_t syndrome)
{
	if (syndrome == RC_NAK_INVALID_REQUEST)
		return RXE_WC_REM_INV_REQ_ERR;
	if (syndrome == RC_NAK_REMOTE_ACCESS)
		return RXE_WC_REM_ACCESS_ERR;
	if (syndrome == RC_NAK_REMOTE_OPERATIONAL)
		return RXE_WC_REM_OP_ERR;
	return RXE_WC_BAD_RESP_ERR;
}
