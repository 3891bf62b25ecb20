/* SPDX-License-Identifier: MIT */
/* Faults on demand in this process: while the device has rules, packets go through a shaper (net/link/fault/shaper.h) that drops,
 * delays, spoils and answers as they say. The rules stand in shared memory; a change is seen by one relaxed load. Under the progress
 * lock throughout. */
#ifndef RXE_PROGRESS_FAULT_H
#define RXE_PROGRESS_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/fault.h"
#include "net/wire/train.h"

struct progress;
struct vb_fault_shop;
struct vb_wire;
struct rxe_qp;

struct vb_fault {
	struct progress *progress;
	const _Atomic uint32_t *now; /* the rules' generation */
	uint32_t generation;	     /* ... that shop has */
	struct vb_fault_shop *shop;  /* NULL: no rules, and nothing waits */
	uint64_t told_overflows,
		told_unanswered; /* of the shaper's counts, so many are in the slot's */
};

/* 0 or a negative errno. */
int vb_fault_open(struct progress *progress);
void vb_fault_close(struct vb_wire *wire);

/* The rules as they stand, oldest first, and the place of each in shared memory. */
void vb_fault_copy_rules(const struct ctl_faults *from, struct fault_rules *rules,
			 uint32_t place[FAULT_MAX_RULES]);
/* The rule at that place has fired. */
void vb_fault_count(struct progress *progress, uint32_t place, uint32_t id);

/* The engine's completing (emu/host.h); host: struct progress. */
uint32_t vb_fault_completing(void *host, const struct rxe_qp *qp, bool is_recv);
/* Take the rules over now, not with the next packet. */
void vb_fault_follow(struct progress *progress);

/* Are there rules, or packets that wait, or have the rules changed? */
static inline bool vb_fault_concerned(const struct vb_fault *fault)
{
	return fault->shop ||
	       atomic_load_explicit(fault->now, memory_order_relaxed) != fault->generation;
}

/* As vb_wire_send and vb_wire_recv; what is due goes first. */
int vb_fault_send(struct vb_wire *wire, const struct wire_train *trains, size_t n);
int vb_fault_recv(struct vb_wire *wire, struct wire_arrival *ret, size_t max);
uint64_t vb_fault_deadline(const struct vb_fault *fault);

#endif
