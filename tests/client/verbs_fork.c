// SPDX-License-Identifier: MIT
/* fork() under a device: the child cannot touch what it inherited, can open the device again, and
 * disturbs no other process. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static void in_child(void (*act)(struct end *), struct end *end)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		act(end);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "the child ended with status 0x%x", (unsigned int)status);
}

static void expect_still_works(struct end *a, struct end *b)
{
	for (uint32_t i = 0; i < 20; i++) {
		fill(a->memory, 20000, i);
		end_recv(b, i, 100000, 20000);
		end_post(a, IBV_WR_SEND, i, 0, 20000);
		end_wait_for(b, i, IBV_WC_SUCCESS);
		end_wait_for(a, i, IBV_WC_SUCCESS);
		expect_filled(b->memory + 100000, 20000, i);
	}
}

static void use_inherited(struct end *end)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = end_wr(end, &sge, IBV_WR_RDMA_WRITE, 1, 0, 8), *bad = NULL;
	struct ibv_recv_wr in = { .wr_id = 1 }, *bad_in = NULL;
	struct ibv_qp_init_attr init = { .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .qp_type = IBV_QPT_RC };
	struct ibv_wc wc;

	if (ibv_post_send(end->qp, &wr, &bad) == 0 || bad != &wr)
		_exit(1);
	if (ibv_post_recv(end->qp, &in, &bad_in) == 0 || bad_in != &in)
		_exit(2);
	if (ibv_poll_cq(end->cq, 1, &wc) > 0)
		_exit(3);
	if (ibv_req_notify_cq(end->cq, 0) == 0)
		_exit(4);
	if (ibv_create_qp(end->pd, &init))
		_exit(5);
}

START_TEST(inherited_queues_are_dead)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	expect_still_works(&a, &b);
	in_child(use_inherited, &a);
	expect_still_works(&a, &b);
	ends_close(&a, &b);
}
END_TEST

static void just_end(struct end *end)
{
	(void)end;
	exit(0); /* with all the handlers of exit() */
}

START_TEST(child_that_exits)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	in_child(just_end, &a);
	expect_still_works(&a, &b);
	ends_close(&a, &b);
}
END_TEST

static void destroy_inherited(struct end *end)
{
	ibv_destroy_qp(end->qp);
	ibv_destroy_cq(end->cq);
	ibv_dereg_mr(end->mr);
	ibv_dealloc_pd(end->pd);
	ibv_close_device(end->context);
}

START_TEST(child_that_tidies_up)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	in_child(destroy_inherited, &a);
	expect_still_works(&a, &b);
	ends_close(&a, &b);
}
END_TEST

static void open_again(struct end *end)
{
	struct end a, b;

	(void)end;
	ends_open(&a, &b, NULL);
	expect_still_works(&a, &b);
	ends_close(&a, &b);
}

START_TEST(child_opens_the_device_itself)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	in_child(open_again, &a);
	expect_still_works(&a, &b);
	ends_close(&a, &b);
}
END_TEST

/* fork() again and again while packets fly. */
START_TEST(forks_under_way)
{
	struct end a, b;

	ends_open(&a, &b, NULL);
	for (uint32_t i = 0; i < 20; i++) {
		for (uint32_t j = 0; j < 8; j++)
			end_post(&a, IBV_WR_RDMA_WRITE, j, 0, 100000);
		in_child(just_end, &a);
		for (uint32_t j = 0; j < 8; j++)
			end_wait_for(&a, j, IBV_WC_SUCCESS);
	}
	expect_still_works(&a, &b);
	ends_close(&a, &b);
}
END_TEST

static void *allocate(void *arg)
{
	void *volatile memory = malloc(100);

	free(memory);
	return arg;
}

static void start_thread(struct end *end)
{
	pthread_t thread;

	(void)end;
	if (pthread_create(&thread, NULL, allocate, NULL) || pthread_join(thread, NULL))
		_exit(1);
}

/* The device's thread starts in the parent meanwhile. A sanitizer's allocator has no fork handler:
 * the child keeps a lock of it that is held here. */
START_TEST(fork_right_after_open)
{
	for (uint32_t i = 0; i < 60; i++) {
		struct ibv_context *context = fixture_open();

		in_child(start_thread, NULL);
		ck_assert_int_eq(ibv_close_device(context), 0);
	}
}
END_TEST

static atomic_bool is_done;

static void *open_and_close(void *arg)
{
	while (!atomic_load(&is_done))
		ck_assert_int_eq(ibv_close_device(fixture_open()), 0);
	return arg;
}

static void open_and_fork(struct end *end)
{
	int status;
	pid_t pid;

	(void)end;
	if (ibv_close_device(fixture_open()))
		_exit(2);
	pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(1);
}

/* A thread that opens or closes the device in the parent does not exist in the child: what it left
 * half done is in the child's way neither when that opens the device nor when it forks. */
START_TEST(child_forks_while_its_parent_opens)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, open_and_close, NULL), 0);
	for (uint32_t i = 0; i < 100; i++)
		in_child(open_and_fork, NULL);
	atomic_store(&is_done, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static struct ibv_cq_ex *inherited;

static void poll_inherited(struct end *end)
{
	struct ibv_poll_cq_attr attr = { 0 };

	(void)end;
	if (ibv_start_poll(inherited, &attr) != EINVAL)
		_exit(1);
}

START_TEST(inherited_extended_queue_is_dead)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 4 };
	struct ibv_context *context = fixture_open();

	inherited = ibv_create_cq_ex(context, &init);
	ck_assert_ptr_nonnull(inherited);
	in_child(poll_inherited, NULL);
	ck_assert_int_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(inherited)), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

/* Verbs fail, and the reason is logged once. */
static void use_without_descriptors(struct end *end)
{
	const struct rlimit none = { 0 };
	FILE *log = tmpfile();
	char text[2000] = "", *line;

	ck_assert_ptr_nonnull(log);
	ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 3; i++)
		if (ibv_alloc_pd(end->context))
			_exit(1);
	rewind(log);
	if (fread(text, 1, sizeof(text) - 1, log) == 0)
		_exit(3);
	line = strstr(text, "this child of fork() cannot use rxe_dm0: ");
	if (!line || strstr(line + 1, "this child of fork()"))
		_exit(2);
}

START_TEST(child_without_descriptors)
{
	struct end end = { .context = fixture_open() };

	in_child(use_without_descriptors, &end);
	ck_assert_int_eq(ibv_close_device(end.context), 0);
}
END_TEST

/* Waits until the server knows that the process has ended. */
static void wait_forgotten(pid_t pid)
{
	char command[512];

	snprintf(command, sizeof(command), "%s show --json | grep -Eq '\"pid\": *%d\\b'",
		 getenv("RXE_TEST_COMMAND"), (int)pid);
	while (system(command) == 0)
		;
}

static void use_moved(struct end *end)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(end->context, &attr);
	struct ibv_pd *pd = ibv_alloc_pd(end->context);
	struct end a, b;

	ck_assert_ptr_nonnull(dm);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(ibv_free_dm(dm), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	end_open(&a, end->context, &(struct end_cfg){ .pd = end->pd });
	end_open(&b, end->context, NULL);
	end_connect(&a, &(struct end_address[]){ end_address(&b) }[0]);
	end_connect(&b, &(struct end_address[]){ end_address(&a) }[0]);
	expect_still_works(&a, &b);
	ends_close(&a, &b);
	ck_assert_int_eq(ibv_dealloc_pd(end->pd), 0);
	ck_assert_int_eq(ibv_close_device(end->context), 0);
}

/* As daemon(3): open, fork, the parent exits, and the child goes on with context and protection
 * domain. */
START_TEST(child_goes_on_without_its_parent)
{
	int result[2], status = -1;
	pid_t program;

	ck_assert_int_eq(pipe(result), 0);
	program = fork();
	if (program == 0) {
		struct end end = { .context = fixture_open() };

		end.pd = ibv_alloc_pd(end.context);
		ck_assert_ptr_nonnull(end.pd);
		program = getpid();
		if (fork() == 0) {
			wait_forgotten(program);
			use_moved(&end);
			status = 0;
			ck_assert_int_eq(write(result[1], &status, sizeof(status)), sizeof(status));
		}
		_exit(0);
	}
	close(result[1]);
	ck_assert_int_eq(waitpid(program, &status, 0), program);
	ck_assert_msg(read(result[0], &status, sizeof(status)) == sizeof(status),
		      "the child could not go on");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, inherited_extended_queue_is_dead);
	tcase_add_test(tests, inherited_queues_are_dead);
	tcase_add_test(tests, child_that_exits);
	tcase_add_test(tests, child_that_tidies_up);
	tcase_add_test(tests, child_opens_the_device_itself);
	tcase_add_test(tests, forks_under_way);
	tcase_add_test(tests, fork_right_after_open);
	/* gcc 12's AddressSanitizer has no fork handler for the locks of its allocator: a child of
	 * a process whose other threads allocate can hang. */
	if (!dlsym(RTLD_DEFAULT, "__asan_init"))
		tcase_add_test(tests, child_forks_while_its_parent_opens);
	tcase_add_test(tests, child_without_descriptors);
	tcase_add_test(tests, child_goes_on_without_its_parent);
}

int main(void)
{
	return fixture_main("verbs_fork", add);
}
