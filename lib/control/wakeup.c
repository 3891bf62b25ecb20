// SPDX-License-Identifier: MIT
/* Wake-ups of threads that let others go on. */
#include "lib/control/wakeup.h"

#include <sched.h>
#include <stdbool.h>

static __thread bool is_deferred;

static bool exchange(int from, int to)
{
	const struct sched_param none = { 0 };
	const int policy = sched_getscheduler(0);
	const int flag = policy & SCHED_RESET_ON_FORK;

	return policy == (from | flag) && sched_setscheduler(0, to | flag, &none) == 0;
}

void ctl_wakeup_defer(void)
{
	if (!is_deferred)
		is_deferred = exchange(SCHED_OTHER, SCHED_BATCH);
}

void ctl_wakeup_restore(void)
{
	if (!is_deferred)
		return;
	exchange(SCHED_BATCH, SCHED_OTHER);
	is_deferred = false;
}
