/* SPDX-License-Identifier: MIT */
/* The file of calls, for the record build of librdmacm.so.1 (lib/record/cm), which has no other.
 * libibverbs.so.1 exports these functions in its record builds (record.map). */
#ifndef RXE_RECORD_CM_H
#define RXE_RECORD_CM_H

#include <stdint.h>

#include "lib/record/verbs.h"

#pragma GCC visibility push(default)
/* As record_now() and record_add(). */
uint64_t rxe_dm_record_now(void);
void rxe_dm_record_add(enum record_verb verb, uint64_t began_ns, int error, const uint64_t *arg,
		       uint32_t num_args);
#pragma GCC visibility pop

#endif
