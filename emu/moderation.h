/* SPDX-License-Identifier: MIT */
/* Moderation of completion events (ibv_modify_cq(3)): fewer events for programs that sleep. The
 * event of an armed CQ is held until N completions wait for it, or until a time has passed since
 * the first of them. */
#ifndef RXE_EMU_MODERATION_H
#define RXE_EMU_MODERATION_H

#include <stdbool.h>
#include <stdint.h>

struct rxe_cq;
struct rxe_engine;

/* Either may be 0: no moderation. A program that sleeps is woken in any case. */
void rxe_cq_moderate(struct rxe_cq *cq, uint16_t count, uint16_t period_us);
/* A completion is visible for which the armed CQ would have its event. True: the event is held. */
bool rxe_moderation_holds(struct rxe_engine *engine, struct rxe_cq *cq);
/* When the first held event is due; UINT64_MAX: none is held. */
uint64_t rxe_moderation_deadline(const struct rxe_engine *engine);
void rxe_moderation_expire(struct rxe_engine *engine, uint64_t now_ns);
/* The CQ is destroyed. */
void rxe_moderation_forget(struct rxe_engine *engine, struct rxe_cq *cq);

#endif
