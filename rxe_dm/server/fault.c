// SPDX-License-Identifier: MIT
/* Rules change between two steps of the generation: no process reads half of a change.
 *
 * The device's state is computed from the active rules and its interface: the port is down while
 * any of them says so; the GID table is the initial one, changed by each active rule in turn. So
 * rules may overlap, and end in any order. */
#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/control/log.h"
#include "net/link/clock.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/device.h"
#include "rxe_dm/server/fault.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/serve.h"
#include "rxe_dm/server/slot.h"

#define FILE_MAX 65536

struct state {
	uint32_t port; /* enum ibv_port_state */
	bool is_fatal, is_silent;
	struct gid gids[RXE_MAX_GIDS];
};

static_assert(INJECT_GIDS == RXE_MAX_GIDS, "every index that a rule may name");

static void change_gid(struct gid gids[RXE_MAX_GIDS], const struct inject_rule_device *rule)
{
	const struct gid was = gids[rule->index];

	assert(rule->index < RXE_MAX_GIDS && rule->to < RXE_MAX_GIDS);
	gids[rule->index] = rule->moves ? gids[rule->to] : rule->gid;
	if (rule->moves)
		gids[rule->to] = was;
}

static bool has_gid(const struct state *state, const struct gid *gid)
{
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++)
		if (gid_equal(&state->gids[i], gid))
			return true;
	return false;
}

/* Returns the place of the oldest rule with a number above id, or FAULT_MAX_RULES. */
static uint32_t next_place(const struct ctl_faults *faults, uint32_t id)
{
	uint32_t ret = FAULT_MAX_RULES;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++)
		if (faults->at[i].id > id &&
		    (ret == FAULT_MAX_RULES || faults->at[i].id < faults->at[ret].id))
			ret = i;
	return ret;
}

static void wanted(const struct device *device, struct state *ret)
{
	const struct ctl_faults *faults = &device->shared->faults;

	*ret = (struct state){ .port = IBV_PORT_ACTIVE, .gids = { device->link.gid } };
	for (uint32_t at = next_place(faults, 0); at < FAULT_MAX_RULES;
	     at = next_place(faults, faults->at[at].id)) {
		const struct fault_timer *timer = &device->faults.timers[at];

		if (timer->phase != FAULT_PHASE_HOLDS)
			continue;
		if (timer->rule.action == INJECT_GID_CHANGE)
			change_gid(ret->gids, &timer->rule.u.device);
		else
			ret->port = IBV_PORT_DOWN;
		ret->is_fatal |= timer->rule.action == INJECT_DEVICE_FATAL;
	}
	ret->is_silent = ret->port == IBV_PORT_DOWN || !has_gid(ret, &device->link.gid);
	if (device->link.ethernet.no_carrier)
		ret->port = IBV_PORT_DOWN;
}

static void present(const struct device *device, struct state *ret)
{
	const struct ctl_shared *shared = device->shared;

	*ret = (struct state){
		.port = atomic_load(&shared->port_state),
		.is_fatal = atomic_load(&shared->faults.fatal) & 1,
		.is_silent = atomic_load(&shared->faults.silent),
	};
	memcpy(ret->gids, shared->gids, sizeof(ret->gids));
}

static void announce(struct device *device, enum ibv_event_type type, const char *what)
{
	ctl_log(CTL_LOG_WARNING, "rxe_dm%u: %s", device->index, what);
	slots_send_event(device, type);
	cm_device_event(device, type);
}

static void begin_change(struct device *device)
{
	const uint32_t before = atomic_fetch_add(&device->shared->faults.generation, 1);

	assert(!(before & 1));
}

static void end_change(struct device *device)
{
	struct ctl_faults *faults = &device->shared->faults;

	assert(atomic_load(&faults->generation) & 1);
	device->faults.count = 0;
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++)
		device->faults.count += faults->at[i].id != 0;
	atomic_fetch_add(&faults->generation, 1);
}

/* Events are sent after the state they report is visible. */
static void become(struct device *device, const struct state *was, const struct state *to)
{
	struct ctl_shared *shared = device->shared;

	begin_change(device);
	atomic_store(&shared->port_state, to->port);
	atomic_store(&shared->faults.silent, to->is_silent);
	if (to->is_fatal != was->is_fatal)
		atomic_fetch_add(&shared->faults.fatal, 1);
	memcpy(shared->gids, to->gids, sizeof(shared->gids));
	end_change(device);
	/* A silent device answers neither ARP nor neighbor discovery. */
	if (device->link.ethernet.link)
		ethernet_answer(device->link.ethernet.link, !to->is_silent);

	if (to->is_fatal && !was->is_fatal)
		announce(device, IBV_EVENT_DEVICE_FATAL, "a fault rule makes the device fatal");
	if (!to->is_fatal && was->is_fatal)
		ctl_log(CTL_LOG_WARNING, "rxe_dm%u: the device works again, for new contexts",
			device->index);
	if (memcmp(was->gids, to->gids, sizeof(was->gids)) != 0)
		announce(device, IBV_EVENT_GID_CHANGE, "the GID table changes by a fault rule");
	if (to->port != was->port && to->port == IBV_PORT_DOWN && !to->is_fatal)
		announce(device, IBV_EVENT_PORT_ERR,
			 to->is_silent ? "a fault rule takes the port down"
				       : "the port is down: its interface is down or was deleted");
	if (to->port != was->port && to->port == IBV_PORT_ACTIVE)
		announce(device, IBV_EVENT_PORT_ACTIVE, "the port is up again");
}

static void step(struct device *device, uint32_t place, uint64_t now_ns)
{
	struct fault_timer *timer = &device->faults.timers[place];

	if (timer->phase == FAULT_PHASE_WAITS && timer->due_ns <= now_ns) {
		timer->phase = FAULT_PHASE_HOLDS;
		timer->due_ns = timer->rule.packet.delay_ns
					? timer->due_ns + timer->rule.packet.delay_ns
					: UINT64_MAX;
		device->shared->faults.at[place].fired++;
	} else if (timer->phase == FAULT_PHASE_HOLDS && timer->due_ns <= now_ns) {
		timer->phase = FAULT_PHASE_NONE;
	}
}

static void start_timer(struct device *device, uint32_t place, const struct inject_rule *rule)
{
	const uint64_t now_ns = clock_now_ns();

	assert(device->shared->faults.at[place].id != 0);
	device->faults.timers[place].phase = FAULT_PHASE_NONE;
	if (!inject_is_of_device(rule->action))
		return;
	device->faults.timers[place] = (struct fault_timer){
		.phase = FAULT_PHASE_WAITS,
		.due_ns = now_ns + rule->u.device.after_ns,
		.rule = *rule,
	};
	(void)fault_run(device, now_ns);
}

uint64_t fault_run(struct device *device, uint64_t now_ns)
{
	struct state was, to;
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		const struct fault_timer *timer = &device->faults.timers[i];

		step(device, i, now_ns);
		if (timer->phase != FAULT_PHASE_NONE && timer->due_ns < next_ns)
			next_ns = timer->due_ns;
	}
	present(device, &was);
	wanted(device, &to);
	if (was.port != to.port || was.is_fatal != to.is_fatal || was.is_silent != to.is_silent ||
	    memcmp(was.gids, to.gids, sizeof(was.gids)) != 0)
		become(device, &was, &to);
	return next_ns;
}

/* Returns the rule's number, or 0: all places are taken. */
static uint32_t add(struct device *device, const struct inject_rule *rule)
{
	struct ctl_faults *faults = &device->shared->faults;
	uint32_t place = 0;

	while (place < FAULT_MAX_RULES && faults->at[place].id)
		place++;
	if (place == FAULT_MAX_RULES)
		return 0;
	begin_change(device);
	faults->at[place] = (struct ctl_fault){ .id = ++faults->next_id };
	(void)inject_rule_format(faults->at[place].text, INJECT_TEXT_MAX, rule);
	end_change(device);
	start_timer(device, place, rule);
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

	begin_change(device);
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (!faults->at[i].id || (id && faults->at[i].id != id))
			continue;
		faults->at[i].id = 0;
		device->faults.timers[i].phase = FAULT_PHASE_NONE;
		rc = 0;
	}
	end_change(device);
	(void)fault_run(device, clock_now_ns());
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
