/* SPDX-License-Identifier: MIT */
/* RXE-MEM-004 for local variables: the function that has them returned while a request needs them.
 * Seen when the thread that posted the request calls a verb from further up its stack. */
#ifndef RXE_CHECK_MEM_STACK_H
#define RXE_CHECK_MEM_STACK_H

struct check_request;

/* After held_add(). */
void mem_stack_posting(struct check_request *request);
void mem_stack_ended(struct check_request *request);
/* frame: of the verb's own function; the program's frames are above. */
void mem_stack_called(const void *frame);

#endif
