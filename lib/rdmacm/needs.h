/* SPDX-License-Identifier: MIT */
/* What a request needs of its id. The server answers EINVAL to a request that the state of its id,
 * or an argument, does not permit. Its errno has no more to say; the kind of the request has. */
#ifndef LIB_RDMACM_NEEDS_H
#define LIB_RDMACM_NEEDS_H

#include <stdint.h>

/* Notes the reason of a request (enum ctl_cm_op) that the server refused with EINVAL. Returns
 * EINVAL. */
int rcm_refuse_by_need(uint32_t op);

#endif
