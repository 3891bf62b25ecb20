/* SPDX-License-Identifier: MIT */
/* Memory windows in the model. The target of some parties is open to the peer by a window alone,
 * over a region that peers cannot reach: once its invalidation has completed, no byte is stored
 * there. Each party has a spare window also, which it binds and invalidates in turns: what fails,
 * or is executed twice, shows. */
#include <string.h>

#include "tests/sim/oracle.h"

#define FLUSHES (RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT)

static struct rxe_bind bind_of(const struct party *party)
{
	const struct rxe_mr *region =
		&party->end->node->mrs->entry[rxe_key_index(party->target_region)];

	return (struct rxe_bind){ .addr = region->iova,
				  .len = region->len,
				  .mw = party->spare_window,
				  .rkey = party->spare_tag,
				  .region = party->target_region,
				  .rights = RXE_REMOTE_WRITE | FLUSHES };
}

void oracle_mw_begin(struct party *party)
{
	struct node *node = party->end->node;
	struct rxe_mr *region = &node->mrs->entry[rxe_key_index(party->keys[0].target)];
	struct rxe_bind bind;

	party->target_region = party->keys[0].target;
	party->spare_window = node_add_mw(node, RXE_MR_WINDOW_2);
	party->is_spare_bound = party->is_window_closed = false;
	region->rights |= RXE_MW_BIND;
	if (!party->has_window)
		return;
	region->rights &= ~(uint32_t)RXE_REMOTE_WRITE;
	bind = bind_of(party);
	party->keys[0].target = node_add_mw(node, RXE_MR_WINDOW_2);
	node_bind_mw(party->end, party->keys[0].target, &bind);
}

struct op oracle_mw_turn(const struct party *party)
{
	uint32_t key = (party->spare_window & ~RXE_MW_TAG) | (party->spare_tag & RXE_MW_TAG);

	if (party->is_spare_bound)
		return (struct op){ .opcode = RXE_WR_LOCAL_INV, .imm = key };
	return (struct op){ .opcode = RXE_WR_BIND_MW };
}

struct op oracle_mw_close(const struct party *party)
{
	return (struct op){ .opcode = RXE_WR_LOCAL_INV,
			    .imm = party->keys[0].target,
			    .signalled = true };
}

void oracle_mw_prepare(struct party *party, const struct op *op, struct post *ret)
{
	if (op->opcode == RXE_WR_BIND_MW) {
		party->spare_tag++;
		party->is_spare_bound = true;
		ret->bind = bind_of(party);
	} else if (op->imm != party->keys[0].target) {
		party->is_spare_bound = false;
	}
}

void oracle_mw_done(struct party *party, const struct op *op)
{
	if (op->opcode == RXE_WR_LOCAL_INV && op->imm == party->keys[0].target)
		party->is_window_closed = true;
}

bool oracle_mw_is_open(const struct party *party)
{
	const struct node *node = party->end->node;
	const struct rxe_mr *window = rxe_mw_find(node->mrs, party->keys[0].target);
	struct rxe_mw_bound bound;

	if (!party->has_window)
		return rxe_mr_find(node->mrs, party->keys[0].target);
	return window && !party->is_window_closed &&
	       rxe_mw_read(&node->engine.cfg.mws, window, party->keys[0].target, &bound);
}
