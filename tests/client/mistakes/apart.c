// SPDX-License-Identifier: MIT
/* Connected queue pairs in several processes. */
#include "apart.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct address {
	uint64_t memory;
	uint32_t qpn, rkey;
};

void apart_tell(struct apart *end)
{
	must(write(end->to, "", 1) == 1, "write to a pipe");
}

void apart_hear(struct apart *end)
{
	char byte;

	must(read(end->from, &byte, 1) == 1, "read from a pipe");
}

static void connects(struct apart *end)
{
	struct address mine = { (uintptr_t)end->side.memory, end->side.qp->qp_num,
				end->side.mr->rkey };
	struct address theirs;

	must(write(end->to, &mine, sizeof(mine)) == sizeof(mine), "write to a pipe");
	must(read(end->from, &theirs, sizeof(theirs)) == sizeof(theirs), "read from a pipe");
	end->other.context = end->side.context;
	end->other.memory = (uint8_t *)(uintptr_t)theirs.memory;
	end->other_qp.qp_num = theirs.qpn;
	end->other_mr.rkey = theirs.rkey;
	end->other.qp = &end->other_qp;
	end->other.mr = &end->other_mr;
	side_connect(&end->side, &end->other);
	apart_tell(end);
	apart_hear(end);
}

static void runs(struct apart *end, void (*child)(struct apart *end, bool right), bool right)
{
	side_open(&end->side, NULL, NULL);
	connects(end);
	child(end, right);
	side_close(&end->side);
	must(ibv_close_device(end->side.context) == 0, "close the device");
	_exit(0);
}

/* The first end has the memory that all children reach. */
static void opens(struct apart *ends, unsigned int i)
{
	struct side *first = &ends[0].side;

	if (i == 0) {
		side_open(first, NULL, NULL);
		connects(&ends[0]);
		return;
	}
	side_open(&ends[i].side, first->context, &(struct side_cfg){ .pd = first->pd });
	must(ibv_dereg_mr(ends[i].side.mr) == 0, "deregister memory");
	free(ends[i].side.memory);
	ends[i].side.memory = first->memory;
	ends[i].side.mr = first->mr;
	connects(&ends[i]);
	ends[i].side.memory = NULL;
	ends[i].side.mr = NULL;
}

void apart_open(struct apart *ends, unsigned int n,
		void (*const child[])(struct apart *end, bool right), bool right)
{
	for (unsigned int i = 0; i < n; i++) {
		int there[2], back[2];

		ends[i] = (struct apart){ 0 };
		must(pipe(there) == 0 && pipe(back) == 0, "make a pipe");
		ends[i].child = fork();
		must(ends[i].child >= 0, "fork");
		ends[i].from = ends[i].child ? back[0] : there[0];
		ends[i].to = ends[i].child ? there[1] : back[1];
		if (!ends[i].child)
			runs(&ends[i], child[i], right);
	}
	for (unsigned int i = 0; i < n; i++)
		opens(ends, i);
}

void apart_close(struct apart *ends, unsigned int n)
{
	struct ibv_context *context = ends[0].side.context;
	int status;

	for (unsigned int i = 0; i < n; i++)
		must(waitpid(ends[i].child, &status, 0) == ends[i].child && status == 0,
		     "wait for a child");
	for (unsigned int i = n; i > 0; i--)
		side_close(&ends[i - 1].side);
	must(ibv_close_device(context) == 0, "close the device");
}
