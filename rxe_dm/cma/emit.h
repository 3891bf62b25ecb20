/* SPDX-License-Identifier: MIT */
/* Events on their way to the host. */
#ifndef RXE_CMA_EMIT_H
#define RXE_CMA_EMIT_H

#include "rxe_dm/cma/id.h"

/* Fills in id, token and addresses, and hands the event to the host. */
void cma_id_emit(struct cma_id *id, struct ctl_cm_event *event);
void cma_id_emit_status(struct cma_id *id, enum ctl_cm_event_type type, int status);

#endif
