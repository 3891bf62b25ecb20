// SPDX-License-Identifier: MIT
/* A program for a debugger: it stops with requests outstanding and a completion that it has not
 * polled, or, called with the word 'refused', after a peer has refused a request. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

#define SEND_AT 4096
#define RECV_AT 8192

static const char *mode = "";

static void stop(const struct end *a, const struct end *b)
{
	printf("process %d qp 0x%06x peer 0x%06x lkey 0x%08x send %p receive %p\n", getpid(),
	       a->qp->qp_num, b->qp->qp_num, a->mr->lkey, (void *)(a->memory + SEND_AT),
	       (void *)(a->memory + RECV_AT));
	fflush(stdout);
	pause();
}

/* A WRITE completes, and the event of the CQ says so. A SEND waits for a receive, which its peer
 * does not post. */
START_TEST(outstanding)
{
	const struct end_cfg cfg = { .channel = true };
	struct end a, b;
	struct ibv_cq *cq;
	void *arg;

	ends_open(&a, &b, &cfg);
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), 0);
	end_post(&a, IBV_WR_RDMA_WRITE, 0x3001, 0, 100);
	ck_assert_int_eq(ibv_get_cq_event(a.channel, &cq, &arg), 0);
	end_recv(&a, 0x1001, RECV_AT, 512);
	end_post(&a, IBV_WR_SEND, 0x2001, SEND_AT, 256);
	stop(&a, &b);
}
END_TEST

/* A WRITE with a key that its peer does not know fails. */
START_TEST(refused)
{
	const struct end_cfg cfg = { .channel = true };
	struct end a, b;
	struct ibv_cq *cq;
	void *arg;

	ends_open(&a, &b, &cfg);
	a.peer.rkey ^= 1;
	ck_assert_int_eq(ibv_req_notify_cq(a.cq, 0), 0);
	end_post(&a, IBV_WR_RDMA_WRITE, 0x4001, 0, 100);
	ck_assert_int_eq(ibv_get_cq_event(a.channel, &cq, &arg), 0);
	stop(&a, &b);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, strcmp(mode, "refused") == 0 ? refused : outstanding);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		mode = argv[1];
	return fixture_main("verbs_debugged", add);
}
