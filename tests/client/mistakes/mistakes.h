/* SPDX-License-Identifier: MIT */
/* The mistakes: a file each, which has the wrong program and, with right, the corrected one. */
#ifndef TESTS_CLIENT_MISTAKES_H
#define TESTS_CLIENT_MISTAKES_H

#include <stdbool.h>

/* In the order of lib/findings/table.h. */
#define MISTAKES(X)                                                                                \
	X(mem_send_changed)                                                                        \
	X(mem_receives_overlap)                                                                    \
	X(queue_cq_overflow)                                                                       \
	X(queue_unsignalled)                                                                       \
	X(event_lost_wake_up)                                                                      \
	X(event_not_acked)                                                                         \
	X(life_leak_close)                                                                         \
	X(life_used_after)                                                                         \
	X(life_twice)                                                                              \
	X(life_outstanding)

#define X(name) void name(bool right);
MISTAKES(X)
#undef X

#endif
