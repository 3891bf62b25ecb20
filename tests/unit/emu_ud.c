// SPDX-License-Identifier: MIT
/* Datagrams between two engines: delivery, drops, errors and multicast groups. */
#include <string.h>

#include "emu_fixture.h"
#include "net/wire/ip.h"
#include "net/wire/opcode.h"
#include "tests/suite.h"

#define QKEY 0x11223344u

static struct end *a, *b;
static struct qp_set from, to;
static struct rxe_av av;

static void setup(void)
{
	a = end_new(1, 1);
	b = end_new(2, 2);
	qp_new(a, &from, RXE_QPT_UD, NULL, FIXTURE_CQE);
	qp_new(b, &to, RXE_QPT_UD, NULL, FIXTURE_CQE);
	qp_to(a, &from, RXE_QPS_RTS, 2, 0);
	qp_to(b, &to, RXE_QPS_RTS, 1, 0);
	av = (struct rxe_av){ .dgid = fixture_gid(2), .hop_limit = 9, .traffic_class = 0x68 };
	memset(a->mem, 0x5a, 8192);
}

static void teardown(void)
{
	qp_free(a, &from);
	qp_free(b, &to);
	end_free(a);
	end_free(b);
}

static struct rxe_send_wr datagram(uint64_t wr_id, const struct rxe_sge *sge)
{
	struct rxe_send_wr wr = send_wr(wr_id, sge);

	wr.av = &av;
	wr.remote_qpn = to.qp.qpn;
	wr.remote_qkey = QKEY;
	return wr;
}

static void send_one(const struct rxe_send_wr *wr)
{
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, wr, 0), POST_OK);
	fixture_run(a, b);
}

START_TEST(arrives_behind_forty_bytes)
{
	const struct rxe_sge sge = sge_at(0, 13, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);
	struct rxe_cqe cqe;

	wr.opcode = RXE_WR_SEND_WITH_IMM;
	wr.imm_or_rkey = 0xa1b2c3d4;
	wr.flags |= RXE_SEND_SOLICITED;
	ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 53, KEY_ALL)), POST_OK);
	send_one(&wr);
	cqe = poll_one(&from.send_cq);
	ck_assert_uint_eq(cqe.status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(cqe.opcode, RXE_WC_SEND);
	ck_assert_uint_eq(cqe.wr_id, 1);
	ck_assert_uint_eq(cqe.qpn, from.qp.qpn);
	cqe = poll_one(&to.recv_cq);
	ck_assert_uint_eq(cqe.status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(cqe.opcode, RXE_WC_RECV);
	ck_assert_uint_eq(cqe.wr_id, 2);
	ck_assert_uint_eq(cqe.byte_len, 53);
	ck_assert_uint_eq(cqe.flags, RXE_WC_GRH | RXE_WC_WITH_IMM);
	ck_assert_uint_eq(cqe.imm_or_rkey, 0xa1b2c3d4);
	ck_assert_uint_eq(cqe.qpn, to.qp.qpn);
	ck_assert_uint_eq(cqe.src_qpn, from.qp.qpn);
	ck_assert_uint_eq(cqe.solicited, 1);
	ck_assert_uint_eq(cqe.frame, RXE_FRAME_IPV4);
	ck_assert_mem_eq(b->mem + 40, a->mem, 13);
	ck_assert_uint_eq(b->mem[53], 0);
	/* the IPv4 header in the last 20 of the 40 */
	ck_assert_uint_eq(b->mem[20], 0x45);
	ck_assert_uint_eq(b->mem[21], 0x68);
	ck_assert_uint_eq(b->mem[28], 9);
	ck_assert_mem_eq(b->mem + 32, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	ck_assert_uint_eq(a->counters.rdma_sends, 1);
	ck_assert_uint_eq(b->counters.rdma_recvs, 1);
}
END_TEST

/* A hop limit of 1 would end at the first router; programs that set 1 do not mean that. */
START_TEST(hop_limit_of_one)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);

	for (av.hop_limit = 0; av.hop_limit < 4; av.hop_limit++) {
		ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 64, KEY_ALL)), POST_OK);
		send_one(&wr);
		ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_SUCCESS);
		ck_assert_uint_eq(b->mem[28], av.hop_limit > 1 ? av.hop_limit : 64);
	}
}
END_TEST

START_TEST(no_receive_no_trace)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);

	send_one(&wr);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, UINT32_MAX);
	ck_assert_uint_eq(b->counters.rcvd_dropped, 1);
	ck_assert_int_eq(to.qp.state, RXE_QPS_RTS);
}
END_TEST

START_TEST(qkeys)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);

	ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 64, KEY_ALL)), POST_OK);
	wr.remote_qkey = QKEY + 1;
	send_one(&wr);
	ck_assert_uint_eq(b->counters.rcvd_bad_key, 1);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, UINT32_MAX);
	/* the high bit selects the QP's own Q_Key */
	wr.remote_qkey = 0x80000000;
	send_one(&wr);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_SUCCESS);
}
END_TEST

START_TEST(receive_too_short)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);

	ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 47, KEY_ALL)), POST_OK);
	ck_assert_int_eq(post_recv(b, &to, 3, sge_at(0, 99, KEY_ALL)), POST_OK);
	send_one(&wr);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_LOC_LEN_ERR);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(to.qp.state, RXE_QPS_ERR);
}
END_TEST

START_TEST(receive_without_right)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);

	ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 99, KEY_READ)), POST_OK);
	send_one(&wr);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_LOC_PROT_ERR);
	ck_assert_int_eq(to.qp.state, RXE_QPS_ERR);
}
END_TEST

/* A bad send stops the send queue but not the receives; modify restarts it. */
START_TEST(send_error_and_back)
{
	const struct rxe_sge good = sge_at(0, 8, KEY_ALL), bad = sge_at(0, 8, KEY_OTHER);
	struct rxe_send_wr wr[3] = { datagram(1, &good), datagram(2, &bad), datagram(3, &good) };
	struct rxe_qp_attr attr = { .qp_state = RXE_QPS_RTS };
	uint32_t i;

	wr[2].flags = 0; /* unsignalled, but flushed with a completion */
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(post_recv(b, &to, i, sge_at(0, 64, KEY_ALL)), POST_OK);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr[i], 0), POST_OK);
	fixture_run(a, b);
	ck_assert_uint_eq(fixture_packets, 1);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(from.qp.state, RXE_QPS_SQE);
	ck_assert_int_eq(rxe_qp_modify(&a->engine, &from.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	send_one(&wr[0]);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, RXE_WC_SUCCESS);
}
END_TEST

/* In its turn: those before are sent. Nothing of it is. */
START_TEST(longer_than_the_mtu)
{
	const struct rxe_sge longest = sge_at(0, 2048, KEY_ALL), longer = sge_at(0, 2049, KEY_ALL);
	struct rxe_send_wr wr[2] = { datagram(1, &longest), datagram(2, &longer) };

	a->engine.cfg.max_mtu = 2048;
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(post_recv(b, &to, i, sge_at(0, 4096, KEY_ALL)), POST_OK);
		ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr[i], 0), POST_OK);
	}
	fixture_run(a, b);
	ck_assert_uint_eq(fixture_packets, 1);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_LOC_LEN_ERR);
	ck_assert_int_eq(from.qp.state, RXE_QPS_SQE);
	ck_assert_uint_eq(poll_one(&to.recv_cq).byte_len, 40 + 2048);
}
END_TEST

START_TEST(a_train_of_datagrams)
{
	const struct rxe_sge sge = sge_at(0, 64, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);
	uint32_t i;

	for (i = 0; i < FIXTURE_WR; i++) {
		ck_assert_int_eq(post_recv(b, &to, i, sge_at(0, 128, KEY_ALL)), POST_OK);
		ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	}
	fixture_run(a, b);
	ck_assert_uint_eq(fixture_trains, 1);
	ck_assert_uint_eq(fixture_packets, FIXTURE_WR);
	for (i = 0; i < FIXTURE_WR; i++)
		ck_assert_uint_eq(poll_one(&to.recv_cq).wr_id, i);
	ck_assert_uint_eq(a->counters.sent_pkts, FIXTURE_WR);
	ck_assert_uint_eq(b->counters.rcvd_pkts, FIXTURE_WR);
	ck_assert_uint_eq(a->counters.sent_bytes, b->counters.rcvd_bytes);
}
END_TEST

/* Another address or another slot needs another train. */
START_TEST(trains_go_one_way)
{
	const struct rxe_sge sge = sge_at(0, 64, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);
	struct rxe_av other = av;

	other.dgid = fixture_gid(3);
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	wr.av = &other;
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	wr.remote_qpn ^= 1u << 16;
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	fixture_run(a, b);
	ck_assert_uint_eq(fixture_trains, 3);
}
END_TEST

START_TEST(inline_bytes_are_copied_at_once)
{
	char text[] = "inline!";
	const struct rxe_sge sge = { .addr = (uintptr_t)text, .length = sizeof(text) };
	struct rxe_send_wr wr = datagram(1, &sge);

	wr.flags |= RXE_SEND_INLINE;
	ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 64, KEY_ALL)), POST_OK);
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	memset(text, 0, sizeof(text));
	fixture_run(a, b);
	ck_assert_uint_eq(poll_one(&to.recv_cq).byte_len, 48);
	ck_assert_str_eq((const char *)b->mem + 40, "inline!");
}
END_TEST

START_TEST(groups)
{
	const struct gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	const struct gid plain = fixture_gid(9);
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = datagram(1, &sge);
	struct qp_set second, stream;

	qp_new(b, &second, RXE_QPT_UD, NULL, FIXTURE_CQE);
	qp_new(b, &stream, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_to(b, &second, RXE_QPS_RTS, 1, 0);
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &stream.qp, &group), MCAST_NOT_UD);
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &to.qp, &plain), MCAST_NOT_GROUP);
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &to.qp, &group), MCAST_FIRST);
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &to.qp, &group), MCAST_OK);
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &second.qp, &group), MCAST_OK);
	ck_assert(rxe_mcast_is_attached(&b->engine, &second.qp));
	ck_assert_int_eq(post_recv(b, &to, 2, sge_at(0, 64, KEY_ALL)), POST_OK);
	ck_assert_int_eq(post_recv(b, &to, 3, sge_at(0, 64, KEY_ALL)), POST_OK);
	ck_assert_int_eq(post_recv(b, &second, 4, sge_at(64, 64, KEY_ALL)), POST_OK);
	av.dgid = group;
	wr.remote_qpn = 0xffffff;
	send_one(&wr);
	ck_assert_uint_eq(poll_one(&to.recv_cq).wr_id, 2);
	ck_assert_uint_eq(poll_one(&second.recv_cq).wr_id, 4);
	ck_assert_uint_eq(rxe_ring_used(&to.qp.rq), 1);
	ck_assert_int_eq(rxe_mcast_detach(&b->engine, &to.qp, &group), MCAST_OK);
	ck_assert_int_eq(rxe_mcast_detach(&b->engine, &to.qp, &group), MCAST_NOT_ATTACHED);
	ck_assert_int_eq(rxe_mcast_detach(&b->engine, &second.qp, &group), MCAST_FIRST);
	ck_assert(!rxe_mcast_is_attached(&b->engine, &second.qp));
	send_one(&wr);
	ck_assert_uint_eq(b->counters.rcvd_no_qp, 1);
	qp_free(b, &second);
	qp_free(b, &stream);
}
END_TEST

START_TEST(groups_are_bounded)
{
	struct gid group = { .raw = { [0] = 0xff, [15] = 1 } };
	uint32_t i;

	for (i = 0; i < RXE_MAX_MCAST_GRP; i++) {
		group.raw[14] = (uint8_t)i;
		ck_assert_int_eq(rxe_mcast_attach(&b->engine, &to.qp, &group), MCAST_FIRST);
	}
	group.raw[13] = 1;
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &to.qp, &group), MCAST_FULL);
	rxe_mcast_forget(&b->engine, &to.qp);
	ck_assert_int_eq(rxe_mcast_attach(&b->engine, &to.qp, &group), MCAST_FIRST);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_ud");
	TCase *tcase = tcase_create("ud");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, arrives_behind_forty_bytes);
	tcase_add_test(tcase, hop_limit_of_one);
	tcase_add_test(tcase, no_receive_no_trace);
	tcase_add_test(tcase, qkeys);
	tcase_add_test(tcase, receive_too_short);
	tcase_add_test(tcase, receive_without_right);
	tcase_add_test(tcase, send_error_and_back);
	tcase_add_test(tcase, longer_than_the_mtu);
	tcase_add_test(tcase, a_train_of_datagrams);
	tcase_add_test(tcase, trains_go_one_way);
	tcase_add_test(tcase, inline_bytes_are_copied_at_once);
	tcase_add_test(tcase, groups);
	tcase_add_test(tcase, groups_are_bounded);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
