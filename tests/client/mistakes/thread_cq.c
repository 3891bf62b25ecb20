// SPDX-License-Identifier: MIT
/* Polls a single-threaded completion queue in two threads. */
#include "mistakes.h"
#include "pair.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct poll {
	struct ibv_cq_ex *cq;
	bool locks;
};

STACKED static struct ibv_cq_ex *opens(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	must(cq != NULL, "create a CQ");
	return cq;
}

STACKED static void *polls(void *arg)
{
	const struct poll *poll = arg;
	struct ibv_poll_cq_attr attr = { 0 };

	if (poll->locks)
		pthread_mutex_lock(&lock);
	must(ibv_start_poll(poll->cq, &attr) != 0, "find the CQ empty");
	if (poll->locks)
		pthread_mutex_unlock(&lock);
	return arg;
}

void thread_cq(bool right)
{
	struct ibv_context *context = open_first();
	struct poll poll = { opens(context), right };
	pthread_t thread;

	must(pthread_create(&thread, NULL, polls, &poll) == 0, "create a thread");
	polls(&poll);
	must(pthread_join(thread, NULL) == 0, "join a thread");
	polls(&poll);
	must(ibv_destroy_cq(ibv_cq_ex_to_cq(poll.cq)) == 0, "destroy a CQ");
	must(ibv_close_device(context) == 0, "close the device");
}
