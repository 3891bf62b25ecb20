// SPDX-License-Identifier: MIT
/* A filter of system calls refuses what the library can do without: epoll_pwait2, by which the
 * background thread waits. The thread asks once, waits otherwise from then on, and serves the
 * program as before. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"

#define EVENTS 100

static _Atomic uint32_t asked, waited;

/* The library's calls pass here first (-rdynamic). Of those by number it makes few, each with six
 * arguments at most. */
#pragma GCC visibility push(default)
long syscall(long number, ...)
{
	long (*next)(long, ...);
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_epoll_pwait2)
		atomic_fetch_add(&asked, 1);
	*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout_ms)
{
	int (*next)(int, struct epoll_event *, int, int);

	atomic_fetch_add(&waited, 1);
	*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	return next(fd, events, n, timeout_ms);
}
#pragma GCC visibility pop

static void refuse(uint32_t error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* The program waits for an event of each message, and the background thread waits meanwhile. */
static void serve(uint32_t error)
{
	const struct end_cfg cfg = { .channel = true };
	struct ibv_cq *cq;
	struct end a, b;
	void *arg;

	ibv_free_device_list(ibv_get_device_list(NULL)); /* the server starts without the filter */
	refuse(error);
	ends_open(&a, &b, &cfg);
	for (uint32_t i = 0; i < EVENTS; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		end_recv(&b, i, 0, 100);
		end_post(&a, IBV_WR_SEND, i, 0, 100);
		ck_assert_int_eq(ibv_get_cq_event(b.channel, &cq, &arg), 0);
		ibv_ack_cq_events(cq, 1);
		end_wait_for(&b, i, IBV_WC_SUCCESS);
		end_wait_for(&a, i, IBV_WC_SUCCESS);
	}
	/* On a busy machine it may not have run yet; libcheck limits the time. */
	while (atomic_load(&waited) == 0)
		sched_yield();
	ends_close(&a, &b);
	ck_assert_uint_eq(atomic_load(&asked), 1);
}

START_TEST(by_a_filter)
{
	serve(EPERM);
}
END_TEST

START_TEST(by_the_kernel)
{
	serve(ENOSYS);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, by_a_filter);
	tcase_add_test(tests, by_the_kernel);
}

int main(void)
{
	return fixture_main("verbs_filtered", add);
}
