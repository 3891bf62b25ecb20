/* SPDX-License-Identifier: MIT */
/* Requests that are built call by call (ibv_wr_post(3)). */
#ifndef RXE_CHECK_WRAP_BUILD_H
#define RXE_CHECK_WRAP_BUILD_H

struct ibv_qp;

/* Replaces the functions of a new queue pair that has them. */
void wrap_build(struct ibv_qp *qp);

#endif
