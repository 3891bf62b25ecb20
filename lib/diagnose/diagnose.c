// SPDX-License-Identifier: MIT
/* The entry: which kind of failure it is; and failures of the receiving half: a request that this
 * end refused, a receive that failed. */
#include "lib/diagnose/diagnose.h"

#include <inttypes.h>

#include "emu/cq.h"
#include "emu/mr.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"

static void say_receive(struct sentence *s, const struct rxe_qp *qp, enum rxe_wc_status status)
{
	say(s, "the receive with wr_id 0x%" PRIx64, qp->claim.wr_id);
	if (status == RXE_WC_LOC_LEN_ERR)
		say(s, " holds %u bytes, and the message is longer", qp->claim.len);
	else
		say(s, " names memory that it may not write to, or that is unmapped");
}

/* The operation, and with it the access right that it needs, is not recorded: a region that
 * lacks the right passes every other check. */
static void say_refused_key(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	const struct rc_responder *resp = &qp->rc.resp;
	const struct key_use use = { .key = resp->rkey,
				     .pd = rxe_qp_target_pd(qp),
				     .qpn = qp->qpn,
				     .addr = resp->va,
				     .len = resp->len };

	say(s, "rkey 0x%08x does not permit access to %u bytes at 0x%" PRIx64 ": ", resp->rkey,
	    resp->len, resp->va);
	if (key_permits(d, &use))
		say(s, "the %s without that access right, or its memory is unmapped",
		    rxe_mw_find(&d->shared->mrs, use.key) ? "memory window was bound"
							  : "region was registered");
	else
		say_key_refusal(s, d, &use);
}

/* The PSN is the one that this end expected. */
static void say_response(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	say(s, "refused the peer's request, PSN %u: ", qp->rc.reply.nak_psn);
	switch (qp->rc.reply.fault) {
	case RC_FAULT_KEY: say_refused_key(s, d, qp); return;
	case RC_FAULT_QP_RIGHTS:
		say(s, "this QP's access flags (0x%x) exclude the operation",
		    qp->attr.qp_access_flags);
		return;
	case RC_FAULT_RECV_SHORT: say_receive(s, qp, RXE_WC_LOC_LEN_ERR); return;
	case RC_FAULT_RECV_MEMORY: say_receive(s, qp, RXE_WC_LOC_PROT_ERR); return;
	case RC_FAULT_SEQUENCE:
		say(s, "FIRST, MIDDLE and LAST packets are not in sequence; packets of another or "
		       "an earlier connection may have reached this QP");
		return;
	case RC_FAULT_LENGTH:
		say(s,
		    "a packet's length contradicts its headers: check that both sides have the "
		    "same path MTU (here %u)",
		    qp->attr.path_mtu);
		return;
	case RC_FAULT_MISALIGNED: say(s, "the address of an atomic is not a multiple of 8"); return;
	case RC_FAULT_TOO_MANY:
		say(s, "more RDMA reads and atomics are outstanding than max_dest_rd_atomic (%u)",
		    qp->attr.max_dest_rd_atomic);
		return;
	case RC_FAULT_INVALIDATE: say(s, "the peer may not invalidate that key"); return;
	case RC_FAULT_XRC_SRQ:
		say(s, "this QP's XRC domain has no SRQ 0x%06x, or the SRQ's process has exited",
		    qp->rc.resp.srqn);
		return;
	case RC_FAULT_XRC_CQ:
		say(s, "the completion queue of SRQ 0x%06x overran", qp->rc.resp.srqn);
		return;
	case RC_FAULT_RECV_INJECTED:
	case RC_FAULT_NONE:
	case RC_FAULT_PSN_GAP:
	case RC_FAULT_DEFERRED:
	case RC_FAULT_RNR: break;
	}
	say(s, "the reason is unknown");
}

void diagnose_failure(char *ret, size_t size, const struct diagnosis *d, const struct rxe_qp *qp,
		      enum rxe_failed what, enum rxe_wc_status status)
{
	struct sentence s = { .text = ret, .size = size };

	ret[0] = '\0';
	if (qp->injected || (qp->claim.held && qp->claim.injected != RXE_WC_SUCCESS)) {
		say(&s, "a fault rule injected this error ('rxe_dm fault list')");
		return;
	}
	switch (what) {
	case RXE_FAILED_SEND: say_request(&s, d, qp, status); return;
	case RXE_FAILED_RECV: say_receive(&s, qp, status); return;
	case RXE_FAILED_RESPONSE: say_response(&s, d, qp); return;
	case RXE_FAILED_CQ:
		say(&s,
		    "its %scompletion queue overran: create a larger one, or poll it more often",
		    qp->type == RXE_QPT_WQ		  ? ""
		    : qp->send_cq && qp->send_cq->overrun ? "send "
							  : "receive ");
		return;
	}
}
