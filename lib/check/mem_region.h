/* SPDX-License-Identifier: MIT */
/* RXE-MEM-006: a region is deregistered while requests need it. */
#ifndef RXE_CHECK_MEM_REGION_H
#define RXE_CHECK_MEM_REGION_H

struct check_object;

void mem_region_ending(const struct check_object *object);

#endif
