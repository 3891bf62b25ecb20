// SPDX-License-Identifier: MIT
/* Programs that live for one message, one after another: each opens the device, makes a domain, a
 * region, a completion queue and a queue pair that is connected to itself, sends and receives 64
 * bytes, and ends in one of three ways: it destroys what it made; it exits with everything open; it
 * is ended by a signal somewhere on its way. Prints, for each way, how many there were and what a
 * life took from fork() to the end. Fails when one ends in another way.
 *
 * usage: rxe_dm run -- short_lives COUNT [SEED]     short_lives live 0|1: one life; 1: it destroys
 * what it made */
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES 64u

enum way { DESTROYS, EXITS, IS_ENDED, WAYS };

static const char *const name[WAYS] = { "destroys all", "exits at once", "ended by a signal" };

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "short_lives: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void need(int good, const char *what)
{
	if (!good)
		die(what);
}

/* One life. */

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ret = list && list[0] ? ibv_open_device(list[0]) : NULL;

	if (list)
		ibv_free_device_list(list);
	return ret;
}

static int connect_to_itself(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	union ibv_gid gid;

	if (ibv_query_gid(qp->context, 1, 0, &gid) ||
	    ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 0;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .hop_limit = 1 } }
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return 0;
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

static int exchange(struct ibv_qp *qp, struct ibv_mr *mr)
{
	uint8_t *bytes = mr->addr;
	struct ibv_sge from = { (uintptr_t)bytes, BYTES, mr->lkey };
	struct ibv_sge to = { (uintptr_t)bytes + BYTES, BYTES, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	memset(bytes, 0x5a, BYTES);
	if (ibv_post_recv(qp, &recv, &bad_recv) || ibv_post_send(qp, &send, &bad))
		return 0;
	for (int left = 2; left > 0;) {
		struct ibv_wc wc;
		const int n = ibv_poll_cq(qp->send_cq, 1, &wc);

		if (n < 0 || (n && wc.status != IBV_WC_SUCCESS))
			return 0;
		left -= n;
	}
	return memcmp(bytes, bytes + BYTES, BYTES) == 0;
}

static int live(int destroys)
{
	static _Alignas(4096) uint8_t bytes[4096];
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_context *context = open_device();
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	need(context != NULL, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	need(pd != NULL, "ibv_alloc_pd");
	mr = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
	need(mr != NULL, "ibv_reg_mr");
	init.send_cq = init.recv_cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	need(init.send_cq != NULL, "ibv_create_cq");
	qp = ibv_create_qp(pd, &init);
	need(qp != NULL, "ibv_create_qp");
	need(connect_to_itself(qp), "ibv_modify_qp");
	need(exchange(qp, mr), "the message");
	if (destroys)
		need(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(init.send_cq) == 0 &&
			     ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 &&
			     ibv_close_device(context) == 0,
		     "the end");
	return 0;
}

/* Many lives. */

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The timer outlives exec(), and its signal ends a program that has no handler for it. */
static void begin(enum way way, long ends_after_us)
{
	struct itimerval timer = { .it_value = { ends_after_us / 1000000,
						 ends_after_us % 1000000 } };

	if (way == IS_ENDED)
		setitimer(ITIMER_REAL, &timer, NULL);
	execl("/proc/self/exe", "short_lives", "live", way == DESTROYS ? "1" : "0", (char *)NULL);
	_exit(127);
}

/* Returns what the life took, in microseconds, or a negative number when the signal came too
 * late. */
static double run_one(enum way way, long ends_after_us)
{
	const double began = now_us();
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		begin(way, ends_after_us);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("a program");
	if (way == IS_ENDED && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return now_us() - began;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "short_lives: a program that %s: status 0x%x\n", name[way], status);
		exit(EXIT_FAILURE);
	}
	return way == IS_ENDED ? -1 : now_us() - began;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int run_all(size_t count, unsigned int seed)
{
	double *took_us[WAYS];
	size_t n[WAYS] = { 0 };
	double whole_us = 0;

	for (int way = 0; way < WAYS; way++) {
		took_us[way] = calloc(count, sizeof(double));
		need(took_us[way] != NULL, "calloc");
	}
	srandom(seed);
	for (size_t i = 0; i < count; i++) {
		const enum way way = (enum way)(i % WAYS);
		const double us = run_one(way, 1 + random() % (1 + (long)whole_us));

		if (us >= 0)
			took_us[way][n[way]++] = us;
		if (way == DESTROYS)
			whole_us = us;
	}
	for (int way = 0; way < WAYS; way++) {
		qsort(took_us[way], n[way], sizeof(double), by_value);
		printf("%-18s%8zu lives, median %7.0f us, 99%% %7.0f us\n", name[way], n[way],
		       n[way] ? took_us[way][n[way] / 2] : 0,
		       n[way] ? took_us[way][n[way] * 99 / 100] : 0);
		free(took_us[way]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "live") == 0)
		return live(atoi(argv[2]));
	if (argc < 2 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: short_lives COUNT [SEED]\n");
		return 2;
	}
	return run_all((size_t)atoi(argv[1]), argc > 2 ? (unsigned int)atoi(argv[2]) : 1);
}
