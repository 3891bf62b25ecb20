/* SPDX-License-Identifier: MIT */
/* RXE-PEER-001 to 007: the two queue pairs of a connection disagree; and timers that never end. */
#ifndef RXE_CHECK_PEER_H
#define RXE_CHECK_PEER_H

struct check_qp;
struct ibv_qp_attr;
struct ibv_send_wr;

/* The attributes of ibv_modify_qp() were accepted; sets the state. */
void peer_modified(struct check_qp *qp, const struct ibv_qp_attr *attr, int attr_mask);
/* A request is about to be posted. */
void peer_sending(struct check_qp *qp, const struct ibv_send_wr *wr);

#endif
