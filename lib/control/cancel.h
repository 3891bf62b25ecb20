/* SPDX-License-Identifier: MIT */
/* Thread cancellation (pthread_cancel(3)). System calls that may wait are cancellation points, and
 * a thread that ends in one leaves its locks locked. NO_CANCEL at the top of a function keeps the
 * thread from ending in the function. Of the verbs, only ibv_get_cq_event and ibv_get_async_event
 * are cancellation points, while they wait. */
#ifndef RXE_CONTROL_CANCEL_H
#define RXE_CONTROL_CANCEL_H

#include <pthread.h>

#define NO_CANCEL                                                                                  \
	const int cancel_state __attribute__((cleanup(cancel_restore), unused)) = cancel_disable()

static inline int cancel_disable(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restore(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

#endif
