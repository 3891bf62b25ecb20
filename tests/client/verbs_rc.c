// SPDX-License-Identifier: MIT
/* Reliable connections as a program uses them: every operation, between two ends of one process and
 * between two processes. */
#include <string.h>
#include <unistd.h>

#include "fixture.h"

/* A connection that ends in ERR and begins again. */
#define LIVES	 100
#define MESSAGES 16

static const uint32_t sizes[] = { 0,	1,    7,    255,   256,	    257,    4095,
				  4096, 4097, 8192, 65536, 1048576, 1048577 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

START_TEST(sends_of_every_size)
{
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, NULL);
	for (uint32_t i = 0; i < SIZES; i++) {
		fill(a.memory, sizes[i], i);
		end_recv(&b, 100 + i, 0, sizes[i] + 64);
		end_post(&a, IBV_WR_SEND, i, 0, sizes[i]);
		wc = end_wait_for(&b, 100 + i, IBV_WC_SUCCESS);
		ck_assert_int_eq(wc.opcode, IBV_WC_RECV);
		ck_assert_uint_eq(wc.byte_len, sizes[i]);
		ck_assert_uint_eq(wc.qp_num, b.qp->qp_num);
		expect_filled(b.memory, sizes[i], i);
		wc = end_wait_for(&a, i, IBV_WC_SUCCESS);
		ck_assert_int_eq(wc.opcode, IBV_WC_SEND);
	}
	ends_close(&a, &b);
}
END_TEST

START_TEST(writes_and_reads_of_every_size)
{
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, NULL);
	for (uint32_t i = 0; i < SIZES; i++) {
		fill(a.memory, sizes[i], i);
		end_post(&a, IBV_WR_RDMA_WRITE, i, 0, sizes[i]);
		wc = end_wait_for(&a, i, IBV_WC_SUCCESS);
		ck_assert_int_eq(wc.opcode, IBV_WC_RDMA_WRITE);
		expect_filled(b.memory, sizes[i], i);
		memset(a.memory, 0, sizes[i]);
		end_post(&a, IBV_WR_RDMA_READ, 50 + i, 0, sizes[i]);
		wc = end_wait_for(&a, 50 + i, IBV_WC_SUCCESS);
		ck_assert_int_eq(wc.opcode, IBV_WC_RDMA_READ);
		ck_assert_uint_eq(wc.byte_len, sizes[i]);
		expect_filled(a.memory, sizes[i], i);
	}
	end_expect_nothing(&b);
	ends_close(&a, &b);
}
END_TEST

START_TEST(immediate_data)
{
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, NULL);
	fill(a.memory, 5000, 1);
	end_recv(&b, 1, 8192, 8192);
	end_recv(&b, 2, 8192, 0);
	end_post(&a, IBV_WR_SEND_WITH_IMM, 0xa1b2c3d4, 0, 5000);
	end_post(&a, IBV_WR_RDMA_WRITE_WITH_IMM, 0x01020304, 0, 5000);
	wc = end_wait_for(&b, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IBV_WC_RECV);
	ck_assert_uint_eq(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	ck_assert_uint_eq(be32toh(wc.imm_data), 0xa1b2c3d4);
	expect_filled(b.memory + 8192, 5000, 1);
	wc = end_wait_for(&b, 2, IBV_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	ck_assert_uint_eq(be32toh(wc.imm_data), 0x01020304);
	ck_assert_uint_eq(wc.byte_len, 5000);
	expect_filled(b.memory, 5000, 1);
	ends_close(&a, &b);
}
END_TEST

START_TEST(atomics)
{
	struct end a, b;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	uint64_t word = 40;

	ends_open(&a, &b, NULL);
	memcpy(b.memory, &word, sizeof(word));
	wr = end_wr(&a, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	wr.wr.atomic.compare_add = 2;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert_int_eq(end_wait_for(&a, 1, IBV_WC_SUCCESS).opcode, IBV_WC_FETCH_ADD);
	ck_assert_uint_eq(*(uint64_t *)(void *)a.memory, 40);
	ck_assert_uint_eq(*(uint64_t *)(void *)b.memory, 42);

	wr = end_wr(&a, &sge, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 0, 8);
	wr.wr.atomic.compare_add = 41;
	wr.wr.atomic.swap = 99;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert_int_eq(end_wait_for(&a, 2, IBV_WC_SUCCESS).opcode, IBV_WC_COMP_SWAP);
	ck_assert_uint_eq(*(uint64_t *)(void *)a.memory, 42);
	ck_assert_uint_eq(*(uint64_t *)(void *)b.memory, 42);

	wr.wr.atomic.compare_add = 42;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ck_assert_uint_eq(*(uint64_t *)(void *)b.memory, 99);
	ends_close(&a, &b);
}
END_TEST

START_TEST(gather_and_scatter)
{
	struct end a, b;
	struct ibv_sge from[3], to[3];
	struct ibv_send_wr wr, *bad;
	struct ibv_recv_wr in = { .wr_id = 9, .sg_list = to, .num_sge = 3 }, *bad_in;

	ends_open(&a, &b, NULL);
	fill(a.memory, 10000, 5);
	from[0] = (struct ibv_sge){ (uintptr_t)a.memory, 1, a.mr->lkey };
	from[1] = (struct ibv_sge){ (uintptr_t)a.memory + 1, 6999, a.mr->lkey };
	from[2] = (struct ibv_sge){ (uintptr_t)a.memory + 7000, 3000, a.mr->lkey };
	to[0] = (struct ibv_sge){ (uintptr_t)b.memory + 20000, 4097, b.mr->lkey };
	to[1] = (struct ibv_sge){ (uintptr_t)b.memory + 40000, 3, b.mr->lkey };
	to[2] = (struct ibv_sge){ (uintptr_t)b.memory + 60000, 9000, b.mr->lkey };
	ck_assert_int_eq(ibv_post_recv(b.qp, &in, &bad_in), 0);
	wr = end_wr(&a, &from[0], IBV_WR_SEND, 3, 0, 1);
	wr.num_sge = 3;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert_uint_eq(end_wait_for(&b, 9, IBV_WC_SUCCESS).byte_len, 10000);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	memmove(b.memory, b.memory + 20000, 4097);
	memmove(b.memory + 4097, b.memory + 40000, 3);
	memmove(b.memory + 4100, b.memory + 60000, 5900);
	expect_filled(b.memory, 10000, 5);
	expect_zero(b.memory + 60000 + 5900, 1000);
	ends_close(&a, &b);
}
END_TEST

START_TEST(inline_data_is_taken_at_once)
{
	struct end a, b;
	uint8_t bytes[200];
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), 0xdead };
	struct ibv_send_wr wr, *bad;

	ends_open(&a, &b, NULL);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_WRITE, 1, 0, sizeof(bytes));
	sge = (struct ibv_sge){ (uintptr_t)bytes, sizeof(bytes), 0xdead };
	wr.send_flags |= IBV_SEND_INLINE;
	fill(bytes, sizeof(bytes), 7);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	memset(bytes, 0, sizeof(bytes));
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory, sizeof(bytes), 7);
	ends_close(&a, &b);
}
END_TEST

/* Sixty requests under way, of every kind; completions come for the signalled ones only, and in
 * order. */
START_TEST(completions_keep_their_order)
{
	static const enum ibv_wr_opcode kinds[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						    IBV_WR_SEND, IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct end a, b;

	ends_open(&a, &b, NULL);
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 15; i++)
			end_recv(&b, i, 65536, 65536);
		for (uint32_t i = 0; i < 60; i++) {
			struct ibv_sge sge;
			uint32_t len = i % 4 == 3 ? 8 : i * 150;
			struct ibv_send_wr wr = end_wr(&a, &sge, kinds[i % 4], i,
						       i % 4 == 3 ? 8 : 0, len),
					   *bad;

			if (i % 3)
				wr.send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
			ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
		}
		for (uint32_t i = 0; i < 60; i += 3)
			end_wait_for(&a, i, IBV_WC_SUCCESS);
		for (uint32_t i = 0; i < 15; i++)
			end_wait_for(&b, i, IBV_WC_SUCCESS);
		/* The last two were not signalled: one that is retires them. */
		end_post(&a, IBV_WR_RDMA_WRITE, 1000, 0, 0);
		end_wait_for(&a, 1000, IBV_WC_SUCCESS);
	}
	ends_close(&a, &b);
}
END_TEST

START_TEST(every_mtu)
{
	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		struct end_cfg cfg = { .mtu = (enum ibv_mtu)mtu };
		struct end a, b;

		ends_open(&a, &b, &cfg);
		fill(a.memory, 100001, (uint32_t)mtu);
		end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 100001);
		end_wait_for(&a, 1, IBV_WC_SUCCESS);
		expect_filled(b.memory, 100001, (uint32_t)mtu);
		memset(a.memory, 0, 100001);
		end_post(&a, IBV_WR_RDMA_READ, 2, 0, 100001);
		end_wait_for(&a, 2, IBV_WC_SUCCESS);
		expect_filled(a.memory, 100001, (uint32_t)mtu);
		ends_close(&a, &b);
	}
}
END_TEST

START_TEST(receiver_not_ready_is_waited_for)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	end_post(&a, IBV_WR_SEND, 1, 0, 100);
	end_expect_nothing(&a);
	end_recv(&b, 2, 0, 100);
	end_wait_for(&b, 2, IBV_WC_SUCCESS);
	end_wait_for(&a, 1, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(receiver_never_ready)
{
	struct end_cfg cfg = { .no_retry = true };
	struct end a, b;

	ends_open(&a, &b, &cfg);
	end_post(&a, IBV_WR_SEND, 1, 0, 100);
	end_post(&a, IBV_WR_SEND, 2, 0, 100);
	end_wait_for(&a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	end_wait_for(&a, 2, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(end_state(&a), IBV_QPS_ERR);
	ck_assert_int_eq(end_state(&b), IBV_QPS_RTS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(nobody_there)
{
	struct end_cfg cfg = { .timeout = 4, .no_retry = true };
	struct end a;
	struct end_address peer;

	end_open(&a, NULL, &cfg);
	peer = end_address(&a);
	peer.qpn ^= 0x800; /* a number of ours that no QP has */
	end_connect(&a, &peer);
	end_recv(&a, 7, 0, 100);
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 100);
	end_wait_for(&a, 1, IBV_WC_RETRY_EXC_ERR);
	end_wait_for(&a, 7, IBV_WC_WR_FLUSH_ERR);
	end_close(&a);
}
END_TEST

/* The other process: its memory is served while it does nothing, then it sends back what it got. */
static void serve(int sock)
{
	struct end end;
	struct end_address peer;

	end_open(&end, NULL, NULL);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	for (uint32_t i = 0; i < SIZES; i++)
		end_recv(&end, i, 2u << 20, 2u << 20);
	meet(sock);
	meet(sock); /* asleep in here, while it is written to, read and added to */
	for (uint32_t i = 0; i < SIZES; i++) {
		uint32_t len = end_wait_for(&end, i, IBV_WC_SUCCESS).byte_len;

		end_post(&end, IBV_WR_SEND, 100 + i, 2u << 20, len);
		end_wait_for(&end, 100 + i, IBV_WC_SUCCESS);
	}
	meet(sock);
	end_close(&end);
}

START_TEST(two_processes)
{
	struct end a;
	struct end_address peer;
	pid_t pid;
	int sock = beside(serve, &pid);

	end_open(&a, NULL, NULL);
	peer = swap_addresses(sock, &a);
	end_connect(&a, &peer);
	meet(sock);
	for (uint32_t i = 0; i < 50; i++) {
		fill(a.memory, 70000, i);
		end_post(&a, IBV_WR_RDMA_WRITE, i, 0, 70000);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		memset(a.memory, 0, 70000);
		end_post(&a, IBV_WR_RDMA_READ, i, 0, 70000);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		expect_filled(a.memory, 70000, i);
	}
	meet(sock);
	for (uint32_t i = 0; i < SIZES; i++) {
		fill(a.memory, sizes[i], i);
		end_recv(&a, i, 2u << 20, 2u << 20);
		end_post(&a, IBV_WR_SEND, 100 + i, 0, sizes[i]);
		end_wait_for(&a, 100 + i, IBV_WC_SUCCESS);
		ck_assert_uint_eq(end_wait_for(&a, i, IBV_WC_SUCCESS).byte_len, sizes[i]);
		expect_filled(a.memory + (2u << 20), sizes[i], i);
	}
	meet(sock);
	end_close(&a);
	join(pid, sock);
}
END_TEST

/* Back to INIT, as after creation. */
static void start_over(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET, .port_num = 1 };

	ck_assert_int_eq(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_INIT;
	attr.qp_access_flags = FIXTURE_ALL_RIGHTS;
	ck_assert_int_eq(
		ibv_modify_qp(end->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
}

static void reconnect(struct end *a, struct end *b)
{
	const struct end_address of_b = a->peer, of_a = b->peer;

	start_over(a);
	start_over(b);
	end_connect(a, &of_b);
	end_connect(b, &of_a);
}

/* A pair of queue pairs connects again with the same PSNs while a packet of its last connection
 * waits in the socket. */
START_TEST(a_connection_gets_nothing_of_the_last_one)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	for (uint32_t i = 0; i < 200; i++) {
		fill(a.memory, 100, 1000 + i);
		end_post(&a, IBV_WR_SEND, 1, 0, 100);
		reconnect(&a, &b);
		end_recv(&b, 2, 0, 100);
		fill(a.memory, 100, i);
		end_post(&a, IBV_WR_SEND, 3, 0, 100);
		end_wait_for(&b, 2, IBV_WC_SUCCESS);
		expect_filled(b.memory, 100, i);
		end_wait_for(&a, 3, IBV_WC_SUCCESS);
		reconnect(&a, &b);
	}
	ends_close(&a, &b);
}
END_TEST

/* Takes messages in each life of the connection. Its byte says that the ACK of the last one is with
 * the kernel: a delayed ACK leaves before ERR. */
static void acknowledge_and_reconnect(int sock)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct end_address peer;
	struct end end;

	end_open(&end, NULL, NULL);
	peer = swap_addresses(sock, &end);
	for (int life = 0; life < LIVES; life++) {
		end_connect(&end, &peer);
		for (uint32_t i = 0; i < MESSAGES; i++)
			end_recv(&end, i, 0, 100);
		meet(sock);
		for (uint32_t i = 0; i < MESSAGES; i++)
			end_wait_for(&end, i, IBV_WC_SUCCESS);
		ck_assert_int_eq(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE), 0);
		meet(sock);
		start_over(&end);
	}
	end_close(&end);
}

/* The peer has acknowledged a request before the program moves the queue pair to ERR: the request
 * has succeeded. The program polls for the messages before it, which keeps other threads from the
 * socket. */
START_TEST(acknowledged_before_error)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct end_address peer;
	struct end a;
	pid_t pid;
	int sock = beside(acknowledge_and_reconnect, &pid);

	end_open(&a, NULL, NULL);
	peer = swap_addresses(sock, &a);
	for (int life = 0; life < LIVES; life++) {
		end_connect(&a, &peer);
		meet(sock);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			end_post(&a, IBV_WR_SEND, i, 0, 100);
			if (i + 1 < MESSAGES)
				end_wait_for(&a, i, IBV_WC_SUCCESS);
		}
		meet(sock);
		ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
		end_wait_for(&a, MESSAGES - 1, IBV_WC_SUCCESS);
		start_over(&a);
	}
	end_close(&a);
	join(pid, sock);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, sends_of_every_size);
	tcase_add_test(tests, writes_and_reads_of_every_size);
	tcase_add_test(tests, immediate_data);
	tcase_add_test(tests, atomics);
	tcase_add_test(tests, gather_and_scatter);
	tcase_add_test(tests, inline_data_is_taken_at_once);
	tcase_add_test(tests, completions_keep_their_order);
	tcase_add_test(tests, every_mtu);
	tcase_add_test(tests, receiver_not_ready_is_waited_for);
	tcase_add_test(tests, receiver_never_ready);
	tcase_add_test(tests, nobody_there);
	tcase_add_test(tests, two_processes);
	tcase_add_test(tests, a_connection_gets_nothing_of_the_last_one);
	tcase_add_test(tests, acknowledged_before_error);
}

int main(void)
{
	return fixture_main("verbs_rc", add);
}
