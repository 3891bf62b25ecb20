/* SPDX-License-Identifier: MIT */
/* The layer of `rxe_dm run --record` over librdmacm.so.1, which is built once more for it: a call
 * that is recorded is defined here under its public name, and calls the library's, which the build
 * names below_NAME. The verbs that librdmacm calls are those of the record build of
 * libibverbs.so.1, so they are recorded as well; calls inside librdmacm are not.
 *
 *   life.c      channels, ids, queue pairs and SRQs of ids
 *   connect.c   addresses, connections, multicast groups
 *   event.c     events
 *
 * An id is named by its address, a channel by its descriptor. The room changes nothing that a
 * program gets. Called by programs; calls the library below it. */
#ifndef RXE_RECORD_CM_CM_H
#define RXE_RECORD_CM_CM_H

#include <errno.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#pragma GCC visibility pop

#include "lib/record/cm.h"

/* Declares the function of a call below. */
#define BELOW(name) extern __typeof__(name) below_##name

#define RECORD_CM(verb, began_ns, error, ...)                                                      \
	rxe_dm_record_add(                                                                         \
		verb, began_ns, error, (const uint64_t[]){ __VA_ARGS__ },                          \
		(uint32_t)(sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)))

/* The error of a call that returns -1 with errno. */
static inline int record_cm_error(int rc)
{
	return rc ? errno : 0;
}

static inline uint64_t record_cm_id(const struct rdma_cm_id *id)
{
	return (uint64_t)(uintptr_t)id;
}

/* 0: the id has no queue pair. */
static inline uint64_t record_cm_qp(const struct rdma_cm_id *id)
{
	return id && id->qp ? id->qp->qp_num : 0;
}

static inline uint64_t record_cm_fd(const struct rdma_event_channel *channel)
{
	return channel ? (uint64_t)channel->fd : 0;
}

#endif
