// SPDX-License-Identifier: MIT
/* Two processes connect queue pairs of different path MTUs. */
#include <sys/wait.h>
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"

struct pipes {
	int from, to;
};

static uint32_t exchange(const struct pipes *pipes, uint32_t mine)
{
	uint32_t theirs;

	must(write(pipes->to, &mine, sizeof(mine)) == sizeof(mine), "write to a pipe");
	must(read(pipes->from, &theirs, sizeof(theirs)) == sizeof(theirs), "read from a pipe");
	return theirs;
}

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

/* waits: until the other process is connected. */
static void one_end(const struct pipes *pipes, enum ibv_mtu mtu, bool waits)
{
	struct ibv_qp qp = { 0 };
	struct side side, other = { 0 };

	side_open(&side, NULL, &(struct side_cfg){ .mtu = mtu });
	other.context = side.context;
	other.qp = &qp;
	qp.qp_num = exchange(pipes, side.qp->qp_num);
	if (waits)
		exchange(pipes, 0);
	connects(&side, &other);
	if (!waits)
		exchange(pipes, 0);
	exchange(pipes, 0);
	side_close(&side);
	must(ibv_close_device(side.context) == 0, "close the device");
}

void peer_elsewhere(bool right)
{
	int there[2], back[2], status;
	pid_t child;

	must(pipe(there) == 0 && pipe(back) == 0, "make a pipe");
	child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		one_end(&(struct pipes){ there[0], back[1] }, IBV_MTU_1024, false);
		_exit(0);
	}
	one_end(&(struct pipes){ back[0], there[1] }, right ? IBV_MTU_1024 : IBV_MTU_512, true);
	must(waitpid(child, &status, 0) == child && status == 0, "wait for the child");
}
