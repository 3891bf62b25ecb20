// SPDX-License-Identifier: MIT
/* Slots: which process has which receive socket, and what the next process must not inherit. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "lib/control/client.h"
#include "lib/control/log.h"
#include "lib/control/socket.h"
#include "net/link/socket.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/link/time_wait.h"
#include "rxe_dm/server/memory.h"
#include "rxe_dm/server/random.h"
#include "rxe_dm/server/slot.h"
#include "rxe_dm/server/xrc.h"

bool slots_init(struct device *device)
{
	struct ctl_slot *own = &device->shared->slot[0];

	assert(device->link.slots >= 2 && device->link.slots <= RXE_MAX_SLOTS);
	if (!index_queue_init(&device->slots.free, RXE_MAX_SLOTS))
		return false;
	/* Slot 0 is the server's: it gets runts, strays, and packets to unknown queue pairs. */
	ctl_slot_set_pid(device->shared, 0, (int32_t)getpid());
	memcpy(own->comm, "rxe_dm", 7);
	for (uint32_t slot = 1; slot < device->link.slots; slot++)
		index_queue_put(&device->slots.free, slot);
	return true;
}

static void read_comm(pid_t pid, char ret[static 16])
{
	char path[32];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(ret, 1, 15, f);
		fclose(f);
	}
	if (n && ret[n - 1] == '\n')
		n--;
	ret[n] = '\0';
}

/* Clears what the previous process left: packets, gauge, offered bytes. qpn_roll stays, so that QP
 * numbers are not used again soon. */
static void clean(struct device *device, uint32_t slot, pid_t pid)
{
	struct ctl_slot *shared = &device->shared->slot[slot];

	time_wait_end(device, slot);
	/* On an interface each process gets new sockets. A memory link skips by itself. */
	if (device->link.kind == CTL_LINK_UDP)
		udp_group_drain(&device->link.udp, slot);
	atomic_store(&shared->inside, 0);
	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++)
		atomic_store_explicit(&shared->offered[i], 0, memory_order_relaxed);
	/* The order of QP numbers differs for each slot and each run of the server. */
	if (!shared->qpn_key)
		random_fill(&shared->qpn_key, sizeof(shared->qpn_key));
	atomic_fetch_add(&shared->epoch, 1);
	read_comm(pid, shared->comm);
	ctl_slot_set_pid(device->shared, slot, (int32_t)pid);
}

/* A process reports its XRC targets, until it has closed its end. */
static void event_ready(struct loop_source *source, uint32_t events)
{
	const struct attachment *attachment = container_of(source, struct attachment, event);
	struct ctl_event event;

	if (!(events & EPOLLIN) || ctl_recv(source->fd, &event, sizeof(event), NULL, 0, NULL,
					    MSG_DONTWAIT) != sizeof(event)) {
		loop_del(&attachment->device->instance->loop, source);
		return;
	}
	target_event(attachment->device, attachment->slot, event.type, event.port);
}

int slot_take(struct device *device, struct conn *conn, int *ret_event_fd)
{
	struct attachment *attachment;
	int pair[2], rc;

	assert(!conn->attached[device->index]);
	if (device->slots.free.count == 0)
		return -ENOSPC;
	attachment = (struct attachment *)calloc(1, sizeof(*attachment));
	if (!attachment)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(attachment);
		return -errno;
	}
	*attachment = (struct attachment){ .device = device,
					   .conn = conn,
					   .slot = device->slots.free.first,
					   .event = { .fd = pair[0], .ready = event_ready },
					   .lost_fd = -1 };
	rc = loop_add(&device->instance->loop, &attachment->event, EPOLLIN);
	if (rc) {
		close(pair[0]);
		close(pair[1]);
		free(attachment);
		return rc;
	}
	(void)index_queue_take(&device->slots.free);
	assert(attachment->slot > 0 && !device->slots.at[attachment->slot]);
	clean(device, attachment->slot, conn->pid);
	grace_watch(&device->tables.grace, attachment->slot);
	device->slots.at[attachment->slot] = attachment;
	conn->attached[device->index] = attachment;
	*ret_event_fd = pair[1];
	return 0;
}

/* Frees the pages of the queue pairs but the first: writing each entry would allocate them all. */
static void forget_qps(struct device *device, uint32_t slot)
{
	struct ctl_slot *shared = &device->shared->slot[slot];
	off_t start = (off_t)(offsetof(struct ctl_shared, slot) + slot * sizeof(*shared));

	memset(shared->qp, 0, CTL_SHARED_PAGE - offsetof(struct ctl_slot, qp));
	fallocate(device->shared_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  start + CTL_SHARED_PAGE,
		  (off_t)offsetof(struct ctl_slot, time_wait) - CTL_SHARED_PAGE);
}

/* Adds the counters to the sums, so that the device's totals never fall. */
static void retire(struct ctl_shared *shared, struct ctl_slot *slot)
{
#define X(name) shared->retired.name += slot->counters.name;
	RXE_COUNTERS(X)
#undef X
	memset(&slot->counters, 0, sizeof(slot->counters));
	memset(slot->comm, 0, sizeof(slot->comm));
}

/* The kernel counts for each socket what it drops at a full receive buffer. The server reads the
 * counts on request and when a program exits, because the program may be stopped. A socket's count
 * wraps and is never reset; a slot gets what its socket adds while a process has it. */

/* -1: none, or the link is closed already: instance_fini() closes addresses first. */
static int socket_of(const struct device *device, uint32_t slot)
{
	if (device->link.lock.source.fd < 0)
		return -1;
	switch (device->link.kind) {
	case CTL_LINK_UDP: return device->link.udp.fd[slot];
	case CTL_LINK_ETHERNET:
		if (slot == 0)
			return device->link.ethernet.rx_fd;
		return device->slots.at[slot] ? device->slots.at[slot]->lost_fd : -1;
	case CTL_LINK_MEMORY: return -1;
	}
	return -1;
}

void slot_count_lost(struct device *device, uint32_t slot)
{
	assert(slot > 0 && device->slots.at[slot]);
	device->slots.lost_before[slot] = socket_drops(socket_of(device, slot));
}

static void update_lost(struct device *device, uint32_t slot)
{
	const int fd = socket_of(device, slot);
	uint32_t now;

	if (fd < 0)
		return;
	now = socket_drops(fd);
	device->shared->slot[slot].lost.link_recv_drops += now - device->slots.lost_before[slot];
	device->slots.lost_before[slot] = now;
}

static void update_foreign(struct device *device)
{
	const uint32_t now = udp_group_foreign(&device->link.udp);

	device->shared->lost.foreign_drops += now - device->slots.foreign_before;
	device->slots.foreign_before = now;
}

void slots_update_lost(struct device *device)
{
	update_foreign(device);
	update_lost(device, 0);
	for (uint32_t slot = 1; slot < device->link.slots; slot++) {
		if (device->slots.at[slot])
			update_lost(device, slot);
	}
}

static void retire_lost(struct device *device, uint32_t slot)
{
	struct ctl_lost *lost = &device->shared->slot[slot].lost;

	update_lost(device, slot);
#define X(name) device->shared->lost.name += lost->name;
	CTL_LOST(X)
#undef X
	*lost = (struct ctl_lost){ 0 };
}

/* Adds the counts of rules of a slot to their sums. */
static void retire_faults(struct device *device, uint32_t slot)
{
	struct ctl_fault_count *counts = device->shared->slot[slot].faults;
	struct ctl_faults *faults = &device->shared->faults;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (faults->at[i].id && atomic_load(&counts[i].id) == faults->at[i].id)
			faults->at[i].fired += atomic_load(&counts[i].fired);
		atomic_store(&counts[i].id, 0);
		atomic_store(&counts[i].fired, 0);
	}
}

void slots_send_event(const struct device *device, uint32_t type)
{
	const struct ctl_event event = { .type = type, .port = 1 };

	for (uint32_t slot = 1; slot < RXE_MAX_SLOTS; slot++) {
		if (device->slots.at[slot])
			ctl_send(device->slots.at[slot]->event.fd, &event, sizeof(event), NULL, 0,
				 MSG_DONTWAIT);
	}
}

static void keep_failures(struct ctl_shared *shared, const struct ctl_slot_failures *failures)
{
	struct ctl_kept_failures *kept = &shared->failures;
	const uint32_t count = atomic_load(&failures->count);
	const uint32_t some = count < CTL_FAILURES_OF_SLOT ? count : CTL_FAILURES_OF_SLOT;

	for (uint32_t i = count - some; i != count; i++) {
		const uint32_t place = atomic_load(&kept->count);

		kept->at[place % CTL_FAILURES_KEPT] = failures->at[i % CTL_FAILURES_OF_SLOT];
		atomic_store(&kept->count, place + 1);
	}
}

static void keep_refusals(struct ctl_shared *shared, const struct ctl_slot_refusals *refusals)
{
	struct ctl_kept_refusals *kept = &shared->refusals;
	const uint32_t count = atomic_load(&refusals->count);
	const uint32_t some = count < CTL_REFUSALS_OF_SLOT ? count : CTL_REFUSALS_OF_SLOT;

	for (uint32_t i = count - some; i != count; i++) {
		const uint32_t place = atomic_load(&kept->count);

		kept->at[place % CTL_REFUSALS_KEPT] = refusals->at[i % CTL_REFUSALS_OF_SLOT];
		atomic_store(&kept->count, place + 1);
	}
}

void slot_give(struct attachment *attachment)
{
	struct device *device = attachment->device;
	uint32_t slot = attachment->slot;

	assert(device->slots.at[slot] == attachment);
	grace_unwatch(&device->tables.grace, slot);
	ctl_slot_set_pid(device->shared, slot, 0);
	atomic_store(&device->shared->slot[slot].inside, 0);
	atomic_fetch_and(&device->shared->remote_requests.raw_listeners[slot / 64],
			 ~(1ull << slot % 64));
	retire(device->shared, &device->shared->slot[slot]);
	retire_lost(device, slot);
	keep_failures(device->shared, &device->shared->slot[slot].failures);
	keep_refusals(device->shared, &device->shared->slot[slot].refusals);
	retire_faults(device, slot);
	forget_qps(device, slot);
	device->slots.at[slot] = NULL;
	index_queue_put(&device->slots.free, slot);
	time_wait_begin(device, slot);
	if (device->link.kind == CTL_LINK_MEMORY && !time_wait_has(device, slot))
		memory_device_detach(device, slot);
	targets_of_slot_ended(device, slot);
	attachment->conn->attached[device->index] = NULL;
	loop_close(&device->instance->loop, &attachment->event);
	if (attachment->lost_fd >= 0)
		close(attachment->lost_fd);
	free(attachment);
}
