/* SPDX-License-Identifier: MIT */
/* Messages that lead to a connection: handlers. Each may free ids. */
#ifndef RXE_CM_CONNECT_H
#define RXE_CM_CONNECT_H

#include "rxe_dm/cm/cm.h"

void cm_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_rtu_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);
void cm_mra_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);

#endif
