// SPDX-License-Identifier: MIT
/* Many threads on one device: each pair talks by itself, some share a completion queue, queue pairs
 * come and go meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#define THREADS 4
#define ROUNDS	300
#define PAGE	4096u

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

	context = fixture_open();
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

/* The kernel blocks the first thread that touches this page until let_in(). -1: the kernel refuses
 * userfaultfd. */
static int hold_page(void *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	ck_assert_int_eq(madvise(page, PAGE, MADV_DONTNEED), 0);
	ck_assert_int_eq(ioctl(fd, UFFDIO_API, &api), 0);
	ck_assert_int_eq(ioctl(fd, UFFDIO_REGISTER, &reg), 0);
	return fd;
}

static void let_in(int fd, void *page)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

	ck_assert_int_eq(ioctl(fd, UFFDIO_ZEROPAGE, &zero), 0);
}

static void *write_to_page(void *arg)
{
	struct end *a = arg;

	end_post(a, IBV_WR_RDMA_WRITE, 1, 0, 100);
	end_wait(a);
	return NULL;
}

static void *deregister(void *arg)
{
	ck_assert_int_eq(ibv_dereg_mr(arg), 0);
	return NULL;
}

/* The engine is in the middle of storing into a region: ibv_dereg_mr() returns when it has
 * finished. */
START_TEST(deregistration_waits_for_the_engine)
{
	uint8_t *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t writer, leaver;
	struct timespec soon;
	struct uffd_msg msg;
	struct ibv_mr *mr;
	struct end a, b;
	int fd;

	ends_open(&a, &b, NULL);
	mr = ibv_reg_mr(b.pd, page, PAGE, FIXTURE_ALL_RIGHTS);
	ck_assert_ptr_nonnull(mr);
	a.peer.addr = (uintptr_t)page;
	a.peer.rkey = mr->rkey;
	fill(a.memory, 100, 7);
	fd = hold_page(page);
	if (fd >= 0) {
		ck_assert_int_eq(pthread_create(&writer, NULL, write_to_page, &a), 0);
		ck_assert_int_eq(read(fd, &msg, sizeof(msg)), sizeof(msg));
		ck_assert_int_eq(pthread_create(&leaver, NULL, deregister, mr), 0);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_sec++;
		ck_assert_int_eq(pthread_timedjoin_np(leaver, NULL, &soon), ETIMEDOUT);
		let_in(fd, page);
		pthread_join(leaver, NULL);
		expect_filled(page, 100, 7);
		pthread_join(writer, NULL);
		close(fd);
	} else {
		ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	}
	munmap(page, PAGE);
	ends_close(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, pairs_side_by_side);
	tcase_add_test(tests, one_queue_pair_for_all);
	tcase_add_test(tests, deregistration_waits_for_the_engine);
}

int main(void)
{
	return fixture_main("verbs_threads", add);
}
