// SPDX-License-Identifier: MIT
/* Stream rsockets against a peer that breaks the protocol: a program of librdmacm that connects as
 * an rsocket does, and sends messages that no rsocket sends. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "fixture.h"
#include "lib/rdmacm/rsocket/message.h"
#include "rsocket_fixture.h"

#define CREDITS 16
#define SENDS	(2 * CREDITS)

static int server; /* the rsocket that is attacked */
static struct rdma_cm_id *peer;
static struct ibv_mr *memory_mr;
static struct {
	struct rs_sge targets[RS_TARGET_SGES]; /* where the server publishes its buffer */
	struct rs_sge entry;		       /* what the peer writes into the server's list */
	char data[8];			       /* what the entry names */
} memory;
static struct rs_sge list; /* the server's target list, in network order */
static uint32_t size;	   /* the bytes of the server's receive buffer */

static void post_receives(int n)
{
	struct ibv_recv_wr recv = { 0 }, *bad;

	for (int i = 0; i < n; i++)
		ck_assert_int_eq(ibv_post_recv(peer->qp, &recv, &bad), 0);
}

static void create_peer(const struct sockaddr_storage *addr)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = SENDS, .max_recv_wr = SENDS, .max_send_sge = 1 },
	};

	ck_assert_int_eq(rdma_create_id(NULL, &peer, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_resolve_addr(peer, NULL, (struct sockaddr *)(uintptr_t)addr, 5000),
			 0);
	ck_assert_int_eq(rdma_resolve_route(peer, 5000), 0);
	ck_assert_int_eq(rdma_create_qp(peer, NULL, &attr), 0);
	memory_mr = ibv_reg_mr(peer->pd, &memory, sizeof(memory),
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ck_assert_ptr_nonnull(memory_mr);
	post_receives(SENDS);
}

static void set_up(void)
{
	struct rs_conn_data data = { .version = RS_VERSION, .credits = htobe16(CREDITS) }, answer;
	struct rdma_conn_param param = { .private_data = &data,
					 .private_data_len = sizeof(data),
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	const int sizes[4] = { CREDITS, CREDITS, 65536, 0 };
	struct sockaddr_storage addr;
	int listener = listen_on_sized(&addr, sizes);

	create_peer(&addr);
	data.targets = (struct rs_sge){ htobe64((uintptr_t)memory.targets),
					htobe32(memory_mr->rkey), htobe32(RS_TARGET_SGES) };
	ck_assert_int_eq(rdma_connect(peer, &param), 0);
	ck_assert_uint_ge(peer->event->param.conn.private_data_len, sizeof(answer));
	memcpy(&answer, peer->event->param.conn.private_data, sizeof(answer));
	ck_assert_uint_eq(be16toh(answer.credits), CREDITS);
	size = 2 * be32toh(answer.buffer.length);
	list = answer.targets;
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(rclose(listener), 0);
}

static void tear_down(void)
{
	ck_assert_int_eq(rclose(server), 0);
	rdma_disconnect(peer);
	ck_assert_int_eq(ibv_dereg_mr(memory_mr), 0);
	rdma_destroy_qp(peer);
	ck_assert_int_eq(rdma_destroy_id(peer), 0);
}

static void post(uint32_t message)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .imm_data = htonl(message) },
			   *bad;

	ck_assert_int_eq(ibv_post_send(peer->qp, &wr, &bad), 0);
}

/* Announces len bytes, of which none is written. */
static void announce(uint32_t len)
{
	post(rs_message(RS_OP_DATA, len));
}

/* What the peer sent has broken the connection: the end in order that follows comes second. */
static void expect_broken(void)
{
	struct pollfd pollfd = { .fd = server };

	post(rs_message(RS_OP_CONTROL, RS_CONTROL_DISCONNECT));
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(pollfd.revents, POLLERR | POLLHUP);
	ck_assert_int_eq(rwrite(server, "x", 1), -1);
	ck_assert_int_eq(errno, EPROTO);
}

START_TEST(more_bytes_than_the_buffer_has)
{
	announce(_i == 0 ? size + 1 : RS_DATA_MASK);
	expect_broken();
}
END_TEST

START_TEST(more_bytes_than_are_free)
{
	announce(1);
	announce(size);
	expect_broken();
}
END_TEST

START_TEST(more_messages_than_credits)
{
	for (int i = 0; i < CREDITS + 1; i++)
		announce(1);
	expect_broken();
}
END_TEST

/* Writes the second entry of the server's list, with the message or before it. The first entry
 * stands for the buffer of the connection's private data. */
static void publish(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)&memory.entry, sizeof(memory.entry), memory_mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .imm_data = htonl(rs_message(RS_OP_CREDITS, CREDITS)),
				  .wr.rdma = { be64toh(list.addr) + sizeof(struct rs_sge),
					       be32toh(list.key) } },
			   *bad;
	struct ibv_wc wc;

	memory.entry = (struct rs_sge){ (uintptr_t)memory.data, memory_mr->rkey, 1 };
	ck_assert_int_eq(ibv_post_send(peer->qp, &wr, &bad), 0);
	while (ibv_poll_cq(peer->send_cq, 1, &wc) == 0)
		;
	ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
}

/* The bytes of a WRITE may come in any order: an entry counts when its message has come. */
START_TEST(an_entry_before_its_message)
{
	struct pollfd pollfd = { .fd = server, .events = POLLOUT };

	ck_assert_int_eq(rfcntl(server, F_SETFL, O_NONBLOCK), 0);
	publish(IBV_WR_RDMA_WRITE);
	ck_assert_int_eq(rwrite(server, "x", 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	publish(IBV_WR_RDMA_WRITE_WITH_IMM);
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(pollfd.revents, POLLOUT);
	ck_assert_int_eq(rwrite(server, "x", 1), 1);
}
END_TEST

START_TEST(more_entries_than_the_list_has)
{
	for (int i = 0; i < RS_TARGET_SGES + 2; i++)
		publish(IBV_WR_RDMA_WRITE_WITH_IMM);
	expect_broken();
}
END_TEST

/* Half the credits: the server grants new ones once it has read these messages. */
static void send_and_read(void)
{
	struct ibv_wc wc;
	char byte;

	for (int i = 0; i < CREDITS / 2; i++) {
		announce(1);
		while (ibv_poll_cq(peer->send_cq, 1, &wc) == 0)
			;
		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		ck_assert_int_eq(rread(server, &byte, 1), 1);
	}
}

/* A peer without receives takes no credits: they wait, in a few entries of the server's send queue,
 * and the others are left to data. */
START_TEST(credits_that_the_peer_does_not_take)
{
	struct ibv_qp_attr soon = { .min_rnr_timer = 1 }; /* 10 us */
	struct pollfd pollfd = { .fd = server, .events = POLLIN };
	struct ibv_wc wc;

	ck_assert_int_eq(ibv_modify_qp(peer->qp, &soon, IBV_QP_MIN_RNR_TIMER), 0);
	for (int i = 0; i < SENDS + 2 * CREDITS; i++)
		send_and_read();
	ck_assert_int_eq(rpoll(&pollfd, 1, 0), 0);
	ck_assert_int_eq(rfcntl(server, F_SETFL, O_NONBLOCK), 0);
	for (int taken = 0; taken < SENDS; taken++)
		ck_assert_int_eq(rdma_get_recv_comp(peer, &wc), 1);
	post_receives(SENDS);
	announce(1);
	ck_assert_int_eq(rpoll(&pollfd, 1, -1), 1);
	ck_assert_int_eq(pollfd.revents, POLLIN);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, more_bytes_than_the_buffer_has, 0, 2);
	tcase_add_test(tests, more_bytes_than_are_free);
	tcase_add_test(tests, more_messages_than_credits);
	tcase_add_test(tests, an_entry_before_its_message);
	tcase_add_test(tests, more_entries_than_the_list_has);
	tcase_add_test(tests, credits_that_the_peer_does_not_take);
}

int main(void)
{
	return fixture_main("rsocket_hostile", add);
}
