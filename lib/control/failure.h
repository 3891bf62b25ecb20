/* SPDX-License-Identifier: MIT */
/* Failures: queue pairs that went to error other than by ibv_modify_qp(), with the probable cause
 * in one sentence and the last packets, for `rxe_dm show`. A process writes the failures of its
 * slot; the server keeps the last ones of processes that have exited. */
#ifndef RXE_CONTROL_FAILURE_H
#define RXE_CONTROL_FAILURE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "net/link/capture/tail.h"
#include "net/wire/gid.h"

#define CTL_FAILURE_PACKETS  16u
#define CTL_FAILURE_WHY	     256u
#define CTL_FAILURES_OF_SLOT 8u
#define CTL_FAILURES_KEPT    32u

struct ctl_failure {
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t epoch_ns; /* since 1970 */
	uint64_t wr_id;
	struct gid peer;
	int32_t pid;
	char comm[16];
	uint32_t qpn, dest_qpn, type;
	uint32_t status; /* enum rxe_wc_status of the work request; 0: none is concerned */
	uint32_t has_wr;
	uint32_t num_packets;
	uint32_t watched; /* packets were recorded at that time */
	char why[CTL_FAILURE_WHY];
	struct tail_packet packet[CTL_FAILURE_PACKETS]; /* oldest first */
};
static_assert(sizeof(struct ctl_failure) % 8 == 0, "shared memory layout");

/* count is never reset, and raised after its entry is complete: at[(count - 1) % n] is newest. */
struct ctl_slot_failures {
	_Atomic uint32_t count;
	struct ctl_failure at[CTL_FAILURES_OF_SLOT];
};

struct ctl_kept_failures {
	_Atomic uint32_t count;
	struct ctl_failure at[CTL_FAILURES_KEPT];
};

#endif
