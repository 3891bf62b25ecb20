// SPDX-License-Identifier: MIT
/* Datagrams, multicast groups, and unreliable connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "fixture.h"

#define GRH 40

static const struct end_cfg datagram = { .type = IBV_QPT_UD };
static const struct end_cfg unreliable = { .type = IBV_QPT_UC };

static bool is_v4(const union ibv_gid *gid)
{
	static const union ibv_gid mapped = { .raw = { [10] = 0xff, [11] = 0xff } };

	return memcmp(gid, &mapped, 12) == 0;
}

/* The GRH has the shape of an IPv6 header. */
static void expect_ipv6_header(const uint8_t *grh, const struct end *to, uint32_t payload)
{
	ck_assert_uint_eq(grh[0] >> 4, 6);
	ck_assert_uint_eq((uint32_t)grh[4] << 8 | grh[5], 8 + 12 + 8 + payload + 4);
	ck_assert_mem_eq(grh + 24, to->peer.gid.raw, 16);
}

/* The IPv4 header that stands at the end of the room for the GRH. */
static void expect_ipv4_header(const uint8_t *grh, const struct end *to, uint32_t payload)
{
	const uint8_t *ip = grh + GRH - 20;
	uint32_t sum = 0;

	ck_assert_uint_eq(ip[0], 0x45);
	ck_assert_uint_eq(ip[9], 17);
	ck_assert_uint_eq((uint32_t)ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + payload + 4);
	ck_assert_mem_eq(ip + 16, to->peer.gid.raw + 12, 4);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	ck_assert_uint_eq((sum >> 16) + (sum & 0xffff), 0xffff);
}

START_TEST(datagrams)
{
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, &datagram);
	for (uint32_t len = 0; len <= 1024; len += 64) {
		fill(a.memory, len, len);
		end_recv(&b, len, 0, GRH + 1024);
		end_post(&a, len % 128 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, len, 0, len);
		wc = end_wait_for(&b, len, IBV_WC_SUCCESS);
		ck_assert_uint_eq(wc.byte_len, len + GRH);
		ck_assert_uint_eq(wc.src_qp, a.qp->qp_num);
		ck_assert(wc.wc_flags & IBV_WC_GRH);
		ck_assert_uint_eq(wc.sl, is_v4(&b.peer.gid) ? 2 : 1); /* what frame it came in */
		if (len % 128)
			ck_assert_uint_eq(be32toh(wc.imm_data), len);
		expect_filled(b.memory + GRH, len, len);
		if (!is_v4(&b.peer.gid))
			expect_ipv6_header(b.memory, &b, len + (len % 128 ? 4 : 0));
		else if (len % 128 == 0)
			expect_ipv4_header(b.memory, &b, len);
		end_wait_for(&a, len, IBV_WC_SUCCESS);
	}
	ends_close(&a, &b);
}
END_TEST

/* An address handle made from what came answers it. */
START_TEST(answer_to_the_sender)
{
	struct end a, b;
	struct ibv_wc wc;

	ends_open(&a, &b, &datagram);
	end_recv(&b, 1, 0, GRH + 100);
	end_recv(&a, 2, 0, GRH + 100);
	end_post(&a, IBV_WR_SEND, 3, 1000, 100);
	wc = end_wait_for(&b, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_ah(b.ah), 0);
	b.ah = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)(void *)b.memory, 1);
	ck_assert_ptr_nonnull(b.ah);
	b.peer.qpn = wc.src_qp;
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	end_post(&b, IBV_WR_SEND, 4, 1000, 100);
	end_wait_for(&b, 4, IBV_WC_SUCCESS);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(wrong_qkey_is_dropped)
{
	struct end a, b;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	ends_open(&a, &b, &datagram);
	end_recv(&b, 1, 0, GRH + 100);
	wr = end_wr(&a, &sge, IBV_WR_SEND, 2, 0, 100);
	wr.wr.ud.remote_qkey ^= 1;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	end_post(&a, IBV_WR_SEND, 3, 0, 50);
	ck_assert_uint_eq(end_wait_for(&b, 1, IBV_WC_SUCCESS).byte_len, GRH + 50);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(longer_than_a_packet)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct end a, b;

	ends_open(&a, &b, &datagram);
	wr = end_wr(&a, &sge, IBV_WR_SEND, 2, 0, 4097);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert_int_eq(end_wait(&a).status, IBV_WC_LOC_LEN_ERR);
	ck_assert_int_eq(end_state(&a), IBV_QPS_SQE);
	ends_close(&a, &b);
}
END_TEST

START_TEST(no_receive_no_harm)
{
	struct end a, b;

	ends_open(&a, &b, &datagram);
	for (uint32_t i = 0; i < 20; i++) {
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	end_expect_nothing(&b);
	end_recv(&b, 1, 0, GRH + 100);
	end_post(&a, IBV_WR_SEND, 50, 0, 10);
	ck_assert_uint_eq(end_wait_for(&b, 1, IBV_WC_SUCCESS).byte_len, GRH + 10);
	ends_close(&a, &b);
}
END_TEST

static union ibv_gid group_gid(const char *address)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	ck_assert_int_eq(inet_pton(AF_INET, address, gid.raw + 12), 1);
	return gid;
}

/* Of the family that the device has, and with the end of its address: another device of this host
 * has another group. */
static union ibv_gid group_of(const struct end *end)
{
	const union ibv_gid *own = &end->peer.gid;
	union ibv_gid gid = is_v4(own) ? group_gid("239.0.0.0")
				       : (union ibv_gid){ .raw = { 0xff, 0x15, [12] = 0x77 } };

	memcpy(gid.raw + 13, own->raw + 13, 3);
	return gid;
}

START_TEST(multicast)
{
	union ibv_gid group;
	struct end a, b, c;
	struct end_address to;

	ends_open(&a, &b, &datagram);
	group = group_of(&a);
	end_open(&c, a.context, &datagram);
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &group, 0), 0);
	ck_assert_int_eq(ibv_attach_mcast(c.qp, &group, 0), 0);
	ck_assert_int_eq(ibv_destroy_qp(c.qp), EBUSY);
	to = (struct end_address){ .gid = group, .qpn = 0xffffff };
	ck_assert_int_eq(ibv_destroy_ah(a.ah), 0);
	end_connect(&a, &to);
	end_recv(&b, 1, 0, GRH + 100);
	end_recv(&c, 2, 0, GRH + 100);
	fill(a.memory, 100, 6);
	end_post(&a, IBV_WR_SEND, 3, 0, 100);
	ck_assert_uint_eq(end_wait_for(&b, 1, IBV_WC_SUCCESS).byte_len, GRH + 100);
	end_wait_for(&c, 2, IBV_WC_SUCCESS);
	expect_filled(b.memory + GRH, 100, 6);
	expect_filled(c.memory + GRH, 100, 6);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_detach_mcast(c.qp, &group, 0), 0);
	ck_assert_int_eq(ibv_detach_mcast(c.qp, &group, 0), EINVAL);
	ck_assert_int_eq(ibv_detach_mcast(b.qp, &group, 0), 0);
	end_close(&c);
	ends_close(&a, &b);
}
END_TEST

/* The wire has 24 bits for a queue pair's number, and adapters use those. */
START_TEST(more_than_24_bits)
{
	struct end a, b;

	ends_open(&a, &b, &datagram);
	a.peer.qpn |= 0xff000000;
	end_recv(&b, 1, 0, GRH + 100);
	fill(a.memory, 100, 8);
	end_post(&a, IBV_WR_SEND, 2, 0, 100);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory + GRH, 100, 8);
	ends_close(&a, &b);
}
END_TEST

START_TEST(datagrams_only)
{
	static const enum ibv_wr_opcode none[] = {
		IBV_WR_RDMA_WRITE,	   IBV_WR_RDMA_WRITE_WITH_IMM,	IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
	};
	struct ibv_send_wr wr, *bad = NULL;
	struct ibv_sge sge;
	struct end a, b;

	ends_open(&a, &b, &datagram);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		wr = end_wr(&a, &sge, IBV_WR_SEND, 1, 0, 8);
		wr.opcode = none[i];
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
		ck_assert_ptr_eq(bad, &wr);
	}
	ck_assert_int_eq(end_state(&a), IBV_QPS_RTS);
	ends_close(&a, &b);
}
END_TEST

START_TEST(multicast_refused)
{
	union ibv_gid group = group_gid("239.1.2.3"), single = group_gid("127.0.0.1");
	struct end a, b;

	end_open(&a, NULL, &datagram);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &single, 0), EINVAL);
	end_open(&b, a.context, NULL);
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &group, 0), EINVAL);
	ends_close(&a, &b);
}
END_TEST

START_TEST(unreliable_connection)
{
	struct end a, b;

	ends_open(&a, &b, &unreliable);
	fill(a.memory, 100000, 3);
	end_recv(&b, 1, 200000, 100000);
	end_recv(&b, 2, 0, 0);
	end_post(&a, IBV_WR_SEND, 3, 0, 100000);
	end_wait_for(&a, 3, IBV_WC_SUCCESS);
	end_wait_for(&b, 1, IBV_WC_SUCCESS);
	expect_filled(b.memory + 200000, 100000, 3);
	end_post(&a, IBV_WR_RDMA_WRITE_WITH_IMM, 4, 0, 100000);
	end_wait_for(&a, 4, IBV_WC_SUCCESS);
	ck_assert_uint_eq(be32toh(end_wait_for(&b, 2, IBV_WC_SUCCESS).imm_data), 4);
	expect_filled(b.memory, 100000, 3);
	ends_close(&a, &b);
}
END_TEST

START_TEST(unreliable_refuses_reads)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad = NULL;
	struct end a, b;

	ends_open(&a, &b, &unreliable);
	wr = end_wr(&a, &sge, IBV_WR_RDMA_READ, 1, 0, 8);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ck_assert_ptr_eq(bad, &wr);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, datagrams);
	tcase_add_test(tests, answer_to_the_sender);
	tcase_add_test(tests, wrong_qkey_is_dropped);
	tcase_add_test(tests, longer_than_a_packet);
	tcase_add_test(tests, no_receive_no_harm);
	tcase_add_test(tests, multicast);
	tcase_add_test(tests, more_than_24_bits);
	tcase_add_test(tests, datagrams_only);
	tcase_add_test(tests, multicast_refused);
	tcase_add_test(tests, unreliable_connection);
	tcase_add_test(tests, unreliable_refuses_reads);
}

int main(void)
{
	return fixture_main("verbs_ud", add);
}
