/* SPDX-License-Identifier: MIT */
/* The memory that outstanding requests hold, from post to completion: the ranges of all requests
 * but inline ones. Under the layer's lock, but for held_overlaps(). */
#ifndef RXE_CHECK_HELD_H
#define RXE_CHECK_HELD_H

#include <stdbool.h>
#include <stdint.h>

struct check_range;
struct check_request;

void held_add(struct check_request *request);
void held_remove(struct check_request *request);

bool held_any(void);
/* May a request hold a byte of [start, end)? Takes no lock of the layer: this is asked of each
 * block that the program frees, in any thread. */
bool held_overlaps(uintptr_t start, uintptr_t end);
/* May the device still access the memory of the request? */
bool held_is_live(const struct check_request *request);
/* A range with a byte of [start, end) that the device may still access; NULL: none. */
struct check_range *held_find(uintptr_t start, uintptr_t end);
/* Calls visit for each range; held_each_at(): that has a byte of [start, end). */
void held_each(void (*visit)(struct check_range *range, void *arg), void *arg);
void held_each_at(uintptr_t start, uintptr_t end,
		  void (*visit)(struct check_range *range, void *arg), void *arg);

#endif
