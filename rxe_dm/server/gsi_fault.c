// SPDX-License-Identifier: MIT
/* Decisions of fault rules about messages of the connection manager. */
#include "rxe_dm/server/gsi_fault.h"

#include <string.h>

#include "lib/inject/rule.h"
#include "rxe_dm/server/device.h"

static struct gsi_fault result_of(const struct inject_rule *rule)
{
	struct gsi_fault ret = {
		.action = GSI_FAULT_DROP,
		.reason = (uint16_t)rule->reason,
		.delay_ns = rule->packet.delay_ns,
	};

	if (rule->action == INJECT_CM_DUPLICATE)
		ret.action = GSI_FAULT_DUPLICATE;
	else if (rule->action == INJECT_CM_DELAY)
		ret.action = GSI_FAULT_DELAY;
	else if (rule->action == INJECT_CM_REJECT)
		ret.action = GSI_FAULT_REJECT;
	return ret;
}

/* Counts the message. True: the rule fires. */
static bool count(struct gsi_faults *faults, uint32_t place, uint32_t id,
		  const struct inject_rule *rule, uint32_t attr, enum fault_dir dir)
{
	if (faults->id[place] != id) {
		memset(faults->count[place], 0, sizeof(faults->count[place]));
		faults->id[place] = id;
	}
	return inject_fires_message(rule, id, attr, dir,
				    ++faults->count[place][dir][attr - CM_REQ]);
}

struct gsi_fault gsi_fault_decide(struct device *device, struct gsi_faults *faults,
				  const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir)
{
	struct gsi_fault result = { .action = GSI_FAULT_NONE };
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;
	struct cm_msg msg;

	if (!device->num_faults || !cm_msg_parse(&msg, mad))
		return result;
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		struct ctl_fault *fault = &device->shared->faults.at[i];

		if (!fault->id || !inject_rule_parse(&rule, fault->text, why) ||
		    !inject_selects_message(&rule, msg.attr, dir) ||
		    !count(faults, i, fault->id, &rule, msg.attr, dir) ||
		    result.action != GSI_FAULT_NONE)
			continue;
		fault->fired++;
		result = result_of(&rule);
	}
	return result;
}

void gsi_fault_answer(uint8_t ret_mad[CM_MAD_BYTES], const uint8_t req[CM_MAD_BYTES],
		      uint16_t reason)
{
	struct cm_msg asked = { 0 };
	struct cm_msg rej = {
		.attr = CM_REJ,
		.u.rej = { .message_rejected = CM_ANSWERED_REQ, .reason = reason },
	};

	(void)cm_msg_parse(&asked, req);
	rej.tid = asked.tid;
	rej.remote_comm_id = asked.local_comm_id;
	cm_msg_emit(ret_mad, &rej);
}
