/* SPDX-License-Identifier: MIT */
/* Packets to and from the host under attack, and its completions: the oracle's checks of each. */
#include "net/wire/opcode.h"
#include "tests/fuzz/host.h"

#define MAX_OUT	    8192u /* most packets in one output, whatever the peer requested */
#define MAX_EXPIRES 4096u
#define MAX_STANDS  8u

static struct host_qp *qp_to(struct host *host, const struct wire_packet *packet)
{
	const struct rxe_qp *qp = rxe_engine_find_qp(&host->engine, packet->bth.dest_qpn);

	return qp ? qp->owner : NULL;
}

/* A request other than the expected one has no effect, old or early. */
static bool may_have_effect(const struct host_qp *q, const struct wire_packet *packet)
{
	return !rxe_qp_is_reliable(&q->qp) || !(packet->shape & SHAPE_REQUEST) ||
	       packet->bth.psn == q->qp.attr.rq_psn;
}

void host_input(struct host *host, const uint8_t *p, uint32_t len, const struct gid *src,
		bool is_good)
{
	const struct wire_arrival arrival = { .p = p,
					      .len = len,
					      .src_port = HOST_PORT,
					      .id_rule = host->id_rule,
					      .hop_limit = 64,
					      .src = *src,
					      .dst = host->to_group ? host->group : host->self };
	const uint64_t effects = host->effects, pkts = host->counters.rcvd_pkts;
	const uint64_t duplicates = host->counters.duplicate_request;
	struct host_qp *q = NULL;
	struct wire_packet packet;
	const bool is_sound = wire_parse(&packet, p, len) == WIRE_OK;
	struct rxe_qp before;
	bool may = true;

	if (is_sound && host->to_group && packet.bth.dest_qpn == QPN_MASK)
		q = host->qp[QP_UD].time_wait.is_destroyed ? NULL : &host->qp[QP_UD];
	else if (is_sound)
		q = qp_to(host, &packet);
	if (q) {
		memcpy(&before, &q->qp, sizeof(before));
		may = is_good && may_have_effect(q, &packet);
		if (is_good && !(packet.shape & SHAPE_REQUEST))
			host->answers[q - host->qp]++;
	}
	if (q && (packet.shape & (SHAPE_FLUSH | SHAPE_ATOMIC_WRITE)))
		q->has_others = true;
	host->arriving = q;
	host->arriving_psn = is_sound ? packet.bth.psn : 0;
	rxe_engine_input(&host->engine, &arrival, host->now_ns);
	host->arriving = NULL;
	MUST(host->counters.rcvd_pkts == pkts + 1);
	if (!q || !may)
		MUST(host->effects == effects);
	if (is_sound && !q)
		host_time_wait_arrived(host, &packet, is_good,
				       host->counters.duplicate_request - duplicates);
	if (q && !is_good)
		MUST(memcmp(&before, &q->qp, sizeof(before)) == 0);
	rxe_engine_settle(&host->engine);
	host_poll(host);
}

static struct host_qp *qp_from(struct host *host, const struct wire_packet *packet)
{
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		if (host->qp[i].peer_qpn == packet->bth.dest_qpn)
			return &host->qp[i];
	}
	return NULL;
}

static bool talks(enum rxe_qp_state state)
{
	switch (state) {
	case RXE_QPS_RTR:
	case RXE_QPS_RTS:
	case RXE_QPS_SQD: return true;
	case RXE_QPS_RESET:
	case RXE_QPS_INIT:
	case RXE_QPS_SQE:
	case RXE_QPS_ERR: return false;
	}
	return false;
}

static void look_at(struct host *host, const struct wire_train *train, const uint8_t *p,
		    uint32_t len, uint16_t index, const enum rxe_qp_state *states)
{
	const struct icrc_flow flow = { train->src, train->dst,
					(uint16_t)(HOST_PORT + train->tx_index) };
	struct wire_packet packet;
	const struct host_qp *q;

	MUST(wire_parse(&packet, p, len) == WIRE_OK);
	MUST(icrc_check(&flow, IP_ID_EXACT, index, p, len) == ICRC_OK);
	MUST(gid_equal(&flow.src, &host->self) && gid_equal(&flow.dst, &host->peer));
	q = qp_from(host, &packet);
	MUST(q);
	MUST(talks(states[q - host->qp]));
	MUST(packet.payload_len <= q->qp.attr.path_mtu || q->qp.type == RXE_QPT_UD);
	if (!rxe_qp_is_reliable(&q->qp))
		return;
	/* A response to what arrived, or a posted request. */
	if (packet.shape & SHAPE_REQUEST)
		MUST(psn_diff(packet.bth.psn, q->qp.attr.sq_psn) < 0);
	else
		MUST(psn_diff(packet.bth.psn, q->qp.attr.rq_psn) <= 0);
}

void host_output(struct host *host)
{
	struct wire_train train = { .buf = host->out, .max_segs = host->max_segs };
	enum rxe_qp_state states[HOST_QPS];
	uint32_t packets = 0;

	for (;;) {
		const uint32_t answered = host->engine.time_wait.head;
		uint16_t index = 0;

		for (uint32_t i = 0; i < HOST_QPS; i++)
			states[i] = host->qp[i].qp.state;
		if (!rxe_engine_output(&host->engine, &train, host->now_ns))
			break;
		MUST(train.segs > 0 && train.segs <= host->max_segs &&
		     train.len <= TRAIN_MAX_BYTES);
		if (host->engine.time_wait.head != answered) {
			host_time_wait_sent(host, &train);
			continue;
		}
		for (uint32_t at = 0; at < train.len; at += train.seg_len, index++) {
			const uint32_t left = train.len - at;

			look_at(host, &train, host->out + at,
				left < train.seg_len ? left : train.seg_len, index, states);
		}
		MUST(index == train.segs);
		packets += index;
		MUST(packets <= MAX_OUT);
	}
	host_time_wait_silent(host);
	rxe_time_wait_trains_sent(&host->engine);
	rxe_engine_settle(&host->engine);
	host_poll(host);
}

void host_advance(struct host *host, uint64_t ns)
{
	const uint64_t until_ns = host->now_ns + ns;
	uint32_t turns = 0, stands = 0;

	host_output(host);
	while (rxe_engine_deadline(&host->engine) <= until_ns && turns++ < MAX_EXPIRES) {
		const uint64_t due_ns = rxe_engine_deadline(&host->engine);

		stands = due_ns > host->now_ns ? 0 : stands + 1;
		if (due_ns > host->now_ns)
			host->now_ns = due_ns;
		rxe_engine_expire(&host->engine, host->now_ns);
		host_output(host);
		/* A timer may expire without effect now and then; an engine must not spin. */
		MUST(stands < MAX_STANDS);
	}
	host->now_ns = until_ns;
}

static void received(struct host *host, struct host_qp *q, const struct rxe_cqe *cqe)
{
	const bool is_xrc = q == &host->qp[QP_XRC_RECV];
	const bool has_srq = is_xrc || q == &host->qp[QP_RC_SRQ];
	struct host_slot *slot;

	MUST(cqe->wr_id < HOST_SLOTS);
	slot = &host->recv[cqe->wr_id];
	MUST(slot->open);
	MUST(slot->queue == (is_xrc ? HOST_QUEUE_XRC : has_srq ? HOST_QPS : q - host->qp));
	/* Receives of a QP's own queue complete in the order of posting. */
	MUST(has_srq || slot->number > q->recvs_done);
	q->recvs_done = slot->number;
	slot->open = false;
	if (cqe->status != RXE_WC_SUCCESS || cqe->opcode == RXE_WC_RECV_RDMA_WITH_IMM)
		return;
	MUST(cqe->byte_len <= slot->len && cqe->byte_len <= slot->written);
}

static void sent(struct host *host, struct host_qp *q, const struct rxe_cqe *cqe)
{
	const size_t name = (size_t)(q - host->qp);

	MUST(cqe->wr_id > q->sends_done && cqe->wr_id <= q->sends);
	if (q->failed)
		MUST(cqe->status == RXE_WC_WR_FLUSH_ERR);
	q->failed |= cqe->status != RXE_WC_SUCCESS;
	/* No request completes before a response acknowledges it. Local operations have none. */
	if (cqe->status == RXE_WC_SUCCESS && rxe_qp_is_reliable(&q->qp) &&
	    cqe->opcode != RXE_WC_BIND_MW && cqe->opcode != RXE_WC_LOCAL_INV)
		MUST(host->answers[name] > q->answers_at[cqe->wr_id % 64]);
	for (; q->sends_done < cqe->wr_id; q->sends_done++) {
		struct host_slot **slot = &host->result_of[name][(q->sends_done + 1) % 64];

		if (*slot && cqe->status == RXE_WC_SUCCESS)
			MUST((*slot)->written >= (*slot)->len);
		if (*slot)
			(*slot)->open = false;
		*slot = NULL;
	}
}

void host_poll(struct host *host)
{
	struct rxe_cqe cqe;

	while (rxe_cq_poll(&host->cq, &cqe, 1) == 1) {
		const struct rxe_qp *qp = rxe_engine_find_qp(&host->engine, cqe.qpn);

		MUST(qp);
		if (cqe.opcode & RXE_WC_RECV)
			received(host, qp->owner, &cqe);
		else
			sent(host, qp->owner, &cqe);
	}
}
