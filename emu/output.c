/* SPDX-License-Identifier: MIT */
/* Packets out: ready QPs take turns at filling a train. The first QP of the list sets its
 * destination; others with the same destination may join. A QP that had its turn goes to the end
 * of the list, one that could not join keeps its place. */
#include <assert.h>
#include <utlist.h>

#include "emu/emit.h"
#include "emu/engine.h"
#include "emu/output.h"
#include "emu/qp.h"
#include "emu/raw/raw.h"
#include "emu/rc/rc.h"
#include "emu/rc/time_wait.h"
#include "emu/uc.h"
#include "emu/ud.h"
#include "net/wire/train.h"

/* QPs examined for one train: a long list of QPs to other peers must not cost every train a full
 * walk. */
#define MAX_CANDIDATES 32

static enum output_result ask(struct rxe_engine *engine, struct rxe_qp *qp,
			      struct wire_train *train, uint64_t now_ns)
{
	switch (qp->type) {
	case RXE_QPT_RC:
	case RXE_QPT_XRC_SEND:
	case RXE_QPT_XRC_RECV: return rc_output(engine, qp, train, now_ns);
	case RXE_QPT_UC: return uc_output(engine, qp, train, now_ns);
	case RXE_QPT_UD: return ud_output(engine, qp, train, now_ns);
	case RXE_QPT_RAW: return raw_output(engine, qp, train, now_ns);
	case RXE_QPT_WQ: break;
	}
	return OUTPUT_IDLE;
}

/* A datagram's destination is in its request, and a frame's depends on who listens: UD and RAW
 * check it themselves. */
static bool may_join(struct rxe_engine *engine, const struct rxe_qp *qp, struct wire_train *train)
{
	return qp->type == RXE_QPT_UD || qp->type == RXE_QPT_RAW ||
	       rxe_train_take(engine, train, &qp->flow, qp->tx_index, &qp->attr.av,
			      qp->attr.dest_qp_num);
}

/* One turn of a QP. True: the train is complete. */
static bool take_turn(struct rxe_engine *engine, struct rxe_qp *qp, struct wire_train *train,
		      uint64_t now_ns)
{
	enum output_result result;

	assert(qp->on_ready && engine->ready);
	DL_DELETE2(engine->ready, qp, prev_ready, next_ready);
	qp->on_ready = false;
	result = ask(engine, qp, train, now_ns);
	switch (result) {
	case OUTPUT_IDLE: break;
	case OUTPUT_ADDED:
	case OUTPUT_TRAIN_FULL: rxe_qp_set_ready(engine, qp); break;
	}
	assert(train->segs <= train->max_segs);
	return result == OUTPUT_TRAIN_FULL || train->closed || train->segs == train->max_segs;
}

bool rxe_engine_output(struct rxe_engine *engine, struct wire_train *train, uint64_t now_ns)
{
	struct rxe_qp *qp = engine->ready;
	struct rxe_qp *last = qp ? qp->prev_ready : NULL;
	uint32_t looked = 0;
	bool full = false;

	assert(train->buf && train->max_segs > 0);
	engine->now_ns = now_ns;
	train->len = 0;
	train->segs = 0;
	train->seg_len = 0;
	train->closed = false;
	train->bare = false;
	if (rxe_time_wait_output(engine, train))
		return true;
	while (qp && !full && (train->segs == 0 || looked++ < MAX_CANDIDATES)) {
		/* Turns append to the list; the walk ends at the QP that was last at its start. */
		struct rxe_qp *next = qp == last ? NULL : qp->next_ready;

		if (may_join(engine, qp, train))
			full = take_turn(engine, qp, train, now_ns);
		qp = next;
	}
	return train->segs > 0;
}
