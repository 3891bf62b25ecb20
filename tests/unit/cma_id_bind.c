// SPDX-License-Identifier: MIT
/* Addresses of ids: ports, devices and routes, and options. */
#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "cma_id_fixture.h"
#include "tests/suite.h"

#if __has_include(<rdma/rdma_cma.h>)
#include <rdma/rdma_cma.h>

static_assert((int)CTL_CM_EVENT_ADDR_RESOLVED == (int)RDMA_CM_EVENT_ADDR_RESOLVED &&
		      (int)CTL_CM_EVENT_CONNECT_REQUEST == (int)RDMA_CM_EVENT_CONNECT_REQUEST &&
		      (int)CTL_CM_EVENT_REJECTED == (int)RDMA_CM_EVENT_REJECTED &&
		      (int)CTL_CM_EVENT_TIMEWAIT_EXIT == (int)RDMA_CM_EVENT_TIMEWAIT_EXIT,
	      "events");
static_assert((int)CTL_CM_PS_IPOIB == (int)RDMA_PS_IPOIB &&
		      (int)CTL_CM_PS_TCP == (int)RDMA_PS_TCP &&
		      (int)CTL_CM_PS_UDP == (int)RDMA_PS_UDP &&
		      (int)CTL_CM_PS_IB == (int)RDMA_PS_IB,
	      "port spaces");
static_assert((int)CTL_CM_OPTION_ID == (int)RDMA_OPTION_ID &&
		      (int)CTL_CM_OPTION_ID_TOS == (int)RDMA_OPTION_ID_TOS &&
		      (int)CTL_CM_OPTION_ID_ACK_TIMEOUT == (int)RDMA_OPTION_ID_ACK_TIMEOUT,
	      "options");
static_assert(CTL_CM_UDP_QKEY == RDMA_UDP_QKEY, "Q_Key");
#endif

static const struct ctl_cm_conn plain = { .qpn = 0x111 };

START_TEST(bind_errors)
{
	const union ctl_cm_sockaddr any = address("0.0.0.0:7174"), any6 = address("[::]:7174");
	const union ctl_cm_sockaddr mine = address("10.0.0.1:7174");
	const union ctl_cm_sockaddr none = { 0 }, nowhere = address("10.9.9.9:1");
	const union ctl_cm_sockaddr without_device = address("192.0.2.7:1");
	struct cma_id *id = tcp_id(&a, 10);

	ck_assert_int_eq(cma_id_bind(id, &none), -EAFNOSUPPORT);
	ck_assert_int_eq(cma_id_bind(id, &nowhere), -EADDRNOTAVAIL);
	ck_assert_int_eq(cma_id_bind(id, &without_device), -ENODEV);
	ck_assert_int_eq(cma_id_bind(id, &mine), 0);
	ck_assert_int_eq(cma_id_bind(id, &mine), -EINVAL);
	ck_assert_int_eq(cma_id_bind(tcp_id(&a, 11), &mine), -EADDRINUSE);
	ck_assert_int_eq(cma_id_bind(tcp_id(&a, 11), &any), -EADDRINUSE);
	ck_assert_int_eq(cma_id_bind(tcp_id(&a, 11), &any6), -EADDRINUSE);
	/* Another port space, and another instance, have ports of their own. */
	ck_assert_int_eq(cma_id_bind(make_id(&a, CTL_CM_PS_UDP, 12), &any), 0);
	cma_id_destroy(id, now_ns);
	ck_assert_int_eq(cma_id_bind(tcp_id(&a, 13), &any), 0);
}
END_TEST

START_TEST(addresses_share_a_port)
{
	const union ctl_cm_sockaddr any4 = address("0.0.0.0:7174"), any6 = address("[::]:7174");
	const int on = 1;
	struct cma_id *first = tcp_id(&a, 10), *second = tcp_id(&a, 11);

	ck_assert_int_eq(cma_id_bind(first, &any4), 0);
	ck_assert_int_eq(cma_id_set_option(second, CTL_CM_OPTION_ID, CTL_CM_OPTION_ID_AFONLY, &on,
					   sizeof(on)),
			 0);
	ck_assert_int_eq(cma_id_bind(second, &any6), 0);
	ck_assert_int_eq(cma_id_listen(first, 1), 0);
	ck_assert_int_eq(cma_id_listen(second, 1), 0);
}
END_TEST

/* Two that allow each other may bind, but only one of them may listen. */
START_TEST(reuse_address)
{
	const union ctl_cm_sockaddr any = address("0.0.0.0:7174");
	const int on = 1;
	struct cma_id *id[2] = { tcp_id(&a, 10), tcp_id(&a, 11) };

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(cma_id_set_option(id[i], CTL_CM_OPTION_ID,
						   CTL_CM_OPTION_ID_REUSEADDR, &on, sizeof(on)),
				 0);
		ck_assert_int_eq(cma_id_bind(id[i], &any), 0);
	}
	ck_assert_int_eq(cma_id_listen(id[0], 1), 0);
	ck_assert_int_eq(cma_id_listen(id[1], 1), -EADDRINUSE);
}
END_TEST

/* The permission of one of the two does not suffice, whichever comes first. */
START_TEST(one_allows_reuse)
{
	const union ctl_cm_sockaddr any = address("0.0.0.0:7174");
	const int on = 1;

	for (int allows = 0; allows < 2; allows++) {
		struct cma_id *id[2] = { tcp_id(&a, 10), tcp_id(&a, 11) };

		ck_assert_int_eq(cma_id_set_option(id[allows], CTL_CM_OPTION_ID,
						   CTL_CM_OPTION_ID_REUSEADDR, &on, sizeof(on)),
				 0);
		ck_assert_int_eq(cma_id_bind(id[0], &any), 0);
		ck_assert_int_eq(cma_id_bind(id[1], &any), -EADDRINUSE);
		cma_id_destroy(id[0], now_ns);
		ck_assert_int_eq(cma_id_bind(id[1], &any), 0);
		cma_id_destroy(id[1], now_ns);
	}
}
END_TEST

START_TEST(ephemeral_ports)
{
	const union ctl_cm_sockaddr any = address("0.0.0.0:0");
	struct cma_id *id[2] = { tcp_id(&a, 10), tcp_id(&a, 11) };
	struct ctl_cm_addr addr[2];

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(cma_id_bind(id[i], &any), 0);
		cma_id_query(id[i], &addr[i]);
		ck_assert_uint_ge(ntohs(addr[i].local.in.sin_port), 32768);
		ck_assert_uint_eq(addr[i].port_num, 0);
	}
	ck_assert_uint_ne(addr[0].local.in.sin_port, addr[1].local.in.sin_port);
}
END_TEST

/* A device that asks its neighbors: the address is resolved, or not, when one has answered. */
START_TEST(neighbors)
{
	const union ctl_cm_sockaddr none = { 0 }, dst = address("10.0.0.2:7174");
	struct cma_id *first = tcp_id(&a, 10), *second = tcp_id(&a, 11);
	struct ctl_cm_addr addr;

	a.neighbor = -EINPROGRESS;
	ck_assert_int_eq(cma_id_resolve_addr(first, &none, &dst), 0);
	ck_assert_int_eq(cma_id_resolve_addr(second, &none, &dst), 0);
	expect("");
	ck_assert_int_eq(cma_id_resolve_addr(first, &none, &dst), -EINVAL);
	ck_assert_int_eq(cma_id_resolve_route(first), -EINVAL);
	cma_id_neighbor(first, 0);
	cma_id_neighbor(first, 0);
	cma_id_neighbor(second, -ETIMEDOUT);
	expect("     0 a ADDR_RESOLVED of 10\n"
	       "     0 a ADDR_ERROR of 11, status -110\n");
	cma_id_query(second, &addr);
	ck_assert_uint_eq(addr.port_num, 0);
	a.neighbor = 0;
	ck_assert_int_eq(cma_id_resolve_addr(second, &none, &dst), 0);
	expect("     0 a ADDR_RESOLVED of 11\n");
}
END_TEST

START_TEST(resolve_errors)
{
	const union ctl_cm_sockaddr none = { 0 }, dst = address("10.0.0.2:7174");
	const union ctl_cm_sockaddr dst6 = address("[fd00::2]:7174");
	struct cma_id *id = tcp_id(&a, 10);

	ck_assert_int_eq(cma_id_resolve_route(id), -EINVAL);
	ck_assert_int_eq(cma_id_connect(id, &plain, now_ns), -EINVAL);
	a.route_error = -EHOSTUNREACH;
	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst), 0);
	expect("     0 a ADDR_ERROR of 10, status -113\n");
	/* The id is bound now, and may try again. */
	a.route_error = 0;
	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst6), -EINVAL);
	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst), 0);
	expect("     0 a ADDR_RESOLVED of 10\n");
	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst), -EINVAL);
	ck_assert_int_eq(cma_id_listen(id, 1), -EINVAL);
}
END_TEST

/* The device: that of the source, of the destination's own address, of the route, or the one of
 * the family. */
START_TEST(resolve_chooses_a_device)
{
	static const struct {
		const char *src, *dst;
		uint32_t device;
	} cases[] = {
		{ "", "10.0.0.2:1", 0 },
		{ "", "[fd00::2]:1", 1 },
		{ "", "[fd00::1]:1", 1 },
		{ "", "0.0.0.0:1", 0 },
		{ "[fd00::1]:0", "[fd00::2]:1", 1 },
		{ "10.0.0.1:0", "10.0.0.1:1", 0 },
		{ "", "127.0.0.1:1", 0 }, /* of no device: this host */
		{ "", "[::1]:1", 1 },
		{ "127.0.0.1:0", "10.0.0.2:1", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const union ctl_cm_sockaddr src = address(cases[i].src);
		const union ctl_cm_sockaddr dst = address(cases[i].dst);
		struct cma_id *id = tcp_id(&a, 10);
		struct ctl_cm_addr addr;

		ck_assert_int_eq(cma_id_resolve_addr(id, &src, &dst), 0);
		expect("     0 a ADDR_RESOLVED of 10\n");
		cma_id_query(id, &addr);
		ck_assert_uint_eq(addr.device, cases[i].device);
		ck_assert_uint_eq(addr.port_num, 1);
		ck_assert_uint_ne(addr.node_guid, 0);
		cma_id_destroy(id, now_ns);
	}
}
END_TEST

/* Packets from a loopback address reach this host only. */
START_TEST(resolve_from_loopback)
{
	const struct cma_device loopback = { .gid = { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 5 } },
					     .mtu = IBV_MTU_4096 };
	const union ctl_cm_sockaddr src = address("127.0.0.5:0"), far = address("10.0.0.2:1");
	const union ctl_cm_sockaddr own = address("192.0.2.7:1"), near = address("127.0.0.9:1");
	const union ctl_cm_sockaddr group = address("239.1.2.3:1");
	struct cma_id *id = tcp_id(&a, 10);

	cma_ids_add_device(a.ids, &loopback);
	ck_assert_int_eq(cma_id_resolve_addr(id, &src, &far), 0);
	expect("     0 a ADDR_ERROR of 10, status -19\n");
	ck_assert_int_eq(cma_id_resolve_addr(id, &src, &own), 0);
	expect("     0 a ADDR_RESOLVED of 10\n");
	cma_id_destroy(id, now_ns);
	id = tcp_id(&a, 11);
	ck_assert_int_eq(cma_id_resolve_addr(id, &src, &near), 0);
	expect("     0 a ADDR_RESOLVED of 11\n");
	cma_id_destroy(id, now_ns);
	id = tcp_id(&a, 12);
	ck_assert_int_eq(cma_id_resolve_addr(id, &src, &group), 0);
	expect("     0 a ADDR_RESOLVED of 12\n");
	cma_id_destroy(id, now_ns);
}
END_TEST

/* A group is reached through the device that an id is bound to, whether or not a route leads
 * there. */
START_TEST(resolve_a_group_without_a_route)
{
	const union ctl_cm_sockaddr none = { 0 }, src = address("10.0.0.1:0");
	const union ctl_cm_sockaddr group = address("239.1.2.3:1");

	a.route_error = -ENETUNREACH;
	ck_assert_int_eq(cma_id_resolve_addr(make_id(&a, CTL_CM_PS_UDP, 10), &none, &group), 0);
	expect("     0 a ADDR_ERROR of 10, status -101\n");
	ck_assert_int_eq(cma_id_resolve_addr(make_id(&a, CTL_CM_PS_UDP, 11), &src, &group), 0);
	expect("     0 a ADDR_RESOLVED of 11\n");
}
END_TEST

START_TEST(options)
{
	const uint8_t tos = 0x68, timeout = 14, too_long = 32;
	struct cma_id *id = tcp_id(&a, 10);
	struct ctl_cm_addr addr;

	ck_assert_int_eq(cma_id_set_option(id, CTL_CM_OPTION_ID, 99, &tos, 1), -ENOSYS);
	ck_assert_int_eq(cma_id_set_option(id, 99, CTL_CM_OPTION_ID_TOS, &tos, 1), -ENOSYS);
	ck_assert_int_eq(cma_id_set_option(id, CTL_CM_OPTION_ID, CTL_CM_OPTION_ID_TOS, &tos, 4),
			 -EINVAL);
	ck_assert_int_eq(cma_id_set_option(id, CTL_CM_OPTION_ID, CTL_CM_OPTION_ID_TOS, &tos, 1), 0);
	ck_assert_int_eq(
		cma_id_set_option(id, CTL_CM_OPTION_ID, CTL_CM_OPTION_ID_ACK_TIMEOUT, &too_long, 1),
		-EINVAL);
	ck_assert_int_eq(
		cma_id_set_option(id, CTL_CM_OPTION_ID, CTL_CM_OPTION_ID_ACK_TIMEOUT, &timeout, 1),
		0);
	cma_id_query(id, &addr);
	ck_assert_uint_eq(addr.traffic_class, 0x68);
	ck_assert_uint_eq(addr.packet_life_time, 13);
}
END_TEST

START_TEST(port_spaces)
{
	const struct cma_id_user user = { .token = 1 };
	struct cma_id *id;

	ck_assert_int_eq(cma_id_create(a.ids, 0x999, IBV_QPT_RC, &user, &id), -EINVAL);
	ck_assert_int_eq(cma_id_create(a.ids, CTL_CM_PS_IB, IBV_QPT_UC, &user, &id), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cma_id_bind");
	TCase *tc = tcase_create("cma_id_bind");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, bind_errors);
	tcase_add_test(tc, addresses_share_a_port);
	tcase_add_test(tc, reuse_address);
	tcase_add_test(tc, one_allows_reuse);
	tcase_add_test(tc, ephemeral_ports);
	tcase_add_test(tc, neighbors);
	tcase_add_test(tc, resolve_errors);
	tcase_add_test(tc, resolve_chooses_a_device);
	tcase_add_test(tc, resolve_from_loopback);
	tcase_add_test(tc, resolve_a_group_without_a_route);
	tcase_add_test(tc, options);
	tcase_add_test(tc, port_spaces);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
