/* SPDX-License-Identifier: MIT */
/* Fault rules of the connection manager. Calls of librdmacm by name (rdma_connect() and the others
 * that are requests to the connection manager) fail before they do anything. Messages: cm_drop,
 * cm_duplicate, cm_delay and cm_reject act at QP 1, where all messages of the device pass. */
#ifndef RXE_DM_SERVER_CM_FAULT_H
#define RXE_DM_SERVER_CM_FAULT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/inject/rule.h"
#include "lib/inject/verb.h"
#include "net/link/fault/fault.h"
#include "net/wire/cm_msg.h"

struct conn;
struct device;

/* Counts of nth= and every= by the place of a rule: calls of a process by enum inject_verb, or
 * messages of a device by attribute and direction. */
struct cm_fault_counts {
	uint32_t id[FAULT_MAX_RULES]; /* number of the counted rule */
	uint32_t count[FAULT_MAX_RULES][INJECT_VERBS];
};
static_assert(2 * (CM_APR - CM_REQ + 1) <= INJECT_VERBS, "each message has a count");
/* Counts a request of a process for each rule of a device that names its call (INJECT_VERBS: none
 * does). 0, or the negative errno of the first rule that fires. */
int cm_fault_decide(struct conn *conn, uint32_t device, enum inject_verb verb);
/* Counts the message for each rule that selects it. True: *ret is the first that fires, with the
 * action INJECT_CM_DROP, INJECT_CM_DUPLICATE, INJECT_CM_DELAY or, for a REQ that arrived,
 * INJECT_CM_REJECT. */
bool gsi_fault_decide(struct device *device, struct cm_fault_counts *counts,
		      const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir, struct inject_rule *ret);
/* The REJ that answers a REQ. */
void gsi_fault_answer(uint8_t ret_mad[CM_MAD_BYTES], const uint8_t req[CM_MAD_BYTES],
		      uint16_t reason);

#endif
