// SPDX-License-Identifier: MIT
/* Calls that were refused, and why: for each program the last ones. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inject/value.h"
#include "net/link/clock.h"
#include "rxe_dm/command/view.h"

#define MAX_REFUSALS (CTL_REFUSALS_KEPT + RXE_MAX_SLOTS * CTL_REFUSALS_OF_SLOT)
#define IN_THE_TABLE 8

/* Processes go on writing: a record may be replaced by a newer one, which is complete. */
static size_t take(const struct ctl_refusal **ret, size_t n, const struct ctl_refusal *at,
		   uint32_t count, uint32_t places)
{
	const uint32_t some = count < places ? count : places;

	for (uint32_t i = count - some; i != count; i++)
		ret[n++] = &at[i % places];
	return n;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t at = (*(const struct ctl_refusal *const *)a)->time_ns;
	const uint64_t bt = (*(const struct ctl_refusal *const *)b)->time_ns;

	return at < bt ? -1 : at > bt;
}

/* Of programs that run and of those that have exited, oldest first. */
static size_t refusals_of(const struct view_device *device,
			  const struct ctl_refusal *ret[static MAX_REFUSALS])
{
	const struct ctl_shared *shared = device->shared;
	size_t n = take(ret, 0, shared->refusals.at, atomic_load(&shared->refusals.count),
			CTL_REFUSALS_KEPT);

	CTL_FOR_EACH_USED_SLOT (shared, slot) {
		const struct ctl_slot_refusals *of = &shared->slot[slot].refusals;

		n = take(ret, n, of->at, atomic_load(&of->count), CTL_REFUSALS_OF_SLOT);
	}
	qsort(ret, n, sizeof(*ret), by_time);
	return n;
}

void show_refusals(const struct view_device *device, FILE *to)
{
	const struct ctl_refusal *refusals[MAX_REFUSALS];
	const size_t n = refusals_of(device, refusals);
	const uint64_t now = clock_now_ns();

	if (n == 0)
		return;
	fprintf(to, "  recent calls that were refused:\n");
	for (size_t i = n > IN_THE_TABLE ? n - IN_THE_TABLE : 0; i < n; i++) {
		const struct ctl_refusal *one = refusals[i];
		const uint64_t age_ns = now > one->time_ns ? now - one->time_ns : 0;
		char comm[16], call[CTL_REFUSAL_CALL], why[CTL_REFUSAL_WHY];

		fprintf(to, "  %" PRIu64 " s ago, %s[%d] ", age_ns / 1000000000,
			view_plain(comm, sizeof(comm), one->comm, sizeof(one->comm)),
			(int)one->pid);
		if (one->times > 1)
			fprintf(to, "%u times ", one->times);
		fprintf(to, "%s: %s: %s\n",
			view_plain(call, sizeof(call), one->call, sizeof(one->call)),
			strerror(one->error),
			view_plain(why, sizeof(why), one->why, sizeof(one->why)));
	}
	fprintf(to, "\n");
}

json_t *show_json_refusals(const struct view_device *device)
{
	const struct ctl_refusal *refusals[MAX_REFUSALS];
	const size_t n = refusals_of(device, refusals);
	json_t *ret = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct ctl_refusal *one = refusals[i];
		char comm[16], call[CTL_REFUSAL_CALL], why[CTL_REFUSAL_WHY];

		view_plain(comm, sizeof(comm), one->comm, sizeof(one->comm));
		view_plain(call, sizeof(call), one->call, sizeof(one->call));
		view_plain(why, sizeof(why), one->why, sizeof(one->why));
		json_array_append_new(
			ret, json_pack("{s:I, s:i, s:s, s:s, s:s?, s:I, s:s}", "time_ns",
				       (json_int_t)one->epoch_ns, "pid", (int)one->pid, "comm",
				       comm, "call", call, "error", inject_errno_name(one->error),
				       "times", (json_int_t)one->times, "reason", why));
	}
	return ret;
}
