// SPDX-License-Identifier: MIT
/* Unreliable connections between two engines: segments, losses, lengths, keys. */
#include <string.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/host.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu_fixture.h"
#include "net/wire/gid.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "net/wire/train.h"
#include "tests/suite.h"

static struct end *a, *b;
static struct qp_set from, to;

static void setup(void)
{
	uint32_t i;

	a = end_new(1, 1);
	b = end_new(2, 2);
	qp_new(a, &from, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_new(b, &to, RXE_QPT_UC, NULL, FIXTURE_CQE);
	qp_to(a, &from, RXE_QPS_RTS, 2, to.qp.qpn);
	qp_to(b, &to, RXE_QPS_RTS, 1, from.qp.qpn);
	for (i = 0; i < 65536; i++)
		a->mem[i] = (uint8_t)(7 * i + i / 251 + 1);
	fixture_drop = 0;
}

static void teardown(void)
{
	qp_free(a, &from);
	qp_free(b, &to);
	end_free(a);
	end_free(b);
}

static void post(uint32_t opcode, uint32_t len, uint32_t key)
{
	const struct rxe_sge sge = sge_at(0, len, key);
	struct rxe_send_wr wr = send_wr(len, &sge);

	wr.opcode = (enum rxe_wr_opcode)opcode;
	wr.imm_or_rkey = 0xa1b2c3d4;
	wr.remote_addr = FIXTURE_IOVA + 4096;
	wr.rkey = KEY_ALL;
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
}

static void receives(uint32_t n, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		ck_assert_int_eq(post_recv(b, &to, i, sge_at(i * 8192, len, KEY_ALL)), POST_OK);
}

/* Opcodes sent since the last run, by name. */
static void expect_packets(const char *want)
{
	char got[512] = "";
	uint32_t i;

	for (i = 0; i < fixture_packets; i++) {
		strcat(got, i ? " " : "");
		strcat(got, wire_op_str(fixture_opcode[i]));
	}
	ck_assert_str_eq(got, want);
}

static void expect_recv(uint64_t wr_id, uint32_t status, uint32_t byte_len)
{
	struct rxe_cqe cqe = poll_one(&to.recv_cq);

	ck_assert_uint_eq(cqe.status, status);
	ck_assert_uint_eq(cqe.wr_id, wr_id);
	if (status == RXE_WC_SUCCESS)
		ck_assert_uint_eq(cqe.byte_len, byte_len);
}

static void expect_no_recv(void)
{
	ck_assert_uint_eq(poll_one(&to.recv_cq).status, UINT32_MAX);
}

START_TEST(sends_are_cut)
{
	receives(4, 8192);
	post(RXE_WR_SEND, 8, KEY_ALL);
	post(RXE_WR_SEND, 3500, KEY_ALL);
	post(RXE_WR_SEND_WITH_IMM, 2048, KEY_ALL);
	post(RXE_WR_SEND, 0, KEY_ALL);
	fixture_run(a, b);
	expect_packets("SEND_ONLY SEND_FIRST SEND_MIDDLE SEND_MIDDLE SEND_LAST SEND_FIRST "
		       "SEND_LAST_IMM SEND_ONLY");
	expect_recv(0, RXE_WC_SUCCESS, 8);
	expect_recv(1, RXE_WC_SUCCESS, 3500);
	expect_recv(2, RXE_WC_SUCCESS, 2048);
	expect_recv(3, RXE_WC_SUCCESS, 0);
	ck_assert_mem_eq(b->mem + 8192, a->mem, 3500);
	ck_assert_uint_eq(b->mem[8192 + 3500], 0);
	ck_assert_mem_eq(b->mem + 16384, a->mem, 2048);
	ck_assert_uint_eq(poll_one(&from.send_cq).wr_id, 8);
	ck_assert_uint_eq(poll_one(&from.send_cq).wr_id, 3500);
	/* the PSN wrapped at 2^24: it began at 0xfffffe */
	ck_assert_uint_eq(from.qp.attr.sq_psn, 6);
	ck_assert_uint_eq(to.qp.attr.rq_psn, 6);
}
END_TEST

START_TEST(writes_are_cut)
{
	struct rxe_cqe cqe;

	receives(1, 0);
	post(RXE_WR_RDMA_WRITE, 3500, KEY_ALL);
	post(RXE_WR_RDMA_WRITE_WITH_IMM, 2500, KEY_ALL);
	fixture_run(a, b);
	expect_packets("WRITE_FIRST WRITE_MIDDLE WRITE_MIDDLE WRITE_LAST WRITE_FIRST WRITE_MIDDLE "
		       "WRITE_LAST_IMM");
	ck_assert_mem_eq(b->mem + 4096, a->mem, 3500);
	cqe = poll_one(&to.recv_cq);
	ck_assert_uint_eq(cqe.opcode, RXE_WC_RECV_RDMA_WITH_IMM);
	ck_assert_uint_eq(cqe.byte_len, 2500);
	ck_assert_uint_eq(cqe.flags, RXE_WC_WITH_IMM);
	ck_assert_uint_eq(cqe.imm_or_rkey, 0xa1b2c3d4);
	ck_assert_uint_eq(cqe.src_qpn, from.qp.qpn);
	expect_no_recv();
	ck_assert_uint_eq(poll_one(&from.send_cq).opcode, RXE_WC_RDMA_WRITE);
}
END_TEST

/* A lost packet loses one message, whose receive serves the next. */
START_TEST(a_loss_costs_one_message)
{
	uint32_t lost;

	for (lost = 0; lost < 4; lost++) {
		fixture_drop = 2ull << lost;
		receives(3, 8192);
		memset(b->mem, 0, 3 * 8192);
		post(RXE_WR_SEND, 8, KEY_ALL);
		post(RXE_WR_SEND, 3500, KEY_ALL);
		post(RXE_WR_SEND, 2000, KEY_ALL);
		fixture_run(a, b);
		expect_recv(0, RXE_WC_SUCCESS, 8);
		expect_recv(1, RXE_WC_SUCCESS, 2000);
		expect_no_recv();
		ck_assert_mem_eq(b->mem + 8192, a->mem, 2000);
		post(RXE_WR_SEND, 5, KEY_ALL);
		fixture_drop = 0;
		fixture_run(a, b);
		expect_recv(2, RXE_WC_SUCCESS, 5);
	}
}
END_TEST

START_TEST(no_receive_no_trace)
{
	post(RXE_WR_SEND, 3500, KEY_ALL);
	fixture_run(a, b);
	expect_no_recv();
	ck_assert_uint_eq(b->counters.rcvd_dropped, 4);
	receives(1, 64);
	post(RXE_WR_SEND, 6, KEY_ALL);
	fixture_run(a, b);
	expect_recv(0, RXE_WC_SUCCESS, 6);
}
END_TEST

START_TEST(receive_too_short)
{
	receives(2, 2000);
	post(RXE_WR_SEND, 2001, KEY_ALL);
	post(RXE_WR_SEND, 8, KEY_ALL);
	fixture_run(a, b);
	expect_recv(0, RXE_WC_LOC_LEN_ERR, 0);
	expect_recv(1, RXE_WC_WR_FLUSH_ERR, 0);
	ck_assert_int_eq(to.qp.state, RXE_QPS_ERR);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_SUCCESS);
}
END_TEST

/* A WRITE outside of the peer's rights changes nothing, and neither side is informed. */
START_TEST(writes_that_may_not)
{
	const uint32_t keys[] = { KEY_READ, KEY_OTHER, 0, KEY_UNMAPPED };
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct rxe_send_wr wr;
		const struct rxe_sge sge = sge_at(0, 2000, KEY_ALL);

		wr = send_wr(1, &sge);
		wr.opcode = RXE_WR_RDMA_WRITE;
		wr.remote_addr = FIXTURE_IOVA;
		wr.rkey = keys[i];
		ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	}
	fixture_run(a, b);
	ck_assert_uint_eq(b->counters.rcvd_bad_key, 3);
	ck_assert_uint_eq(b->counters.rcvd_dropped, 8);
	to.qp.attr.qp_access_flags = 0;
	post(RXE_WR_RDMA_WRITE, 8, KEY_ALL);
	fixture_run(a, b);
	ck_assert_uint_eq(b->counters.rcvd_bad_key, 4);
	ck_assert_uint_eq(b->mem[4096], 0);
	ck_assert_int_eq(to.qp.state, RXE_QPS_RTS);
}
END_TEST

static void packet(uint8_t op, uint32_t psn, uint32_t payload_len, uint32_t write_len)
{
	static uint8_t bytes[4096];
	const struct gid src = fixture_gid(1), dst = fixture_gid(2);
	struct wire_packet p = {
		.bth = { .opcode = opcode_make(WIRE_UC, (enum wire_op)op),
			 .pkey = 0xffff,
			 .dest_qpn = to.qp.qpn,
			 .psn = psn },
		.reth = { .va = FIXTURE_IOVA, .rkey = KEY_ALL, .len = write_len },
		.payload_len = payload_len,
	};

	inject(b, &p, bytes, &src, &dst);
}

/* Packets that do not form a message. */
START_TEST(nonsense)
{
	receives(2, 8192);
	packet(OP_SEND_MIDDLE, 1, 1024, 0); /* nothing to continue */
	packet(OP_SEND_FIRST, 2, 1000, 0);  /* not a full packet */
	packet(OP_SEND_LAST, 3, 8, 0);
	packet(OP_SEND_FIRST, 4, 1024, 0);
	packet(OP_WRITE_LAST, 5, 8, 0); /* the end of another message */
	packet(OP_SEND_FIRST, 6, 1024, 0);
	packet(OP_SEND_LAST, 7, 0, 0);	  /* an empty last packet */
	packet(OP_SEND_ONLY, 8, 1028, 0); /* longer than the path MTU */
	packet(OP_WRITE_ONLY, 9, 8, 12);  /* shorter than its RETH */
	packet(OP_WRITE_ONLY, 10, 12, 8); /* longer than its RETH */
	packet(OP_WRITE_FIRST, 11, 1024, 1024);
	packet(OP_WRITE_FIRST, 12, 1024, 1 << 30); /* past the region */
	packet(OP_SEND_FIRST, 13, 1024, 0);
	packet(OP_SEND_LAST, 13, 8, 0); /* the same PSN again */
	ck_assert_uint_eq(b->counters.rcvd_dropped, 11);
	expect_no_recv();
	packet(OP_SEND_ONLY, 0x123456, 8, 0); /* a first packet always opens a message */
	expect_recv(0, RXE_WC_SUCCESS, 8);
	ck_assert_uint_eq(rxe_ring_used(&to.qp.rq), 1);
}
END_TEST

START_TEST(send_error_stops_the_queue)
{
	receives(1, 8192);
	post(RXE_WR_SEND, 3000, KEY_ALL);
	post(RXE_WR_SEND, 8, KEY_UNMAPPED);
	post(RXE_WR_SEND, 9, KEY_ALL);
	fixture_run(a, b);
	expect_recv(0, RXE_WC_SUCCESS, 3000);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_SUCCESS);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, RXE_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(from.qp.state, RXE_QPS_SQE);
}
END_TEST

/* Only signalled sends complete. */
START_TEST(signals)
{
	const struct rxe_sge sge = sge_at(0, 8, KEY_ALL);
	struct rxe_send_wr wr = send_wr(1, &sge);
	uint32_t i;

	wr.flags = 0;
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	post(RXE_WR_SEND, 8, KEY_ALL);
	fixture_run(a, b);
	ck_assert_uint_eq(poll_one(&from.send_cq).wr_id, 8);
	ck_assert_uint_eq(poll_one(&from.send_cq).status, UINT32_MAX);
	ck_assert_uint_eq(rxe_ring_used(&from.qp.sq), 0);
	from.qp.sq_sig_all = true;
	ck_assert_int_eq(rxe_post_send(&a->engine, &from.qp, &wr, 0), POST_OK);
	fixture_run(a, b);
	ck_assert_uint_eq(poll_one(&from.send_cq).wr_id, 1);
}
END_TEST

/* SQD sends the rest of the current message, and keeps the next. */
START_TEST(draining)
{
	static uint8_t buf[TRAIN_MAX_BYTES];
	struct wire_train train = { .buf = buf, .max_segs = 1 };
	struct rxe_qp_attr attr = { .qp_state = RXE_QPS_SQD, .en_sqd_async_notify = 1 };

	post(RXE_WR_SEND, 3000, KEY_ALL);
	post(RXE_WR_SEND, 8, KEY_ALL);
	ck_assert(rxe_engine_output(&a->engine, &train, 0));
	ck_assert_int_eq(rxe_qp_modify(&a->engine, &from.qp, &attr,
				       RXE_QP_STATE | RXE_QP_EN_SQD_ASYNC_NOTIFY, 0),
			 MODIFY_OK);
	ck_assert_uint_eq(a->num_events, 0);
	fixture_run(a, b);
	expect_packets("SEND_MIDDLE SEND_LAST");
	ck_assert_uint_eq(a->num_events, 1);
	ck_assert_int_eq(a->event[0].type, RXE_EVENT_SQ_DRAINED);
	post(RXE_WR_SEND, 9, KEY_ALL);
	fixture_run(a, b);
	expect_packets("");
	attr.qp_state = RXE_QPS_RTS;
	ck_assert_int_eq(rxe_qp_modify(&a->engine, &from.qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	fixture_run(a, b);
	expect_packets("SEND_ONLY SEND_ONLY");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_uc");
	TCase *tcase = tcase_create("uc");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, sends_are_cut);
	tcase_add_test(tcase, writes_are_cut);
	tcase_add_test(tcase, a_loss_costs_one_message);
	tcase_add_test(tcase, no_receive_no_trace);
	tcase_add_test(tcase, receive_too_short);
	tcase_add_test(tcase, writes_that_may_not);
	tcase_add_test(tcase, nonsense);
	tcase_add_test(tcase, send_error_stops_the_queue);
	tcase_add_test(tcase, signals);
	tcase_add_test(tcase, draining);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
