/* SPDX-License-Identifier: MIT */
/* Invariants of an engine between any two calls, whatever was sent to it: bounds, sums, and that a
 * requester that waits for a response has a timer. */
#include "tests/sim/oracle.h"

#define MUST(condition, what)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			oracle_fail(o, "%c: " what, end->letter);                                  \
	} while (0)

static void check_requester(const struct oracle *o, const struct end *end)
{
	const struct rxe_qp *qp = &end->qp;
	const struct rc_requester *req = &qp->rc.req;
	const struct rc_retry *retry = &qp->rc.retry;

	MUST(psn_diff(req->cur_psn, req->una_psn) >= 0, "cur is before una");
	MUST(psn_diff(req->sent_psn, req->cur_psn) >= 0, "cur is beyond what was sent");
	MUST(psn_diff(qp->attr.sq_psn, req->sent_psn) >= 0, "sent is beyond what was given PSNs");
	MUST(req->cur - qp->sq.head <= rxe_ring_used(&qp->sq), "cur is not in the send queue");
	MUST(req->since_ack_req <= req->in_flight, "more is since_ack_req than in flight");
	MUST((req->in_flight == 0) == (req->una_psn == req->cur_psn),
	     "bytes in flight do not fit the PSNs in flight");
	MUST(req->rd_atomic <= qp->attr.max_rd_atomic, "more reads and atomics than allowed");
	MUST(req->window.packets >= RC_WINDOW_MIN, "losses leave it less than the least window");
	MUST(req->window.packets < RC_WINDOW_MAX + RC_WINDOW_STEP, "its window has no end");
	MUST(retry->retries <= qp->attr.retry_cnt, "more retries than allowed");
	MUST(retry->rnr_retries <= qp->attr.rnr_retry, "more RNR retries than allowed");
	/* With a nonzero timeout code, an outstanding request has a timer. */
	MUST(req->una_psn == req->cur_psn || qp->attr.timeout == 0 ||
		     retry->rnr_until_ns != RXE_NEVER || retry->deadline_ns != UINT64_MAX,
	     "it waits for an answer without a timer");
	MUST(retry->deadline_ns == UINT64_MAX || qp->timer.deadline_ns <= retry->deadline_ns,
	     "its timer is later than its deadline");
	MUST(retry->rnr_until_ns == RXE_NEVER || qp->timer.deadline_ns <= retry->rnr_until_ns ||
		     qp->on_ready,
	     "it waits out an RNR NAK without a timer");
}

static void check_responder(const struct oracle *o, const struct end *end)
{
	const struct rxe_qp *qp = &end->qp;
	const struct rc_reply *reply = &qp->rc.reply;
	uint32_t answers = reply->tail - reply->head;

	MUST(answers <= RC_MAX_ANSWERS, "more responses than fit the ring");
	MUST(reply->num_new <= answers, "more new answers than answers");
	MUST(reply->num_new <= qp->attr.max_dest_rd_atomic, "more reads and atomics than allowed");
	/* Unless its SRQ was destroyed since: then the next packet is refused. */
	MUST(qp->claim.held || qp->rc.resp.message != RC_MESSAGE_SEND ||
		     (qp->type == RXE_QPT_XRC_RECV && !qp->srq),
	     "a message arrives into no receive");
}

static void check_dead(const struct oracle *o, const struct end *end)
{
	const struct rxe_qp *qp = &end->qp;

	MUST(rxe_ring_used(&qp->sq) == 0, "requests were not flushed");
	MUST(rxe_ring_used(&qp->rq) == 0 && !qp->claim.held, "receives were not flushed");
	MUST(qp->timer.deadline_ns == UINT64_MAX, "a timer runs after the end");
	MUST(qp->rc.req.in_flight == 0, "bytes are in flight after the end");
}

static void check_qp(const struct oracle *o, const struct end *end)
{
	const struct rxe_qp *qp = &end->qp;
	const struct rxe_engine *engine = &end->node->engine;

	MUST((qp->timer.deadline_ns == UINT64_MAX) == (qp->timer.index == HEAP_NOWHERE),
	     "it has a deadline, and no place among those that do");
	MUST(qp->timer.index == HEAP_NOWHERE || engine->timer[qp->timer.index] == &qp->timer,
	     "another has its place among the timers");
	MUST(qp->events == 0 || end->node->asleep_until_ns, "an event was not reported");
	switch (qp->state) {
	case RXE_QPS_ERR:
	case RXE_QPS_RESET: check_dead(o, end); return;
	case RXE_QPS_RTS:
	case RXE_QPS_SQD:
		if (qp->type == RXE_QPT_RC || qp->type == RXE_QPT_XRC_SEND)
			check_requester(o, end);
		if (qp->type == RXE_QPT_RC || qp->type == RXE_QPT_XRC_RECV)
			check_responder(o, end);
		return;
	case RXE_QPS_INIT:
	case RXE_QPS_RTR:
	case RXE_QPS_SQE: return;
	}
}

/* The peer's window is the sum of what its QPs have in flight, each counted where it sends. */
static void check_window(const struct oracle *o, const struct node *node, const struct end *end)
{
	const struct rxe_peer *peer = end->qp.rc.req.peer;
	uint64_t sum = 0;
	uint32_t i;

	if (!peer)
		return;
	for (i = 0; i < node->num_ends; i++) {
		const struct rc_requester *req = &node->ends[i]->qp.rc.req;

		sum += req->peer == peer ? req->in_flight : 0;
	}
	MUST(peer->in_flight == sum, "the peer's window is not the sum of its QPs");
	MUST(end->qp.state == RXE_QPS_RESET || end->qp.state == RXE_QPS_ERR ||
		     gid_equal(&peer->gid, &end->qp.flow.dst),
	     "its requests count for another path's window");
}

static void check_node(const struct oracle *o, const struct node *node)
{
	const struct rxe_engine *engine = &node->engine;
	uint32_t wrs = rxe_ring_used(&node->srq.rq), i;

	for (i = 0; i < NODE_XSRQS; i++) {
		const struct node_xsrq *x = &node->xsrq[i];

		wrs += x->exists && !x->is_foreign ? rxe_ring_used(&x->srq.rq) : 0;
	}
	for (i = 0; i < node->num_ends; i++) {
		const struct end *end = node->ends[i];

		wrs += rxe_ring_used(&end->qp.sq) + rxe_ring_used(&end->qp.rq);
		check_qp(o, end);
		check_window(o, node, end);
	}
	if (wrs != engine->open_wrs)
		oracle_fail(o, "node %u: %u requests are open, the engine says %u", node->index,
			    wrs, engine->open_wrs);
	for (i = 1; i < engine->timers.count; i++) {
		if (engine->timer[i]->deadline_ns < engine->timer[(i - 1) / 2]->deadline_ns)
			oracle_fail(o, "node %u: its timers are not in order", node->index);
	}
	if (!node->asleep_until_ns && (engine->unpublished || engine->with_events))
		oracle_fail(o, "node %u: something was not settled", node->index);
}

void oracle_check_state(const struct oracle *o)
{
	uint32_t i;

	for (i = 0; i < o->w->num_nodes; i++)
		check_node(o, o->w->node[i]);
}
