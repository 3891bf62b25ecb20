// SPDX-License-Identifier: MIT
/* Ids whose address is resolved on an Ethernet link: the link asks for the neighbor's MAC, and
 * gives up after a second. On a UDP link the kernel does that with the first packet. */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "net/link/ethernet/ethernet.h"
#include "rxe_dm/server/cm.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"

struct cm_neighbor {
	struct cm_neighbor *prev, *next;
	uint32_t id, device;
	struct gid dst;
};

int cm_neighbor_ask(struct instance *instance, struct rdma_id *id, uint32_t device,
		    const struct gid *dst)
{
	struct cm_neighbor *neighbor;
	int rc;

	if (instance->devices[device].link == CTL_LINK_MEMORY)
		return gid_equal(dst, &instance->devices[device].gid) || gid_is_multicast(dst)
			       ? 0
			       : -EHOSTUNREACH;
	if (instance->devices[device].link != CTL_LINK_ETHERNET)
		return 0;
	rc = ethernet_neighbor(instance->devices[device].ethernet.link, dst, true);
	if (rc)
		return rc == 1 ? 0 : rc;
	neighbor = (struct cm_neighbor *)calloc(1, sizeof(*neighbor));
	if (!neighbor)
		return -ENOMEM;
	neighbor->id = rdma_id_handle(id);
	neighbor->device = device;
	neighbor->dst = *dst;
	DL_APPEND(instance->cm_neighbors, neighbor);
	return -EINPROGRESS;
}

static void forget(struct instance *instance, struct cm_neighbor *neighbor)
{
	DL_DELETE(instance->cm_neighbors, neighbor);
	free(neighbor);
}

bool cm_neighbors_run(struct instance *instance)
{
	struct cm_neighbor *neighbor, *next;

	DL_FOREACH_SAFE (instance->cm_neighbors, neighbor, next) {
		struct link *link = instance->devices[neighbor->device].ethernet.link;
		const int rc = ethernet_neighbor(link, &neighbor->dst, false);
		struct rdma_id *id = rdma_id_find(instance->cm, neighbor->id);

		if (id && rc == 0)
			continue;
		/* As Linux: the error of a neighbor that does not answer is the timeout. */
		if (id)
			rdma_id_neighbor(id, rc == 1 ? 0 : -ETIMEDOUT);
		forget(instance, neighbor);
	}
	return instance->cm_neighbors != NULL;
}

void cm_neighbors_close(struct instance *instance)
{
	while (instance->cm_neighbors)
		forget(instance, instance->cm_neighbors);
}
