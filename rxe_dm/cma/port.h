/* SPDX-License-Identifier: MIT */
/* Ports of the port spaces: owners and listeners. */
#ifndef RXE_CMA_PORT_H
#define RXE_CMA_PORT_H

#include "rxe_dm/cma/id.h"

/* A port of a port space, its owners, and what listens on it. */
struct cma_port {
	uint32_t key; /* port space << 16 | port: the service ID */
	struct cma_ids *ids;
	struct cma_id *owners;
	struct cm_id *listener; /* NULL: no owner listens */
	uint32_t listeners;	/* owners that listen */
	UT_hash_handle hh;
};

int cma_port_take(struct cma_id *id, uint16_t port); /* port 0: an ephemeral one */
void cma_port_release(struct cma_id *id);
/* The id becomes a listener of its port. */
int cma_port_listen(struct cma_id *id);
/* Whether the programs of all of its listeners are stopped. */
bool cma_port_is_stopped(const struct cma_port *port);
/* The listener for a connection request that names these endpoints; NULL: none. */
struct cma_id *cma_port_match(const struct cma_port *port, uint32_t device,
			      const struct endpoint *local);

#endif
