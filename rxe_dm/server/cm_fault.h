/* SPDX-License-Identifier: MIT */
/* Fault rules for the connection manager.
 *
 * Calls of librdmacm by name: rdma_connect() and the others that are requests to the connection
 * manager fail here, before they do anything.
 *
 * Messages: cm_drop, cm_duplicate, cm_delay and cm_reject. The server carries them out at QP 1,
 * where all messages of the device pass. */
#ifndef RXE_DM_SERVER_CM_FAULT_H
#define RXE_DM_SERVER_CM_FAULT_H

#include <stdint.h>

#include "lib/inject/verb.h"
#include "net/link/fault/fault.h"
#include "net/wire/cm.h"

struct conn;
struct device;

/* Counts a request of a process for each rule of a device that names its call (INJECT_VERBS: none
 * does). 0, or the negative errno of the first rule that fires. */
int cm_fault_decide(struct conn *conn, uint32_t device, enum inject_verb verb);
void cm_fault_end_conn(struct conn *conn);

/* Counts of nth= and every=, by the place of a rule, direction and message. */
struct gsi_faults {
	uint32_t id[FAULT_MAX_RULES]; /* number of the rule that the counts are of */
	uint32_t count[FAULT_MAX_RULES][2][CM_APR - CM_REQ + 1];
};

enum gsi_fault_action {
	GSI_FAULT_NONE,
	GSI_FAULT_DROP,
	GSI_FAULT_DUPLICATE,
	GSI_FAULT_DELAY,
	GSI_FAULT_REJECT, /* a REQ that arrived: answer it with a REJ */
};

struct gsi_fault {
	enum gsi_fault_action action;
	uint16_t reason;   /* GSI_FAULT_REJECT: enum cm_reject_reason */
	uint64_t delay_ns; /* GSI_FAULT_DELAY */
};

/* Counts the message for each rule that selects it. The first rule that fires decides. */
struct gsi_fault gsi_fault_decide(struct device *device, struct gsi_faults *faults,
				  const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir);
/* The REJ that answers a REQ. */
void gsi_fault_answer(uint8_t ret_mad[CM_MAD_BYTES], const uint8_t req[CM_MAD_BYTES],
		      uint16_t reason);

#endif
