/* SPDX-License-Identifier: MIT */
/* Reliable connection: a placeholder that sends nothing and takes nothing. */
#include "emu/rc.h"

#include "emu/qp.h"

void rc_reset(struct rxe_qp *qp)
{
	qp->rc = (struct rxe_rc){ 0 };
}

void rc_became_rtr(struct rxe_engine *engine, struct rxe_qp *qp)
{
	(void)engine;
	(void)qp;
}

void rc_became_rts(struct rxe_engine *engine, struct rxe_qp *qp)
{
	(void)engine;
	(void)qp;
}

void rc_input(struct rxe_engine *engine, struct rxe_qp *qp, const struct wire_packet *packet,
	      uint64_t now_ns)
{
	(void)engine;
	(void)qp;
	(void)packet;
	(void)now_ns;
}

enum output_verdict rc_output(struct rxe_engine *engine, struct rxe_qp *qp,
			      struct wire_train *train, uint64_t now_ns)
{
	(void)engine;
	(void)qp;
	(void)train;
	(void)now_ns;
	return OUTPUT_IDLE;
}

void rc_expired(struct rxe_engine *engine, struct rxe_qp *qp, uint64_t now_ns)
{
	(void)engine;
	(void)qp;
	(void)now_ns;
}
