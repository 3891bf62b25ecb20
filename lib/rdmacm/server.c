// SPDX-License-Identifier: MIT
/* The connection to the device server, the devices that this process has opened through librdmacm,
 * and fork(). */
#include "lib/rdmacm/server.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lib/control/client.h"
#include "lib/control/cm_request.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/needs.h"
#include "lib/rdmacm/newer.h"
#include "lib/refusal/refusal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcm_server *current;
static uint32_t serials;
static struct rcm_device *devices;

/* A thread that the child does not have may hold the lock. */
void rcm_server_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* libibverbs says on its log why there is no device, so it is asked first. */
static bool has_devices(void)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (list)
		ibv_free_device_list(list);
	return count > 0;
}

static struct rcm_server *connect_locked(void)
{
	struct rcm_server *server = has_devices() ? calloc(1, sizeof(*server)) : NULL;

	if (!server || ctl_connect(&server->client)) {
		free(server);
		return NULL;
	}
	server->serial = ++serials;
	server->refs = 1;
	return server;
}

static void put_locked(struct rcm_server *server)
{
	if (--server->refs)
		return;
	ctl_disconnect(server->client);
	free(server);
}

struct rcm_server *rcm_server_get(void)
{
	struct rcm_server *server;

	pthread_mutex_lock(&lock);
	if (current && !ctl_alive(current->client)) {
		put_locked(current);
		current = NULL;
	}
	if (!current)
		current = connect_locked();
	server = current;
	if (server)
		server->refs++;
	pthread_mutex_unlock(&lock);
	if (!server)
		errno = ENODEV;
	return server;
}

void rcm_server_put(struct rcm_server *server)
{
	pthread_mutex_lock(&lock);
	put_locked(server);
	pthread_mutex_unlock(&lock);
}

/* The server's errno says what its connection manager found. 0 or a positive errno. */
static int refuse_by_server(uint32_t op, int rc)
{
	switch (-rc) {
	case 0: return 0;
	case EINVAL: return rcm_refuse_by_need(op);
	case ENODEV: return refuse(WHY_CM_NO_WAY);
	case EADDRINUSE: return refuse(WHY_CM_IN_USE);
	case EADDRNOTAVAIL: return refuse(WHY_CM_NO_ADDRESS);
	default: return refuse(WHY_CM_SERVER(-rc), strerror(-rc));
	}
}

int rcm_server_ask(struct rcm_server *server, const struct ctl_msg_cm *req,
		   struct ctl_msg_cm_reply *ret)
{
	struct ctl_msg_cm_reply reply;

	return refuse_by_server(req->op, ctl_cm(server->client, req, ret ? ret : &reply));
}

static uint8_t at_most_254(int value)
{
	/* 255 means "as many as possible" (RDMA_MAX_RESP_RES). */
	return (uint8_t)(value < 254 ? value : 254);
}

/* A device that does not open is not among the devices. */
static void open_device(struct ibv_device *base, uint32_t server_serial)
{
	struct rcm_device *device = calloc(1, sizeof(*device));
	struct ibv_device_attr attr;

	if (!device)
		return;
	device->verbs = ibv_open_device(base);
	if (!device->verbs || ibv_query_device(device->verbs, &attr)) {
		if (device->verbs)
			ibv_close_device(device->verbs);
		free(device);
		return;
	}
	device->guid = ibv_get_device_guid(base);
	device->server_serial = server_serial;
	device->max_initiator_depth = at_most_254(attr.max_qp_init_rd_atom);
	device->max_responder_resources = at_most_254(attr.max_qp_rd_atom);
	LL_APPEND(devices, device);
}

/* The device with this GUID, or NULL. */
static struct rcm_device *find(uint64_t guid, uint32_t server_serial)
{
	struct rcm_device *device;

	LL_FOREACH (devices, device) {
		if (device->guid == guid && device->server_serial == server_serial)
			return device;
	}
	return NULL;
}

/* Opens every device that libibverbs lists, or with a GUID only that one. */
static void open_listed(uint32_t server_serial, uint64_t guid)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (size_t i = 0; list && list[i]; i++) {
		uint64_t its = ibv_get_device_guid(list[i]);

		if ((!guid || guid == its) && !find(its, server_serial))
			open_device(list[i], server_serial);
	}
	if (list)
		ibv_free_device_list(list);
}

static int give_domain(struct rcm_device *device)
{
	if (!device)
		return refuse(WHY_CM_LOST_DEVICE);
	if (!device->pd)
		device->pd = ibv_alloc_pd(device->verbs);
	return device->pd ? 0 : rcm_errno();
}

int rcm_device_get(const struct rcm_server *server, uint64_t guid, struct rcm_device **ret)
{
	struct rcm_device *device;
	int err;

	pthread_mutex_lock(&lock);
	device = find(guid, server->serial);
	if (!device) {
		open_listed(server->serial, guid);
		device = find(guid, server->serial);
	}
	err = give_domain(device);
	pthread_mutex_unlock(&lock);
	if (!err)
		*ret = device;
	return err;
}

struct ibv_xrcd *rcm_device_xrcd(struct rcm_device *device)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&lock);
	if (!device->xrcd)
		device->xrcd = ibv_open_xrcd(device->verbs, &attr);
	xrcd = device->xrcd;
	pthread_mutex_unlock(&lock);
	return xrcd;
}

static struct ibv_context **list_contexts(uint32_t server_serial, int *ret_count)
{
	struct ibv_context **list;
	struct rcm_device *device;
	size_t max = 0, count = 0;

	LL_COUNT(devices, device, max);
	list = calloc(max + 1, sizeof(struct ibv_context *));
	if (!list)
		return NULL;
	LL_FOREACH (devices, device) {
		if (device->server_serial == server_serial)
			list[count++] = device->verbs;
	}
	*ret_count = (int)count;
	return list;
}

/* rdma_get_devices(3): contexts stay open until the process ends. */
struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct rcm_server *server = rcm_server_get();
	struct ibv_context **list = NULL;
	int count = 0;

	if (server) {
		pthread_mutex_lock(&lock);
		open_listed(server->serial, 0);
		list = list_contexts(server->serial, &count);
		pthread_mutex_unlock(&lock);
		rcm_server_put(server);
	}
	if (num_devices)
		*num_devices = count;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
