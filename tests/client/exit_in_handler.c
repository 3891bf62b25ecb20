// SPDX-License-Identifier: MIT
/* Ends by exit(3) in the handler of a signal that interrupts a verb, as qperf does. */
#include <infiniband/verbs.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>

static void handle(int number)
{
	(void)number;
	exit(7);
}

int main(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 2000 } };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	static struct ibv_cq *cq;
	static struct ibv_comp_channel *channel;

	channel = context ? ibv_create_comp_channel(context) : NULL;
	cq = channel ? ibv_create_cq(context, 1, NULL, channel, 0) : NULL;
	if (!cq || signal(SIGALRM, handle) == SIG_ERR || setitimer(ITIMER_REAL, &soon, NULL))
		return 1;
	while (ibv_req_notify_cq(cq, 0) == 0)
		;
	return 2;
}
