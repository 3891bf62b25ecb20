// SPDX-License-Identifier: MIT
/* Programs that are stopped, and the programs that wait for them. */
#include <inttypes.h>
#include <jansson.h>

#include "lib/control/process.h"
#include "lib/control/settings.h"
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

/* A program of the device. Returns whether it is stopped. */
static bool show_local(const struct ctl_shared *shared, uint32_t slot, FILE *to)
{
	static struct view_stopped stopped;

	view_stopped(shared, slot, &stopped);
	if (!stopped.is_stopped)
		return false;
	fprintf(to, "  stopped:");
	show_program(&shared->slot[slot], to);
	if (stopped.num_waiting)
		fprintf(to,
			", for at least %" PRIu64 " s; waiting for it:", age_s(stopped.since_ns));
	for (uint32_t k = 0; k < stopped.num_waiting; k++)
		show_program(&shared->slot[stopped.waiting[k]], to);
	fprintf(to, "\n");
	return true;
}

/* The next peer on another device that this slot's program waits for, from *next on; NULL: no
 * more. */
static const struct ctl_stopped_elsewhere *next_elsewhere(const struct ctl_slot *slot,
							  uint32_t *next)
{
	while (*next < CTL_STOPPED_ELSEWHERE) {
		const struct ctl_stopped_elsewhere *at = &slot->stopped_elsewhere[(*next)++];
		const uint32_t epoch = atomic_load(&at->peer.epoch);

		if (epoch && waits(slot, &at->peer, epoch, clock_now_ns()) &&
		    ctl_process_is_stopped(at->pid))
			return at;
	}
	return NULL;
}

/* Programs of other instances that this slot's program waits for. Returns whether there are any. */
static bool show_elsewhere(const struct ctl_slot *slot, FILE *to)
{
	const struct ctl_stopped_elsewhere *at;
	char address[CTL_GID_STR_MAX], comm[16], instance[sizeof(at->instance)];
	uint32_t next = 0;
	bool any = false;

	while ((at = next_elsewhere(slot, &next))) {
		any = true;
		fprintf(to,
			"  stopped: %s[%d] of instance '%s' (%s), for at least %" PRIu64
			" s; waiting for it:",
			view_plain(comm, sizeof(comm), at->comm, 15), (int)at->pid,
			view_plain(instance, sizeof(instance), at->instance,
				   sizeof(at->instance) - 1),
			ctl_gid_str(&at->gid, address), age_s(atomic_load(&at->peer.since_ns)));
		show_program(slot, to);
		fprintf(to, "\n");
	}
	return any;
}

void show_stopped(const struct view_device *device, FILE *to)
{
	const struct ctl_shared *shared = device->shared;
	bool any = false;

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		if (!shared->slot[i].pid)
			continue;
		any |= show_local(shared, i, to);
		any |= show_elsewhere(&shared->slot[i], to);
	}
	if (any)
		fprintf(to, "\n");
}

static json_t *json_elsewhere(const struct ctl_stopped_elsewhere *at)
{
	char address[CTL_GID_STR_MAX], comm[16], instance[sizeof(at->instance)];
	json_t *ret = json_object();

	json_object_set_new(ret, "pid", json_integer(at->pid));
	json_object_set_new(ret, "comm", json_string(view_plain(comm, sizeof(comm), at->comm, 15)));
	json_object_set_new(ret, "instance",
			    json_string(view_plain(instance, sizeof(instance), at->instance,
						   sizeof(at->instance) - 1)));
	json_object_set_new(ret, "address", json_string(ctl_gid_str(&at->gid, address)));
	json_object_set_new(ret, "stopped_s",
			    json_integer((json_int_t)age_s(atomic_load(&at->peer.since_ns))));
	return ret;
}

static void show_json_waits(json_t *to, const struct ctl_slot *slot)
{
	const struct ctl_stopped_elsewhere *at;
	json_t *ret = json_array();
	uint32_t next = 0;

	while ((at = next_elsewhere(slot, &next)))
		json_array_append_new(ret, json_elsewhere(at));
	if (json_array_size(ret))
		json_object_set(to, "waits_for", ret);
	json_decref(ret);
}

void show_json_stopped(json_t *to, const struct ctl_shared *shared, uint32_t slot)
{
	static struct view_stopped stopped;
	json_t *waiting;

	show_json_waits(to, &shared->slot[slot]);
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
