/* SPDX-License-Identifier: MIT */
/* Accesses that processes under --check publish for each other (lib/control/checked.h): of memory
 * that a peer of this device has, by RDMA WRITE, RDMA READ and atomics, and of own memory that
 * peers may reach, by all requests but receives. A process writes its own slot only, and nothing
 * waits for another process: an access is published first, and compared with those of others then,
 * so that of two at the same time at least one process sees the other's. Under the layer's lock. */
#ifndef RXE_CHECK_ACCESS_H
#define RXE_CHECK_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/check/stack.h"
#include "lib/control/checked.h"

struct check_qp;
struct check_range;
struct check_region;
struct check_request;
struct ctl_slot;
struct ibv_context;
struct ibv_sge;
struct span;

/* A copy of what another process has published. */
struct access {
	struct ctl_access at;
	const struct ctl_slot *slots; /* all the device's */
	const struct ctl_slot *slot;  /* its process's */
};

/* What this process publishes; NULL: its slot is still that of the process that forked it. */
struct ctl_checked *access_own(struct ibv_context *context);
/* The process makes a queue pair: it is checked, for the others. */
void access_begin(struct ibv_context *context);
/* The bytes at the peer, where another process of this device has them: sets span and owner. Or
 * device memory. */
void access_target(const struct check_qp *qp, const struct ibv_sge *there,
		   struct check_range *range);
/* Does another process use the device? Else there is nothing to publish. */
bool access_is_shared(struct ibv_context *context);
/* Peers may reach the memory of the region, also through a window. region may be NULL. */
bool access_is_open(const struct check_region *region);
/* Publishes a range of a request that is about to be posted, whose span is set. */
void access_add(const struct check_request *request, struct check_range *range);
/* An RDMA WRITE or atomic is about to be posted, wherever it writes: what the queue pair has
 * published so far is followed by it. */
void access_wrote(const struct check_qp *qp);
/* The program has polled the completion of the request: the access is kept. clock: of the process
 * then (vector.h). */
void access_completed(const struct check_request *request, struct check_range *range,
		      uint64_t clock);
/* The request has ended otherwise. */
void access_ended(const struct check_request *request, struct check_range *range);
/* The memory of a region that peers may reach has ended there: returns the number of the note. */
uint64_t access_note(const struct check_region *region, const struct span *ended,
		     const struct check_stack *where);
/* The note no longer holds. */
void access_forget(const struct check_region *region, uint64_t note);
/* The program has polled the messages that qp counts. */
void access_received(const struct check_qp *qp);

/* Bytes of the process of a slot, or of device memory. */
struct access_place {
	const struct ctl_slot *owner; /* NULL: this process */
	uint32_t owner_epoch;
	uint64_t start, end;
	uint32_t dm; /* as in struct check_range */
};

/* Calls visit for each access of another process to one of the bytes: outstanding ones of a queue
 * pair that still executes requests, those that are done, and notes. */
void access_each(struct ibv_context *context, const struct access_place *place,
		 void (*visit)(const struct access *other, void *arg), void *arg);
/* Finds an access of the process at a slot by its number. False: it is no longer there. */
bool access_find(struct ibv_context *context, const struct ctl_slot *slot, uint64_t number,
		 struct access *ret);
/* A word of up to 8 bytes that programs may poll as a flag. */
bool access_is_flag(const struct access *other);
/* The request has been executed, or may have been, and its effect may be known to a program that
 * polls a message, or memory: a later message or RDMA WRITE of its queue pair follows it. */
bool access_may_be_known(const struct access *other);
/* Its queue pair is connected to one of this process. */
bool access_is_of_peer(struct ibv_context *context, const struct access *other);
/* Where it was posted. */
struct check_stack access_stack(const struct access *other);
/* "QP 0x01dd02 of NAME (process 4711)" */
void access_label(const struct access *other, char *ret, uint32_t len);

#endif
