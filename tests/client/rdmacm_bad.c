// SPDX-License-Identifier: MIT
/* Calls of librdmacm that must fail, and the errno that the manual pages and Linux give for each;
 * and those that get no memory or no descriptor. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "failing.h"
#include "fixture.h"
#include "rdmacm_fixture.h"

#define expect_errno(call, err)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_int_eq(call, -1);                                                        \
		ck_assert_int_eq(errno, err);                                                      \
	} while (0)

static struct rdma_event_channel *channel;

static void setup(void)
{
	channel = channel_open();
}

static void end(struct rdma_cm_id *id)
{
	ck_assert_int_eq(rdma_destroy_id(id), 0);
}

START_TEST(port_in_use)
{
	struct rdma_cm_id *first = id_open(channel, RDMA_PS_TCP),
			  *second = id_open(channel, RDMA_PS_TCP);
	struct rdma_cm_id *datagrams = id_open(channel, RDMA_PS_UDP);
	struct sockaddr_storage addr = device_address(listen_at(first, 1));

	expect_errno(rdma_bind_addr(second, plain(&addr)), EADDRINUSE);
	/* Another port space. */
	ck_assert_int_eq(rdma_bind_addr(datagrams, plain(&addr)), 0);
	end(first);
	ck_assert_int_eq(rdma_bind_addr(second, plain(&addr)), 0);
	end(second);
	end(datagrams);
}
END_TEST

START_TEST(port_shared_by_option)
{
	struct rdma_cm_id *ids[2];
	struct sockaddr_storage addr = device_address(0);
	int yes = 1;

	for (int i = 0; i < 2; i++) {
		ids[i] = id_open(channel, RDMA_PS_TCP);
		ck_assert_int_eq(rdma_set_option(ids[i], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
						 &yes, sizeof(yes)),
				 0);
		ck_assert_int_eq(rdma_bind_addr(ids[i], plain(&addr)), 0);
		addr = ids[i]->route.addr.src_storage;
	}
	ck_assert_int_eq(rdma_listen(ids[0], 1), 0);
	end(ids[0]);
	end(ids[1]);
}
END_TEST

START_TEST(addresses_that_are_none)
{
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	struct sockaddr_in elsewhere = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0xc0000201) };
	struct sockaddr unix_name = { .sa_family = AF_UNIX };
	struct sockaddr_storage own = device_address(0);

	expect_errno(rdma_bind_addr(id, NULL), EINVAL);
	expect_errno(rdma_bind_addr(id, &unix_name), EINVAL);
	expect_errno(rdma_bind_addr(id, (struct sockaddr *)&elsewhere), EADDRNOTAVAIL);
	expect_errno(rdma_resolve_addr(id, NULL, NULL, TIMEOUT_MS), EINVAL);
	expect_errno(rdma_resolve_addr(id, &unix_name, plain(&own), TIMEOUT_MS), EINVAL);
	ck_assert_int_eq(rdma_bind_addr(id, plain(&own)), 0);
	expect_errno(rdma_bind_addr(id, plain(&own)), EINVAL); /* again */
	end(id);
}
END_TEST

/* Each step needs the one before. */
START_TEST(steps_out_of_order)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_conn_param param = { 0 };
	int mask;

	expect_errno(rdma_resolve_route(id, TIMEOUT_MS), EINVAL);
	expect_errno(rdma_create_qp(id, NULL, &attr), EINVAL);
	expect_errno(rdma_connect(id, &param), EINVAL);
	expect_errno(rdma_accept(id, &param), EINVAL);
	expect_errno(rdma_reject(id, NULL, 0), EINVAL);
	expect_errno(rdma_establish(id), EINVAL);
	expect_errno(rdma_disconnect(id), EINVAL);
	expect_errno(rdma_init_qp_attr(id, &qp_attr, &mask), EINVAL);
	resolve(id, 9);
	give_qp(id);
	expect_errno(rdma_create_qp(id, NULL, &attr), EINVAL); /* a second one */
	expect_errno(rdma_accept(id, &param), EINVAL);
	expect_errno(rdma_listen(id, 1), EINVAL);
	rdma_destroy_qp(id);
	ck_assert_ptr_null(id->qp);
	ck_assert_ptr_null(id->send_cq);
	end(id);
}
END_TEST

START_TEST(null_pointers)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	expect_errno(rdma_create_id(channel, NULL, NULL, RDMA_PS_TCP), EINVAL);
	expect_errno(rdma_get_cm_event(channel, NULL), EINVAL);
	expect_errno(rdma_get_cm_event(NULL, &event), EINVAL);
	expect_errno(rdma_ack_cm_event(NULL), EINVAL);
	expect_errno(rdma_destroy_id(NULL), EINVAL);
	expect_errno(rdma_establish(NULL), EINVAL);
	expect_errno(rdma_create_ep(&id, NULL, NULL, NULL), EINVAL);
	expect_errno(rdma_get_request(NULL, &id), EINVAL);
	expect_errno(rdma_getaddrinfo(NULL, NULL, NULL, NULL), EINVAL);
	rdma_freeaddrinfo(NULL);
	rdma_destroy_event_channel(NULL);
}
END_TEST

START_TEST(numbers_that_are_too_large)
{
	struct rdma_conn_param param = { .responder_resources = 254, .retry_count = 7 };
	struct ibv_device_attr device;
	uint8_t data[200] = { 0 };
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	ck_assert_int_eq(ibv_query_device(pair.client->verbs, &device), 0);
	if (device.max_qp_rd_atom < 254)
		expect_errno(rdma_connect(pair.client, &param), EINVAL);
	param = (struct rdma_conn_param){ .private_data = data, .private_data_len = sizeof(data) };
	expect_errno(rdma_connect(pair.client, &param), EINVAL); /* 56 in this port space */
	pair_close(&pair);
}
END_TEST

START_TEST(options)
{
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	uint8_t tos = 0x20, timeout = 14;
	int on = 1;

	ck_assert_int_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)),
			 0);
	ck_assert_int_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
					 sizeof(timeout)),
			 0);
	ck_assert_int_eq(
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)), 0);
	expect_errno(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, sizeof(on)),
		     EINVAL);
	expect_errno(rdma_set_option(id, RDMA_OPTION_ID, 99, &on, sizeof(on)), ENOSYS);
	expect_errno(rdma_set_option(id, 99, 0, &on, sizeof(on)), ENOSYS);
	end(id);
}
END_TEST

START_TEST(groups)
{
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_UDP);
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xe00a0b0c) };
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED };

	expect_errno(rdma_leave_multicast(id, (struct sockaddr *)&group), EADDRNOTAVAIL);
	expect_errno(rdma_join_multicast(id, NULL, NULL), EINVAL);
	expect_errno(rdma_join_multicast_ex(id, &attr, NULL), ENOTSUP);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	attr.addr = (struct sockaddr *)&group;
	expect_errno(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	expect_errno(rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	end(id);
}
END_TEST

/* rdma_set_option(3): not in any state, nor for any type. A listener is no connection. */
START_TEST(a_listener)
{
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);
	int on = 1;

	listen_at(id, 0);
	expect_errno(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)),
		     EINVAL);
	expect_errno(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)),
		     EINVAL);
	expect_errno(rdma_listen(id, 1), EINVAL);
	expect_errno(rdma_accept(id, NULL), EINVAL);
	expect_errno(rdma_connect(id, NULL), EINVAL);
	expect_errno(rdma_disconnect(id), EINVAL);
	end(id);
}
END_TEST

START_TEST(datagrams_have_no_ack_timeout)
{
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_UDP);
	uint8_t timeout = 14;

	expect_errno(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
				     sizeof(timeout)),
		     EINVAL);
	end(id);
}
END_TEST

START_TEST(port_spaces_that_are_none)
{
	struct rdma_cm_id *id;

	expect_errno(rdma_create_id(channel, &id, NULL, (enum rdma_port_space)0), EINVAL);
	expect_errno(rdma_create_id(channel, &id, NULL, (enum rdma_port_space)0x99), EINVAL);
}
END_TEST

START_TEST(a_connection_that_has_ended)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct pair pair;
	int mask;

	pair_open(&pair);
	expect_errno(rdma_init_qp_attr(pair.client, &attr, &mask), EINVAL); /* no such transition */
	ck_assert_int_eq(rdma_disconnect(pair.client), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_DISCONNECTED, pair.server, 0);
	ck_assert_int_eq(rdma_disconnect(pair.server), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_DISCONNECTED, pair.client, 0);
	expect_errno(rdma_accept(pair.server, NULL), EINVAL);
	expect_errno(rdma_connect(pair.client, NULL), EINVAL);
	expect_errno(rdma_resolve_route(pair.client, TIMEOUT_MS), EINVAL);
	pair_close(&pair);
}
END_TEST

static struct sockaddr_storage own;

static int open_channel(void)
{
	struct rdma_event_channel *made = rdma_create_event_channel();

	fail_none();
	rdma_destroy_event_channel(made);
	return made ? 0 : -1;
}

static int open_id_that_waits(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return -1;
	fail_none();
	return rdma_destroy_id(id);
}

static int copy_addresses(void)
{
	const struct rdma_addrinfo hints = { .ai_dst_addr = plain(&own),
					     .ai_dst_len = sizeof(struct sockaddr_in),
					     .ai_src_addr = plain(&own),
					     .ai_src_len = sizeof(struct sockaddr_in) };
	struct rdma_addrinfo *info;

	if (rdma_getaddrinfo(NULL, NULL, &hints, &info))
		return -1;
	rdma_freeaddrinfo(info);
	return 0;
}

static int list_devices(void)
{
	int count = 7;
	struct ibv_context **list = rdma_get_devices(&count);
	bool is_listed = list != NULL;

	fail_none();
	ck_assert_int_eq(count, is_listed);
	rdma_free_devices(list);
	/* The one that is open is there, even where libibverbs has no memory to list others. */
	if (failing.err)
		errno = failing.err;
	return is_listed && !failing.err ? 0 : -1;
}

static int open_endpoint(int flags)
{
	struct ibv_qp_init_attr attr = { .cap = { 8, 8, 1, 1, 0 } };
	struct rdma_addrinfo info = { .ai_flags = flags,
				      .ai_qp_type = IBV_QPT_RC,
				      .ai_port_space = RDMA_PS_TCP,
				      .ai_connect = (void *)"hello",
				      .ai_connect_len = 5 };
	struct rdma_cm_id *id;

	if (flags & RAI_PASSIVE)
		info.ai_src_addr = plain(&own);
	else
		info.ai_dst_addr = plain(&own);
	if (rdma_create_ep(&id, &info, NULL, &attr))
		return -1;
	fail_none();
	rdma_destroy_ep(id);
	return 0;
}

static int open_listener(void)
{
	return open_endpoint(RAI_PASSIVE);
}

static int open_client(void)
{
	return open_endpoint(0);
}

static const struct {
	const char *name;
	int (*call)(void);
	unsigned int least; /* needs */
} calls[] = {
	{ "rdma_create_event_channel", open_channel, 2 },
	{ "rdma_create_id", open_id_that_waits, 3 },
	{ "rdma_getaddrinfo", copy_addresses, 3 },
	{ "rdma_get_devices", list_devices, 1 },
	{ "rdma_create_ep of a listener", open_listener, 4 },
	{ "rdma_create_ep", open_client, 8 },
};

/* Whatever a call needs of the kernel, and all memory, is refused once: the call says so, and
 * leaves no descriptor. In the end it succeeds. */
START_TEST(needs_of_a_call)
{
	unsigned int nth = 0;
	int before, rc, err;

	own = device_address(0);
	ck_assert_int_eq(calls[_i].call(), 0); /* what stays from then on */
	before = count_descriptors();
	do {
		fail_nth(++nth);
		rc = calls[_i].call();
		err = errno;
		ck_assert_msg(rc == (fail_none() ? -1 : 0), "%s, need %u: %d", calls[_i].name, nth,
			      rc);
		ck_assert_msg(!rc || err == failing.err, "%s, need %u: errno %d, not %d",
			      calls[_i].name, nth, err, failing.err);
		ck_assert_int_eq(count_descriptors(), before);
	} while (rc);
	ck_assert_uint_gt(nth, calls[_i].least);
}
END_TEST

/* The peer need not wait for an answer that never comes. */
START_TEST(a_request_without_memory_for_its_event)
{
	struct rdma_cm_event *event;
	struct pair pair;
	int rc, err;

	pair_prepare(&pair, RDMA_PS_TCP);
	ck_assert_int_eq(rdma_connect(pair.client, NULL), 0);
	fail_nth(1);
	rc = rdma_get_cm_event(pair.channel, &event);
	err = errno;
	ck_assert_int_eq(fail_none(), ENOMEM);
	ck_assert_int_eq(rc, -1);
	ck_assert_int_eq(err, ENOMEM);
	expect_cm(pair.channel, RDMA_CM_EVENT_REJECTED, pair.client, 28);
	pair_close(&pair);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, port_in_use);
	tcase_add_test(tests, port_shared_by_option);
	tcase_add_test(tests, addresses_that_are_none);
	tcase_add_test(tests, steps_out_of_order);
	tcase_add_test(tests, null_pointers);
	tcase_add_test(tests, numbers_that_are_too_large);
	tcase_add_test(tests, options);
	tcase_add_test(tests, groups);
	tcase_add_test(tests, a_listener);
	tcase_add_test(tests, datagrams_have_no_ack_timeout);
	tcase_add_test(tests, port_spaces_that_are_none);
	tcase_add_test(tests, a_connection_that_has_ended);
	tcase_add_test(tests, a_request_without_memory_for_its_event);
	tcase_add_loop_test(tests, needs_of_a_call, 0, (int)(sizeof(calls) / sizeof(calls[0])));
}

int main(void)
{
	return fixture_main("rdmacm_bad", add);
}
