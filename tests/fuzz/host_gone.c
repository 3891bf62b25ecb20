/* SPDX-License-Identifier: MIT */
/* Queue pairs of the host under attack that go while their peer still talks. What it may be told then is found out here a second
 * time, from what was received and carried out: an ACK of that for each duplicate of it, the result of each of the last atomics, and
 * nothing else. When the records were overwritten, as hostile processes may, what leaves must still be sound, and no more than came. */
#include "emu/rc/time_wait.h"
#include "net/wire/opcode.h"
#include "tests/fuzz/host.h"

static bool is_awake(enum rxe_qp_state state)
{
	return state == RXE_QPS_RTR || state == RXE_QPS_RTS || state == RXE_QPS_SQD;
}

static bool has_received(const struct rxe_qp *qp)
{
	return is_awake(qp->state) && rxe_qp_is_reliable(qp) &&
	       qp->attr.rq_psn != qp->first_rq_psn && !rc_reply_is_fatal(&qp->rc.reply);
}

static const struct rxe_time_wait *record_of(const struct host *host, uint32_t qpn)
{
	for (uint32_t i = 0; i < RXE_MAX_TIME_WAIT; i++) {
		if (atomic_load(&host->gone->at[i].qpn) == qpn)
			return &host->gone->at[i];
	}
	return NULL;
}

/* As the server does, which looks after processes that it knows nothing of. */
static void look_at_table(const struct host *host)
{
	const uint64_t until_ns = rxe_time_wait_until(host->gone);

	for (uint32_t i = 0; i < HOST_QPS; i++) {
		const struct host_qp *q = &host->qp[i];
		const uint32_t qpn =
			rxe_time_wait_connected_to(host->gone, &host->peer, q->peer_qpn);

		if (host->gone_is_wild)
			continue;
		MUST(qpn == (q->gone.is_gone && q->gone.answers ? q->qp.qpn : 0));
		if (qpn)
			MUST(until_ns >= q->gone.until_ns);
	}
}

/* It may not be given to anybody else as long as its peer may ask. */
static void look_at_numbers(struct host *host)
{
	const uint32_t qpn = rxe_engine_alloc_qpn(&host->engine);

	for (uint32_t i = 0; i < HOST_QPS && !host->gone_is_wild; i++) {
		const struct host_qp *q = &host->qp[i];

		MUST(q->gone.is_gone || qpn != q->qp.qpn);
		if (q->gone.answers && q->gone.until_ns > host->engine.now_ns)
			MUST(qpn != q->qp.qpn);
	}
}

static void go(struct host *host, struct host_qp *q)
{
	const struct rxe_time_wait *record;

	q->gone = (struct host_gone){ .is_gone = true,
				      .answers = has_received(&q->qp),
				      .since_ns = host->now_ns };
	host->engine.now_ns = host->now_ns;
	rxe_qp_fini(&host->engine, &q->qp);
	record = record_of(host, q->qp.qpn);
	if (host->gone_is_wild)
		return;
	MUST(!record == !q->gone.answers);
	if (!record)
		return;
	q->gone.until_ns = record->until_ns;
	MUST(record->until_ns - host->now_ns >= RXE_TIME_WAIT_MIN_NS);
	MUST(record->until_ns - host->now_ns <= RXE_TIME_WAIT_MAX_NS);
}

static void come(struct host *host, struct host_qp *q, enum host_qp_name name,
		 const struct host_setup *setup)
{
	const uint32_t qpn = q->qp.qpn;

	free(q->sq_mem);
	free(q->rq_mem);
	q->gone = (struct host_gone){ 0 };
	q->failed = false;
	q->atomics = 0;
	host_add_qp(host, name, qpn);
	MUST(host->gone_is_wild || !record_of(host, qpn));
	host_connect(host, name, setup);
}

void host_go(struct host *host, enum host_qp_name name, const struct host_setup *setup)
{
	struct host_qp *q = &host->qp[name];

	host_output(host);
	if (q->gone.is_gone) {
		come(host, q, name, setup);
	} else {
		host_forget(host, name);
		go(host, q);
	}
	rxe_engine_settle(&host->engine);
	host_poll(host);
	look_at_numbers(host);
	look_at_table(host);
}

void host_atomic_done(struct host *host, uint64_t orig)
{
	struct host_qp *q = host->arriving;

	MUST(q);
	q->atomic[q->atomics++ % RXE_MAX_RD_ATOMIC] =
		(struct host_atomic){ host->arriving_psn, orig };
}

static const struct host_atomic *find_atomic(const struct host_qp *q, uint32_t psn)
{
	for (uint32_t i = 1; i <= q->atomics && i <= RXE_MAX_RD_ATOMIC; i++) {
		const struct host_atomic *atomic = &q->atomic[(q->atomics - i) % RXE_MAX_RD_ATOMIC];

		if (atomic->psn == psn)
			return atomic;
	}
	return NULL;
}

void host_gone_spoil(struct host *host, struct take *take)
{
	const uint8_t which = take_u8(take);
	uint8_t *p = (uint8_t *)&host->gone->at[which % HOST_QPS];
	size_t at = take_u16(take) % sizeof(struct rxe_time_wait), n = take_u8(take) % 20;

	/* One that is there, or any number of them. */
	if (which & 0x80)
		atomic_store(&host->gone->count, take_u32(take));
	for (; n > 0 && at < sizeof(struct rxe_time_wait); n--, at++)
		p[at] = take_u8(take);
	host->gone_is_wild = true;
	look_at_table(host);
}

/* Does this ask for what its queue pair had received? */
static bool is_duplicate(const struct host *host, const struct host_qp *q,
			 const struct wire_packet *packet)
{
	const enum wire_service service = q->qp.type == RXE_QPT_XRC_RECV ? WIRE_XRC : WIRE_RC;

	if (!q->gone.answers || host->now_ns >= q->gone.until_ns)
		return false;
	if (!(packet->shape & SHAPE_REQUEST) || (packet->shape & SHAPE_READ) ||
	    opcode_service(packet->bth.opcode) != service)
		return false;
	if (psn_diff(packet->bth.psn, q->qp.attr.rq_psn) >= 0)
		return false;
	return !(packet->shape & SHAPE_ATOMIC) || find_atomic(q, packet->bth.psn);
}

static struct host_qp *gone_qp(struct host *host, uint32_t qpn)
{
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		if (host->qp[i].gone.is_gone && host->qp[i].qp.qpn == qpn)
			return &host->qp[i];
	}
	return NULL;
}

void host_gone_arrived(struct host *host, const struct wire_packet *packet, bool is_good,
		       uint64_t duplicates)
{
	struct host_qp *q = gone_qp(host, packet->bth.dest_qpn);
	const bool expected = q && is_good && !host->to_group && is_duplicate(host, q, packet);

	MUST(duplicates <= 1);
	host->gone_due += (uint32_t)duplicates;
	if (host->gone_is_wild)
		return;
	MUST(duplicates == expected);
	if (expected && packet->shape & SHAPE_ATOMIC)
		q->gone.due_atomics++;
	else if (expected)
		q->gone.due++;
}

static void answers_truly(struct host *host, const struct wire_train *train,
			  const struct wire_packet *packet)
{
	struct host_qp *q = NULL;

	MUST(gid_equal(&train->src, &host->self) && gid_equal(&train->dst, &host->peer));
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		if (host->qp[i].peer_qpn == packet->bth.dest_qpn)
			q = &host->qp[i];
	}
	MUST(q && q->gone.is_gone);
	MUST(opcode_service(packet->bth.opcode) ==
	     (q->qp.type == RXE_QPT_XRC_RECV ? WIRE_XRC : WIRE_RC));
	if (packet->shape & SHAPE_ATOMIC_ACK_ETH) {
		const struct host_atomic *atomic = find_atomic(q, packet->bth.psn);

		MUST(atomic && atomic->orig == packet->atomic_orig);
		MUST(q->gone.answered_atomics++ < q->gone.due_atomics);
	} else {
		MUST(packet->bth.psn == psn_add(q->qp.attr.rq_psn, PSN_MASK));
		MUST(q->gone.answered++ < q->gone.due);
	}
}

void host_gone_sent(struct host *host, const struct wire_train *train)
{
	const struct icrc_flow flow = { train->src, train->dst,
					(uint16_t)(HOST_PORT + train->tx_index) };
	struct wire_packet packet;

	MUST(train->segs == 1 && train->tx_index < 2);
	MUST(wire_parse(&packet, host->out, train->len) == WIRE_OK);
	MUST(icrc_check(&flow, IP_ID_EXACT, 0, host->out, train->len) == ICRC_OK);
	MUST(!(packet.shape & SHAPE_REQUEST) && packet.payload_len == 0);
	MUST(packet.shape & SHAPE_AETH && packet.aeth.syndrome >> 5 == 0);
	MUST(host->gone_due-- > 0);
	if (!host->gone_is_wild)
		answers_truly(host, train, &packet);
}

/* Nobody who asked rightly was forgotten, unless there were too many. */
void host_gone_silent(struct host *host)
{
	uint32_t due = 0;

	for (uint32_t i = 0; i < HOST_QPS; i++)
		due += host->qp[i].gone.due + host->qp[i].gone.due_atomics;
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		struct host_gone *gone = &host->qp[i].gone;

		if (due <= RXE_TIME_WAIT_ANSWERS && !host->gone_is_wild) {
			MUST(gone->answered_atomics == gone->due_atomics);
			MUST(!gone->due == !gone->answered);
		}
		gone->due = gone->due_atomics = gone->answered = gone->answered_atomics = 0;
	}
	host->gone_due = 0;
}
