/* SPDX-License-Identifier: MIT */
/* Events of the exchanges (rxe_dm/cm) become events of ids. */
#ifndef RXE_CMA_EVENT_H
#define RXE_CMA_EVENT_H

#include "rxe_dm/cm/cm.h"

/* The event function of struct cm_ops. host is a struct cma_ids. */
void cma_cm_event(void *host, const struct cm_event *event);

#endif
