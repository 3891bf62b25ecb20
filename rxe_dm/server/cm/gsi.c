// SPDX-License-Identifier: MIT
/* Packets of QP 1: UD SEND_ONLY of one MAD each, as Linux sends them. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "net/link/clock.h"
#include "net/link/udp/address.h"
#include "net/link/udp/udp.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "rxe_dm/cma/cma.h"
#include "rxe_dm/server/capture.h"
#include "rxe_dm/server/cm/fault.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/limit.h"
#include "rxe_dm/server/memory.h"

#define GSI_PKEY    0xffffu
#define PKEY_BASE   0x7fffu
#define GSI_HEADERS (BTH_LEN + DETH_LEN)
#define GSI_PACKET  (GSI_HEADERS + CM_MAD_BYTES + ICRC_LEN)
#define ARRIVALS    256 /* what the link reads at once, so that it keeps nothing */
#define MAX_DELAYED 4096
#define MAX_LOCAL   4096
/* A request for a connection waits this long for a listener, then it is rejected. A program that
 * listens only when the other side may connect already, as perftest does, has this long for it on a
 * machine with few processors. Far below the 4 s after which the request is repeated. */
#define LISTENER_WAIT_NS 500000000u
#define MAX_WAITING	 256u

/* A message that a fault rule delays, or that waits for a listener. */
struct gsi_delayed {
	struct gsi_delayed *prev, *next;
	uint64_t due_ns;
	bool wants_listener;
	enum fault_dir dir;
	struct cm_path path;
	uint8_t mad[CM_MAD_BYTES];
};

/* A packet from one device of this instance to another, or to itself: it passes no socket. */
struct gsi_local {
	struct gsi_local *prev, *next;
	struct device *to;
	struct wire_arrival arrival;
	uint8_t bytes[GSI_PACKET];
};

struct gsi {
	uint32_t psn;
	struct cm_fault_counts faults;
	struct gsi_delayed *delayed;
	uint32_t num_delayed, num_waiting;
	struct wire_arrival arrivals[ARRIVALS];
};

/* The largest number of identifications is tried for packets of other machines: UDP sockets do not
 * show it (icrc.h). */
static bool icrc_is_good(const struct device *device, const struct wire_arrival *arrival)
{
	const struct icrc_flow flow = { arrival->src, arrival->dst, arrival->src_port };
	enum ip_id_rule rule = arrival->id_rule;

	if (rule == IP_ID_ANY &&
	    (udp_addr_is_loopback(&arrival->src) || gid_equal(&arrival->src, &device->link.gid)))
		rule = IP_ID_RULED;
	return icrc_check(&flow, rule, arrival->ip_id, arrival->p, arrival->len) != ICRC_BAD;
}

/* Checks a packet to QP 1 as IBTA 9.6 and 9.8.3 demand, in the engine's order. Returns the counter
 * of what is wrong with it; NULL: it is sound. */
static uint64_t *check_packet(const struct device *device, const struct wire_arrival *arrival,
			      struct wire_packet *ret)
{
	struct rxe_counters *counters = &device->shared->slot[0].counters;

	if (capture_qpn(arrival) != MAD_GSI_QPN)
		return &counters->rcvd_dropped;
	if (wire_parse(ret, arrival->p, arrival->len) != WIRE_OK)
		return &counters->rcvd_malformed;
	if (!icrc_is_good(device, arrival))
		return &counters->rcvd_bad_icrc;
	if (ret->bth.opcode != opcode_make(WIRE_UD, OP_SEND_ONLY) ||
	    ret->payload_len != CM_MAD_BYTES || !gid_equal(&arrival->dst, &device->link.gid))
		return &counters->rcvd_dropped;
	if (ret->deth.qkey != MAD_GSI_QKEY || (ret->bth.pkey & PKEY_BASE) != PKEY_BASE)
		return &counters->rcvd_bad_key;
	return NULL;
}

/* NULL: beyond MAX_DELAYED a message is lost. */
static struct gsi_delayed *delay(struct gsi *gsi, const struct cm_path *path,
				 const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir,
				 uint64_t delay_ns)
{
	struct gsi_delayed *delayed = NULL;

	if (gsi->num_delayed < MAX_DELAYED)
		delayed = (struct gsi_delayed *)calloc(1, sizeof(*delayed));
	if (!delayed)
		return NULL;
	delayed->due_ns = clock_now_ns() + delay_ns;
	delayed->dir = dir;
	delayed->path = *path;
	memcpy(delayed->mad, mad, CM_MAD_BYTES);
	DL_APPEND(gsi->delayed, delayed);
	gsi->num_delayed++;
	return delayed;
}

static void remove_delayed(struct gsi *gsi, struct gsi_delayed *delayed)
{
	DL_DELETE(gsi->delayed, delayed);
	gsi->num_delayed--;
	gsi->num_waiting -= delayed->wants_listener;
	free(delayed);
}

static void arrived(struct device *device, const struct cm_path *path, const uint8_t *mad)
{
	struct gsi *gsi = device->gsi.state;
	struct gsi_delayed *delayed;

	if (gsi->num_waiting < MAX_WAITING &&
	    cma_ids_lack_listener(device->instance->cm.ids, mad)) {
		delayed = delay(gsi, path, mad, FAULT_IN, LISTENER_WAIT_NS);
		if (delayed) {
			delayed->wants_listener = true;
			gsi->num_waiting++;
			return;
		}
	}
	cma_ids_input(device->instance->cm.ids, path, mad, clock_now_ns());
}

static uint32_t build_packet(struct gsi *gsi, const struct icrc_flow *flow,
			     const uint8_t mad[CM_MAD_BYTES], uint8_t ret[GSI_PACKET])
{
	const struct wire_packet packet = {
		.bth = { .opcode = opcode_make(WIRE_UD, OP_SEND_ONLY),
			 .pkey = GSI_PKEY,
			 .dest_qpn = MAD_GSI_QPN,
			 .ack_req = true, /* as Linux sends it; it means nothing on UD */
			 .psn = gsi->psn },
		.deth = { .qkey = MAD_GSI_QKEY, .src_qpn = MAD_GSI_QPN },
	};
	size_t len = wire_emit_headers(ret, &packet);

	gsi->psn = psn_add(gsi->psn, 1);
	memcpy(ret + len, mad, CM_MAD_BYTES);
	len += CM_MAD_BYTES;
	icrc_store(ret + len, icrc_compute(flow, 0, ret, len));
	return (uint32_t)len + ICRC_LEN;
}

static struct device *find_device(struct instance *instance, const struct gid *gid)
{
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		if (instance->devices[i].gsi.state &&
		    gid_equal(&instance->devices[i].link.gid, gid))
			return &instance->devices[i];
	}
	return NULL;
}

/* False: the packet is for the link. */
static bool keep_local(struct device *device, const struct wire_train *train, uint16_t src_port)
{
	struct instance *instance = device->instance;
	struct device *to = find_device(instance, &train->dst);
	struct gsi_local *local = NULL;

	if (to && instance->cm.num_local < MAX_LOCAL)
		local = (struct gsi_local *)malloc(sizeof(*local));
	if (!local)
		return false;
	*local = (struct gsi_local){ .to = to,
				     .arrival = { .p = local->bytes,
						  .len = train->len,
						  .src_port = src_port,
						  .id_rule = IP_ID_EXACT,
						  .traffic_class = train->traffic_class,
						  .hop_limit = train->hop_limit,
						  .flow_label = train->flow_label,
						  .src = train->src,
						  .dst = train->dst } };
	memcpy(local->bytes, train->buf, train->len);
	DL_APPEND(instance->cm.local, local);
	instance->cm.num_local++;
	return true;
}

static void send_mad(struct device *device, const struct cm_path *path,
		     const uint8_t mad[CM_MAD_BYTES])
{
	struct rxe_counters *counters = &device->shared->slot[0].counters;
	struct gsi *gsi = device->gsi.state;
	struct icrc_flow flow = { .src = device->link.gid, .dst = path->dst };
	uint8_t bytes[GSI_PACKET];
	struct wire_train train = {
		.buf = bytes,
		.segs = 1,
		.max_segs = 1,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit,
		.flow_label = path->flow_label,
		.src = device->link.gid,
		.dst = path->dst,
	};

	(void)link_tx_ports(device->gsi.link, &flow.src_port, 1);
	train.len = build_packet(gsi, &flow, mad, bytes);
	train.seg_len = (uint16_t)train.len;
	counters->sent_pkts++;
	counters->sent_bytes += train.len;
	capture_own(device, &train, MAD_GSI_QPN, flow.src_port);
	if (!keep_local(device, &train, flow.src_port))
		(void)link_send(device->gsi.link, &train, 1);
}

static void hand_on(struct device *device, enum fault_dir dir, const struct cm_path *path,
		    const uint8_t mad[CM_MAD_BYTES])
{
	if (dir == FAULT_OUT)
		send_mad(device, path, mad);
	else
		arrived(device, path, mad);
}

/* A MAD goes to the link or to the connection manager, as far as fault rules let it. */
static void hand_on_ruled(struct device *device, enum fault_dir dir, const struct cm_path *path,
			  const uint8_t mad[CM_MAD_BYTES])
{
	struct inject_rule rule;
	uint8_t rej[CM_MAD_BYTES];

	if (!gsi_fault_decide(device, &device->gsi.state->faults, mad, dir, &rule)) {
		hand_on(device, dir, path, mad);
	} else if (rule.action == INJECT_CM_DUPLICATE) {
		hand_on(device, dir, path, mad);
		hand_on(device, dir, path, mad);
	} else if (rule.action == INJECT_CM_REJECT) {
		assert(dir == FAULT_IN);
		gsi_fault_answer(rej, mad, (uint16_t)rule.u.reason);
		gsi_send(device, path, rej);
	} else if (rule.action == INJECT_CM_DELAY) {
		(void)delay(device->gsi.state, path, mad, dir, rule.packet.delay_ns);
	} else {
		assert(rule.action == INJECT_CM_DROP);
	}
}

void gsi_send(struct device *device, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	if (!ctl_is_silent(device->shared))
		hand_on_ruled(device, FAULT_OUT, path, mad);
}

static void receive_packet(struct device *device, const struct wire_arrival *arrival)
{
	struct rxe_counters *counters = &device->shared->slot[0].counters;
	const struct cm_path path = {
		.device = device->index,
		.src = device->link.gid,
		.dst = arrival->src,
		.flow_label = arrival->flow_label,
		.traffic_class = arrival->traffic_class,
		.hop_limit = arrival->hop_limit,
	};
	struct wire_packet packet;
	uint64_t *wrong = check_packet(device, arrival, &packet);

	counters->rcvd_pkts++;
	if (wrong) {
		(*wrong)++;
		return;
	}
	counters->rcvd_bytes += arrival->len;
	capture_arrived(device, arrival, 1);
	hand_on_ruled(device, FAULT_IN, &path, packet.payload);
}

static void packets_ready(struct loop_source *source, uint32_t events)
{
	struct device *device = container_of(source, struct device, gsi.strays);
	struct gsi *gsi = device->gsi.state;
	int n;

	(void)events;
	link_wait_ended(device->gsi.link, true);
	n = link_receive(device->gsi.link, gsi->arrivals, ARRIVALS);
	for (int i = 0; i < n && !ctl_is_silent(device->shared); i++)
		receive_packet(device, &gsi->arrivals[i]);
	memory_device_wait(device->gsi.link);
}

void gsi_deliver(struct instance *instance)
{
	struct gsi_local *arrived = instance->cm.local, *local, *next;

	/* What the connection manager answers is for the next turn. */
	instance->cm.local = NULL;
	instance->cm.num_local = 0;
	DL_FOREACH_SAFE (arrived, local, next) {
		if (!ctl_is_silent(local->to->shared))
			receive_packet(local->to, &local->arrival);
		free(local);
	}
}

static void pass_on(struct device *device, const struct gsi_delayed *delayed, uint64_t now_ns)
{
	if (ctl_is_silent(device->shared))
		return;
	if (delayed->dir == FAULT_OUT)
		send_mad(device, &delayed->path, delayed->mad);
	else
		cma_ids_input(device->instance->cm.ids, &delayed->path, delayed->mad, now_ns);
}

/* A listener may have come in this turn of the server. */
static bool is_due(const struct device *device, const struct gsi_delayed *delayed, uint64_t now_ns)
{
	return delayed->due_ns <= now_ns ||
	       (delayed->wants_listener &&
		!cma_ids_lack_listener(device->instance->cm.ids, delayed->mad));
}

uint64_t gsi_run(struct device *device, uint64_t now_ns)
{
	struct gsi *gsi = device->gsi.state;
	struct gsi_delayed *delayed, *next;
	uint64_t next_ns = UINT64_MAX;

	DL_FOREACH_SAFE (gsi->delayed, delayed, next) {
		if (!is_due(device, delayed, now_ns)) {
			next_ns = delayed->due_ns < next_ns ? delayed->due_ns : next_ns;
			continue;
		}
		pass_on(device, delayed, now_ns);
		remove_delayed(gsi, delayed);
	}
	return next_ns;
}

static int open_link(struct device *device)
{
	struct udp_cfg cfg = { .gid = device->link.gid };

	switch (device->link.kind) {
	case CTL_LINK_UDP:
		device->gsi.strays.fd = cfg.rx_fd = device->link.udp.fd[0];
		memcpy(cfg.tx_port, device->link.udp.tx_port, sizeof(cfg.tx_port));
		return udp_open(&device->gsi.link, &cfg);
	case CTL_LINK_ETHERNET:
		device->gsi.link = device->link.ethernet.link;
		device->gsi.strays.fd = link_wait_fd(device->gsi.link);
		return 0;
	case CTL_LINK_MEMORY:
		return memory_device_link(device, 0, &device->gsi.link, &device->gsi.strays.fd);
	}
	return -EINVAL;
}

int gsi_open(struct device *device)
{
	int rc;

	device->gsi.state = (struct gsi *)calloc(1, sizeof(*device->gsi.state));
	device->gsi.strays = (struct loop_source){ .fd = -1, .ready = packets_ready };
	rc = device->gsi.state ? open_link(device) : -ENOMEM;
	if (rc == 0)
		rc = loop_add(&device->instance->loop, &device->gsi.strays, EPOLLIN);
	if (rc) {
		limit_explain(rc, "rxe_dm%u has no QP 1, by which programs connect (librdmacm)",
			      device->index);
		gsi_close(device);
	}
	return rc;
}

static void drop_local(const struct device *device)
{
	struct instance *instance = device->instance;
	struct gsi_local *local, *next;

	DL_FOREACH_SAFE (instance->cm.local, local, next) {
		if (local->to != device)
			continue;
		DL_DELETE(instance->cm.local, local);
		instance->cm.num_local--;
		free(local);
	}
}

void gsi_close(struct device *device)
{
	struct gsi *gsi = device->gsi.state;

	if (!gsi)
		return;
	while (gsi->delayed)
		remove_delayed(gsi, gsi->delayed);
	drop_local(device);
	if (device->gsi.strays.fd >= 0)
		loop_del(&device->instance->loop, &device->gsi.strays);
	device->gsi.strays.fd = -1;
	if (device->link.kind != CTL_LINK_ETHERNET)
		link_close(device->gsi.link);
	device->gsi.link = NULL;
	free(gsi);
	device->gsi.state = NULL;
}
