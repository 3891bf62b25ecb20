/* SPDX-License-Identifier: MIT */
/* Operations that this device lacks: each fails with EOPNOTSUPP, so no entry of a table is NULL. */
#ifndef RXE_ABI_REFUSE_H
#define RXE_ABI_REFUSE_H

#include "lib/abi/newer.h"

/* Fills those entries of a new context that lib/verbs does not fill. */
void abi_refuse_ops(struct verbs_context *verbs);

#endif
