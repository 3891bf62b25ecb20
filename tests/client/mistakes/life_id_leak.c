// SPDX-License-Identifier: MIT
/* Ends with an id that nothing refers to. */
#include <rdma/rdma_cma.h>

#include "mistakes.h"
#include "pair.h"

STACKED static void makes(bool keeps)
{
	struct rdma_cm_id *id;

	must(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == 0, "create an id");
	if (keeps)
		must(rdma_destroy_id(id) == 0, "destroy an id");
}

void life_id_leak(bool right)
{
	makes(right);
}
