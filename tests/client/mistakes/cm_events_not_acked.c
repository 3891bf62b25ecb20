// SPDX-License-Identifier: MIT
/* Destroys an id while another thread has its event and does not acknowledge it. */
#include <pthread.h>
#include <unistd.h>

#include "cm_pair.h"
#include "mistakes.h"

static bool acknowledges;

STACKED static void *serves(void *arg)
{
	struct rdma_cm_event *event = cm_event(arg, RDMA_CM_EVENT_DISCONNECTED);

	if (acknowledges)
		rdma_ack_cm_event(event);
	return NULL;
}

STACKED static void destroys(struct cm_pair *pair)
{
	rdma_destroy_qp(pair->client);
	rdma_destroy_id(pair->client);
	pair->client = NULL;
}

void cm_events_not_acked(bool right)
{
	struct cm_pair pair;
	pthread_t thread;

	cm_open(&pair);
	acknowledges = right;
	cm_connect(&pair);
	must(rdma_disconnect(pair.server) == 0, "disconnect");
	must(pthread_create(&thread, NULL, serves, &pair) == 0, "start a thread");
	must(pthread_join(thread, NULL) == 0, "wait for a thread");
	/* The call never returns: the signal ends the program. */
	if (!right)
		alarm(4);
	destroys(&pair);
	cm_close(&pair);
}
