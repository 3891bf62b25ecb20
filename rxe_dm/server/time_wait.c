// SPDX-License-Identifier: MIT
/* An engine without queue pairs, fed from the sockets of slots whose process has gone. On the UDP link these are the group's own,
 * and one link is enough to send from; on an interface the server opens a pair for the slot, as for a process. */
#include "rxe_dm/server/time_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "emu/engine.h"
#include "net/link/clock.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/udp/udp.h"
#include "net/wire/headers.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"

#define ARRIVALS	64
#define ARRIVALS_A_TURN 1024

struct gone_slot {
	struct device *device;
	uint32_t slot;
	uint64_t until_ns;
	struct loop_source source;
	struct link *veth; /* CTL_LINK_ETHERNET */
	int rx_fd, tx_fd;  /* ... its sockets */
};

/* Of a device, while there are any. */
struct gone {
	struct rxe_engine engine;
	struct link *udp; /* CTL_LINK_UDP */
	uint32_t count;
	struct gone_slot *at[RXE_MAX_SLOTS];
	uint8_t bytes[TRAIN_MAX_BYTES];
};

static struct rxe_time_wait_table *table_of(const struct device *device, uint32_t slot)
{
	return &device->shared->slot[slot].gone;
}

static uint32_t sender_of(const struct rxe_time_wait_table *table, const struct wire_train *train)
{
	struct bth bth;

	bth_parse(&bth, train->buf);
	return rxe_time_wait_connected_to(table, &train->dst, bth.dest_qpn);
}

static void send_answers(struct gone_slot *slot, uint64_t now_ns)
{
	struct device *device = slot->device;
	struct gone *gone = device->gone;
	struct wire_train train = { .buf = gone->bytes, .max_segs = 1 };

	while (rxe_engine_output(&gone->engine, &train, now_ns)) {
		struct capture_answer answer = {
			.qpn = sender_of(gone->engine.cfg.gone, &train),
			.src_port = gone->engine.cfg.tx_ports[train.tx_index],
			.packet = train.buf,
			.len = train.len,
		};

		capture_own(device, &train.dst, &answer);
		/* Should it fail, the peer asks again. */
		if (slot->veth)
			(void)link_send(slot->veth, &train, 1);
		else
			(void)link_send(gone->udp, &train, 1);
	}
}

static int receive(struct gone_slot *slot, struct wire_arrival *ret)
{
	if (slot->veth)
		return link_receive(slot->veth, ret, ARRIVALS);
	return udp_receive_from(slot->device->gone->udp, slot->source.fd, ret, ARRIVALS);
}

static void packets_ready(struct loop_source *source, uint32_t events)
{
	struct gone_slot *slot = container_of(source, struct gone_slot, source);
	struct rxe_engine *engine = &slot->device->gone->engine;
	struct wire_arrival arrivals[ARRIVALS];
	const uint64_t now_ns = clock_now_ns();
	int total = 0, n;

	(void)events;
	engine->cfg.gone = table_of(slot->device, slot->slot);
	if (slot->veth)
		link_tx_ports(slot->veth, engine->cfg.tx_ports, ETHERNET_TX_PORTS);
	/* To the end of what was read: another slot's turn must not find the rest of it. */
	while ((n = receive(slot, arrivals)) > 0 && total < ARRIVALS_A_TURN) {
		total += n;
		if (atomic_load(&slot->device->shared->faults.silent))
			continue; /* lost */
		capture_arrived(slot->device, arrivals, (uint32_t)n);
		for (int i = 0; i < n; i++)
			rxe_engine_input(engine, &arrivals[i], now_ns);
		send_answers(slot, now_ns);
	}
}

static int open_shared_parts(struct device *device)
{
	struct udp_cfg link = { .gid = device->gid };
	struct rxe_engine_cfg cfg = {
		.counters = &device->shared->slot[0].counters,
		.gids = { device->gid },
		.num_tx_ports = ETHERNET_TX_PORTS,
		.max_mtu = device->max_mtu,
	};
	struct gone *gone = (struct gone *)calloc(1, sizeof(*gone));
	int rc = gone ? 0 : -ENOMEM;

	if (gone && device->link == CTL_LINK_UDP) {
		link.rx_fd = device->group.fd[0];
		memcpy(link.tx_port, device->group.tx_port, sizeof(link.tx_port));
		rc = udp_open(&gone->udp, &link);
	}
	if (rc) {
		free(gone);
		return rc;
	}
	if (gone->udp)
		cfg.num_tx_ports = link_tx_ports(gone->udp, cfg.tx_ports, RXE_MAX_TX_PORTS);
	rxe_engine_init(&gone->engine, &cfg);
	device->gone = gone;
	return 0;
}

static void close_shared_parts(struct device *device)
{
	if (!device->gone || device->gone->count)
		return;
	link_close(device->gone->udp);
	free(device->gone);
	device->gone = NULL;
}

static int open_link(struct gone_slot *slot)
{
	struct device *device = slot->device;

	switch (device->link) {
	case CTL_LINK_UDP: slot->source.fd = device->group.fd[slot->slot]; return 0;
	case CTL_LINK_ETHERNET: {
		int rc =
			veth_open_link(device, slot->slot, &slot->veth, &slot->rx_fd, &slot->tx_fd);

		slot->source.fd = rc ? -1 : link_wait_fd(slot->veth);
		return rc;
	}
	}
	return -EINVAL;
}

static void close_link(struct gone_slot *slot)
{
	link_close(slot->veth);
	if (slot->rx_fd >= 0)
		close(slot->rx_fd);
	if (slot->tx_fd >= 0)
		close(slot->tx_fd);
}

static int watch(struct device *device, uint32_t slot, uint64_t until_ns)
{
	struct gone_slot *gone = (struct gone_slot *)calloc(1, sizeof(*gone));
	int rc;

	if (!gone)
		return -ENOMEM;
	*gone = (struct gone_slot){ .device = device,
				    .slot = slot,
				    .until_ns = until_ns,
				    .source = { .fd = -1, .ready = packets_ready },
				    .rx_fd = -1,
				    .tx_fd = -1 };
	rc = open_link(gone);
	if (rc == 0)
		rc = loop_add(&device->instance->loop, &gone->source, EPOLLIN);
	if (rc) {
		close_link(gone);
		free(gone);
		return rc;
	}
	device->gone->at[slot] = gone;
	device->gone->count++;
	return 0;
}

void gone_begin(struct device *device, uint32_t slot)
{
	const uint64_t now_ns = clock_now_ns();
	uint64_t until_ns = rxe_time_wait_until(table_of(device, slot));

	/* The process wrote that, so it is not believed beyond reason. */
	if (until_ns > now_ns + RXE_TIME_WAIT_MAX_NS)
		until_ns = now_ns + RXE_TIME_WAIT_MAX_NS;
	if (until_ns <= now_ns || device->address_lock < 0)
		return;
	if (device->gone || open_shared_parts(device) == 0)
		(void)watch(device, slot, until_ns);
	close_shared_parts(device);
}

void gone_end(struct device *device, uint32_t slot)
{
	struct gone_slot *gone = device->gone ? device->gone->at[slot] : NULL;

	if (!gone)
		return;
	loop_del(&device->instance->loop, &gone->source);
	close_link(gone);
	device->gone->at[slot] = NULL;
	device->gone->count--;
	free(gone);
	close_shared_parts(device);
}

/* Its pages are not needed any more. */
static void forget(const struct device *device, uint32_t slot)
{
	fallocate(device->shared_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)((char *)table_of(device, slot) - (char *)device->shared),
		  sizeof(struct rxe_time_wait_table));
}

int gone_settle(struct device *device, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t slot = 0; device->gone && slot < RXE_MAX_SLOTS; slot++) {
		const struct gone_slot *gone = device->gone->at[slot];

		if (gone && gone->until_ns <= now_ns) {
			gone_end(device, slot);
			forget(device, slot);
		} else if (gone && gone->until_ns < next_ns) {
			next_ns = gone->until_ns;
		}
	}
	return next_ns == UINT64_MAX ? -1 : (int)((next_ns - now_ns) / 1000000) + 1;
}

void gone_fini(struct device *device)
{
	for (uint32_t slot = 0; device->gone && slot < RXE_MAX_SLOTS; slot++)
		gone_end(device, slot);
}
