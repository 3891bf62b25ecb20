/* SPDX-License-Identifier: MIT */
/* Fault rules of the server under attack, by request and from a file. What processes read in the
 * shared memory is always sound: rules that parse, a port and a GID table that agree. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/inject/rule.h"
#include "tests/fuzz/control.h"

enum fault_flag {
	FAULT_WHAT = 3,
	FAULT_FULL = 1 << 2, /* without a terminating zero */
};

void control_fault_take(struct ctl_request *req, struct take *take)
{
	static const uint32_t whats[] = { CTL_FAULT_ADD, CTL_FAULT_REMOVE, CTL_FAULT_CLEAR, 77 };
	const uint8_t flags = take_u8(take);
	size_t len;

	req->op = CTL_FAULT;
	req->fault.what = whats[flags & FAULT_WHAT];
	/* One of the last rules, or none of them. */
	req->fault.id = control_device()->shared->faults.next_id - take_u8(take);
	len = take_u8(take);
	memset(req->fault.text, flags & FAULT_FULL ? ' ' : 0, sizeof(req->fault.text));
	for (size_t i = 0; i < len && take->left > 0; i++)
		req->fault.text[i] = (char)take_u8(take);
}

static bool is_there(uint32_t id)
{
	const struct ctl_faults *faults = &control_device()->shared->faults;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (id && faults->at[i].id == id)
			return true;
	}
	return false;
}

static void added(const struct ctl_msg_fault *msg, const struct ctl_reply *reply)
{
	char why[INJECT_TEXT_MAX];
	struct inject_rule rule;
	const bool is_good =
		memchr(msg->text, 0, sizeof(msg->text)) && inject_rule_parse(&rule, msg->text, why);

	MUST((reply->status == -EINVAL) == !is_good);
	MUST((reply->status == 0) == (is_good && is_there(reply->made.handle)));
	MUST(reply->status == 0 || !is_good || reply->status == -ENOSPC);
	if (reply->status == -ENOSPC)
		MUST(control_device()->faults.count == FAULT_MAX_RULES);
}

void control_fault_answered(const struct ctl_request *req, const struct ctl_reply *reply)
{
	const struct ctl_msg_fault *msg = &req->fault;

	if (reply->status == -ENODEV)
		return;
	if (msg->what == CTL_FAULT_ADD) {
		added(msg, reply);
	} else if (msg->what == CTL_FAULT_REMOVE) {
		MUST(reply->status == 0 || reply->status == -ENOENT);
		MUST(!is_there(msg->id));
	} else if (msg->what == CTL_FAULT_CLEAR) {
		MUST(reply->status == 0 && control_device()->faults.count == 0);
	} else {
		MUST(reply->status == -EINVAL);
	}
	control_fault_check();
}

/* All of its rules are added, or none, except those for which the table has no room. */
void control_fault_file(struct take *take)
{
	const struct device *device = control_device();
	const uint32_t before = device->faults.count;
	size_t len = take_u16(take);
	char path[40];
	int fd = memfd_create("fuzz rules", MFD_CLOEXEC), rc;

	len = len < take->left ? len : take->left;
	MUST(fd >= 0 && pwrite(fd, take->p, len, 0) == (ssize_t)len);
	take->p += len;
	take->left -= len;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = faults_load(control_device(), path);
	close(fd);
	MUST(rc == 0 || rc == -EINVAL || rc == -EFBIG);
	MUST(device->faults.count >= before && device->faults.count <= FAULT_MAX_RULES);
	if (rc)
		MUST(device->faults.count == before);
	control_fault_check();
}

static void look_at_rule(const struct ctl_fault *fault)
{
	char why[INJECT_TEXT_MAX], again[INJECT_TEXT_MAX];
	struct inject_rule rule;

	MUST(memchr(fault->text, 0, sizeof(fault->text)));
	MUST(inject_rule_parse(&rule, fault->text, why));
	MUST(inject_rule_format(again, sizeof(again), &rule) < INJECT_TEXT_MAX);
	MUST(strcmp(again, fault->text) == 0);
}

static void look_at_device(const struct device *device)
{
	const struct ctl_shared *shared = device->shared;
	const bool is_up = atomic_load(&shared->port_state) == IBV_PORT_ACTIVE;
	bool has_gid = false;

	MUST(is_up || atomic_load(&shared->port_state) == IBV_PORT_DOWN);
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++)
		has_gid |= gid_equal(&shared->gids[i], &device->link.gid);
	MUST(atomic_load(&shared->faults.silent) == (!is_up || !has_gid));
	if (atomic_load(&shared->faults.fatal) & 1)
		MUST(!is_up);
}

static void is_as_it_came_up(const struct device *device)
{
	const struct ctl_shared *shared = device->shared;
	const struct gid none = { 0 };

	MUST(atomic_load(&shared->port_state) == IBV_PORT_ACTIVE);
	MUST(!(atomic_load(&shared->faults.fatal) & 1));
	MUST(gid_equal(&shared->gids[0], &device->link.gid));
	for (uint32_t i = 1; i < RXE_MAX_GIDS; i++)
		MUST(gid_equal(&shared->gids[i], &none));
}

void control_fault_check(void)
{
	const struct device *device = control_device();
	const struct ctl_faults *faults = &device->shared->faults;
	uint32_t rules = 0;

	MUST(!(atomic_load(&faults->generation) & 1));
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		if (!faults->at[i].id)
			continue;
		rules++;
		look_at_rule(&faults->at[i]);
	}
	MUST(rules == device->faults.count);
	look_at_device(device);
	if (rules == 0)
		is_as_it_came_up(device);
}
