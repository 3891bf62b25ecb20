// SPDX-License-Identifier: MIT
/* Limits that the manual pages of librdmacm name, from both sides: what just fits is transferred,
 * what does not is refused. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <string.h>

#include "fixture.h"
#include "rdmacm_fixture.h"

#define expect_errno(call, err)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_int_eq(call, -1);                                                        \
		ck_assert_int_eq(errno, err);                                                      \
	} while (0)

static uint8_t bytes[256];

static void setup(void)
{
	fill(bytes, sizeof(bytes), 3);
}

static struct rdma_conn_param with_private_data(uint8_t len)
{
	return (struct rdma_conn_param){ .private_data = bytes, .private_data_len = len };
}

/* What arrives may be longer than what was sent. */
static void expect_private_data(const void *data, uint8_t data_len, uint8_t len)
{
	ck_assert_uint_ge(data_len, len);
	ck_assert_mem_eq(data, bytes, len);
}

/* A request with the most private data that fits. */
static void connect_with_most(struct pair *pair, enum rdma_port_space ps, uint8_t most)
{
	struct rdma_conn_param fits = with_private_data(most),
			       exceeds = with_private_data(most + 1);
	struct rdma_cm_event *event;

	pair_prepare(pair, ps);
	expect_errno(rdma_connect(pair->client, &exceeds), EINVAL);
	event = pair_request(pair, &fits);
	if (ps == RDMA_PS_TCP)
		expect_private_data(event->param.conn.private_data,
				    event->param.conn.private_data_len, most);
	else
		expect_private_data(event->param.ud.private_data, event->param.ud.private_data_len,
				    most);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

START_TEST(private_data_of_connections)
{
	struct rdma_conn_param fits = with_private_data(196);
	struct rdma_cm_event *event;
	struct pair pair;

	connect_with_most(&pair, RDMA_PS_TCP, 56);
	ck_assert_int_eq(rdma_accept(pair.server, &fits), 0);
	event = next_event(pair.channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_private_data(event->param.conn.private_data, event->param.conn.private_data_len,
			    196);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_ESTABLISHED, pair.server, 0);
	pair_talk(&pair);
	pair_close(&pair);
}
END_TEST

START_TEST(private_data_of_an_answer_that_is_too_long)
{
	struct rdma_conn_param exceeds = with_private_data(197);
	struct pair pair;

	connect_with_most(&pair, RDMA_PS_TCP, 56);
	expect_errno(rdma_accept(pair.server, &exceeds), EINVAL);
	expect_errno(rdma_reject(pair.server, bytes, 149), EINVAL);
	ck_assert_int_eq(rdma_reject(pair.server, bytes, 148), 0);
	expect_cm(pair.channel, RDMA_CM_EVENT_REJECTED, pair.client, 28);
	pair_close(&pair);
}
END_TEST

START_TEST(private_data_of_datagrams)
{
	struct rdma_conn_param fits = with_private_data(136), exceeds = with_private_data(137);
	struct rdma_cm_event *event;
	struct pair pair;

	connect_with_most(&pair, RDMA_PS_UDP, 180);
	expect_errno(rdma_accept(pair.server, &exceeds), EINVAL);
	ck_assert_int_eq(rdma_accept(pair.server, &fits), 0);
	event = next_event(pair.channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_private_data(event->param.ud.private_data, event->param.ud.private_data_len, 136);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	pair_close(&pair);
}
END_TEST

/* rdma_connect(3): reads and atomics up to the device's, 255 stands for them. */
START_TEST(reads_and_atomics)
{
	struct rdma_conn_param param = { .responder_resources = RDMA_MAX_RESP_RES,
					 .initiator_depth = RDMA_MAX_INIT_DEPTH,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct ibv_device_attr device;
	struct rdma_cm_event *event;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	ck_assert_int_eq(ibv_query_device(pair.client->verbs, &device), 0);
	event = pair_request(&pair, &param);
	ck_assert_int_eq(event->param.conn.initiator_depth, device.max_qp_rd_atom);
	ck_assert_int_eq(event->param.conn.responder_resources, device.max_qp_init_rd_atom);
	ck_assert_int_eq(event->param.conn.retry_count, 7);
	ck_assert_int_eq(event->param.conn.rnr_retry_count, 7);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	pair_accept(&pair, NULL);
	pair_close(&pair);
}
END_TEST

/* What the device can, said by number. */
START_TEST(all_reads_and_atomics)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_device_attr device;
	struct rdma_cm_event *event;
	struct pair pair;

	pair_prepare(&pair, RDMA_PS_TCP);
	ck_assert_int_eq(ibv_query_device(pair.client->verbs, &device), 0);
	param.responder_resources = (uint8_t)device.max_qp_rd_atom;
	param.initiator_depth = (uint8_t)device.max_qp_init_rd_atom;
	event = pair_request(&pair, &param);
	ck_assert_int_eq(event->param.conn.initiator_depth, device.max_qp_rd_atom);
	ck_assert_int_eq(event->param.conn.responder_resources, device.max_qp_init_rd_atom);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	pair_accept(&pair, &param);
	pair_close(&pair);
}
END_TEST

/* rdma_notify(3): EISCONN once the connection is established. */
START_TEST(data_reported_after_the_event)
{
	struct pair pair;

	pair_open(&pair);
	expect_errno(rdma_notify(pair.server, IBV_EVENT_COMM_EST), EISCONN);
	expect_errno(rdma_notify(pair.server, IBV_EVENT_QP_FATAL), EINVAL);
	pair_close(&pair);
}
END_TEST

/* rdma_bind_addr(3), rdma_get_local_addr(3), rdma_get_src_port(3) */
START_TEST(an_id_without_an_address)
{
	const struct sockaddr_storage zeros = { 0 };
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_TCP);

	ck_assert_mem_eq(rdma_get_local_addr(id), &zeros, sizeof(zeros));
	ck_assert_mem_eq(rdma_get_peer_addr(id), &zeros, sizeof(zeros));
	ck_assert_uint_eq(rdma_get_src_port(id), 0);
	ck_assert_uint_eq(rdma_get_dst_port(id), 0);
	/* As Linux: a wildcard address and a port of the device's choice. */
	ck_assert_int_eq(rdma_listen(id, 1), 0);
	ck_assert_uint_ne(rdma_get_src_port(id), 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* rdma_getaddrinfo(3): a QP type and a port space that contradict. */
START_TEST(hints_that_contradict)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_UD, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info;

	ck_assert_int_eq(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), EAI_SOCKTYPE);
	hints.ai_qp_type = IBV_QPT_RC;
	hints.ai_port_space = RDMA_PS_UDP;
	ck_assert_int_eq(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), EAI_SOCKTYPE);
	hints = (struct rdma_addrinfo){ .ai_family = AF_INET6, .ai_flags = RAI_NUMERICHOST };
	ck_assert_int_eq(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), EAI_ADDRFAMILY);
}
END_TEST

static void expect_gid(const struct sockaddr *addr, const char *gid, uint64_t sid, uint64_t mask)
{
	struct sockaddr_ib expected = { .sib_family = AF_IB,
					.sib_pkey = htons(0xffff),
					.sib_sid = htobe64(sid),
					.sib_sid_mask = htobe64(mask) };

	ck_assert_int_eq(inet_pton(AF_INET6, gid, &expected.sib_addr), 1);
	ck_assert_mem_eq(addr, &expected, sizeof(expected));
}

/* RAI_FAMILY and AF_IB: GIDs and service IDs. A port of Ethernet has none that an id could be bound
 * to or reach, as in Linux. */
START_TEST(addresses_that_are_gids)
{
	struct rdma_addrinfo hints = { .ai_family = AF_IB,
				       .ai_flags = RAI_FAMILY | RAI_NUMERICHOST | RAI_PASSIVE,
				       .ai_port_space = RDMA_PS_TCP };
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_IB);
	struct rdma_addrinfo *info;

	ck_assert_int_eq(rdma_getaddrinfo("fe80::7", "7471", &hints, &info), 0);
	ck_assert_int_eq(info->ai_family, AF_IB);
	ck_assert_uint_eq(info->ai_src_len, sizeof(struct sockaddr_ib));
	expect_gid(info->ai_src_addr, "fe80::7", 0x1061d2f, 0xffffffffffffffff);
	expect_errno(rdma_bind_addr(id, info->ai_src_addr), ENODEV);
	rdma_freeaddrinfo(info);

	hints.ai_flags = RAI_FAMILY | RAI_NUMERICHOST;
	ck_assert_int_eq(rdma_getaddrinfo("10.0.0.9", NULL, &hints, &info), 0);
	expect_gid(info->ai_dst_addr, "::ffff:10.0.0.9", 0x1060000, 0xffffffffffff0000);
	expect_errno(rdma_resolve_addr(id, NULL, info->ai_dst_addr, TIMEOUT_MS), ENODEV);
	rdma_freeaddrinfo(info);

	/* Without the flags the family is a wish, which IP addresses may reach each other. */
	hints.ai_flags = 0;
	ck_assert_int_eq(rdma_getaddrinfo("10.0.0.9", "7471", &hints, &info), 0);
	ck_assert_int_eq(info->ai_family, AF_INET);
	rdma_freeaddrinfo(info);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

static struct sockaddr_ib group_of(const char *gid)
{
	struct sockaddr_ib ret = { .sib_family = AF_IB };

	ck_assert_int_eq(inet_pton(AF_INET6, gid, &ret.sib_addr), 1);
	return ret;
}

static struct rdma_cm_id *bound_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = id_open(channel, RDMA_PS_UDP);
	struct sockaddr_storage own = device_address(0);

	ck_assert_int_eq(rdma_bind_addr(id, plain(&own)), 0);
	return id;
}

/* A group may be named by its MGID, which on RoCE is an IP address. Any other use of such addresses
 * is refused. */
START_TEST(groups_named_by_their_gid)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = bound_id(channel);
	struct sockaddr_ib group = group_of("::ffff:239.9.8.7"), other = group_of("fe80::1");
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_join_multicast(id, (struct sockaddr *)&group, bytes), 0);
	event = next_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert_int_eq(event->status, 0);
	ck_assert_ptr_eq(event->param.ud.private_data, bytes);
	ck_assert_mem_eq(&event->param.ud.ah_attr.grh.dgid, &group.sib_addr, 16);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_leave_multicast(id, (struct sockaddr *)&group), 0);
	expect_errno(rdma_leave_multicast(id, (struct sockaddr *)&group), EADDRNOTAVAIL);
	expect_errno(rdma_join_multicast(id, (struct sockaddr *)&other, NULL), EINVAL);
	expect_errno(rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, TIMEOUT_MS), ENODEV);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, private_data_of_connections);
	tcase_add_test(tests, private_data_of_an_answer_that_is_too_long);
	tcase_add_test(tests, private_data_of_datagrams);
	tcase_add_test(tests, reads_and_atomics);
	tcase_add_test(tests, all_reads_and_atomics);
	tcase_add_test(tests, data_reported_after_the_event);
	tcase_add_test(tests, an_id_without_an_address);
	tcase_add_test(tests, hints_that_contradict);
	tcase_add_test(tests, addresses_that_are_gids);
	tcase_add_test(tests, groups_named_by_their_gid);
}

int main(void)
{
	return fixture_main("rdmacm_limits", add);
}
