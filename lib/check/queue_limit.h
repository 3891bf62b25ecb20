/* SPDX-License-Identifier: MIT */
/* RXE-QUEUE-001 and 002: more requests than the queues can take. */
#ifndef RXE_CHECK_QUEUE_LIMIT_H
#define RXE_CHECK_QUEUE_LIMIT_H

struct check_queue;
struct check_request;

void queue_limit_posting(const struct check_request *request);
void queue_limit_posted(const struct check_queue *queue);

#endif
