// SPDX-License-Identifier: MIT
/* Reads an instance: objects page by page, everything else from shared memory. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/control/cm_request.h"
#include "lib/control/connection.h"
#include "rxe_dm/command/view.h"

/* Appends count entries of size bytes each to a list. 0 or a negative errno. */
static int append(void **list, size_t *num, const void *page, uint32_t count, size_t size)
{
	char *grown = (char *)realloc(*list, (*num + count + 1) * size);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + *num * size, page, count * size);
	*list = grown;
	*num += count;
	return 0;
}

static int take_objects(struct view_device *device, struct ctl_client *client)
{
	uint32_t next = 0;

	do {
		struct ctl_call call = {
			.req = { .op = CTL_OBJECTS, .device = device->info.index, .handle = next },
			.in_fd = -1
		};
		const struct ctl_msg_page *page = &call.reply.page;
		int rc = ctl_do(client, &call, 0);

		if (rc == 0 && page->count > CTL_PAGE_OBJECTS)
			rc = -EPROTO;
		if (rc == 0)
			rc = append((void **)&device->objects, &device->num_objects, page->object,
				    page->count, sizeof(page->object[0]));
		if (rc)
			return rc;
		next = page->next;
	} while (next);
	return 0;
}

int view_map_shared(const struct ctl_shared **ret, struct ctl_client *client, uint32_t index)
{
	struct ctl_call call = { .req = { .op = CTL_OBSERVE, .device = index }, .in_fd = -1 };
	int rc = ctl_do(client, &call, 1);
	void *base;

	if (rc)
		return rc;
	base = mmap(NULL, sizeof(struct ctl_shared), PROT_READ, MAP_SHARED, call.fds[0], 0);
	close(call.fds[0]);
	if (base == MAP_FAILED)
		return -errno;
	*ret = (const struct ctl_shared *)base;
	return 0;
}

static int take_device(struct view_device *device, struct ctl_client *client, uint32_t index)
{
	struct ctl_call call = { .req = { .op = CTL_DEVICE, .handle = index }, .in_fd = -1 };
	int rc = ctl_do(client, &call, 0);

	if (rc)
		return rc;
	device->info = call.reply.device;
	rc = view_map_shared(&device->shared, client, index);
	return rc ? rc : take_objects(device, client);
}

/* Ids of the connection manager. */
static int take_ids(struct view *view, struct ctl_client *client)
{
	struct ctl_cm_page page = { 0 };
	int rc;

	do {
		rc = ctl_cm_list(client, page.next, &page);
		if (rc == 0 && (page.count > CTL_CM_PAGE || (page.next && !page.count)))
			rc = -EPROTO;
		if (rc == 0)
			rc = append((void **)&view->ids, &view->num_ids, page.id, page.count,
				    sizeof(page.id[0]));
	} while (rc == 0 && page.next);
	return rc;
}

static int take_cm_failures(struct view *view, struct ctl_client *client)
{
	struct ctl_cm_failures page = { 0 };
	int rc;

	do {
		rc = ctl_cm_failures(client, page.next, &page);
		if (rc == 0 && (page.count > CTL_CM_FAILURES_PAGE || (page.next && !page.count) ||
				view->num_cm_failures + page.count > CTL_CM_FAILURES_KEPT))
			rc = -EPROTO;
		if (rc == 0)
			rc = append((void **)&view->cm_failures, &view->num_cm_failures, page.at,
				    page.count, sizeof(page.at[0]));
	} while (rc == 0 && page.next);
	return rc;
}

int view_take(struct view *ret, struct ctl_client *client)
{
	struct ctl_call call = { .req = { .op = CTL_STATUS }, .in_fd = -1 };
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = ctl_do(client, &call, 0);
	if (rc)
		return rc;
	ret->status = call.reply.info;
	for (uint32_t i = 0; i < ret->status.devices && i < CTL_DEVICE_MAX && rc == 0; i++) {
		ret->num_devices++;
		rc = take_device(&ret->device[i], client, i);
	}
	if (rc == 0)
		rc = take_ids(ret, client);
	if (rc == 0)
		rc = take_cm_failures(ret, client);
	if (rc)
		view_drop(ret);
	return rc;
}

void view_drop(struct view *view)
{
	for (uint32_t i = 0; i < view->num_devices; i++) {
		struct view_device *device = &view->device[i];

		free(device->objects);
		if (device->shared)
			munmap((void *)(uintptr_t)device->shared, sizeof(*device->shared));
	}
	view->num_devices = 0;
	free(view->ids);
	view->ids = NULL;
	view->num_ids = 0;
	free(view->cm_failures);
	view->cm_failures = NULL;
	view->num_cm_failures = 0;
}

uint32_t view_count(const struct view_device *device, enum ctl_kind kind, uint32_t context)
{
	uint32_t count = 0;

	for (size_t i = 0; i < device->num_objects; i++) {
		const struct ctl_object *object = &device->objects[i];

		if (object->kind == (uint32_t)kind && (context == 0 || object->context == context))
			count++;
	}
	return count;
}

uint32_t view_num_qps(const struct ctl_slot *slot)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		count += slot->qp[i].qpn != 0;
	return count;
}

struct view_binding view_binding(const struct view_device *device, const struct ctl_object *mw)
{
	struct view_binding ret = { 0 };
	const struct rxe_mw *bound;
	uint64_t before;

	if (mw->slot >= RXE_MAX_SLOTS || mw->addr >= RXE_MAX_MW)
		return ret;
	bound = &device->shared->slot[mw->slot].mws.mw[mw->addr];
	before = atomic_load(&bound->state);
	ret = (struct view_binding){ .key = (uint32_t)before,
				     .region = bound->region,
				     .rights = bound->rights,
				     .qpn = bound->qpn,
				     .iova = bound->iova,
				     .len = bound->len,
				     .at = bound->at };
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load(&bound->state) != before || (ret.key ^ mw->key) & ~RXE_MW_TAG)
		ret.key = 0;
	return ret;
}

const char *view_qp_type(uint32_t type)
{
	switch (type) {
	case IBV_QPT_RC: return "RC";
	case IBV_QPT_UC: return "UC";
	case IBV_QPT_UD: return "UD";
	case IBV_QPT_XRC_SEND: return "XRC_SEND";
	case IBV_QPT_XRC_RECV: return "XRC_RECV";
	case IBV_QPT_RAW_PACKET: return "RAW_PACKET";
	case CTL_QPT_WQ: return "WQ";
	}
	return "?";
}

const char *view_qp_state(uint32_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *view_mr_kind(uint32_t kind)
{
	switch (kind) {
	case RXE_MR_PLAIN: return "memory";
	case RXE_MR_ARENA: return "device";
	case RXE_MR_NULL: return "null";
	case RXE_MR_WINDOW_1: return "1";
	case RXE_MR_WINDOW_2: return "2B";
	}
	return "?";
}

const char *view_port_state(uint32_t state)
{
	return state == IBV_PORT_ACTIVE ? "ACTIVE" : state == IBV_PORT_DOWN ? "DOWN" : "?";
}

const char *view_link(uint32_t link)
{
	switch ((enum ctl_link)link) {
	case CTL_LINK_UDP: return "udp";
	case CTL_LINK_ETHERNET: return "ethernet";
	case CTL_LINK_MEMORY: return "memory";
	}
	return "?";
}

const char *view_mac(const uint8_t mac[static CTL_MAC_LEN], char ret[static VIEW_MAC_MAX])
{
	snprintf(ret, VIEW_MAC_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	return ret;
}

const char *view_rights(uint32_t rights, char ret[static VIEW_RIGHTS_MAX])
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ RXE_LOCAL_WRITE, "local_write" }, { RXE_REMOTE_WRITE, "remote_write" },
		{ RXE_REMOTE_READ, "remote_read" }, { RXE_REMOTE_ATOMIC, "remote_atomic" },
		{ RXE_MW_BIND, "mw_bind" },	    { RXE_ZERO_BASED, "zero_based" },
		{ RXE_ON_DEMAND, "on_demand" },	    { RXE_RELAXED_ORDERING, "relaxed_order" },
	};
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (rights & names[i].bit)
			len += (size_t)snprintf(ret + len, VIEW_RIGHTS_MAX - len, "%s%s",
						len ? " " : "", names[i].name);
	}
	return len ? ret : "-";
}

void view_add(struct view_text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at + text->len, text->size - text->len, format, args);
	va_end(args);
	text->len += n > 0 ? (size_t)n : 0;
	if (text->len >= text->size)
		text->len = text->size - 1;
}

const char *view_plain(char *ret, size_t size, const char *text, size_t max)
{
	size_t len = 0;

	for (; len < max && len + 1 < size && text[len]; len++) {
		const char c = text[len];

		ret[len] = (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
	}
	ret[len] = '\0';
	return ret;
}

int view_next_fault(const struct ctl_shared *shared, uint32_t id)
{
	const struct ctl_faults *faults = &shared->faults;
	int ret = -1;

	for (int i = 0; i < FAULT_MAX_RULES; i++) {
		if (faults->at[i].id > id && (ret < 0 || faults->at[i].id < faults->at[ret].id))
			ret = i;
	}
	return ret;
}

uint64_t view_fault_fired(const struct ctl_shared *shared, uint32_t place)
{
	const struct ctl_fault *fault = &shared->faults.at[place];
	uint64_t sum = fault->fired;

	for (uint32_t i = 0; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_fault_count *count = &shared->slot[i].faults[place];

		if (atomic_load(&shared->slot[i].pid) && atomic_load(&count->id) == fault->id)
			sum += atomic_load(&count->fired);
	}
	return sum;
}
