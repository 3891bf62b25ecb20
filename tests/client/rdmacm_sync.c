// SPDX-License-Identifier: MIT
/* Endpoints whose calls wait, and the addresses that they are made from; groups; several
 * processes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "rdmacm_fixture.h"

static struct rdma_addrinfo *find(const char *service, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags | RAI_NUMERICHOST,
				       .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *found = NULL;

	ck_assert_int_eq(rdma_getaddrinfo(getenv("RXE_DM_ADDRESS"), service, &hints, &found), 0);
	return found;
}

static struct rdma_cm_id *endpoint(struct rdma_addrinfo *info)
{
	struct ibv_qp_init_attr attr = { .cap = { 8, 8, 1, 1, 0 }, .sq_sig_all = 1 };
	struct rdma_cm_id *id;

	ck_assert_int_eq(rdma_create_ep(&id, info, NULL, &attr), 0);
	rdma_freeaddrinfo(info);
	return id;
}

START_TEST(addresses)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_qp_type = IBV_QPT_UD }, *info;
	struct sockaddr_storage own = device_address(7471);

	info = find("7471", 0);
	ck_assert_int_eq(info->ai_family, own.ss_family);
	ck_assert_int_eq(info->ai_qp_type, IBV_QPT_RC);
	ck_assert_int_eq(info->ai_port_space, RDMA_PS_TCP);
	ck_assert_int_eq(info->ai_flags, 0);
	ck_assert_mem_eq(info->ai_dst_addr, &own, info->ai_dst_len);
	ck_assert_ptr_null(info->ai_src_addr);
	rdma_freeaddrinfo(info);

	info = find("7471", RAI_PASSIVE);
	ck_assert_int_eq(info->ai_flags, RAI_PASSIVE);
	ck_assert_mem_eq(info->ai_src_addr, &own, info->ai_src_len);
	ck_assert_ptr_null(info->ai_dst_addr);
	rdma_freeaddrinfo(info);

	ck_assert_int_eq(rdma_getaddrinfo(NULL, "7471", &hints, &info), 0);
	ck_assert_int_eq(info->ai_port_space, RDMA_PS_UDP);
	ck_assert_int_eq(info->ai_qp_type, IBV_QPT_UD);
	rdma_freeaddrinfo(info);
	hints.ai_flags = RAI_NUMERICHOST;
	ck_assert_int_eq(rdma_getaddrinfo("no-number", "7471", &hints, &info), EAI_NONAME);
}
END_TEST

/* Without names, the hints' addresses: what a program resolves a route with. */
START_TEST(addresses_of_the_hints)
{
	struct sockaddr_storage own = device_address(5);
	struct rdma_addrinfo hints = {
		.ai_dst_addr = plain(&own),
		.ai_dst_len = sizeof(struct sockaddr_in),
		.ai_src_addr = plain(&own),
		.ai_src_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *info;

	ck_assert_int_eq(rdma_getaddrinfo(NULL, NULL, &hints, &info), 0);
	ck_assert_mem_eq(info->ai_dst_addr, &own, sizeof(struct sockaddr_in));
	ck_assert_mem_eq(info->ai_src_addr, &own, sizeof(struct sockaddr_in));
	ck_assert_ptr_ne(info->ai_dst_addr, hints.ai_dst_addr);
	rdma_freeaddrinfo(info);
}
END_TEST

static void echo(struct rdma_cm_id *id)
{
	uint8_t bytes[64];
	struct ibv_mr *mr = rdma_reg_msgs(id, bytes, sizeof(bytes));
	struct ibv_wc wc;

	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(rdma_post_recv(id, NULL, bytes, sizeof(bytes), mr), 0);
	ck_assert_int_eq(rdma_accept(id, NULL), 0);
	ck_assert_int_eq(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_int_eq(rdma_get_recv_comp(id, &wc), 1);
	ck_assert_int_eq(rdma_post_send(id, NULL, bytes, wc.byte_len, mr, 0), 0);
	ck_assert_int_eq(rdma_get_send_comp(id, &wc), 1);
	ck_assert_int_eq(rdma_disconnect(id), 0);
	ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
}

/* Serves two clients and turns the third away. */
static void *serve(void *arg)
{
	struct rdma_cm_id *listener = arg, *id;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rdma_get_request(listener, &id), 0);
		ck_assert_ptr_nonnull(id->qp);
		ck_assert_ptr_ne(id->channel, listener->channel);
		echo(id);
	}
	ck_assert_int_eq(rdma_get_request(listener, &id), 0);
	ck_assert_int_eq(rdma_reject(id, NULL, 0), 0);
	rdma_destroy_ep(id);
	return NULL;
}

static struct rdma_cm_id *start_server(pthread_t *thread, char service[8])
{
	struct rdma_cm_id *listener = endpoint(find("0", RAI_PASSIVE));

	ck_assert_int_eq(rdma_listen(listener, 4), 0);
	snprintf(service, 8, "%u", ntohs(rdma_get_src_port(listener)));
	ck_assert_int_eq(pthread_create(thread, NULL, serve, listener), 0);
	return listener;
}

static void ask(const char *service)
{
	struct rdma_cm_id *id = endpoint(find(service, 0));
	char text[64] = "echo";
	struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof(text));
	struct ibv_wc wc;

	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(rdma_post_recv(id, NULL, text + 32, 32, mr), 0);
	ck_assert_int_eq(rdma_connect(id, NULL), 0);
	ck_assert_int_eq(rdma_post_send(id, NULL, text, 5, mr, 0), 0);
	ck_assert_int_eq(rdma_get_send_comp(id, &wc), 1);
	ck_assert_int_eq(rdma_get_recv_comp(id, &wc), 1);
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
	ck_assert_str_eq(text + 32, "echo");
	ck_assert_int_eq(rdma_disconnect(id), 0);
	ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
}

START_TEST(endpoints)
{
	struct rdma_cm_id *listener, *id;
	pthread_t thread;
	char service[8];

	listener = start_server(&thread, service);
	ask(service);
	ask(service);
	id = endpoint(find(service, 0));
	ck_assert_int_eq(rdma_connect(id, NULL), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	rdma_destroy_ep(id);
	pthread_join(thread, NULL);
	rdma_destroy_ep(listener);
}
END_TEST

/* The request begins with the endpoint's data. */
static void *refuse(void *arg)
{
	struct rdma_cm_id *id;

	ck_assert_int_eq(rdma_get_request(arg, &id), 0);
	ck_assert_uint_ge(id->event->param.conn.private_data_len, 8);
	ck_assert_mem_eq(id->event->param.conn.private_data, "endpoint", 8);
	ck_assert_mem_eq((const char *)id->event->param.conn.private_data + 8, "and mine", 8);
	ck_assert_int_eq(rdma_reject(id, NULL, 0), 0);
	rdma_destroy_ep(id);
	return NULL;
}

/* They are sent once: an endpoint connects no second time. */
START_TEST(connect_data)
{
	struct rdma_conn_param param = { .private_data = "and mine", .private_data_len = 8 };
	struct rdma_cm_id *listener = endpoint(find("0", RAI_PASSIVE)), *id;
	struct rdma_addrinfo *info;
	pthread_t thread;
	char service[8];

	ck_assert_int_eq(rdma_listen(listener, 4), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, refuse, listener), 0);
	snprintf(service, sizeof(service), "%u", ntohs(rdma_get_src_port(listener)));
	info = find(service, 0);
	info->ai_connect = strdup("endpoint");
	info->ai_connect_len = 8;
	id = endpoint(info);
	ck_assert_int_eq(rdma_connect(id, &param), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	pthread_join(thread, NULL);
	ck_assert_int_eq(rdma_connect(id, &param), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert(!is_readable(listener->channel));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}
END_TEST

START_TEST(calls_that_wait_and_calls_that_do_not)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP), *request;
	struct sockaddr_storage addr = device_address(9);

	ck_assert_int_eq(rdma_get_request(id, &request), -1); /* not one that waits */
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(rdma_migrate_id(id, NULL), 0); /* from now on */
	ck_assert_int_eq(rdma_migrate_id(id, NULL), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, plain(&addr), TIMEOUT_MS), 0);
	ck_assert_int_eq(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_ptr_nonnull(id->verbs);
	ck_assert_int_eq(rdma_migrate_id(id, channel), 0); /* and back */
	ck_assert_ptr_null(id->event);
	ck_assert_int_eq(rdma_resolve_route(id, TIMEOUT_MS), 0);
	expect_cm(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, id, 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(devices)
{
	struct ibv_context **list;
	int count = 0;

	list = rdma_get_devices(&count);
	ck_assert_ptr_nonnull(list);
	ck_assert_int_eq(count, 1);
	ck_assert_str_eq(ibv_get_device_name(list[0]->device), "rxe_dm0");
	ck_assert_ptr_null(list[1]);
	rdma_free_devices(list);
}
END_TEST

static void *list_devices(void *arg)
{
	struct ibv_context **list, *device;
	int count = 0;

	pthread_barrier_wait(arg);
	list = rdma_get_devices(&count);
	ck_assert_ptr_nonnull(list);
	ck_assert_int_eq(count, 1);
	device = list[0];
	rdma_free_devices(list);
	return device;
}

/* Each device is opened once in a process, also by threads that ask at the same time. */
START_TEST(devices_of_several_threads)
{
	pthread_barrier_t barrier;
	pthread_t threads[4];
	void *found[4];

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, list_devices, &barrier), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], &found[i]), 0);
	for (int i = 1; i < 4; i++)
		ck_assert_ptr_eq(found[i], found[0]);
	pthread_barrier_destroy(&barrier);
}
END_TEST

/* The channel of an id that waits ends with the id. */
START_TEST(ids_that_end_leave_no_descriptor)
{
	int before = 0;

	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(rdma_destroy_id(id_open(NULL, RDMA_PS_TCP)), 0);
		if (i == 0) /* the server's connection stays */
			before = count_descriptors();
	}
	ck_assert_int_eq(count_descriptors(), before);
}
END_TEST

/* A sender and a receiver of one group. */
START_TEST(groups)
{
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xe00a0b0c) };
	struct sockaddr_storage own = device_address(0);
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_UDP);
	uint8_t bytes[256] = { 0 };
	struct rdma_cm_event *event;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	int mark;

	if (own.ss_family != AF_INET) /* lo carries no IPv6 groups */
		return;
	ck_assert_int_eq(rdma_bind_addr(id, plain(&own)), 0);
	give_qp(id);
	mr = rdma_reg_msgs(id, bytes, sizeof(bytes));
	ck_assert_int_eq(rdma_post_recv(id, NULL, bytes, 128, mr), 0);
	ck_assert_int_eq(rdma_join_multicast(id, (struct sockaddr *)&group, &mark), 0);
	event = next_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert_ptr_eq(event->id, id);
	ck_assert_ptr_eq(event->param.ud.private_data, &mark);
	ck_assert_uint_eq(event->param.ud.qp_num, 0xffffff);
	ah = ibv_create_ah(id->pd, &event->param.ud.ah_attr);
	ck_assert_ptr_nonnull(ah);
	fill(bytes + 128, 64, 5);
	ck_assert_int_eq(
		rdma_post_ud_send(id, NULL, bytes + 128, 64, mr, 0, ah, event->param.ud.qp_num), 0);
	rdma_ack_cm_event(event);
	ck_assert_int_eq(rdma_get_recv_comp(id, &wc), 1);
	ck_assert_uint_eq(wc.byte_len, 104);
	expect_filled(bytes + 40, 64, 5);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	ck_assert_int_eq(rdma_leave_multicast(id, (struct sockaddr *)&group), 0);
	ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* The other process: connects to the port that it learns of, and waits for its end. */
static void connects(int sock)
{
	struct rdma_cm_id *id;
	char service[8];

	ck_assert_int_eq(recv(sock, service, sizeof(service), MSG_WAITALL), sizeof(service));
	id = endpoint(find(service, 0));
	ck_assert_int_eq(rdma_connect(id, NULL), 0);
	pause();
}

START_TEST(the_other_process_is_killed)
{
	pid_t pid;
	int sock = beside(connects, &pid), status;
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *listener = id_open(channel, RDMA_PS_TCP), *server;
	struct rdma_cm_event *event;
	char service[8] = { 0 };

	snprintf(service, sizeof(service), "%u", listen_at(listener, 1));
	ck_assert_int_eq(send(sock, service, sizeof(service), MSG_NOSIGNAL), sizeof(service));
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	rdma_ack_cm_event(event);
	give_qp(server);
	ck_assert_int_eq(rdma_accept(server, NULL), 0);
	expect_cm(channel, RDMA_CM_EVENT_ESTABLISHED, server, 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	expect_cm(channel, RDMA_CM_EVENT_DISCONNECTED, server, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	rdma_destroy_qp(server);
	ck_assert_int_eq(rdma_destroy_id(server), 0);
	ck_assert_int_eq(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* A child has none of its parent's ids, and may make its own. */
START_TEST(child_of_fork)
{
	struct sockaddr_storage own = device_address(0);
	struct pair pair;
	int status;
	pid_t pid;

	pair_open(&pair);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct rdma_event_channel *channel = channel_open();
		struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);

		ck_assert_int_eq(rdma_bind_addr(id, plain(&own)), 0);
		ck_assert_int_eq(rdma_listen(pair.listener, 1), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_int_eq(rdma_destroy_id(id), 0);
		rdma_destroy_event_channel(channel);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	pair_talk(&pair);
	pair_close(&pair);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, devices_of_several_threads); /* while none is open */
	tcase_add_test(tests, addresses);
	tcase_add_test(tests, addresses_of_the_hints);
	tcase_add_test(tests, endpoints);
	tcase_add_test(tests, connect_data);
	tcase_add_test(tests, calls_that_wait_and_calls_that_do_not);
	tcase_add_test(tests, devices);
	tcase_add_test(tests, ids_that_end_leave_no_descriptor);
	tcase_add_test(tests, groups);
	tcase_add_test(tests, the_other_process_is_killed);
	tcase_add_test(tests, child_of_fork);
}

int main(void)
{
	return fixture_main("rdmacm_sync", add);
}
