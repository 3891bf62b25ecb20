/* SPDX-License-Identifier: MIT */
/* RXE-MEM-007: the program writes to a buffer that the device is going to write to. The first
 * ARRIVAL_BYTES of each are compared, when the device writes, with what they were at the post.
 * Memory that peers may write to at any time is left out, and so are buffers that share bytes with
 * one another (RXE-MEM-002). */
#ifndef RXE_CHECK_MEM_ARRIVAL_H
#define RXE_CHECK_MEM_ARRIVAL_H

#include <stdbool.h>
#include <stddef.h>

#define ARRIVAL_BYTES 4096u

struct check_request;

void mem_arrival_posting(struct check_request *request);
void mem_arrival_ended(struct check_request *request);

/* What the library calls in place of memory_copy_in_order(). Without the layer's lock. */
bool check_copy_in_order(void *dst, const void *src, size_t len);

#endif
