// SPDX-License-Identifier: MIT
/* Decisions of fault rules about calls of librdmacm, and about messages of the connection
 * manager. */
#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "rxe_dm/server/cm/fault.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"

/* What rules select: a call, or a message of one direction where verb is INJECT_VERBS. */
struct subject {
	enum inject_verb verb;
	uint32_t attr; /* enum cm_attr */
	enum fault_dir dir;
};

static bool selects(const struct inject_rule *rule, const struct subject *what)
{
	return what->verb == INJECT_VERBS ? inject_selects_message(rule, what->attr, what->dir)
					  : inject_selects_verb(rule, what->verb);
}

/* Counts the subject for a rule that selects it. True: the rule fires. */
static bool count(struct cm_fault_counts *counts, uint32_t place, uint32_t id,
		  const struct inject_rule *rule, const struct subject *what)
{
	uint32_t *counted = counts->count[place];

	if (counts->id[place] != id)
		memset(counted, 0, sizeof(counts->count[place]));
	counts->id[place] = id;
	if (what->verb != INJECT_VERBS)
		return inject_fires_verb(rule, id, what->verb, ++counted[what->verb]);
	return inject_fires_message(rule, id, what->attr, what->dir,
				    ++counted[2 * (what->attr - CM_REQ) + what->dir]);
}

/* Counts the subject for each rule that selects it. True: *ret is the first rule that fires. */
static bool decide(struct device *device, struct cm_fault_counts *counts,
		   const struct subject *what, struct inject_rule *ret)
{
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;
	bool fires = false;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		struct ctl_fault *fault = &device->shared->faults.at[i];

		if (!fault->id || !inject_rule_parse(&rule, fault->text, why) ||
		    !selects(&rule, what) || !count(counts, i, fault->id, &rule, what) || fires)
			continue;
		fault->fired++;
		*ret = rule;
		fires = true;
	}
	return fires;
}

int cm_fault_decide(struct conn *conn, uint32_t index, enum inject_verb verb)
{
	struct device *device = &conn->instance->devices[index];
	const struct subject what = { .verb = verb };
	struct inject_rule rule;

	if (!device->faults.count || verb == INJECT_VERBS)
		return 0;
	if (!conn->cm_calls)
		conn->cm_calls = calloc(conn->instance->num_devices, sizeof(*conn->cm_calls));
	return conn->cm_calls && decide(device, &conn->cm_calls[index], &what, &rule)
		       ? -rule.u.verb.error
		       : 0;
}

bool gsi_fault_decide(struct device *device, struct cm_fault_counts *counts,
		      const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir, struct inject_rule *ret)
{
	struct cm_msg msg;

	return device->faults.count && cm_msg_parse(&msg, mad) &&
	       decide(device, counts,
		      &(struct subject){ .verb = INJECT_VERBS, .attr = msg.attr, .dir = dir }, ret);
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
