/* SPDX-License-Identifier: MIT */
/* The device server under attack by other means than its connections: shared memory of processes
 * that have exited, packets, fault rules. */
#ifndef TESTS_FUZZ_CONTROL_H
#define TESTS_FUZZ_CONTROL_H

#include "rxe_dm/server/instance.h"
#include "tests/fuzz/target.h"

#define CONTROL_KNOWN_SLOTS 4u

extern struct instance control_instance;
/* The script's clock. */
extern uint64_t control_now_ns;
/* Slots that processes got, by the order in which they did, modulo their number; 0: none did. */
extern uint32_t control_slot[CONTROL_KNOWN_SLOTS];

static inline struct device *control_device(void)
{
	return &control_instance.devices[0];
}

/* What instance_run() does, once. */
void control_turn(void);

/* control_fault.c: a request about fault rules with any text, and what must come of it; rules out of a file. */
void control_fault_take(struct ctl_request *req, struct take *take);
void control_fault_answered(const struct ctl_request *req, const struct ctl_reply *reply);
void control_fault_file(struct take *take);
/* What processes are shown is sound, and when no rule is left the device is as it came up. */
void control_fault_check(void);

/* control_slot.c */
void control_slot_init(void);
/* Any bytes, anywhere in a slot. */
void control_slot_spoil(struct take *take);
/* A TIME_WAIT record, or that of a delayed ACK, as the process says. */
void control_slot_record(struct take *take, bool is_delayed);
/* Any bytes in the rings that the server itself writes for those who capture. */
void control_slot_captured(struct take *take);
void control_slot_packet(struct take *take);
/* Everybody has left: nothing is answered any more, and nothing is left in the slots. */
void control_slot_end(void);

/* control_xrcd.c: a domain was opened. */
void control_xrcd_opened(const struct ctl_request *req, const struct ctl_reply *reply);

#endif
