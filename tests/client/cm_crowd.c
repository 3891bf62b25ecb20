// SPDX-License-Identifier: MIT
/* Many connections by librdmacm at once, on one event channel, without a thread of its own.
 *
 *   cm_crowd serve ADDRESS PORT BACKLOG [qp]          accepts all that come, until it is ended
 *   cm_crowd connect ADDRESS PORT COUNT WINDOW [qp]   COUNT connections, each ended at once,
 *                                                     WINDOW at a time
 *   cm_crowd hold ADDRESS PORT COUNT [qp]             COUNT connections that stay until the server
 *                                                     ends them
 *
 * qp: each with a queue pair; else with the number of one that does not exist. The client says what
 * it saw: "established N", "failed N", "disconnected N"; and of "connect" the rate. */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 2000
#define QP_SIZE	   4

static struct rdma_event_channel *channel;
static bool with_qp;
static struct ibv_cq *cq;
static uint32_t next_qpn; /* without an owner: another range in each process */
static uint32_t open_ids, established, failed, disconnected;
static bool serves, holds; /* holds: a client that ends nothing by itself */

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static struct sockaddr_storage endpoint(const char *address, const char *port)
{
	struct sockaddr_storage ret = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret;

	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(port));
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(port));
	} else {
		die(address);
	}
	return ret;
}

/* All share one completion queue: no process sends anything. */
static int give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = QP_SIZE,
			 .max_recv_wr = QP_SIZE,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (!cq)
		cq = ibv_create_cq(id->verbs, QP_SIZE, NULL, NULL, 0);
	if (!cq)
		die("ibv_create_cq");
	attr.send_cq = attr.recv_cq = cq;
	return rdma_create_qp(id, NULL, &attr);
}

static struct rdma_conn_param param_of(const struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7 };

	if (!id->qp)
		param.qp_num = ++next_qpn & 0xffffff;
	return param;
}

static void close_id(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		die("rdma_destroy_id");
	open_ids--;
}

static void start_connect(const struct sockaddr_storage *to)
{
	struct sockaddr_storage dst = *to;
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	open_ids++;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&dst, TIMEOUT_MS))
		die("rdma_resolve_addr");
}

static void connect_id(struct rdma_cm_id *id)
{
	struct rdma_conn_param param;

	if (with_qp && give_qp(id)) {
		perror("rdma_create_qp");
		failed++;
		close_id(id);
		return;
	}
	param = param_of(id);
	if (rdma_connect(id, &param))
		die("rdma_connect");
}

static void request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param;

	open_ids++;
	if (with_qp && give_qp(id)) {
		perror("rdma_create_qp");
		rdma_reject(id, NULL, 0);
		close_id(id);
		return;
	}
	param = param_of(id);
	if (rdma_accept(id, &param))
		close_id(id);
}

/* A client's connection: is ended at once, but where it is held. */
static void done(struct rdma_cm_id *id)
{
	established++;
	if (!holds && !serves && rdma_disconnect(id))
		die("rdma_disconnect");
}

static void response(struct rdma_cm_id *id)
{
	/* Fails when the other side has left meanwhile: its event follows. */
	if (rdma_establish(id) == 0)
		done(id);
}

/* What is done about an event, once it is acknowledged. */
static void handle(enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, TIMEOUT_MS))
			die("rdma_resolve_route");
		return;
	case RDMA_CM_EVENT_ROUTE_RESOLVED: connect_id(id); return;
	case RDMA_CM_EVENT_CONNECT_REQUEST: request(id); return;
	case RDMA_CM_EVENT_CONNECT_RESPONSE: response(id); return;
	case RDMA_CM_EVENT_ESTABLISHED: done(id); return;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		failed++;
		close_id(id);
		return;
	case RDMA_CM_EVENT_DISCONNECTED:
		disconnected++;
		rdma_disconnect(id); /* answers, where the other side has begun */
		close_id(id);
		return;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR: printf("%s\n", rdma_event_str(type)); return;
	}
}

static void one_event(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	enum rdma_cm_event_type type;

	if (rdma_get_cm_event(channel, &event))
		die("rdma_get_cm_event");
	id = event->id;
	type = event->event;
	if (rdma_ack_cm_event(event))
		die("rdma_ack_cm_event");
	handle(type, id);
}

static void serve(struct sockaddr_storage *at, int backlog)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_bind_addr(id, (struct sockaddr *)at))
		die("rdma_bind_addr");
	if (rdma_listen(id, backlog))
		die("rdma_listen");
	printf("listening\n");
	for (;;)
		one_event();
}

static void say(void)
{
	printf("established %u\nfailed %u\ndisconnected %u\n", established, failed, disconnected);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* At most window connections at once. */
static void run_client(const struct sockaddr_storage *to, uint32_t count, uint32_t window)
{
	const double began = now_s();
	uint32_t started = 0;

	while (disconnected + failed < count) {
		while (started < count && open_ids < window) {
			start_connect(to);
			started++;
		}
		one_event();
		if (holds && established + failed == count) {
			say();
			established = 0;
		}
	}
	say();
	if (!holds)
		printf("rate %.0f/s\n", count / (now_s() - began));
}

int main(int argc, char **argv)
{
	struct sockaddr_storage at;

	if (argc < 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	at = endpoint(argv[2], argv[3]);
	channel = rdma_create_event_channel();
	if (!channel)
		die("rdma_create_event_channel");
	with_qp = strcmp(argv[argc - 1], "qp") == 0;
	holds = strcmp(argv[1], "hold") == 0;
	serves = strcmp(argv[1], "serve") == 0;
	next_qpn = (uint32_t)serves << 23 | ((uint32_t)getpid() & 0x7f) << 16;
	if (serves)
		serve(&at, atoi(argv[4]));
	run_client(&at, (uint32_t)atoi(argv[4]), (uint32_t)atoi(holds ? argv[4] : argv[5]));
	return 0;
}
