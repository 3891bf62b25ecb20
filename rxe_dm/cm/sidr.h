/* SPDX-License-Identifier: MIT */
/* Messages of service ID resolution: handlers. Each may free ids. */
#ifndef RXE_CM_SIDR_H
#define RXE_CM_SIDR_H

#include "rxe_dm/cm/cm.h"

void cm_sidr_req_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);
void cm_sidr_rep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);

#endif
