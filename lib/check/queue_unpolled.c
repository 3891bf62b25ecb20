// SPDX-License-Identifier: MIT
/* Counts sends between two polls of each CQ of their queue pair.
 *
 * A batch that fills a send queue before the program polls is right, and so is a program that
 * sleeps: it posts nothing. So the count must reach what no batch has: twice the send queue, and
 * SENDS_MIN. Then one of two things proves that completions wait in vain: they fill more than half
 * of their CQ, or the send queue is full while some are there. */
#include "lib/check/queue_unpolled.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"
#include "lib/verbs/cq.h"

#define SENDS_MIN 1024u

/* Completions that a poll would return now. */
static uint32_t num_waiting(const struct check_cq *cq)
{
	const struct rxe_cq *ring = &vb_cq(cq->cq)->cq;
	const uint32_t head = atomic_load(&ring->head);

	return atomic_load(&ring->visible) - head;
}

static void report(const struct check_qp *qp, const struct check_queue *queue, uint32_t waiting)
{
	check_report(CHECK_QUEUE_UNPOLLED,
		     (struct check_where[]){ { "posted here", NULL },
					     { "CQ created here", &queue->cq->object->made },
					     { "QP created here", &qp->object->made } },
		     3,
		     "%s: the program has posted %u sends since %s was polled last, which holds %u "
		     "completions and has %d entries",
		     qp->object->label, queue->sends_unpolled, queue->cq->object->label, waiting,
		     queue->cq->cq->cqe);
}

static void count(const struct check_qp *qp, struct check_queue *queue)
{
	const uint32_t batch = 2 * qp->send.max_wr;
	const struct check_cq *cq = queue->cq;
	uint32_t waiting;

	if (queue->polls_seen != cq->polls)
		queue->sends_unpolled = 0;
	queue->polls_seen = cq->polls;
	if (++queue->sends_unpolled % (batch > SENDS_MIN ? batch : SENDS_MIN))
		return;
	waiting = num_waiting(cq);
	if (waiting > (uint32_t)cq->cq->cqe / 2 ||
	    (waiting > 0 && !queue->is_recv && queue->count > queue->max_wr))
		report(qp, queue, waiting);
}

void queue_unpolled_sending(struct check_qp *qp)
{
	if (qp->send.cq)
		count(qp, &qp->send);
	if (qp->recv.cq && qp->recv.cq != qp->send.cq)
		count(qp, &qp->recv);
}

void queue_unpolled_polling(struct check_cq *cq)
{
	cq->polls++;
}
