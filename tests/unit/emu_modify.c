// SPDX-License-Identifier: MIT
/* The QP state table, exhaustively: every pair of states, every type, every attribute bit, against
 * a second implementation of ibv_modify_qp(3)'s table. The second one agrees with
 * the table by which Linux checks all devices. */
#include <string.h>

#include "emu/deadline.h"
#include "emu/rc/responder_reply.h"
#include "emu_fixture.h"
#include "tests/suite.h"

#define STATES 7

enum {
	CUR = RXE_QP_CUR_STATE,
	NOTIFY = RXE_QP_EN_SQD_ASYNC_NOTIFY,
	ACC = RXE_QP_ACCESS_FLAGS,
	PKEY = RXE_QP_PKEY_INDEX,
	PORT = RXE_QP_PORT,
	QKEY = RXE_QP_QKEY,
	AV = RXE_QP_AV,
	MTU = RXE_QP_PATH_MTU,
	TMO = RXE_QP_TIMEOUT,
	RTY = RXE_QP_RETRY_CNT,
	RNR = RXE_QP_RNR_RETRY,
	RQPSN = RXE_QP_RQ_PSN,
	SQPSN = RXE_QP_SQ_PSN,
	RDA = RXE_QP_MAX_QP_RD_ATOMIC,
	DRDA = RXE_QP_MAX_DEST_RD_ATOMIC,
	RNRT = RXE_QP_MIN_RNR_TIMER,
	DQPN = RXE_QP_DEST_QPN,
	ALT = RXE_QP_ALT_PATH,
	MIG = RXE_QP_PATH_MIG_STATE,
	RATE = RXE_QP_RATE_LIMIT,
};

#define UNSUPPORTED ((uint32_t)RXE_QP_CAP)

struct row {
	bool exists;
	uint32_t must, may;
};

/* Attributes that Linux removes from the mask first. */
static uint32_t stripped(enum rxe_qp_type type)
{
	if (type == RXE_QPT_XRC_SEND)
		return DRDA | RNRT;
	return type == RXE_QPT_XRC_RECV ? RDA | RTY | RNR : 0;
}

/* The table of the manual page as code. */
static struct row wanted(enum rxe_qp_type type, uint32_t from, uint32_t to)
{
	bool rc = type == RXE_QPT_RC, ud = type == RXE_QPT_UD, uc = type == RXE_QPT_UC;
	bool tgt = type == RXE_QPT_XRC_RECV;
	uint32_t must = qp_required(type, (enum rxe_qp_state)to) & ~(uint32_t)RXE_QP_STATE;
	uint32_t key = ud ? QKEY : ACC, timer = rc || tgt ? RNRT : 0, rate = tgt ? 0 : RATE;
	uint32_t alt = ud ? 0 : ALT, mig = ud ? 0 : ALT | MIG;

	if (to == RXE_QPS_RESET || to == RXE_QPS_ERR)
		return (struct row){ to == RXE_QPS_RESET || from != RXE_QPS_RESET, 0, 0 };
	switch (from * 10 + to) {
	case RXE_QPS_RESET * 10 + RXE_QPS_INIT: return (struct row){ true, must, 0 };
	case RXE_QPS_INIT * 10 + RXE_QPS_INIT: return (struct row){ true, 0, PKEY | PORT | key };
	case RXE_QPS_INIT * 10 + RXE_QPS_RTR: return (struct row){ true, must, PKEY | key | alt };
	case RXE_QPS_RTR * 10 + RXE_QPS_RTS:
		return (struct row){ true, must, CUR | key | timer | mig | rate };
	case RXE_QPS_RTS * 10 + RXE_QPS_RTS:
		return (struct row){ true, 0, CUR | key | timer | mig | rate };
	case RXE_QPS_SQD * 10 + RXE_QPS_RTS:
		return (struct row){ true, 0, CUR | key | timer | mig };
	case RXE_QPS_RTS * 10 + RXE_QPS_SQD: return (struct row){ true, 0, NOTIFY };
	case RXE_QPS_SQD * 10 + RXE_QPS_SQD:
		if (ud)
			return (struct row){ true, 0, PKEY | QKEY };
		if (rc)
			return (struct row){ true, 0,
					     PKEY | PORT | AV | ACC | TMO | RTY | RNR | RDA | DRDA |
						     RNRT | mig };
		if (uc)
			return (struct row){ true, 0, PKEY | AV | ACC | mig };
		return (struct row){ true, 0,
				     PKEY | PORT | AV | ACC | TMO | mig |
					     (tgt ? DRDA | RNRT : RTY | RNR | RDA) };
	case RXE_QPS_SQE * 10 + RXE_QPS_RTS: return (struct row){ uc || ud, 0, CUR | key };
	default: return (struct row){ 0 };
	}
}

static struct end *end;
static struct qp_set set;

static void setup(void)
{
	end = end_new(1, 3);
}

static void teardown(void)
{
	end_free(end);
}

/* Tries a move from a new QP in that state. */
static enum modify_result try(enum rxe_qp_type type, uint32_t from, uint32_t to, uint32_t mask,
			      const struct rxe_qp_attr *change, uint32_t *ret_culprit)
{
	struct rxe_qp_attr attr = change ? *change : good_attr(2, 0x50007), before;
	enum modify_result result;
	uint32_t state;

	qp_new(end, &set, type, NULL, FIXTURE_CQE);
	set.qp.state = (enum rxe_qp_state)from;
	set.qp.migration.is_loaded = true;
	before = set.qp.attr;
	attr.qp_state = (enum rxe_qp_state)to;
	if (!change)
		attr.cur_qp_state = (enum rxe_qp_state)from;
	*ret_culprit = rxe_qp_modify_culprit(&end->engine, &set.qp, &attr, mask);
	result = rxe_qp_modify(&end->engine, &set.qp, &attr, mask, 0);
	state = result == MODIFY_OK && (mask & RXE_QP_STATE) ? to : from;
	ck_assert_uint_eq(set.qp.state, state);
	if (result != MODIFY_OK)
		ck_assert_mem_eq(&before, &set.qp.attr, sizeof(before));
	ck_assert_ptr_nonnull(rxe_modify_result_str(result));
	qp_free(end, &set);
	return result;
}

static void check_bits(enum rxe_qp_type type, uint32_t from, uint32_t to, const struct row *row)
{
	const uint32_t may = row->may | stripped(type);
	uint32_t culprit, bit;

	for (bit = RXE_QP_CUR_STATE; bit <= RXE_QP_RATE_LIMIT; bit <<= 1) {
		enum modify_result want = bit & row->must     ? MODIFY_MISSING
					  : bit & UNSUPPORTED ? MODIFY_UNSUPPORTED
					  : bit & ~may	      ? MODIFY_NOT_ALLOWED
							      : MODIFY_OK;

		ck_assert_int_eq(
			try(type, from, to, RXE_QP_STATE | (row->must ^ bit), NULL, &culprit),
			want);
		ck_assert_uint_eq(culprit, want == MODIFY_OK ? 0 : bit);
	}
}

static const enum rxe_qp_type types[] = { RXE_QPT_RC, RXE_QPT_UC, RXE_QPT_UD, RXE_QPT_XRC_SEND,
					  RXE_QPT_XRC_RECV };

START_TEST(every_move_and_every_bit)
{
	enum rxe_qp_type type = types[_i];
	uint32_t from, to, mask, culprit;

	for (from = 0; from < STATES; from++) {
		for (to = 0; to < STATES; to++) {
			struct row row = wanted(type, from, to);

			if (!row.exists) {
				ck_assert_int_eq(try(type, from, to, UINT32_MAX, NULL, &culprit),
						 MODIFY_BAD_TRANSITION);
				ck_assert_uint_eq(culprit, 0);
				continue;
			}
			mask = RXE_QP_STATE | row.must | row.may | stripped(type);
			ck_assert_int_eq(try(type, from, to, mask, NULL, &culprit), MODIFY_OK);
			check_bits(type, from, to, &row);
		}
	}
}
END_TEST

/* perftest sets RC's attributes on both halves of XRC. Attributes that a half lacks are neither
 * checked nor stored. */
START_TEST(the_other_half_is_ignored)
{
	static const enum rxe_qp_type halves[] = { RXE_QPT_XRC_SEND, RXE_QPT_XRC_RECV };
	struct rxe_qp_attr attr = good_attr(2, 9), seen;
	uint32_t to;

	if (halves[_i] == RXE_QPT_XRC_SEND)
		attr.max_dest_rd_atomic = attr.min_rnr_timer = UINT8_MAX;
	else
		attr.max_rd_atomic = attr.retry_cnt = attr.rnr_retry = UINT8_MAX;
	qp_new(end, &set, halves[_i], NULL, FIXTURE_CQE);
	for (to = RXE_QPS_INIT; to <= RXE_QPS_RTS; to++) {
		attr.qp_state = (enum rxe_qp_state)to;
		ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr,
					       qp_required(RXE_QPT_RC, attr.qp_state), 0),
				 MODIFY_OK);
	}
	rxe_qp_query(&set.qp, &seen);
	if (halves[_i] == RXE_QPT_XRC_SEND) {
		ck_assert_uint_eq(seen.max_dest_rd_atomic, 0);
		ck_assert_uint_eq(seen.min_rnr_timer, 0);
		ck_assert_uint_eq(seen.max_rd_atomic, attr.max_rd_atomic);
	} else {
		ck_assert_uint_eq(seen.max_rd_atomic, 0);
		ck_assert_uint_eq(seen.retry_cnt, 0);
		ck_assert_uint_eq(seen.rnr_retry, 0);
		ck_assert_uint_eq(seen.max_dest_rd_atomic, attr.max_dest_rd_atomic);
	}
	qp_free(end, &set);
}
END_TEST

/* Without STATE in the mask the QP keeps its state, and that state's rules apply. */
START_TEST(no_state_in_the_mask)
{
	uint32_t culprit;

	ck_assert_int_eq(try(RXE_QPT_RC, RXE_QPS_RTS, 0, ACC | RNRT, NULL, &culprit), MODIFY_OK);
	ck_assert_int_eq(try(RXE_QPT_RC, RXE_QPS_RTR, 0, ACC, NULL, &culprit),
			 MODIFY_BAD_TRANSITION);
	ck_assert_int_eq(try(RXE_QPT_UD, RXE_QPS_INIT, 0, QKEY, NULL, &culprit), MODIFY_OK);
}
END_TEST

/* Each value in turn is the first that is out of range. */
static void check_value(uint32_t to, uint32_t bit, const struct rxe_qp_attr *attr,
			enum modify_result want)
{
	uint32_t from = to - 1, culprit;

	ck_assert_int_eq(try(RXE_QPT_RC, from, to, qp_required(RXE_QPT_RC, (enum rxe_qp_state)to),
			     attr, &culprit),
			 want);
	ck_assert_uint_eq(culprit, want == MODIFY_BAD_VALUE ? bit : 0);
}

#define VALUE(to, bit, member, value)                                                              \
	do {                                                                                       \
		struct rxe_qp_attr attr_ = good_attr(2, 9);                                        \
		attr_.member = (value);                                                            \
		check_value(to, bit, &attr_, MODIFY_BAD_VALUE);                                    \
	} while (0)
#define EDGE(to, member, value)                                                                    \
	do {                                                                                       \
		struct rxe_qp_attr attr_ = good_attr(2, 9);                                        \
		attr_.member = (value);                                                            \
		check_value(to, 0, &attr_, MODIFY_OK);                                             \
	} while (0)
#define PATH(want, member, value)                                                                  \
	do {                                                                                       \
		struct rxe_qp_attr attr_ = good_attr(2, 9);                                        \
		attr_.member = (value);                                                            \
		check_value(RXE_QPS_RTR, 0, &attr_, want);                                         \
	} while (0)

#define ALTERNATE(want, member, value)                                                             \
	do {                                                                                       \
		struct rxe_qp_attr attr_ = good_attr(2, 9);                                        \
		uint32_t culprit_;                                                                 \
		attr_.member = (value);                                                            \
		attr_.cur_qp_state = RXE_QPS_RTS;                                                  \
		ck_assert_int_eq(                                                                  \
			try(RXE_QPT_RC, RXE_QPS_RTS, RXE_QPS_RTS, ALT, &attr_, &culprit_), want);  \
		ck_assert_uint_eq(culprit_, (want) == MODIFY_BAD_VALUE ? (uint32_t)ALT : 0);       \
	} while (0)

START_TEST(alternate_paths)
{
	const struct gid none = { 0 };

	ALTERNATE(MODIFY_OK, alt_timeout, 31);
	ALTERNATE(MODIFY_BAD_VALUE, alt_timeout, 32);
	ALTERNATE(MODIFY_BAD_VALUE, alt_port_num, 0);
	ALTERNATE(MODIFY_BAD_VALUE, alt_pkey_index, 1);
	ALTERNATE(MODIFY_NO_GRH, has_alt_grh, false);
	ALTERNATE(MODIFY_BAD_GID, alt_av.sgid_index, 1);
	ALTERNATE(MODIFY_BAD_GID, alt_av.dgid, none);
}
END_TEST

/* An alternate path with another flow label has another sending port, where there are several. */
START_TEST(alternate_path_by_flow_label)
{
	struct rxe_qp_attr attr = good_attr(2, 9);

	end->engine.cfg.num_tx_ports = 2;
	end->engine.cfg.tx_ports[1] = (uint16_t)(end->engine.cfg.tx_ports[0] + 1);
	qp_new(end, &set, RXE_QPT_RC, NULL, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, ALT, 0), MODIFY_OK);
	ck_assert_uint_eq(set.qp.migration.alt.src_port, set.qp.flow.src_port);
	attr.alt_av.flow_label = 1;
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, ALT, 0), MODIFY_OK);
	ck_assert_uint_ne(set.qp.migration.alt.src_port, set.qp.flow.src_port);
	ck_assert_uint_eq(set.qp.migration.alt.src_port,
			  end->engine.cfg.tx_ports[set.qp.migration.alt_tx_index]);
	qp_free(end, &set);
}
END_TEST

START_TEST(values_out_of_range)
{
	end->engine.cfg.max_mtu = 2048;
	VALUE(RXE_QPS_INIT, PKEY, pkey_index, 1);
	VALUE(RXE_QPS_INIT, PORT, port_num, 0);
	VALUE(RXE_QPS_INIT, PORT, port_num, 2);
	VALUE(RXE_QPS_INIT, ACC, qp_access_flags, 1u << 10);
	VALUE(RXE_QPS_RTR, MTU, path_mtu, 4096);
	VALUE(RXE_QPS_RTR, MTU, path_mtu, 1500);
	VALUE(RXE_QPS_RTR, MTU, path_mtu, 0);
	EDGE(RXE_QPS_RTR, path_mtu, 2048);
	VALUE(RXE_QPS_RTR, DQPN, dest_qp_num, 1u << 24);
	VALUE(RXE_QPS_RTR, RQPSN, rq_psn, 1u << 24);
	VALUE(RXE_QPS_RTR, DRDA, max_dest_rd_atomic, RXE_MAX_RD_ATOMIC + 1);
	EDGE(RXE_QPS_RTR, max_dest_rd_atomic, RXE_MAX_RD_ATOMIC);
	VALUE(RXE_QPS_RTR, RNRT, min_rnr_timer, 32);
	EDGE(RXE_QPS_RTR, min_rnr_timer, 31);
	VALUE(RXE_QPS_RTS, SQPSN, sq_psn, 1u << 24);
	EDGE(RXE_QPS_RTS, sq_psn, 0xffffff);
	VALUE(RXE_QPS_RTS, TMO, timeout, 32);
	EDGE(RXE_QPS_RTS, timeout, 31);
	VALUE(RXE_QPS_RTS, RTY, retry_cnt, 8);
	VALUE(RXE_QPS_RTS, RNR, rnr_retry, 8);
	VALUE(RXE_QPS_RTS, RDA, max_rd_atomic, RXE_MAX_RD_ATOMIC + 1);
}
END_TEST

START_TEST(paths_that_lead_nowhere)
{
	const struct gid v6 = { .raw = { 0xfe, 0x80, [15] = 1 } };
	const struct gid group = { .raw = { [10] = 0xff, [11] = 0xff, 224, 0, 0, 9 } };
	const struct gid none = { 0 };

	PATH(MODIFY_NO_GRH, has_grh, false);
	PATH(MODIFY_BAD_GID, av.sgid_index, 1);
	PATH(MODIFY_BAD_GID, av.sgid_index, RXE_MAX_GIDS);
	PATH(MODIFY_BAD_GID, av.dgid, v6);
	PATH(MODIFY_BAD_GID, av.dgid, group);
	PATH(MODIFY_BAD_GID, av.dgid, none);
	end->engine.cfg.gids[3] = v6;
	PATH(MODIFY_BAD_GID, av.sgid_index, 3);
	end->engine.cfg.gids[0] = v6;
	PATH(MODIFY_OK, av.dgid, v6);
}
END_TEST

START_TEST(cur_state_must_be_true)
{
	struct rxe_qp_attr attr = good_attr(2, 9);
	uint32_t culprit;

	attr.cur_qp_state = RXE_QPS_RTS;
	ck_assert_int_eq(try(RXE_QPT_UD, RXE_QPS_RTR, RXE_QPS_RTS,
			     RXE_QP_STATE | RXE_QP_SQ_PSN | CUR, &attr, &culprit),
			 MODIFY_BAD_VALUE);
	ck_assert_uint_eq(culprit, CUR);
}
END_TEST

/* RESET clears queued work, attributes and deadlines. */
START_TEST(reset_clears_everything)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_qp_attr attr = { .qp_state = RXE_QPS_RESET }, none = { 0 }, seen;
	struct rxe_send_wr wr = send_wr(1, &sge);

	qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	ck_assert_int_eq(post_recv(end, &set, 1, sge), POST_OK);
	ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
	rxe_qp_set_deadline(&end->engine, &set.qp, 5);
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	rxe_engine_settle(&end->engine);
	ck_assert(cq_is_empty(&set.send_cq) && cq_is_empty(&set.recv_cq));
	ck_assert_uint_eq(rxe_ring_used(&set.qp.sq), 0);
	ck_assert_uint_eq(rxe_ring_used(&set.qp.rq), 0);
	ck_assert_uint_eq(rxe_engine_deadline(&end->engine), UINT64_MAX);
	rxe_qp_query(&set.qp, &seen);
	ck_assert_mem_eq(&seen, &none, sizeof(none));
	/* the QP can be used again */
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	qp_free(end, &set);
}
END_TEST

START_TEST(reset_delays_no_ack)
{
	static struct rc_reply reply;

	rc_reply_reset(&reply);
	ck_assert(reply.ack_delay_until_ns == RXE_NEVER);
	ck_assert(rc_reply_next_ns(&reply) == RXE_NEVER);
}
END_TEST

START_TEST(query_shows_what_was_set)
{
	const struct rxe_qp_attr given = good_attr(2, 9);
	struct rxe_qp_attr seen;

	qp_new(end, &set, RXE_QPT_RC, NULL, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	rxe_qp_query(&set.qp, &seen);
	ck_assert_int_eq(seen.qp_state, RXE_QPS_RTS);
	ck_assert_int_eq(seen.cur_qp_state, RXE_QPS_RTS);
	ck_assert_uint_eq(seen.qkey, 0); /* not an attribute of RC */
	ck_assert_uint_eq(seen.path_mtu, given.path_mtu);
	ck_assert_uint_eq(seen.rq_psn, given.rq_psn);
	ck_assert_uint_eq(seen.sq_psn, given.sq_psn);
	ck_assert_uint_eq(seen.dest_qp_num, given.dest_qp_num);
	ck_assert_uint_eq(seen.qp_access_flags, given.qp_access_flags);
	ck_assert(seen.has_grh);
	ck_assert(gid_equal(&seen.av.dgid, &given.av.dgid));
	ck_assert_uint_eq(seen.av.hop_limit, given.av.hop_limit);
	ck_assert_uint_eq(seen.max_rd_atomic, given.max_rd_atomic);
	ck_assert_uint_eq(seen.max_dest_rd_atomic, given.max_dest_rd_atomic);
	ck_assert_uint_eq(seen.min_rnr_timer, given.min_rnr_timer);
	ck_assert_uint_eq(seen.port_num, given.port_num);
	ck_assert_uint_eq(seen.timeout, given.timeout);
	ck_assert_uint_eq(seen.retry_cnt, given.retry_cnt);
	ck_assert_uint_eq(seen.rnr_retry, given.rnr_retry);
	qp_free(end, &set);
}
END_TEST

/* SQD: attributes change only after the drain; the event comes if the program asked for it. */
START_TEST(drained_is_said_once)
{
	struct rxe_qp_attr attr = good_attr(2, 9);
	uint32_t asked;

	for (asked = 0; asked < 2; asked++) {
		qp_new(end, &set, RXE_QPT_UC, NULL, FIXTURE_CQE);
		qp_to(end, &set, RXE_QPS_RTS, 2, 9);
		attr.qp_state = RXE_QPS_SQD;
		attr.en_sqd_async_notify = (uint8_t)asked;
		end->num_events = 0;
		ck_assert_int_eq(
			rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE | NOTIFY, 0),
			MODIFY_OK);
		ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, AV, 0),
				 MODIFY_DRAINING);
		fixture_run(end, end);
		ck_assert_uint_eq(end->num_events, asked);
		if (asked)
			ck_assert_int_eq(end->event[0].type, RXE_EVENT_SQ_DRAINED);
		ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, AV, 0), MODIFY_OK);
		fixture_run(end, end);
		ck_assert_uint_eq(end->num_events, asked);
		qp_free(end, &set);
	}
}
END_TEST

/* The window of requests in flight is that of the peer's socket: a drained queue that gets another
 * path counts there. */
START_TEST(another_path_in_sqd)
{
	const struct rxe_sge sge = sge_at(0, 64, KEY_ALL);
	const struct rxe_send_wr wr = send_wr(1, &sge);
	struct rxe_qp_attr attr = good_attr(3, 9);
	const struct rxe_peer *before, *after;

	qp_new(end, &set, RXE_QPT_RC, NULL, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	attr.qp_state = RXE_QPS_SQD;
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	fixture_run(end, end);
	before = rxe_peer_get(&end->engine.peers, &set.qp.flow.dst, 0);
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, AV, 0), MODIFY_OK);
	after = rxe_peer_get(&end->engine.peers, &set.qp.flow.dst, 0);
	ck_assert_ptr_ne(before, after);
	attr.qp_state = RXE_QPS_RTS;
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	ck_assert_int_eq(rxe_post_send(&end->engine, &set.qp, &wr, 0), POST_OK);
	fixture_run(end, end);
	ck_assert_uint_eq(before->in_flight, 0);
	ck_assert_uint_gt(after->in_flight, 0);
	qp_free(end, &set);
	ck_assert_uint_eq(after->in_flight, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_modify");
	TCase *tcase = tcase_create("states");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, every_move_and_every_bit, 0, sizeof(types) / sizeof(types[0]));
	tcase_add_loop_test(tcase, the_other_half_is_ignored, 0, 2);
	tcase_add_test(tcase, no_state_in_the_mask);
	tcase_add_test(tcase, values_out_of_range);
	tcase_add_test(tcase, alternate_paths);
	tcase_add_test(tcase, alternate_path_by_flow_label);
	tcase_add_test(tcase, paths_that_lead_nowhere);
	tcase_add_test(tcase, cur_state_must_be_true);
	tcase_add_test(tcase, reset_clears_everything);
	tcase_add_test(tcase, reset_delays_no_ack);
	tcase_add_test(tcase, query_shows_what_was_set);
	tcase_add_test(tcase, drained_is_said_once);
	tcase_add_test(tcase, another_path_in_sqd);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
