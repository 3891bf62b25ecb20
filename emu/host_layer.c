// SPDX-License-Identifier: MIT
/* Passes each operation to the host below. */
#include "emu/host_layer.h"

#include <assert.h>

static bool pass_mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->mem_read(layer->below_host, mr, iova, dst, len);
}

static bool pass_mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
			   size_t len)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->mem_write(layer->below_host, mr, iova, src, len);
}

static bool pass_mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova,
			    enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
			    uint64_t *ret_orig)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->mem_atomic(layer->below_host, mr, iova, op, compare_or_add, swap,
					ret_orig);
}

static bool pass_mem_persist(void *host, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
			     uint64_t *ticket)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->mem_persist(layer->below_host, mr, iova, len, ticket);
}

static bool pass_is_deferred(void *host)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->is_deferred(layer->below_host);
}

static void pass_cq_notify(void *host, struct rxe_cq *cq)
{
	const struct rxe_host_layer *layer = host;

	layer->below->cq_notify(layer->below_host, cq);
}

static uint32_t pass_cq_due(void *host, struct rxe_cq *cq, uint64_t *ret_again_ns)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->cq_due(layer->below_host, cq, ret_again_ns);
}

static void pass_event(void *host, const struct rxe_event *event)
{
	const struct rxe_host_layer *layer = host;

	layer->below->event(layer->below_host, event);
}

static uint32_t pass_random(void *host)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->random(layer->below_host);
}

static enum rxe_peer_life pass_peer_life(void *host, const struct rxe_qp *qp, uint64_t since_ns,
					 uint32_t *process)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->peer_life(layer->below_host, qp, since_ns, process);
}

static uint32_t pass_credits(void *host, const struct gid *dst, uint32_t slot)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->credits(layer->below_host, dst, slot);
}

static void pass_credits_spent(void *host, const struct gid *dst, uint32_t slot, uint32_t cost)
{
	const struct rxe_host_layer *layer = host;

	layer->below->credits_spent(layer->below_host, dst, slot, cost);
}

static const struct rxe_time_wait_table *pass_time_wait_of(void *host, const struct gid *dst,
							   uint32_t slot)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->time_wait_of(layer->below_host, dst, slot);
}

static uint8_t *pass_train_space(void *host, const struct gid *dst, uint32_t slot)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->train_space(layer->below_host, dst, slot);
}

static uint64_t pass_grace_begin(void *host)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->grace_begin(layer->below_host);
}

static bool pass_grace_over(void *host, uint64_t stamp)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->grace_over(layer->below_host, stamp);
}

static bool pass_srq_find(void *host, uint32_t srqn, uint32_t xrcd, uint32_t *ret_pd)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->srq_find(layer->below_host, srqn, xrcd, ret_pd);
}

static bool pass_srq_take(void *host, uint32_t srqn, uint32_t xrcd, struct rxe_claim *ret)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->srq_take(layer->below_host, srqn, xrcd, ret);
}

static bool pass_srq_done(void *host, const struct rxe_claim *claim, const struct rxe_cqe *cqe)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->srq_done(layer->below_host, claim, cqe);
}

static void pass_raw_listens(void *host, bool yes)
{
	const struct rxe_host_layer *layer = host;

	layer->below->raw_listens(layer->below_host, yes);
}

static uint32_t pass_raw_listener(void *host, uint32_t slot)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->raw_listener(layer->below_host, slot);
}

static uint32_t pass_completing(void *host, const struct rxe_qp *qp, bool is_recv)
{
	const struct rxe_host_layer *layer = host;

	return layer->below->completing(layer->below_host, qp, is_recv);
}

static void pass_failed(void *host, const struct rxe_qp *qp, enum rxe_failed what, uint32_t status)
{
	const struct rxe_host_layer *layer = host;

	layer->below->failed(layer->below_host, qp, what, status);
}

void rxe_host_layer_init(struct rxe_host_layer *layer, const struct rxe_host_ops *below,
			 void *below_host)
{
	assert(below != &layer->ops);
	*layer = (struct rxe_host_layer){ .below = below, .below_host = below_host };
#define PASS(op) layer->ops.op = below->op ? pass_##op : NULL
	PASS(mem_read);
	PASS(mem_write);
	PASS(mem_atomic);
	PASS(mem_persist);
	PASS(is_deferred);
	PASS(cq_notify);
	PASS(cq_due);
	PASS(event);
	PASS(random);
	PASS(peer_life);
	PASS(credits);
	PASS(credits_spent);
	PASS(time_wait_of);
	PASS(train_space);
	PASS(grace_begin);
	PASS(grace_over);
	PASS(srq_find);
	PASS(srq_take);
	PASS(srq_done);
	PASS(raw_listens);
	PASS(raw_listener);
	PASS(completing);
	PASS(failed);
#undef PASS
}
