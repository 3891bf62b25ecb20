/* SPDX-License-Identifier: MIT */
/* RXE-MEM-002 and 003: outstanding requests that write to the same bytes; a send of bytes that an
 * outstanding request writes to. */
#ifndef RXE_CHECK_MEM_OVERLAP_H
#define RXE_CHECK_MEM_OVERLAP_H

struct check_request;

void mem_overlap_posting(struct check_request *request);
void mem_overlap_ended(struct check_request *request);

#endif
