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

static int open_udp(const struct progress *progress, struct link_udp **ret)
{
	struct link_udp_cfg cfg = {
		.gid = progress->info->gids[0],
		.rx_fd = progress->attachment->rx_fd,
		.trains = progress->info->trains,
		.log = link_says,
	};

	memcpy(cfg.tx_port, progress->attachment->shared->tx_ports, sizeof(cfg.tx_port));
	return link_udp_open(ret, &cfg);
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
	case CTL_LINK_UDP: return open_udp(progress, &wire->udp);
	case CTL_LINK_VETH: return vb_wire_veth_open(progress, &wire->veth);
	}
	return -EPROTO;
}

void vb_wire_close(struct vb_wire *wire)
{
	vb_fault_close(wire);
	vb_capture_close(wire);
	free(wire->tail);
	wire->tail = NULL;
	link_udp_close(wire->udp);
	link_veth_close(wire->veth);
	wire->udp = NULL;
	wire->veth = NULL;
}

int vb_wire_poll_fd(const struct vb_wire *wire)
{
	return wire->veth ? link_veth_poll_fd(wire->veth) : link_udp_poll_fd(wire->udp);
}

uint32_t vb_wire_tx_ports(const struct vb_wire *wire, uint16_t *ret, uint32_t max)
{
	return wire->veth ? link_veth_tx_ports(wire->veth, ret, max)
			  : link_udp_tx_ports(wire->udp, ret, max);
}

uint16_t vb_wire_max_segs(const struct vb_wire *wire)
{
	return wire->veth ? link_veth_max_segs(wire->veth) : link_udp_max_segs(wire->udp);
}

bool vb_wire_same_host(struct vb_wire *wire, const struct gid *gid)
{
	return wire->veth ? link_veth_is_self(wire->veth, gid) : link_udp_same_host(wire->udp, gid);
}

int vb_wire_join(struct vb_wire *wire, const struct gid *group)
{
	return wire->veth ? link_veth_join(wire->veth, group) : link_udp_join(wire->udp, group);
}

int vb_wire_leave(struct vb_wire *wire, const struct gid *group)
{
	return wire->veth ? link_veth_leave(wire->veth, group) : link_udp_leave(wire->udp, group);
}

void vb_wire_see_headers(struct vb_wire *wire)
{
	if (wire->udp) /* frames show theirs anyway */
		link_udp_see_headers(wire->udp, true);
}

/* What the link counted since, into the slot for people to see. */
static void tell(uint64_t *told, uint64_t counted, uint64_t *slot)
{
	*slot += counted - *told;
	*told = counted;
}

static int link_send(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	const int sent = wire->veth ? link_veth_send(wire->veth, trains, n)
				    : link_udp_send(wire->udp, trains, n);
	const uint64_t errors =
		wire->veth ? link_veth_send_errors(wire->veth) : link_udp_send_errors(wire->udp);

	if (errors != wire->told_errors)
		tell(&wire->told_errors, errors, &wire->counters->send_err);
	return sent;
}

/* What was taken from the socket is counted here, before faults make more or less of it. */
static int link_recv(struct vb_wire *wire, struct wire_arrival *ret, size_t max)
{
	const int n = wire->veth ? link_veth_recv(wire->veth, ret, max)
				 : link_udp_recv(wire->udp, ret, max);

	if (wire->veth && link_veth_bad_frames(wire->veth) != wire->told_bad)
		tell(&wire->told_bad, link_veth_bad_frames(wire->veth),
		     &wire->lost->link_bad_frames);
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
	sent = link_send(wire, trains, n);
	if (wire->capture)
		vb_capture_sent(wire, trains, sent > 0 ? (size_t)sent : 0);
	if (wire->tail && sent > 0)
		vb_tail_sent(wire->tail, trains, (size_t)sent);
	return sent;
}

int vb_wire_pass_in(struct vb_wire *wire, struct wire_arrival *ret, size_t max)
{
	return link_recv(wire, ret, max);
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
						      : link_recv(wire, ret, max);

	if (wire->capture && n > 0)
		vb_capture_arrived(wire, ret, (size_t)n);
	if (wire->tail && n > 0)
		vb_tail_arrived(wire->tail, ret, (size_t)n);
	return n;
}
