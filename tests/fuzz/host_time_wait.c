/* SPDX-License-Identifier: MIT */
/* Queue pairs of the host under attack that are destroyed while their peer sends on. The answers
 * that the peer may get are computed here a second time from what was received and executed: an ACK
 * for each duplicate, the result of each of the last atomics, and nothing else. It is not computed
 * which FLUSHes and ATOMIC WRITEs were carried out: their duplicates may be answered or not. After
 * records were overwritten, as hostile processes may do, answers must still be sound, and no more
 * than requests. */
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
		if (atomic_load(&host->time_wait->at[i].qpn) == qpn)
			return &host->time_wait->at[i];
	}
	return NULL;
}

/* As the server does for a process that has exited. */
static void look_at_table(const struct host *host)
{
	const uint64_t until_ns = rxe_time_wait_until(host->time_wait);

	for (uint32_t i = 0; i < HOST_QPS; i++) {
		const struct host_qp *q = &host->qp[i];
		const uint32_t qpn =
			rxe_time_wait_connected_to(host->time_wait, &host->peer, q->peer_qpn);

		if (host->table_is_wild)
			continue;
		MUST(qpn == (q->time_wait.is_destroyed && q->time_wait.answers ? q->qp.qpn : 0));
		if (qpn)
			MUST(until_ns >= q->time_wait.until_ns);
	}
}

/* The number is not given out again while the peer may ask. */
static void look_at_numbers(struct host *host)
{
	const uint32_t qpn = rxe_engine_alloc_qpn(&host->engine);

	for (uint32_t i = 0; i < HOST_QPS && !host->table_is_wild; i++) {
		const struct host_qp *q = &host->qp[i];

		MUST(q->time_wait.is_destroyed || qpn != q->qp.qpn);
		if (q->time_wait.answers && q->time_wait.until_ns > host->engine.now_ns)
			MUST(qpn != q->qp.qpn);
	}
}

static void destroy(struct host *host, struct host_qp *q)
{
	const struct rxe_time_wait *record;

	q->time_wait = (struct host_time_wait){ .is_destroyed = true,
						.answers = has_received(&q->qp),
						.since_ns = host->now_ns };
	host->engine.now_ns = host->now_ns;
	rxe_qp_fini(&host->engine, &q->qp);
	record = record_of(host, q->qp.qpn);
	if (host->table_is_wild)
		return;
	MUST(!record == !q->time_wait.answers);
	if (!record)
		return;
	q->time_wait.until_ns = record->until_ns;
	MUST(record->until_ns - host->now_ns >= RXE_TIME_WAIT_MIN_NS);
	MUST(record->until_ns - host->now_ns <= RXE_TIME_WAIT_MAX_NS);
}

static void create(struct host *host, struct host_qp *q, enum host_qp_name name,
		   const struct host_setup *setup)
{
	const uint32_t qpn = q->qp.qpn;

	free(q->sq_mem);
	free(q->rq_mem);
	q->time_wait = (struct host_time_wait){ 0 };
	q->failed = false;
	q->atomics = 0;
	q->has_others = false;
	host_add_qp(host, name, qpn);
	MUST(host->table_is_wild || !record_of(host, qpn));
	host_connect(host, name, setup);
}

void host_destroy_or_create(struct host *host, enum host_qp_name name,
			    const struct host_setup *setup)
{
	struct host_qp *q = &host->qp[name];

	host_output(host);
	if (q->time_wait.is_destroyed) {
		create(host, q, name, setup);
	} else {
		host_forget(host, name);
		destroy(host, q);
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

void host_time_wait_spoil(struct host *host, struct take *take)
{
	const uint8_t which = take_u8(take);
	struct rxe_time_wait *record = &host->time_wait->at[which % HOST_QPS];
	struct rc_replay *replay = rxe_time_wait_replay(host->time_wait, record);
	size_t at = take_u16(take) % (sizeof(*record) + sizeof(*replay)), n = take_u8(take) % 20;

	/* One that is there, or any number of them. */
	if (which & 0x80)
		atomic_store(&host->time_wait->count, take_u32(take));
	for (; n > 0 && at < sizeof(*record) + sizeof(*replay); n--, at++) {
		uint8_t *p = at < sizeof(*record) ? (uint8_t *)record + at
						  : (uint8_t *)replay + (at - sizeof(*record));

		*p = take_u8(take);
	}
	host->table_is_wild = true;
	look_at_table(host);
}

/* Whether the queue pair had received this request. */
static bool is_duplicate(const struct host *host, const struct host_qp *q,
			 const struct wire_packet *packet)
{
	const enum wire_service service = q->qp.type == RXE_QPT_XRC_RECV ? WIRE_XRC : WIRE_RC;

	if (!q->time_wait.answers || host->now_ns >= q->time_wait.until_ns)
		return false;
	if (!(packet->shape & SHAPE_REQUEST) || (packet->shape & SHAPE_READ) ||
	    opcode_service(packet->bth.opcode) != service)
		return false;
	if (psn_diff(packet->bth.psn, q->qp.attr.rq_psn) >= 0)
		return false;
	return !(packet->shape & SHAPE_ANSWERED) ||
	       ((packet->shape & SHAPE_ATOMIC) && find_atomic(q, packet->bth.psn));
}

/* Whether a duplicate of this kind is answered with what the queue pair may have forgotten. */
static bool is_open(const struct host_qp *q, const struct wire_packet *packet)
{
	return q && q->has_others && (packet->shape & SHAPE_ANSWERED);
}

static struct host_qp *destroyed_qp(struct host *host, uint32_t qpn)
{
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		if (host->qp[i].time_wait.is_destroyed && host->qp[i].qp.qpn == qpn)
			return &host->qp[i];
	}
	return NULL;
}

void host_time_wait_arrived(struct host *host, const struct wire_packet *packet, bool is_good,
			    uint64_t duplicates)
{
	struct host_qp *q = destroyed_qp(host, packet->bth.dest_qpn);
	const bool expected = q && is_good && !host->to_group && is_duplicate(host, q, packet);

	MUST(duplicates <= 1);
	host->answers_due += (uint32_t)duplicates;
	if (host->table_is_wild)
		return;
	MUST(duplicates == expected || is_open(q, packet));
	if (duplicates && packet->shape & SHAPE_ANSWERED)
		q->time_wait.due_atomics++;
	else if (expected && !(packet->shape & SHAPE_ANSWERED))
		q->time_wait.due++;
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
	MUST(q && q->time_wait.is_destroyed);
	MUST(opcode_service(packet->bth.opcode) ==
	     (q->qp.type == RXE_QPT_XRC_RECV ? WIRE_XRC : WIRE_RC));
	if (packet->shape & SHAPE_ANSWERED) {
		const struct host_atomic *atomic = find_atomic(q, packet->bth.psn);

		if (packet->shape & SHAPE_ATOMIC)
			MUST(atomic && atomic->orig == packet->atomic_orig);
		MUST(q->time_wait.answered_atomics++ < q->time_wait.due_atomics);
	} else {
		MUST(packet->bth.psn == psn_add(q->qp.attr.rq_psn, PSN_MASK));
		MUST(q->time_wait.answered++ < q->time_wait.due);
	}
}

void host_time_wait_sent(struct host *host, const struct wire_train *train)
{
	const struct icrc_flow flow = { train->src, train->dst,
					(uint16_t)(HOST_PORT + train->tx_index) };
	struct wire_packet packet;

	MUST(train->segs == 1 && train->tx_index < 2);
	MUST(wire_parse(&packet, host->out, train->len) == WIRE_OK);
	MUST(icrc_check(&flow, IP_ID_EXACT, 0, host->out, train->len) == ICRC_OK);
	MUST(!(packet.shape & SHAPE_REQUEST) && packet.payload_len == 0);
	MUST(packet.shape & SHAPE_AETH && packet.aeth.syndrome >> 5 == 0);
	MUST(host->answers_due-- > 0);
	if (!host->table_is_wild)
		answers_truly(host, train, &packet);
}

/* Each duplicate was answered, unless there were too many. */
void host_time_wait_silent(struct host *host)
{
	uint32_t due = 0;

	for (uint32_t i = 0; i < HOST_QPS; i++)
		due += host->qp[i].time_wait.due + host->qp[i].time_wait.due_atomics;
	for (uint32_t i = 0; i < HOST_QPS; i++) {
		struct host_time_wait *time_wait = &host->qp[i].time_wait;

		if (due <= RXE_TIME_WAIT_ANSWERS && !host->table_is_wild) {
			MUST(time_wait->answered_atomics == time_wait->due_atomics);
			MUST(!time_wait->due == !time_wait->answered);
		}
		time_wait->due = time_wait->due_atomics = time_wait->answered =
			time_wait->answered_atomics = 0;
	}
	host->answers_due = 0;
}
