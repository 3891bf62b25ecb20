// SPDX-License-Identifier: MIT
/* Opens a device's link and stacks the wrappers that are in use over it. */
#include "lib/progress/link.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "emu/engine.h"
#include "emu/raw/frame.h"
#include "emu/supported.h"
#include "lib/control/log.h"
#include "lib/progress/local_peer.h"
#include "lib/progress/progress.h"
#include "lib/progress/unkind.h"
#include "net/link/capture/recorder.h"
#include "net/link/capture/tail.h"
#include "net/link/descriptor.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/ethernet/raw_port.h"
#include "net/link/fault/link.h"
#include "net/link/memory/memory.h"
#include "net/link/udp/udp.h"

static struct progress *progress_of(struct device_link *link)
{
	return container_of(link, struct progress, link);
}

static void log_line(void *arg, const char *line)
{
	(void)arg;
	ctl_log(CTL_LOG_WARNING, "%s", line);
}

static int open_udp(const struct progress *progress, struct link **ret)
{
	struct udp_cfg cfg = {
		.gid = progress->info->gids[0],
		.rx_fd = progress->attachment->rx_fd,
		.trains = progress->info->trains,
		.log.write = log_line,
	};

	memcpy(cfg.tx_port, progress->attachment->shared->tx_ports, sizeof(cfg.tx_port));
	return udp_open(ret, &cfg);
}

/* The device server answers address resolution; this process only resolves the neighbors that it
 * sends to. */
static int open_ethernet(const struct progress *progress, struct link **ret)
{
	struct ethernet_cfg cfg = {
		.ifname = progress->info->if_name,
		.gid = progress->info->gids[0],
		.prefix_len = progress->info->prefix_len,
		.gateway = progress->info->gateway,
		.slot = progress->attachment->slot,
		.rx_fd = progress->attachment->rx_fd,
		.tx_fd = progress->attachment->tx_fd,
		.log.write = log_line,
	};

	memcpy(cfg.mac, progress->info->mac, sizeof(cfg.mac));
	return ethernet_open(ret, &cfg);
}

/* Calls the device server under the engine lock, the first time that two processes have to do with
 * each other. Never waits for another thread: that one may wait for the end of this turn. */
static int meet(void *arg, uint32_t from, uint32_t to, uint32_t *ret_epoch)
{
	const struct progress *progress = arg;

	(void)from;
	return ctl_meet(progress->attachment->client, progress->info->index, to, ret_epoch);
}

static int open_memory(struct progress *progress, struct link **ret)
{
	const struct memory_cfg cfg = {
		.gid = progress->info->gids[0],
		.slot = progress->attachment->slot,
		.hub_fd = progress->attachment->hub_fd,
		.file_fd = progress->attachment->tx_fd,
		.doorbell_fd = progress->attachment->rx_fd,
		.bells = progress->attachment->shared->remote_requests.bells,
		.meet = meet,
		.meet_arg = progress,
		.trains = progress->info->trains,
		.icrc = progress->info->icrc,
		.log.write = log_line,
	};

	return memory_open(ret, &cfg);
}

static int open_phy(struct progress *progress, struct link **ret)
{
	switch ((enum ctl_link)progress->info->link) {
	case CTL_LINK_UDP: return open_udp(progress, ret);
	case CTL_LINK_ETHERNET: return open_ethernet(progress, ret);
	case CTL_LINK_MEMORY: return open_memory(progress, ret);
	}
	return -EPROTO;
}

static struct ctl_slot *slot_of(struct device_link *link)
{
	const struct ctl_attachment *at = progress_of(link)->attachment;

	return &at->shared->slot[at->slot];
}

/* Adds what the link counted since the last call to a counter of the slot. */
static void report(uint64_t *reported, uint64_t counted, uint64_t *counter)
{
	assert(counted >= *reported);
	*counter += counted - *reported;
	*reported = counted;
}

static void report_send_errors(struct device_link *link)
{
	if (link->phy->stats.send_errors != link->reported.send_errors)
		report(&link->reported.send_errors, link->phy->stats.send_errors,
		       &slot_of(link)->counters.send_err);
}

/* Arrivals are counted here, before rules drop or double them. */
static void metered_arrived(void *arg, const struct wire_arrival *arrivals, size_t n)
{
	struct device_link *link = arg;

	if (link->phy->stats.bad_frames != link->reported.bad_frames)
		report(&link->reported.bad_frames, link->phy->stats.bad_frames,
		       &slot_of(link)->lost.link_bad_frames);
	/* Errors of packets that the fault link held back and sent meanwhile. */
	report_send_errors(link);
	link->is_dry = n == 0;
	if (n > 0)
		credits_returned(progress_of(link), arrivals, (int)n);
}

static const struct tap_observer metering = { .arrived = metered_arrived };

/* From the bottom to the top; net/link/link.h gives the reason for the order. */
void device_link_stack(struct device_link *link)
{
	const bool shows_packets = link->recorder || link->faults.link || link->unkind;
	struct link *top = tap_over(&link->meter, link->phy, &metering, link);

	if (link->unkind)
		top = progress_unkind_over(link->unkind, top);
	if (link->tail)
		top = tap_over(&link->departures[0], top, &tail_departures, link->tail);
	if (link->recorder)
		top = tap_over(&link->departures[1], top, &recorder_departures, link->recorder);
	if (link->faults.link)
		top = fault_link_over(link->faults.link, top);
	if (link->recorder)
		top = tap_over(&link->arrivals[1], top, &recorder_arrivals, link->recorder);
	if (link->tail)
		top = tap_over(&link->arrivals[0], top, &tail_arrivals, link->tail);
	link->top = top;
	link->holds_packets = link->faults.link || link->unkind;
	link->needs_icrc = shows_packets || link_needs_icrc(link->phy);
	if (link_complete_arrivals(link->phy, shows_packets) != 0)
		ctl_log(CTL_LOG_WARNING, "no memory to show packets that arrive with their ICRC");
}

void device_link_capture(struct progress *progress, int fd)
{
	struct device_link *link = &progress->link;
	struct recorder *last;

	pthread_mutex_lock(&progress->lock);
	/* A child of fork() closes what it finds here. */
	last = link->recorder;
	link->recorder = NULL;
	recorder_close(last);
	link->recorder = fd >= 0 && link->phy ? capture_open(progress, fd) : NULL;
	if (link->phy)
		device_link_stack(link);
	pthread_mutex_unlock(&progress->lock);
	if (fd >= 0)
		close(fd);
}

static bool wants_tail(void)
{
	const char *setting = secure_getenv("RXE_DM_TAIL");

	return !setting || strcmp(setting, "0") != 0;
}

int device_link_open(struct progress *progress, const uint64_t *now_ns)
{
	struct device_link *link = &progress->link;
	int err;

	/* device_link_close() has closed the link of an earlier attachment. */
	assert(!link->phy && !link->recorder && !link->tail);
	err = open_phy(progress, &link->phy);
	if (err)
		return err;
	link->reported = (struct link_stats){ 0 };
	link->is_closed = false;
	link->tail = wants_tail() ? tail_open(now_ns) : NULL;
	faults_open(&link->faults, progress);
	link->unkind = progress_unkind_open();
	device_link_stack(link);
	return 0;
}

void device_link_close(struct device_link *link)
{
	faults_close(&link->faults);
	recorder_close(link->recorder);
	link->recorder = NULL;
	tail_close(link->tail);
	link->tail = NULL;
	if (RXE_RAW_SUPPORTED)
		raw_port_close(link->raw_port);
	link->raw_port = NULL;
	progress_unkind_close(link->unkind);
	link->unkind = NULL;
	link_close(link->phy);
	link->phy = link->top = NULL;
}

bool device_link_has_descriptors(const struct device_link *link)
{
	return link_has_descriptors(link->phy) && (!RXE_RAW_SUPPORTED || !link->raw_port ||
						   descriptor_is_kept(raw_port_fd(link->raw_port)));
}

static void follow_rules(struct device_link *link)
{
	if (faults_follow(&link->faults))
		device_link_stack(link);
}

void device_link_follow_rules(struct device_link *link)
{
	if (!link->is_closed && !link->is_in_space && faults_changed(&link->faults))
		follow_rules(link);
}

int device_link_join(struct device_link *link, const struct gid *group)
{
	const int err = link_join(link->phy, group);

	progress_thread_wake(progress_of(link));
	return err;
}

uint8_t *device_link_space(struct device_link *link, const struct gid *dst, uint32_t slot)
{
	uint8_t *space = NULL;

	if (!faults_apply(&link->faults))
		space = link_space(link->phy, dst, slot);
	link->is_in_space = space != NULL;
	return space;
}

/* A train that was built before a wrapper came into use has no ICRCs yet. */
static void add_icrcs(const struct device_link *link, struct wire_train *train)
{
	uint16_t ports[RXE_MAX_TX_PORTS];
	const uint32_t num_ports = link_tx_ports(link->phy, ports, RXE_MAX_TX_PORTS);

	assert(train->tx_index < num_ports);
	wire_train_add_icrcs(train, ports[train->tx_index]);
}

static int send_on(struct device_link *link, struct wire_train *trains, size_t n)
{
	for (size_t i = 0; i < n && link->needs_icrc; i++)
		if (trains[i].no_icrc)
			add_icrcs(link, &trains[i]);
	return link_send(link->top, trains, n);
}

int device_link_send(struct device_link *link, struct wire_train *trains, size_t n)
{
	int sent;

	assert(n > 0);
	if (link->is_closed)
		return (int)n;
	/* Rules that came while the train was built begin with the next one. */
	if (!link->is_in_space && faults_apply(&link->faults)) {
		follow_rules(link);
		sent = send_on(link, trains, n);
		faults_report(&link->faults);
	} else {
		sent = send_on(link, trains, n);
	}
	link->is_in_space = false;
	report_send_errors(link);
	return sent;
}

int device_link_receive(struct device_link *link, struct wire_arrival *ret, size_t max)
{
	int n;

	if (link->is_closed)
		return 0;
	if (!faults_apply(&link->faults))
		return link_receive(link->top, ret, max);
	follow_rules(link);
	n = link_receive(link->top, ret, max);
	faults_report(&link->faults);
	return n;
}

struct gid device_link_gid(const struct progress *progress, uint32_t index)
{
	const struct ctl_shared *shared = progress->attachment->shared;
	uint32_t before;
	struct gid ret;

	assert(index < RXE_MAX_GIDS);
	/* The table changes between two odd moments of the generation. */
	do {
		before = atomic_load(&shared->faults.generation);
		ret = shared->gids[index];
		atomic_thread_fence(memory_order_acquire);
	} while (before & 1 || atomic_load(&shared->faults.generation) != before);
	return ret;
}

void device_link_follow_gids(struct progress *progress)
{
	const uint32_t now = atomic_load(&progress->attachment->shared->faults.generation);

	assert(progress->engine && progress_is_locked(progress));
	if (now == progress->gids_at)
		return;
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++)
		progress->engine->cfg.gids[i] = device_link_gid(progress, i);
	progress->gids_at = now & ~1u;
}
