/* SPDX-License-Identifier: MIT */
/* Shared receive queues, with their limit event (IBTA 10.2.9). */
#ifndef RXE_EMU_SRQ_H
#define RXE_EMU_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/queue.h"

struct rxe_cq;
struct rxe_engine;

struct rxe_srq {
	uint32_t pd;
	uint32_t srqn; /* XRC: its number, its domain, where its completions go; else 0 and NULL */
	uint32_t xrcd;
	struct rxe_cq *cq;
	uint32_t max_sge;
	uint32_t limit; /* arm value; 0 when not armed: one event a setting */
	struct rxe_ring rq;
	uint32_t
		loans; /* XRC: receives that other processes took and have not completed; the host counts */
	void *owner;
};

void rxe_srq_init(struct rxe_srq *srq, uint32_t pd, void *mem, uint32_t max_wr, uint32_t max_sge,
		  void *owner);
/* XRC: packets find it by this number, which rxe_engine_alloc_srqn() gave. */
void rxe_srq_name(struct rxe_engine *engine, struct rxe_srq *srq, uint32_t srqn, uint32_t xrcd,
		  struct rxe_cq *cq);
/* It goes, and no QP uses it any more; an XRC target that is in the middle of a message to it forgets the receive. */
void rxe_srq_fini(struct rxe_engine *engine, struct rxe_srq *srq);
enum post_result rxe_post_srq_recv(struct rxe_engine *engine, struct rxe_srq *srq,
				   const struct rxe_recv_wr *wr);
/* The oldest receive, or NULL; raises the limit event when the fill falls below it. The WQE stays valid until the next post. */
const struct rxe_recv_wqe *rxe_srq_pop(struct rxe_engine *engine, struct rxe_srq *srq);
/* Ask for one event when fewer than limit receives are left; at once if that is so already. 0 disarms. False: limit is more
 * than the SRQ holds. */
bool rxe_srq_arm(struct rxe_engine *engine, struct rxe_srq *srq, uint32_t limit);

#endif
