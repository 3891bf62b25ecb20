// SPDX-License-Identifier: MIT
/* pthread_cancel(): no verb is a cancellation point, but for the two that wait for an event, and
 * those hold nothing meanwhile. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "points.h"

#define CANCELS	  2000
#define SECONDS	  5
#define MOST_WAIT 40 /* rounds of a thread before it is cancelled */
#define WRITES	  32 /* under way at most */

static void talk(struct end *a, struct end *b)
{
	end_recv(b, 1, 100000, 20000);
	end_post(a, IBV_WR_SEND, 1, 0, 20000);
	end_wait_for(b, 1, IBV_WC_SUCCESS);
	end_wait_for(a, 1, IBV_WC_SUCCESS);
}

static void share(struct ibv_context *context)
{
	struct ibv_context *again = ibv_import_device(dup(context->cmd_fd));

	ck_assert_ptr_nonnull(again);
	ck_assert_int_eq(ibv_close_device(again), 0);
}

static void make_and_destroy(struct ibv_context *context)
{
	const struct end_cfg shared_queue = { .srq = true, .channel = true };
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);
	struct end end;

	ck_assert_ptr_nonnull(dm);
	end_open(&end, context, &shared_queue);
	ck_assert_int_eq(ibv_resize_cq(end.cq, 100), 0);
	end_close(&end);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
}

static void join_group(struct ibv_context *context)
{
	const struct end_cfg datagram = { .type = IBV_QPT_UD };
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct end end;

	end_open(&end, context, &datagram);
	ck_assert_int_eq(ibv_attach_mcast(end.qp, &group, 0), 0);
	ck_assert_int_eq(ibv_detach_mcast(end.qp, &group, 0), 0);
	end_close(&end);
}

static void fail_queue(struct end *a)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	end_recv(a, 2, 0, 8);
	ck_assert_int_eq(ibv_req_notify_cq(a->cq, 0), 0);
	ck_assert_int_eq(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), 0);
	end_wait_for(a, 2, IBV_WC_WR_FLUSH_ERR);
}

START_TEST(no_verb_is_a_cancellation_point)
{
	const struct end_cfg cfg = { .channel = true };
	struct end a, b;

	setenv("VERBS_LOG_LEVEL", "7", 1); /* lines are written as well */
	points_watch(true);
	ends_open(&a, &b, &cfg);
	talk(&a, &b);
	share(a.context);
	make_and_destroy(a.context);
	join_group(a.context);
	a.peer.rkey ^= 5;
	end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 8); /* fails: said by a line */
	end_wait_for(&a, 1, IBV_WC_REM_ACCESS_ERR);
	fail_queue(&b);
	/* The program's last context: closed without its knowledge, its objects go with it. */
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	points_watch(false);
	ck_assert_msg(!points_noted(), "%s() ends a cancelled thread in the middle of a verb",
		      points_noted());
	ck_assert_uint_gt(points_passed(), 0);
	free(a.memory);
	free(b.memory);
}
END_TEST

/* What the threads share. They assert nothing: a thread that is cancelled in the middle of that
 * would hold libcheck's locks. */
static struct end sender, receiver, waiter, waker;
static struct ibv_context *context;
static _Atomic uint32_t under_way, errors;

struct worker {
	bool (*turn)(uint32_t seed); /* false: something went wrong */
	pthread_t thread;
	_Atomic uint32_t rounds;
};

static bool post(uint32_t seed)
{
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = end_wr(&sender, &sge, IBV_WR_RDMA_WRITE, 1, 0, seed % 30000);

	if (atomic_load(&under_way) > WRITES) {
		sched_yield();
		return true;
	}
	atomic_fetch_add(&under_way, 1);
	return ibv_post_send(sender.qp, &wr, &bad) == 0;
}

static bool reap(uint32_t seed)
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(sender.cq, 1 + (int)(seed % 4), wc);

	if (n > 0)
		atomic_fetch_sub(&under_way, (uint32_t)n);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return false;
	}
	return n >= 0;
}

static bool control(uint32_t seed)
{
	static uint8_t memory[4096];
	struct ibv_context *mine = seed % 8 ? context : ibv_open_device(context->device);
	struct ibv_pd *pd = mine ? ibv_alloc_pd(mine) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), FIXTURE_ALL_RIGHTS) : NULL;
	struct ibv_comp_channel *channel = mine ? ibv_create_comp_channel(mine) : NULL;
	struct ibv_cq *cq = channel ? ibv_create_cq(mine, 10, NULL, channel, 0) : NULL;

	return mr && cq && !ibv_dereg_mr(mr) && !ibv_destroy_cq(cq) &&
	       !ibv_destroy_comp_channel(channel) && !ibv_dealloc_pd(pd) &&
	       (mine == context || !ibv_close_device(mine));
}

/* Events of a CQ that gets one for each message of wake(). */
static bool wait_for_event(uint32_t seed)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = seed };
	struct ibv_wc wc[8];
	struct ibv_cq *cq;
	void *arg;
	int n;

	if (ibv_get_cq_event(waiter.channel, &cq, &arg))
		return false;
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		return false;
	while ((n = ibv_poll_cq(cq, 8, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS || ibv_post_recv(waiter.qp, &wr, &bad))
				return false;
		}
	}
	return n == 0;
}

static bool wake(uint32_t seed)
{
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = end_wr(&waker, &sge, IBV_WR_SEND, seed, 0, 0);
	struct ibv_wc wc;
	int n;

	if (ibv_post_send(waker.qp, &wr, &bad))
		return false;
	do {
		n = ibv_poll_cq(waker.cq, 1, &wc);
	} while (n == 0);
	return n == 1 && wc.status == IBV_WC_SUCCESS;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint32_t seed = 0;

	for (;;) {
		if (!worker->turn(seed++))
			atomic_fetch_add(&errors, 1);
		atomic_fetch_add(&worker->rounds, 1);
		pthread_testcancel();
	}
	return NULL;
}

static struct worker workers[] = { { .turn = post }, { .turn = post },		{ .turn = reap },
				   { .turn = reap }, { .turn = control },	{ .turn = control },
				   { .turn = wake }, { .turn = wait_for_event } };

#define NUM_WORKERS (sizeof(workers) / sizeof(workers[0]))

static void start(struct worker *worker)
{
	ck_assert_int_eq(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void cancel(struct worker *worker)
{
	void *value;

	ck_assert_int_eq(pthread_cancel(worker->thread), 0);
	ck_assert_int_eq(pthread_join(worker->thread, &value), 0);
	ck_assert_ptr_eq(value, PTHREAD_CANCELED);
}

static void cancel_at_random(void)
{
	const time_t end = time(NULL) + SECONDS;

	for (uint32_t i = 0; i < CANCELS && time(NULL) < end; i++) {
		struct worker *worker = &workers[(uint32_t)rand() % NUM_WORKERS];
		uint32_t rounds = (uint32_t)rand() % MOST_WAIT;
		uint32_t from = atomic_load(&worker->rounds);

		while (atomic_load(&worker->rounds) - from < rounds)
			sched_yield();
		cancel(worker);
		start(worker);
	}
}

static void open_all(void)
{
	const struct end_cfg cfg = { .channel = true };

	ends_open(&sender, &receiver, NULL);
	ends_open(&waker, &waiter, &cfg);
	context = sender.context;
	for (uint32_t i = 0; i < waiter.cfg.wrs; i++)
		end_recv(&waiter, i, 0, 0);
	ck_assert_int_eq(ibv_req_notify_cq(waiter.cq, 0), 0);
}

START_TEST(cancelled_at_random)
{
	open_all();
	for (size_t i = 0; i < NUM_WORKERS; i++)
		start(&workers[i]);
	cancel_at_random();
	for (size_t i = 0; i < NUM_WORKERS; i++)
		cancel(&workers[i]);
	ck_assert_uint_eq(atomic_load(&errors), 0);
	while (atomic_load(&under_way))
		ck_assert(reap(0));
	talk(&sender, &receiver);
	ends_close(&waker, &waiter);
	ends_close(&sender, &receiver);
}
END_TEST

static void *wait_while_cancelled(void *arg)
{
	struct ibv_cq *cq;
	void *context_of_cq;

	pthread_cancel(pthread_self());
	(void)ibv_get_cq_event(arg, &cq, &context_of_cq);
	return NULL;
}

/* As read(2) is that need not wait. The event stays. */
START_TEST(a_wait_that_finds_its_event_is_a_cancellation_point)
{
	const struct end_cfg cfg = { .channel = true };
	struct end a, b;
	struct ibv_cq *cq;
	pthread_t thread;
	void *value;

	ends_open(&a, &b, &cfg);
	for (uint32_t i = 0; i < 100; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		ck_assert_int_eq(pthread_create(&thread, NULL, wait_while_cancelled, b.channel), 0);
		ck_assert_int_eq(pthread_join(thread, &value), 0);
		ck_assert_ptr_eq(value, PTHREAD_CANCELED);
		ck_assert_int_eq(ibv_get_cq_event(b.channel, &cq, &value), 0);
		ibv_ack_cq_events(cq, 1);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, no_verb_is_a_cancellation_point);
	tcase_add_test(tests, cancelled_at_random);
	tcase_add_test(tests, a_wait_that_finds_its_event_is_a_cancellation_point);
}

int main(void)
{
	return fixture_main("verbs_cancel", add);
}
