// SPDX-License-Identifier: MIT
/* The unit of the schedule: see measure.h and call_cost.h. */
#include "lib/progress/measure.h"

#include <sys/resource.h>

#include "lib/progress/schedule.h"
#include "net/link/clock.h"

uint64_t measure_call(struct schedule *schedule)
{
	const uint64_t began_ns = clock_now_ns();
	struct rusage usage;
	uint64_t ended_ns;

	(void)getrusage(RUSAGE_THREAD, &usage);
	ended_ns = clock_now_ns();
	schedule_call_measured(schedule, ended_ns - began_ns);
	return ended_ns;
}
