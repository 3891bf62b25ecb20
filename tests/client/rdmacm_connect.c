// SPDX-License-Identifier: MIT
/* Connections by librdmacm: what each side learns of the other, what the ids say, and what the
 * queue pairs do. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "fixture.h"
#include "rdmacm_fixture.h"

#define NO_LISTENER 8  /* IBTA 12.6.7.2: invalid service ID */
#define CONSUMER    28 /* consumer defined */
#define EXACTLY	    2  /* a selector of a path record */

static struct rdma_conn_param param_with(const char *text)
{
	return (struct rdma_conn_param){
		.private_data = text,
		.private_data_len = (uint8_t)(strlen(text) + 1),
		.responder_resources = 3,
		.initiator_depth = 2,
		.retry_count = 5,
		.rnr_retry_count = 6,
	};
}

START_TEST(both_ways)
{
	struct pair pair;

	pair_open(&pair);
	pair_talk(&pair);
	pair_close(&pair);
}
END_TEST

START_TEST(ids_say_where_they_are)
{
	struct sockaddr_storage own = device_address(0);
	const struct rdma_addr *client, *server;
	struct pair pair;

	pair_open(&pair);
	client = &pair.client->route.addr;
	server = &pair.server->route.addr;
	ck_assert_str_eq(ibv_get_device_name(pair.client->verbs->device), "rxe_dm0");
	ck_assert_ptr_eq(pair.server->verbs, pair.client->verbs);
	ck_assert_int_eq(pair.client->port_num, 1);
	ck_assert_int_eq(pair.server->port_num, 1);
	ck_assert_ptr_eq(pair.server->context, pair.channel); /* the listener's */
	ck_assert_int_eq(client->src_addr.sa_family, own.ss_family);
	ck_assert_int_eq(rdma_get_local_addr(pair.server)->sa_family, own.ss_family);
	ck_assert_uint_eq(rdma_get_dst_port(pair.client), rdma_get_src_port(pair.listener));
	ck_assert_uint_eq(rdma_get_src_port(pair.server), rdma_get_src_port(pair.listener));
	ck_assert_uint_eq(rdma_get_dst_port(pair.server), rdma_get_src_port(pair.client));
	ck_assert_mem_eq(&client->addr.ibaddr.sgid, &server->addr.ibaddr.dgid,
			 sizeof(union ibv_gid));
	ck_assert_uint_eq(ntohs(client->addr.ibaddr.pkey), 0xffff);
	ck_assert_int_eq(pair.client->route.num_paths, 1);
	ck_assert_mem_eq(&pair.client->route.path_rec->dgid, &client->addr.ibaddr.dgid,
			 sizeof(union ibv_gid));
	pair_close(&pair);
}
END_TEST

/* rdma_resolve_route(3): the path record of IBTA 15.2.5.16, which says exactly what the path is. */
START_TEST(a_path_record)
{
	struct ibv_port_attr port;
	const struct ibv_sa_path_rec *path;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	path = pair.client->route.path_rec;
	ck_assert_int_eq(ibv_query_port(pair.client->verbs, 1, &port), 0);
	ck_assert_mem_eq(&path->sgid, &pair.client->route.addr.addr.ibaddr.sgid,
			 sizeof(union ibv_gid));
	ck_assert_int_eq(path->reversible, 1);
	ck_assert_int_eq(path->numb_path, 1);
	ck_assert_uint_eq(ntohs(path->pkey), 0xffff);
	ck_assert_int_eq(path->mtu_selector, EXACTLY);
	ck_assert_int_eq(path->mtu, port.active_mtu);
	ck_assert_int_eq(path->rate_selector, EXACTLY);
	ck_assert_int_eq(path->packet_life_time_selector, EXACTLY);
	pair_close(&pair);
}
END_TEST

START_TEST(private_data_and_numbers)
{
	struct rdma_conn_param ask = param_with("please"), answer = param_with("welcome");
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	event = pair_request(&pair, &ask);
	ck_assert_str_eq(event->param.conn.private_data, "please");
	ck_assert_uint_eq(event->param.conn.responder_resources, 2); /* the other side's view */
	ck_assert_uint_eq(event->param.conn.initiator_depth, 3);
	ck_assert_uint_eq(event->param.conn.retry_count, 5);
	ck_assert_uint_eq(event->param.conn.rnr_retry_count, 6);
	ck_assert_uint_eq(event->param.conn.qp_num, pair.client->qp->qp_num);
	rdma_ack_cm_event(event);

	answer.responder_resources = 1;
	ck_assert_int_eq(rdma_accept(pair.server, &answer), 0);
	event = next_event(pair.channel, RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(event->id, pair.client);
	ck_assert_str_eq(event->param.conn.private_data, "welcome");
	rdma_ack_cm_event(event);
	expect_cm(pair.channel, RDMA_CM_EVENT_ESTABLISHED, pair.server, 0);
	ck_assert_int_eq(ibv_query_qp(pair.server->qp, &attr, IBV_QP_CAP, &init), 0);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 1);
	ck_assert_uint_eq(attr.max_rd_atomic, 2);
	ck_assert_uint_eq(attr.dest_qp_num, pair.client->qp->qp_num);
	pair_talk(&pair);
	pair_close(&pair);
}
END_TEST

START_TEST(rejected_with_private_data)
{
	struct rdma_cm_event *event;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	rdma_ack_cm_event(pair_request(&pair, NULL));
	ck_assert_int_eq(rdma_reject(pair.server, "no room", 8), 0);
	event = next_event(pair.channel, RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(event->id, pair.client);
	ck_assert_int_eq(event->status, CONSUMER);
	ck_assert_str_eq(event->param.conn.private_data, "no room");
	rdma_ack_cm_event(event);
	ck_assert_int_eq(state_of(pair.client), IBV_QPS_ERR);
	pair_close(&pair);
}
END_TEST

START_TEST(nobody_listens)
{
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	ck_assert_int_eq(rdma_destroy_id(pair.listener), 0);
	pair.listener = NULL;
	ck_assert_int_eq(rdma_connect(pair.client, NULL), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_REJECTED, pair.client, NO_LISTENER);
	pair_close(&pair);
}
END_TEST

/* A request that no process read is rejected when its listener ends. */
START_TEST(listener_ends_with_an_unread_request)
{
	struct rdma_event_channel *channel;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	channel = channel_open();
	ck_assert_int_eq(rdma_migrate_id(pair.client, channel), 0);
	ck_assert_int_eq(rdma_connect(pair.client, NULL), 0);
	while (!is_readable(pair.channel))
		;
	ck_assert_int_eq(rdma_destroy_id(pair.listener), 0);
	pair.listener = NULL;
	ck_assert_int_eq(rdma_ack_cm_event(next_event(channel, RDMA_CM_EVENT_REJECTED)), 0);
	pair_close(&pair);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(disconnected_by_the_client)
{
	struct ibv_wc wc;
	struct pair pair;

	pair_open(&pair);
	ck_assert_int_eq(rdma_disconnect(pair.client), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_DISCONNECTED, pair.server, 0);
	ck_assert_int_eq(rdma_disconnect(pair.server), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_DISCONNECTED, pair.client, 0);
	ck_assert_int_eq(state_of(pair.client), IBV_QPS_ERR);
	ck_assert_int_eq(state_of(pair.server), IBV_QPS_ERR);
	ck_assert_int_eq(rdma_get_recv_comp(pair.client, &wc), 1);
	ck_assert_int_eq(wc.status, IBV_WC_WR_FLUSH_ERR);
	pair_close(&pair);
}
END_TEST

/* An id's end is a disconnection for the other side. */
START_TEST(destroyed_by_the_server)
{
	struct pair pair;

	pair_open(&pair);
	rdma_destroy_qp(pair.server);
	ck_assert_int_eq(rdma_destroy_id(pair.server), 0);
	pair.server = NULL;
	expect_cm(pair.channel, RDMA_CM_EVENT_DISCONNECTED, pair.client, 0);
	pair_close(&pair);
}
END_TEST

/* Queue pairs that the program makes and moves itself. */
static struct ibv_qp *external_qp(struct rdma_cm_id *id, struct ibv_cq **cq)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	*cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	ck_assert_ptr_nonnull(*cq);
	attr.send_cq = attr.recv_cq = *cq;
	return ibv_create_qp(id->pd, &attr);
}

static void move_qp(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	ck_assert_int_eq(rdma_init_qp_attr(id, &attr, &mask), 0);
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, mask), 0);
}

START_TEST(queue_pairs_of_the_program)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *listener = id_open(channel, RDMA_PS_TCP),
			  *client = id_open(channel, RDMA_PS_TCP), *server;
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7 };
	struct rdma_cm_event *event;
	struct ibv_qp *qps[2];
	struct ibv_cq *cqs[2];

	resolve(client, listen_at(listener, 1));
	qps[0] = external_qp(client, &cqs[0]);
	move_qp(client, qps[0], IBV_QPS_INIT);
	ck_assert_int_eq(rdma_connect(client, NULL), -1); /* which queue pair? */
	ck_assert_int_eq(errno, EINVAL);
	param.qp_num = qps[0]->qp_num;
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	ck_assert_uint_eq(event->param.conn.qp_num, qps[0]->qp_num);
	server = event->id;
	rdma_ack_cm_event(event);

	qps[1] = external_qp(server, &cqs[1]);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		move_qp(server, qps[1], state);
	param.qp_num = qps[1]->qp_num;
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	ck_assert_ptr_eq(event->id, client);
	ck_assert_uint_eq(event->param.conn.qp_num, qps[1]->qp_num);
	rdma_ack_cm_event(event);
	move_qp(client, qps[0], IBV_QPS_RTR);
	move_qp(client, qps[0], IBV_QPS_RTS);
	ck_assert_int_eq(rdma_establish(client), 0);
	expect_cm(channel, RDMA_CM_EVENT_ESTABLISHED, server, 0);

	ck_assert_int_eq(rdma_disconnect(server), 0);
	expect_cm(channel, RDMA_CM_EVENT_DISCONNECTED, client, 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_destroy_qp(qps[i]), 0);
		ck_assert_int_eq(ibv_destroy_cq(cqs[i]), 0);
	}
	ck_assert_int_eq(rdma_destroy_id(client), 0);
	ck_assert_int_eq(rdma_destroy_id(server), 0);
	ck_assert_int_eq(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

static void set_ack_timeout(struct rdma_cm_id *id, uint8_t timeout)
{
	ck_assert_int_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
					 sizeof(timeout)),
			 0);
}

static uint8_t ack_timeout_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(id->qp, &attr, IBV_QP_TIMEOUT, &init), 0);
	return attr.timeout;
}

static void expect_options(struct rdma_cm_id *id, uint32_t vendor, uint32_t options)
{
	struct ibv_ece ece = { 0 };

	ck_assert_int_eq(rdma_get_remote_ece(id, &ece), 0);
	ck_assert_uint_eq(ece.vendor_id, vendor);
	ck_assert_uint_eq(ece.options, options);
}

/* rdma_set_local_ece(3): options of a vendor travel with the request and the answer, where the
 * programs have the queue pairs. */
START_TEST(options_of_a_vendor)
{
	struct ibv_ece asked = { .vendor_id = 0x15b3, .options = 0x10002 },
		       answered = { .vendor_id = 0x15b3, .options = 0x20003 };
	struct rdma_conn_param param = { .qp_num = 0x77, .retry_count = 7 };
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *listener = id_open(channel, RDMA_PS_TCP), *server;
	struct rdma_cm_id *client = id_open(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	resolve(client, listen_at(listener, 1));
	ck_assert_int_eq(rdma_set_local_ece(client, &asked), 0);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	expect_options(server, asked.vendor_id, asked.options);
	ck_assert_int_eq(rdma_set_local_ece(server, &answered), 0);
	param.qp_num = 0x78;
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	expect_cm(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, client, 0);
	expect_options(client, answered.vendor_id, answered.options);
	ck_assert_int_eq(rdma_establish(client), 0);
	expect_cm(channel, RDMA_CM_EVENT_ESTABLISHED, server, 0);
	ck_assert_int_eq(rdma_destroy_id(client), 0);
	ck_assert_int_eq(rdma_destroy_id(server), 0);
	ck_assert_int_eq(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* An option that is set while the event of the transition waits, or was read already, counts. */
START_TEST(options_after_events)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct pollfd ready = { .events = POLLIN };
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	ready.fd = pair.channel->fd;
	rdma_ack_cm_event(pair_request(&pair, &param));
	set_ack_timeout(pair.server, 5);
	ck_assert_int_eq(rdma_accept(pair.server, &param), 0);
	ck_assert_int_eq(poll(&ready, 1, -1), 1);
	set_ack_timeout(pair.client, 6);
	expect_cm(pair.channel, RDMA_CM_EVENT_ESTABLISHED, pair.client, 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_ESTABLISHED, pair.server, 0);
	ck_assert_uint_eq(ack_timeout_of(pair.server), 5);
	ck_assert_uint_eq(ack_timeout_of(pair.client), 6);
	pair_talk(&pair);
	pair_close(&pair);
}
END_TEST

/* A datagram by what the answer to the lookup says. */
static void send_datagram(struct pair *pair, struct rdma_ud_param *ud)
{
	struct ibv_ah *ah = ibv_create_ah(pair->client->pd, &ud->ah_attr);
	struct ibv_wc wc;

	ck_assert_ptr_nonnull(ah);
	ck_assert_uint_eq(ud->qkey, RDMA_UDP_QKEY);
	ck_assert_uint_eq(ud->qp_num, pair->server->qp->qp_num);
	fill(pair->memory[0], 100, 3);
	ck_assert_int_eq(rdma_post_ud_send(pair->client, NULL, pair->memory[0], 100, pair->mrs[0],
					   0, ah, ud->qp_num),
			 0);
	ck_assert_int_eq(rdma_get_recv_comp(pair->server, &wc), 1);
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, 140);
	ck_assert_uint_eq(wc.src_qp, pair->client->qp->qp_num);
	expect_filled(pair->memory[1] + 40, 100, 3);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
}

START_TEST(datagrams)
{
	struct rdma_conn_param ask = param_with("who"), answer = param_with("me");
	struct rdma_cm_event *event;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_UDP);
	ck_assert_int_eq(state_of(pair.client), IBV_QPS_RTS);
	event = pair_request(&pair, &ask);
	ck_assert_str_eq(event->param.ud.private_data, "who");
	rdma_ack_cm_event(event);
	ck_assert_int_eq(rdma_accept(pair.server, &answer), 0);
	event = next_event(pair.channel, RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(event->id, pair.client);
	ck_assert_str_eq(event->param.ud.private_data, "me");
	send_datagram(&pair, &event->param.ud);
	rdma_ack_cm_event(event);
	pair_close(&pair);
}
END_TEST

START_TEST(datagrams_rejected)
{
	struct rdma_cm_event *event;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_UDP);
	rdma_ack_cm_event(pair_request(&pair, &(struct rdma_conn_param){ 0 }));
	ck_assert_int_eq(rdma_reject(pair.server, NULL, 0), 0);
	/* Linux: the failed lookup is unreachable, its status that of the answer. */
	event = next_event(pair.channel, RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_ptr_eq(event->id, pair.client);
	ck_assert_int_ne(event->status, 0);
	rdma_ack_cm_event(event);
	pair_close(&pair);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, both_ways);
	tcase_add_test(tests, ids_say_where_they_are);
	tcase_add_test(tests, a_path_record);
	tcase_add_test(tests, private_data_and_numbers);
	tcase_add_test(tests, rejected_with_private_data);
	tcase_add_test(tests, nobody_listens);
	tcase_add_test(tests, listener_ends_with_an_unread_request);
	tcase_add_test(tests, disconnected_by_the_client);
	tcase_add_test(tests, destroyed_by_the_server);
	tcase_add_test(tests, queue_pairs_of_the_program);
	tcase_add_test(tests, options_of_a_vendor);
	tcase_add_test(tests, options_after_events);
	tcase_add_test(tests, datagrams);
	tcase_add_test(tests, datagrams_rejected);
}

int main(void)
{
	return fixture_main("rdmacm_connect", add);
}
