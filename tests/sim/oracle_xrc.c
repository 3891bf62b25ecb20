/* SPDX-License-Identifier: MIT */
/* XRC in the oracle: hosts with three SRQs, in two XRC domains and two protection domains, of this
 * process and of another one. Several initiators have their targets on one host; each request names
 * an SRQ of its target's domain, whose receives, keys and completion queue it uses. Slot n of a
 * target's receives belongs to SRQ n modulo three. */
#include <string.h>

#include "tests/sim/oracle.h"

bool oracle_is_target(const struct party *party)
{
	return party->opts.type == RXE_QPT_XRC_RECV;
}

bool oracle_is_xrc(const struct party *party)
{
	return oracle_is_target(party) || party->opts.type == RXE_QPT_XRC_SEND;
}

const struct party_keys *oracle_keys_for(const struct party *peer, const struct op *op)
{
	bool other =
		oracle_is_target(peer) && peer->end->node->xsrq[op->srq].srq.pd == NODE_OTHER_PD;

	return &peer->keys[other];
}

static bool is_on(const struct party *party, const struct node *node)
{
	return oracle_is_target(party) && party->end->node == node;
}

static uint32_t domain_of(const struct party *target)
{
	return target->opts.xrcd;
}

void oracle_xrc_begin(struct oracle *o, struct node *node)
{
	static const struct {
		uint32_t pd, xrcd;
	} kinds[NODE_XSRQS] = { { NODE_PD, NODE_XRCD },
				{ NODE_OTHER_PD, NODE_XRCD },
				{ NODE_PD, NODE_XRCD + 1 } };
	uint32_t i;

	for (i = 0; i < NODE_XSRQS; i++) {
		if (!node->xsrq[i].exists)
			node_add_xsrq(node, i, kinds[i].pd, kinds[i].xrcd,
				      i > 0 && link_random(&o->w->link, 2));
	}
}

bool oracle_xrc_choose(struct oracle *o, const struct party *party, uint32_t *ret_srq)
{
	const struct party *target = party->peer;
	uint32_t first = link_random(&o->w->link, NODE_XSRQS), i;

	for (i = 0; i < NODE_XSRQS; i++) {
		uint32_t which = (first + i) % NODE_XSRQS;
		const struct node_xsrq *x = &target->end->node->xsrq[which];

		if (x->exists && x->srq.xrcd == domain_of(target)) {
			*ret_srq = which;
			return true;
		}
	}
	return false;
}

uint32_t oracle_xrc_number(const struct oracle *o, const struct party *party, struct op *op,
			   uint32_t sabotage)
{
	const struct node *node = party->peer->end->node;
	uint32_t i;

	(void)o;
	if (sabotage == 3) {
		op->unpermitted = true;
		return node->xsrq[op->srq].srq.srqn + 77;
	}
	for (i = 0; sabotage == 4 && i < NODE_XSRQS; i++) {
		if (node->xsrq[i].srq.xrcd != domain_of(party->peer)) {
			op->unpermitted = true;
			op->srq = i;
		}
	}
	return node->xsrq[op->srq].srq.srqn;
}

static void forget(struct oracle *o, struct node *node, uint32_t which)
{
	uint32_t slot, i;

	for (i = 0; i < o->num_parties; i++) {
		struct party *party = &o->party[i];

		for (slot = which; slot < ORACLE_SLOTS && is_on(party, node); slot += NODE_XSRQS)
			party->recv_taken[slot] = false;
	}
	node_remove_xsrq(node, which);
}

void oracle_xrc_forget(struct oracle *o, struct node *node)
{
	uint32_t which;

	for (which = 0; which < NODE_XSRQS; which++)
		forget(o, node, which);
}

/* Its receives are dropped; later requests that name it are refused. */
void oracle_xrc_destroy(struct oracle *o, struct node *node)
{
	uint32_t i;

	world_wait(o->w, node);
	world_flush(o->w);
	for (i = 0; i < o->num_parties; i++) {
		struct party *party = &o->party[i];

		if (!oracle_is_target(party) || party->end->node != node)
			continue;
		party->may_fail = party->peer->may_fail = true;
		party->deserted = party->peer->deserted = false;
	}
	forget(o, node, link_random(&o->w->link, NODE_XSRQS));
}

static bool recv_into(struct oracle *o, struct party *party, uint32_t which, uint32_t len)
{
	struct node *node = party->end->node;
	uint32_t slot = which;
	struct rxe_sge sge;
	struct rxe_recv_wr wr = { .num_sge = 1, .sges = &sge };

	while (slot < ORACLE_SLOTS && party->recv_taken[slot])
		slot += NODE_XSRQS;
	if (slot >= ORACLE_SLOTS || !node->xsrq[which].exists)
		return false;
	sge = oracle_take_slot(o, party, slot, len,
			       party->keys[node->xsrq[which].srq.pd == NODE_OTHER_PD].recvs);
	wr.wr_id = o->recv_number;
	if (node_xsrq_recv(node, which, &wr) != POST_OK)
		oracle_fail(o, "%c: a receive was refused", party->end->letter);
	return true;
}

bool oracle_xrc_recv(struct oracle *o, struct party *party, uint32_t len)
{
	return recv_into(o, party, link_random(&o->w->link, NODE_XSRQS), len);
}

/* Counts the receives that messages to the host's SRQ still need, and those that exist. */
static uint32_t missing(const struct oracle *o, const struct node *node, uint32_t which)
{
	uint32_t ret = 0, i, k;

	for (i = 0; i < o->num_parties; i++) {
		const struct party *from = o->party[i].peer;

		if (!is_on(&o->party[i], node) || o->party[i].end->qp.state == RXE_QPS_ERR ||
		    o->party[i].end->qp.state == RXE_QPS_RESET)
			continue;
		for (k = from->delivered; k < from->num_ops; k++)
			ret += from->ops[k].srq == which && oracle_is_awaited(&from->ops[k]);
	}
	return ret;
}

bool oracle_xrc_holds(const struct party *party, uint32_t which)
{
	const struct rxe_qp *qp = &party->end->qp;
	const struct node_xsrq *x = &party->end->node->xsrq[which];

	return oracle_is_target(party) && qp->claim.held && x->exists &&
	       qp->rc.resp.srqn == x->srq.srqn;
}

/* Receives of the SRQ that are posted or claimed by a target, compared with the model. */
static void count(const struct oracle *o, const struct node *node, uint32_t which,
		  uint32_t *ret_there, uint32_t *ret_booked)
{
	const struct node_xsrq *x = &node->xsrq[which];
	uint32_t there = x->exists ? rxe_ring_used(&x->srq.rq) : 0, booked = 0, i, slot;

	for (i = 0; i < o->num_parties; i++) {
		const struct party *party = &o->party[i];

		if (!is_on(party, node))
			continue;
		for (slot = which; slot < ORACLE_SLOTS; slot += NODE_XSRQS)
			booked += party->recv_taken[slot];
		there += oracle_xrc_holds(party, which);
	}
	*ret_there = there;
	*ret_booked = booked;
}

void oracle_xrc_recv_missing(struct oracle *o, struct node *node)
{
	uint32_t which, i, there, booked;

	for (which = 0; which < NODE_XSRQS; which++) {
		uint32_t wanted = missing(o, node, which);

		count(o, node, which, &there, &booked);
		for (i = 0; i < o->num_parties; i++) {
			while (there < wanted && is_on(&o->party[i], node) &&
			       recv_into(o, &o->party[i], which, ORACLE_SLOT_BYTES))
				there++;
		}
	}
}

void oracle_xrc_check_cq(const struct oracle *o, const struct party *party, uint32_t srq,
			 const struct rxe_cq *cq)
{
	if (cq != party->end->node->xsrq[srq].srq.cq)
		oracle_fail(o, "%c: a receive of SRQ %u was completed in another's CQ",
			    party->end->letter, srq);
}

/* No receive was lost, and none was used for a refused request. */
void oracle_xrc_final(const struct oracle *o)
{
	uint32_t i, which, there, booked;

	for (i = 0; i < o->w->num_nodes; i++) {
		if (o->w->node[i]->strange_dones)
			oracle_fail(o,
				    "node %u: another process got a completion of a receive not "
				    "its own",
				    i);
		for (which = 0; which < NODE_XSRQS; which++) {
			count(o, o->w->node[i], which, &there, &booked);
			if (there != booked)
				oracle_fail(o, "node %u: SRQ %u has %u receives, not %u", i, which,
					    there, booked);
		}
	}
}
