/* SPDX-License-Identifier: MIT */
/* RXE-LIFE-001, 002 and 005: what is alive when it should not be. object.c has 003 and 004. */
#ifndef RXE_CHECK_LIFE_H
#define RXE_CHECK_LIFE_H

struct check_object;
struct check_qp;
struct ibv_send_wr;

/* A datagram's address handle must be alive (RXE-LIFE-003). */
void life_sending(const struct check_qp *qp, const struct ibv_send_wr *wr);
void life_qp_ending(const struct check_qp *qp);
/* The context is about to be closed. */
void life_closing(struct check_object *context);
/* The program ends. */
void life_exit(void);

#endif
