// SPDX-License-Identifier: MIT
/* Raw packet queue pairs (IBV_QPT_RAW_PACKET): every form of creation, sizes, states, offloads, and
 * frames between processes. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw_fixture.h"

static struct ibv_context *context;
static struct raw_end a, b;

static void open_both(struct ibv_qp_init_attr_ex *of_b)
{
	context = fixture_open();
	raw_open(&a, context, NULL);
	raw_open(&b, context, of_b);
}

static void close_both(void)
{
	raw_close(&a);
	raw_close(&b);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

static uint32_t max_frame(void)
{
	struct ibv_port_attr port;

	ck_assert_int_eq(ibv_query_port(context, 1, &port), 0);
	return (128u << port.active_mtu) + 18;
}

START_TEST(capabilities)
{
	struct ibv_device_attr_ex attr;

	context = fixture_open();
	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &attr), 0);
	ck_assert(attr.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING);
	ck_assert(attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM);
	ck_assert_int_gt(attr.orig_attr.max_raw_ethy_qp, 0);
	ck_assert_uint_eq(attr.raw_packet_caps,
			  IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_IP_CSUM);
	ck_assert(ibv_is_qpt_supported(attr.rss_caps.supported_qpts, IBV_QPT_RAW_PACKET));
	ck_assert_uint_eq(attr.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
	ck_assert_uint_gt(attr.max_wq_type_rq, 0);
	ck_assert_uint_eq(attr.tso_caps.supported_qpts, 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(both_ways)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 200);
	struct ibv_qp_init_attr_ex attr = { .comp_mask = 0 };
	struct ibv_flow *flows[2];

	open_both(&attr);
	flows[0] = raw_take_all(&a);
	flows[1] = raw_take_all(&b);
	for (uint64_t i = 0; i < 20; i++) {
		raw_post(&a, i);
		raw_post(&b, i);
		raw_send(&a, &frame);
		raw_expect(&b, i, &frame);
		raw_send(&b, &frame);
		raw_expect(&a, i, &frame);
	}
	ck_assert_int_eq(ibv_destroy_flow(flows[0]), 0);
	ck_assert_int_eq(ibv_destroy_flow(flows[1]), 0);
	close_both();
}
END_TEST

/* ibv_wr_*: a list of SGEs and inline data; nothing but SEND. */
START_TEST(built_requests)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 200);
	struct ibv_qp_init_attr_ex attr = { .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_qp_init_attr_ex other = { .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
							  IBV_QP_INIT_ATTR_PD,
					     .send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM,
					     .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp_ex *ex;
	struct ibv_flow *flow;
	struct ibv_sge sges[2];

	open_both(&attr);
	ex = ibv_qp_to_qp_ex(b.qp);
	flow = raw_take_all(&a);
	raw_post(&a, 0);
	raw_post(&a, 1);
	memcpy(b.memory, frame.p, frame.len);
	sges[0] = (struct ibv_sge){ (uintptr_t)b.memory, 20, b.mr->lkey };
	sges[1] = (struct ibv_sge){ (uintptr_t)b.memory + 20, frame.len - 20, b.mr->lkey };
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 2, sges);
	ex->wr_id = 2;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, b.memory, frame.len);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_uint_eq(raw_wait(&b).wr_id, 1);
	ck_assert_uint_eq(raw_wait(&b).wr_id, 2);
	raw_expect(&a, 0, &frame);
	raw_expect(&a, 1, &frame);
	other.send_cq = other.recv_cq = ibv_cq_ex_to_cq(b.cq);
	other.pd = b.pd;
	ck_assert_ptr_null(ibv_create_qp_ex(context, &other));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close_both();
}
END_TEST

START_TEST(sizes)
{
	static struct raw_build frame;
	struct ibv_flow *flow;
	uint32_t most;

	open_both(NULL);
	flow = raw_take_all(&b);
	most = max_frame();
	ck_assert_uint_le(most, RAW_SLOT);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t len = i ? most + 1 : 13;
		static uint8_t bytes[RAW_SLOT];

		ck_assert_int_eq(raw_try_send(&a, bytes, len, 0), EINVAL);
		bytes[0] = 2;
		raw_post(&b, i);
		ck_assert_int_eq(raw_try_send(&a, bytes, i ? most : 14, 0), 0);
		ck_assert_int_eq(raw_wait(&a).status, IBV_WC_SUCCESS);
		ck_assert_uint_eq(raw_wait(&b).byte_len, i ? most : 60);
	}
	for (uint32_t len = 18; len < 100; len++) {
		raw_post(&b, 0);
		frame = raw_build_datagram(1, 2, len);
		raw_send(&a, &frame);
		raw_expect(&b, 0, &frame);
	}
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close_both();
}
END_TEST

START_TEST(checksums)
{
	struct raw_build frame = raw_build_datagram(1, 2, 100), right;
	struct ibv_flow *flow;

	open_both(NULL);
	flow = raw_take_all(&b);
	raw_post(&b, 0);
	raw_post(&b, 1);
	right = frame;
	frame.p[24] ^= 0xff; /* IPv4 checksum */
	raw_send(&a, &frame);
	ck_assert_uint_eq(raw_expect(&b, 0, &frame).flags & IBV_WC_IP_CSUM_OK, 0);
	ck_assert_int_eq(raw_try_send(&a, frame.p, frame.len, IBV_SEND_IP_CSUM), 0);
	ck_assert_int_eq(raw_wait(&a).status, IBV_WC_SUCCESS);
	ck_assert_uint_eq(raw_wait(&b).flags & IBV_WC_IP_CSUM_OK, IBV_WC_IP_CSUM_OK);
	ck_assert_mem_eq(b.memory + RAW_SLOT, right.p, 40);
	ck_assert_mem_ne(b.memory + RAW_SLOT + 40, "\0", 2);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close_both();
}
END_TEST

START_TEST(vlan_tags)
{
	struct ibv_qp_init_attr_ex attr = { .comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS,
					    .create_flags = IBV_QP_CREATE_CVLAN_STRIPPING };
	struct raw_build frame = raw_build_datagram(1, 2, 100), tagged = frame;
	struct ibv_flow *flows[2];

	raw_build_tag(&tagged, 0x6123);
	open_both(&attr);
	flows[0] = raw_take_all(&a);
	flows[1] = raw_take_all(&b);
	raw_post(&a, 0);
	raw_post(&b, 0);
	raw_post(&b, 1);
	raw_send(&a, &tagged);
	ck_assert_uint_eq(raw_expect(&b, 0, &frame).cvlan, 0x6123);
	raw_send(&a, &frame);
	ck_assert_uint_eq(raw_expect(&b, 1, &frame).cvlan, 0);
	raw_send(&b, &tagged);
	ck_assert_uint_eq(raw_expect(&a, 0, &tagged).cvlan, 0);
	ck_assert_int_eq(ibv_destroy_flow(flows[0]), 0);
	ck_assert_int_eq(ibv_destroy_flow(flows[1]), 0);
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	ck_assert_ptr_null(ibv_create_qp_ex(context, &attr));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	close_both();
}
END_TEST

static void reset(struct raw_end *end)
{
	ck_assert_int_eq(raw_modify(end, IBV_QPS_RESET), 0);
}

START_TEST(states)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 100);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_qp_init_attr init;

	open_both(NULL);
	reset(&a);
	ck_assert_int_eq(ibv_post_recv(a.qp, &wr, &bad), EINVAL);
	ck_assert_int_eq(raw_modify(&a, IBV_QPS_RTR), EINVAL);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY),
			 EINVAL);
	ck_assert_int_eq(raw_modify(&a, IBV_QPS_INIT), 0);
	ck_assert_int_eq(raw_try_send(&a, frame.p, frame.len, 0), EINVAL);
	ck_assert_int_eq(raw_modify(&a, IBV_QPS_RTR), 0);
	ck_assert_int_eq(raw_try_send(&a, frame.p, frame.len, 0), EINVAL);
	ck_assert_int_eq(raw_modify(&a, IBV_QPS_RTS), 0);
	ck_assert_int_eq(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq(attr.qp_state, IBV_QPS_RTS);
	ck_assert_int_eq(init.qp_type, IBV_QPT_RAW_PACKET);
	raw_post(&a, 3);
	ck_assert_int_eq(raw_modify(&a, IBV_QPS_ERR), 0);
	ck_assert_int_eq(raw_wait(&a).status, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(raw_try_send(&a, frame.p, frame.len, 0), 0);
	ck_assert_int_eq(raw_wait(&a).status, IBV_WC_WR_FLUSH_ERR);
	close_both();
}
END_TEST

static void send_of(struct raw_end *end, enum ibv_wr_opcode opcode, uint32_t lkey, int expected)
{
	struct ibv_sge sge = { (uintptr_t)end->memory, 100, lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_send_wr *bad;

	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), expected);
}

START_TEST(bad_requests)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 100);
	struct ibv_srq_init_attr shared = { .attr = { 8, 1, 0 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_flow *flow;

	open_both(NULL);
	flow = raw_take_all(&b);
	send_of(&a, IBV_WR_SEND_WITH_IMM, a.mr->lkey, EINVAL);
	send_of(&a, IBV_WR_RDMA_WRITE, a.mr->lkey, EINVAL);
	send_of(&a, IBV_WR_TSO, a.mr->lkey, EINVAL);
	send_of(&a, IBV_WR_SEND, a.mr->lkey ^ 1, 0);
	ck_assert_int_eq(raw_wait(&a).status, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	raw_post(&b, 0);
	raw_send(&a, &frame);
	raw_expect(&b, 0, &frame);
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(a.cq);
	init.srq = ibv_create_srq(a.pd, &shared);
	ck_assert_ptr_nonnull(init.srq);
	ck_assert_ptr_null(ibv_create_qp(a.pd, &init));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_destroy_srq(init.srq), 0);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close_both();
}
END_TEST

/* A receive that is too short fails the queue pair; frames without a receive vanish. */
START_TEST(receives)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 100);
	struct ibv_sge small = { .length = 50 };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &small, .num_sge = 1 }, *bad;
	struct ibv_flow *flow;

	open_both(NULL);
	flow = raw_take_all(&b);
	raw_send(&a, &frame);
	raw_send(&a, &frame);
	/* The marker: the two before it had no receive. */
	while (true) {
		struct ibv_wc wc;

		if (ibv_poll_cq(ibv_cq_ex_to_cq(b.cq), 1, &wc) == 0)
			break;
		ck_abort_msg("a completion without a receive");
	}
	raw_post(&b, 0);
	raw_send(&a, &frame);
	raw_expect(&b, 0, &frame);
	small.addr = (uintptr_t)b.memory;
	small.lkey = b.mr->lkey;
	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
	raw_send(&a, &frame);
	ck_assert_int_eq(raw_wait(&b).status, IBV_WC_LOC_LEN_ERR);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close_both();
}
END_TEST

/* Senders are paced: what finds a receive is not lost on the way. */
START_TEST(many_frames)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 1000);
	struct ibv_flow *flow;
	uint64_t posted = 0, got = 0;

	open_both(NULL);
	flow = raw_take_all(&b);
	for (uint32_t round = 0; round < 20; round++) {
		while (posted < got + 500)
			raw_post(&b, posted++ % 500);
		for (int i = 0; i < 400; i++)
			ck_assert_int_eq(raw_try_send(&a, frame.p, frame.len, 0), 0);
		for (int i = 0; i < 400; i++)
			ck_assert_int_eq(raw_wait(&a).status, IBV_WC_SUCCESS);
		for (int i = 0; i < 400; i++)
			raw_expect(&b, got++ % 500, &frame);
	}
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close_both();
}
END_TEST

/* Echoes frames until its end of the socket is closed. */
static int limit(struct raw_end *end, uint32_t kbps, uint32_t burst)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps, .max_burst_sz = burst };

	return ibv_modify_qp_rate_limit(end->qp, &attr);
}

/* At 1 kb/s a frame takes twelve seconds. What another queue pair sends meanwhile comes first. */
START_TEST(rate_limit)
{
	const struct raw_build slow = raw_build_datagram(1, 2, 1458),
			       fast = raw_build_datagram(3, 4, 64);
	struct ibv_qp_attr attr = { .rate_limit = 5000 };
	struct ibv_device_attr_ex device;
	struct ibv_qp_init_attr init;
	struct ibv_flow *flow;
	struct raw_end other;

	open_both(NULL);
	raw_open(&other, context, NULL);
	flow = raw_take_all(&b);
	ck_assert_int_eq(ibv_query_device_ex(context, NULL, &device), 0);
	ck_assert_uint_ne(device.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET, 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_RATE_LIMIT), 0);
	attr.rate_limit = 0;
	ck_assert_int_eq(ibv_query_qp(a.qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	ck_assert_uint_eq(attr.rate_limit, 5000);
	ck_assert_int_eq(limit(&a, 0, 1000), EINVAL);
	ck_assert_int_eq(limit(&a, 1, 1), 0);
	for (uint64_t i = 0; i < 4; i++)
		raw_post(&b, i);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(raw_try_send(&a, slow.p, slow.len, 0), 0);
	raw_expect(&b, 0, &slow);
	raw_send(&other, &fast);
	raw_expect(&b, 1, &fast);
	ck_assert_int_eq(limit(&a, 0, 0), 0);
	raw_expect(&b, 2, &slow);
	raw_expect(&b, 3, &slow);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(raw_wait(&a).status, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	raw_close(&other);
	close_both();
}
END_TEST

static void echo(int sock)
{
	const struct raw_build question = raw_build_datagram(1, 1000, 100);
	const struct raw_build answer = raw_build_datagram(1, 2000, 100);
	struct raw_flow flow = raw_port_flow(1000);
	struct ibv_flow *made;

	context = fixture_open();
	raw_open(&b, context, NULL);
	made = raw_create(&b, &flow);
	ck_assert_ptr_nonnull(made);
	raw_post(&b, 0);
	meet(sock);
	for (int i = 0; i < 100; i++) {
		raw_expect(&b, 0, &question);
		raw_post(&b, 0);
		raw_send(&b, &answer);
	}
	ck_assert_int_eq(ibv_destroy_flow(made), 0);
	raw_close(&b);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

START_TEST(two_processes)
{
	const struct raw_build question = raw_build_datagram(1, 1000, 100);
	const struct raw_build answer = raw_build_datagram(1, 2000, 100);
	struct raw_flow flow = raw_port_flow(2000);
	struct ibv_flow *made;
	pid_t pid;
	int sock = beside(echo, &pid);

	context = fixture_open();
	raw_open(&a, context, NULL);
	made = raw_create(&a, &flow);
	raw_post(&a, 0);
	meet(sock);
	for (int i = 0; i < 100; i++) {
		raw_send(&a, &question);
		raw_expect(&a, 0, &answer);
		raw_post(&a, 0);
	}
	join(pid, sock);
	ck_assert_int_eq(ibv_destroy_flow(made), 0);
	raw_close(&a);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

static void listen_and_wait(int sock)
{
	char c;

	context = fixture_open();
	raw_open(&b, context, NULL);
	raw_take_all(&b);
	meet(sock);
	while (recv(sock, &c, 1, 0) == 1)
		;
}

/* The listener is killed: its flows end with it, and frames without a receiver complete. */
START_TEST(killed_listener)
{
	const struct raw_build frame = raw_build_datagram(1, 1000, 100);
	struct ibv_flow *flow;
	pid_t pid;
	int sock = beside(listen_and_wait, &pid), status;

	context = fixture_open();
	raw_open(&a, context, NULL);
	meet(sock);
	for (int i = 0; i < 100; i++)
		raw_send(&a, &frame);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 1000; i++)
		raw_send(&a, &frame);
	raw_open(&b, context, NULL);
	flow = raw_take_all(&b);
	raw_post(&b, 0);
	raw_send(&a, &frame);
	raw_expect(&b, 0, &frame);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	close(sock);
	close_both();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, capabilities);
	tcase_add_test(tests, both_ways);
	tcase_add_test(tests, built_requests);
	tcase_add_test(tests, sizes);
	tcase_add_test(tests, checksums);
	tcase_add_test(tests, vlan_tags);
	tcase_add_test(tests, states);
	tcase_add_test(tests, bad_requests);
	tcase_add_test(tests, receives);
	tcase_add_test(tests, many_frames);
	tcase_add_test(tests, rate_limit);
	tcase_add_test(tests, two_processes);
	tcase_add_test(tests, killed_listener);
}

int main(void)
{
	return fixture_main("verbs_raw", add);
}
