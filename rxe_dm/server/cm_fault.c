// SPDX-License-Identifier: MIT
/* Decisions of fault rules about calls of librdmacm, and about messages of the connection
 * manager. */
#include "rxe_dm/server/cm.h"

#include <stdlib.h>
#include <string.h>

#include "lib/inject/rule.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/instance.h"

/* Calls of one process by rule of one device. */
struct cm_calls {
	uint32_t id[FAULT_MAX_RULES]; /* number of the rule that the counts are of */
	uint32_t count[FAULT_MAX_RULES][INJECT_VERBS];
};

static struct cm_calls *calls_of(struct conn *conn, uint32_t device)
{
	if (!conn->cm_calls)
		conn->cm_calls = (struct cm_calls *)calloc(conn->instance->num_devices,
							   sizeof(*conn->cm_calls));
	return conn->cm_calls ? &conn->cm_calls[device] : NULL;
}

static uint32_t count_call(struct cm_calls *calls, uint32_t place, uint32_t id,
			   enum inject_verb verb)
{
	if (calls->id[place] != id)
		memset(calls->count[place], 0, sizeof(calls->count[place]));
	calls->id[place] = id;
	return ++calls->count[place][verb];
}

int cm_fault_decide(struct conn *conn, uint32_t index, enum inject_verb verb)
{
	struct device *device = &conn->instance->devices[index];
	struct cm_calls *calls;
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;
	int rc = 0;

	if (!device->num_faults || verb == INJECT_VERBS)
		return 0;
	calls = calls_of(conn, index);
	for (uint32_t i = 0; calls && i < FAULT_MAX_RULES; i++) {
		struct ctl_fault *fault = &device->shared->faults.at[i];

		if (!fault->id || !inject_rule_parse(&rule, fault->text, why) ||
		    !inject_selects_verb(&rule, verb) ||
		    !inject_fires_verb(&rule, fault->id, verb,
				       count_call(calls, i, fault->id, verb)) ||
		    rc)
			continue;
		fault->fired++;
		rc = -rule.error;
	}
	return rc;
}

void cm_fault_end_conn(struct conn *conn)
{
	free(conn->cm_calls);
	conn->cm_calls = NULL;
}

/* Counts the message. True: the rule fires. */
static bool count_message(struct gsi_faults *faults, uint32_t place, uint32_t id,
			  const struct inject_rule *rule, uint32_t attr, enum fault_dir dir)
{
	if (faults->id[place] != id) {
		memset(faults->count[place], 0, sizeof(faults->count[place]));
		faults->id[place] = id;
	}
	return inject_fires_message(rule, id, attr, dir,
				    ++faults->count[place][dir][attr - CM_REQ]);
}

bool gsi_fault_decide(struct device *device, struct gsi_faults *faults,
		      const uint8_t mad[CM_MAD_BYTES], enum fault_dir dir, struct inject_rule *ret)
{
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;
	struct cm_msg msg;
	bool fires = false;

	if (!device->num_faults || !cm_msg_parse(&msg, mad))
		return false;
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		struct ctl_fault *fault = &device->shared->faults.at[i];

		if (!fault->id || !inject_rule_parse(&rule, fault->text, why) ||
		    !inject_selects_message(&rule, msg.attr, dir) ||
		    !count_message(faults, i, fault->id, &rule, msg.attr, dir) || fires)
			continue;
		fault->fired++;
		*ret = rule;
		fires = true;
	}
	return fires;
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
