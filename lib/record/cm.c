// SPDX-License-Identifier: MIT
/* The names under which the record build of librdmacm.so.1 finds the file of calls. */
#include "lib/record/cm.h"

#include "lib/record/ring.h"

uint64_t rxe_dm_record_now(void)
{
	return record_now();
}

void rxe_dm_record_add(enum record_verb verb, uint64_t began_ns, int error, const uint64_t *arg,
		       uint32_t num_args)
{
	record_add(verb, began_ns, error, arg, num_args);
}
