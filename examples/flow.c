// SPDX-License-Identifier: MIT
/* Flow steering: two raw packet queue pairs, one that sends Ethernet frames and one whose flows say
 * which of them it receives. The frames are UDP datagrams over IPv4; the flows look at the
 * destination port. One flow marks what it takes with a tag, one drops, and a default flow takes
 * the rest. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "rc.h"

#define FRAME 60
#define WRS   8

struct end {
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t memory[WRS][FRAME];
};

/* A rule as ibv_create_flow() reads it: attributes, then the specifications. Their sizes leave no
 * gaps. */
struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_tcp_udp udp;
	struct ibv_flow_spec_action_tag tag;
};

struct drop {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_tcp_udp udp;
	struct ibv_flow_spec_action_drop drop;
};

static void to(struct end *end, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	errno = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | mask);
	if (errno)
		die("ibv_modify_qp");
}

static void open_end(struct end *end, struct ibv_pd *pd)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 2 * WRS, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_FLOW_TAG
	};
	struct ibv_qp_init_attr init = { .cap = { WRS, WRS, 1, 1, 0 },
					 .qp_type = IBV_QPT_RAW_PACKET };

	end->cq = ibv_create_cq_ex(pd->context, &cq);
	end->mr = ibv_reg_mr(pd, end->memory, sizeof(end->memory), IBV_ACCESS_LOCAL_WRITE);
	if (!end->cq || !end->mr)
		die("ibv_create_cq_ex or ibv_reg_mr");
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(end->cq);
	end->qp = ibv_create_qp(pd, &init);
	if (!end->qp)
		die("ibv_create_qp");
	to(end, IBV_QPS_INIT, IBV_QP_PORT);
	to(end, IBV_QPS_RTR, 0);
	to(end, IBV_QPS_RTS, 0);
}

static void post_receives(struct end *end)
{
	for (uint64_t i = 0; i < WRS; i++) {
		struct ibv_sge sge = { (uintptr_t)end->memory[i], FRAME, end->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		errno = ibv_post_recv(end->qp, &wr, &bad);
		if (errno)
			die("ibv_post_recv");
	}
}

static struct ibv_flow_spec_tcp_udp to_port(uint16_t port)
{
	return (struct ibv_flow_spec_tcp_udp){ .type = IBV_FLOW_SPEC_UDP,
					       .size = sizeof(struct ibv_flow_spec_tcp_udp),
					       .val = { .dst_port = htons(port) },
					       .mask = { .dst_port = 0xffff } };
}

static void create(struct end *end, struct ibv_flow_attr *attr)
{
	if (!ibv_create_flow(end->qp, attr))
		die("ibv_create_flow");
}

/* Smaller priorities come first; a default flow comes last. */
static void create_flows(struct end *end)
{
	struct rule rule = { { .size = sizeof(rule), .num_of_specs = 2, .port = 1 },
			     to_port(1000),
			     { IBV_FLOW_SPEC_ACTION_TAG, sizeof(rule.tag), 42 } };
	struct drop drop = { { .size = sizeof(drop), .num_of_specs = 2, .port = 1 },
			     to_port(2000),
			     { IBV_FLOW_SPEC_ACTION_DROP, sizeof(drop.drop) } };
	struct ibv_flow_attr rest = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				      .size = sizeof(rest),
				      .port = 1 };

	create(end, &rule.attr);
	create(end, &drop.attr);
	create(end, &rest);
}

/* The device writes the checksums. */
static void send_to(struct end *end, uint16_t port)
{
	static const uint8_t headers[] = {
		2,    0,  0, 0,	 0, 2,	2,    0, 0,  0,	 0, 1, 8,  0, /* Ethernet */
		0x45, 0,  0, 46, 0, 0,	0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, /* IPv4 */
		0,    99, 0, 0,	 0, 26, 0,    0
	}; /* UDP */
	uint8_t *p = end->memory[0];
	struct ibv_sge sge = { (uintptr_t)p, FRAME, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	memcpy(p, headers, sizeof(headers));
	p[36] = (uint8_t)(port >> 8);
	p[37] = (uint8_t)port;
	errno = ibv_post_send(end->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
	while (ibv_poll_cq(ibv_cq_ex_to_cq(end->cq), 1, &wc) == 0)
		;
}

static void receive(struct end *end)
{
	struct ibv_poll_cq_attr none = { 0 };
	const uint8_t *p;

	while (ibv_start_poll(end->cq, &none) == ENOENT)
		;
	p = end->memory[end->cq->wr_id];
	printf("received: %u bytes for port %u, %s, flow tag %u\n", ibv_wc_read_byte_len(end->cq),
	       p[36] << 8 | p[37], ibv_wc_status_str(end->cq->status),
	       ibv_wc_read_flow_tag(end->cq));
	ibv_end_poll(end->cq);
}

int main(void)
{
	static const uint16_t ports[] = { 1000, 2000, 3000 };
	static struct end from, at;
	struct ibv_pd *pd = ibv_alloc_pd(rc_open_device());

	open_end(&from, pd);
	open_end(&at, pd);
	post_receives(&at);
	create_flows(&at);
	for (int i = 0; i < 3; i++) {
		printf("sent: to port %u\n", ports[i]);
		send_to(&from, ports[i]);
	}
	receive(&at);
	receive(&at);
	return 0;
}
