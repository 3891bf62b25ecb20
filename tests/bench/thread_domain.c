// SPDX-License-Identifier: MIT
/* What a thread domain saves: the lock of a completion queue at each poll. The same queue is polled
 * with and without one, one entry at a time: while it is full (of flushed receives, so that nothing
 * but the poll is measured), and while it is empty (then each poll also runs the engine, beside
 * which a lock is little).
 *
 * usage: rxe_dm run -- thread_domain */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRIES	    4096
#define ROUNDS	    100
#define EMPTY_POLLS 100000
#define REPEATS	    5

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

struct bench {
	struct ibv_context *context;
	struct ibv_pd *pd, *parent;
	struct ibv_td *td;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void open_bench(struct bench *b, struct ibv_context *context, int with_td)
{
	struct ibv_td_init_attr no_attr = { 0 };
	struct ibv_parent_domain_init_attr parent = { 0 };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = ENTRIES,
					       .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_qp_init_attr qp_attr = {
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = ENTRIES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ibv_cq_ex *cq;

	b->context = context;
	b->pd = parent.pd = ibv_alloc_pd(context);
	b->td = parent.td = with_td ? ibv_alloc_td(context, &no_attr) : NULL;
	b->parent = cq_attr.parent_domain = ibv_alloc_parent_domain(context, &parent);
	if (!b->parent)
		die("ibv_alloc_parent_domain");
	cq = ibv_create_cq_ex(context, &cq_attr);
	if (!cq)
		die("ibv_create_cq_ex");
	b->cq = qp_attr.send_cq = qp_attr.recv_cq = ibv_cq_ex_to_cq(cq);
	b->qp = ibv_create_qp(b->parent, &qp_attr);
	if (!b->qp)
		die("ibv_create_qp");
	errno = ibv_modify_qp(b->qp, &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (errno)
		die("to INIT");
	errno = ibv_modify_qp(b->qp, &err, IBV_QP_STATE);
	if (errno)
		die("to ERR");
}

static void close_bench(struct bench *b)
{
	if (ibv_destroy_qp(b->qp) || ibv_destroy_cq(b->cq) || ibv_dealloc_pd(b->parent) ||
	    (b->td && ibv_dealloc_td(b->td)) || ibv_dealloc_pd(b->pd))
		die("closing");
}

/* ns a poll. */
static double poll_full(struct bench *b)
{
	double spent = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct ibv_recv_wr wr = { 0 }, *bad;
		struct ibv_wc wc;
		double begin;

		for (int i = 0; i < ENTRIES; i++) {
			if (ibv_post_recv(b->qp, &wr, &bad))
				die("ibv_post_recv");
		}
		begin = now_ns();
		for (int i = 0; i < ENTRIES; i++) {
			if (ibv_poll_cq(b->cq, 1, &wc) != 1)
				die("the queue is not full");
		}
		spent += now_ns() - begin;
	}
	return spent / ((double)ROUNDS * ENTRIES);
}

static double poll_empty(struct bench *b)
{
	double begin = now_ns();
	struct ibv_wc wc;

	for (int i = 0; i < EMPTY_POLLS; i++) {
		if (ibv_poll_cq(b->cq, 1, &wc) != 0)
			die("the queue is not empty");
	}
	return (now_ns() - begin) / EMPTY_POLLS;
}

static void report(const char *what, double without, double with)
{
	printf("%-28s %8.1f ns %8.1f ns   %.2f\n", what, without, with, with / without);
}

/* The best of some: what else the machine does is not of interest. In turns, so that both see the
 * same machine. */
int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	double full[2] = { 1e12, 1e12 }, empty[2] = { 1e12, 1e12 };
	struct ibv_context *context;

	if (!list || !list[0])
		die("no device");
	context = ibv_open_device(list[0]);
	if (!context)
		die("ibv_open_device");
	ibv_free_device_list(list);
	for (int i = 0; i < 2 * REPEATS; i++) {
		struct bench b;
		double ns;

		open_bench(&b, context, i % 2);
		ns = poll_full(&b);
		full[i % 2] = ns < full[i % 2] ? ns : full[i % 2];
		ns = poll_empty(&b);
		empty[i % 2] = ns < empty[i % 2] ? ns : empty[i % 2];
		close_bench(&b);
	}
	printf("%-28s %11s %11s   %s\n", "a poll of one entry", "without td", "with td", "ratio");
	report("of a full queue", full[0], full[1]);
	report("of an empty queue", empty[0], empty[1]);
	ibv_close_device(context);
	return EXIT_SUCCESS;
}
