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
/* Slots of the processes that attached, in order, modulo the size; 0: none. */
extern uint32_t control_slot[CONTROL_KNOWN_SLOTS];

static inline struct device *control_device(void)
{
	return &control_instance.devices[0];
}

/* Does what instance_run() does in one turn. */
void control_turn(void);

/* control_fault.c: requests with any fault rules and their results; rules from a file. */
void control_fault_take(struct ctl_request *req, struct take *take);
void control_fault_answered(const struct ctl_request *req, const struct ctl_reply *reply);
void control_fault_file(struct take *take);
/* What processes see is sound, and without rules the device is in its first state. */
void control_fault_check(void);

/* control_slot.c */
void control_slot_init(void);
/* Writes any bytes to any place of a slot. */
void control_slot_spoil(struct take *take);
/* Writes a TIME_WAIT record, or that of a delayed ACK, as a process does. */
void control_slot_record(struct take *take, bool is_delayed);
/* Writes any bytes to the rings that the server writes for captures. */
void control_slot_captured(struct take *take);
void control_slot_packet(struct take *take);
/* All processes have ended: nothing is answered any more, and the slots are empty. */
void control_slot_end(void);

/* control_cm.c */
/* A request to the connection manager. Returns the descriptor that goes with it; -1: none. */
int control_cm_take(struct ctl_request *req, struct take *take);
void control_cm_answered(const struct ctl_request *req, const struct ctl_reply *reply);
/* A program reads an event. */
void control_cm_read(struct take *take);
/* All programs have ended: no id is left, and each exchange comes to its end. */
void control_cm_end(void);

/* control_xrcd.c: an XRC domain was opened. */
void control_xrcd_opened(const struct ctl_request *req, const struct ctl_reply *reply);

/* control_xrcd.c: an XRC target was announced or opened. */
void control_target_opened(const struct ctl_request *req, const struct ctl_reply *reply);

#endif
