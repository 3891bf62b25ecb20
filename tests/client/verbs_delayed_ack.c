// SPDX-License-Identifier: MIT
/* A program sees its last completion while the ACK is delayed. Its process is killed at once, or
 * its queue pair enters a state in which it sends nothing: the peer's request completes all the
 * same. The two have sent in turns before, so the responder has learned to delay its ACKs. */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define ROUNDS 12
#define TURNS  400
#define BYTES  8

/* Waits until n receives have completed in all; sends complete in between. */
static void wait_received(struct end *end, uint32_t *received, uint32_t wanted)
{
	while (*received < wanted) {
		struct ibv_wc wc = end_wait(end);

		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		*received += wc.opcode == IBV_WC_RECV;
	}
}

static void connect_to_peer(struct end *end, int sock)
{
	struct end_address peer;

	end_open(end, NULL, NULL);
	peer = swap_addresses(sock, end);
	end_connect(end, &peer);
	end_recv(end, 0, 0, BYTES);
	meet(sock);
}

/* Answers each message but the last, and returns as soon as that one has completed. */
static void receive_all(struct end *end, int sock)
{
	uint32_t received = 0;

	connect_to_peer(end, sock);
	for (uint32_t turn = 1; turn <= TURNS; turn++) {
		wait_received(end, &received, turn);
		end_recv(end, turn, 0, BYTES);
		end_post(end, IBV_WR_SEND, turn, 64, BYTES);
	}
	wait_received(end, &received, TURNS + 1);
}

static void is_killed(int sock)
{
	struct end end;

	receive_all(&end, sock);
	kill(getpid(), SIGKILL);
}

/* The queue pair sends nothing from then on, while the process lives until its peer is done. */
static void lives_on(int sock, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	struct end end;
	char c;

	receive_all(&end, sock);
	ck_assert_int_eq(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(recv(sock, &c, 1, 0), 0);
	end_close(&end);
}

static void enters_error(int sock)
{
	lives_on(sock, IBV_QPS_ERR);
}

static void is_reset(int sock)
{
	lives_on(sock, IBV_QPS_RESET);
}

/* Every request to such a receiver completes. Returns the receiver's status of waitpid(). */
static int send_all(void (*receiver)(int sock))
{
	struct end end;
	uint32_t received = 0, sent = 0;
	pid_t pid;
	int sock = beside(receiver, &pid), status;

	connect_to_peer(&end, sock);
	for (uint32_t turn = 1; turn <= TURNS + 1; turn++) {
		end_post(&end, IBV_WR_SEND, turn, 64, BYTES);
		while (sent < turn || received < (turn > TURNS ? TURNS : turn)) {
			struct ibv_wc wc = end_wait(&end);

			ck_assert_msg(wc.status == IBV_WC_SUCCESS, "turn %u of %u: %s", turn,
				      TURNS + 1, ibv_wc_status_str(wc.status));
			if (wc.opcode == IBV_WC_SEND)
				sent++;
			else
				received++;
			if (wc.opcode == IBV_WC_RECV)
				end_recv(&end, received, 0, BYTES);
		}
	}
	close(sock);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	end_close(&end);
	return status;
}

START_TEST(process_killed)
{
	for (int i = 0; i < ROUNDS; i++) {
		int status = send_all(is_killed);

		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}
END_TEST

START_TEST(queue_pair_in_error)
{
	for (int i = 0; i < ROUNDS; i++)
		ck_assert_int_eq(send_all(enters_error), 0);
}
END_TEST

START_TEST(queue_pair_reset)
{
	for (int i = 0; i < ROUNDS; i++)
		ck_assert_int_eq(send_all(is_reset), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, process_killed);
	tcase_add_test(tests, queue_pair_in_error);
	tcase_add_test(tests, queue_pair_reset);
}

int main(void)
{
	return fixture_main("delayed_ack", add);
}
