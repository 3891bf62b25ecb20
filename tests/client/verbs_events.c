// SPDX-License-Identifier: MIT
/* Asynchronous events: read, polled for, acknowledged; and what a program learns when the device
 * server ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "rules.h"

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

/* A responder's access error is told by an event. */
static void make_event(struct end *a, struct end *b)
{
	ends_open(a, b, NULL);
	a->peer.rkey ^= 5;
	end_post(a, IBV_WR_RDMA_WRITE, 1, 0, 8);
	end_wait_for(a, 1, IBV_WC_REM_ACCESS_ERR);
}

/* Whether the device has a thread. Sanitizers have threads of their own. */
static bool has_thread(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *task;
	bool found = false;

	ck_assert_ptr_nonnull(dir);
	while ((task = readdir(dir))) {
		char path[300], name[16] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		found |= fgets(name, sizeof(name), file) && strcmp(name, "rxe_dm\n") == 0;
		fclose(file);
	}
	closedir(dir);
	return found;
}

/* How many descriptors make this one readable. */
static unsigned int num_watched(int epoll_fd)
{
	char path[64], line[256];
	unsigned int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epoll_fd);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		n += strncmp(line, "tfd:", 4) == 0;
	fclose(file);
	return n;
}

/* As ibv_devinfo is: nothing can happen to it. Either the thread reads what the server sends, or
 * the program does when async_fd is readable. */
START_TEST(a_program_that_only_asks_has_no_second_thread)
{
	struct ibv_context *context = fixture_open();
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_pd *pd;

	ck_assert_int_eq(ibv_query_device(context, &attr), 0);
	ck_assert_int_eq(ibv_query_port(context, 1, &port), 0);
	ck_assert_int_eq(ibv_query_gid(context, 1, 0, &gid), 0);
	ck_assert(!has_thread());
	ck_assert_uint_eq(num_watched(context->async_fd), 2);
	pd = ibv_alloc_pd(context);
	ck_assert_ptr_nonnull(pd);
	ck_assert(has_thread());
	ck_assert_uint_eq(num_watched(context->async_fd), 1);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

/* As a program does that watches devices: it polls, and has no object. */
START_TEST(events_of_a_program_without_objects)
{
	struct ibv_context *context = fixture_open(), *other = fixture_open(), *later;
	struct ibv_async_event event;

	ck_assert(!is_readable(context->async_fd, 0));
	fault("add port_down");
	ck_assert(is_readable(context->async_fd, -1));
	ck_assert(is_readable(other->async_fd, -1));
	ck_assert(!has_thread());
	/* What has made it readable can be read. */
	ck_assert_int_eq(fcntl(other->async_fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(ibv_get_async_event(other, &event), 0);
	ck_assert_int_eq(event.event_type, IBV_EVENT_PORT_ERR);
	ck_assert_int_eq(ibv_get_async_event(other, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect_event(context, IBV_EVENT_PORT_ERR);
	ck_assert(!is_readable(context->async_fd, 0));
	/* A flag taken back. */
	ck_assert_int_eq(fcntl(other->async_fd, F_SETFL, 0), 0);
	later = fixture_open();
	ck_assert_uint_eq(num_watched(later->async_fd), 1);
	fault("clear");
	expect_event(context, IBV_EVENT_PORT_ACTIVE);
	expect_event(other, IBV_EVENT_PORT_ACTIVE);
	expect_event(later, IBV_EVENT_PORT_ACTIVE);
	ck_assert_int_eq(ibv_close_device(context), 0);
	ck_assert_int_eq(ibv_close_device(other), 0);
	ck_assert_int_eq(ibv_close_device(later), 0);
}
END_TEST

/* A child of fork() has events of its own. */
START_TEST(events_of_a_child_without_objects)
{
	struct ibv_context *context = fixture_open();
	struct ibv_port_attr port;
	int status;
	pid_t pid;

	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct ibv_async_event event;
		bool passed = ibv_query_port(context, 1, &port) == 0 && !has_thread() &&
			      !is_readable(context->async_fd, 0);

		fault("add port_down");
		passed &= is_readable(context->async_fd, -1) && !has_thread() &&
			  ibv_get_async_event(context, &event) == 0 &&
			  event.event_type == IBV_EVENT_PORT_ERR;
		_exit(!passed);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	expect_event(context, IBV_EVENT_PORT_ERR);
	fault("clear");
	expect_event(context, IBV_EVENT_PORT_ACTIVE);
	ck_assert_int_eq(ibv_close_device(context), 0);
}
END_TEST

START_TEST(descriptor_polled_by_the_program)
{
	struct ibv_async_event event;
	struct end a, b;

	make_event(&a, &b);
	ck_assert(is_readable(a.context->async_fd, -1));
	expect_event(a.context, IBV_EVENT_QP_ACCESS_ERR);
	ck_assert(!is_readable(a.context->async_fd, 0));
	ck_assert_int_eq(fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ends_close(&a, &b);
}
END_TEST

static _Atomic bool destroyed;

static void *destroy(void *arg)
{
	ck_assert_int_eq(ibv_destroy_qp(arg), 0);
	atomic_store(&destroyed, true);
	return NULL;
}

START_TEST(destroy_waits_for_acknowledgement)
{
	struct ibv_async_event event;
	pthread_t thread;
	struct end a, b;

	make_event(&a, &b);
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
	ck_assert_int_eq(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	ck_assert_ptr_eq(event.element.qp, b.qp);
	ck_assert_int_eq(pthread_create(&thread, NULL, destroy, b.qp), 0);
	for (int i = 0; i < 10000; i++)
		ck_assert(!atomic_load(&destroyed));
	ibv_ack_async_event(&event);
	pthread_join(thread, NULL);
	b.qp = NULL;
	ends_close(&a, &b);
}
END_TEST

/* An event that no process read goes with its object. */
START_TEST(unread_event_goes_with_its_queue_pair)
{
	struct ibv_async_event event;
	struct end a, b;

	make_event(&a, &b);
	ck_assert(is_readable(a.context->async_fd, -1));
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ends_close(&a, &b);
}
END_TEST

START_TEST(communication_established)
{
	struct end a, b;
	struct end_address of_a, of_b;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_async_event event;

	end_open(&a, NULL, NULL);
	end_open(&b, a.context, NULL);
	of_a = end_address(&a);
	of_b = end_address(&b);
	end_connect(&a, &of_b);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = of_a.qpn,
				     .rq_psn = FIXTURE_PSN,
				     .max_dest_rd_atomic = 1,
				     .min_rnr_timer = 1,
				     .ah_attr = { .is_global = 1,
						  .port_num = 1,
						  .grh = { .dgid = of_a.gid, .hop_limit = 1 } } };
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	end_recv(&b, 1, 0, 100);
	end_post(&a, IBV_WR_SEND, 2, 0, 100);
	end_wait_for(&a, 2, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
	ck_assert_int_eq(event.event_type, IBV_EVENT_COMM_EST);
	ck_assert_ptr_eq(event.element.qp, b.qp);
	ibv_ack_async_event(&event);
	ends_close(&a, &b);
}
END_TEST

static void stop_server(void)
{
	const char *command = getenv("RXE_TEST_COMMAND");
	int status;
	pid_t pid;

	ck_assert_msg(command != NULL, "RXE_TEST_COMMAND does not name the rxe_dm command");
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		execl(command, command, "stop", (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* A program without objects. It exits with 0 if it learns of the server's end, once. */
static void watch(int ready_fd)
{
	struct ibv_context *context = fixture_open();
	struct ibv_async_event event;
	bool passed = write(ready_fd, "r", 1) == 1 && is_readable(context->async_fd, -1) &&
		      ibv_get_async_event(context, &event) == 0 &&
		      event.event_type == IBV_EVENT_DEVICE_FATAL &&
		      !is_readable(context->async_fd, 0);

	ibv_close_device(context);
	_exit(!passed);
}

static pid_t start_watcher(void)
{
	int fds[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		watch(fds[1]);
	ck_assert_int_eq(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* The server is stopped under a program: it learns of it, its queue pairs flush, closing works,
 * nothing hangs. */
START_TEST(the_server_ends)
{
	const pid_t watcher = start_watcher();
	struct end a, b;
	int status;

	ends_open(&a, &b, NULL);
	end_recv(&a, 5, 0, 100);
	stop_server();
	ck_assert_int_eq(waitpid(watcher, &status, 0), watcher);
	ck_assert_int_eq(status, 0);
	expect_event(a.context, IBV_EVENT_DEVICE_FATAL);
	end_wait_for(&a, 5, IBV_WC_WR_FLUSH_ERR);
	end_post(&a, IBV_WR_RDMA_WRITE, 6, 0, 8);
	end_wait_for(&a, 6, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(a.cq), 0);
	ck_assert_int_eq(ibv_destroy_cq(b.cq), 0);
	ibv_dereg_mr(a.mr);
	ibv_dereg_mr(b.mr);
	ibv_dealloc_pd(a.pd);
	ibv_dealloc_pd(b.pd);
	ibv_close_device(a.context);
	free(a.memory);
	free(b.memory);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_program_that_only_asks_has_no_second_thread);
	tcase_add_test(tests, events_of_a_program_without_objects);
	tcase_add_test(tests, events_of_a_child_without_objects);
	tcase_add_test(tests, descriptor_polled_by_the_program);
	tcase_add_test(tests, destroy_waits_for_acknowledgement);
	tcase_add_test(tests, unread_event_goes_with_its_queue_pair);
	tcase_add_test(tests, communication_established);
	tcase_add_test(tests, the_server_ends);
}

int main(void)
{
	return fixture_main("verbs_events", add);
}
