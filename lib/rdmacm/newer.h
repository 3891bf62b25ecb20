/* SPDX-License-Identifier: MIT */
/* Declarations of rdma-core 65's rdma_cma.h that an older one lacks. */
#ifndef RXE_RDMACM_NEWER_H
#define RXE_RDMACM_NEWER_H

#include "lib/abi/newer.h"

#pragma GCC visibility push(default)

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "rdmacm_newer_config.h"

#ifndef RXE_DM_HAVE_ADDRINFO_RESOLVED
#define RDMA_CM_EVENT_ADDRINFO_RESOLVED ((enum rdma_cm_event_type)16)
#define RDMA_CM_EVENT_ADDRINFO_ERROR	((enum rdma_cm_event_type)17)
#define RDMA_CM_EVENT_USER		((enum rdma_cm_event_type)18)
#define RDMA_CM_EVENT_INTERNAL		((enum rdma_cm_event_type)19)
#define RAI_SA				0x00000010
#define RAI_DNS				0x00000020

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t arg);
#endif

#pragma GCC visibility pop

#endif
