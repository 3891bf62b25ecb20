// SPDX-License-Identifier: MIT
/* A connection to the device server: how a client finds or starts the server, and what fork() does
 * to the connection.
 *
 * A child of fork() inherits its parent's socket and must not use it: the replies would reach
 * either process. The child closes its copy, and its first call opens a connection of its own.
 * Without a copy in the child, the server sees when the parent exits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/start.h"
#include "net/link/descriptor.h"

#define CONNECT_TRIES	 400
#define CONNECT_PAUSE_NS 5000000
#define FULL_TRIES	 30

static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ctl_client *clients;

static void before_fork(void)
{
	struct ctl_client *client;

	pthread_mutex_lock(&clients_lock);
	DL_FOREACH (clients, client)
		pthread_mutex_lock(&client->lock);
}

static void after_fork_parent(void)
{
	struct ctl_client *client;

	DL_FOREACH (clients, client)
		pthread_mutex_unlock(&client->lock);
	pthread_mutex_unlock(&clients_lock);
}

static void forget_parent(struct ctl_client *client)
{
	descriptor_close(client->sock);
	client->sock = -1;
	client->forked = true;
	ctl_held_forget(client);
}

static void after_fork_child(void)
{
	struct ctl_client *client;
	NO_CANCEL;

	DL_FOREACH (clients, client) {
		forget_parent(client);
		pthread_mutex_unlock(&client->lock);
	}
	pthread_mutex_unlock(&clients_lock);
}

static void handle_fork(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void pause_briefly(void)
{
	struct timespec ts = { .tv_nsec = CONNECT_PAUSE_NS };

	nanosleep(&ts, NULL);
}

static int connect_or_start(struct ctl_client *client, bool autostart)
{
	const char *args[] = { "start",	     "--auto",	       CTL_READY_OPTION,
			       "--instance", client->instance, NULL };
	int rc = -ECONNREFUSED, full = 0;

	for (int i = 0; i < CONNECT_TRIES; i++) {
		rc = ctl_exchange_open(client);
		/* The listen backlog is full: connect() has waited for a place, try again. */
		if (rc == -EAGAIN && ++full < FULL_TRIES)
			continue;
		if (rc == -ESHUTDOWN) {
			pause_briefly();
			continue;
		}
		if (rc != -ECONNREFUSED || !autostart)
			return rc;
		rc = ctl_start_server(args);
		if (rc && rc != -EALREADY)
			return -ECONNREFUSED;
		if (rc)
			pause_briefly();
	}
	ctl_log(CTL_LOG_ERROR, "the device server of instance '%s' could not be reached",
		client->instance);
	return -ECONNREFUSED;
}

int ctl_connect_as(struct ctl_client **ret, const char *instance, enum ctl_role role,
		   bool autostart)
{
	static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
	struct ctl_client *client;
	int rc;
	NO_CANCEL;

	pthread_once(&fork_once, handle_fork);
	client = (struct ctl_client *)calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->role = role;
	snprintf(client->instance, sizeof(client->instance), "%s", instance);
	pthread_mutex_init(&client->lock, NULL);

	rc = connect_or_start(client, autostart);
	if (rc) {
		pthread_mutex_destroy(&client->lock);
		free(client);
		return rc;
	}
	pthread_mutex_lock(&clients_lock);
	DL_APPEND(clients, client);
	pthread_mutex_unlock(&clients_lock);
	*ret = client;
	return 0;
}

void ctl_disconnect(struct ctl_client *client)
{
	NO_CANCEL;

	if (!client)
		return;
	pthread_mutex_lock(&clients_lock);
	DL_DELETE(clients, client);
	pthread_mutex_unlock(&clients_lock);
	ctl_held_release(client);
	descriptor_close(client->sock);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

bool ctl_alive(struct ctl_client *client)
{
	bool alive = true;
	char byte;
	NO_CANCEL;

	pthread_mutex_lock(&client->lock);
	if (client->dead)
		alive = false;
	else if (!client->forked)
		alive = descriptor_is_kept(client->sock) &&
			recv(client->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
	pthread_mutex_unlock(&client->lock);
	return alive;
}

static int reconnect(struct ctl_client *client)
{
	uint64_t server_id = client->server_id;
	int rc = ctl_exchange_open(client);

	if (rc)
		return -ENODEV;
	client->forked = false;
	if (client->server_id != server_id)
		return -ENODEV; /* the contexts ended with the other server */
	return ctl_held_rejoin(client);
}

int ctl_connected_locked(struct ctl_client *client)
{
	int rc;

	if (!client->forked && client->pid != getpid())
		forget_parent(client);
	if (client->dead)
		return -ENODEV;
	rc = client->forked ? reconnect(client) : 0;
	if (rc)
		client->dead = true;
	return rc ? -ENODEV : 0;
}

int ctl_do_locked(struct ctl_client *client, struct ctl_call *call, size_t want_fds)
{
	int rc;
	NO_CANCEL;

	rc = ctl_connected_locked(client);
	return rc ? rc : ctl_exchange(client, call, want_fds);
}

int ctl_do(struct ctl_client *client, struct ctl_call *call, size_t want_fds)
{
	int rc;

	pthread_mutex_lock(&client->lock);
	rc = ctl_do_locked(client, call, want_fds);
	pthread_mutex_unlock(&client->lock);
	return rc;
}
