// SPDX-License-Identifier: MIT
/* The raw port of a device: see raw.h. */
#include "lib/progress/raw.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "emu/engine.h"
#include "emu/raw/frame.h"
#include "lib/progress/descriptors.h"
#include "lib/progress/progress.h"
#include "net/link/descriptor.h"
#include "net/link/ethernet/raw_port.h"
#include "net/link/link.h"
#include "net/wire/train.h"

#define FRAMES 16

static struct ctl_slot *slot_of(const struct progress *progress)
{
	return &progress->attachment->shared->slot[progress->attachment->slot];
}

/* Wakes the threads that wait on the link. */
static int watch(const struct progress *progress, const struct raw_port *port)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_MAX };

	return epoll_ctl(link_wait_fd(progress->link.phy), EPOLL_CTL_ADD, raw_port_fd(port),
			 &event) == 0
		       ? 0
		       : -errno;
}

int raw_open(struct progress *progress)
{
	struct raw_port *port;
	uint32_t mtu;
	int err;

	assert(progress->engine);
	if (progress->raw_port)
		return 0;
	err = raw_port_open(&port, progress->info->if_name);
	if (err)
		return err;
	err = watch(progress, port);
	if (err) {
		raw_port_close(port);
		return err;
	}
	mtu = raw_port_mtu(port) < WIRE_MAX_PAYLOAD ? raw_port_mtu(port) : WIRE_MAX_PAYLOAD;
	progress->engine->cfg.max_frame = mtu + RAW_ETH_LEN + RAW_VLAN_LEN;
	progress->raw_port = port;
	return 0;
}

void raw_close(struct progress *progress)
{
	raw_port_close(progress->raw_port);
	progress->raw_port = NULL;
}

bool raw_has_descriptors(const struct progress *progress)
{
	return !progress->raw_port || descriptor_is_kept(raw_port_fd(progress->raw_port));
}

bool raw_send(struct progress *progress, const struct wire_train *train)
{
	if (!progress->raw_port || progress->link.is_closed)
		return true;
	return raw_port_send(progress->raw_port, train, &slot_of(progress)->counters.send_err) == 0;
}

bool raw_receive(struct progress *progress, uint64_t now_ns)
{
	struct raw_port_frame frames[FRAMES];
	int n;

	if (!progress->raw_port || progress->link.is_closed)
		return false;
	n = raw_port_receive(progress->raw_port, frames, FRAMES,
			     &slot_of(progress)->lost.link_bad_frames);
	if (n < 0)
		descriptors_suspect(progress);
	for (int i = 0; i < n; i++)
		rxe_engine_raw_input(progress->engine, frames[i].p, frames[i].len,
				     frames[i].lacks_checksum, now_ns);
	return n > 0;
}
