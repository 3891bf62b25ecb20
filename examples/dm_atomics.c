// SPDX-License-Identifier: MIT
/* A counter in device memory. Four clients add to it over the wire at the same time; none of their
 * additions is lost, because each is one instruction on one word, and every ticket number is drawn
 * once. */
#include <stdio.h>
#include <stdlib.h>

#include "rc.h"

#define CLIENTS 4
#define TICKETS 1000

static void client(int sock)
{
	struct ibv_context *context = rc_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	uint64_t ticket = 0, first = 0, last = 0;
	struct ibv_mr *mr = ibv_reg_mr(pd, &ticket, sizeof(ticket), IBV_ACCESS_LOCAL_WRITE);
	struct rc_card counter;
	struct rc rc;

	if (!mr)
		die("ibv_reg_mr");
	rc_open(&rc, pd);
	counter = rc_connect(&rc, sock, 0, 0);
	for (int i = 0; i < TICKETS; i++) {
		struct ibv_sge sge = { (uintptr_t)&ticket, sizeof(ticket), mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.wr.atomic = { .remote_addr = counter.addr,
				       .compare_add = 1,
				       .rkey = counter.rkey },
		};

		rc_run(&rc, &wr);
		if (i == 0)
			first = ticket;
		if (i > 0 && ticket <= last)
			die("a ticket that is no later than the one before");
		last = ticket;
	}
	printf("client: %d tickets, from %llu to %llu\n", TICKETS, (unsigned long long)first,
	       (unsigned long long)last);
	rc_meet(sock);
	rc_close(&rc);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}

int main(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 3 };
	int socks[CLIENTS];
	struct ibv_context *context;
	struct rc rc[CLIENTS];
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t count = 0;

	for (int i = 0; i < CLIENTS; i++)
		socks[i] = rc_beside(client);
	context = rc_open_device();
	pd = ibv_alloc_pd(context);
	dm = ibv_alloc_dm(context, &attr);
	if (!pd || !dm)
		die("ibv_alloc_dm");
	mr = ibv_reg_dm_mr(pd, dm, 0, attr.length,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die("ibv_reg_dm_mr");
	/* New device memory holds anything. */
	if (ibv_memcpy_to_dm(dm, 0, &count, sizeof(count)))
		die("ibv_memcpy_to_dm");
	for (int i = 0; i < CLIENTS; i++) {
		rc_open(&rc[i], pd);
		rc_connect(&rc[i], socks[i], mr->rkey, 0);
	}
	for (int i = 0; i < CLIENTS; i++)
		rc_meet(socks[i]);
	if (ibv_memcpy_from_dm(&count, dm, 0, sizeof(count)))
		die("ibv_memcpy_from_dm");
	printf("counter: %llu after %d clients of %d each\n", (unsigned long long)count, CLIENTS,
	       TICKETS);
	for (int i = 0; i < CLIENTS; i++) {
		rc_join(socks[i]);
		rc_close(&rc[i]);
	}
	ibv_dereg_mr(mr);
	ibv_free_dm(dm);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return count == CLIENTS * TICKETS ? EXIT_SUCCESS : EXIT_FAILURE;
}
