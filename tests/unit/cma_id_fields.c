// SPDX-License-Identifier: MIT
/* Fields that ids put into messages, and what a peer's fields change: where the traces show the
 * kinds of messages only. */
#include <errno.h>
#include <infiniband/verbs.h>

#include "cma_id_fixture.h"
#include "tests/suite.h"

static const struct ctl_cm_conn plain = { .qpn = 0x111, .retry_count = 7, .rnr_retry_count = 6 };

/* A REQ from a to a listener of b on port 7174, for a test to change. */
static struct cm_msg req(void)
{
	const struct gid from = { .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } };
	const struct gid to = { .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 } };
	const struct cm_ip_header header = { .ip_version = 4, .src = from, .dst = to };
	struct cm_msg ret = {
		.attr = CM_REQ,
		.local_comm_id = 5,
		.private_len = CM_IP_HEADER_BYTES,
		.u.req = { .service_id = cm_ip_service_id(CTL_CM_PS_TCP, 7174),
			   .local_qpn = 9,
			   .transport = CM_TRANSPORT_RC,
			   .path_mtu = IBV_MTU_1024,
			   .pkey = 0xffff,
			   .primary = { .local_gid = from, .remote_gid = to } },
	};

	cm_ip_header_emit(ret.private_data, &header);
	return ret;
}

static void arrive(const struct cm_msg *msg)
{
	const struct cm_path path = { .src = msg->u.req.primary.remote_gid,
				      .dst = msg->u.req.primary.local_gid };
	uint8_t mad[CM_MAD_BYTES];

	cm_msg_emit(mad, msg);
	cma_ids_input(b.ids, &path, mad, now_ns);
}

START_TEST(starting_psn_and_srq)
{
	struct ctl_cm_conn conn = plain;
	struct ctl_cm_qp_attr rtr;
	struct cma_id *passive;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	conn.starting_psn = 0x5abcdef;
	ck_assert_int_eq(
		cma_id_connect(resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10), &conn, now_ns), 0);
	ck_assert_uint_eq(a.sent.u.req.starting_psn, 0xabcdef);
	ck_assert(!a.sent.u.req.srq);
	deliver();
	conn.starting_psn = 0xfffffe;
	conn.srq = 1;
	passive = requested(&b);
	ck_assert_int_eq(cma_id_accept(passive, &conn, now_ns), 0);
	ck_assert_uint_eq(b.sent.u.rep.starting_psn, 0xfffffe);
	ck_assert(b.sent.u.rep.srq);
	ck_assert_int_eq(cma_id_init_qp_attr(passive, IBV_QPS_RTR, &rtr), 0);
	ck_assert_uint_eq(rtr.rq_psn, 0xfffffe);
	ck_assert_int_eq(cma_id_init_qp_attr(passive, IBV_QPS_RTS, &rtr), 0);
	ck_assert_uint_eq(rtr.sq_psn, 0xabcdef);
}
END_TEST

/* A program that names no starting PSN gets one of 24 bits that others cannot guess. */
START_TEST(random_psns)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 64; i++) {
		struct ctl_cm_conn conn = plain;

		conn.qpn += i;
		ck_assert_int_eq(cma_id_connect(resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10),
						&conn, now_ns),
				 0);
		ck_assert_uint_le(a.sent.u.req.starting_psn, 0xffffff);
		seen |= a.sent.u.req.starting_psn;
		deliver();
	}
	ck_assert_uint_eq(seen, 0xffffff);
}
END_TEST

START_TEST(ack_timeouts)
{
	const uint8_t five = 5;
	struct cma_id *id = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	struct ctl_cm_addr addr;

	ck_assert_int_eq(cma_id_connect(id, &plain, now_ns), 0);
	ck_assert_uint_eq(a.sent.u.req.primary.ack_timeout, 19);
	id = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	ck_assert_int_eq(cma_id_set_option(id, CTL_CM_OPTION_ID, CTL_CM_OPTION_ID_ACK_TIMEOUT,
					   &five, sizeof(five)),
			 0);
	ck_assert_int_eq(cma_id_connect(id, &plain, now_ns), 0);
	ck_assert_uint_eq(a.sent.u.req.primary.ack_timeout, 5);
	cma_id_query(id, &addr);
	ck_assert_uint_eq(addr.packet_life_time, 4);
}
END_TEST

/* An alternate path is not used, and the REP says so to a peer that asked for one. */
START_TEST(alternate_paths)
{
	struct cm_msg msg = req();

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	arrive(&msg);
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	ck_assert_uint_eq(b.sent.u.rep.failover_accepted, 0);
	msg.local_comm_id++;
	msg.u.req.local_qpn++;
	msg.u.req.alternate = msg.u.req.primary;
	arrive(&msg);
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	ck_assert_uint_eq(b.sent.u.rep.failover_accepted, 1);
}
END_TEST

START_TEST(path_of_a_request)
{
	struct cm_msg msg = req();
	struct ctl_cm_addr addr;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	msg.u.req.primary.hop_limit = 2;
	msg.u.req.primary.flow_label = 0x12345;
	msg.u.req.primary.traffic_class = 7;
	arrive(&msg);
	cma_id_query(requested(&b), &addr);
	ck_assert_uint_eq(addr.mtu, IBV_MTU_1024);
	ck_assert_uint_eq(addr.hop_limit, 2);
	ck_assert_uint_eq(addr.flow_label, 0x12345);
	ck_assert_uint_eq(addr.traffic_class, 7);
	/* A hop limit that leads nowhere is not taken. */
	msg.local_comm_id++;
	msg.u.req.local_qpn++;
	msg.u.req.primary.hop_limit = 1;
	arrive(&msg);
	cma_id_query(requested(&b), &addr);
	ck_assert_uint_eq(addr.hop_limit, 64);
}
END_TEST

/* The REJ has the MTU that the device can do. */
START_TEST(mtu_beyond_the_device)
{
	struct cm_msg msg = req();

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	msg.u.req.path_mtu = IBV_MTU_4096 + 1;
	arrive(&msg);
	ck_assert_int_eq(b.sent.attr, CM_REJ);
	ck_assert_uint_eq(b.sent.u.rej.reason, CM_REJ_INVALID_MTU);
	ck_assert_uint_eq(b.sent.u.rej.ari_len, 1);
	ck_assert_uint_eq(b.sent.u.rej.ari[0], IBV_MTU_4096);
}
END_TEST

START_TEST(unreliable_connections)
{
	struct cm_msg msg = req();
	struct ctl_cm_qp_attr rts;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	msg.u.req.transport = CM_TRANSPORT_UC;
	arrive(&msg);
	expect("     0 b CONNECT_REQUEST of 20\n");
	ck_assert_int_eq(cma_id_init_qp_attr(requested(&b), IBV_QPS_RTS, &rts), 0);
	ck_assert_uint_eq(rts.mask, IBV_QP_STATE | IBV_QP_SQ_PSN);
}
END_TEST

/* The wildcard address as destination is this host. */
START_TEST(resolves_to_itself)
{
	struct ctl_cm_addr addr;
	struct cma_id *id;

	a.route_error = -ENETUNREACH;
	id = resolved(&a, CTL_CM_PS_TCP, "0.0.0.0:7174", 10);
	cma_id_query(id, &addr);
	ck_assert_mem_eq(&addr.remote.in.sin_addr, ((uint8_t[]){ 10, 0, 0, 1 }), 4);
	ck_assert_mem_eq(addr.dgid.raw + 12, ((uint8_t[]){ 10, 0, 0, 1 }), 4);
}
END_TEST

START_TEST(flow_labels)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 64; i++) {
		struct cma_id *id = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
		struct ctl_cm_addr addr;

		cma_id_query(id, &addr);
		seen |= addr.flow_label;
		cma_id_destroy(id, now_ns);
	}
	ck_assert_uint_eq(seen, 0xfffff);
}
END_TEST

/* A bound id has a remote address of its family, and no port. */
START_TEST(bound_to_an_address)
{
	const union ctl_cm_sockaddr local = address("10.0.0.1:7174"),
				    v6 = address("[fd00::1]:7175");
	struct cma_id *id = tcp_id(&a, 10);
	struct ctl_cm_addr addr;

	ck_assert_int_eq(cma_id_bind(id, &local), 0);
	cma_id_query(id, &addr);
	ck_assert_int_eq(addr.remote.any.sa_family, AF_INET);
	ck_assert_uint_eq(addr.remote.in.sin_port, 0);
	id = tcp_id(&a, 11);
	ck_assert_int_eq(cma_id_bind(id, &v6), 0);
	cma_id_query(id, &addr);
	ck_assert_int_eq(addr.remote.any.sa_family, AF_INET6);
}
END_TEST

/* An id without a token gets no events. */
START_TEST(id_without_a_token)
{
	resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 0);
	a.last = (struct ctl_cm_event){ 0 };
	cma_ids_device_event(a.ids, 0, CTL_CM_EVENT_DEVICE_REMOVAL);
	expect("");
}
END_TEST

static uint32_t shown(const struct cma_id *id)
{
	struct ctl_cm_listed listed;

	cma_id_describe(id, &listed);
	return listed.state;
}

START_TEST(states_that_are_shown)
{
	struct cma_id *datagram, *passive;

	listener(&b, CTL_CM_PS_UDP, "0.0.0.0:7175", 21);
	datagram = resolved(&a, CTL_CM_PS_UDP, "10.0.0.2:7175", 11);
	ck_assert_uint_eq(shown(datagram), CTL_CM_ROUTE_RESOLVED);
	ck_assert_int_eq(cma_id_connect(datagram, &plain, now_ns), 0);
	ck_assert_uint_eq(shown(datagram), CTL_CM_CONNECTING);
	deliver();
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	deliver();
	ck_assert_uint_eq(shown(datagram), CTL_CM_ESTABLISHED);

	/* A peer that does not answer the REP: packets of the connection may still travel. */
	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(
		cma_id_connect(resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10), &plain, now_ns),
		0);
	deliver();
	passive = requested(&b);
	cma_id_user(passive)->token = 30;
	ck_assert_int_eq(cma_id_accept(passive, &plain, now_ns), 0);
	for (uint32_t i = 0; i < 100 && b.last.event != CTL_CM_EVENT_UNREACHABLE; i++) {
		lose(64);
		now_ns = cma_ids_deadline(b.ids);
		cma_ids_expire(b.ids, now_ns);
	}
	ck_assert_int_eq(b.last.event, CTL_CM_EVENT_UNREACHABLE);
	ck_assert_uint_eq(shown(passive), CTL_CM_REJECTED);
}
END_TEST

START_TEST(listeners_of_datagrams)
{
	struct cm_msg sidr = { .attr = CM_SIDR_REQ };
	uint8_t mad[CM_MAD_BYTES];

	listener(&b, CTL_CM_PS_UDP, "0.0.0.0:7175", 21);
	sidr.u.sidr_req.service_id = cm_ip_service_id(CTL_CM_PS_UDP, 7176);
	cm_msg_emit(mad, &sidr);
	ck_assert(cma_ids_lack_listener(b.ids, mad));
	sidr.u.sidr_req.service_id = cm_ip_service_id(CTL_CM_PS_UDP, 7175) | 1ull << 40;
	cm_msg_emit(mad, &sidr);
	ck_assert(cma_ids_lack_listener(b.ids, mad));
	sidr.u.sidr_req.service_id &= UINT32_MAX;
	cm_msg_emit(mad, &sidr);
	ck_assert(!cma_ids_lack_listener(b.ids, mad));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cma_id_fields");
	TCase *tc = tcase_create("cma_id_fields");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, starting_psn_and_srq);
	tcase_add_test(tc, random_psns);
	tcase_add_test(tc, ack_timeouts);
	tcase_add_test(tc, alternate_paths);
	tcase_add_test(tc, path_of_a_request);
	tcase_add_test(tc, mtu_beyond_the_device);
	tcase_add_test(tc, unreliable_connections);
	tcase_add_test(tc, resolves_to_itself);
	tcase_add_test(tc, flow_labels);
	tcase_add_test(tc, bound_to_an_address);
	tcase_add_test(tc, id_without_a_token);
	tcase_add_test(tc, states_that_are_shown);
	tcase_add_test(tc, listeners_of_datagrams);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
