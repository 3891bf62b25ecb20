// SPDX-License-Identifier: MIT
/* Two processes, one device context. The first allocates device memory and registers memory of its
 * own, and hands the other its context's descriptor and three handles. The other imports them,
 * reads and writes the device memory, and moves bytes between it and the first one's memory by
 * RDMA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rc.h"

struct letter {
	uint32_t pd, dm, mr;
	uint64_t addr; /* of the region's memory, in the process that has it */
};

/* Bytes of the first process, by its region's key, into device memory, by the key of a region that
 * the second one made. */
static void move(struct ibv_pd *pd, const struct ibv_mr *from, uint64_t addr,
		 const struct ibv_mr *to, uint32_t len)
{
	struct ibv_sge sge = { addr, len, from->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = 0, .rkey = to->rkey },
	};
	struct rc rc;

	rc_open(&rc, pd);
	rc_connect_to_itself(&rc);
	rc_run(&rc, &wr);
	rc_close(&rc);
}

static void second(int sock)
{
	char text[32] = { 0 };
	struct letter letter;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *theirs, *own;
	int fd = rc_take_fd(sock);

	rc_hear(sock, &letter, sizeof(letter));
	context = ibv_import_device(fd);
	if (!context)
		die("ibv_import_device");
	close(fd);
	pd = ibv_import_pd(context, letter.pd);
	dm = ibv_import_dm(context, letter.dm);
	theirs = pd ? ibv_import_mr(pd, letter.mr) : NULL;
	if (!pd || !dm || !theirs)
		die("importing");
	if (ibv_memcpy_from_dm(text, dm, 0, sizeof(text)))
		die("ibv_memcpy_from_dm");
	printf("second: finds \"%s\" in the device memory\n", text);

	own = ibv_reg_dm_mr(pd, dm, 0, sizeof(text),
			    IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				    IBV_ACCESS_REMOTE_WRITE);
	if (!own)
		die("ibv_reg_dm_mr");
	move(pd, theirs, letter.addr, own, sizeof(text));
	printf("second: has moved the first one's bytes there by RDMA, by the imported key "
	       "0x%08x\n",
	       theirs->lkey);
	rc_meet(sock);
	ibv_dereg_mr(own);
	ibv_unimport_mr(theirs);
	ibv_unimport_dm(dm);
	ibv_unimport_pd(pd);
	ibv_close_device(context);
}

int main(void)
{
	static char text[32] = "bytes of the first process";
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	char found[32];
	int sock = rc_beside(second);
	struct ibv_context *context = rc_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);
	struct ibv_mr *mr = ibv_reg_mr(pd, text, sizeof(text), IBV_ACCESS_LOCAL_WRITE);
	struct letter letter;

	if (!pd || !dm || !mr)
		die("allocating");
	if (ibv_memcpy_to_dm(dm, 0, "hello from the first", 21))
		die("ibv_memcpy_to_dm");
	letter = (struct letter){ pd->handle, dm->handle, mr->handle, (uintptr_t)text };
	printf("first: PD %u, DM %u, MR %u\n", letter.pd, letter.dm, letter.mr);
	fflush(stdout);
	rc_give_fd(sock, context->cmd_fd);
	rc_tell(sock, &letter, sizeof(letter));
	rc_meet(sock);
	if (ibv_memcpy_from_dm(found, dm, 0, sizeof(found)))
		die("ibv_memcpy_from_dm");
	printf("first: now finds \"%s\" in the device memory\n", found);
	rc_join(sock);
	ibv_dereg_mr(mr);
	ibv_free_dm(dm);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return strcmp(found, text) ? EXIT_FAILURE : EXIT_SUCCESS;
}
