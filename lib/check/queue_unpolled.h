/* SPDX-License-Identifier: MIT */
/* RXE-QUEUE-006: sends are posted, while the completions of the queue pair stay in their CQ. */
#ifndef RXE_CHECK_QUEUE_UNPOLLED_H
#define RXE_CHECK_QUEUE_UNPOLLED_H

struct check_cq;
struct check_qp;

/* A send is about to be posted; it is entered already. */
void queue_unpolled_sending(struct check_qp *qp);
void queue_unpolled_polling(struct check_cq *cq);

#endif
