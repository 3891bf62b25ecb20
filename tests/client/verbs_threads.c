// SPDX-License-Identifier: MIT
/* Many threads on one device: each pair talks by itself, some share a completion queue, queue pairs come and go meanwhile. */
#include <pthread.h>
#include <stdatomic.h>

#include "bed.h"

#define THREADS 4
#define ROUNDS	300

static struct ibv_context *context;

static void pair_up(struct end *a, struct end *b)
{
	struct end_address of_a, of_b;

	end_open(a, context, NULL);
	end_open(b, context, NULL);
	of_a = end_address(a);
	of_b = end_address(b);
	end_connect(a, &of_b);
	end_connect(b, &of_a);
}

static void *talk(void *arg)
{
	uint32_t number = *(uint32_t *)arg;
	struct end a, b;

	pair_up(&a, &b);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t len = (i * 977 + number * 131) % 20000;

		fill(a.memory, len, i + number);
		end_recv(&b, i, 32768, 32768);
		end_post(&a, IBV_WR_SEND, i, 0, len);
		ck_assert_uint_eq(end_wait_for(&b, i, IBV_WC_SUCCESS).byte_len, len);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
		expect_filled(b.memory + 32768, len, i + number);
	}
	ends_close(&a, &b);
	return NULL;
}

static void *come_and_go(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < 30; i++) {
		struct end a, b;

		pair_up(&a, &b);
		end_post(&a, IBV_WR_RDMA_WRITE, 1, 0, 10000);
		if (i % 2)
			end_wait_for(&a, 1, IBV_WC_SUCCESS);
		ends_close(&a, &b);
	}
	return NULL;
}

START_TEST(pairs_side_by_side)
{
	pthread_t thread[THREADS + 1];
	uint32_t number[THREADS];

	context = bed_open();
	for (uint32_t i = 0; i < THREADS; i++) {
		number[i] = i;
		ck_assert_int_eq(pthread_create(&thread[i], NULL, talk, &number[i]), 0);
	}
	ck_assert_int_eq(pthread_create(&thread[THREADS], NULL, come_and_go, NULL), 0);
	for (uint32_t i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

static struct end sender, receiver;
static _Atomic uint32_t posted, completed;

static void *post(void *arg)
{
	(void)arg;
	while (atomic_fetch_add(&posted, 1) < THREADS * ROUNDS) {
		/* No more under way than the queue holds. */
		while (atomic_load(&posted) - atomic_load(&completed) > 32)
			sched_yield();
		end_post(&sender, IBV_WR_RDMA_WRITE, 1, 0, 1000);
	}
	return NULL;
}

static void *reap(void *arg)
{
	(void)arg;
	while (atomic_load(&completed) < THREADS * ROUNDS) {
		struct ibv_wc wc[4];
		int n = ibv_poll_cq(sender.cq, 4, wc);

		if (n == 0)
			continue;
		ck_assert_int_gt(n, 0);
		for (int i = 0; i < n; i++)
			ck_assert_int_eq(wc[i].status, IBV_WC_SUCCESS);
		atomic_fetch_add(&completed, (uint32_t)n);
	}
	return NULL;
}

START_TEST(one_queue_pair_for_all)
{
	pthread_t poster[THREADS], reaper[2];

	ends_open(&sender, &receiver, NULL);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&poster[i], NULL, post, NULL), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&reaper[i], NULL, reap, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(poster[i], NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(reaper[i], NULL);
	end_expect_nothing(&sender);
	ends_close(&sender, &receiver);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, pairs_side_by_side);
	tcase_add_test(tests, one_queue_pair_for_all);
}

int main(void)
{
	return bed_main("verbs_threads", add);
}
