// SPDX-License-Identifier: MIT
/* An engine without queue pairs, fed from the sockets of slots whose process has exited. On the UDP
 * link these are the group's sockets, and one link sends for all. On an interface the server opens
 * a pair of sockets for the slot, as for a process. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "emu/engine.h"
#include "net/link/clock.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/udp/udp.h"
#include "net/wire/packet.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/link/ethernet.h"
#include "rxe_dm/server/link/time_wait.h"
#include "rxe_dm/server/memory.h"

#define ARRIVALS	256 /* what the link reads at once, so that it keeps nothing */
#define ARRIVALS_A_TURN 1024
#define ARRIVALS_AT_END 65536 /* more than a receive buffer holds */

struct time_wait_slot {
	struct device *device;
	uint32_t slot;
	uint64_t until_ns;
	struct loop_source source;
	struct link *link; /* CTL_LINK_ETHERNET, CTL_LINK_MEMORY */
	int rx_fd, tx_fd;  /* CTL_LINK_ETHERNET: its sockets */
};

/* What the slots of one device share; freed by time_wait_settle() when none is in TIME_WAIT. */
struct time_wait {
	struct rxe_engine engine;
	struct time_wait_slot *at[RXE_MAX_SLOTS];
	struct wire_arrival arrivals[ARRIVALS];
	uint8_t bytes[TRAIN_MAX_BYTES];
};

static struct rxe_time_wait_table *table_of(const struct device *device, uint32_t slot)
{
	return &device->shared->slot[slot].time_wait;
}

static uint32_t sender_of(const struct rxe_time_wait_table *table, const struct wire_train *train)
{
	struct bth bth;

	bth_parse(&bth, train->buf);
	return rxe_time_wait_connected_to(table, &train->dst, bth.dest_qpn);
}

static void send_answers(struct time_wait_slot *slot, uint64_t now_ns)
{
	struct device *device = slot->device;
	struct time_wait *time_wait = device->time_wait;
	struct wire_train train = { .buf = time_wait->bytes, .max_segs = 1 };

	while (rxe_engine_output(&time_wait->engine, &train, now_ns)) {
		if (ctl_is_silent(device->shared))
			continue;
		capture_own(device, &train, sender_of(time_wait->engine.cfg.time_wait, &train),
			    time_wait->engine.cfg.tx_ports[train.tx_index]);
		/* When sending fails, the peer sends its request again. */
		(void)link_send(slot->link ? slot->link : device->gsi.link, &train, 1);
	}
}

/* The engine, set to answer for this slot. */
static struct rxe_engine *engine_of(const struct time_wait_slot *slot)
{
	struct rxe_engine *engine = &slot->device->time_wait->engine;

	engine->cfg.time_wait = table_of(slot->device, slot->slot);
	if (slot->link)
		link_tx_ports(slot->link, engine->cfg.tx_ports, LINK_TX_PORTS);
	return engine;
}

static int receive(struct time_wait_slot *slot)
{
	struct time_wait *time_wait = slot->device->time_wait;

	if (slot->link)
		return link_receive(slot->link, time_wait->arrivals, ARRIVALS);
	return udp_receive_from(slot->device->gsi.link, slot->source.fd, time_wait->arrivals,
				ARRIVALS);
}

/* Answers what the slot's socket or rings hold, about max packets of it. What the server reads
 * after the slot's time may have arrived within it. */
static void answer_arrivals(struct time_wait_slot *slot, int max)
{
	const struct wire_arrival *arrivals = slot->device->time_wait->arrivals;
	struct rxe_engine *engine = engine_of(slot);
	uint64_t now_ns = clock_now_ns();
	int total = 0, n;

	if (now_ns >= slot->until_ns)
		now_ns = slot->until_ns - 1;
	while (total < max && (n = receive(slot)) > 0) {
		total += n;
		if (ctl_is_silent(slot->device->shared))
			continue;
		capture_arrived(slot->device, arrivals, (uint32_t)n);
		for (int i = 0; i < n; i++) {
			rxe_engine_input(engine, &arrivals[i], now_ns);
			/* The engine drops further answers. */
			if ((i + 1) % RXE_TIME_WAIT_ANSWERS == 0)
				send_answers(slot, now_ns);
		}
		send_answers(slot, now_ns);
	}
}

static void packets_ready(struct loop_source *source, uint32_t events)
{
	struct time_wait_slot *slot = container_of(source, struct time_wait_slot, source);

	(void)events;
	if (slot->link)
		link_wait_ended(slot->link, true);
	answer_arrivals(slot, ARRIVALS_A_TURN);
	if (slot->link)
		memory_device_wait(slot->link);
}

static int open_shared_parts(struct device *device)
{
	struct rxe_engine_cfg cfg = {
		.counters = &device->shared->slot[0].counters,
		.gids = { device->link.gid },
		.num_tx_ports = LINK_TX_PORTS,
		.max_mtu = device->link.max_mtu,
	};
	struct time_wait *time_wait = (struct time_wait *)calloc(1, sizeof(*time_wait));

	if (!time_wait)
		return -ENOMEM;
	if (device->link.kind == CTL_LINK_UDP)
		cfg.num_tx_ports = link_tx_ports(device->gsi.link, cfg.tx_ports, RXE_MAX_TX_PORTS);
	rxe_engine_init(&time_wait->engine, &cfg);
	device->time_wait = time_wait;
	return 0;
}

static int open_link(struct time_wait_slot *slot)
{
	struct device *device = slot->device;

	switch (device->link.kind) {
	case CTL_LINK_UDP: slot->source.fd = device->link.udp.fd[slot->slot]; return 0;
	case CTL_LINK_ETHERNET: {
		int rc = ethernet_device_link(device, slot->slot, &slot->link, &slot->rx_fd,
					      &slot->tx_fd);

		slot->source.fd = rc ? -1 : link_wait_fd(slot->link);
		return rc;
	}
	case CTL_LINK_MEMORY:
		return memory_device_link(device, slot->slot, &slot->link, &slot->source.fd);
	}
	return -EINVAL;
}

static void close_link(struct time_wait_slot *slot)
{
	link_close(slot->link);
	if (slot->rx_fd >= 0)
		close(slot->rx_fd);
	if (slot->tx_fd >= 0)
		close(slot->tx_fd);
}

static int watch(struct device *device, uint32_t slot, uint64_t until_ns)
{
	struct time_wait_slot *time_wait = (struct time_wait_slot *)calloc(1, sizeof(*time_wait));
	int rc;

	if (!time_wait)
		return -ENOMEM;
	*time_wait = (struct time_wait_slot){ .device = device,
					      .slot = slot,
					      .until_ns = until_ns,
					      .source = { .fd = -1, .ready = packets_ready },
					      .rx_fd = -1,
					      .tx_fd = -1 };
	rc = open_link(time_wait);
	if (rc == 0)
		rc = loop_add(&device->instance->loop, &time_wait->source, EPOLLIN);
	if (rc) {
		close_link(time_wait);
		free(time_wait);
		return rc;
	}
	device->time_wait->at[slot] = time_wait;
	return 0;
}

/* The process delayed these ACKs, and its program may have seen the completions. */
static void send_delayed_acks(struct time_wait_slot *slot, uint64_t now_ns)
{
	rxe_time_wait_adopt_delayed(engine_of(slot), now_ns);
	send_answers(slot, now_ns);
}

void time_wait_begin(struct device *device, uint32_t slot)
{
	const uint64_t now_ns = clock_now_ns();
	uint64_t until_ns = rxe_time_wait_until(table_of(device, slot));

	/* The process wrote the time: bound it. */
	if (until_ns > now_ns + RXE_TIME_WAIT_MAX_NS)
		until_ns = now_ns + RXE_TIME_WAIT_MAX_NS;
	if (until_ns <= now_ns || device->link.lock.source.fd < 0)
		return;
	if ((device->time_wait || open_shared_parts(device) == 0) &&
	    watch(device, slot, until_ns) == 0)
		send_delayed_acks(device->time_wait->at[slot], now_ns);
}

bool time_wait_has(const struct device *device, uint32_t slot)
{
	return device->time_wait && device->time_wait->at[slot];
}

void time_wait_end(struct device *device, uint32_t slot)
{
	struct time_wait_slot *time_wait = device->time_wait ? device->time_wait->at[slot] : NULL;

	if (!time_wait)
		return;
	answer_arrivals(time_wait, ARRIVALS_AT_END);
	loop_del(&device->instance->loop, &time_wait->source);
	close_link(time_wait);
	if (device->link.kind == CTL_LINK_MEMORY)
		memory_device_detach(device, slot);
	device->time_wait->at[slot] = NULL;
	free(time_wait);
}

/* Frees the pages of the slot's table. */
static void free_table(const struct device *device, uint32_t slot)
{
	fallocate(device->shared_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)((char *)table_of(device, slot) - (char *)device->shared),
		  sizeof(struct rxe_time_wait_table));
}

uint64_t time_wait_settle(struct device *device, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t slot = 0; device->time_wait && slot < RXE_MAX_SLOTS; slot++) {
		const struct time_wait_slot *time_wait = device->time_wait->at[slot];

		if (time_wait && time_wait->until_ns <= now_ns) {
			time_wait_end(device, slot);
			free_table(device, slot);
		} else if (time_wait && time_wait->until_ns < next_ns) {
			next_ns = time_wait->until_ns;
		}
	}
	if (next_ns == UINT64_MAX) {
		free(device->time_wait);
		device->time_wait = NULL;
	}
	return next_ns;
}

void time_wait_fini(struct device *device)
{
	for (uint32_t slot = 0; device->time_wait && slot < RXE_MAX_SLOTS; slot++)
		time_wait_end(device, slot);
	(void)time_wait_settle(device, 0);
}
