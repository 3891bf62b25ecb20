// SPDX-License-Identifier: MIT
/* The operations that the ids of librdmacm need of a host, and their start and end. */
#include "rxe_dm/server/cm/host.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/cm_numbers.h"
#include "lib/control/process.h"
#include "lib/control/published.h"
#include "net/link/clock.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/udp/address.h"
#include "rxe_dm/server/cm/channel.h"
#include "rxe_dm/server/cm/gsi.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/random.h"

#define ROUTE_PORT	 4791
#define NEIGHBOR_WAIT_NS 100000000ull

static void send_mad(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct instance *instance = (struct instance *)host;

	if (path->device < instance->num_devices)
		gsi_send(&instance->devices[path->device], path, mad);
}

static bool is_failure(uint32_t event)
{
	return event == CTL_CM_EVENT_ADDR_ERROR || event == CTL_CM_EVENT_ROUTE_ERROR ||
	       event == CTL_CM_EVENT_CONNECT_ERROR || event == CTL_CM_EVENT_UNREACHABLE ||
	       event == CTL_CM_EVENT_REJECTED;
}

/* Records a failed attempt of an id to connect: most programs exit then. */
static struct ctl_cm_failure *add_failure(struct cm_failures *failures, struct cma_id *id,
					  uint32_t event, int32_t status)
{
	struct ctl_cm_failure *ret = &failures->at[failures->count++ % CTL_CM_FAILURES_KEPT];
	struct ctl_cm_listed described;

	cma_id_describe(id, &described);
	*ret = (struct ctl_cm_failure){
		.time_ns = clock_now_ns(),
		.id = described.id,
		.pid = ((const struct conn *)cma_id_user(id)->owner)->pid,
		.port_space = described.port_space,
		.event = event,
		.status = status,
		.local = described.local,
		.remote = described.remote,
	};
	return ret;
}

void cm_refused(struct instance *instance, struct cma_id *id, const struct ctl_cm_refusal *refusal)
{
	add_failure(&instance->cm.failures, id, CTL_CM_EVENT_CONNECT_ERROR, refusal->status)
		->refusal = *refusal;
}

/* Under fault rules the library asks for each transition of a queue pair, so that one can fail. */
static void put_event(void *host, struct cma_id *id, const struct ctl_cm_event *event)
{
	struct instance *instance = (struct instance *)host;
	struct ctl_cm_event put = *event;

	if (is_failure(event->event))
		add_failure(&instance->cm.failures, id, event->event, event->status);
	if (instance->devices[event->addr.device].faults.count)
		put.attr.mask = 0;
	cm_channel_put(id, &put);
}

/* Numbers are drawn from the kernel many at a time. Each is used once. */
static uint32_t draw(void *host)
{
	static uint32_t numbers[64];
	static size_t left;

	(void)host;
	if (!left) {
		random_fill(numbers, sizeof(numbers));
		left = sizeof(numbers) / sizeof(numbers[0]);
	}
	return numbers[--left];
}

/* connect() on a datagram socket sends nothing: it asks the routes for the source address. */
static int find_route(void *host, const struct gid *dst, uint32_t scope_id, struct gid *ret_src)
{
	union udp_addr addr;
	socklen_t len = udp_addr_set(&addr, dst, ROUTE_PORT, scope_id);
	const int fd = socket(udp_addr_family(dst), SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = 0;

	(void)host;
	if (fd < 0)
		return -errno;
	if (connect(fd, &addr.sa, len) || getsockname(fd, &addr.sa, &len))
		rc = -errno;
	close(fd);
	if (rc == 0)
		udp_addr_gid(ret_src, &addr);
	return rc;
}

struct cm_neighbor {
	struct cm_neighbor *prev, *next;
	uint32_t id, device;
	struct gid dst;
};

/* On an Ethernet link the link asks for the neighbor's MAC, and gives up after a second. On a UDP
 * link the kernel does that with the first packet. */
static int ask_neighbor(void *host, struct cma_id *id, uint32_t device, const struct gid *dst)
{
	struct instance *instance = (struct instance *)host;
	struct cm_neighbor *neighbor;
	int rc;

	if (instance->devices[device].link.kind == CTL_LINK_MEMORY)
		return gid_equal(dst, &instance->devices[device].link.gid) || gid_is_multicast(dst)
			       ? 0
			       : -EHOSTUNREACH;
	if (instance->devices[device].link.kind != CTL_LINK_ETHERNET)
		return 0;
	rc = ethernet_neighbor(instance->devices[device].link.ethernet.link, dst, true);
	if (rc)
		return rc == 1 ? 0 : rc;
	neighbor = (struct cm_neighbor *)calloc(1, sizeof(*neighbor));
	if (!neighbor)
		return -ENOMEM;
	neighbor->id = cma_id_handle(id);
	neighbor->device = device;
	neighbor->dst = *dst;
	DL_APPEND(instance->cm.neighbors, neighbor);
	return -EINPROGRESS;
}

static void forget_neighbor(struct instance *instance, struct cm_neighbor *neighbor)
{
	DL_DELETE(instance->cm.neighbors, neighbor);
	free(neighbor);
}

/* Hands answers to their ids. True: more are awaited. */
static bool run_neighbors(struct instance *instance)
{
	struct cm_neighbor *neighbor, *next;

	DL_FOREACH_SAFE (instance->cm.neighbors, neighbor, next) {
		struct link *link = instance->devices[neighbor->device].link.ethernet.link;
		const int rc = ethernet_neighbor(link, &neighbor->dst, false);
		struct cma_id *id = cma_id_find(instance->cm.ids, neighbor->id);

		if (id && rc == 0)
			continue;
		/* As Linux: the error of a neighbor that does not answer is the timeout. */
		if (id)
			cma_id_neighbor(id, rc == 1 ? 0 : -ETIMEDOUT);
		forget_neighbor(instance, neighbor);
	}
	return instance->cm.neighbors != NULL;
}

static bool has_address(void *host, const struct gid *address)
{
	(void)host;
	return udp_addr_ifindex(address) != 0;
}

static bool is_stopped(void *host, struct cma_id *id)
{
	const struct instance *instance = (const struct instance *)host;
	const struct conn *conn = (const struct conn *)cma_id_user(id)->owner;

	return instance->settings.stopped == CTL_STOPPED_WAIT && ctl_process_is_stopped(conn->pid);
}

static bool has_stopped(void *host, const struct gid *address)
{
	const struct instance *instance = (const struct instance *)host;

	return instance->settings.stopped == CTL_STOPPED_WAIT && ctl_published_has_stopped(address);
}

static const struct cma_ids_ops ids_ops = {
	.send = send_mad,
	.event = put_event,
	.has_unread = cm_channel_has_unread,
	.random = draw,
	.route = find_route,
	.neighbor = ask_neighbor,
	.has_address = has_address,
	.is_stopped = is_stopped,
	.has_stopped = has_stopped,
};

/* enum ibv_mtu */
static uint8_t mtu_code(uint32_t bytes)
{
	uint8_t code = 1; /* 256 bytes */

	while (code < 5 && bytes >= 512u << (code - 1))
		code++;
	return code;
}

int cm_open(struct instance *instance)
{
	const struct cma_ids_cfg cfg = {
		.ops = &ids_ops,
		.host = instance,
		.max_ids = CM_MAX_IDS,
	};

	instance->cm.ids = cma_ids_new(&cfg);
	if (!instance->cm.ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < instance->num_devices; i++) {
		const struct device *device = &instance->devices[i];
		const struct cma_device described = {
			.gid = device->link.gid,
			.node_guid = device->guids.node,
			.mtu = mtu_code(device->link.max_mtu),
			.max_responder_resources = (uint8_t)instance->profile.max_qp_rd_atom,
			.max_initiator_depth = (uint8_t)instance->profile.max_qp_init_rd_atom,
			.own_routes = device->link.kind != CTL_LINK_UDP,
		};

		cma_ids_add_device(instance->cm.ids, &described);
	}
	return 0;
}

void cm_close(struct instance *instance)
{
	for (struct conn *conn = instance->conns.all; instance->cm.ids && conn; conn = conn->next)
		cm_end_conn(conn);
	if (instance->cm.ids)
		cma_ids_free(instance->cm.ids);
	instance->cm.ids = NULL;
	while (instance->cm.neighbors)
		forget_neighbor(instance, instance->cm.neighbors);
}

uint64_t cm_run(struct instance *instance, uint64_t now_ns)
{
	const bool waits = run_neighbors(instance);
	uint64_t deadline_ns;

	if (cma_ids_deadline(instance->cm.ids) <= now_ns)
		cma_ids_expire(instance->cm.ids, now_ns);
	deadline_ns = cma_ids_deadline(instance->cm.ids);
	if (waits && deadline_ns > now_ns + NEIGHBOR_WAIT_NS)
		deadline_ns = now_ns + NEIGHBOR_WAIT_NS;
	return deadline_ns;
}

void cm_device_event(const struct device *device, uint32_t type)
{
	struct cma_ids *ids = device->instance->cm.ids;

	if (ids && type == IBV_EVENT_DEVICE_FATAL)
		cma_ids_device_event(ids, device->index, CTL_CM_EVENT_DEVICE_REMOVAL);
	if (ids && type == IBV_EVENT_GID_CHANGE)
		cma_ids_device_event(ids, device->index, CTL_CM_EVENT_ADDR_CHANGE);
}

/* Listeners come before their connection requests, which end with them. */
static void end_ids(const struct conn *conn)
{
	const struct cma_ids *ids = conn->instance->cm.ids;
	const uint64_t now_ns = clock_now_ns();
	struct cma_id *id, *other = NULL; /* the last one before id: of another process */

	while ((id = cma_id_next(ids, other))) {
		if (cma_id_user(id)->owner == conn)
			cm_end_id(id, now_ns);
		else
			other = id;
	}
}

void cm_end_conn(struct conn *conn)
{
	struct cm_channel *channel;

	free(conn->cm_calls);
	conn->cm_calls = NULL;
	if (!conn->cm_channels)
		return;
	for (channel = conn->cm_channels; channel; channel = (struct cm_channel *)channel->hh.next)
		cm_channel_clear(channel);
	end_ids(conn);
	while (conn->cm_channels)
		cm_channel_close(conn->cm_channels);
}
