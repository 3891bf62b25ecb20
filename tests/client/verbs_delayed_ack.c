// SPDX-License-Identifier: MIT
/* A program is killed by SIGKILL as soon as it sees its last completion, while the ACK is delayed:
 * its peer's request completes all the same. The two have sent in turns before, so the responder
 * has learned to delay its ACKs. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define DEATHS 12
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

/* Answers each message but the last, and does not live to see anything but its arrival. */
static void mortal(int sock)
{
	struct end end;
	uint32_t received = 0;

	connect_to_peer(&end, sock);
	for (uint32_t turn = 1; turn <= TURNS; turn++) {
		wait_received(&end, &received, turn);
		end_recv(&end, turn, 0, BYTES);
		end_post(&end, IBV_WR_SEND, turn, 64, BYTES);
	}
	wait_received(&end, &received, TURNS + 1);
	kill(getpid(), SIGKILL);
}

static void outlive(void)
{
	struct end end;
	uint32_t received = 0, sent = 0;
	pid_t pid;
	int sock = beside(mortal, &pid), status;

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
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(sock);
	end_close(&end);
}

START_TEST(what_a_dead_process_received_is_acknowledged)
{
	for (int i = 0; i < DEATHS; i++)
		outlive();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, what_a_dead_process_received_is_acknowledged);
}

int main(void)
{
	return fixture_main("delayed_ack", add);
}
