// SPDX-License-Identifier: MIT
/* A queue pair is destroyed, or its process exits, right after its last completion, while a fault
 * rule of the device drops the first ACKs of each queue pair (cases_faults.py). Requests that were
 * received complete all the same, others do not. */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define BYTES  1000
#define ROUNDS 4

/* 8 times 0.27 s: long enough for a peer on a busy machine. */
static const struct end_cfg cfg = { .timeout = 16 };

/* Connected, with one receive posted. */
static void open_receiver(struct end *end, int sock)
{
	struct end_address peer;

	end_open(end, NULL, &cfg);
	peer = swap_addresses(sock, end);
	end_connect(end, &peer);
	end_recv(end, 1, 0, BYTES);
	meet(sock);
}

/* Waits until the other side has closed its end. */
static void wait_for_the_end(int sock)
{
	char c;

	ck_assert_int_eq(recv(sock, &c, 1, 0), 0);
}

static void destroys(int sock)
{
	struct end end;

	open_receiver(&end, sock);
	end_wait_for(&end, 1, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_qp(end.qp), 0);
	end.qp = NULL;
	wait_for_the_end(sock);
	end_close(&end);
}

static void closes(int sock)
{
	struct end end;

	open_receiver(&end, sock);
	end_wait_for(&end, 1, IBV_WC_SUCCESS);
	end_close(&end);
}

static void exits(int sock)
{
	struct end end;

	open_receiver(&end, sock);
	end_wait_for(&end, 1, IBV_WC_SUCCESS);
	exit(0);
}

static void is_killed(int sock)
{
	struct end end;

	open_receiver(&end, sock);
	kill(getpid(), SIGKILL);
}

static void exits_at_once(int sock)
{
	struct end end;

	open_receiver(&end, sock);
	exit(0);
}

/* The status that a message to such a receiver completes with. */
static enum ibv_wc_status send_to(void (*receiver)(int sock), bool after_its_end)
{
	struct end end;
	struct ibv_wc wc;
	pid_t pid;
	int sock = beside(receiver, &pid), status;
	struct end_address peer;

	end_open(&end, NULL, &cfg);
	peer = swap_addresses(sock, &end);
	end_connect(&end, &peer);
	meet(sock);
	if (after_its_end)
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	end_post(&end, IBV_WR_SEND, 1, 0, BYTES);
	wc = end_wait(&end);
	close(sock);
	if (!after_its_end)
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	end_close(&end);
	return wc.status;
}

static void expect_success(void (*receiver)(int sock))
{
	for (int i = 0; i < ROUNDS; i++) {
		enum ibv_wc_status status = send_to(receiver, false);

		ck_assert_msg(status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(status));
	}
}

START_TEST(queue_pair_destroyed)
{
	expect_success(destroys);
}
END_TEST

START_TEST(device_closed)
{
	expect_success(closes);
}
END_TEST

START_TEST(process_exited)
{
	expect_success(exits);
}
END_TEST

START_TEST(process_killed_before)
{
	ck_assert_int_eq(send_to(is_killed, true), IBV_WC_RETRY_EXC_ERR);
}
END_TEST

START_TEST(process_exited_before)
{
	ck_assert_int_eq(send_to(exits_at_once, true), IBV_WC_RETRY_EXC_ERR);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, queue_pair_destroyed);
	tcase_add_test(tests, device_closed);
	tcase_add_test(tests, process_exited);
	tcase_add_test(tests, process_killed_before);
	tcase_add_test(tests, process_exited_before);
}

int main(void)
{
	return fixture_main("time_wait", add);
}
