// SPDX-License-Identifier: MIT
/* librdmacm's event channels against a stand-in for the connection manager, which counts ids and
 * writes the events that a test wants: which events a program gets, in which order, and what
 * becomes of those of an id that ends, moves or is listened on. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/client.h"
#include "lib/control/cm_request.h"
#include "lib/control/log.h"
#include "lib/control/settings.h"
#include "lib/rdmacm/id.h"
#include "lib/rdmacm/newer.h"
#include "lib/rdmacm/server.h"
#include "tests/suite.h"

#define MAX 32

static struct {
	int ends[MAX]; /* of channels */
	bool paused[MAX];
	uint64_t tokens[MAX]; /* of ids */
	uint32_t where[MAX];  /* their channels */
	uint32_t sent[MAX];   /* events of them */
	bool ended[MAX];
	uint32_t channels, ids, pauses;
	uint64_t joined; /* token of the last membership */
	bool dead;
	bool is_full;	      /* takes no channel */
	bool dies_of_a_route; /* after its answer to the request for one */
} manager;

/* The stand-in: what the library calls of lib/control and of libibverbs. */
static struct ibv_device *no_devices[2];

struct ibv_device **ibv_get_device_list(int *count)
{
	if (count)
		*count = 1;
	return no_devices;
}

void ibv_free_device_list(struct ibv_device **list)
{
	(void)list;
}

int ctl_connect(struct ctl_client **ret)
{
	*ret = (struct ctl_client *)&manager;
	return 0;
}

void ctl_disconnect(struct ctl_client *client)
{
	(void)client;
}

bool ctl_alive(struct ctl_client *client)
{
	(void)client;
	return !manager.dead;
}

/* The library explains addresses with it. */
int ctl_list_devices(struct ctl_client *client, struct ctl_device *ret, size_t max, size_t *ret_n)
{
	(void)client;
	(void)ret;
	(void)max;
	(void)ret_n;
	return -ENODEV;
}

const char *ctl_gid_str(const struct gid *gid, char ret[static CTL_GID_STR_MAX])
{
	(void)gid;
	return ret;
}

void ctl_log_as_verbs(void)
{
}

void ctl_log(enum ctl_log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

int ctl_cm_create_channel(struct ctl_client *client, int fd, uint32_t *ret_channel)
{
	(void)client;
	if (manager.is_full)
		return -EMFILE;
	*ret_channel = manager.channels++;
	manager.ends[*ret_channel] = dup(fd);
	return 0;
}

int ctl_cm_pause(struct ctl_client *client, uint32_t channel, int *ret_fd)
{
	(void)client;
	if (manager.dead)
		return -ENODEV;
	ck_assert(!manager.paused[channel]);
	manager.paused[channel] = true;
	manager.pauses++;
	*ret_fd = dup(manager.ends[channel]);
	return 0;
}

int ctl_cm_channel(struct ctl_client *client, enum ctl_cm_op op, uint32_t channel)
{
	(void)client;
	if (op == CTL_CM_RESUME_CHANNEL) {
		ck_assert(manager.paused[channel]);
		manager.paused[channel] = false;
	} else {
		close(manager.ends[channel]);
		errno = ENOTCONN;
	}
	return 0;
}

int ctl_cm(struct ctl_client *client, const struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret)
{
	(void)client;
	*ret = (struct ctl_msg_cm_reply){ 0 };
	if (manager.dead)
		return -ENODEV;
	if (req->op == CTL_CM_CREATE_ID) {
		ret->handle = manager.ids++;
		manager.tokens[ret->handle] = req->token;
		manager.where[ret->handle] = req->channel;
	} else if (req->op == CTL_CM_MIGRATE) {
		manager.where[req->id] = req->channel;
		if (req->token)
			manager.tokens[req->id] = req->token;
	} else if (req->op == CTL_CM_JOIN) {
		manager.joined = req->token;
	} else if (req->op == CTL_CM_DESTROY_ID) {
		ck_assert(!manager.ended[req->id]);
		manager.ended[req->id] = true;
		ret->events = manager.sent[req->id];
	} else if (req->op == CTL_CM_RESOLVE_ROUTE && manager.dies_of_a_route) {
		manager.dead = true;
		close(manager.ends[0]);
	}
	return 0;
}

static struct rdma_event_channel *ends_at_peek;

/* What the library reads events with. Destroys a channel between a reader's checks and its read, as
 * another thread can. */
ssize_t recv(int fd, void *ret, size_t len, int flags)
{
	struct rdma_event_channel *channel = ends_at_peek;

	ends_at_peek = NULL;
	rdma_destroy_event_channel(channel);
	return recvfrom(fd, ret, len, flags, NULL, NULL);
}

/* An event of an id; a request names a new one. */
static void tell(uint32_t id, enum rdma_cm_event_type type, int status)
{
	struct ctl_cm_event event = {
		.token = manager.tokens[id], .id = id, .event = type, .status = status
	};

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		event.new_id = manager.ids++;
		manager.where[event.new_id] = manager.where[id];
	}
	ck_assert(!manager.paused[manager.where[id]]);
	ck_assert_int_eq(send(manager.ends[manager.where[id]], &event, sizeof(event), MSG_DONTWAIT),
			 sizeof(event));
	manager.sent[id]++;
}

static struct rdma_event_channel *channel_open(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	return channel;
}

static struct rdma_cm_id *id_open(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

static void expect(struct rdma_event_channel *channel, const struct rdma_cm_id *id, int status)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_ptr_eq(event->id, id);
	ck_assert_int_eq(event->status, status);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

static bool is_readable(const struct rdma_event_channel *channel)
{
	struct pollfd poll_fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void expect_nothing(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

static void end(struct rdma_cm_id *id)
{
	ck_assert_int_eq(rdma_destroy_id(id), 0);
}

START_TEST(events_of_an_id_that_ended)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *ids[3];

	for (uint32_t i = 0; i < 3; i++)
		ids[i] = id_open(channel);
	for (int round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 3; i++)
			tell(i, RDMA_CM_EVENT_UNREACHABLE, round);
	}
	end(ids[1]);
	for (int round = 0; round < 5; round++) {
		expect(channel, ids[0], round);
		expect(channel, ids[2], round);
	}
	expect_nothing(channel);
	end(ids[0]);
	end(ids[2]);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* Nothing is taken out of the socket for an id whose events were all read. */
START_TEST(events_of_others_are_left_alone)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *stays = id_open(channel), *goes = id_open(channel), *own;

	tell(1, RDMA_CM_EVENT_UNREACHABLE, 1);
	tell(0, RDMA_CM_EVENT_UNREACHABLE, 2);
	tell(0, RDMA_CM_EVENT_UNREACHABLE, 3);
	expect(channel, goes, 1);
	end(goes);
	ck_assert_uint_eq(manager.pauses, 0);
	expect(channel, stays, 2);
	expect(channel, stays, 3);

	own = id_open(channel);
	ck_assert_int_eq(rdma_write_cm_event(own, RDMA_CM_EVENT_USER, 4, 0), 0);
	tell(0, RDMA_CM_EVENT_UNREACHABLE, 5);
	expect(channel, own, 4);
	ck_assert_uint_eq(manager.pauses, 1); /* by the program's own event */
	end(own);
	ck_assert_uint_eq(manager.pauses, 1);
	expect(channel, stays, 5);
	ck_assert_int_eq(rdma_write_cm_event(stays, RDMA_CM_EVENT_USER, 6, 0), 0);
	end(stays);
	ck_assert_uint_eq(manager.pauses, 3);
	expect_nothing(channel);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(events_of_an_id_that_moved)
{
	struct rdma_event_channel *from = channel_open(), *to = channel_open();
	struct rdma_cm_id *moves = id_open(from), *stays = id_open(from), *there = id_open(to);

	tell(0, RDMA_CM_EVENT_UNREACHABLE, 1);
	tell(1, RDMA_CM_EVENT_UNREACHABLE, 2);
	tell(0, RDMA_CM_EVENT_UNREACHABLE, 3);
	tell(2, RDMA_CM_EVENT_UNREACHABLE, 4);
	ck_assert_int_eq(rdma_migrate_id(moves, to), 0);
	tell(0, RDMA_CM_EVENT_UNREACHABLE, 5);
	expect(from, stays, 2);
	expect_nothing(from);
	expect(to, there, 4);
	expect(to, moves, 1);
	expect(to, moves, 3);
	expect(to, moves, 5);
	expect_nothing(to);
	ck_assert_int_eq(rdma_migrate_id(moves, to), 0); /* where it is */
	end(moves);
	end(stays);
	end(there);
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
}
END_TEST

/* The ids of unread requests end with their listener. */
START_TEST(requests_of_a_listener_that_ended)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *listener = id_open(channel);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	tell(0, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	tell(0, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	tell(0, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	id = event->id;
	ck_assert_ptr_ne(id, listener);
	ck_assert_ptr_eq(event->listen_id, listener);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	end(listener);
	ck_assert(!manager.ended[1] && manager.ended[2] && manager.ended[3]);
	expect_nothing(channel);
	end(id);
	ck_assert(manager.ended[1]);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* ... and move with it: where the program reads of the id, the id's own events come. */
START_TEST(requests_of_a_listener_that_moved)
{
	struct rdma_event_channel *from = channel_open(), *to = channel_open();
	struct rdma_cm_id *listener = id_open(from), *id;
	struct rdma_cm_event *event;

	tell(0, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	ck_assert_int_eq(rdma_migrate_id(listener, to), 0);
	expect_nothing(from);
	ck_assert_int_eq(rdma_get_cm_event(to, &event), 0);
	ck_assert_ptr_eq(event->listen_id, listener);
	id = event->id;
	ck_assert_ptr_eq(id->channel, to);
	ck_assert_uint_eq(manager.where[1], manager.where[0]);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	end(listener);
	end(id);
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
}
END_TEST

/* As many as a socket takes: none is lost when others are taken out. */
START_TEST(full_channel)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *stays = id_open(channel), *goes = id_open(channel);
	struct ctl_cm_event event = { .token = manager.tokens[0],
				      .event = RDMA_CM_EVENT_UNREACHABLE };
	int count = 0;

	tell(1, RDMA_CM_EVENT_UNREACHABLE, 0);
	for (; send(manager.ends[0], &event, sizeof(event), MSG_DONTWAIT) == sizeof(event); count++)
		event.status++;
	ck_assert_int_gt(count, 50);
	end(goes);
	for (int i = 0; i < count; i++)
		expect(channel, stays, i);
	expect_nothing(channel);
	end(stays);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* Events that come late, of an id that is no more. */
START_TEST(late_events)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *first = id_open(channel), *second;

	end(first);
	second = id_open(channel);
	tell(0, RDMA_CM_EVENT_UNREACHABLE, 1);
	tell(1, RDMA_CM_EVENT_UNREACHABLE, 2);
	expect(channel, second, 2);
	end(second);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(events_of_the_program)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel);
	const uint64_t arg = 0x123456789abcdef0;
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 7, arg), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(event->event, RDMA_CM_EVENT_USER);
	ck_assert_int_eq(event->status, 7);
	ck_assert_mem_eq(&event->param, &arg, sizeof(arg));
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	end(id);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(addresses_by_event)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel);
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST | RAI_DNS }, *info;
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_query_addrinfo(id, &info), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(rdma_resolve_addrinfo(id, "192.0.2.1", "7", &hints), 0);
	ck_assert_int_eq(rdma_resolve_addrinfo(id, "192.0.2.1", "7", &hints), -1);
	ck_assert_int_eq(errno, EBUSY);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(event->event, RDMA_CM_EVENT_ADDRINFO_RESOLVED);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_query_addrinfo(id, &info), 0);
	ck_assert_int_eq(info->ai_dst_addr->sa_family, AF_INET);
	rdma_freeaddrinfo(info);
	/* An answer that no caller asks for goes with its id. */
	ck_assert_int_eq(rdma_resolve_addrinfo(id, "192.0.2.1", "7", &hints), 0);
	end(id);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(manager_dies)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel);
	struct rdma_cm_event *event;

	tell(0, RDMA_CM_EVENT_UNREACHABLE, 1);
	manager.dead = true;
	close(manager.ends[0]);
	expect(channel, id, 1);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), -1); /* bound to no device */
	ck_assert_int_eq(errno, ENODEV);
	expect_nothing(channel);
	ck_assert_int_eq(rdma_listen(id, 1), -1);
	ck_assert_int_eq(errno, ENODEV);
	end(id);
	rdma_destroy_event_channel(channel);
	manager.dead = false;
	channel = channel_open(); /* of the next one */
	rdma_destroy_event_channel(channel);
}
END_TEST

static int lowest_free(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

START_TEST(a_channel_that_is_refused)
{
	const int before = lowest_free();

	manager.is_full = true;
	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_null(rdma_create_event_channel());
		ck_assert_int_eq(errno, EMFILE);
	}
	ck_assert_int_eq(lowest_free(), before);
}
END_TEST

/* A function without a result changes no errno. */
START_TEST(destroying_keeps_errno)
{
	struct rdma_event_channel *channel = channel_open();

	errno = EXDEV;
	rdma_destroy_event_channel(channel);
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

static void bind_to_device(struct rdma_cm_id *id)
{
	static struct rcm_device device;

	rcm_id(id)->device = &device;
}

static void expect_removal(struct rdma_event_channel *channel, const struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;

	ck_assert(is_readable(channel));
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	ck_assert_ptr_eq(event->id, id);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

/* Each id of a device has one event; then the channels are as those without events. */
START_TEST(manager_dies_under_ids_of_a_device)
{
	struct rdma_event_channel *channels[] = { channel_open(), channel_open() };
	struct rdma_cm_id *ids[4];

	for (uint32_t i = 0; i < 4; i++) {
		ids[i] = id_open(channels[i == 1]);
		bind_to_device(ids[i]);
	}
	end(ids[2]);
	manager.dead = true;
	close(manager.ends[0]);
	close(manager.ends[1]);
	expect_removal(channels[0], ids[0]);
	expect_removal(channels[0], ids[3]);
	expect_nothing(channels[0]);
	end(ids[0]);
	expect_nothing(channels[0]);
	expect_removal(channels[1], ids[1]);
	expect_nothing(channels[1]);
	end(ids[1]);
	end(ids[3]);
	rdma_destroy_event_channel(channels[0]);
	rdma_destroy_event_channel(channels[1]);
}
END_TEST

/* An id that waits for requests at all devices is on none: its program gets one error. */
START_TEST(manager_dies_under_a_wildcard_listener)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *listener = id_open(channel), *bound = id_open(channel);
	struct rdma_cm_event *event;

	bind_to_device(bound);
	manager.dead = true;
	close(manager.ends[0]);
	expect_removal(channel, bound);
	ck_assert(is_readable(channel));
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), -1);
	ck_assert_int_eq(errno, ENODEV);
	expect_nothing(channel);
	end(listener);
	end(bound);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* Calls that wait do not wait for a manager that has died. */
START_TEST(manager_dies_under_an_endpoint)
{
	struct rdma_cm_id *listener = id_open(NULL), *id;

	manager.dead = true;
	close(manager.ends[0]);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rdma_get_request(listener, &id), -1);
		ck_assert_int_eq(errno, ENODEV);
	}
	end(listener);
}
END_TEST

START_TEST(manager_dies_under_a_call_that_waits)
{
	struct rdma_cm_id *id = id_open(NULL);

	bind_to_device(id);
	manager.dies_of_a_route = true;
	ck_assert_int_eq(rdma_resolve_route(id, 100), -1);
	ck_assert_int_eq(errno, ENODEV);
	ck_assert_int_eq(id->event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	end(id);
}
END_TEST

/* A reader that does not wait does not wait for a signal either. */
START_TEST(destroyed_under_a_reader)
{
	struct rdma_cm_event *event;

	ends_at_peek = channel_open();
	ck_assert_int_eq(rdma_get_cm_event(ends_at_peek, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

static void *ends_id(void *arg)
{
	return rdma_destroy_id((struct rdma_cm_id *)arg) ? arg : NULL;
}

START_TEST(an_id_waits_for_acknowledgements)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel);
	struct rdma_cm_event *event;
	pthread_t thread;

	tell(0, RDMA_CM_EVENT_UNREACHABLE, 1);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, ends_id, id), 0);
	while (!__atomic_load_n(&manager.ended[0], __ATOMIC_ACQUIRE))
		sched_yield();
	ck_assert_int_eq(pthread_tryjoin_np(thread, NULL), EBUSY);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	rdma_destroy_event_channel(channel);
}
END_TEST

static uint64_t join(struct rdma_cm_id *id, struct sockaddr_in *group)
{
	return rdma_join_multicast(id, (struct sockaddr *)group, group) ? 0 : manager.joined;
}

/* Each names its membership; one of no membership is left out. */
START_TEST(events_of_memberships)
{
	struct rdma_event_channel *channel = channel_open();
	struct rdma_cm_id *id = id_open(channel);
	struct sockaddr_in group[2] = { { .sin_family = AF_INET, .sin_addr.s_addr = 1 },
					{ .sin_family = AF_INET, .sin_addr.s_addr = 2 } };
	uint64_t tokens[] = { join(id, &group[0]), 12345, join(id, &group[1]) };
	struct rdma_cm_event *event;

	for (uint32_t i = 0; i < 3; i++) {
		const struct ctl_cm_event told = { .token = manager.tokens[0],
						   .mc_token = tokens[i],
						   .event = RDMA_CM_EVENT_MULTICAST_ERROR };
		manager.sent[0] += send(manager.ends[0], &told, sizeof(told), 0) > 0;
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
		ck_assert_ptr_eq(event->param.ud.private_data, &group[i]);
		ck_assert_int_eq(rdma_ack_cm_event(event), 0);
		ck_assert_int_eq(rdma_leave_multicast(id, (struct sockaddr *)&group[i]), 0);
	}
	expect_nothing(channel);
	end(id);
	rdma_destroy_event_channel(channel);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		events_of_an_id_that_ended,
		events_of_others_are_left_alone,
		events_of_an_id_that_moved,
		requests_of_a_listener_that_ended,
		requests_of_a_listener_that_moved,
		full_channel,
		late_events,
		events_of_the_program,
		addresses_by_event,
		a_channel_that_is_refused,
		destroying_keeps_errno,
		manager_dies,
		manager_dies_under_ids_of_a_device,
		manager_dies_under_a_wildcard_listener,
		manager_dies_under_an_endpoint,
		manager_dies_under_a_call_that_waits,
		destroyed_under_a_reader,
		an_id_waits_for_acknowledgements,
		events_of_memberships,
	};
	Suite *suite = suite_create("rdmacm_channel");
	TCase *cases = tcase_create("events");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(cases, tests[i]);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
