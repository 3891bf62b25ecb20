// SPDX-License-Identifier: MIT
/* The connection to the device server, and fork(). */
#include "lib/rdmacm/server.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "lib/control/client.h"
#include "lib/control/cm.h"
#include "lib/rdmacm/device.h"
#include "lib/rdmacm/id.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcm_server *current;
static uint32_t serials;
static _Atomic uint32_t forks;

uint32_t rcm_forks(void)
{
	return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* A child's first request makes a connection of its own (lib/control/connection.c), on which it has
 * neither channels nor ids. Locks may be held by threads that the child does not have. */
static void in_child(void)
{
	atomic_fetch_add(&forks, 1);
	pthread_mutex_init(&lock, NULL);
	rcm_devices_forked();
	rcm_ids_forked();
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
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
	struct rcm_server *server;

	if (!has_devices())
		return NULL;
	server = calloc(1, sizeof(*server));
	if (!server)
		return NULL;
	if (ctl_connect(&server->client)) {
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

int rcm_server_ask(struct rcm_server *server, const struct ctl_msg_cm *req,
		   struct ctl_msg_cm_reply *ret)
{
	struct ctl_msg_cm_reply reply;

	return -ctl_cm(server->client, req, ret ? ret : &reply);
}
