// SPDX-License-Identifier: MIT
/* How many messages of an unreliable service arrive, and that each is one that was sent, whole:
 * `verbs_count ud|uc BYTES`. All are sent into receives that were posted before, so only the
 * network, or a fault rule, can take one away. The numbers are for the case that knows the rules:
 * they are printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"

#define MESSAGES    400u
#define RECEIVES    1000u
#define SLOT	    4224u
#define IN_FLIGHT   64u
#define GRH	    40u
#define QUIET_NS    300000000u
#define QUIET_POLLS 500u

static struct end_cfg cfg = { .wrs = RECEIVES, .cqe = 4096, .mtu = IBV_MTU_1024 };
static uint32_t message_bytes;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t header(void)
{
	return cfg.type == IBV_QPT_UD ? GRH : 0;
}

/* The fixture's memory is too small for all receives: they get memory of their own. */
static struct ibv_mr *post_receives(struct end *end, uint8_t *slots)
{
	struct ibv_mr *mr =
		ibv_reg_mr(end->pd, slots, (size_t)RECEIVES * SLOT, IBV_ACCESS_LOCAL_WRITE);

	ck_assert_ptr_nonnull(mr);
	for (uint32_t i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = { (uintptr_t)(slots + (size_t)i * SLOT), SLOT, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		ck_assert_int_eq(ibv_post_recv(end->qp, &wr, &bad), 0);
	}
	return mr;
}

struct tally {
	uint32_t arrived, distinct;
	bool seen[MESSAGES];
};

static void count(struct tally *tally, const struct ibv_wc *wc, const uint8_t *slots)
{
	const uint32_t number = be32toh(wc->imm_data);

	ck_assert_msg(wc->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc->status));
	ck_assert_uint_lt(number, MESSAGES);
	ck_assert_uint_eq(wc->byte_len, header() + message_bytes);
	expect_filled(slots + wc->wr_id * SLOT + header(), message_bytes, number);
	tally->arrived++;
	tally->distinct += !tally->seen[number];
	tally->seen[number] = true;
}

/* Until nothing has come for a while, having looked for it. */
static void receive(struct end *end, struct tally *tally, const uint8_t *slots)
{
	uint64_t last_ns = now_ns();
	uint32_t polls = 0;

	while (polls++ < QUIET_POLLS || now_ns() - last_ns < QUIET_NS) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(end->cq, 1, &wc);

		ck_assert_int_ge(n, 0);
		if (n == 0)
			continue;
		count(tally, &wc, slots);
		last_ns = now_ns();
		polls = 0;
	}
}

static void receiver(int sock)
{
	uint8_t *slots = calloc(RECEIVES, SLOT);
	struct tally tally = { 0 };
	struct end_address peer;
	struct ibv_mr *mr;
	struct end end;

	end_open(&end, NULL, &cfg);
	peer = swap_addresses(sock, &end);
	mr = post_receives(&end, slots);
	end_connect(&end, &peer);
	meet(sock);
	receive(&end, &tally, slots); /* may end early where the sender is slow: it goes on below */
	meet(sock);
	receive(&end, &tally, slots);
	printf("%u sent, %u arrived, %u of them for the first time\n", MESSAGES, tally.arrived,
	       tally.distinct);
	fflush(stdout);
	meet(sock);
	ck_assert_int_eq(ibv_destroy_qp(end.qp), 0);
	end.qp = NULL;
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	end_close(&end);
	free(slots);
}

START_TEST(counted)
{
	struct end_address peer;
	struct end end;
	pid_t pid;
	int sock = beside(receiver, &pid);
	uint32_t done = 0;

	ck_assert_uint_le(header() + message_bytes, SLOT);
	end_open(&end, NULL, &cfg);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	meet(sock);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint8_t *bytes = end.memory + (size_t)(i % IN_FLIGHT) * SLOT;

		for (; i - done >= IN_FLIGHT; done++)
			ck_assert_int_eq(end_wait(&end).status, IBV_WC_SUCCESS);
		fill(bytes, message_bytes, i);
		end_post(&end, IBV_WR_SEND_WITH_IMM, i, (size_t)(bytes - end.memory),
			 message_bytes);
	}
	for (; done < MESSAGES; done++)
		ck_assert_int_eq(end_wait(&end).status, IBV_WC_SUCCESS);
	meet(sock);
	meet(sock);
	end_close(&end);
	join(pid, sock);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, counted);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: verbs_count ud|uc BYTES\n");
		return 2;
	}
	cfg.type = strcmp(argv[1], "ud") == 0 ? IBV_QPT_UD : IBV_QPT_UC;
	message_bytes = (uint32_t)atoi(argv[2]);
	return fixture_main("count", add);
}
