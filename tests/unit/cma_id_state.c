// SPDX-License-Identifier: MIT
/* States of ids: what `rxe_dm show` says of them, what each state permits, and what a call that
 * fails leaves. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "cma_id_fixture.h"
#include "tests/suite.h"

static const struct ctl_cm_conn plain = { .qpn = 0x111, .retry_count = 7, .rnr_retry_count = 6 };
static const union ctl_cm_sockaddr none;

static uint32_t state_of(const struct cma_id *id)
{
	struct ctl_cm_listed listed;

	cma_id_describe(id, &listed);
	return listed.state;
}

START_TEST(states_up_to_the_route)
{
	const union ctl_cm_sockaddr local = address("10.0.0.1:0"), dst = address("10.0.0.2:7174");
	struct cma_id *id = tcp_id(&a, 10);

	ck_assert_uint_eq(state_of(id), CTL_CM_IDLE);
	ck_assert_int_eq(cma_id_bind(id, &local), 0);
	ck_assert_uint_eq(state_of(id), CTL_CM_BOUND);
	a.neighbor = -EINPROGRESS;
	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst), 0);
	ck_assert_uint_eq(state_of(id), CTL_CM_ADDR_QUERY);
	cma_id_neighbor(id, 0);
	ck_assert_uint_eq(state_of(id), CTL_CM_ADDR_RESOLVED);
	ck_assert_int_eq(cma_id_resolve_route(id), 0);
	ck_assert_uint_eq(state_of(id), CTL_CM_ROUTE_RESOLVED);
}
END_TEST

START_TEST(states_of_a_connection)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10), *passive;
	struct cma_id *listening = listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);

	ck_assert_uint_eq(state_of(listening), CTL_CM_LISTENING);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	ck_assert_uint_eq(state_of(active), CTL_CM_CONNECTING);
	deliver();
	passive = requested(&b);
	ck_assert_uint_eq(state_of(passive), CTL_CM_REQUESTED);
	ck_assert_int_eq(cma_id_accept(passive, &plain, now_ns), 0);
	ck_assert_uint_eq(state_of(passive), CTL_CM_CONNECTING);
	deliver();
	ck_assert_int_eq(cma_id_establish(active), 0);
	deliver();
	ck_assert_uint_eq(state_of(active), CTL_CM_ESTABLISHED);
	ck_assert_uint_eq(state_of(passive), CTL_CM_ESTABLISHED);
	ck_assert_int_eq(cma_id_disconnect(active, now_ns), 0);
	deliver();
	ck_assert_uint_eq(state_of(active), CTL_CM_DISCONNECTING);
	ck_assert_int_eq(cma_id_disconnect(passive, now_ns), 0);
	deliver();
	ck_assert_uint_eq(state_of(active), CTL_CM_DISCONNECTED);
	ck_assert_uint_eq(state_of(passive), CTL_CM_DISCONNECTED);
}
END_TEST

START_TEST(state_of_a_refused_one)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	ck_assert_uint_eq(state_of(active), CTL_CM_REJECTED);
}
END_TEST

/* A datagram id joins a group while it is bound or has resolved an address, and not before. */
START_TEST(states_that_join)
{
	const union ctl_cm_sockaddr local = address("10.0.0.1:0"), dst = address("10.0.0.2:7174");
	const union ctl_cm_sockaddr group = address("239.1.2.3:0"), group6 = address("[ff05::1]:0");
	struct cma_id *id = make_id(&a, CTL_CM_PS_UDP, 10), *stream = tcp_id(&a, 11);
	uint32_t member;

	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst), 0);
	ck_assert_int_eq(cma_id_join(id, &group, 77, &member), 0);
	ck_assert_int_eq(cma_id_join(id, &group6, 78, &member), -EINVAL);
	ck_assert_int_eq(cma_id_resolve_route(id), 0);
	ck_assert_int_eq(cma_id_join(id, &group, 79, &member), -EINVAL);
	ck_assert_int_eq(cma_id_bind(stream, &local), 0);
	ck_assert_int_eq(cma_id_join(stream, &group, 80, &member), -EINVAL);
}
END_TEST

/* A link-local address means nothing without its interface. */
START_TEST(link_local_needs_a_scope)
{
	union ctl_cm_sockaddr first = address("[fe80::1]:7174"), last = address("[febf::1]:7174");
	const union ctl_cm_sockaddr beside = address("[fec0::1]:7174");
	struct cma_id *id = tcp_id(&a, 10);

	ck_assert_int_eq(cma_id_bind(id, &first), -EINVAL);
	ck_assert_int_eq(cma_id_bind(id, &last), -EINVAL);
	ck_assert_int_eq(cma_id_bind(id, &beside), -EADDRNOTAVAIL);
	first.in6.sin6_scope_id = last.in6.sin6_scope_id = 1;
	ck_assert_int_eq(cma_id_bind(id, &first), -EADDRNOTAVAIL);
	ck_assert_int_eq(cma_id_bind(id, &last), -EADDRNOTAVAIL);
}
END_TEST

/* A bind that finds its port taken leaves the id without an address and a device. */
START_TEST(bind_that_fails_leaves_nothing)
{
	const union ctl_cm_sockaddr local = address("10.0.0.1:7174");
	struct cma_id *first = tcp_id(&a, 10), *second = tcp_id(&a, 11);
	struct ctl_cm_listed listed;

	ck_assert_int_eq(cma_id_bind(first, &local), 0);
	ck_assert_int_eq(cma_id_bind(second, &local), -EADDRINUSE);
	cma_id_describe(second, &listed);
	ck_assert_uint_eq(listed.state, CTL_CM_IDLE);
	ck_assert_uint_eq(listed.port_num, 0);
	ck_assert_mem_eq(&listed.local, &none, sizeof(none));
}
END_TEST

/* The fixture's instances have 100 ids. */
START_TEST(as_many_ids_as_there_may_be)
{
	const struct cma_id_user user = { .token = 10 };
	struct cma_id *id, *last = NULL;
	uint32_t count = 0;

	while (!cma_id_create(a.ids, CTL_CM_PS_TCP, IBV_QPT_RC, &user, &id) && count <= 100) {
		last = id;
		count++;
	}
	ck_assert_uint_eq(count, 100);
	cma_id_destroy(last, now_ns);
	ck_assert_int_eq(cma_id_create(a.ids, CTL_CM_PS_TCP, IBV_QPT_RC, &user, &id), 0);
}
END_TEST

/* The server answers for its instances when none has the listener. */
START_TEST(listener_of_a_service)
{
	struct cm_msg req = { .attr = CM_REQ,
			      .u.req.service_id = cm_ip_service_id(CTL_CM_PS_TCP, 7174) };
	struct cm_msg sidr = { .attr = CM_SIDR_REQ,
			       .u.sidr_req.service_id = cm_ip_service_id(CTL_CM_PS_UDP, 7175) };
	struct cm_msg rep = { .attr = CM_REP };
	uint8_t mad[CM_MAD_BYTES];

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	listener(&b, CTL_CM_PS_UDP, "0.0.0.0:7175", 21);
	cm_msg_emit(mad, &req);
	ck_assert(!cma_ids_lack_listener(b.ids, mad));
	ck_assert(cma_ids_lack_listener(a.ids, mad));
	cm_msg_emit(mad, &sidr);
	ck_assert(!cma_ids_lack_listener(b.ids, mad));
	ck_assert(cma_ids_lack_listener(a.ids, mad));
	req.u.req.service_id |= 1ull << 32;
	cm_msg_emit(mad, &req);
	ck_assert(cma_ids_lack_listener(b.ids, mad));
	cm_msg_emit(mad, &rep);
	ck_assert(!cma_ids_lack_listener(a.ids, mad));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cma_id_state");
	TCase *tc = tcase_create("cma_id_state");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, states_up_to_the_route);
	tcase_add_test(tc, states_of_a_connection);
	tcase_add_test(tc, state_of_a_refused_one);
	tcase_add_test(tc, states_that_join);
	tcase_add_test(tc, link_local_needs_a_scope);
	tcase_add_test(tc, bind_that_fails_leaves_nothing);
	tcase_add_test(tc, as_many_ids_as_there_may_be);
	tcase_add_test(tc, listener_of_a_service);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
