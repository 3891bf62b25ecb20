// SPDX-License-Identifier: MIT
/* Flow steering, work queues and receive side scaling (ibv_create_flow(3), ibv_create_wq(3),
 * ibv_create_rwq_ind_table(3)). */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "raw_fixture.h"

#define INNER IBV_FLOW_SPEC_INNER

static struct ibv_context *context;
static struct raw_end a, b;

static void setup(void)
{
	context = fixture_open();
	raw_open(&a, context, NULL);
	raw_open(&b, context, NULL);
}

static void teardown(void)
{
	raw_close(&a);
	raw_close(&b);
	ck_assert_int_eq(ibv_close_device(context), 0);
}

/* Whether b's flow takes the frame. A second flow takes a marker that follows it. */
static bool takes(struct raw_flow *flow, const struct raw_build *frame)
{
	const struct raw_build marker = raw_build_datagram(1, 60000, 64);
	struct raw_flow for_marker = raw_port_flow(60000);
	struct ibv_flow *first = raw_create(&b, flow), *last = raw_create(&b, &for_marker);
	struct raw_wc wc;
	bool taken;

	ck_assert_msg(first && last, "ibv_create_flow: %s", strerror(errno));
	raw_post(&b, 0);
	raw_post(&b, 1);
	raw_send(&a, frame);
	raw_send(&a, &marker);
	wc = raw_wait(&b);
	taken = wc.byte_len != marker.len || memcmp(b.memory, marker.p, marker.len) != 0;
	if (taken) {
		ck_assert_mem_eq(b.memory, frame->p, frame->len);
		raw_expect(&b, 1, &marker);
	}
	ck_assert_int_eq(ibv_destroy_flow(first), 0);
	ck_assert_int_eq(ibv_destroy_flow(last), 0);
	if (!taken) {
		/* the second receive is still there */
		last = raw_take_all(&b);
		raw_send(&a, &marker);
		raw_expect(&b, 1, &marker);
		ck_assert_int_eq(ibv_destroy_flow(last), 0);
	}
	return taken;
}

/* A flow of one specification takes the frame, and with one bit of the value turned does not. */
static void expect_spec(void *spec, uint16_t size, size_t bit_at, const struct raw_build *frame)
{
	struct raw_flow flow = raw_flow(IBV_FLOW_ATTR_NORMAL);

	raw_spec(&flow, spec, size);
	ck_assert(takes(&flow, frame));
	flow.specs[bit_at] ^= 1;
	ck_assert(!takes(&flow, frame));
}

#define EXPECT_SPEC(spec, member, frame)                                                           \
	expect_spec(&(spec), sizeof(spec), offsetof(__typeof__(spec), val.member), frame)

START_TEST(ethernet)
{
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(eth),
		.val = { .dst_mac = { 2, 0, 0, 0, 0, 2 },
			 .src_mac = { 2, 0, 0, 0, 0, 1 },
			 .ether_type = htons(0x0800) },
		.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 },
			  .src_mac = { 255, 255, 255, 255, 255, 255 },
			  .ether_type = 0xffff },
	};
	struct raw_build frame = raw_build_datagram(1, 2, 64);

	EXPECT_SPEC(eth, dst_mac[5], &frame);
	EXPECT_SPEC(eth, src_mac[0], &frame);
	EXPECT_SPEC(eth, ether_type, &frame);
	eth.mask.vlan_tag = htons(0xfff);
	eth.val.vlan_tag = htons(0x123);
	raw_build_tag(&frame, 0x6123);
	EXPECT_SPEC(eth, vlan_tag, &frame);
}
END_TEST

START_TEST(ipv4)
{
	struct ibv_flow_spec_ipv4 ip = {
		.type = IBV_FLOW_SPEC_IPV4,
		.size = sizeof(ip),
		.val = { htonl(0x0a000001), htonl(0x0a000002) },
		.mask = { UINT32_MAX, UINT32_MAX },
	};
	struct ibv_flow_spec_ipv4_ext ext = {
		.type = IBV_FLOW_SPEC_IPV4_EXT,
		.size = sizeof(ext),
		.val = { htonl(0x0a000001), htonl(0x0a000002), 17, 0, 64, 2 },
		.mask = { UINT32_MAX, UINT32_MAX, 255, 255, 255, 255 },
	};
	const struct raw_build frame = raw_build_datagram(1, 2, 64);

	EXPECT_SPEC(ip, src_ip, &frame);
	EXPECT_SPEC(ip, dst_ip, &frame);
	EXPECT_SPEC(ext, dst_ip, &frame);
	EXPECT_SPEC(ext, proto, &frame);
	EXPECT_SPEC(ext, tos, &frame);
	EXPECT_SPEC(ext, ttl, &frame);
	EXPECT_SPEC(ext, flags, &frame);
}
END_TEST

START_TEST(ipv6_and_ports)
{
	struct ibv_flow_spec_ipv6 ip = {
		.type = IBV_FLOW_SPEC_IPV6,
		.size = sizeof(ip),
		.val = { .src_ip = { 0xfe, 0x80, [15] = 1 },
			 .dst_ip = { 0xfe, 0x80, [15] = 2 },
			 .next_hdr = 6,
			 .hop_limit = 64 },
	};
	struct ibv_flow_spec_tcp_udp tcp = {
		.type = IBV_FLOW_SPEC_TCP,
		.size = sizeof(tcp),
		.val = { htons(200), htons(100) },
		.mask = { 0xffff, 0xffff },
	};
	struct raw_build frame = { .len = 0 };

	memset(&ip.mask, 0xff, sizeof(ip.mask));
	raw_build_eth(&frame, 2, 1, 0x86dd);
	raw_build_ipv6(&frame, "fe80::1", "fe80::2", 6, 20);
	raw_build_tcp(&frame, 100, 200);
	EXPECT_SPEC(ip, src_ip[15], &frame);
	EXPECT_SPEC(ip, dst_ip[0], &frame);
	EXPECT_SPEC(ip, flow_label, &frame);
	EXPECT_SPEC(ip, next_hdr, &frame);
	EXPECT_SPEC(ip, traffic_class, &frame);
	EXPECT_SPEC(ip, hop_limit, &frame);
	EXPECT_SPEC(tcp, dst_port, &frame);
	EXPECT_SPEC(tcp, src_port, &frame);
	frame = raw_build_datagram(100, 200, 64);
	tcp.type = IBV_FLOW_SPEC_UDP;
	EXPECT_SPEC(tcp, dst_port, &frame);
	EXPECT_SPEC(tcp, src_port, &frame);
}
END_TEST

static struct raw_build vxlan(void)
{
	const struct raw_build inner = raw_build_datagram(3, 4, 20);
	struct raw_build frame = { .len = 0 };
	uint8_t *p;

	raw_build_eth(&frame, 9, 8, 0x0800);
	raw_build_ipv4(&frame, "192.0.2.1", "192.0.2.2", 17, 16 + inner.len);
	raw_build_udp(&frame, 1111, 4789, 8 + inner.len);
	p = raw_build_add(&frame, 8);
	p[0] = 8;
	p[6] = 77;
	memcpy(raw_build_add(&frame, inner.len), inner.p, inner.len);
	return frame;
}

/* GRE with a key, and an MPLS label in it. */
static struct raw_build gre(void)
{
	struct raw_build frame = { .len = 0 };
	uint8_t *p;

	raw_build_eth(&frame, 9, 8, 0x0800);
	raw_build_ipv4(&frame, "192.0.2.1", "192.0.2.2", 47, 12 + 28);
	p = raw_build_add(&frame, 12);
	raw_build_put16(p, 0x2000);
	raw_build_put16(p + 2, 0x8847);
	p[7] = 5;
	p[9] = 0x4d;
	p[10] = 1;
	raw_build_ipv4(&frame, "10.0.0.1", "10.0.0.2", 17, 8);
	raw_build_udp(&frame, 3, 4, 0);
	return frame;
}

START_TEST(tunnels)
{
	struct ibv_flow_spec_tunnel tunnel = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL,
					       .size = sizeof(tunnel),
					       .val = { htonl(77) },
					       .mask = { UINT32_MAX } };
	struct ibv_flow_spec_tcp_udp inner = { .type = IBV_FLOW_SPEC_UDP | INNER,
					       .size = sizeof(inner),
					       .val = { .dst_port = htons(4) },
					       .mask = { .dst_port = 0xffff } };
	struct ibv_flow_spec_gre key = { .type = IBV_FLOW_SPEC_GRE,
					 .size = sizeof(key),
					 .val = { htons(0x2000), htons(0x8847), htonl(5) },
					 .mask = { 0xffff, 0xffff, UINT32_MAX } };
	struct ibv_flow_spec_mpls label = { .type = IBV_FLOW_SPEC_MPLS,
					    .size = sizeof(label),
					    .val = { htonl(0x4d0u << 12) },
					    .mask = { htonl(0xfffff000) } };
	const struct raw_build in_vxlan = vxlan(), in_gre = gre();

	EXPECT_SPEC(tunnel, tunnel_id, &in_vxlan);
	EXPECT_SPEC(inner, dst_port, &in_vxlan);
	EXPECT_SPEC(inner, dst_port, &in_gre);
	EXPECT_SPEC(key, key, &in_gre);
	EXPECT_SPEC(key, protocol, &in_gre);
	EXPECT_SPEC(label, label, &in_gre);
}
END_TEST

static struct ibv_flow *make(struct raw_end *end, uint16_t port, uint16_t priority, uint32_t tag,
			     uint32_t flags)
{
	struct raw_flow flow = raw_port_flow(port);
	const struct ibv_flow_spec_action_tag action = { IBV_FLOW_SPEC_ACTION_TAG, sizeof(action),
							 tag };
	struct ibv_flow *made;

	flow.attr.priority = priority;
	flow.attr.flags = flags;
	raw_spec(&flow, &action, sizeof(action));
	made = raw_create(end, &flow);
	ck_assert_ptr_nonnull(made);
	return made;
}

START_TEST(priorities_and_tags)
{
	const struct ibv_flow_spec_action_drop action = { IBV_FLOW_SPEC_ACTION_DROP,
							  sizeof(action) };
	const struct raw_build frame = raw_build_datagram(1, 7, 64);
	const struct raw_build other = raw_build_datagram(1, 8, 64);
	struct raw_flow drop = raw_port_flow(7), all = raw_flow(IBV_FLOW_ATTR_SNIFFER);
	struct ibv_flow *flows[6];

	flows[0] = raw_take_all(&b);
	flows[1] = make(&b, 7, 3, 0x111111, 0);
	for (uint64_t i = 0; i < 8; i++)
		raw_post(&b, i);
	raw_send(&a, &frame);
	ck_assert_uint_eq(raw_expect(&b, 0, &frame).flow_tag, 0x111111);
	flows[2] = make(&b, 7, 2, 0x222222, 0);
	raw_send(&a, &frame);
	ck_assert_uint_eq(raw_expect(&b, 1, &frame).flow_tag, 0x222222);
	flows[3] = make(&b, 7, 1, 0x333333, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	raw_send(&a, &frame);
	ck_assert_uint_eq(raw_expect(&b, 2, &frame).flow_tag, 0x333333);
	ck_assert_uint_eq(raw_expect(&b, 3, &frame).flow_tag, 0x222222);
	raw_spec(&drop, &action, sizeof(action));
	flows[4] = raw_create(&b, &drop);
	ck_assert_ptr_nonnull(flows[4]);
	raw_send(&a, &frame); /* dropped */
	raw_send(&a, &other);
	raw_expect(&b, 4, &other);
	flows[5] = raw_create(&b, &all);
	raw_send(&a, &frame); /* the sniffer's */
	ck_assert_uint_eq(raw_expect(&b, 5, &frame).flow_tag, 0);
	for (int i = 5; i > 2; i--)
		ck_assert_int_eq(ibv_destroy_flow(flows[i]), 0);
	raw_send(&a, &frame);
	ck_assert_uint_eq(raw_expect(&b, 6, &frame).flow_tag, 0x222222);
	for (int i = 2; i >= 0; i--)
		ck_assert_int_eq(ibv_destroy_flow(flows[i]), 0);
}
END_TEST

START_TEST(default_flows)
{
	struct raw_flow multicast = raw_flow(IBV_FLOW_ATTR_MC_DEFAULT);
	struct raw_flow own = raw_flow(IBV_FLOW_ATTR_ALL_DEFAULT);
	struct raw_build frame = raw_build_datagram(1, 7, 64), group = frame;
	struct ibv_flow *flow;

	group.p[0] = 1;
	ck_assert(takes(&multicast, &group));
	ck_assert(!takes(&multicast, &frame));
	ck_assert(takes(&own, &frame));
	/* What a queue pair sends comes back only where it asked for that. */
	own.attr.flags = 1;
	flow = raw_create(&a, &own);
	raw_post(&a, 0);
	ck_assert_int_eq(raw_try_send(&a, frame.p, frame.len, 0), 0);
	/* The receive and the send, in either order. */
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(raw_wait(&a).status, IBV_WC_SUCCESS);
	ck_assert_mem_eq(a.memory, frame.p, frame.len);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
}
END_TEST

static void refused(struct raw_end *end, const struct raw_flow *flow, int err)
{
	struct raw_flow copy = *flow;

	errno = 0;
	ck_assert_ptr_null(raw_create(end, &copy));
	ck_assert_int_eq(errno, err);
}

START_TEST(bad_flows)
{
	struct ibv_flow_spec_ipv6 ip = { .type = IBV_FLOW_SPEC_IPV6, .size = sizeof(ip) };
	struct ibv_flow_spec_tcp_udp tcp = { .type = IBV_FLOW_SPEC_TCP, .size = sizeof(tcp) };
	struct ibv_flow_spec_tunnel tunnel = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL | INNER,
					       .size = sizeof(tunnel) };
	struct ibv_flow_spec_action_handle esp = { .type = IBV_FLOW_SPEC_ACTION_HANDLE,
						   .size = sizeof(esp) };
	struct raw_flow flow = raw_port_flow(1), other = flow;

	raw_spec(&other, &tcp, sizeof(tcp));
	refused(&a, &other, EINVAL);
	other = flow;
	raw_spec(&other, &tunnel, sizeof(tunnel));
	refused(&a, &other, EINVAL);
	other = flow;
	raw_spec(&other, &esp, sizeof(esp));
	refused(&a, &other, EOPNOTSUPP);
	other = flow;
	ip.size--;
	raw_spec(&other, &ip, sizeof(ip));
	refused(&a, &other, EINVAL);
	other = flow;
	other.specs[0] ^= 0x80;
	refused(&a, &other, EINVAL);
	for (int type = 1; type < 4; type++) {
		other = flow;
		other.attr.type = (enum ibv_flow_attr_type)type;
		refused(&a, &other, EINVAL);
		other = raw_flow((enum ibv_flow_attr_type)type);
		other.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
		refused(&a, &other, EINVAL);
	}
	other = flow;
	other.attr.type = (enum ibv_flow_attr_type)4;
	refused(&a, &other, EINVAL);
	other = flow;
	other.attr.port = 2;
	refused(&a, &other, EINVAL);
	other = flow;
	other.attr.flags = 8;
	refused(&a, &other, EINVAL);
	other.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	refused(&a, &other, EOPNOTSUPP);
	other = flow;
	other.attr.comp_mask = 1;
	refused(&a, &other, EINVAL);
}
END_TEST

START_TEST(flows_of_other_queue_pairs)
{
	struct end_cfg rc = { .type = IBV_QPT_RC }, ud = { .type = IBV_QPT_UD };
	struct raw_flow flow = raw_port_flow(1);
	struct ibv_flow *made;
	struct end end;

	end_open(&end, context, &rc);
	errno = 0;
	ck_assert_ptr_null(ibv_create_flow(end.qp, &flow.attr));
	ck_assert_int_eq(errno, EINVAL);
	end_close(&end);
	end_open(&end, context, &ud);
	ck_assert_ptr_null(ibv_create_flow(end.qp, &flow.attr));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	end_close(&end);
	made = raw_create(&a, &flow);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), EBUSY);
	ck_assert_int_eq(errno, EBUSY);
	ck_assert_int_eq(ibv_destroy_flow(made), 0);
}
END_TEST

/* The context frees what the program left. */
START_TEST(left_behind)
{
	struct ibv_context *other = fixture_open();
	struct raw_end end;

	raw_open(&end, other, NULL);
	raw_take_all(&end);
	raw_take_all(&end);
	ck_assert_int_eq(ibv_close_device(other), 0);
	free(end.memory);
}
END_TEST

/* Work queues */

static struct ibv_wq *make_wq(struct raw_end *end, uint32_t max_wr)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ,
					 .max_wr = max_wr,
					 .max_sge = 1,
					 .pd = end->pd,
					 .cq = ibv_cq_ex_to_cq(end->cq) };
	struct ibv_wq *wq = ibv_create_wq(end->context, &init);

	ck_assert_ptr_nonnull(wq);
	ck_assert_uint_ge(init.max_wr, max_wr);
	return wq;
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

START_TEST(states_of_a_work_queue)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
				    .wq_state = IBV_WQS_RDY,
				    .curr_wq_state = IBV_WQS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_wq *wq = make_wq(&a, 4);

	ck_assert_int_eq(wq->state, IBV_WQS_RESET);
	ck_assert_int_eq(ibv_post_wq_recv(wq, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	ck_assert_int_eq(ibv_modify_wq(wq, &attr), EINVAL);
	ck_assert_int_eq(wq_to(wq, IBV_WQS_ERR), EINVAL);
	attr.curr_wq_state = IBV_WQS_RESET;
	ck_assert_int_eq(ibv_modify_wq(wq, &attr), 0);
	ck_assert_int_eq(wq->state, IBV_WQS_RDY);
	raw_post_wq(&a, wq, 1);
	raw_post_wq(&a, wq, 2);
	ck_assert_int_eq(wq_to(wq, IBV_WQS_ERR), 0);
	for (uint64_t i = 1; i < 3; i++) {
		const struct raw_wc wc = raw_wait(&a);

		ck_assert_int_eq(wc.status, IBV_WC_WR_FLUSH_ERR);
		ck_assert_uint_eq(wc.wr_id, i);
		ck_assert_uint_eq(wc.qp_num, wq->wq_num);
	}
	ck_assert_int_eq(wq_to(wq, IBV_WQS_RDY), EINVAL);
	ck_assert_int_eq(wq_to(wq, IBV_WQS_RESET), 0);
	ck_assert_int_eq(wq_to(wq, IBV_WQS_RDY), 0);
	for (uint64_t i = 0; i < 4; i++)
		raw_post_wq(&a, wq, i);
	ck_assert_int_eq(ibv_post_wq_recv(wq, &wr, &bad), ENOMEM);
	ck_assert_int_eq(wq_to(wq, IBV_WQS_RESET), 0);
	ck_assert_int_eq(ibv_destroy_wq(wq), 0);
}
END_TEST

static const uint8_t microsoft[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static struct ibv_rwq_ind_table *make_table(struct ibv_wq **wqs, uint32_t log)
{
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = log, .ind_tbl = wqs };
	struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(context, &init);

	ck_assert_ptr_nonnull(table);
	return table;
}

static struct ibv_qp_init_attr_ex rss_attr(struct ibv_rwq_ind_table *table, uint8_t *key,
					   uint64_t fields)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = b.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = 40,
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = fields },
	};
}

/* Frames whose hashes Microsoft publishes reach the queue that the hash names. */
START_TEST(receive_side_scaling)
{
	static const struct {
		const char *src, *dst;
		uint16_t src_port, dst_port;
		uint32_t hash;
	} vectors[] = { { "66.9.149.187", "161.142.100.80", 2794, 1766, 0x51ccc178 },
			{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xc626b0ea },
			{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0x5c2b394a },
			{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0xafc7327f },
			{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x10e828a2 } };
	uint8_t key[40];
	struct ibv_wq *wqs[16];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;
	struct raw_end rss = b;
	struct ibv_flow *flow;

	memcpy(key, microsoft, sizeof(key));
	for (uint64_t i = 0; i < 16; i++) {
		wqs[i] = make_wq(&b, 8);
		ck_assert_int_eq(wq_to(wqs[i], IBV_WQS_RDY), 0);
		for (uint64_t k = 0; k < 8; k++)
			raw_post_wq(&b, wqs[i], i * 8 + k);
	}
	table = make_table(wqs, 4);
	attr = rss_attr(table, key,
			IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_TCP |
				IBV_RX_HASH_DST_PORT_TCP);
	rss.qp = ibv_create_qp_ex(context, &attr);
	ck_assert_msg(rss.qp, "ibv_create_qp_ex: %s", strerror(errno));
	memset(key, 0, sizeof(key));
	flow = raw_take_all(&rss);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct raw_build frame = { .len = 0 };
		struct raw_wc wc;

		raw_build_eth(&frame, 2, 1, 0x0800);
		raw_build_ipv4(&frame, vectors[i].src, vectors[i].dst, 6, 20);
		raw_build_tcp(&frame, vectors[i].src_port, vectors[i].dst_port);
		raw_send(&a, &frame);
		wc = raw_wait(&b);
		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		ck_assert_uint_eq(wc.wr_id / 8, vectors[i].hash & 15);
		ck_assert_uint_eq(wc.qp_num, wqs[vectors[i].hash & 15]->wq_num);
	}
	/* EBUSY from the bottom up */
	ck_assert_int_eq(ibv_destroy_wq(wqs[0]), EBUSY);
	ck_assert_int_eq(ibv_destroy_rwq_ind_table(table), EBUSY);
	ck_assert_int_eq(ibv_destroy_qp(rss.qp), EBUSY);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	ck_assert_int_eq(ibv_destroy_qp(rss.qp), 0);
	ck_assert_int_eq(ibv_destroy_wq(wqs[0]), EBUSY);
	ck_assert_int_eq(ibv_destroy_rwq_ind_table(table), 0);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(ibv_destroy_wq(wqs[i]), 0);
}
END_TEST

static void rss_refused(struct ibv_qp_init_attr_ex attr, int err)
{
	errno = 0;
	ck_assert_ptr_null(ibv_create_qp_ex(context, &attr));
	ck_assert_int_eq(errno, err);
}

START_TEST(bad_scaling)
{
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 0 };
	struct ibv_wq_init_attr queue = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1 };
	uint8_t key[40] = { 0 };
	struct ibv_wq *wqs[2] = { make_wq(&b, 1), NULL };
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_init_attr got;
	struct ibv_qp_attr state = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp;

	ck_assert_ptr_null(ibv_create_wq(context, &queue));
	ck_assert_int_eq(errno, EINVAL);
	queue.pd = b.pd;
	queue.cq = ibv_cq_ex_to_cq(b.cq);
	queue.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	queue.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
	ck_assert_ptr_null(ibv_create_wq(context, &queue));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_ptr_null(ibv_create_rwq_ind_table(context, &init));
	ck_assert_int_eq(errno, EINVAL);
	init.ind_tbl = wqs;
	init.log_ind_tbl_size = 1;
	ck_assert_ptr_null(ibv_create_rwq_ind_table(context, &init));
	init.log_ind_tbl_size = 31;
	ck_assert_ptr_null(ibv_create_rwq_ind_table(context, &init));
	table = make_table(wqs, 0);
	attr = rss_attr(table, key, 0);
	attr.rx_hash_conf.rx_hash_key_len = 39;
	rss_refused(attr, EINVAL);
	attr = rss_attr(table, key, IBV_RX_HASH_IPSEC_SPI);
	rss_refused(attr, EOPNOTSUPP);
	attr = rss_attr(table, key, 0);
	attr.rx_hash_conf.rx_hash_function = 2;
	rss_refused(attr, EOPNOTSUPP);
	attr = rss_attr(table, key, 0);
	attr.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_RX_HASH;
	rss_refused(attr, EINVAL);
	attr = rss_attr(table, key, 0);
	attr.cap.max_recv_wr = 1;
	rss_refused(attr, EINVAL);
	attr = rss_attr(table, key, 0);
	attr.qp_type = IBV_QPT_UD;
	rss_refused(attr, EOPNOTSUPP);
	attr = rss_attr(table, key, 0);
	qp = ibv_create_qp_ex(context, &attr);
	ck_assert_ptr_nonnull(qp);
	ck_assert_int_eq(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PORT), EOPNOTSUPP);
	ck_assert_int_eq(ibv_query_qp(qp, &state, IBV_QP_STATE, &got), EOPNOTSUPP);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_rwq_ind_table(table), 0);
	ck_assert_int_eq(ibv_destroy_wq(wqs[0]), 0);
}
END_TEST

/* The CQ of a work queue overruns: WQ_FATAL, and the queue pair of the same process goes on. */
START_TEST(fatal_work_queue)
{
	const struct raw_build frame = raw_build_datagram(1, 2, 64);
	struct ibv_cq *small = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = b.pd, .cq = small
	};
	struct ibv_wq *wq = ibv_create_wq(context, &init);
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_async_event event;
	uint8_t key[40] = { 0 };
	struct raw_end rss = b;
	struct ibv_flow *flow;

	ck_assert(small && wq);
	ck_assert_int_eq(wq_to(wq, IBV_WQS_RDY), 0);
	table = make_table(&wq, 0);
	attr = rss_attr(table, key, 0);
	rss.qp = ibv_create_qp_ex(context, &attr);
	flow = raw_take_all(&rss);
	for (uint64_t i = 0; i < 8; i++)
		raw_post_wq(&b, wq, i);
	for (int i = 0; i < 8; i++)
		raw_send(&a, &frame);
	expect_event(context, IBV_EVENT_CQ_ERR);
	ck_assert_int_eq(ibv_get_async_event(context, &event), 0);
	ck_assert_int_eq(event.event_type, IBV_EVENT_WQ_FATAL);
	ck_assert_ptr_eq(event.element.wq, wq);
	ibv_ack_async_event(&event);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
	ck_assert_int_eq(ibv_destroy_qp(rss.qp), 0);
	ck_assert_int_eq(ibv_destroy_rwq_ind_table(table), 0);
	ck_assert_int_eq(ibv_destroy_wq(wq), 0);
	ck_assert_int_eq(ibv_destroy_cq(small), 0);
	flow = raw_take_all(&b);
	raw_post(&b, 0);
	raw_send(&a, &frame);
	raw_expect(&b, 0, &frame);
	ck_assert_int_eq(ibv_destroy_flow(flow), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, ethernet);
	tcase_add_test(tests, ipv4);
	tcase_add_test(tests, ipv6_and_ports);
	tcase_add_test(tests, tunnels);
	tcase_add_test(tests, priorities_and_tags);
	tcase_add_test(tests, default_flows);
	tcase_add_test(tests, bad_flows);
	tcase_add_test(tests, flows_of_other_queue_pairs);
	tcase_add_test(tests, left_behind);
	tcase_add_test(tests, states_of_a_work_queue);
	tcase_add_test(tests, receive_side_scaling);
	tcase_add_test(tests, bad_scaling);
	tcase_add_test(tests, fatal_work_queue);
}

int main(void)
{
	return fixture_main("verbs_flow", add);
}
