// SPDX-License-Identifier: MIT
/* Ids of librdmacm: what each side of a connection is told, and in which order. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "cma_id_fixture.h"
#include "tests/suite.h"

static const struct ctl_cm_conn plain = { .qpn = 0x111, .retry_count = 7, .rnr_retry_count = 6 };

START_TEST(connect_and_disconnect)
{
	const union ctl_cm_sockaddr none = { 0 }, dst = address("10.0.0.2:7174");
	struct cma_id *active = tcp_id(&a, 10), *passive;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_resolve_addr(active, &none, &dst), 0);
	ck_assert_int_eq(cma_id_resolve_route(active), 0);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	passive = requested(&b);
	cma_id_user(passive)->token = 30;
	ck_assert_int_eq(cma_id_accept(passive, &plain, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_establish(active), 0);
	deliver();
	expect("     0 a ADDR_RESOLVED of 10\n"
	       "     0 a ROUTE_RESOLVED of 10\n"
	       "     0 a > REQ port 7174\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "     0 b > REP\n"
	       "     0 a CONNECT_RESPONSE of 10\n"
	       "     0 a > RTU\n"
	       "     0 b ESTABLISHED of 30\n");

	ck_assert_int_eq(cma_id_disconnect(active, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_disconnect(passive, now_ns), 0);
	deliver();
	expect("     0 a > DREQ\n"
	       "     0 b DISCONNECTED of 30\n"
	       "     0 b > DREP\n"
	       "     0 a DISCONNECTED of 10\n");
	pass_ms(60000);
	expect("  2147 a TIMEWAIT_EXIT of 10\n"
	       "  2147 b TIMEWAIT_EXIT of 30\n");
}
END_TEST

/* Both sides are ids of one instance. */
START_TEST(connect_to_oneself)
{
	struct cma_id *active = resolved(&b, CTL_CM_PS_TCP, "10.0.0.2:7174", 10), *passive;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	passive = requested(&b);
	cma_id_user(passive)->token = 30;
	ck_assert_int_eq(cma_id_accept(passive, &(struct ctl_cm_conn){ .qpn = 0x222 }, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_establish(active), 0);
	deliver();
	ck_assert_int_eq(cma_id_disconnect(passive, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_disconnect(active, now_ns), 0);
	deliver();
	expect("     0 b > REQ port 7174\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "     0 b > REP\n"
	       "     0 b CONNECT_RESPONSE of 10\n"
	       "     0 b > RTU\n"
	       "     0 b ESTABLISHED of 30\n"
	       "     0 b > DREQ\n"
	       "     0 b DISCONNECTED of 10\n"
	       "     0 b > DREP\n"
	       "     0 b DISCONNECTED of 30\n");
}
END_TEST

START_TEST(nobody_listens)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	expect("     0 a > REQ port 7174\n"
	       "     0 b > REJ reason 8\n"
	       "     0 a REJECTED of 10, status 8\n");
	/* An id connects once. */
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), -EINVAL);
	expect("");
}
END_TEST

/* A program of another address of the instance listens on the port. */
START_TEST(nobody_listens_on_this_address)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	listener(&b, CTL_CM_PS_TCP, "[fd00::2]:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	expect("     0 a > REQ port 7174\n"
	       "     0 b > REJ reason 8\n"
	       "     0 a REJECTED of 10, status 8\n");
}
END_TEST

START_TEST(rejected_with_private_data)
{
	struct ctl_cm_conn no = { .private_len = 148, .private_data = "full" };
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	listener(&b, CTL_CM_PS_TCP, "10.0.0.2:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	no.private_len = 149;
	ck_assert_int_eq(cma_id_reject(requested(&b), &no, now_ns), -EINVAL);
	no.private_len = 148;
	ck_assert_int_eq(cma_id_reject(requested(&b), &no, now_ns), 0);
	deliver();
	expect("     0 a > REQ port 7174\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "     0 b > REJ reason 28\n"
	       "     0 a REJECTED of 10, status 28\n");
	ck_assert_uint_eq(a.last.conn.private_len, 148);
	ck_assert_str_eq((const char *)a.last.conn.private_data, "full");
}
END_TEST

START_TEST(private_data_limits)
{
	struct ctl_cm_conn conn = { .qpn = 0x111, .private_len = 57 };
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &conn, now_ns), -EINVAL);
	conn.private_len = 56;
	memset(conn.private_data, 0x5a, sizeof(conn.private_data));
	ck_assert_int_eq(cma_id_connect(active, &conn, now_ns), 0);
	deliver();
	ck_assert_uint_eq(b.last.conn.private_len, 56);
	ck_assert_uint_eq(b.last.conn.private_data[55], 0x5a);
	conn.private_len = 197;
	ck_assert_int_eq(cma_id_accept(requested(&b), &conn, now_ns), -EINVAL);
	conn.private_len = 196;
	ck_assert_int_eq(cma_id_accept(requested(&b), &conn, now_ns), 0);
	deliver();
	ck_assert_uint_eq(a.last.conn.private_len, 196);
	ck_assert_uint_eq(a.last.conn.private_data[195], 0x5a);
}
END_TEST

/* Both sides see the depths from their own end, and their queue pairs fit together. */
START_TEST(queue_pair_attributes)
{
	const struct ctl_cm_conn ask = { .qpn = 0x111,
					 .responder_resources = 4,
					 .initiator_depth = 3,
					 .retry_count = 9,
					 .rnr_retry_count = 5 };
	const struct ctl_cm_conn answer = {
		.qpn = 0x222, .responder_resources = 2, .initiator_depth = 1, .rnr_retry_count = 4
	};
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10), *passive;
	struct ctl_cm_qp_attr rtr, rts, peer;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &ask, now_ns), 0);
	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_RTR, &rtr), -EINVAL);
	deliver();
	passive = requested(&b);
	ck_assert_uint_eq(b.last.conn.responder_resources, 3);
	ck_assert_uint_eq(b.last.conn.initiator_depth, 4);
	ck_assert_uint_eq(b.last.conn.retry_count, 7);
	ck_assert_uint_eq(b.last.conn.qpn, 0x111);
	ck_assert_int_eq(cma_id_accept(passive, &answer, now_ns), 0);
	deliver();
	ck_assert_uint_eq(a.last.conn.responder_resources, 1);
	ck_assert_uint_eq(a.last.conn.initiator_depth, 2);

	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_RTR, &rtr), 0);
	ck_assert_uint_eq(rtr.mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	ck_assert_uint_eq(rtr.dest_qpn, 0x222);
	ck_assert_uint_eq(rtr.max_dest_rd_atomic, 1);
	ck_assert_uint_eq(rtr.path_mtu, IBV_MTU_4096);
	ck_assert_uint_eq(rtr.ah.is_global, 1);
	ck_assert_int_eq(cma_id_init_qp_attr(passive, IBV_QPS_RTS, &peer), 0);
	ck_assert_uint_eq(peer.sq_psn, rtr.rq_psn);
	ck_assert_uint_eq(peer.rnr_retry, 5);
	ck_assert_uint_eq(peer.max_rd_atomic, 1);

	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_RTS, &rts), 0);
	ck_assert_uint_eq(rts.mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC);
	ck_assert_uint_eq(rts.max_rd_atomic, 2);
	ck_assert_uint_eq(rts.retry_cnt, 7);
	ck_assert_uint_eq(rts.rnr_retry, 4);
	ck_assert_uint_eq(rts.timeout, 19);
	ck_assert_int_eq(cma_id_init_qp_attr(passive, IBV_QPS_RTR, &peer), 0);
	ck_assert_uint_eq(peer.rq_psn, rts.sq_psn);
	ck_assert_uint_eq(peer.max_dest_rd_atomic, 2);
}
END_TEST

/* What an event says of all transitions is what each of them is told. */
static void expect_attr(const struct cma_id *id, const struct ctl_cm_event *event)
{
	static const uint32_t states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct ctl_cm_qp_attr all = { 0 }, one;

	for (uint32_t i = 0; i < 3; i++) {
		if (cma_id_init_qp_attr(id, states[i], &one))
			continue;
		ck_assert_uint_eq(all.mask & one.mask, all.mask ? IBV_QP_STATE : 0);
		all.mask |= one.mask;
		for (size_t k = offsetof(struct ctl_cm_qp_attr, path_mtu); k < sizeof(one); k++)
			((uint8_t *)&all)[k] |= ((const uint8_t *)&one)[k];
	}
	ck_assert_mem_eq(&event->attr, &all, sizeof(all));
}

START_TEST(attributes_in_events)
{
	const struct ctl_cm_conn ask = { .qpn = 0x111, .responder_resources = 4, .retry_count = 3 };
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	ck_assert_uint_eq(a.last.attr.mask,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	expect_attr(active, &a.last);
	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &ask, now_ns), 0);
	deliver();
	expect_attr(requested(&b), &b.last);
	ck_assert_uint_eq(b.last.attr.dest_qpn, 0x111);
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	deliver();
	expect_attr(active, &a.last);
	ck_assert_uint_eq(a.last.attr.retry_cnt, 3);
}
END_TEST

/* A datagram queue pair's Q_Key may change after an event: the program's library asks. */
START_TEST(attributes_of_datagrams_are_asked_for)
{
	resolved(&a, CTL_CM_PS_UDP, "10.0.0.2:7174", 10);
	ck_assert_uint_eq(a.last.attr.mask, 0);
}
END_TEST

START_TEST(queue_pair_before_it_connects)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	struct ctl_cm_qp_attr attr;

	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_INIT, &attr), 0);
	ck_assert_uint_eq(attr.mask,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	ck_assert_uint_eq(attr.access_flags, 0);
	ck_assert_uint_eq(attr.port_num, 1);
}
END_TEST

START_TEST(endpoints_of_a_connection)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	struct ctl_cm_addr ours, theirs;

	listener(&b, CTL_CM_PS_TCP, "[::]:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	cma_id_query(active, &ours);
	cma_id_query(requested(&b), &theirs);
	ck_assert_mem_eq(&ours.local, &theirs.remote, sizeof(ours.local));
	ck_assert_mem_eq(&ours.remote, &theirs.local, sizeof(ours.local));
	ck_assert_mem_eq(&ours.dgid, &theirs.sgid, sizeof(ours.dgid));
	ck_assert_mem_eq(&ours.sgid, &theirs.dgid, sizeof(ours.dgid));
	ck_assert_uint_eq(theirs.num_paths, 1);
	ck_assert_mem_eq(&b.last.addr, &theirs, sizeof(theirs));
}
END_TEST

/* A port with smaller packets: both queue pairs get its MTU. */
START_TEST(path_mtu)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "[fd00::2]:7174", 10);
	struct ctl_cm_qp_attr attr;

	listener(&b, CTL_CM_PS_TCP, "[::]:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_init_qp_attr(requested(&b), IBV_QPS_RTR, &attr), 0);
	ck_assert_uint_eq(attr.path_mtu, IBV_MTU_1024);
}
END_TEST

/* A REQ that no queue pair could be connected by. */
START_TEST(unsound_requests)
{
	const struct cm_path path = { .src = { .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 } },
				      .dst = { .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } } };
	struct cm_msg req = { .attr = CM_REQ,
			      .local_comm_id = 5,
			      .u.req = { .service_id = cm_ip_service_id(CTL_CM_PS_TCP, 7174),
					 .local_qpn = 9,
					 .transport = CM_TRANSPORT_RD,
					 .path_mtu = IBV_MTU_1024,
					 .pkey = 0xffff,
					 .primary = { .local_gid = path.dst,
						      .remote_gid = path.src } } };
	struct ctl_cm_conn none = { 0 };
	const struct cm_ip_header header = { .ip_version = 4, .src = path.dst, .dst = path.src };
	uint8_t mad[CM_MAD_BYTES];

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	cm_msg_emit(mad, &req); /* without endpoints */
	cma_ids_input(b.ids, &path, mad, now_ns);
	cm_ip_header_emit(req.private_data, &header);
	req.private_len = CM_IP_HEADER_BYTES;
	req.local_comm_id++;
	cm_msg_emit(mad, &req);
	cma_ids_input(b.ids, &path, mad, now_ns);
	req.u.req.transport = CM_TRANSPORT_RC;
	for (uint8_t mtu = 0; mtu <= IBV_MTU_4096 + 1; mtu += IBV_MTU_4096 + 1) {
		req.u.req.path_mtu = mtu;
		req.local_comm_id++;
		cm_msg_emit(mad, &req);
		cma_ids_input(b.ids, &path, mad, now_ns);
	}
	req.u.req.path_mtu = IBV_MTU_4096;
	req.u.req.pkey = 0x8001;
	req.local_comm_id++;
	cm_msg_emit(mad, &req);
	cma_ids_input(b.ids, &path, mad, now_ns);
	req.u.req.pkey = 0x7fff;
	req.u.req.primary.remote_gid.raw[15]++;
	req.local_comm_id++;
	cm_msg_emit(mad, &req);
	cma_ids_input(b.ids, &path, mad, now_ns);
	expect("     0 b > REJ reason 8\n"
	       "     0 b > REJ reason 9\n"
	       "     0 b > REJ reason 26\n"
	       "     0 b > REJ reason 26\n"
	       "     0 b > REJ reason 12\n"
	       "     0 b > REJ reason 12\n");
	/* A limited P_Key will do, and an alternate path does no harm. */
	req.u.req.primary.remote_gid = path.src;
	req.u.req.alternate = req.u.req.primary;
	req.local_comm_id++;
	cm_msg_emit(mad, &req);
	cma_ids_input(b.ids, &path, mad, now_ns);
	expect("     0 b CONNECT_REQUEST of 20\n");
	ck_assert_int_eq(cma_id_accept(requested(&b), &none, now_ns), 0);
}
END_TEST

/* The program takes its time: a repeated REQ is answered by an MRA. */
START_TEST(slow_program)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	pass_ms(30000);
	expect("     0 a > REQ port 7174\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "  6442 a > REQ port 7174\n"
	       "  6442 b > MRA\n");
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	deliver();
	expect(" 30000 b > REP\n"
	       " 30000 a CONNECT_RESPONSE of 10\n");
}
END_TEST

START_TEST(unreachable)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	lose(100);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	forget();
	pass_ms(90000);
	forget();
	pass_ms(20000);
	expect(" 90194 a > REQ port 7174, lost\n"
	       " 96636 a > REQ port 7174, lost\n"
	       "103079 a > REJ reason 4, lost\n"
	       "103079 a UNREACHABLE of 10, status -110\n");
}
END_TEST

START_TEST(ids_of_a_dead_program)
{
	struct cma_id *passive, *active = connected(&passive), *second;

	cma_id_destroy(passive, now_ns);
	deliver();
	expect("     0 b > DREQ\n"
	       "     0 a DISCONNECTED of 10\n");
	cma_id_disconnect(active, now_ns);
	deliver();
	expect("     0 a > DREP\n");

	second = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 11);
	ck_assert_int_eq(cma_id_connect(second, &(struct ctl_cm_conn){ .qpn = 0x333 }, now_ns), 0);
	deliver();
	cma_id_destroy(requested(&b), now_ns);
	deliver();
	expect("     0 a > REQ port 7174\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "     0 b > REJ reason 28\n"
	       "     0 a REJECTED of 11, status 28\n");
}
END_TEST

START_TEST(peer_without_answer)
{
	struct cma_id *passive, *active = connected(&passive);

	lose(100);
	ck_assert_int_eq(cma_id_disconnect(active, now_ns), 0);
	forget();
	pass_ms(300000);
	ck_assert_uint_eq(a.last.event, CTL_CM_EVENT_TIMEWAIT_EXIT);
	ck_assert_uint_eq(b.last.event, CTL_CM_EVENT_ESTABLISHED);
}
END_TEST

START_TEST(time_wait_ends)
{
	struct cma_id *passive, *active = connected(&passive);

	ck_assert_int_eq(cma_id_disconnect(active, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_disconnect(passive, now_ns), 0);
	deliver();
	forget();
	pass_ms(100000);
	ck_assert_uint_eq(a.last.event, CTL_CM_EVENT_TIMEWAIT_EXIT);
	ck_assert_uint_eq(b.last.event, CTL_CM_EVENT_TIMEWAIT_EXIT);
}
END_TEST

/* The RTU is lost, and data arrives: the program says so. */
START_TEST(data_before_the_rtu)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10), *passive;

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	passive = requested(&b);
	cma_id_user(passive)->token = 30;
	ck_assert_int_eq(cma_id_accept(passive, &plain, now_ns), 0);
	deliver();
	lose(1);
	ck_assert_int_eq(cma_id_establish(active), 0);
	forget();
	ck_assert_int_eq(cma_id_notify(passive, IBV_EVENT_QP_FATAL), -EINVAL);
	ck_assert_int_eq(cma_id_notify(passive, IBV_EVENT_COMM_EST), 0);
	expect("     0 b ESTABLISHED of 30\n");
}
END_TEST

START_TEST(datagrams)
{
	const struct ctl_cm_conn ask = { .private_len = 180, .private_data = "who" };
	const struct ctl_cm_conn answer = { .qpn = 0x222,
					    .private_len = 136,
					    .private_data = "me" };
	struct ctl_cm_conn too_long = { .private_len = 181 };
	struct cma_id *active = resolved(&a, CTL_CM_PS_UDP, "10.0.0.2:7174", 10), *passive;
	struct ctl_cm_qp_attr attr;

	listener(&b, CTL_CM_PS_UDP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &too_long, now_ns), -EINVAL);
	ck_assert_int_eq(cma_id_connect(active, &ask, now_ns), 0);
	deliver();
	passive = requested(&b);
	ck_assert_uint_eq(b.last.conn.private_len, 180);
	ck_assert_str_eq((const char *)b.last.conn.private_data, "who");
	too_long.private_len = 137;
	ck_assert_int_eq(cma_id_accept(passive, &too_long, now_ns), -EINVAL);
	ck_assert_int_eq(cma_id_accept(passive, &answer, now_ns), 0);
	deliver();
	expect("     0 a > SIDR_REQ\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "     0 b > SIDR_REP status 0\n"
	       "     0 a ESTABLISHED of 10\n");
	ck_assert_uint_eq(a.last.conn.qpn, 0x222);
	ck_assert_uint_eq(a.last.conn.qkey, 0x01234567);
	ck_assert_uint_eq(a.last.conn.private_len, 136);
	ck_assert_uint_eq(a.last.ah.dgid.raw[15], 2);
	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_INIT, &attr), 0);
	ck_assert_uint_eq(attr.mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	ck_assert_uint_eq(attr.qkey, 0x01234567);
}
END_TEST

START_TEST(datagrams_refused)
{
	struct cma_id *active[2];

	active[0] = resolved(&a, CTL_CM_PS_UDP, "10.0.0.2:7174", 10);
	active[1] = resolved(&a, CTL_CM_PS_UDP, "10.0.0.2:7175", 11);
	listener(&b, CTL_CM_PS_UDP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active[0], &plain, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_reject(requested(&b), &(struct ctl_cm_conn){ 0 }, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_connect(active[1], &plain, now_ns), 0);
	deliver();
	expect("     0 a > SIDR_REQ\n"
	       "     0 b CONNECT_REQUEST of 20\n"
	       "     0 b > SIDR_REP status 2\n"
	       "     0 a UNREACHABLE of 10, status 2\n"
	       "     0 a > SIDR_REQ\n"
	       "     0 b > SIDR_REP status 1\n"
	       "     0 a UNREACHABLE of 11, status 1\n");
}
END_TEST

START_TEST(multicast)
{
	const union ctl_cm_sockaddr local = address("10.0.0.1:0"), group = address("239.1.2.3:0");
	const union ctl_cm_sockaddr single = address("10.0.0.2:0");
	struct cma_id *id = make_id(&a, CTL_CM_PS_UDP, 10);
	uint64_t token = 0;
	uint32_t member;

	ck_assert_int_eq(cma_id_join(id, &group, 77, &member), -EINVAL);
	ck_assert_int_eq(cma_id_bind(id, &local), 0);
	ck_assert_int_eq(cma_id_join(id, &single, 77, &member), -EINVAL);
	ck_assert_int_eq(cma_id_join(id, &group, 77, &member), 0);
	expect("     0 a MULTICAST_JOIN of 10\n");
	ck_assert_uint_eq(a.last.mc_token, 77);
	ck_assert_uint_eq(a.last.conn.qpn, 0xffffff);
	ck_assert_uint_eq(a.last.conn.qkey, 0x01234567);
	ck_assert_mem_eq(a.last.ah.dgid.raw + 12, &group.in.sin_addr, 4);
	ck_assert_int_eq(cma_id_leave(id, member + 1, &token), -EINVAL);
	ck_assert_int_eq(cma_id_leave(id, member, &token), 0);
	ck_assert_uint_eq(token, 77);
}
END_TEST

/* Only ids that are bound to the device learn of it. */
START_TEST(device_events)
{
	resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	resolved(&a, CTL_CM_PS_TCP, "[fd00::2]:7174", 11);
	listener(&a, CTL_CM_PS_TCP, "0.0.0.0:7174", 12);
	cma_ids_device_event(a.ids, 1, CTL_CM_EVENT_ADDR_CHANGE);
	cma_ids_device_event(a.ids, 0, CTL_CM_EVENT_DEVICE_REMOVAL);
	expect("     0 a ADDR_CHANGE of 11\n"
	       "     0 a DEVICE_REMOVAL of 10\n");
}
END_TEST

/* XRC: the active side requests, the passive side responds. */
START_TEST(extended_transport)
{
	const union ctl_cm_sockaddr none = { 0 }, dst = address("10.0.0.2:7174");
	const struct cma_id_user user = { .owner = &a, .token = 10 };
	struct ctl_cm_qp_attr attr;
	struct cma_id *active, *passive;

	listener(&b, CTL_CM_PS_IB, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_create(a.ids, CTL_CM_PS_IB, IBV_QPT_XRC_SEND, &user, &active), 0);
	ck_assert_int_eq(cma_id_resolve_addr(active, &none, &dst), 0);
	ck_assert_int_eq(cma_id_resolve_route(active), 0);
	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	passive = requested(&b);
	ck_assert_int_eq(cma_id_init_qp_attr(passive, IBV_QPS_RTR, &attr), 0);
	ck_assert(attr.mask & IBV_QP_MIN_RNR_TIMER);
	ck_assert_int_eq(cma_id_init_qp_attr(passive, IBV_QPS_RTS, &attr), 0);
	ck_assert_uint_eq(attr.mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT);
	ck_assert_int_eq(cma_id_accept(passive, &plain, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_RTR, &attr), 0);
	ck_assert(!(attr.mask & IBV_QP_MIN_RNR_TIMER));
	ck_assert_int_eq(cma_id_init_qp_attr(active, IBV_QPS_RTS, &attr), 0);
	ck_assert(attr.mask & IBV_QP_RETRY_CNT);
}
END_TEST

/* The listener ends: its new ids live on. */
START_TEST(listener_ends_first)
{
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);
	struct cma_id *listening = listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);

	ck_assert_int_eq(cma_id_connect(active, &plain, now_ns), 0);
	deliver();
	cma_id_destroy(listening, now_ns);
	ck_assert_int_eq(cma_id_accept(requested(&b), &plain, now_ns), 0);
	deliver();
	ck_assert_uint_eq(a.last.event, CTL_CM_EVENT_CONNECT_RESPONSE);
	ck_assert_int_eq(cma_id_bind(tcp_id(&b, 21),
				     &(union ctl_cm_sockaddr){ .in = { .sin_family = AF_INET,
								       .sin_port = htons(7174) } }),
			 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cma_id");
	TCase *tc = tcase_create("cma_id");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, connect_and_disconnect);
	tcase_add_test(tc, connect_to_oneself);
	tcase_add_test(tc, nobody_listens);
	tcase_add_test(tc, nobody_listens_on_this_address);
	tcase_add_test(tc, rejected_with_private_data);
	tcase_add_test(tc, private_data_limits);
	tcase_add_test(tc, queue_pair_attributes);
	tcase_add_test(tc, attributes_in_events);
	tcase_add_test(tc, attributes_of_datagrams_are_asked_for);
	tcase_add_test(tc, queue_pair_before_it_connects);
	tcase_add_test(tc, endpoints_of_a_connection);
	tcase_add_test(tc, path_mtu);
	tcase_add_test(tc, unsound_requests);
	tcase_add_test(tc, slow_program);
	tcase_add_test(tc, unreachable);
	tcase_add_test(tc, ids_of_a_dead_program);
	tcase_add_test(tc, peer_without_answer);
	tcase_add_test(tc, time_wait_ends);
	tcase_add_test(tc, data_before_the_rtu);
	tcase_add_test(tc, datagrams);
	tcase_add_test(tc, datagrams_refused);
	tcase_add_test(tc, multicast);
	tcase_add_test(tc, device_events);
	tcase_add_test(tc, extended_transport);
	tcase_add_test(tc, listener_ends_first);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
