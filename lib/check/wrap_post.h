/* SPDX-License-Identifier: MIT */
/* Entering requests, for lists (wrap_post.c) and for those built call by call (wrap_build.c). Under
 * the layer's lock. */
#ifndef RXE_CHECK_WRAP_POST_H
#define RXE_CHECK_WRAP_POST_H

#include <stdint.h>

struct check_qp;
struct check_queue;
struct check_request;
struct ibv_send_wr;

/* A send request is about to be posted. NULL: no memory. */
struct check_request *post_enter_send(struct check_qp *qp, const struct ibv_send_wr *wr);
/* The newest n requests of the queue were refused. */
void post_refuse(struct check_queue *queue, uint32_t n);

#endif
