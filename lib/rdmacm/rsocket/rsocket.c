// SPDX-License-Identifier: MIT
/* The life of an rsocket. */
#include "lib/rdmacm/rsocket/rsocket.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/defaults.h"
#include "lib/rdmacm/rsocket/iomap.h"
#include "lib/rdmacm/rsocket/listen.h"
#include "lib/rdmacm/rsocket/setup.h"

struct rsocket *rs_new(int domain)
{
	struct rsocket *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return NULL;
	rs->refs = 1;
	rs->fd = -1;
	rs->domain = domain;
	pthread_mutex_init(&rs->lock, NULL);
	rs_options_default(&rs->options);
	return rs;
}

void rs_hold(struct rsocket *rs)
{
	atomic_fetch_add(&rs->refs, 1);
}

void rs_put(struct rsocket *rs)
{
	if (atomic_fetch_sub(&rs->refs, 1) != 1)
		return;
	assert(rs->state == RS_CLOSED);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

struct rs_edges rs_edges_of(struct rsocket *rs)
{
	struct rs_edges edges;

	pthread_mutex_lock(&rs->lock);
	edges = rs->edges;
	pthread_mutex_unlock(&rs->lock);
	return edges;
}

void rs_destroy(struct rsocket *rs)
{
	rs_listen_free(rs);
	if (rs->state == RS_CONNECTED)
		rdma_disconnect(rs->id);
	rs_datagram_free(rs);
	rs_iomap_free(rs);
	rs_setup_free(rs);
	if (rs->fd >= 0)
		close(rs->fd);
	if (rs->id)
		rdma_destroy_id(rs->id);
	if (rs->channel)
		rdma_destroy_event_channel(rs->channel);
	rs->id = NULL;
	rs->channel = NULL;
	rs->fd = -1;
	rs->state = RS_CLOSED;
}
