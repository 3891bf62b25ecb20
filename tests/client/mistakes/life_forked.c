// SPDX-License-Identifier: MIT
/* Polls a completion queue in the child of a fork(). */
#include <sys/wait.h>
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"

STACKED static void polls(struct side *side)
{
	struct ibv_wc wc;

	ibv_poll_cq(side->cq, 1, &wc);
}

void life_forked(bool right)
{
	struct side a, b;
	pid_t child;

	pair_open(&a, &b, NULL);
	child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		if (!right)
			polls(&a);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child, "wait for the child");
	polls(&a);
	pair_close(&a, &b);
}
