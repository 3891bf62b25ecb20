// SPDX-License-Identifier: MIT
/* Memory windows: a server opens a part of its memory to each request of a client, for a while. The
 * client gets a key with the message that announces the part; it writes there, and the SEND that
 * says so takes the key back (SEND with invalidate). Nothing of the server's memory stays open
 * between requests, and no request costs a registration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rc.h"

#define PART	 64
#define REQUESTS 3

/* The message that opens one part to the client. */
struct part {
	uint64_t addr;
	uint32_t rkey;
};

static char memory[4096];

/* The next completion, whatever it says. */
static struct ibv_wc next(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (n == 0);
	if (n < 0)
		die("ibv_poll_cq");
	return wc;
}

static void post(struct rc *rc, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags = IBV_SEND_SIGNALED;
	errno = ibv_post_send(rc->qp, wr, &bad);
	if (errno)
		die("ibv_post_send");
}

/* Binds the window to a part of the memory: a work request, no call to the kernel. */
static struct part open_part(struct rc *rc, struct ibv_mr *mr, struct ibv_mw *mw, int i)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ .mr = mr,
					   .addr = (uintptr_t)memory + (uint64_t)i * PART,
					   .length = PART,
					   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	rc_run(rc, &wr);
	return (struct part){ wr.bind_mw.bind_info.addr, mw->rkey };
}

static void serve(int sock)
{
	struct rc rc;
	struct ibv_pd *pd = ibv_alloc_pd(rc_open_device());
	struct ibv_mr *mr =
		ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_recv_wr recv = { 0 }, *bad;

	if (!mr || !mw)
		die("a region and a window");
	rc_open(&rc, pd);
	rc_connect(&rc, sock, 0, 0);
	for (int i = 0; i < REQUESTS; i++) {
		struct part part = open_part(&rc, mr, mw, i);
		struct ibv_wc wc;

		if (i == 0)
			printf("server: while the window is bound, ibv_dereg_mr says: %s\n",
			       strerror(ibv_dereg_mr(mr)));
		errno = ibv_post_recv(rc.qp, &recv, &bad);
		if (errno)
			die("ibv_post_recv");
		rc_tell(sock, &part, sizeof(part));
		wc = next(rc.cq);
		if (wc.status != IBV_WC_SUCCESS || !(wc.wc_flags & IBV_WC_WITH_INV) ||
		    wc.invalidated_rkey != part.rkey)
			die("the client's last word");
		printf("server: the client wrote \"%s\", and its key is dead\n", memory + i * PART);
	}
	rc_meet(sock);
	if (ibv_dealloc_mw(mw) || ibv_dereg_mr(mr))
		die("deallocating the window and the region");
	rc_close(&rc);
	rc_close_device(pd);
}

/* Writes into the part. */
static enum ibv_wc_status write_to(struct rc *rc, struct ibv_mr *mr, const struct part *part)
{
	struct ibv_sge sge = { (uintptr_t)memory, PART, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	wr.wr.rdma.remote_addr = part->addr;
	wr.wr.rdma.rkey = part->rkey;
	post(rc, &wr);
	return next(rc->cq).status;
}

int main(void)
{
	int sock = rc_beside(serve);
	struct rc rc;
	struct ibv_pd *pd = ibv_alloc_pd(rc_open_device());
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), 0);
	struct part part;

	if (!mr)
		die("ibv_reg_mr");
	rc_open(&rc, pd);
	rc_connect(&rc, sock, 0, 0);
	for (int i = 0; i < REQUESTS; i++) {
		struct ibv_send_wr done = { .opcode = IBV_WR_SEND_WITH_INV };

		rc_hear(sock, &part, sizeof(part));
		snprintf(memory, sizeof(memory), "request %d", i);
		if (write_to(&rc, mr, &part) != IBV_WC_SUCCESS)
			die("writing");
		done.invalidate_rkey = part.rkey;
		rc_run(&rc, &done);
	}
	printf("client: writing once more, with the last key: %s\n",
	       ibv_wc_status_str(write_to(&rc, mr, &part)));
	fflush(stdout);
	rc_meet(sock);
	rc_close(&rc);
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
	rc_close_device(pd);
	rc_join(sock);
	return EXIT_SUCCESS;
}
