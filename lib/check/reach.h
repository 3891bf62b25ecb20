/* SPDX-License-Identifier: MIT */
/* What a program that ends can still reach, as LeakSanitizer defines it: through its global
 * variables, the stack of a call to exit(3), and from there through the heap. */
#ifndef RXE_CHECK_REACH_H
#define RXE_CHECK_REACH_H

#include <stdbool.h>

/* Marks the live objects that are reachable (check_object.reached). False: unknown, because other
 * threads of the program run. Under the layer's lock, in the thread that ends the program. */
bool reach_mark(void);
/* Objects of librdmacm are not reached by the variables of the library that is loaded here. */
void reach_without(const void *start);

#endif
