// SPDX-License-Identifier: MIT
/* Why did a queue pair fail? The completion's status says what the standard says; what stands beside it (budgets, PSNs, the keys of the
 * request, the peer's queue pair where it is of the same device) makes a sentence of it that a person can act on. Names QPs, PSNs,
 * keys and work requests. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/cq.h"
#include "emu/host.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/nak.h"
#include "emu/rc/requester.h"
#include "emu/rc/responder.h"
#include "emu/sge.h"
#include "lib/diagnose/failure.h"
#include "lib/diagnose/rules.h"
#include "lib/progress/progress.h"
#include "net/wire/gid.h"
#include "net/wire/packet.h"

/* A sentence that grows. */
struct sentence {
	char *text;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->text + s->len, s->size - s->len, format, args);
	va_end(args);
	s->len += n > 0 ? (size_t)n : 0;
	if (s->len >= s->size)
		s->len = s->size - 1;
}

static const char *request_str(uint32_t opcode)
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
	}
	return "request";
}

static const struct rxe_send_wqe *head(const struct rxe_qp *qp)
{
	return rxe_ring_used(&qp->sq) > 0 ? rxe_ring_at(&qp->sq, qp->sq.head) : NULL;
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

static const char *state_str(uint32_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static bool is_own_device(const struct progress *progress, const struct gid *gid)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (gid_equal(&progress->info->gids[i], gid))
			return true;
	}
	return false;
}

/* Stopped by a signal or a debugger: 'T' or 't', behind the name in brackets. */
static bool is_stopped(int32_t pid)
{
	char path[32], text[256] = "";
	const char *state;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	state = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	(void)fclose(f);
	return state && (state[2] == 'T' || state[2] == 't');
}

/* It has the queue pair, connected to ours. */
static void say_peer_there(struct sentence *s, const struct progress *progress,
			   const struct rxe_qp *qp, const struct ctl_slot *slot)
{
	const int32_t pid = atomic_load(&slot->pid);

	say(s, "%.15s (process %d) has the QP, but ", slot->comm, (int)pid);
	if (is_stopped(pid))
		say(s, "is stopped");
	else if (vb_rules_take_packets(progress, qp))
		say(s, "fault rules take packets away ('rxe_dm fault list')");
	else
		say(s, "got no processor for so long, or packets are lost ('rxe_dm show' counts "
		       "some)");
}

/* Only of this device we know who has which queue pair. */
static void say_peer_silent(struct sentence *s, const struct progress *progress,
			    const struct rxe_qp *qp)
{
	const uint32_t qpn = qp->attr.dest_qp_num;
	const struct ctl_slot *slot = &progress->attachment->shared->slot[qpn >> RXE_SLOT_SHIFT];
	const struct ctl_shared_qp *other = &slot->qp[qpn % RXE_MAX_QP];

	if (vb_silence(progress)) {
		say(s, "%s", vb_silence(progress));
		return;
	}
	if (!is_own_device(progress, &qp->flow.dst)) {
		say(s, "the peer has gone, its address is wrong, or UDP port 4791 is blocked");
		if (vb_rules_take_packets(progress, qp))
			say(s, "; or it is the fault rules here ('rxe_dm fault list')");
		return;
	}
	if (atomic_load(&slot->pid) == 0)
		say(s, "the program of QP 0x%06x has gone", qpn);
	else if (atomic_load(&other->qpn) != qpn)
		say(s, "%.15s (process %d) has no QP 0x%06x, or no longer", slot->comm,
		    (int)atomic_load(&slot->pid), qpn);
	else if (other->state < RXE_QPS_RTR || other->state == RXE_QPS_ERR)
		say(s, "QP 0x%06x of %.15s (process %d) is in state %s", qpn, slot->comm,
		    (int)atomic_load(&slot->pid), state_str(other->state));
	else if (other->dest_qpn != qp->qpn)
		say(s, "QP 0x%06x is connected to QP 0x%06x, not to this one", qpn,
		    other->dest_qpn);
	else
		say_peer_there(s, progress, qp, slot);
}

static void say_retries(struct sentence *s, const struct progress *progress,
			const struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;
	const uint32_t rule = vb_rule_that_answers(progress, qp, RC_NAK_PSN_SEQUENCE);

	say(s, "sent ");
	say_psns(s, req->una_psn, psn_add(req->sent_psn, PSN_MASK));
	say_times(s, qp->attr.retry_cnt + 1u);
	if (rule) {
		say(s, ", asked for again by NAKs of fault rule %u ('rxe_dm fault list')", rule);
		return;
	}
	say(s, ", no answer: ");
	say_peer_silent(s, progress, qp);
}

static void say_rnr(struct sentence *s, const struct rxe_qp *qp)
{
	say(s, "the peer had no receive posted for PSN %u, and said so", qp->rc.req.una_psn);
	say_times(s, qp->attr.rnr_retry + 1u);
	say(s,
	    " (rnr_retry %u): it must post receives sooner, or rnr_retry be larger (7: for ever)",
	    qp->attr.rnr_retry);
}

/* Keys of this device stand in a table that all can read. */
static const char *what_is_wrong(const struct progress *progress, uint32_t pd, bool any_pd,
				 uint32_t key, uint32_t rights, uint64_t addr, uint64_t len)
{
	const struct rxe_mr *mr = rxe_mr_find(&progress->attachment->shared->mrs, key);

	if (!mr)
		return "it is not, or no longer, registered";
	switch (rxe_mr_check(mr, any_pd ? mr->pd : pd, rights, addr, len)) {
	case MR_BAD_PD: return "it is of another protection domain";
	case MR_BAD_RIGHTS: return "the region was registered without that right";
	case MR_BAD_RANGE: return "that is outside of the region";
	case MR_BAD_KEY:
	case MR_FAULT:
	case MR_DEFERRED:
	case MR_OK: break;
	}
	return any_pd ? "it is of another protection domain, or its memory has gone"
		      : "its memory has gone";
}

static uint32_t remote_right(const struct rxe_send_wqe *wqe)
{
	if (rc_is_read(wqe))
		return RXE_REMOTE_READ;
	return rc_is_atomic(wqe) ? RXE_REMOTE_ATOMIC : RXE_REMOTE_WRITE;
}

static bool has_remote_address(const struct rxe_send_wqe *wqe)
{
	return rc_is_read(wqe) || rc_is_atomic(wqe) || wqe->opcode == RXE_WR_RDMA_WRITE ||
	       wqe->opcode == RXE_WR_RDMA_WRITE_WITH_IMM;
}

static void say_remote_access(struct sentence *s, const struct progress *progress,
			      const struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = head(qp);

	say(s, "remote access NAK for PSN %u", qp->rc.req.una_psn);
	if (!wqe || !has_remote_address(wqe)) {
		say(s, ": the peer did not let this request invalidate its key");
		return;
	}
	say(s, ": rkey 0x%08x does not open %u bytes at 0x%" PRIx64 " to an %s", wqe->rkey,
	    wqe->len, wqe->remote_addr, request_str(wqe->opcode));
	if (is_own_device(progress, &qp->flow.dst))
		say(s, ": %s",
		    what_is_wrong(progress, 0, true, wqe->rkey, remote_right(wqe), wqe->remote_addr,
				  wqe->len));
}

static void say_invalid_request(struct sentence *s, const struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = head(qp);

	say(s, "invalid request NAK for PSN %u: ", qp->rc.req.una_psn);
	if (!wqe)
		return;
	if (rc_is_atomic(wqe) && (wqe->remote_addr & 7))
		say(s, "an atomic at 0x%" PRIx64 ", which is no multiple of 8", wqe->remote_addr);
	else if (wqe->opcode == RXE_WR_RDMA_WRITE || rc_is_read(wqe) || rc_is_atomic(wqe))
		say(s, "the peer's QP does not take an %s (its access flags%s)",
		    request_str(wqe->opcode),
		    wqe->opcode == RXE_WR_RDMA_WRITE ? "" : ", or max_dest_rd_atomic");
	else if (wqe->opcode == RXE_WR_RDMA_WRITE_WITH_IMM)
		say(s, "the peer's QP does not take an RDMA write (its access flags)");
	else if (qp->type == RXE_QPT_XRC_SEND)
		say(s,
		    "its receive is shorter than the %u bytes sent, or it has no SRQ 0x%06x in its "
		    "XRC "
		    "domain",
		    wqe->len, wqe->remote_qpn);
	else
		say(s, "the peer's receive is shorter than the %u bytes sent", wqe->len);
}

static const struct rxe_sge *broken_sge(const struct progress *progress,
					const struct rxe_send_wqe *wqe, uint32_t pd,
					uint32_t rights, const char **ret_why)
{
	const struct rxe_sge *sges = rxe_wqe_sges(wqe);

	for (uint32_t i = 0; i < wqe->num_sge && !(wqe->flags & RXE_SEND_INLINE); i++) {
		const struct rxe_mr *mr =
			rxe_mr_find(&progress->attachment->shared->mrs, sges[i].lkey);

		if (sges[i].length == 0 ||
		    (mr && rxe_mr_check(mr, pd, rights, sges[i].addr, sges[i].length) == MR_OK))
			continue;
		*ret_why = what_is_wrong(progress, pd, false, sges[i].lkey, rights, sges[i].addr,
					 sges[i].length);
		return &sges[i];
	}
	return NULL;
}

static void say_local_protection(struct sentence *s, const struct progress *progress,
				 const struct rxe_qp *qp)
{
	const struct rxe_send_wqe *wqe = head(qp);
	const struct rxe_sge *sge;
	const char *why = "";

	if (!wqe)
		return;
	say(s, "local protection error of the %s with wr_id 0x%" PRIx64, request_str(wqe->opcode),
	    wqe->wr_id);
	sge = broken_sge(progress, wqe, qp->pd,
			 rc_is_read(wqe) || rc_is_atomic(wqe) ? RXE_LOCAL_WRITE : 0, &why);
	if (sge)
		say(s, ": lkey 0x%08x does not open %u bytes at 0x%" PRIx64 ": %s", sge->lkey,
		    sge->length, sge->addr, why);
	else
		say(s, ": the memory behind one of its keys has gone");
}

/* The newest of that QP's, of count that were written to at[0..places); NULL: there is none, or it has just been cleared. */
static const char *words_of(const struct ctl_failure *at, uint32_t places, uint32_t count,
			    uint32_t qpn)
{
	const uint32_t some = count < places ? count : places;

	for (uint32_t i = count; i != count - some; i--) {
		const struct ctl_failure *failure = &at[(i - 1) % places];

		if (failure->qpn == qpn && failure->why[0])
			return failure->why;
	}
	return NULL;
}

/* What the peer's process has written down of its end, if it is of this device. When it has gone the server keeps that, and clears
 * the slot only then. */
static const char *peers_own_words(const struct progress *progress, const struct rxe_qp *qp)
{
	const struct ctl_shared *shared = progress->attachment->shared;
	const uint32_t qpn = qp->attr.dest_qp_num;
	const struct ctl_slot_failures *own = &shared->slot[qpn >> RXE_SLOT_SHIFT].failures;
	const struct ctl_kept_failures *kept = &shared->failures;
	const char *words;

	if (!is_own_device(progress, &qp->flow.dst))
		return NULL;
	words = words_of(own->at, CTL_FAILURES_OF_SLOT, atomic_load(&own->count), qpn);
	return words ? words
		     : words_of(kept->at, CTL_FAILURES_KEPT, atomic_load(&kept->count), qpn);
}

static void say_operational(struct sentence *s, const struct progress *progress,
			    const struct rxe_qp *qp)
{
	const char *words = peers_own_words(progress, qp);

	say(s, "operational NAK for PSN %u: ", qp->rc.req.una_psn);
	if (words)
		say(s, "at the peer %.*s", (int)CTL_FAILURE_WHY - 1, words);
	else
		say(s, "the peer could not complete its own receive");
}

/* The NAK that a status comes from; 0: from none. */
static uint8_t syndrome_of(enum rxe_wc_status status)
{
	if (status == RXE_WC_REM_ACCESS_ERR)
		return RC_NAK_REMOTE_ACCESS;
	if (status == RXE_WC_REM_INV_REQ_ERR)
		return RC_NAK_INVALID_REQUEST;
	if (status == RXE_WC_REM_OP_ERR)
		return RC_NAK_REMOTE_OPERATIONAL;
	return status == RXE_WC_RNR_RETRY_EXC_ERR ? FAULT_SYNDROME_RNR : 0;
}

/* A rule that answers in the peer's place is the first to be suspected. */
static bool say_rule_that_answers(struct sentence *s, const struct progress *progress,
				  const struct rxe_qp *qp, enum rxe_wc_status status)
{
	const uint8_t syndrome = syndrome_of(status);
	const uint32_t rule = syndrome ? vb_rule_that_answers(progress, qp, syndrome) : 0;

	if (rule)
		say(s,
		    "the NAK for PSN %u is that of fault rule %u, which answered in the peer's "
		    "place ('rxe_dm fault list')",
		    qp->rc.req.una_psn, rule);
	return rule != 0;
}

static void say_send(struct sentence *s, const struct progress *progress, const struct rxe_qp *qp,
		     enum rxe_wc_status status)
{
	if (say_rule_that_answers(s, progress, qp, status))
		return;
	if (status == RXE_WC_RETRY_EXC_ERR)
		say_retries(s, progress, qp);
	else if (status == RXE_WC_RNR_RETRY_EXC_ERR)
		say_rnr(s, qp);
	else if (status == RXE_WC_REM_ACCESS_ERR)
		say_remote_access(s, progress, qp);
	else if (status == RXE_WC_REM_INV_REQ_ERR)
		say_invalid_request(s, qp);
	else if (status == RXE_WC_LOC_PROT_ERR)
		say_local_protection(s, progress, qp);
	else if (status == RXE_WC_REM_OP_ERR)
		say_operational(s, progress, qp);
	else if (status == RXE_WC_BAD_RESP_ERR)
		say(s, "the answer to PSN %u makes no sense for this request", qp->rc.req.una_psn);
	else if (status == RXE_WC_LOC_QP_OP_ERR)
		say(s, "a read or an atomic on a QP whose max_rd_atomic is 0");
	else
		say(s, "the request failed with status %u", status);
}

static void say_receive(struct sentence *s, const struct rxe_qp *qp, enum rxe_wc_status status)
{
	say(s, "the receive with wr_id 0x%" PRIx64, qp->claim.wr_id);
	if (status == RXE_WC_LOC_LEN_ERR)
		say(s, " has room for %u bytes, and the message is longer", qp->claim.len);
	else
		say(s, " names memory that it may not write to, or that has gone");
}

/* Which of the rights it asked for is not known any more: those that are wrong in every case are found. */
static void say_refused_key(struct sentence *s, const struct progress *progress,
			    const struct rxe_qp *qp)
{
	const struct rc_responder *resp = &qp->rc.resp;
	const struct rxe_mr *mr = rxe_mr_find(&progress->attachment->shared->mrs, resp->rkey);

	say(s, "its rkey 0x%08x does not open %u bytes at 0x%" PRIx64 " to it: ", resp->rkey,
	    resp->len, resp->va);
	if (mr && rxe_mr_check(mr, rxe_qp_target_pd(qp), 0, resp->va, resp->len) == MR_OK)
		say(s, "the region was registered without the right, or its memory has gone");
	else
		say(s, "%s",
		    what_is_wrong(progress, rxe_qp_target_pd(qp), false, resp->rkey, 0, resp->va,
				  resp->len));
}

/* The peer's request was refused. Its own PSN is the one that was expected. */
static void say_response(struct sentence *s, const struct progress *progress,
			 const struct rxe_qp *qp)
{
	say(s, "refused the peer's request, PSN %u: ", qp->rc.reply.nak_psn);
	switch (qp->rc.reply.fault) {
	case RC_FAULT_KEY: say_refused_key(s, progress, qp); return;
	case RC_FAULT_QP_RIGHTS:
		say(s, "this QP's access flags (0x%x) exclude the operation",
		    qp->attr.qp_access_flags);
		return;
	case RC_FAULT_RECV_SHORT:
	case RC_FAULT_RECV_MEMORY:
		say_receive(s, qp,
			    qp->rc.reply.fault == RC_FAULT_RECV_SHORT ? RXE_WC_LOC_LEN_ERR
								      : RXE_WC_LOC_PROT_ERR);
		return;
	case RC_FAULT_SEQUENCE:
		say(s, "FIRST, MIDDLE and LAST come in an impossible order");
		return;
	case RC_FAULT_LENGTH:
		say(s,
		    "it is longer or shorter than its headers say: do both sides have the same "
		    "path "
		    "MTU (here %u)?",
		    qp->attr.path_mtu);
		return;
	case RC_FAULT_MISALIGNED:
		say(s, "an atomic at an address that is no multiple of 8");
		return;
	case RC_FAULT_TOO_MANY:
		say(s, "more reads and atomics at a time than max_dest_rd_atomic (%u)",
		    qp->attr.max_dest_rd_atomic);
		return;
	case RC_FAULT_INVALIDATE: say(s, "the key it invalidates is not its to invalidate"); return;
	case RC_FAULT_XRC_SRQ:
		say(s, "this QP's XRC domain has no SRQ 0x%06x, or not its process any more",
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
	say(s, "its reason is not known");
}

void vb_failure_cause(char *ret, size_t size, const struct progress *progress,
		      const struct rxe_qp *qp, enum rxe_failed what, enum rxe_wc_status status)
{
	struct sentence s = { .text = ret, .size = size };

	ret[0] = '\0';
	if (qp->injected || (qp->claim.held && qp->claim.injected != RXE_WC_SUCCESS)) {
		say(&s, "a fault rule ended this completion in error ('rxe_dm fault list')");
		return;
	}
	switch (what) {
	case RXE_FAILED_SEND: say_send(&s, progress, qp, status); return;
	case RXE_FAILED_RECV: say_receive(&s, qp, status); return;
	case RXE_FAILED_RESPONSE: say_response(&s, progress, qp); return;
	case RXE_FAILED_CQ:
		say(&s,
		    "its %s completion queue overran: it is too small, or not polled often enough",
		    qp->send_cq && qp->send_cq->overrun ? "send" : "receive");
		return;
	}
}
