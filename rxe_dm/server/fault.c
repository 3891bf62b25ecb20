// SPDX-License-Identifier: MIT
/* Rules change between two steps of the generation: no process reads half of a change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/log.h"
#include "lib/inject/rule.h"
#include "net/link/clock.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/fault_device.h"
#include "rxe_dm/server/instance.h"

#define FILE_MAX 65536

/* Returns the rule's number, or 0: all places are taken. */
static uint32_t add(struct device *device, const struct inject_rule *rule)
{
	struct ctl_faults *faults = &device->shared->faults;
	uint32_t place = 0;

	while (place < FAULT_MAX_RULES && faults->at[place].id)
		place++;
	if (place == FAULT_MAX_RULES)
		return 0;
	fault_device_begin_change(device);
	faults->at[place] = (struct ctl_fault){ .id = ++faults->next_id };
	(void)inject_rule_format(faults->at[place].text, INJECT_TEXT_MAX, rule);
	fault_device_end_change(device);
	fault_device_added(device, place, rule);
	return faults->next_id;
}

static int serve_add(struct call *call)
{
	struct ctl_msg_fault *msg = &call->req.fault;
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;

	if (!memchr(msg->text, 0, sizeof(msg->text)) || !inject_rule_parse(&rule, msg->text, why))
		return -EINVAL;
	call->reply.made.handle = add(call->device, &rule);
	return call->reply.made.handle ? 0 : -ENOSPC;
}

/* Removes rule id; 0: all rules. */
static int remove_rules(struct device *device, uint32_t id)
{
	struct ctl_faults *faults = &device->shared->faults;
	int rc = id ? -ENOENT : 0;

	fault_device_begin_change(device);
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (!faults->at[i].id || (id && faults->at[i].id != id))
			continue;
		faults->at[i].id = 0;
		fault_device_cleared(device, i);
		rc = 0;
	}
	fault_device_end_change(device);
	(void)fault_device_run(device, clock_now_ns());
	return rc;
}

int serve_fault(struct call *call)
{
	switch (call->req.fault.what) {
	case CTL_FAULT_ADD: return serve_add(call);
	case CTL_FAULT_REMOVE:
		return call->req.fault.id ? remove_rules(call->device, call->req.fault.id)
					  : -ENOENT;
	case CTL_FAULT_CLEAR: return remove_rules(call->device, 0);
	}
	return -EINVAL;
}

static int load_text(struct device *device, const char *path, const char *text)
{
	struct inject_rules *rules = calloc(1, sizeof(*rules));
	char why[INJECT_TEXT_MAX];
	int rc = 0;

	if (!rules)
		return -ENOMEM;
	if (!inject_rules_add_text(rules, text, why)) {
		ctl_log(CTL_LOG_ERROR, "fault rules of %s: %s", path, why);
		rc = -EINVAL;
	}
	for (uint32_t i = 0; rc == 0 && i < rules->n; i++)
		add(device, &rules->rule[i]);
	free(rules);
	return rc;
}

int faults_load(struct device *device, const char *path)
{
	char *text = calloc(1, FILE_MAX + 1);
	FILE *f = fopen(path, "re");
	int rc = f ? 0 : -errno;
	size_t n = 0;

	if (f) {
		n = text ? fread(text, 1, FILE_MAX + 1, f) : 0;
		rc = ferror(f) ? -EIO : 0;
		fclose(f);
	}
	if (!text)
		rc = -ENOMEM;
	else if (n > FILE_MAX)
		rc = -EFBIG;
	if (rc) {
		ctl_log(CTL_LOG_ERROR,
			"fault rules cannot be read from %s (--faults, RXE_DM_FAULTS): %s", path,
			strerror(-rc));
	} else {
		text[n] = '\0';
		rc = load_text(device, path, text);
	}
	free(text);
	return rc;
}

void faults_retire(struct device *device, uint32_t slot)
{
	struct ctl_fault_count *counts = device->shared->slot[slot].faults;
	struct ctl_faults *faults = &device->shared->faults;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (faults->at[i].id && atomic_load(&counts[i].id) == faults->at[i].id)
			faults->at[i].fired += atomic_load(&counts[i].fired);
		atomic_store(&counts[i].id, 0);
		atomic_store(&counts[i].fired, 0);
	}
}
