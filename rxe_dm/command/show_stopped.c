// SPDX-License-Identifier: MIT
/* Programs that are stopped, and the programs that wait for them. */
#include <inttypes.h>
#include <jansson.h>

#include "lib/control/process.h"
#include "lib/control/shared.h"
#include "net/link/clock.h"
#include "rxe_dm/command/view.h"

/* A program that waits looks again every 100 ms (RXE_STOPPED_NS), if it is not stopped as well. */
#define RECENT_NS 2000000000ull

static bool waits(const struct ctl_slot *slot, const struct ctl_stopped_peer *peer, uint32_t epoch,
		  uint64_t now_ns)
{
	return atomic_load(&peer->epoch) == epoch &&
	       (now_ns < atomic_load(&peer->asked_ns) + RECENT_NS ||
		ctl_process_is_stopped(slot->pid));
}

void view_stopped(const struct ctl_shared *shared, uint32_t slot, struct view_stopped *ret)
{
	const uint32_t epoch = atomic_load(&shared->slot[slot].epoch);
	const uint64_t now_ns = clock_now_ns();

	ret->is_stopped = ctl_process_is_stopped(shared->slot[slot].pid);
	ret->num_waiting = 0;
	ret->since_ns = 0;
	for (uint32_t i = 1; i < RXE_MAX_SLOTS && ret->is_stopped; i++) {
		const struct ctl_stopped_peer *peer = &shared->slot[i].stopped_peers[slot];
		const uint64_t since_ns = atomic_load(&peer->since_ns);

		if (!shared->slot[i].pid || !waits(&shared->slot[i], peer, epoch, now_ns))
			continue;
		ret->waiting[ret->num_waiting++] = i;
		if (ret->since_ns == 0 || since_ns < ret->since_ns)
			ret->since_ns = since_ns;
	}
}

static uint64_t age_s(uint64_t since_ns)
{
	const uint64_t now_ns = clock_now_ns();

	return now_ns > since_ns ? (now_ns - since_ns) / 1000000000 : 0;
}

static void show_program(const struct ctl_slot *slot, FILE *to)
{
	char comm[16];

	fprintf(to, " %s[%d]", view_plain(comm, sizeof(comm), slot->comm, 15), (int)slot->pid);
}

void show_stopped(const struct view_device *device, FILE *to)
{
	static struct view_stopped stopped;
	bool any = false;

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		if (!device->shared->slot[i].pid)
			continue;
		view_stopped(device->shared, i, &stopped);
		if (!stopped.is_stopped)
			continue;
		any = true;
		fprintf(to, "  stopped:");
		show_program(&device->shared->slot[i], to);
		if (stopped.num_waiting)
			fprintf(to, ", for at least %" PRIu64 " s; waiting for it:",
				age_s(stopped.since_ns));
		for (uint32_t k = 0; k < stopped.num_waiting; k++)
			show_program(&device->shared->slot[stopped.waiting[k]], to);
		fprintf(to, "\n");
	}
	if (any)
		fprintf(to, "\n");
}

void show_json_stopped(json_t *to, const struct ctl_shared *shared, uint32_t slot)
{
	static struct view_stopped stopped;
	json_t *waiting;

	view_stopped(shared, slot, &stopped);
	json_object_set_new(to, "stopped", json_boolean(stopped.is_stopped));
	if (!stopped.num_waiting)
		return;
	waiting = json_array();
	for (uint32_t i = 0; i < stopped.num_waiting; i++)
		json_array_append_new(waiting, json_integer(shared->slot[stopped.waiting[i]].pid));
	json_object_set_new(to, "stopped_s", json_integer((json_int_t)age_s(stopped.since_ns)));
	json_object_set_new(to, "waiting", waiting);
}
