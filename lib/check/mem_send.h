/* SPDX-License-Identifier: MIT */
/* RXE-MEM-001: a send buffer that was changed before its completion was polled. */
#ifndef RXE_CHECK_MEM_SEND_H
#define RXE_CHECK_MEM_SEND_H

struct check_request;

/* Keeps a copy of what the request will send. */
void mem_send_posting(struct check_request *request);
/* Compares it with what the buffer holds now. In a turn (lib/progress/memory.h). */
void mem_send_completed(struct check_request *request);

#endif
