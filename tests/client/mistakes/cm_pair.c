// SPDX-License-Identifier: MIT
/* Ids that connect to a listener of their own process. */
#include "cm_pair.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 2000

/* The device's address (RXE_DM_ADDRESS), which the tests choose from 127.0.0.0/8. */
static struct sockaddr_in device_address(uint16_t port)
{
	const char *text = getenv("RXE_DM_ADDRESS");
	struct sockaddr_in ret = { .sin_family = AF_INET, .sin_port = port };

	must(text && inet_pton(AF_INET, text, &ret.sin_addr) == 1, "read RXE_DM_ADDRESS");
	return ret;
}

struct rdma_cm_event *cm_event(struct cm_pair *pair, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	must(rdma_get_cm_event(pair->channel, &event) == 0, "get an event");
	must(event->event == type, rdma_event_str(event->event));
	return event;
}

void cm_expect(struct cm_pair *pair, enum rdma_cm_event_type type)
{
	must(rdma_ack_cm_event(cm_event(pair, type)) == 0, "acknowledge an event");
}

void cm_open(struct cm_pair *pair)
{
	struct sockaddr_in addr = device_address(0);

	memset(pair, 0, sizeof(*pair));
	pair->channel = rdma_create_event_channel();
	must(pair->channel != NULL, "create an event channel");
	must(rdma_create_id(pair->channel, &pair->listener, NULL, RDMA_PS_TCP) == 0 &&
		     rdma_create_id(pair->channel, &pair->client, NULL, RDMA_PS_TCP) == 0,
	     "create an id");
	must(rdma_bind_addr(pair->listener, (struct sockaddr *)&addr) == 0 &&
		     rdma_listen(pair->listener, 1) == 0,
	     "listen");
	addr = device_address(rdma_get_src_port(pair->listener));
	must(rdma_resolve_addr(pair->client, NULL, (struct sockaddr *)&addr, TIMEOUT_MS) == 0,
	     "resolve an address");
	cm_expect(pair, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(pair->client, TIMEOUT_MS) == 0, "resolve a route");
	cm_expect(pair, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void cm_give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	must(rdma_create_qp(id, NULL, &attr) == 0, "create a QP");
}

/* As of conn_param NULL, but sends do not wait for receives forever. */
static struct rdma_conn_param usual_param(void)
{
	return (struct rdma_conn_param){ .responder_resources = RDMA_MAX_RESP_RES,
					 .initiator_depth = RDMA_MAX_INIT_DEPTH,
					 .retry_count = 7,
					 .rnr_retry_count = 6 };
}

void cm_request(struct cm_pair *pair, struct rdma_conn_param *param)
{
	struct rdma_conn_param usual = usual_param();
	struct rdma_cm_event *event;

	must(rdma_connect(pair->client, param ? param : &usual) == 0, "connect");
	event = cm_event(pair, RDMA_CM_EVENT_CONNECT_REQUEST);
	pair->server = event->id;
	must(rdma_ack_cm_event(event) == 0, "acknowledge an event");
}

void cm_connect(struct cm_pair *pair)
{
	struct rdma_conn_param param = usual_param();

	cm_give_qp(pair->client);
	cm_request(pair, NULL);
	cm_give_qp(pair->server);
	must(rdma_accept(pair->server, &param) == 0, "accept");
	cm_expect(pair, RDMA_CM_EVENT_ESTABLISHED);
	cm_expect(pair, RDMA_CM_EVENT_ESTABLISHED);
}

void cm_disconnect(struct cm_pair *pair)
{
	must(rdma_disconnect(pair->client) == 0, "disconnect");
	cm_expect(pair, RDMA_CM_EVENT_DISCONNECTED);
	must(rdma_disconnect(pair->server) == 0, "disconnect");
	cm_expect(pair, RDMA_CM_EVENT_DISCONNECTED);
}

static void end(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	must(rdma_destroy_id(id) == 0, "destroy an id");
}

void cm_close(struct cm_pair *pair)
{
	end(pair->client);
	end(pair->server);
	end(pair->listener);
	if (pair->channel)
		rdma_destroy_event_channel(pair->channel);
}
