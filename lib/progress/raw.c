// SPDX-License-Identifier: MIT
/* Raw packets of a process: which processes of the device listen on its private wire, and the raw
 * port of a device on an interface. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "emu/container_of.h"
#include "emu/engine.h"
#include "emu/raw/frame.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "net/link/ethernet/raw_port.h"

/* Frames that one call of the raw port receives. */
#define FRAMES 16

static _Atomic uint64_t *raw_listeners(const struct progress *progress)
{
	return progress->attachment->shared->remote_requests.raw_listeners;
}

void host_raw_listens(void *host, bool yes)
{
	const struct progress *progress = host;
	const uint32_t slot = progress->attachment->slot;
	const uint64_t bit = 1ull << slot % 64;

	if (yes)
		atomic_fetch_or(&raw_listeners(progress)[slot / 64], bit);
	else
		atomic_fetch_and(&raw_listeners(progress)[slot / 64], ~bit);
}

uint32_t host_raw_listener(void *host, uint32_t slot)
{
	for (uint32_t i = slot / 64; i < RXE_MAX_SLOTS / 64; i++) {
		const uint64_t from = i == slot / 64 ? UINT64_MAX << slot % 64 : UINT64_MAX;
		const uint64_t bits = atomic_load(&raw_listeners(host)[i]) & from;

		if (bits)
			return i * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return RXE_MAX_SLOTS;
}

/* Wakes the threads that wait on the link. */
static int watch(const struct device_link *link, const struct raw_port *port)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_MAX };

	return epoll_ctl(link_wait_fd(link->phy), EPOLL_CTL_ADD, raw_port_fd(port), &event) == 0
		       ? 0
		       : -errno;
}

int device_link_open_raw(struct device_link *link)
{
	struct progress *progress = container_of(link, struct progress, link);
	struct raw_port *port;
	uint32_t mtu;
	int err;

	assert(progress->engine);
	if (link->raw_port)
		return 0;
	err = raw_port_open(&port, progress->info->if_name);
	if (err)
		return err;
	err = watch(link, port);
	if (err) {
		raw_port_close(port);
		return err;
	}
	mtu = raw_port_mtu(port) < WIRE_MAX_PAYLOAD ? raw_port_mtu(port) : WIRE_MAX_PAYLOAD;
	progress->engine->cfg.max_frame = mtu + RAW_ETH_LEN + RAW_VLAN_LEN;
	link->raw_port = port;
	return 0;
}

static struct ctl_slot *slot_of(const struct progress *progress)
{
	return &progress->attachment->shared->slot[progress->attachment->slot];
}

bool device_link_send_raw(struct device_link *link, const struct wire_train *train)
{
	const struct progress *progress = container_of(link, struct progress, link);

	if (!link->raw_port || link->is_closed)
		return true;
	return raw_port_send(link->raw_port, train, &slot_of(progress)->counters.send_err) == 0;
}

bool device_link_receive_raw(struct device_link *link, uint64_t now_ns)
{
	struct progress *progress = container_of(link, struct progress, link);
	struct raw_port_frame frames[FRAMES];
	int n;

	if (!link->raw_port || link->is_closed)
		return false;
	n = raw_port_receive(link->raw_port, frames, FRAMES,
			     &slot_of(progress)->lost.link_bad_frames);
	assert(n <= FRAMES);
	if (n < 0)
		progress_suspect_descriptors(progress);
	for (int i = 0; i < n; i++)
		rxe_engine_raw_input(progress->engine, frames[i].p, frames[i].len,
				     frames[i].lacks_checksum, now_ns);
	return n > 0;
}
