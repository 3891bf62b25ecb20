/* SPDX-License-Identifier: MIT */
/* The requester sends (IBTA 9.7.2 to 9.7.3.5). A request gets its PSNs when its first packet is
 * made: one for each packet, for a READ one for each packet of the response. Every packet can be
 * made again from its PSN alone, so a rewind only moves cur.
 *
 * AckReq is set on the last packet of each message. Inside a message it is set at the end of a
 * train or of the window, once 16 KiB (or half of the loss window) were sent without it or no
 * response is on its way. A QP that stops at a full window with no response on its way sends one
 * more packet, with AckReq: the response lets it continue.
 *
 * An unsignalled request of one packet to a process of this device goes without AckReq, up to 7 in
 * a row: the ACK would wake a process that does not wait for it. The peer records what it has
 * received, so the requests are acknowledged although its process is killed. A signalled request
 * after them asks, as do a drain and a signalled local operation; a change to ERR reads the
 * record. Else a probe asks after a while. */
#include "emu/rc/requester.h"

#include <assert.h>

#include "emu/complete.h"
#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/pace.h"
#include "emu/peer.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/rc/requester_retry.h"
#include "emu/rc/time_wait.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"

/* Most PSNs without a response. With more, an old PSN could be taken for a new one (IBTA 9.7.1). */
#define MAX_PSNS_OPEN 0x7fffff

/* A train costs a system call on each side, whatever it holds. While GATHER_BEHIND packets are in
 * flight, requests of up to GATHER_BYTES wait until they are as many as those in flight, at least
 * GATHER_MIN and at most GATHER_MAX, and leave together. So trains grow with the depth of the
 * queue, and at least one train is under way while the next one gathers. */
#define GATHER_BEHIND 8
#define GATHER_MIN    16
#define GATHER_MAX    48
#define GATHER_BYTES  512

void rc_requester_start(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;

	assert(req->in_flight == 0);
	*req = (struct rc_requester){
		.una_psn = qp->attr.sq_psn,
		.cur_psn = qp->attr.sq_psn,
		.sent_psn = qp->attr.sq_psn,
		.recover_psn = qp->attr.sq_psn,
		.part_psn = qp->attr.sq_psn,
		.asked_psn = psn_add(qp->attr.sq_psn, PSN_MASK),
		.cur = qp->sq.head,
		.peer = rxe_peer_of(engine, qp),
		.is_recorded = qp->type == RXE_QPT_RC && rxe_time_wait_of_peer(engine, qp),
	};
	rc_window_reset(&req->window, req->peer->is_local);
}

/* PSN order, see struct rc_requester. */
static void assert_order(const struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;

	assert(psn_diff(req->cur_psn, req->una_psn) >= 0);
	assert(psn_diff(req->sent_psn, req->cur_psn) >= 0);
	assert(psn_diff(qp->attr.sq_psn, req->sent_psn) >= 0);
	assert(req->since_ack_req <= req->in_flight);
}

/* The peer's entry may have been reassigned and its count restarted: never subtract below 0. */
static void give_back(struct rc_requester *req, uint32_t cost)
{
	assert(req->in_flight >= cost);
	req->in_flight -= cost;
	if (req->since_ack_req > req->in_flight)
		req->since_ack_req = req->in_flight;
	req->peer->in_flight -= req->peer->in_flight < cost ? req->peer->in_flight : cost;
}

void rc_requester_stop(struct rxe_qp *qp)
{
	if (qp->rc.req.peer)
		give_back(&qp->rc.req, qp->rc.req.in_flight);
}

struct rxe_send_wqe *rc_requester_head(const struct rxe_qp *qp)
{
	struct rxe_send_wqe *wqe;

	if (rxe_ring_used(&qp->sq) == 0)
		return NULL;
	wqe = rxe_ring_at(&qp->sq, qp->sq.head);
	return wqe->started && !rxe_wqe_is_local(wqe) ? wqe : NULL;
}

bool rc_requester_is_idle(const struct rxe_qp *qp)
{
	return qp->rc.req.una_psn == qp->rc.req.cur_psn;
}

enum rc_outstanding rc_requester_outstanding(const struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;

	if (rc_requester_is_idle(qp))
		return RC_OUTSTANDING_NONE;
	return psn_diff(req->asked_psn, req->una_psn) >= 0 ? RC_OUTSTANDING_ASKED
							   : RC_OUTSTANDING_UNASKED;
}

bool rc_requester_has_output(const struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;

	/* In SQD the last ACK drains the queue. */
	return req->cur != qp->sq.tail || qp->state == RXE_QPS_SQD || req->probe == RC_PROBE_DUE ||
	       rc_arrived_wants(&req->arrived);
}

void rc_requester_ask(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (rc_requester_outstanding(qp) != RC_OUTSTANDING_UNASKED ||
	    qp->rc.req.probe != RC_PROBE_NONE)
		return;
	rc_requester_probe(engine, qp);
	rc_retry_sent(&qp->rc.retry, &qp->attr, RC_OUTSTANDING_ASKED, engine->now_ns);
}

void rc_requester_path_changed(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;
	const uint32_t cost = req->in_flight;

	if (!req->peer)
		return;
	req->peer->in_flight -= req->peer->in_flight < cost ? req->peer->in_flight : cost;
	req->peer = rxe_peer_of(engine, qp);
	req->peer->in_flight += cost;
	rc_rtt_forget(&req->rtt);
}

static uint32_t clamp(uint32_t n, uint32_t min, uint32_t max)
{
	return n < min ? min : n > max ? max : n;
}

/* Not inside a message: its last packet carries AckReq and was not sent yet. */
bool rc_requester_gathers(const struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;
	const uint32_t in_flight = (uint32_t)psn_diff(req->cur_psn, req->una_psn);
	const struct rxe_send_wqe *newest = rxe_ring_at(&qp->sq, qp->sq.tail - 1);
	const struct rxe_send_wqe *oldest = rxe_ring_at(&qp->sq, req->cur);
	bool between = !oldest->started || oldest->psn_first == req->cur_psn;

	return qp->state == RXE_QPS_RTS && between && in_flight >= GATHER_BEHIND &&
	       newest->len <= GATHER_BYTES &&
	       qp->sq.tail - req->cur < clamp(in_flight, GATHER_MIN, GATHER_MAX);
}

/* Bytes of the message before psn. */
static uint32_t offset_at(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t psn)
{
	uint32_t offset = (uint32_t)psn_diff(psn, wqe->psn_first) * qp->attr.path_mtu;

	return offset < wqe->len ? offset : wqe->len;
}

/* Window cost of packets [from, to] of a request: its own, for a READ those of the response. */
static uint32_t cost_of(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t from,
			uint32_t to)
{
	uint32_t bytes = offset_at(qp, wqe, psn_add(to, 1)) - offset_at(qp, wqe, from);

	return bytes + ((uint32_t)psn_diff(to, from) + 1) * RC_PACKET_COST;
}

static uint32_t packets_in_flight(const struct rc_requester *req)
{
	return (uint32_t)psn_diff(req->cur_psn, req->una_psn);
}

/* Last PSN of the READ request that begins at psn. Two requests fit the window unless that is very
 * small. Parts end at multiples of a power of two, so that a smaller part, when resent, never
 * spans two of the old parts. */
static uint32_t read_end(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t psn)
{
	uint32_t per_request = RC_READ_BYTES / qp->attr.path_mtu;
	uint32_t index = (uint32_t)psn_diff(psn, wqe->psn_first);
	uint32_t end;

	assert(psn_diff(psn, wqe->psn_first) >= 0 && psn_diff(wqe->psn_last, psn) >= 0);
	while (per_request > RC_READ_PACKETS && per_request > qp->rc.req.window.packets / 2)
		per_request /= 2;
	end = psn_add(wqe->psn_first, (index | (per_request - 1)));
	return psn_diff(end, wqe->psn_last) < 0 ? end : wqe->psn_last;
}

void rc_requester_rewind(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;

	give_back(req, req->in_flight);
	req->rd_atomic = 0;
	req->cur = qp->sq.head;
	req->cur_psn = req->una_psn;
	req->from = (struct rxe_cursor){ 0 };
	req->asked_psn = psn_add(req->una_psn, PSN_MASK);
	req->probe = RC_PROBE_NONE;
	rc_arrived_reset(&req->arrived);
	rc_rtt_forget(&req->rtt);
	assert_order(qp);
	rxe_qp_set_ready(engine, qp);
}

void rc_requester_loss_detected(struct rxe_engine *engine, struct rxe_qp *qp)
{
	rc_window_lost(&qp->rc.req.window);
	rc_requester_rewind(engine, qp);
}

void rc_requester_probe(struct rxe_engine *engine, struct rxe_qp *qp)
{
	if (rc_requester_is_idle(qp))
		return;
	qp->rc.req.probe = RC_PROBE_DUE;
	rc_rtt_forget(&qp->rc.req.rtt);
	rxe_qp_set_ready(engine, qp);
}

/* Everything up to psn is acknowledged: its READs and atomics are done. */
static void count_answered(struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t psn)
{
	struct rc_requester *req = &qp->rc.req;

	rc_window_acknowledged(&req->window, packets_in_flight(req),
			       (uint32_t)psn_diff(psn, req->una_psn) + 1);
	give_back(req, cost_of(qp, wqe, req->una_psn, psn));
	while (req->rd_atomic > 0 &&
	       psn_diff(psn, req->rd_end[req->rd_first % RXE_MAX_RD_ATOMIC]) >= 0) {
		req->rd_first++;
		req->rd_atomic--;
	}
}

/* Completes the local operations that were executed and have become the oldest. After a rewind cur
 * may not have passed them yet. */
static void retire_local(struct rxe_engine *engine, struct rxe_qp *qp)
{
	while (rxe_ring_used(&qp->sq) > 0) {
		const struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, qp->sq.head);

		if (!rxe_wqe_is_local(wqe) || wqe->started != RXE_WQE_DONE)
			return;
		if (qp->rc.req.cur == qp->sq.head)
			qp->rc.req.cur++;
		rxe_complete_send(engine, qp, RXE_WC_SUCCESS);
	}
}

/* A response to an earlier transmission may come after a rewind: cur must not stay below una. */
void rc_requester_advance(struct rxe_engine *engine, struct rxe_qp *qp, uint32_t psn)
{
	struct rc_requester *req = &qp->rc.req;
	struct rxe_send_wqe *wqe = rc_requester_head(qp);
	bool behind = psn_diff(req->cur_psn, psn) <= 0;
	const uint32_t was = req->una_psn;

	assert(wqe && psn_diff(psn, req->una_psn) >= 0 && psn_diff(wqe->psn_last, psn) >= 0);
	if (!behind)
		count_answered(qp, wqe, psn);
	req->una_psn = psn_add(psn, 1);
	rc_arrived_passed(&req->arrived, was, req->una_psn);
	req->probe = RC_PROBE_NONE;
	if (psn == wqe->psn_last) {
		rxe_complete_send(engine, qp, RXE_WC_SUCCESS);
		retire_local(engine, qp);
		if (qp->state == RXE_QPS_ERR)
			return;
		req->into = (struct rxe_cursor){ 0 };
	}
	if (behind)
		rc_requester_rewind(engine, qp);
}

void rc_requester_check_broken(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;

	if (req->is_broken && req->broken_index == qp->sq.head)
		rxe_qp_fail(engine, qp, req->broken_status);
}

static void break_at_cur(struct rxe_engine *engine, struct rxe_qp *qp, enum rxe_wc_status status)
{
	qp->rc.req.is_broken = true;
	qp->rc.req.broken_index = qp->rc.req.cur;
	qp->rc.req.broken_status = status;
	rc_requester_check_broken(engine, qp);
}

/* Whether a request without PSNs may begin. */
static bool may_begin(struct rxe_engine *engine, struct rxe_qp *qp, const struct rxe_send_wqe *wqe)
{
	const struct rc_requester *req = &qp->rc.req;
	uint32_t packets = rc_packets(wqe->len, qp->attr.path_mtu);

	if (qp->state == RXE_QPS_SQD) {
		if (req->una_psn == qp->attr.sq_psn)
			rxe_qp_drained(engine, qp);
		return false;
	}
	if ((wqe->flags & RXE_SEND_FENCE) && req->rd_atomic > 0)
		return false;
	return (uint32_t)psn_diff(qp->attr.sq_psn, req->una_psn) + packets <= MAX_PSNS_OPEN;
}

bool rc_requester_is_long(const struct rxe_qp *qp)
{
	const uint32_t cur = qp->rc.req.cur;

	return cur != qp->sq.tail &&
	       ((const struct rxe_send_wqe *)rxe_ring_at(&qp->sq, cur))->len > qp->attr.path_mtu;
}

static void begin(struct rxe_qp *qp, struct rxe_send_wqe *wqe)
{
	uint32_t packets = rc_packets(wqe->len, qp->attr.path_mtu);

	assert(!wqe->started);
	wqe->psn_first = qp->attr.sq_psn;
	wqe->psn_last = psn_add(wqe->psn_first, packets - 1);
	wqe->started = RXE_WQE_STARTED;
	qp->attr.sq_psn = psn_add(wqe->psn_first, packets);
}

/* Executes the local operations at cur. They take effect in the order of the send queue (IBTA
 * 10.8.3.3): after what was sent before, ahead of what follows; with a fence, also after all
 * earlier READs and atomics. A rewind passes them by. False: one must wait or has failed. */
static bool pass_local(struct rxe_engine *engine, struct rxe_qp *qp)
{
	struct rc_requester *req = &qp->rc.req;

	while (req->cur != qp->sq.tail) {
		struct rxe_send_wqe *wqe = rxe_ring_at(&qp->sq, req->cur);
		enum rxe_local_result result = LOCAL_DONE;

		if (!rxe_wqe_is_local(wqe) || (req->is_broken && req->cur == req->broken_index))
			return true;
		if (!wqe->started && !may_begin(engine, qp, wqe))
			return false;
		if (wqe->started != RXE_WQE_DONE)
			result = rxe_mw_execute(engine, qp, wqe);
		if (result == LOCAL_WAIT)
			rc_retry_send_deferred(&qp->rc.retry, &qp->attr,
					       engine->now_ns + engine->defer_ns);
		else if (result == LOCAL_FAILED)
			break_at_cur(engine, qp, rxe_wqe_failed_status(wqe));
		if (result != LOCAL_DONE)
			return false;
		if (req->cur == qp->sq.head) {
			retire_local(engine, qp);
		} else {
			req->cur++;
			/* It completes after what was sent before. */
			if (wqe->flags & RXE_SEND_SIGNALED)
				rc_requester_ask(engine, qp);
		}
		if (qp->state == RXE_QPS_ERR)
			return false;
	}
	return true;
}

/* The request that the next packet belongs to; NULL when none may be sent. A fenced request begins
 * once all requests before it that need a response are done, and a rewind never resends what is
 * done, so resending needs no fence. */
static struct rxe_send_wqe *next(struct rxe_engine *engine, struct rxe_qp *qp)
{
	const struct rc_requester *req = &qp->rc.req;
	struct rxe_send_wqe *wqe;

	if (!pass_local(engine, qp))
		return NULL;
	wqe = rxe_ring_at(&qp->sq, req->cur);
	if (req->cur == qp->sq.tail) {
		if (qp->state == RXE_QPS_SQD && req->una_psn == qp->attr.sq_psn)
			rxe_qp_drained(engine, qp);
		return NULL;
	}
	if (req->is_broken && req->cur == req->broken_index)
		return NULL;
	if (rc_is_answered(wqe) && qp->attr.max_rd_atomic == 0) {
		break_at_cur(engine, qp, RXE_WC_LOC_QP_OP_ERR);
		return NULL;
	}
	if (!wqe->started) {
		if (!may_begin(engine, qp, wqe))
			return NULL;
		begin(qp, wqe);
	}
	assert(!(wqe->flags & RXE_SEND_FENCE) || req->rd_atomic == 0 ||
	       req->cur_psn != wqe->psn_first);
	return wqe;
}

/* Last PSN that the next packet of the request stands for. */
static uint32_t last_psn_of_packet(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe)
{
	uint32_t psn = qp->rc.req.cur_psn;

	return rc_is_read(wqe) ? read_end(qp, wqe, psn) : psn;
}

/* When no response is on its way one packet may always be sent: it carries AckReq, and its
 * response reopens the window. */
static bool window_has_room(const struct rc_requester *req, uint32_t packets, uint32_t cost)
{
	return req->in_flight == req->since_ack_req ||
	       (req->peer->in_flight + cost <= req->peer->window &&
		packets_in_flight(req) + packets <= req->window.packets);
}

static bool may_go(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t last_psn)
{
	const struct rc_requester *req = &qp->rc.req;

	if (rc_is_answered(wqe) && req->rd_atomic >= qp->attr.max_rd_atomic)
		return false;
	if (rc_retry_is_one_by_one(&qp->rc.retry))
		return rc_requester_is_idle(qp);
	return window_has_room(req, (uint32_t)psn_diff(last_psn, req->cur_psn) + 1,
			       cost_of(qp, wqe, req->cur_psn, last_psn));
}

/* Whether the peer's window has no space for another packet after this one. */
static bool fills_window(const struct rxe_qp *qp, uint32_t cost)
{
	const struct rxe_peer *peer = qp->rc.req.peer;

	return peer->in_flight + cost + qp->attr.path_mtu + RC_PACKET_COST > peer->window;
}

/* AckReq at least twice per window: one response is on its way while the other half is sent. */
static bool is_half_a_window(const struct rxe_qp *qp, uint32_t cost)
{
	uint32_t packet = qp->attr.path_mtu + RC_PACKET_COST;

	return (cost + packet - 1) / packet >= qp->rc.req.window.packets / 2;
}

/* Whether this packet is the last of its train, as far as can be foreseen. */
static bool ends_train(const struct wire_train *train, uint32_t len)
{
	bool closes = train->segs > 0 && len < train->seg_len;
	bool fills = train->segs + 1u >= train->max_segs;

	return closes || fills || train->len + len + len > TRAIN_MAX_BYTES;
}

/* Inside a message, AckReq is set when enough was sent without it, or when no response is on its
 * way and the window is full. Setting it on every packet would reopen the window one packet at a
 * time. */
static bool must_ask(const struct rxe_qp *qp, const struct wire_train *train, uint32_t len,
		     uint32_t cost)
{
	const struct rc_requester *req = &qp->rc.req;
	bool stops = fills_window(qp, cost);

	if (is_half_a_window(qp, req->since_ack_req + cost))
		return true;
	if (req->since_ack_req + cost >= RC_ACK_REQ_BYTES)
		return stops || ends_train(train, len);
	return req->in_flight == req->since_ack_req && stops;
}

static bool is_counted(const struct rxe_qp *qp)
{
	return qp->cntrs.of[RXE_CNTR_SEND] || qp->cntrs.of[RXE_CNTR_WRITE];
}

/* All queue pairs to the peer share its window, and what is not acknowledged keeps the others from
 * sending: half of it is left for them. */
static bool is_half_full(const struct rxe_peer *peer, uint32_t cost)
{
	return peer->in_flight + cost > peer->window / 2;
}

/* Whether the request, whose only packet this is, may go without AckReq. One that is sent again
 * asks: a packet was lost. So does the eighth in flight: others gather then. The sends of tag
 * matching have no flags, and need their slots again. */
static bool may_stay_unasked(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t psn)
{
	const struct rc_requester *req = &qp->rc.req;

	return req->is_recorded && packets_in_flight(req) + 1 < GATHER_BEHIND &&
	       !(wqe->flags & RXE_SEND_SIGNALED) && !qp->sq_sig_all && !qp->srq_sends &&
	       wqe->psn_first == wqe->psn_last && psn == req->sent_psn && !rc_is_answered(wqe) &&
	       qp->state == RXE_QPS_RTS && !is_counted(qp) &&
	       !is_half_full(req->peer, wqe->len + RC_PACKET_COST) &&
	       rc_retry_probes_unasked(&qp->rc.retry, &qp->attr);
}

static void describe(const struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t psn,
		     uint32_t last_psn, const struct wire_train *train, struct wire_packet *ret)
{
	uint32_t offset = offset_at(qp, wqe, psn);
	uint32_t bytes = offset_at(qp, wqe, psn_add(last_psn, 1)) - offset;
	bool reads = rc_is_read(wqe) || rc_is_atomic(wqe);
	bool first = psn == wqe->psn_first;
	bool last = last_psn == wqe->psn_last;

	ret->bth = (struct bth){
		.opcode = opcode_make(rxe_qp_service(qp), rxe_wqe_op(wqe, first, last)),
		.solicited = last && (wqe->flags & RXE_SEND_SOLICITED),
		.mig_req = rxe_qp_mig_req(qp),
		.pkey = 0xffff,
		.dest_qpn = qp->attr.dest_qp_num,
		.psn = psn,
	};
	ret->payload_len = reads ? 0 : bytes;
	ret->bth.ack_req =
		(last && !may_stay_unasked(qp, wqe, psn)) || reads ||
		qp->rc.req.probe == RC_PROBE_DUE || rc_retry_is_one_by_one(&qp->rc.retry) ||
		must_ask(qp, train,
			 wire_header_len(ret->bth.opcode) + bytes + (-bytes & 3) + ICRC_LEN,
			 bytes + RC_PACKET_COST);
	ret->reth = (struct reth){ .va = wqe->remote_addr + (rc_is_read(wqe) ? offset : 0),
				   .rkey = wqe->rkey,
				   .len = rc_is_read(wqe)    ? bytes
					  : rc_is_flush(wqe) ? wqe->flush_len
							     : wqe->len };
	ret->feth = wqe->feth;
	if (rc_is_atomic(wqe)) {
		bool swaps = wqe->opcode == RXE_WR_ATOMIC_CMP_AND_SWP;

		ret->atomic = (struct atomic_eth){ .va = wqe->remote_addr,
						   .rkey = wqe->rkey,
						   .swap_add = swaps ? wqe->swap : wqe->compare_add,
						   .compare = swaps ? wqe->compare_add : 0 };
	}
	ret->xrc_srqn = wqe->remote_qpn;
	ret->imm = wqe->imm_or_rkey;
	ret->inv_rkey = wqe->imm_or_rkey;
}

static void packet_sent(struct rxe_qp *qp, const struct rxe_send_wqe *wqe, uint32_t last_psn,
			bool asked, uint64_t now_ns)
{
	struct rc_requester *req = &qp->rc.req;
	uint32_t cost = cost_of(qp, wqe, req->cur_psn, last_psn);

	req->in_flight += cost;
	req->since_ack_req = asked ? 0 : req->since_ack_req + cost;
	if (asked)
		req->asked_psn = last_psn;
	req->peer->in_flight += cost;
	assert(psn_diff(last_psn, req->cur_psn) >= 0 && psn_diff(wqe->psn_last, last_psn) >= 0);
	assert(req->rd_atomic < RXE_MAX_RD_ATOMIC || !rc_is_answered(wqe));
	if (rc_is_answered(wqe))
		req->rd_end[(req->rd_first + req->rd_atomic++) % RXE_MAX_RD_ATOMIC] = last_psn;
	if (asked && req->cur_psn == req->sent_psn)
		rc_rtt_sent(&req->rtt, last_psn, now_ns);
	if (req->cur_psn == req->una_psn)
		rc_retry_oldest_sent(&qp->rc.retry);
	req->cur_psn = psn_add(last_psn, 1);
	rc_window_sent(&req->window, packets_in_flight(req));
	if (psn_diff(req->cur_psn, req->sent_psn) > 0)
		req->sent_psn = req->cur_psn;
	if (last_psn == wqe->psn_last) {
		req->cur++;
		req->from = (struct rxe_cursor){ 0 };
	}
	assert_order(qp);
}

/* Emits the packet that describe() filled in, with payload from the cursor. */
static enum send_result emit(struct rxe_engine *engine, struct rxe_qp *qp, struct rxe_send_wqe *wqe,
			     struct wire_packet *packet, struct rxe_cursor *from,
			     struct wire_train *train)
{
	enum mr_check gathered = MR_OK;
	struct rxe_emit emit;

	if (!rxe_emit_start(&emit, train, packet))
		return SEND_TRAIN_FULL;
	if (packet->payload_len > 0)
		gathered =
			rxe_gather(engine, qp->pd, wqe, from, offset_at(qp, wqe, packet->bth.psn),
				   emit.payload, packet->payload_len);
	return rxe_emit_end(engine, &emit, &qp->flow, gathered);
}

/* BTH to ICRC. */
static uint32_t packet_len(const struct wire_packet *packet)
{
	return wire_header_len(packet->bth.opcode) + packet->payload_len +
	       (-packet->payload_len & 3) + ICRC_LEN;
}

enum send_result rc_requester_emit(struct rxe_engine *engine, struct rxe_qp *qp,
				   struct rxe_send_wqe *wqe, uint32_t psn, uint32_t last_psn,
				   struct wire_train *train)
{
	struct rxe_cursor from = { 0 };
	struct wire_packet packet;

	describe(qp, wqe, psn, last_psn, train, &packet);
	return emit(engine, qp, wqe, &packet, &from, train);
}

static enum send_result send_one(struct rxe_engine *engine, struct rxe_qp *qp,
				 struct rxe_send_wqe *wqe, uint32_t last_psn,
				 struct wire_train *train)
{
	struct wire_packet packet;
	enum send_result result;

	describe(qp, wqe, qp->rc.req.cur_psn, last_psn, train, &packet);
	/* The ACK timer does not run while the rate stops the queue inside a message. */
	if (rxe_rate_is_limited(&qp->rate) &&
	    rxe_rate_stops_behind(&qp->rate, packet_len(&packet), engine->now_ns))
		packet.bth.ack_req = true;
	result = emit(engine, qp, wqe, &packet, &qp->rc.req.from, train);
	if (result == SEND_OK) {
		if (rxe_rate_is_limited(&qp->rate))
			rxe_rate_sent(&qp->rate, packet_len(&packet), engine->now_ns);
		packet_sent(qp, wqe, last_psn, packet.bth.ack_req, engine->now_ns);
		rc_retry_sent(&qp->rc.retry, &qp->attr,
			      packet.bth.ack_req ? RC_OUTSTANDING_ASKED : RC_OUTSTANDING_UNASKED,
			      engine->now_ns);
	}
	return result;
}

bool rc_requester_may_send(struct rxe_qp *qp, uint64_t now_ns)
{
	return (qp->state == RXE_QPS_RTS || qp->state == RXE_QPS_SQD) &&
	       rc_retry_may_send(&qp->rc.retry, now_ns);
}

enum output_result rc_requester_output(struct rxe_engine *engine, struct rxe_qp *qp,
				       struct wire_train *train)
{
	qp->rate.resume_ns = RXE_NEVER;
	if (qp->rc.req.cur != qp->sq.tail && rc_requester_gathers(qp))
		return OUTPUT_IDLE;
	while (rc_requester_may_send(qp, engine->now_ns)) {
		struct rxe_send_wqe *wqe = next(engine, qp);
		uint32_t last_psn;

		if (!wqe)
			break;
		last_psn = last_psn_of_packet(qp, wqe);
		if (!may_go(qp, wqe, last_psn) || (rxe_rate_is_limited(&qp->rate) &&
						   !rxe_rate_may_send(&qp->rate, engine->now_ns)))
			break;
		switch (send_one(engine, qp, wqe, last_psn, train)) {
		case SEND_OK: break;
		case SEND_TRAIN_FULL: return OUTPUT_TRAIN_FULL;
		case SEND_DEFERRED:
			rc_retry_send_deferred(&qp->rc.retry, &qp->attr,
					       engine->now_ns + engine->defer_ns);
			break;
		case SEND_NO_CREDITS:
		case SEND_FAILED: break_at_cur(engine, qp, RXE_WC_LOC_PROT_ERR); break;
		}
	}
	return OUTPUT_IDLE;
}
