// SPDX-License-Identifier: MIT
/* A program that cases_sanitizers.py builds with a sanitizer and runs with the device: two queue
 * pairs with a thread each, and the device's files. Its argument names a bug for the sanitizer to
 * find. */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE  "/sys/class/infiniband/rxe_dm0/ports/1/state"
#define LINK   "/sys/class/infiniband/rxe_dm0/device/infiniband/rxe_dm0"
#define LEN    65536u
#define ROUNDS 200

/* A program's own default options hide those of a preloaded library. */
#ifdef OWN_OPTIONS
const char *__asan_default_options(void)
{
	return "print_summary=1";
}
#endif

struct end {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *bytes;
};

static struct end ends[2];
static int raced;

static void need(int holds, const char *what)
{
	if (holds)
		return;
	printf("FAILED: %s\n", what);
	exit(3);
}

static void end_open(struct end *ret, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	ret->channel = ibv_create_comp_channel(pd->context);
	ret->cq = ibv_create_cq(pd->context, 16, NULL, ret->channel, 0);
	attr.send_cq = attr.recv_cq = ret->cq;
	ret->qp = ibv_create_qp(pd, &attr);
	ret->bytes = calloc(1, LEN);
	ret->mr = ibv_reg_mr(pd, ret->bytes, LEN, IBV_ACCESS_LOCAL_WRITE);
	need(ret->qp && ret->mr, "objects");
}

static void end_close(struct end *end)
{
	ibv_destroy_qp(end->qp);
	ibv_destroy_cq(end->cq);
	ibv_destroy_comp_channel(end->channel);
	ibv_dereg_mr(end->mr);
	free(end->bytes);
}

static void end_connect(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	need(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qp->qp_num,
				     .min_rnr_timer = 1,
				     .ah_attr = { .is_global = 1, .port_num = 1 } };
	ibv_query_gid(end->qp->context, 1, 0, &attr.ah_attr.grh.dgid);
	need(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7
	};
	need(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void post(struct end *end, int sends)
{
	struct ibv_sge sge = { (uintptr_t)end->bytes, LEN, end->mr->lkey };
	struct ibv_send_wr send = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr receive = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_receive;

	need(sends ? !ibv_post_send(end->qp, &send, &bad_send)
		   : !ibv_post_recv(end->qp, &receive, &bad_receive),
	     "post");
}

static void complete(struct end *end)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	ibv_req_notify_cq(end->cq, 0);
	while (ibv_poll_cq(end->cq, 1, &wc) == 0) {
		need(!ibv_get_cq_event(end->channel, &cq, &context), "event");
		ibv_ack_cq_events(cq, 1);
		ibv_req_notify_cq(end->cq, 0);
	}
	need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

/* Receives each message, reads and overwrites it, and answers. */
static void *answer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		complete(&ends[1]);
		need(ends[1].bytes[7] == i && ends[1].bytes[LEN - 9] == i, "bytes");
		memset(ends[1].bytes, 0, LEN);
		post(&ends[1], 0);
		post(&ends[1], 1);
		complete(&ends[1]);
	}
	return arg;
}

static void exchange(void)
{
	pthread_t thread;

	post(&ends[1], 0);
	pthread_create(&thread, NULL, answer, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		memset(ends[0].bytes, i, LEN);
		post(&ends[0], 1);
		complete(&ends[0]);
		post(&ends[0], 0);
		complete(&ends[0]);
	}
	pthread_join(thread, NULL);
}

/* Two threads get the same numbers for descriptors, one after the other. */
static void *reuse_numbers(void *arg)
{
	for (int i = 0; i < 200; i++) {
		const int fd = open(STATE, O_RDONLY);
		char byte;

		need(fd >= 0 && read(fd, &byte, 1) == 1, STATE);
		close(fd);
	}
	return arg;
}

static void *race(void *arg)
{
	for (int i = 0; i < 10000; i++)
		raced++;
	return arg;
}

static void in_two_threads(void *(*what)(void *arg))
{
	pthread_t thread;

	pthread_create(&thread, NULL, what, NULL);
	what(NULL);
	pthread_join(thread, NULL);
}

static void read_files(void)
{
	char state[20] = "", link[20];
	FILE *f = fopen(STATE, "r");

	need(f && fgets(state, sizeof(state), f) && !strcmp(state, "4: ACTIVE\n"), STATE);
	fclose(f);
	need(readlink(LINK, link, sizeof(link)) == 5, LINK);
}

/* volatile: the compiler keeps the bug. */
static void make_bug(const char *name, uint8_t *bytes, volatile size_t len)
{
	if (!strcmp(name, "overflow"))
		bytes[len] = 1;
	if (!strcmp(name, "readlink"))
		need(readlink(LINK, (char *)bytes + len - 2, 3 + (len & 1)) == 3, LINK);
	if (!strcmp(name, "leak"))
		*(void *volatile *)bytes = malloc(1234);
	if (!strcmp(name, "leak"))
		*(void *volatile *)bytes = NULL;
	if (!strcmp(name, "shift"))
		bytes[0] = (uint8_t)(1 << (len & 0x7fff0000));
	if (!strcmp(name, "freed")) {
		post(&ends[0], 0);
		free(ends[0].bytes);
		ends[0].bytes = NULL;
	}
	if (!strcmp(name, "race"))
		in_two_threads(race);
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;

	need(pd != NULL, "device");
	ibv_free_device_list(list);
	for (int i = 0; i < 2; i++)
		end_open(&ends[i], pd);
	for (int i = 0; i < 2; i++)
		end_connect(&ends[i], &ends[!i]);
	exchange();
	read_files();
	in_two_threads(reuse_numbers);
	printf("%s works\n", ibv_get_device_name(context->device));
	fflush(stdout);
	if (argc > 1)
		make_bug(argv[1], ends[0].bytes, LEN);
	for (int i = 0; i < 2; i++)
		end_close(&ends[i]);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	printf("ended\n");
	return 0;
}
