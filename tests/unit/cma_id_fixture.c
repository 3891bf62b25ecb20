// SPDX-License-Identifier: MIT
/* The hosts of two instances, the queue between them, and the trace. */
#include "cma_id_fixture.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MADS 64

struct side a, b;
uint64_t now_ns;

static struct mad_in_flight {
	struct side *to;
	struct cm_path path;
	uint8_t mad[CM_MAD_BYTES];
} queue[MAX_MADS];
static uint32_t num_queued, num_to_lose;
static char trace[16384];

__attribute__((format(printf, 2, 3))) static void write_line(const struct side *side,
							     const char *format, ...)
{
	const size_t len = strlen(trace);
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(trace + len, sizeof(trace) - len, "%6llu %c %s\n",
		 (unsigned long long)(now_ns / 1000000), side->name, text);
}

static struct gid gid_of(const char *text)
{
	struct gid ret = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (strchr(text, ':'))
		ck_assert_int_eq(inet_pton(AF_INET6, text, ret.raw), 1);
	else
		ck_assert_int_eq(inet_pton(AF_INET, text, ret.raw + 12), 1);
	return ret;
}

static void write_mad(const struct side *side, const struct cm_msg *msg, bool lost)
{
	char detail[40] = "";

	if (msg->attr == CM_REQ)
		snprintf(detail, sizeof(detail), " port %u",
			 (unsigned int)(msg->u.req.service_id & 0xffff));
	if (msg->attr == CM_REJ)
		snprintf(detail, sizeof(detail), " reason %u", msg->u.rej.reason);
	if (msg->attr == CM_SIDR_REP)
		snprintf(detail, sizeof(detail), " status %u", msg->u.sidr_rep.status);
	write_line(side, "> %s%s%s", cm_attr_str(msg->attr), detail, lost ? ", lost" : "");
}

/* The last byte of an address is the side. */
static struct side *owner_of(const struct gid *gid)
{
	return gid->raw[15] == 1 ? &a : &b;
}

static void send_mad(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct side *side = (struct side *)host;
	struct mad_in_flight *flight = &queue[num_queued];
	struct cm_msg msg;

	ck_assert(cm_msg_parse(&msg, mad));
	write_mad(side, &msg, num_to_lose > 0);
	side->sent = msg;
	if (num_to_lose) {
		num_to_lose--;
		return;
	}
	ck_assert_uint_lt(num_queued, MAX_MADS);
	flight->to = owner_of(&path->dst);
	flight->path = *path;
	flight->path.src = path->dst;
	flight->path.dst = path->src;
	memcpy(flight->mad, mad, CM_MAD_BYTES);
	num_queued++;
}

static const char *const event_names[] = {
	[CTL_CM_EVENT_ADDR_RESOLVED] = "ADDR_RESOLVED",
	[CTL_CM_EVENT_ADDR_ERROR] = "ADDR_ERROR",
	[CTL_CM_EVENT_ROUTE_RESOLVED] = "ROUTE_RESOLVED",
	[CTL_CM_EVENT_CONNECT_REQUEST] = "CONNECT_REQUEST",
	[CTL_CM_EVENT_CONNECT_RESPONSE] = "CONNECT_RESPONSE",
	[CTL_CM_EVENT_UNREACHABLE] = "UNREACHABLE",
	[CTL_CM_EVENT_REJECTED] = "REJECTED",
	[CTL_CM_EVENT_ESTABLISHED] = "ESTABLISHED",
	[CTL_CM_EVENT_DISCONNECTED] = "DISCONNECTED",
	[CTL_CM_EVENT_DEVICE_REMOVAL] = "DEVICE_REMOVAL",
	[CTL_CM_EVENT_ADDR_CHANGE] = "ADDR_CHANGE",
	[CTL_CM_EVENT_MULTICAST_JOIN] = "MULTICAST_JOIN",
	[CTL_CM_EVENT_TIMEWAIT_EXIT] = "TIMEWAIT_EXIT",
};

static void take_event(void *host, struct cma_id *id, const struct ctl_cm_event *event)
{
	struct side *side = (struct side *)host;
	char status[24] = "";

	(void)id;
	ck_assert_uint_lt(event->event, sizeof(event_names) / sizeof(event_names[0]));
	ck_assert_ptr_nonnull(event_names[event->event]);
	if (event->status)
		snprintf(status, sizeof(status), ", status %d", event->status);
	write_line(side, "%s of %llu%s", event_names[event->event],
		   (unsigned long long)event->token, status);
	side->last = *event;
}

static int ask_neighbor(void *host, struct cma_id *id, uint32_t device, const struct gid *dst)
{
	(void)id;
	(void)device;
	(void)dst;
	return ((const struct side *)host)->neighbor;
}

static bool has_unread(void *host, struct cma_id *id, uint32_t backlog)
{
	(void)id;
	return ((const struct side *)host)->unread >= backlog;
}

static uint32_t draw(void *host)
{
	static uint32_t last;

	(void)host;
	last = last * 1103515245u + 12345u;
	return last >> 4;
}

static int find_route(void *host, const struct gid *dst, uint32_t scope_id, struct gid *ret_src)
{
	const struct side *side = (const struct side *)host;

	(void)scope_id;
	*ret_src = gid_is_v4(dst) ? side->route_src : gid_of(side == &a ? "fd00::1" : "fd00::2");
	return side->route_error;
}

static bool has_address(void *host, const struct gid *gid)
{
	const struct gid other = gid_of("192.0.2.7"); /* the host's, without a device */

	(void)host;
	return gid_equal(gid, &other);
}

static bool is_stopped(void *host, struct cma_id *id)
{
	return ((const struct side *)host)->stopped == id;
}

static const struct cma_ids_ops ops = {
	.send = send_mad,
	.event = take_event,
	.has_unread = has_unread,
	.random = draw,
	.route = find_route,
	.has_address = has_address,
	.neighbor = ask_neighbor,
	.is_stopped = is_stopped,
};

static void open_side(struct side *side, char name, const char *v4, const char *v6)
{
	const struct cma_ids_cfg cfg = { .ops = &ops, .host = side, .max_ids = 100 };
	const struct cma_device devices[] = {
		{ .gid = gid_of(v4),
		  .node_guid = 0x1100 + (uint64_t)name,
		  .mtu = IBV_MTU_4096,
		  .max_responder_resources = FIXTURE_MAX_READS,
		  .max_initiator_depth = FIXTURE_MAX_READS },
		{ .gid = gid_of(v6),
		  .node_guid = 0x2200 + (uint64_t)name,
		  .mtu = IBV_MTU_1024,
		  .max_responder_resources = FIXTURE_MAX_READS,
		  .max_initiator_depth = FIXTURE_MAX_READS },
	};

	*side = (struct side){ .name = name, .route_src = gid_of(v4) };
	side->ids = cma_ids_new(&cfg);
	ck_assert_ptr_nonnull(side->ids);
	cma_ids_add_device(side->ids, &devices[0]);
	cma_ids_add_device(side->ids, &devices[1]);
}

void fixture_setup(void)
{
	now_ns = 0;
	num_queued = num_to_lose = 0;
	trace[0] = '\0';
	open_side(&a, 'a', "10.0.0.1", "fd00::1");
	open_side(&b, 'b', "10.0.0.2", "fd00::2");
}

void fixture_teardown(void)
{
	cma_ids_free(a.ids);
	cma_ids_free(b.ids);
}

union ctl_cm_sockaddr address(const char *text)
{
	union ctl_cm_sockaddr ret = { 0 };
	const char *colon = strrchr(text, ':');
	char host[64];

	if (!colon)
		return ret;
	if (text[0] == '[') {
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text) - 2, text + 1);
		ret.in6.sin6_family = AF_INET6;
		ret.in6.sin6_port = htons((uint16_t)atoi(colon + 1));
		ck_assert_int_eq(inet_pton(AF_INET6, host, &ret.in6.sin6_addr), 1);
	} else {
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
		ret.in.sin_family = AF_INET;
		ret.in.sin_port = htons((uint16_t)atoi(colon + 1));
		ck_assert_int_eq(inet_pton(AF_INET, host, &ret.in.sin_addr), 1);
	}
	return ret;
}

struct cma_id *make_id(struct side *side, uint32_t port_space, uint64_t token)
{
	const struct cma_id_user user = { .owner = side, .token = token };
	struct cma_id *id = NULL;

	ck_assert_int_eq(cma_id_create(side->ids, port_space, IBV_QPT_RC, &user, &id), 0);
	return id;
}

struct cma_id *tcp_id(struct side *side, uint64_t token)
{
	return make_id(side, CTL_CM_PS_TCP, token);
}

struct cma_id *listener(struct side *side, uint32_t port_space, const char *where, uint64_t token)
{
	const union ctl_cm_sockaddr local = address(where);
	struct cma_id *id = make_id(side, port_space, token);

	ck_assert_int_eq(cma_id_bind(id, &local), 0);
	ck_assert_int_eq(cma_id_listen(id, 4), 0);
	return id;
}

struct cma_id *resolved(struct side *side, uint32_t port_space, const char *to, uint64_t token)
{
	const union ctl_cm_sockaddr none = { 0 }, dst = address(to);
	struct cma_id *id = make_id(side, port_space, token);

	ck_assert_int_eq(cma_id_resolve_addr(id, &none, &dst), 0);
	ck_assert_int_eq(cma_id_resolve_route(id), 0);
	forget();
	return id;
}

struct cma_id *requested(struct side *side)
{
	struct cma_id *id = cma_id_find(side->ids, side->last.new_id);

	ck_assert_uint_eq(side->last.event, CTL_CM_EVENT_CONNECT_REQUEST);
	ck_assert_ptr_nonnull(id);
	return id;
}

struct cma_id *connected(struct cma_id **ret_passive)
{
	const struct ctl_cm_conn conn = { .qpn = 0x111, .retry_count = 7, .rnr_retry_count = 7 };
	struct cma_id *active = resolved(&a, CTL_CM_PS_TCP, "10.0.0.2:7174", 10);

	listener(&b, CTL_CM_PS_TCP, "0.0.0.0:7174", 20);
	ck_assert_int_eq(cma_id_connect(active, &conn, now_ns), 0);
	deliver();
	*ret_passive = requested(&b);
	cma_id_user(*ret_passive)->token = 30;
	ck_assert_int_eq(cma_id_accept(*ret_passive, &conn, now_ns), 0);
	deliver();
	ck_assert_int_eq(cma_id_establish(active), 0);
	deliver();
	forget();
	return active;
}

void lose(uint32_t n)
{
	num_to_lose = n;
}

void deliver(void)
{
	for (uint32_t i = 0; i < num_queued; i++) {
		const struct mad_in_flight flight = queue[i];

		cma_ids_input(flight.to->ids, &flight.path, flight.mad, now_ns);
	}
	num_queued = 0;
}

void pass_ms(uint32_t ms)
{
	const uint64_t end_ns = now_ns + ms * 1000000ull;

	for (;;) {
		const uint64_t next_a = cma_ids_deadline(a.ids);
		const uint64_t next_b = cma_ids_deadline(b.ids);
		const uint64_t next_ns = next_a < next_b ? next_a : next_b;

		deliver();
		if (next_ns > end_ns)
			break;
		now_ns = next_ns > now_ns ? next_ns : now_ns;
		cma_ids_expire(a.ids, now_ns);
		cma_ids_expire(b.ids, now_ns);
	}
	now_ns = end_ns;
}

void forget(void)
{
	trace[0] = '\0';
}

void expect(const char *wanted)
{
	ck_assert_msg(strcmp(trace, wanted) == 0, "wanted:\n%s\ngot:\n%s", wanted, trace);
	forget();
}
