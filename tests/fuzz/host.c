/* SPDX-License-Identifier: MIT */
/* The host under attack: set up, posted to, and taken down, after which no posted request may be
 * left. */
#include "tests/fuzz/host.h"

#include "net/wire/opcode.h"
#include "tests/fuzz/host_memory.h"
#include "tests/qp_required.h"

#define LARGE_CQE 4096u
#define SMALL_CQE 3u
#define SRQ_WRS	  16u

static struct gid gid_of(bool v6, uint8_t host)
{
	if (v6)
		return (struct gid){ { 0xfd, [15] = host } };
	return (struct gid){ { [10] = 0xff, 0xff, 10, 0, 0, host } };
}

struct host_setup host_take_setup(struct take *take, enum rxe_qp_state state)
{
	const uint8_t flags = take_u8(take), sizes = take_u8(take), retries = take_u8(take);
	const uint8_t timers = take_u8(take);

	return (struct host_setup){
		.small_cq = (flags & 0x1f) == 0x1f,
		.any_id = flags & 0x20,
		.v6 = flags & 0x40,
		.trains_off = flags & 0x80,
		.hold = (flags & 0x18) == 0x18,
		.mtu = 256u << sizes % 5,
		.rd_atomic = sizes >> 4 ? sizes >> 4 : 16,
		.retry_cnt = retries & 7,
		.rnr_retry = retries >> 4 & 7,
		.timeout = timers & 0xf,
		.rnr_timer = timers >> 4,
		.rq_psn = (uint32_t)take_bytes(take, 3),
		.sq_psn = (uint32_t)take_bytes(take, 3),
		.state = state,
	};
}

static void *zeros(size_t len)
{
	void *p = calloc(1, len ? len : 1);

	MUST(p);
	return p;
}

/* As a driver does: an XRC target has no domain and no completion queues, its SRQ has them. */
void host_add_qp(struct host *host, enum host_qp_name name, uint32_t qpn)
{
	static const enum rxe_qp_type types[HOST_QPS] = { RXE_QPT_RC,	    RXE_QPT_RC,
							  RXE_QPT_UC,	    RXE_QPT_UD,
							  RXE_QPT_XRC_SEND, RXE_QPT_XRC_RECV };
	const enum rxe_qp_type type = types[name];
	const bool is_target = type == RXE_QPT_XRC_RECV;
	const bool has_recvs = name != QP_RC_SRQ && type != RXE_QPT_XRC_SEND && !is_target;
	struct host_qp *q = &host->qp[name];
	struct rxe_qp_init init = {
		.qpn = qpn,
		.type = type,
		.pd = is_target ? 0 : HOST_PD,
		.xrcd = is_target ? HOST_XRCD : 0,
		.send_cq = is_target ? NULL : &host->cq,
		.recv_cq = is_target ? NULL : &host->cq,
		.srq = name == QP_RC_SRQ ? &host->srq : NULL,
		.max_send_wr = is_target ? 0 : HOST_WRS,
		.max_send_sge = HOST_SGES,
		.max_inline_data = HOST_INLINE,
		.max_recv_wr = has_recvs ? HOST_WRS : 0,
		.max_recv_sge = HOST_SGES,
		.owner = q,
	};

	q->peer_qpn = 0x20100 + name;
	init.sq_mem = q->sq_mem =
		zeros(rxe_ring_bytes(HOST_WRS, rxe_send_stride(HOST_SGES, HOST_INLINE)));
	init.rq_mem = q->rq_mem =
		zeros(rxe_ring_bytes(init.max_recv_wr, rxe_recv_stride(HOST_SGES)));
	rxe_qp_init(&host->engine, &q->qp, &init);
	if (type == RXE_QPT_UD)
		MUST(rxe_mcast_attach(&host->engine, &q->qp, &host->group) == MCAST_FIRST);
}

static struct rxe_qp_attr attr_for(const struct host *host, const struct host_qp *q,
				   enum rxe_qp_state to, const struct host_setup *setup)
{
	return (struct rxe_qp_attr){
		.qp_state = to,
		.path_mtu = setup->mtu,
		.qkey = 0x11223344,
		.rq_psn = setup->rq_psn,
		.sq_psn = setup->sq_psn,
		.dest_qp_num = q->peer_qpn,
		.qp_access_flags = RXE_REMOTE_WRITE | RXE_REMOTE_READ | RXE_REMOTE_ATOMIC |
				   RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT,
		.has_grh = true,
		.av = { .dgid = host->peer, .hop_limit = 64 },
		.max_rd_atomic = setup->rd_atomic,
		.max_dest_rd_atomic = setup->rd_atomic,
		.min_rnr_timer = setup->rnr_timer,
		.port_num = 1,
		.timeout = setup->timeout,
		.retry_cnt = setup->retry_cnt,
		.rnr_retry = setup->rnr_retry,
	};
}

void host_forget(struct host *host, enum host_qp_name name)
{
	for (uint32_t i = 0; i < HOST_SLOTS; i++) {
		if (host->recv[i].queue == name)
			host->recv[i].open = false;
		if (host->result[i].queue == name)
			host->result[i].open = false;
	}
	host->qp[name].sends_done = host->qp[name].sends;
	memset(host->result_of[name], 0, sizeof(host->result_of[name]));
}

void host_modify(struct host *host, enum host_qp_name name, enum rxe_qp_state to,
		 const struct host_setup *setup)
{
	struct host_qp *q = &host->qp[name];
	const struct rxe_qp_attr attr = attr_for(host, q, to, setup);
	uint32_t mask = qp_required(q->qp.type, to);

	if (q->time_wait.is_destroyed)
		return;
	/* SQD and SQE return to RTS without new attributes. */
	if (to == RXE_QPS_RTS && q->qp.state != RXE_QPS_RTR)
		mask = RXE_QP_STATE;
	if (rxe_qp_modify(&host->engine, &q->qp, &attr, mask, host->now_ns) != MODIFY_OK)
		return;
	if (to == RXE_QPS_RESET) {
		rxe_cq_clean(&host->cq, q->qp.qpn); /* the driver's part of RESET */
		host_forget(host, name);
		q->atomics = 0;
	}
	if (to == RXE_QPS_RESET || to == RXE_QPS_RTS)
		q->failed = false;
	rxe_engine_settle(&host->engine);
	host_poll(host);
}

void host_connect(struct host *host, enum host_qp_name name, const struct host_setup *setup)
{
	for (uint32_t s = RXE_QPS_INIT; s <= (uint32_t)setup->state; s++)
		host_modify(host, name, (enum rxe_qp_state)s, setup);
}

/* A table that is used again must not show earlier records. */
static struct rxe_time_wait_table *empty_table(void)
{
	static struct rxe_time_wait_table table;

	memset(&table, 0, sizeof(table));
	return &table;
}

struct host *host_new(const struct host_setup *setup)
{
	/* One host exists at a time. */
	static struct rxe_held held[RXE_HOLD_PACKETS];
	const uint32_t cqe = setup->small_cq ? SMALL_CQE : LARGE_CQE;
	struct host *host = zeros(sizeof(*host));
	struct rxe_engine_cfg cfg = { .ops = &memory_ops,
				      .host = host,
				      .counters = &host->counters,
				      .slot = 1,
				      .tx_ports = { HOST_PORT, HOST_PORT + 1 },
				      .num_tx_ports = 2,
				      .max_mtu = 4096,
				      .ack_delay_ns = setup->hold ? 20000 : 0,
				      .probe_ns = setup->hold ? 500000 : 0,
				      .held = setup->hold ? held : NULL };

	host->self = cfg.gids[0] = gid_of(setup->v6, 1);
	host->peer = gid_of(setup->v6, 2);
	host->group = setup->v6 ? (struct gid){ { 0xff, 0x0e, [15] = 9 } }
				: (struct gid){ { [10] = 0xff, 0xff, 239, 0, 0, 9 } };
	host->is_small = setup->small_cq;
	host->max_segs = setup->trains_off ? 1 : TRAIN_MAX_SEGS;
	host->id_rule = setup->any_id ? IP_ID_ANY : IP_ID_EXACT;
	host->now_ns = 1000000;
	memory_new(host);
	cfg.mrs = host->mrs;
	cfg.mws.first = host->mws;
	cfg.time_wait = host->time_wait = empty_table();
	rxe_engine_init(&host->engine, &cfg);
	host->cq_mem = zeros(rxe_cq_ring_bytes(cqe));
	rxe_cq_init(&host->cq, host->cq_mem, cqe, NULL);
	(void)rxe_cq_arm(&host->cq, RXE_CQ_ARM_ANY);
	host->srq_mem = zeros(rxe_ring_bytes(SRQ_WRS, rxe_recv_stride(HOST_SGES)));
	rxe_srq_init(&host->srq, HOST_PD, host->srq_mem, SRQ_WRS, HOST_SGES, NULL);
	host->xsrq_mem = zeros(rxe_ring_bytes(SRQ_WRS, rxe_recv_stride(HOST_SGES)));
	rxe_srq_init(&host->xsrq, HOST_PD, host->xsrq_mem, SRQ_WRS, HOST_SGES, NULL);
	rxe_srq_name(&host->engine, &host->xsrq, rxe_engine_alloc_srqn(&host->engine), HOST_XRCD,
		     &host->cq);
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		host_add_qp(host, (enum host_qp_name)i, rxe_engine_alloc_qpn(&host->engine));
		host_connect(host, (enum host_qp_name)i, setup);
		MUST(host->qp[i].qp.state == setup->state);
	}
	memory_open_window(host, &host->qp[QP_RC].qp);
	return host;
}

static struct host_slot *free_slot(struct host_slot *slots)
{
	for (uint32_t i = 0; i < HOST_SLOTS; i++) {
		if (!slots[i].open)
			return &slots[i];
	}
	return NULL;
}

void host_recv(struct host *host, enum host_qp_name name, uint32_t len, uint32_t pieces)
{
	struct host_slot *slot = free_slot(host->recv);
	struct rxe_sge sges[HOST_SGES];
	struct rxe_recv_wr wr = { .num_sge = 1 + pieces % HOST_SGES, .sges = sges };
	enum post_result result;
	uint32_t at = 0;

	if (!slot || host->qp[name].time_wait.is_destroyed)
		return;
	len %= HOST_SLOT + 1;
	for (uint32_t i = 0; i < wr.num_sge; i++) {
		const uint32_t part = i + 1 == wr.num_sge ? len - at : len / wr.num_sge;

		sges[i] = (struct rxe_sge){ host_iova(REGION_RECEIVES) +
						    (uint64_t)(slot - host->recv) * HOST_SLOT + at,
					    part, host_key(REGION_RECEIVES) };
		at += part;
	}
	wr.wr_id = (uint64_t)(slot - host->recv);
	*slot = (struct host_slot){ true, (uint8_t)name, len, ++host->posted, 0 };
	if (name == QP_RC_SRQ) {
		slot->queue = HOST_QPS;
		result = rxe_post_srq_recv(&host->engine, &host->srq, &wr);
	} else if (name == QP_XRC_RECV) {
		slot->queue = HOST_QUEUE_XRC;
		result = rxe_post_srq_recv(&host->engine, &host->xsrq, &wr);
	} else {
		result = rxe_post_recv(&host->engine, &host->qp[name].qp, &wr, host->now_ns);
	}
	slot->open = result == POST_OK;
}

static bool brings_back(enum rxe_wr_opcode opcode)
{
	return opcode == RXE_WR_RDMA_READ || opcode == RXE_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == RXE_WR_ATOMIC_FETCH_AND_ADD;
}

void host_send(struct host *host, enum host_qp_name name, const struct rxe_send_wr *like,
	       uint32_t len)
{
	const struct rxe_av av = { .dgid = host->peer, .hop_limit = 64 };
	struct host_qp *q = &host->qp[name];
	struct host_slot *slot = NULL;
	struct rxe_send_wr wr = *like;
	struct rxe_sge sge = { host_iova(REGION_SOURCE), len % 70001, host_key(REGION_SOURCE) };

	if (q->time_wait.is_destroyed)
		return;
	if (brings_back(wr.opcode)) {
		slot = free_slot(host->result);
		if (!slot)
			return;
		sge.addr = host_iova(REGION_RESULTS) + (uint64_t)(slot - host->result) * HOST_SLOT;
		sge.length = wr.opcode == RXE_WR_RDMA_READ ? len % (HOST_SLOT + 1) : 8;
		sge.lkey = host_key(REGION_RESULTS);
		*slot = (struct host_slot){ true, (uint8_t)name, sge.length, ++host->posted, 0 };
	}
	if (wr.opcode == RXE_WR_FLUSH) {
		wr.flush_len = sge.length;
		sge.length = 0;
	}
	if (wr.opcode == RXE_WR_ATOMIC_WRITE)
		sge.length = 8;
	if (wr.opcode == RXE_WR_BIND_MW)
		memory_bind(&wr.bind, len);
	if (wr.opcode == RXE_WR_LOCAL_INV)
		wr.imm_or_rkey = host_key(REGION_WINDOW) ^ len % 2;
	wr.wr_id = q->sends + 1;
	wr.av = &av;
	wr.remote_qpn = q->peer_qpn;
	wr.num_sge = 1;
	wr.sges = &sge;
	wr.flags &= ~(uint32_t)RXE_SEND_INLINE;
	host->sends_posted = true;
	if (rxe_post_send(&host->engine, &q->qp, &wr, host->now_ns) != POST_OK) {
		if (slot)
			slot->open = false;
		return;
	}
	q->sends++;
	q->answers_at[q->sends % 64] = host->answers[name];
	host->result_of[name][q->sends % 64] = slot;
	rxe_engine_settle(&host->engine);
	host_poll(host);
}

void host_free(struct host *host)
{
	const struct host_setup none = { .mtu = 256 };

	host->is_deferred = false;
	for (uint32_t i = 0; i < HOST_QPS; i++)
		host_modify(host, (enum host_qp_name)i, RXE_QPS_ERR, &none);
	host_output(host);
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		struct host_qp *q = &host->qp[i];

		if (q->time_wait.is_destroyed)
			continue;
		MUST(q->qp.state == RXE_QPS_ERR || q->qp.state == RXE_QPS_RESET);
		MUST(rxe_ring_used(&q->qp.sq) == 0 && rxe_ring_used(&q->qp.rq) == 0);
		MUST(q->qp.timer.deadline_ns == UINT64_MAX);
	}
	for (uint32_t i = 0; i < HOST_SLOTS && !host->is_small; i++)
		MUST(!host->recv[i].open || host->recv[i].queue >= HOST_QPS);
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		if (!host->qp[i].time_wait.is_destroyed)
			rxe_qp_fini(&host->engine, &host->qp[i].qp);
		free(host->qp[i].sq_mem);
		free(host->qp[i].rq_mem);
	}
	MUST(host->engine.timers.count == 0 && !host->engine.ready);
	rxe_srq_fini(&host->engine, &host->srq);
	rxe_srq_fini(&host->engine, &host->xsrq);
	rxe_cq_fini(&host->engine, &host->cq);
	free(host->srq_mem);
	free(host->xsrq_mem);
	free(host->cq_mem);
	memory_free(host);
	free(host);
}
