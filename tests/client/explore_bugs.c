// SPDX-License-Identifier: MIT
/* Programs with a mistake of order or of loss, for rxe_dm explore, and the same programs corrected.
 * Each has both ends of its connections in one process.
 *
 * usage: explore_bugs PROGRAM [corrected] */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS	      16u
#define LEN	      64u
#define RECEIVES      3u
#define MOST_FAILURES 8u

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t memory[4096];
};

/* A connection: requests go from a to b. */
struct pair {
	struct end a, b;
	uint8_t rnr_retry;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static union ibv_gid gid;
static bool corrected;

_Noreturn static void fail(const char *why)
{
	printf("%s\n", why);
	exit(1);
}

static void need(bool condition, const char *what)
{
	if (!condition)
		fail(what);
}

/* A verb that fails is no mistake of the program, which ends in order. */
static void need_verb(bool done, const char *verb)
{
	if (done)
		return;
	printf("gives up: %s failed\n", verb);
	exit(0);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need_verb(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	need_verb(context, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	need_verb(pd && ibv_query_gid(context, 1, 0, &gid) == 0, "ibv_alloc_pd, ibv_query_gid");
}

static void end_open(struct end *end, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 64, 64, 1, 1, 0 } };

	end->cq = cq ? cq : ibv_create_cq(context, 256, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = end->cq;
	end->qp = end->cq ? ibv_create_qp(pd, &attr) : NULL;
	end->mr = ibv_reg_mr(pd, end->memory, sizeof(end->memory),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ);
	need_verb(end->qp && end->mr, "queue pair and region");
}

static void end_connect(struct end *end, const struct end *peer, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	need_verb(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE) == 0, "RESET");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT,
				     .port_num = 1,
				     .qp_access_flags =
					     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
	need_verb(ibv_modify_qp(end->qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS) == 0,
		  "INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qp->qp_num,
				     .max_dest_rd_atomic = 4,
				     .min_rnr_timer = 1,
				     .ah_attr = { .is_global = 1,
						  .port_num = 1,
						  .grh = { .dgid = gid, .hop_limit = 64 } } };
	need_verb(ibv_modify_qp(end->qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER) == 0,
		  "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = rnr_retry,
				     .max_rd_atomic = 4 };
	need_verb(ibv_modify_qp(end->qp, &attr,
				IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		  "RTS");
}

static void pair_connect(struct pair *pair)
{
	end_connect(&pair->a, &pair->b, pair->rnr_retry);
	end_connect(&pair->b, &pair->a, pair->rnr_retry);
}

static void pair_open(struct pair *pair, struct ibv_cq *cq, uint8_t rnr_retry)
{
	pair->rnr_retry = rnr_retry;
	end_open(&pair->a, cq);
	end_open(&pair->b, NULL);
	pair_connect(pair);
}

static void post(struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)pair->a.memory, LEN, pair->a.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED | flags,
				  .wr.rdma = { (uintptr_t)pair->b.memory, pair->b.mr->rkey } };
	struct ibv_send_wr *bad;

	need_verb(ibv_post_send(pair->a.qp, &wr, &bad) == 0, "ibv_post_send");
}

static void receive(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->memory + 2048, LEN, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	need_verb(ibv_post_recv(end->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static struct ibv_wc next(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (n == 0);
	need(n == 1, "ibv_poll_cq");
	return wc;
}

static void drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		continue;
}

static void need_good(struct ibv_wc wc)
{
	need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

static bool holds(const uint8_t *memory, unsigned int value)
{
	return memory[0] == value && memory[LEN - 1] == value;
}

/* Takes the completion of the second write, on another connection, as that of the first as well. */
static void early_ack(void)
{
	static struct pair data, flag;

	pair_open(&data, NULL, 7);
	pair_open(&flag, data.a.cq, 7);
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		unsigned int done = 0; /* bits: wr_ids */

		memset(data.a.memory, (int)round, LEN);
		memset(flag.a.memory, (int)round, LEN);
		post(&data, IBV_WR_RDMA_WRITE, 1, 0);
		post(&flag, IBV_WR_RDMA_WRITE, 2, 0);
		while (!(done & 2) || (corrected && done != 3)) {
			const struct ibv_wc wc = next(data.a.cq);

			need_good(wc);
			done |= (unsigned int)wc.wr_id;
		}
		need(holds(data.b.memory, round) && holds(flag.b.memory, round),
		     "a write is not there");
		if (done != 3)
			need_good(next(data.a.cq));
	}
}

/* A send that ends in an RNR error does not give its credit back. */
static void lost_credit(void)
{
	static struct pair pair;
	unsigned int credits = 1, failures = 0;

	pair_open(&pair, NULL, 0);
	for (unsigned int round = 0; round < ROUNDS;) {
		struct ibv_wc wc;

		receive(&pair.b);
		need(credits > 0, "no credit is left");
		credits--;
		post(&pair, IBV_WR_SEND, round, 0);
		wc = next(pair.a.cq);
		if (wc.status == IBV_WC_SUCCESS) {
			need_good(next(pair.b.cq));
			credits++;
			round++;
			continue;
		}
		need(++failures < MOST_FAILURES, ibv_wc_status_str(wc.status));
		credits += corrected;
		pair_connect(&pair);
		drain(pair.a.cq);
		drain(pair.b.cq);
	}
}

/* After a failure the receive that the failed message would have used is not posted again. */
static void forgotten_receive(void)
{
	static struct pair pair;
	unsigned int failures = 0, posted = 0;

	pair_open(&pair, NULL, 2);
	for (unsigned int round = 0; round < ROUNDS;) {
		unsigned int good = 0;

		for (; posted < RECEIVES; posted++)
			receive(&pair.b);
		for (unsigned int i = 0; i < RECEIVES; i++)
			post(&pair, IBV_WR_SEND, i, 0);
		for (unsigned int i = 0; i < RECEIVES; i++)
			good += next(pair.a.cq).status == IBV_WC_SUCCESS;
		posted = 0;
		if (good == RECEIVES) {
			for (unsigned int i = 0; i < RECEIVES; i++)
				need_good(next(pair.b.cq));
			round++;
			continue;
		}
		need(++failures < MOST_FAILURES, "the connection fails again and again");
		pair_connect(&pair);
		drain(pair.a.cq);
		drain(pair.b.cq);
		if (!corrected)
			posted = 1;
	}
}

/* A request that failed is freed where it fails, and with those that were flushed. */
static void double_free(void)
{
	static struct pair pair;
	void *requests[RECEIVES];
	bool failed = false;

	pair_open(&pair, NULL, 7);
	for (unsigned int round = 0; round < ROUNDS && !failed; round++) {
		for (unsigned int i = 0; i < RECEIVES; i++) {
			requests[i] = malloc(LEN);
			post(&pair, IBV_WR_RDMA_WRITE, (uintptr_t)requests[i], 0);
		}
		for (unsigned int i = 0; i < RECEIVES; i++) {
			const struct ibv_wc wc = next(pair.a.cq);

			failed |= wc.status != IBV_WC_SUCCESS;
			if (!corrected && failed && wc.status != IBV_WC_WR_FLUSH_ERR)
				free((void *)(uintptr_t)wc.wr_id);
		}
		for (unsigned int i = 0; i < RECEIVES; i++)
			free(requests[i]);
	}
}

/* Sends what a READ has brought, without a fence: another connection's completion is taken as a
 * sign that the READ is over. */
static void missing_fence(void)
{
	static struct pair pair, other;

	pair_open(&pair, NULL, 7);
	pair_open(&other, NULL, 7);
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		memset(pair.a.memory, 0, LEN);
		memset(pair.b.memory, (int)round, LEN);
		receive(&pair.b);
		post(&pair, IBV_WR_RDMA_READ, 1, 0);
		post(&other, IBV_WR_RDMA_WRITE, 2, 0);
		need_good(next(other.a.cq));
		post(&pair, IBV_WR_SEND, 3, corrected ? IBV_SEND_FENCE : 0);
		need_good(next(pair.b.cq));
		need(holds(pair.b.memory + 2048, round), "what was sent is not what was read");
		need_good(next(pair.a.cq));
		need_good(next(pair.a.cq));
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = { { "early_ack", early_ack },
			 { "lost_credit", lost_credit },
			 { "forgotten_receive", forgotten_receive },
			 { "double_free", double_free },
			 { "missing_fence", missing_fence } };

	corrected = argc > 2 && strcmp(argv[2], "corrected") == 0;
	for (size_t i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (strcmp(programs[i].name, argv[1]) != 0)
			continue;
		open_device();
		programs[i].run();
		printf("good\n");
		return 0;
	}
	fprintf(stderr, "usage: explore_bugs early_ack|lost_credit|forgotten_receive|double_free|"
			"missing_fence [corrected]\n");
	return 2;
}
