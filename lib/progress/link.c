// SPDX-License-Identifier: MIT
/* Where packets leave and enter: the device's link, chosen when the process attaches. */
#include "lib/progress/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/container_of.h"
#include "lib/progress/capture.h"
#include "lib/progress/credits.h"
#include "lib/progress/ethernet.h"
#include "lib/progress/fault.h"
#include "lib/progress/log.h"
#include "lib/progress/progress.h"
#include "lib/progress/tail.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/udp/udp.h"

static void link_says(void *arg, const char *line)
{
	(void)arg;
	rxe_log(RXE_LOG_WARNING, "%s", line);
}

static int open_udp(const struct progress *progress, struct link **ret)
{
	struct udp_cfg cfg = {
		.gid = progress->info->gids[0],
		.rx_fd = progress->attachment->rx_fd,
		.trains = progress->info->trains,
		.log = link_says,
	};

	memcpy(cfg.tx_port, progress->attachment->shared->tx_ports, sizeof(cfg.tx_port));
	return udp_open(ret, &cfg);
}

int vb_wire_open(struct progress *progress)
{
	struct vb_wire *wire = &progress->wire;

	int err = vb_fault_open(progress);

	if (err)
		return err;
	wire->counters = &progress->attachment->shared->slot[progress->attachment->slot].counters;
	wire->lost = &progress->attachment->shared->slot[progress->attachment->slot].lost;
	wire->told_errors = wire->told_bad = 0;
	vb_tail_open(progress);
	switch (progress->info->link) {
	case CTL_LINK_UDP: return open_udp(progress, &wire->phy);
	case CTL_LINK_VETH: return vb_wire_veth_open(progress, &wire->phy);
	}
	return -EPROTO;
}

void vb_wire_close(struct vb_wire *wire)
{
	vb_fault_close(wire);
	vb_capture_close(wire);
	free(wire->tail);
	wire->tail = NULL;
	link_close(wire->phy);
	wire->phy = NULL;
}

/* What the link counted since, into the slot for people to see. */
static void tell(uint64_t *told, uint64_t counted, uint64_t *slot)
{
	*slot += counted - *told;
	*told = counted;
}

static int phy_send(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	const int sent = link_send(wire->phy, trains, n);

	if (wire->phy->stats.send_errors != wire->told_errors)
		tell(&wire->told_errors, wire->phy->stats.send_errors, &wire->counters->send_err);
	return sent;
}

/* What was taken from the socket is counted here, before faults make more or less of it. */
static int phy_receive(struct vb_wire *wire, struct wire_arrival *ret, size_t max)
{
	const int n = link_receive(wire->phy, ret, max);

	if (wire->phy->stats.bad_frames != wire->told_bad)
		tell(&wire->told_bad, wire->phy->stats.bad_frames, &wire->lost->link_bad_frames);
	wire->is_dry = n == 0;
	if (n > 0)
		credits_returned(container_of(wire, struct progress, wire), ret, n);
	return n;
}

int vb_wire_pass_out(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	int sent;

	if (wire->capture)
		vb_capture_sending(wire);
	sent = phy_send(wire, trains, n);
	if (wire->capture)
		vb_capture_sent(wire, trains, sent > 0 ? (size_t)sent : 0);
	if (wire->tail && sent > 0)
		vb_tail_sent(wire->tail, trains, (size_t)sent);
	return sent;
}

int vb_wire_pass_in(struct vb_wire *wire, struct wire_arrival *ret, size_t max)
{
	return phy_receive(wire, ret, max);
}

int vb_wire_send(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	return vb_fault_concerned(wire->fault) ? vb_fault_send(wire, trains, n)
					       : vb_wire_pass_out(wire, trains, n);
}

uint64_t vb_wire_deadline(const struct vb_wire *wire)
{
	return vb_fault_deadline(wire->fault);
}

int vb_wire_recv(struct vb_wire *wire, struct wire_arrival *ret, size_t max)
{
	const int n = vb_fault_concerned(wire->fault) ? vb_fault_recv(wire, ret, max)
						      : phy_receive(wire, ret, max);

	if (wire->capture && n > 0)
		vb_capture_arrived(wire, ret, (size_t)n);
	if (wire->tail && n > 0)
		vb_tail_arrived(wire->tail, ret, (size_t)n);
	return n;
}
