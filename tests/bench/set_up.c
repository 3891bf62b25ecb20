// SPDX-License-Identifier: MIT
/* Times what a program does before its first byte and after its last: the device list, the open,
 * each object, each state change, a registration of 4 KiB and of 1 GiB, and the ends of all of
 * them. Two queue pairs of this process are connected to each other; the first byte is a WRITE that
 * is polled for. Prints one line for each step: its name and the median in microseconds; "first" is
 * the first round, in which the 1 GiB was not touched before.
 *
 * rdma_rxe pins the pages that it registers, so its ibv_reg_mr needs no less than the kernel needs
 * to make them present; the line below that of 1 GiB is that part. What its other steps need is
 * known only where its module is loaded: no figures are published that could stand here.
 *
 * usage: rxe_dm run -- set_up [ROUNDS] */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_ROUNDS 1001
#define GIB	   (1ul << 30)

enum step {
	OPEN,
	ALLOC_PD,
	REG_4K,
	REG_1G,
	CREATE_CQ,
	CREATE_QP,
	TO_INIT,
	TO_RTR,
	TO_RTS,
	FIRST_BYTE,
	DESTROY_QP,
	DESTROY_CQ,
	DEREG_1G,
	DEREG_4K,
	DEALLOC_PD,
	CLOSE,
	STEPS,
};

static const char *const names[STEPS] = {
	[OPEN] = "ibv_open_device",	    [ALLOC_PD] = "ibv_alloc_pd",
	[REG_4K] = "ibv_reg_mr, 4 KiB",	    [REG_1G] = "ibv_reg_mr, 1 GiB",
	[CREATE_CQ] = "ibv_create_cq",	    [CREATE_QP] = "ibv_create_qp",
	[TO_INIT] = "ibv_modify_qp, INIT",  [TO_RTR] = "ibv_modify_qp, RTR",
	[TO_RTS] = "ibv_modify_qp, RTS",    [FIRST_BYTE] = "first byte, with its completion",
	[DESTROY_QP] = "ibv_destroy_qp",    [DESTROY_CQ] = "ibv_destroy_cq",
	[DEREG_1G] = "ibv_dereg_mr, 1 GiB", [DEREG_4K] = "ibv_dereg_mr, 4 KiB",
	[DEALLOC_PD] = "ibv_dealloc_pd",    [CLOSE] = "ibv_close_device",
};

static double took_us[STEPS][MAX_ROUNDS];
static double began_us;
static int round_now;

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* The step ends here, the next one begins. */
static void done(enum step step, int good)
{
	const double now = now_us();

	if (!good)
		die(names[step]);
	took_us[step][round_now] += now - began_us;
	began_us = now_us();
}

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	if (list)
		ibv_free_device_list(list);
	return context;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 16, 16, 1, 1, 0 }
	};

	return ibv_create_qp(pd, &init);
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, const struct ibv_qp *peer, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer->qp_num,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12,
				    .ah_attr = { .is_global = 1,
						 .port_num = 1,
						 .grh = { .dgid = *gid, .hop_limit = 1 } } };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1 };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int write_a_byte(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = 1, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;
	int n;

	wr.wr.rdma.remote_addr = sge.addr + 1;
	wr.wr.rdma.rkey = mr->rkey;
	if (ibv_post_send(qp, &wr, &bad))
		return 0;
	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (n == 0);
	return n == 1 && wc.status == IBV_WC_SUCCESS;
}

/* Twice each, once for each end; the figures count one. */
static void connect_qps(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_mr *mr)
{
	struct ibv_qp *a, *b;
	union ibv_gid gid;

	if (ibv_query_gid(pd->context, 1, 0, &gid))
		die("ibv_query_gid");
	began_us = now_us();
	a = create_qp(pd, cq);
	done(CREATE_QP, a != NULL);
	b = create_qp(pd, cq);
	if (!b || to_init(b) || to_rtr(b, a, &gid))
		die("the other queue pair");
	began_us = now_us();
	done(TO_INIT, to_init(a) == 0);
	done(TO_RTR, to_rtr(a, b, &gid) == 0);
	done(TO_RTS, to_rts(a) == 0);
	done(FIRST_BYTE, write_a_byte(a, cq, mr));
	done(DESTROY_QP, ibv_destroy_qp(a) == 0);
	if (ibv_destroy_qp(b))
		die("ibv_destroy_qp");
	began_us = now_us();
}

static void one_round(void *page, void *gib)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_context *context;
	struct ibv_mr *small, *large;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	began_us = now_us();
	context = open_device();
	done(OPEN, context != NULL);
	pd = ibv_alloc_pd(context);
	done(ALLOC_PD, pd != NULL);
	small = ibv_reg_mr(pd, page, 4096, access);
	done(REG_4K, small != NULL);
	large = ibv_reg_mr(pd, gib, GIB, access);
	done(REG_1G, large != NULL);
	cq = ibv_create_cq(context, 32, NULL, NULL, 0);
	done(CREATE_CQ, cq != NULL);
	connect_qps(pd, cq, small);
	done(DESTROY_CQ, ibv_destroy_cq(cq) == 0);
	done(DEREG_1G, ibv_dereg_mr(large) == 0);
	done(DEREG_4K, ibv_dereg_mr(small) == 0);
	done(DEALLOC_PD, ibv_dealloc_pd(pd) == 0);
	done(CLOSE, ibv_close_device(context) == 0);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *map_gib(void)
{
	void *ret = mmap(NULL, GIB, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ret == MAP_FAILED)
		die("mmap");
	return ret;
}

static double populate_us(void *gib)
{
	const double from_us = now_us();

	if (madvise(gib, GIB, MADV_POPULATE_WRITE))
		die("madvise");
	return now_us() - from_us;
}

static void print_kernel_part(void)
{
	void *gib = map_gib();
	const double first_us = populate_us(gib);

	printf("the kernel's part of it=%.1f first %.1f\n", populate_us(gib), first_us);
	munmap(gib, GIB);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 51;
	static _Alignas(4096) char page[4096];
	void *gib = map_gib();

	if (rounds < 1 || rounds > MAX_ROUNDS)
		die("usage: set_up [ROUNDS, at most 1001]");
	for (round_now = 0; round_now < rounds; round_now++)
		one_round(page, gib);
	for (int step = 0; step < STEPS; step++) {
		const double first_us = took_us[step][0];

		qsort(took_us[step], (size_t)rounds, sizeof(double), by_value);
		printf("%s=%.1f first %.1f\n", names[step], took_us[step][rounds / 2], first_us);
		if (step == REG_1G)
			print_kernel_part();
	}
	return 0;
}
