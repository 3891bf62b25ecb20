// SPDX-License-Identifier: MIT
/* Failures of the sending half: the oldest request ended with an error status. */
#include <inttypes.h>

#include "emu/limits.h"
#include "emu/queue.h"
#include "emu/rc/nak.h"
#include "emu/rc/requester.h"
#include "emu/sge.h"
#include "lib/control/shared.h"
#include "lib/diagnose/cause.h"
#include "net/link/fault/fault.h"
#include "net/wire/packet.h"

static const char *opcode_str(uint32_t opcode)
{
	switch ((enum rxe_wr_opcode)opcode) {
	case RXE_WR_RDMA_WRITE:
	case RXE_WR_RDMA_WRITE_WITH_IMM: return "RDMA write";
	case RXE_WR_SEND:
	case RXE_WR_SEND_WITH_IMM:
	case RXE_WR_SEND_WITH_INV: return "send";
	case RXE_WR_RDMA_READ: return "RDMA read";
	case RXE_WR_ATOMIC_CMP_AND_SWP:
	case RXE_WR_ATOMIC_FETCH_AND_ADD: return "atomic";
	case RXE_WR_FLUSH: return "RDMA flush";
	case RXE_WR_ATOMIC_WRITE: return "atomic write";
	case RXE_WR_LOCAL_INV: return "invalidation";
	case RXE_WR_BIND_MW: return "bind";
	}
	return "request";
}

static const struct rxe_send_wqe *head(const struct rxe_qp *qp)
{
	return rxe_ring_used(&qp->sq) > 0 ? rxe_ring_at(&qp->sq, qp->sq.head) : NULL;
}

static bool is_write(const struct rxe_send_wqe *wqe)
{
	return wqe->opcode == RXE_WR_RDMA_WRITE || wqe->opcode == RXE_WR_RDMA_WRITE_WITH_IMM;
}

/* "PSN 17", "PSN 17..20" */
static void say_psns(struct sentence *s, uint32_t first, uint32_t last)
{
	say(s, "PSN %u", first);
	if (psn_diff(last, first) > 0)
		say(s, "..%u", last);
}

static void say_times(struct sentence *s, uint32_t n)
{
	if (n == 1)
		say(s, " once");
	else
		say(s, " %u times", n);
}

static void say_retries(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;
	const uint32_t rule = rule_sending_nak(d, qp, RC_NAK_PSN_SEQUENCE);

	say(s, "sent ");
	say_psns(s, req->una_psn, psn_add(req->sent_psn, PSN_MASK));
	say_times(s, qp->attr.retry_cnt + 1u);
	if (rule) {
		say(s,
		    ", and fault rule %u answered with PSN sequence error NAKs ('rxe_dm fault "
		    "list')",
		    rule);
		return;
	}
	say(s, ", no answer: ");
	say_peer_silent(s, d, qp);
}

static void say_rnr(struct sentence *s, const struct rxe_qp *qp)
{
	say(s, "the peer answered PSN %u with an RNR NAK", qp->rc.req.una_psn);
	say_times(s, qp->attr.rnr_retry + 1u);
	say(s,
	    " (rnr_retry %u): it has no receive posted; post receives earlier, or set a larger "
	    "rnr_retry (7: no limit)",
	    qp->attr.rnr_retry);
}

static uint32_t remote_right(const struct rxe_send_wqe *wqe)
{
	if (rc_is_read(wqe))
		return RXE_REMOTE_READ;
	if (rc_is_flush(wqe))
		return rxe_flush_rights(&wqe->feth);
	return rc_is_atomic(wqe) ? RXE_REMOTE_ATOMIC : RXE_REMOTE_WRITE;
}

static void say_remote_access(struct sentence *s, const struct diagnosis *d,
			      const struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = head(qp);
	uint32_t len;

	say(s, "remote access NAK for PSN %u: ", qp->rc.req.una_psn);
	if (!wqe || !(rc_is_answered(wqe) || is_write(wqe))) {
		say(s, "the peer refused to invalidate the key of this request");
		return;
	}
	len = rc_is_flush(wqe) ? wqe->flush_len : wqe->len;
	say(s, "rkey 0x%08x does not permit an %s of %u bytes at 0x%" PRIx64, wqe->rkey,
	    opcode_str(wqe->opcode), len, wqe->remote_addr);
	if (peer_is_local(d, qp)) {
		const struct key_use use = { .key = wqe->rkey,
					     .pd = KEY_ANY_PD,
					     .rights = remote_right(wqe),
					     .qpn = qp->attr.dest_qp_num,
					     .addr = wqe->remote_addr,
					     .len = len };

		say(s, ": ");
		say_key_refusal(s, d, &use);
	}
}

/* What the peer itself recorded, if it is on this device: a NAK alone has several causes. */
static bool say_peer_report(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	const char *cause = peer_cause(d, qp);

	if (cause)
		say(s, "the peer reports: %.*s", (int)CTL_FAILURE_WHY - 1, cause);
	return cause != NULL;
}

static void say_invalid_request(struct sentence *s, const struct diagnosis *d,
				const struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = head(qp);

	say(s, "invalid request NAK for PSN %u: ", qp->rc.req.una_psn);
	if (wqe && (rc_is_atomic(wqe) || rc_is_atomic_write(wqe)) && (wqe->remote_addr & 7))
		say(s, "the address of an atomic, 0x%" PRIx64 ", is not a multiple of 8",
		    wqe->remote_addr);
	else if (say_peer_report(s, d, qp) || !wqe)
		return;
	else if (is_write(wqe) || rc_is_answered(wqe))
		say(s, "the peer's QP does not accept an %s (its access flags%s)",
		    opcode_str(wqe->opcode), is_write(wqe) ? "" : ", or max_dest_rd_atomic");
	else if (qp->type == RXE_QPT_XRC_SEND)
		say(s,
		    "the peer's receive is shorter than the %u bytes sent, or its XRC domain has "
		    "no SRQ 0x%06x, or the packet does not continue what the peer received before",
		    wqe->len, wqe->remote_qpn);
	else
		say(s,
		    "the peer's receive is shorter than the %u bytes sent, or the packet does not "
		    "continue what the peer received before",
		    wqe->len);
}

/* Finds the first scatter/gather entry of wqe whose key does not permit the access. */
static bool find_refused(const struct diagnosis *d, const struct rxe_send_wqe *wqe, uint32_t pd,
			 uint32_t rights, struct key_use *ret)
{
	const struct rxe_sge *sge = rxe_wqe_sges(wqe);

	for (uint32_t i = 0; i < wqe->num_sge && !(wqe->flags & RXE_SEND_INLINE); i++, sge++) {
		*ret = (struct key_use){ .key = sge->lkey,
					 .pd = pd,
					 .rights = rights,
					 .addr = sge->addr,
					 .len = sge->length };
		if (ret->len > 0 && !key_permits(d, ret))
			return true;
	}
	return false;
}

static void say_local_protection(struct sentence *s, const struct diagnosis *d,
				 const struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = head(qp);
	struct key_use use;
	uint32_t rights;

	if (!wqe)
		return;
	rights = rc_is_read(wqe) || rc_is_atomic(wqe) ? RXE_LOCAL_WRITE : 0;
	say(s, "local protection error of the %s with wr_id 0x%" PRIx64 ": ",
	    opcode_str(wqe->opcode), wqe->wr_id);
	if (find_refused(d, wqe, qp->pd, rights, &use)) {
		say(s, "lkey 0x%08x does not permit access to %" PRIu64 " bytes at 0x%" PRIx64 ": ",
		    use.key, use.len, use.addr);
		say_key_refusal(s, d, &use);
	} else {
		say(s, "the memory behind one of its keys is unmapped");
	}
}

static void say_operational(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp)
{
	say(s, "operational NAK for PSN %u: ", qp->rc.req.una_psn);
	if (!say_peer_report(s, d, qp))
		say(s, "the peer could not complete its own receive");
}

/* The AETH syndrome of the NAK that leads to a status; 0: no NAK does. */
static uint8_t syndrome_of(enum rxe_wc_status status)
{
	if (status == RXE_WC_REM_ACCESS_ERR)
		return RC_NAK_REMOTE_ACCESS;
	if (status == RXE_WC_REM_INV_REQ_ERR)
		return RC_NAK_INVALID_REQUEST;
	if (status == RXE_WC_REM_OP_ERR)
		return RC_NAK_REMOTE_OPERATIONAL;
	return status == RXE_WC_RNR_RETRY_EXC_ERR ? AETH_RNR_NAK : 0;
}

static bool is_of(const struct rxe_qp *qp, enum rxe_wr_opcode opcode)
{
	return head(qp) && head(qp)->opcode == opcode;
}

void say_request(struct sentence *s, const struct diagnosis *d, const struct rxe_qp *qp,
		 enum rxe_wc_status status)
{
	const uint8_t syndrome = syndrome_of(status);
	const uint32_t rule = syndrome ? rule_sending_nak(d, qp, syndrome) : 0;

	if (rule)
		say(s,
		    "fault rule %u sent the NAK for PSN %u in place of the peer ('rxe_dm fault "
		    "list')",
		    rule, qp->rc.req.una_psn);
	else if (status == RXE_WC_RETRY_EXC_ERR)
		say_retries(s, d, qp);
	else if (status == RXE_WC_RNR_RETRY_EXC_ERR)
		say_rnr(s, qp);
	else if (status == RXE_WC_REM_ACCESS_ERR)
		say_remote_access(s, d, qp);
	else if (status == RXE_WC_REM_INV_REQ_ERR)
		say_invalid_request(s, d, qp);
	else if (status == RXE_WC_LOC_PROT_ERR)
		say_local_protection(s, d, qp);
	else if (status == RXE_WC_REM_OP_ERR)
		say_operational(s, d, qp);
	else if (status == RXE_WC_BAD_RESP_ERR)
		say(s, "the answer to PSN %u does not fit the request", qp->rc.req.una_psn);
	else if (status == RXE_WC_LOC_LEN_ERR && head(qp))
		say(s, "its %u bytes are more than the port's MTU", head(qp)->len);
	else if (status == RXE_WC_MW_BIND_ERR && is_of(qp, RXE_WR_BIND_MW))
		say_bind(s, d, qp, head(qp));
	else if (status == RXE_WC_MW_BIND_ERR && is_of(qp, RXE_WR_LOCAL_INV))
		say_invalidation(s, d, head(qp));
	else if (status == RXE_WC_LOC_QP_OP_ERR)
		say(s, "an RDMA read or an atomic on a QP whose max_rd_atomic is 0");
	else
		say(s, "the request failed with status %u", status);
}
