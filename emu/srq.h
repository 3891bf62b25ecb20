/* SPDX-License-Identifier: MIT */
/* Shared receive queues, with their limit event (IBTA 10.2.9), and the SRQs that XRC requests name
 * (annex A14). */
#ifndef RXE_EMU_SRQ_H
#define RXE_EMU_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/queue.h"
#include "emu/rc/nak.h"

struct rxe_cq;
struct rxe_tag_list;
struct rxe_engine;

struct rxe_srq {
	uint32_t pd;
	/* XRC: its number and XRC domain; else 0. */
	uint32_t srqn;
	uint32_t xrcd;
	struct rxe_cq *cq;	   /* XRC and tag matching: for its completions; else NULL */
	struct rxe_tag_list *tags; /* tag matching; else NULL */
	uint32_t max_sge;
	uint32_t limit; /* armed value; 0: not armed */
	struct rxe_ring rq;
	/* XRC: receives that other processes took and have not completed. The host counts them. */
	uint32_t loans;
	void *owner;
};

void rxe_srq_init(struct rxe_srq *srq, uint32_t pd, void *mem, uint32_t max_wr, uint32_t max_sge,
		  void *owner);
/* XRC: packets name the SRQ by a number from rxe_engine_alloc_srqn(). */
void rxe_srq_name(struct rxe_engine *engine, struct rxe_srq *srq, uint32_t srqn, uint32_t xrcd,
		  struct rxe_cq *cq);
/* The SRQ matches tags. The list is the caller's. */
void rxe_srq_match_tags(struct rxe_srq *srq, struct rxe_tag_list *tags, struct rxe_cq *cq);
/* A free SRQ number of the slot's range, for XRC; 0 when RXE_MAX_SRQ exist. */
uint32_t rxe_engine_alloc_srqn(struct rxe_engine *engine);
struct rxe_srq *rxe_engine_find_srq(const struct rxe_engine *engine, uint32_t srqn);
/* Destroys the SRQ; no QP uses it any more. An XRC target in the middle of a message drops its
 * receive. */
void rxe_srq_fini(struct rxe_engine *engine, struct rxe_srq *srq);
enum post_result rxe_post_srq_recv(struct rxe_engine *engine, struct rxe_srq *srq,
				   const struct rxe_recv_wr *wr);
/* Moves the receives, in their order, to memory of max_wr entries (IBTA 11.2.3.2). False: more are
 * posted, or the armed limit is higher; nothing changes. */
bool rxe_srq_resize(struct rxe_srq *srq, void *mem, uint32_t max_wr);
/* The oldest receive, or NULL. Raises the limit event when the fill falls below it. The WQE is
 * valid until the next post. */
const struct rxe_recv_wqe *rxe_srq_pop(struct rxe_engine *engine, struct rxe_srq *srq);
/* Arms one event for fewer than limit receives, raised at once if that is so already; 0 disarms.
 * False: limit is more than the SRQ holds. */
bool rxe_srq_arm(struct rxe_engine *engine, struct rxe_srq *srq, uint32_t limit);

/* Finds the SRQ with this number in the XRC domain, and its protection domain. *ret_srq is NULL
 * when another process owns the SRQ. */
enum rc_fault rxe_xrc_find(struct rxe_engine *engine, uint32_t xrcd, uint32_t srqn,
			   struct rxe_srq **ret_srq, uint32_t *ret_pd);

#endif
