// SPDX-License-Identifier: MIT
/* Posting: rings, and every reason to refuse a work request. */
#include <string.h>

#include "emu_fixture.h"
#include "tests/suite.h"

static struct end *end, *peer;
static struct qp_set rc, uc, ud, peer_rc;
static struct rxe_av av;

static void setup(void)
{
	end = end_new(1, 1);
	peer = end_new(2, 2);
	qp_new(peer, &peer_rc, RXE_QPT_RC, NULL, FIXTURE_CQE);
	qp_new(end, &rc, RXE_QPT_RC, NULL, FIXTURE_CQE);
	qp_new(end, &uc, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_new(end, &ud, RXE_QPT_UD, NULL, FIXTURE_CQE);
	qp_to(peer, &peer_rc, RXE_QPS_RTS, 1, rc.qp.qpn);
	qp_to(end, &rc, RXE_QPS_RTS, 2, peer_rc.qp.qpn);
	qp_to(end, &uc, RXE_QPS_RTS, 2, 9);
	qp_to(end, &ud, RXE_QPS_RTS, 2, 9);
	av = (struct rxe_av){ .dgid = fixture_gid(2), .hop_limit = 64 };
}

static void teardown(void)
{
	qp_free(end, &rc);
	qp_free(end, &uc);
	qp_free(end, &ud);
	qp_free(peer, &peer_rc);
	end_free(end);
	end_free(peer);
}

static enum post_result post(struct qp_set *set, uint32_t opcode, uint32_t flags, uint32_t len)
{
	const struct rxe_sge sge = sge_at(0, opcode == RXE_WR_FLUSH ? 0 : len, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);

	wr.opcode = (enum rxe_wr_opcode)opcode;
	wr.feth.placement = FETH_GLOBAL;
	wr.flush_len = opcode == RXE_WR_FLUSH ? len : 0;
	wr.flags = flags;
	wr.av = set == &ud ? &av : NULL;
	return rxe_post_send(&end->engine, &set->qp, &wr, 0);
}

START_TEST(sizes_of_rings)
{
	struct rxe_ring ring;

	ck_assert_uint_eq(rxe_ring_bytes(0, 128), 0);
	ck_assert_uint_eq(rxe_ring_bytes(1, 128), 128);
	ck_assert_uint_eq(rxe_ring_bytes(17, 128), 32 * 128);
	ck_assert_uint_eq(rxe_send_stride(1, 0) % 64, 0);
	ck_assert_uint_ge(rxe_send_stride(0, RXE_MAX_INLINE),
			  sizeof(struct rxe_send_wqe) + RXE_MAX_INLINE);
	ck_assert_uint_ge(rxe_recv_stride(RXE_MAX_SGE),
			  sizeof(struct rxe_recv_wqe) + RXE_MAX_SGE * 16);
	rxe_ring_init(&ring, NULL, 0, 64);
	ck_assert_uint_eq(ring.limit, 0);
}
END_TEST

START_TEST(full_is_what_was_promised)
{
	uint32_t i;

	for (i = 0; i < FIXTURE_WR; i++) {
		ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_OK);
		ck_assert_int_eq(post_recv(end, &uc, i, sge_at(0, 8, KEY_ALL)), POST_OK);
	}
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_FULL);
	ck_assert_int_eq(post_recv(end, &uc, i, sge_at(0, 8, KEY_ALL)), POST_FULL);
}
END_TEST

static void send_until_full(struct qp_set *set, uint32_t room)
{
	const uint32_t opcode = set == &ud ? RXE_WR_SEND : RXE_WR_RDMA_WRITE;
	uint32_t i;

	for (i = 0; i < room; i++)
		ck_assert_int_eq(post(set, opcode, i % 4 == 3 ? RXE_SEND_SIGNALED : 0, 0), POST_OK);
	ck_assert_int_eq(post(set, opcode, 0, 0), POST_FULL);
	fixture_run(end, peer);
	ck_assert_uint_eq(rxe_ring_used(&set->qp.sq), 0);
	ck_assert_int_eq(post(set, opcode, 0, 0), POST_FULL);
}

static void poll_sends(struct qp_set *set, uint32_t n)
{
	for (; n > 0; n--)
		ck_assert_uint_eq(poll_one(&set->send_cq).status, RXE_WC_SUCCESS);
}

static void reset(struct qp_set *set)
{
	const struct rxe_qp_attr attr = { .qp_state = RXE_QPS_RESET };

	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set->qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	qp_to(end, set, RXE_QPS_RTS, 2, peer_rc.qp.qpn);
}

/* A polled completion frees the slots of its request and of the unsignalled ones before it.
 * Execution frees none. */
START_TEST(polling_frees_slots)
{
	struct qp_set *const sets[] = { &rc, &uc, &ud };

	for (uint32_t i = 0; i < 3; i++) {
		send_until_full(sets[i], FIXTURE_WR);
		poll_sends(sets[i], 1);
		send_until_full(sets[i], 4);
		poll_sends(sets[i], FIXTURE_WR / 4);
		send_until_full(sets[i], FIXTURE_WR);
	}
}
END_TEST

/* In ERR each request completes at once: without the limit, posting would overrun the CQ. */
START_TEST(flushed_requests_hold_their_slots)
{
	uc.qp.state = RXE_QPS_ERR;
	for (uint32_t i = 0; i < FIXTURE_WR; i++)
		ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_OK);
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_FULL);
	rxe_engine_settle(&end->engine);
	ck_assert_uint_eq(poll_one(&uc.send_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_OK);
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_FULL);
}
END_TEST

/* RESET frees all slots. A completion from before RESET that is polled after it changes nothing. */
START_TEST(reset_frees_all_slots)
{
	uc.qp.sq.head = uc.qp.sq.tail = UINT32_MAX - 20; /* the counts wrap below */
	reset(&uc);
	send_until_full(&uc, FIXTURE_WR);
	reset(&uc);
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_OK);
	poll_sends(&uc, 1);
	send_until_full(&uc, FIXTURE_WR - 1);
}
END_TEST

/* By opcode: RC, UC, UD. */
START_TEST(operations_by_type)
{
	static const char *const allowed[] = {
		[RXE_WR_RDMA_WRITE] = "yy-",
		[RXE_WR_RDMA_WRITE_WITH_IMM] = "yy-",
		[RXE_WR_SEND] = "yyy",
		[RXE_WR_SEND_WITH_IMM] = "yyy",
		[RXE_WR_RDMA_READ] = "y--",
		[RXE_WR_ATOMIC_CMP_AND_SWP] = "y--",
		[RXE_WR_ATOMIC_FETCH_AND_ADD] = "y--",
		[RXE_WR_LOCAL_INV] = "yy-",
		[RXE_WR_BIND_MW] = "yy-",
		[RXE_WR_SEND_WITH_INV] = "y--",
		[10] = "---",
		[RXE_WR_FLUSH] = "y--",
		[RXE_WR_ATOMIC_WRITE] = "y--",
	};
	struct qp_set *const sets[] = { &rc, &uc, &ud };
	uint32_t opcode, type;

	for (opcode = 0; opcode < 17; opcode++) {
		for (type = 0; type < 3; type++) {
			const char *row = opcode < 16 && allowed[opcode] ? allowed[opcode] : "---";

			ck_assert_int_eq(post(sets[type], opcode, 0, 8),
					 row[type] == 'y' ? POST_OK : POST_BAD_OPCODE);
		}
	}
	ck_assert_int_eq(post(&rc, UINT32_MAX, 0, 8), POST_BAD_OPCODE);
}
END_TEST

START_TEST(states_for_posting)
{
	static const enum post_result send[] = { POST_BAD_STATE, POST_BAD_STATE, POST_BAD_STATE,
						 POST_OK,	 POST_OK,	 POST_OK,
						 POST_OK };
	uint32_t state;

	for (state = RXE_QPS_RESET; state <= RXE_QPS_ERR; state++) {
		uc.qp.state = (enum rxe_qp_state)state;
		ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), send[state]);
		ck_assert_int_eq(post_recv(end, &uc, 1, sge_at(0, 8, KEY_ALL)),
				 state == RXE_QPS_RESET ? POST_BAD_STATE : POST_OK);
	}
}
END_TEST

/* Posted and flushed at once, signalled or not. */
START_TEST(posting_in_error)
{
	uc.qp.state = RXE_QPS_ERR;
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_OK);
	ck_assert_int_eq(post_recv(end, &uc, 2, sge_at(0, 8, KEY_ALL)), POST_OK);
	rxe_engine_settle(&end->engine);
	ck_assert_uint_eq(poll_one(&uc.send_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(poll_one(&uc.recv_cq).status, RXE_WC_WR_FLUSH_ERR);
	uc.qp.state = RXE_QPS_SQE;
	ck_assert_int_eq(post(&uc, RXE_WR_SEND, 0, 8), POST_OK);
	ck_assert_int_eq(post_recv(end, &uc, 2, sge_at(0, 8, KEY_ALL)), POST_OK);
	rxe_engine_settle(&end->engine);
	ck_assert_uint_eq(poll_one(&uc.send_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(poll_one(&uc.recv_cq).status, UINT32_MAX);
}
END_TEST

START_TEST(lengths)
{
	ck_assert_int_eq(post(&rc, RXE_WR_ATOMIC_FETCH_AND_ADD, 0, 8), POST_OK);
	ck_assert_int_eq(post(&rc, RXE_WR_ATOMIC_FETCH_AND_ADD, 0, 7), POST_BAD_SGE);
	ck_assert_int_eq(post(&rc, RXE_WR_ATOMIC_CMP_AND_SWP, 0, 16), POST_BAD_SGE);
	ck_assert_int_eq(post(&rc, RXE_WR_SEND, 0, RXE_MAX_MSG_SIZE), POST_OK);
	ck_assert_int_eq(post(&rc, RXE_WR_SEND, 0, RXE_MAX_MSG_SIZE + 1), POST_BAD_SGE);
	ck_assert_int_eq(post(&ud, RXE_WR_SEND, 0, 4096), POST_OK);
	ck_assert_int_eq(post(&ud, RXE_WR_SEND, 0, RXE_MAX_MSG_SIZE), POST_OK); /* fails later */
	ck_assert_int_eq(post(&ud, RXE_WR_SEND, 0, RXE_MAX_MSG_SIZE + 1), POST_BAD_SGE);
	ck_assert_int_eq(post(&rc, RXE_WR_ATOMIC_WRITE, 0, 7), POST_BAD_SGE);
	ck_assert_int_eq(post(&rc, RXE_WR_ATOMIC_WRITE, 0, 9), POST_BAD_SGE);
	ck_assert_int_eq(post(&rc, RXE_WR_FLUSH, 0, 0), POST_OK);
	ck_assert_int_eq(post(&rc, RXE_WR_FLUSH, 0, RXE_MAX_FLUSH), POST_OK);
	ck_assert_int_eq(post(&rc, RXE_WR_FLUSH, 0, RXE_MAX_FLUSH + 1), POST_BAD_SGE);
}
END_TEST

/* A FLUSH has no payload, at least one placement type, and one of two selectivity levels. */
START_TEST(flushes)
{
	static const struct {
		struct feth feth;
		enum post_result result;
	} cases[] = {
		{ { FETH_GLOBAL, FETH_RANGE }, POST_OK },
		{ { FETH_PERSISTENT, FETH_RANGE }, POST_OK },
		{ { FETH_GLOBAL | FETH_PERSISTENT, FETH_REGION }, POST_OK },
		{ { 0, FETH_RANGE }, POST_BAD_FLAGS },
		{ { 4, FETH_RANGE }, POST_BAD_FLAGS },
		{ { FETH_GLOBAL, 2 }, POST_BAD_FLAGS },
	};
	struct rxe_sge sge = sge_at(0, 1, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);

	wr.opcode = RXE_WR_FLUSH;
	wr.feth.placement = FETH_GLOBAL;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_BAD_SGE);
	wr.num_sge = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		wr.feth = cases[i].feth;
		ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), cases[i].result);
	}
	wr.flags = RXE_SEND_INLINE;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_BAD_FLAGS);
}
END_TEST

/* An ATOMIC WRITE may be inline, however little else may be. */
START_TEST(atomic_write_inline)
{
	const uint64_t value = 7;
	const struct rxe_sge sge = { .addr = (uintptr_t)&value, .length = 8 };
	struct rxe_send_wr wr = send_wr(1, &sge);

	rc.qp.max_inline_data = 0;
	wr.flags = RXE_SEND_INLINE;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_BAD_SGE);
	wr.opcode = RXE_WR_ATOMIC_WRITE;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_OK);
	ck_assert_uint_ge(rxe_send_stride(0, 0), sizeof(struct rxe_send_wqe) + sizeof(value));
}
END_TEST

START_TEST(flags)
{
	static uint8_t bytes[FIXTURE_INLINE + 1];
	struct rxe_sge sge = { .addr = (uintptr_t)bytes, .length = FIXTURE_INLINE };
	struct rxe_send_wr wr = send_wr(1, &sge);

	wr.flags = RXE_SEND_INLINE;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_OK);
	sge.length++;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_BAD_SGE);
	ck_assert_int_eq(post(&rc, RXE_WR_RDMA_READ, RXE_SEND_INLINE, 8), POST_BAD_FLAGS);
	ck_assert_int_eq(post(&rc, RXE_WR_ATOMIC_CMP_AND_SWP, RXE_SEND_INLINE, 8), POST_BAD_FLAGS);
	ck_assert_int_eq(post(&rc, RXE_WR_SEND, 1 << 7, 8), POST_BAD_FLAGS);
	ck_assert_int_eq(post(&rc, RXE_WR_RDMA_READ, RXE_SEND_FENCE | RXE_SEND_SOLICITED, 8),
			 POST_OK);
}
END_TEST

START_TEST(lists)
{
	struct rxe_sge sges[FIXTURE_SGE + 1] = { 0 };
	struct rxe_send_wr wr = send_wr(1, sges);
	struct rxe_recv_wr recv = { .num_sge = FIXTURE_SGE, .sges = sges };

	wr.num_sge = FIXTURE_SGE;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_OK);
	wr.num_sge++;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_BAD_SGE);
	wr.num_sge = 1;
	wr.sges = NULL;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_BAD_SGE);
	wr.num_sge = 0;
	ck_assert_int_eq(rxe_post_send(&end->engine, &rc.qp, &wr, 0), POST_OK);
	ck_assert_int_eq(rxe_post_recv(&end->engine, &rc.qp, &recv, 0), POST_OK);
	recv.num_sge++;
	ck_assert_int_eq(rxe_post_recv(&end->engine, &rc.qp, &recv, 0), POST_BAD_SGE);
	recv.num_sge = 0;
	recv.sges = NULL;
	ck_assert_int_eq(rxe_post_recv(&end->engine, &rc.qp, &recv, 0), POST_OK);
	recv.num_sge = UINT32_MAX;
	ck_assert_int_eq(rxe_post_recv(&end->engine, &rc.qp, &recv, 0), POST_BAD_SGE);
}
END_TEST

START_TEST(datagrams_need_an_address)
{
	const struct gid v6 = { .raw = { 0xfe, 0x80, [15] = 1 } };
	struct rxe_send_wr wr = send_wr(1, NULL);

	ck_assert_int_eq(rxe_post_send(&end->engine, &ud.qp, &wr, 0), POST_BAD_AV);
	wr.av = &av;
	ck_assert_int_eq(rxe_post_send(&end->engine, &ud.qp, &wr, 0), POST_OK);
	av.sgid_index = 1;
	ck_assert_int_eq(rxe_post_send(&end->engine, &ud.qp, &wr, 0), POST_BAD_AV);
	av.sgid_index = RXE_MAX_GIDS;
	ck_assert_int_eq(rxe_post_send(&end->engine, &ud.qp, &wr, 0), POST_BAD_AV);
	av.sgid_index = 0;
	av.dgid = v6;
	ck_assert_int_eq(rxe_post_send(&end->engine, &ud.qp, &wr, 0), POST_BAD_AV);
}
END_TEST

START_TEST(receives_with_an_srq)
{
	struct rxe_srq srq;
	struct qp_set set;

	rxe_srq_init(&srq, FIXTURE_PD, NULL, 0, 1, NULL);
	qp_new(end, &set, RXE_QPT_UC, &srq, FIXTURE_CQE);
	qp_to(end, &set, RXE_QPS_RTS, 2, 9);
	ck_assert_int_eq(post_recv(end, &set, 1, sge_at(0, 8, KEY_ALL)), POST_HAS_SRQ);
	qp_free(end, &set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_post");
	TCase *tcase = tcase_create("post");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, sizes_of_rings);
	tcase_add_test(tcase, full_is_what_was_promised);
	tcase_add_test(tcase, polling_frees_slots);
	tcase_add_test(tcase, flushed_requests_hold_their_slots);
	tcase_add_test(tcase, reset_frees_all_slots);
	tcase_add_test(tcase, operations_by_type);
	tcase_add_test(tcase, states_for_posting);
	tcase_add_test(tcase, posting_in_error);
	tcase_add_test(tcase, lengths);
	tcase_add_test(tcase, flushes);
	tcase_add_test(tcase, atomic_write_inline);
	tcase_add_test(tcase, flags);
	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, datagrams_need_an_address);
	tcase_add_test(tcase, receives_with_an_srq);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
