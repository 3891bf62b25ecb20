// SPDX-License-Identifier: MIT
/* Asynchronous events: read, polled for, acknowledged; and what a program learns when the device
 * server ends. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

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

/* The server is stopped under a program: it learns of it, its queue pairs flush, closing works,
 * nothing hangs. */
START_TEST(the_server_ends)
{
	const char *command = getenv("RXE_TEST_COMMAND");
	struct end a, b;
	int status;
	pid_t pid;

	ck_assert_msg(command != NULL, "RXE_TEST_COMMAND does not name the rxe_dm command");
	ends_open(&a, &b, NULL);
	end_recv(&a, 5, 0, 100);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		execl(command, command, "stop", (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
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
