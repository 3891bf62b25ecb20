/* SPDX-License-Identifier: MIT */
/* Parts of an id as its events carry them. */
#ifndef RXE_CMA_QUERY_H
#define RXE_CMA_QUERY_H

#include "rxe_dm/cma/id.h"

/* The address vector of an id's path. */
void cma_id_fill_ah(const struct cma_id *id, struct ctl_cm_ah *ret);
/* attr of struct ctl_cm_event. */
void cma_id_all_attr(const struct cma_id *id, struct ctl_cm_qp_attr *ret);

#endif
