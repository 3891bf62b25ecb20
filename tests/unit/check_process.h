/* SPDX-License-Identifier: MIT */
/* Processes of a device under --check: each test plays all of them in its own process, with a slot
 * of the test's shared memory for each. */
#ifndef TESTS_CHECK_PROCESS_H
#define TESTS_CHECK_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/check/access.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/control/checked.h"
#include "lib/verbs/context.h"
#include "lib/verbs/device.h"

struct process {
	struct vb_device *dev;
	struct vb_context context;
};

/* A queue pair of a process, and its last request. */
struct process_qp {
	struct ibv_qp qp;
	struct check_object object;
	struct check_qp check;
	struct check_region region;
	struct check_request *request; /* with one range */
};

/* The first one makes the shared memory, which the others have as well. */
void process_new(struct process *process, const struct process *first, uint32_t slot);
void process_free(struct process *process, bool is_first);
struct ibv_context *process_context(struct process *process);
struct ctl_checked *process_checked(struct process *process);
/* What the process's slot says of queue pairs with this number. */
struct ctl_shared_qp *process_qp_entry(struct process *process, uint32_t qpn);

/* The number of a queue pair of the process. */
uint32_t process_qpn(const struct process *process, uint32_t number);
/* A queue pair in RTS, connected to this number of the same device. */
void qp_new(struct process_qp *qp, struct process *process, uint32_t number, uint32_t dest);
void qp_free(struct process_qp *qp);
/* The next request of the queue pair: an RDMA WRITE, so far to nothing. */
struct check_request *qp_request(struct process_qp *qp);
/* The remote range of the request: bytes of another process. */
void request_to(struct check_request *request, const struct process *owner, uint64_t start,
		uint64_t end);

#endif
