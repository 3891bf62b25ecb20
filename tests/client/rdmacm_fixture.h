/* SPDX-License-Identifier: MIT */
/* The fixture of librdmacm's tests: a pair is a listener, an id that connects to it and the id of
 * the request, all on one event channel of one process. What goes wrong without being asked for
 * fails the test. Nothing waits by the clock. */
#ifndef TESTS_CLIENT_RDMACM_FIXTURE_H
#define TESTS_CLIENT_RDMACM_FIXTURE_H

#include <check.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define PAIR_BYTES 4096
#define TIMEOUT_MS 2000

struct pair {
	enum rdma_port_space ps;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *client, *server;
	uint8_t memory[2][PAIR_BYTES]; /* the client's, the server's */
	struct ibv_mr *mrs[2];
};

/* The device's address (RXE_DM_ADDRESS), with this port in host order. */
struct sockaddr_storage device_address(uint16_t port);
struct sockaddr *plain(struct sockaddr_storage *addr);

struct rdma_event_channel *channel_open(void);
struct rdma_cm_id *id_open(struct rdma_event_channel *channel, enum rdma_port_space ps);
/* The next event of a channel, which is the caller's to acknowledge. It must be this one. */
struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* As above, of this id, with this status; acknowledged. */
void expect_cm(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
	       struct rdma_cm_id *id, int status);
bool is_readable(struct rdma_event_channel *channel);
/* Waits until the thread has stored its gettid() and sleeps in its wait for an event. */
void await_receiving(const _Atomic pid_t *thread);

/* Listens at the device's address. Returns the port. */
uint16_t listen_at(struct rdma_cm_id *id, int backlog);
/* Address and route of the device's own address. */
void resolve(struct rdma_cm_id *id, uint16_t port);
/* A queue pair with completion queues of its own. */
void give_qp(struct rdma_cm_id *id);
enum ibv_qp_state state_of(struct rdma_cm_id *id);

/* A listener, and a client that has a route to it and a queue pair. */
void pair_prepare(struct pair *pair, enum rdma_port_space ps);
/* The request arrives: pair->server, with a queue pair. */
struct rdma_cm_event *pair_request(struct pair *pair, struct rdma_conn_param *param);
/* Both sides established. */
void pair_accept(struct pair *pair, struct rdma_conn_param *param);
void pair_open(struct pair *pair);
/* A message from the client to the server and one back. */
void pair_talk(struct pair *pair);
void pair_close(struct pair *pair);

#endif
