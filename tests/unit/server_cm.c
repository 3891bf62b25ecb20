// SPDX-License-Identifier: MIT
/* The connection manager in a real server: requests, events on channels, packets of QP 1, and what
 * peers learn of a program's death. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/cm_numbers.h"
#include "lib/control/cm_request.h"
#include "lib/control/socket.h"
#include "net/wire/cm_msg.h"
#include "net/wire/packet.h"
#include "server_fixture.h"

#define PORT 7174

/* A program with one event channel. */
struct user {
	struct ctl_client *client;
	uint32_t channel;
	int fd;
};

static struct user server, client;

static void open_channel(struct ctl_client *control, uint32_t *ret_channel, int *ret_fd)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(ctl_cm_create_channel(control, pair[1], ret_channel), 0);
	close(pair[1]);
	*ret_fd = pair[0];
}

static void user_open(struct user *ret)
{
	int rc = ctl_connect(&ret->client);

	ck_assert_msg(rc == 0, "connect: %s (%s)", strerror(-rc), fixture_log());
	open_channel(ret->client, &ret->channel, &ret->fd);
}

static void user_close(struct user *user)
{
	ctl_disconnect(user->client);
	close(user->fd);
}

static void setup(void)
{
	fixture_setup();
	user_open(&server);
	user_open(&client);
}

static void teardown(void)
{
	user_close(&client);
	user_close(&server);
	fixture_teardown();
}

static uint32_t new_id(const struct user *user, uint32_t port_space, uint64_t token)
{
	const struct ctl_msg_cm req = { .op = CTL_CM_CREATE_ID,
					.channel = user->channel,
					.port_space = port_space,
					.token = token };
	struct ctl_msg_cm_reply reply;

	ck_assert_int_eq(ctl_cm(user->client, &req, &reply), 0);
	return reply.handle;
}

static union ctl_cm_sockaddr v4(const char *text, uint16_t port)
{
	union ctl_cm_sockaddr ret = { .in = { .sin_family = AF_INET, .sin_port = htons(port) } };

	ck_assert_int_eq(inet_pton(AF_INET, text, &ret.in.sin_addr), 1);
	return ret;
}

static int ask(const struct user *user, enum ctl_cm_op op, uint32_t id)
{
	const struct ctl_msg_cm req = { .op = op, .id = id, .qp_state = IBV_QPS_RTR };

	return ctl_cm(user->client, &req, NULL);
}

static int ask_conn(const struct user *user, enum ctl_cm_op op, uint32_t id, uint64_t token)
{
	const struct ctl_msg_cm req = {
		.op = op,
		.id = id,
		.token = token,
		.conn = { .qpn = 0x1000 + id,
			  .retry_count = 7,
			  .private_len = 3,
			  .private_data = "hi" },
	};

	return ctl_cm(user->client, &req, NULL);
}

static struct ctl_cm_event next_event(const struct user *user, uint32_t type)
{
	struct pollfd ready = { .fd = user->fd, .events = POLLIN };
	struct ctl_cm_event event;

	ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	ck_assert_int_eq(recv(user->fd, &event, sizeof(event), MSG_DONTWAIT), sizeof(event));
	ck_assert_uint_eq(event.event, type);
	return event;
}

static bool has_event(const struct user *user)
{
	struct pollfd ready = { .fd = user->fd, .events = POLLIN };

	return poll(&ready, 1, 0) == 1;
}

static uint32_t listener(const struct user *user, uint32_t port_space, uint32_t backlog)
{
	const uint32_t id = new_id(user, port_space, 20);
	struct ctl_msg_cm req = { .op = CTL_CM_BIND, .id = id, .src = v4("0.0.0.0", PORT) };
	struct ctl_msg_cm_reply reply;

	ck_assert_int_eq(ctl_cm(user->client, &req, &reply), 0);
	ck_assert_uint_eq(ntohs(reply.addr.local.in.sin_port), PORT);
	req = (struct ctl_msg_cm){ .op = CTL_CM_LISTEN, .id = id, .backlog = backlog };
	ck_assert_int_eq(ctl_cm(user->client, &req, NULL), 0);
	return id;
}

static uint32_t resolved(const struct user *user, uint32_t port_space)
{
	const uint32_t id = new_id(user, port_space, 10);
	const struct ctl_msg_cm req = { .op = CTL_CM_RESOLVE_ADDR,
					.id = id,
					.timeout_ms = 1000,
					.dst = v4("127.0.0.1", PORT) };
	struct ctl_cm_event event;

	ck_assert_int_eq(ctl_cm(user->client, &req, NULL), 0);
	event = next_event(user, CTL_CM_EVENT_ADDR_RESOLVED);
	ck_assert_uint_eq(event.id, id);
	ck_assert_uint_eq(event.token, 10);
	ck_assert_uint_eq(event.addr.port_num, 1);
	ck_assert_int_eq(ask(user, CTL_CM_RESOLVE_ROUTE, id), 0);
	event = next_event(user, CTL_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_uint_eq(event.addr.num_paths, 1);
	return id;
}

/* Connects client to server; *ret_passive has token 30. */
static uint32_t connected(uint32_t *ret_passive)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);
	struct ctl_cm_event event;

	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	event = next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
	ck_assert_uint_eq(event.token, 20);
	ck_assert_str_eq((const char *)event.conn.private_data, "hi");
	*ret_passive = event.new_id;
	ck_assert_int_eq(ask_conn(&server, CTL_CM_ACCEPT, event.new_id, 30), 0);
	event = next_event(&client, CTL_CM_EVENT_CONNECT_RESPONSE);
	ck_assert_str_eq((const char *)event.conn.private_data, "hi");
	ck_assert_int_eq(ask(&client, CTL_CM_INIT_QP_ATTR, active), 0);
	ck_assert_int_eq(ask(&client, CTL_CM_ESTABLISH, active), 0);
	event = next_event(&server, CTL_CM_EVENT_ESTABLISHED);
	ck_assert_uint_eq(event.token, 30);
	ck_assert_uint_eq(event.id, *ret_passive);
	return active;
}

START_TEST(connect_and_disconnect)
{
	uint32_t passive, active;

	listener(&server, CTL_CM_PS_TCP, 1);
	active = connected(&passive);
	ck_assert_int_eq(ask(&client, CTL_CM_DISCONNECT, active), 0);
	next_event(&server, CTL_CM_EVENT_DISCONNECTED);
	ck_assert_int_eq(ask(&server, CTL_CM_DISCONNECT, passive), 0);
	next_event(&client, CTL_CM_EVENT_DISCONNECTED);
	ck_assert_int_eq(ask(&client, CTL_CM_DESTROY_ID, active), 0);
	ck_assert_int_eq(ask(&client, CTL_CM_DESTROY_ID, active), -ENOENT);
	ck_assert(!has_event(&server));
}
END_TEST

/* REQ, REP and RTU, each with a MAD: the server has slot 0. */
START_TEST(messages_are_counted)
{
	const struct rxe_counters *counters;
	struct program program;
	uint32_t passive;

	program_open(&program);
	counters = &program.at.shared->slot[0].counters;
	listener(&server, CTL_CM_PS_TCP, 1);
	connected(&passive);
	ck_assert_uint_eq(counters->sent_pkts, 3);
	ck_assert_uint_eq(counters->sent_bytes, 3 * (BTH_LEN + DETH_LEN + CM_MAD_BYTES + ICRC_LEN));
	program_close(&program);
}
END_TEST

/* What rxe_dm show says of a listener, of a connection, and of one that no process accepts. */
START_TEST(shown)
{
	static char output[65536];
	uint32_t passive, refused;

	refused = resolved(&client, CTL_CM_PS_TCP);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, refused, 0), 0);
	next_event(&client, CTL_CM_EVENT_REJECTED);
	listener(&server, CTL_CM_PS_TCP, 5);
	connected(&passive);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", NULL), 0);
	ck_assert_msg(strstr(output, "tcp   0.0.0.0:7174 listening, process "), "%s", output);
	ck_assert_ptr_nonnull(strstr(output, ", 0 of 5 requests not read"));
	ck_assert_ptr_nonnull(strstr(output, " -> 127.0.0.1:7174 established, process "));
	ck_assert_ptr_nonnull(strstr(output, "rejected: no listener on the port (8)"));
	ck_assert_ptr_nonnull(strstr(output, "connections that failed:\n  "));
	ck_assert_ptr_nonnull(strstr(
		output, " -> 127.0.0.1:7174: no listener on port 7174 at 127.0.0.1: now process "));
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", "--json", NULL), 0);
	ck_assert_ptr_nonnull(strstr(output, "\"state\": \"listening\""));
	ck_assert_ptr_nonnull(strstr(output, "\"reject_reason\": 8"));
	ck_assert_ptr_nonnull(strstr(output, "\"event\": \"REJECTED\""));
}
END_TEST

/* Rules for messages: a lost REQ is sent again; a rejected one never reaches the program. */
START_TEST(message_rules)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);
	struct ctl_cm_event event;

	listener(&server, CTL_CM_PS_TCP, 1);
	ck_assert_int_eq(fixture_command("fault", "add", "cm_reject", "reason=3", "nth=1", NULL),
			 0);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	event = next_event(&client, CTL_CM_EVENT_REJECTED);
	ck_assert_int_eq(event.status, 3);
	ck_assert(!has_event(&server));
	ck_assert_int_eq(fixture_command("fault", "add", "cm_duplicate", "message=REQ,REP", NULL),
			 0);
	ck_assert_int_eq(fixture_command("fault", "add", "cm_drop", "message=DREP", NULL), 0);
	connected(&(uint32_t){ 0 });
	ck_assert(!has_event(&server));
	ck_assert(!has_event(&client));
}
END_TEST

/* What the library refuses stands among the failures, and its cause names both numbers. */
START_TEST(refused_by_this_end)
{
	struct ctl_msg_cm req = { .op = CTL_CM_REFUSED,
				  .id = resolved(&client, CTL_CM_PS_TCP),
				  .refusal = { .reason = CTL_CM_REFUSED_RESPONDER_RESOURCES,
					       .asked = 200,
					       .most = 128,
					       .status = -EINVAL } };
	char output[4096];

	ck_assert_int_eq(ctl_cm(client.client, &req, NULL), 0);
	req.refusal.reason = 99; /* of no known reason: as any other failure */
	ck_assert_int_eq(ctl_cm(client.client, &req, NULL), 0);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "show", NULL), 0);
	ck_assert_msg(strstr(output, "asked for responder_resources 200, its device has 128 READs "
				     "and atomics: ask for at most 128, or raise max_qp_rd_atom "),
		      "%s", output);
	ck_assert_msg(strstr(output, "CONNECT_ERROR, status -22"), "%s", output);
	req.refusal.status = INT32_MIN; /* no errno */
	ck_assert_int_eq(ctl_cm(client.client, &req, NULL), -EINVAL);
	req.id = resolved(&server, CTL_CM_PS_TCP); /* another program's */
	ck_assert_int_eq(ctl_cm(client.client, &req, NULL), -ENOENT);
}
END_TEST

/* A call fails by name, and does nothing; a message that waits comes. */
START_TEST(delay_and_call_rules)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);
	struct ctl_cm_event event;
	char output[4096];

	listener(&server, CTL_CM_PS_TCP, 2);
	ck_assert_int_eq(fixture_command("fault", "add", "verb", "name=rdma_connect",
					 "errno=ECONNABORTED", "nth=1", NULL),
			 0);
	ck_assert_int_eq(fixture_command("fault", "add", "cm_delay", "message=REQ", "time=50ms",
					 "dir=in", "nth=1", NULL),
			 0);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), -ECONNABORTED);
	ck_assert(!has_event(&server));
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	event = next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
	ck_assert_uint_eq(event.token, 20);
	ck_assert_int_eq(fixture_output(output, sizeof(output), "fault", "list", NULL), 0);
	ck_assert_msg(strstr(output, "cm_delay"), "%s", output);
	connected(&(uint32_t){ 0 });
}
END_TEST

/* A fault rule removes the device: ids on it learn of that. */
START_TEST(device_removed)
{
	uint32_t passive;

	listener(&server, CTL_CM_PS_TCP, 1);
	connected(&passive);
	ck_assert_int_eq(fixture_command("fault", "add", "device_fatal", NULL), 0);
	next_event(&client, CTL_CM_EVENT_DEVICE_REMOVAL);
	next_event(&server, CTL_CM_EVENT_DEVICE_REMOVAL);
}
END_TEST

START_TEST(refusals)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);
	struct ctl_cm_event event;
	uint32_t second;

	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	event = next_event(&client, CTL_CM_EVENT_REJECTED);
	ck_assert_int_eq(event.status, 8);
	listener(&server, CTL_CM_PS_TCP, 1);
	second = resolved(&client, CTL_CM_PS_TCP);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, second, 0), 0);
	event = next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
	ck_assert_int_eq(ask_conn(&server, CTL_CM_REJECT, event.new_id, 0), 0);
	event = next_event(&client, CTL_CM_EVENT_REJECTED);
	ck_assert_int_eq(event.status, 28);
	ck_assert_str_eq((const char *)event.conn.private_data, "hi");
}
END_TEST

/* The request is there first, and waits. */
START_TEST(late_listener)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);

	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	listener(&server, CTL_CM_PS_TCP, 1);
	next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
	ck_assert(!has_event(&client));
}
END_TEST

/* The connection of a killed program ends at once. */
START_TEST(death_of_a_program)
{
	uint32_t passive;

	listener(&server, CTL_CM_PS_TCP, 1);
	connected(&passive);
	user_close(&client);
	next_event(&server, CTL_CM_EVENT_DISCONNECTED);
	user_open(&client);
}
END_TEST

START_TEST(death_of_a_listener)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);
	struct ctl_cm_event event;

	listener(&server, CTL_CM_PS_TCP, 1);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
	user_close(&server);
	event = next_event(&client, CTL_CM_EVENT_REJECTED);
	ck_assert_int_eq(event.status, 28);
	user_open(&server);
	listener(&server, CTL_CM_PS_TCP, 1); /* the port is free again */
}
END_TEST

START_TEST(no_channel)
{
	uint32_t channel;

	ck_assert_int_eq(ctl_cm_create_channel(client.client, 0, &channel), -EINVAL);
	ck_assert_int_eq(ctl_cm_create_channel(client.client, client.client->sock, &channel),
			 -EINVAL);
	ck_assert_int_eq(ctl_cm_create_channel(client.client, -1, &channel), -EINVAL);
}
END_TEST

START_TEST(ids_of_others)
{
	const uint32_t theirs = new_id(&server, CTL_CM_PS_TCP, 1);
	const struct ctl_msg_cm wrong = { .op = CTL_CM_CREATE_ID, .channel = 99 };
	const struct ctl_msg_cm nowhere = { .op = CTL_CM_MIGRATE, .id = theirs, .channel = 99 };
	const struct ctl_msg_cm no_op = { .op = CTL_CM_OP_END };

	ck_assert_int_eq(ask(&client, CTL_CM_QUERY, theirs), -ENOENT);
	ck_assert_int_eq(ask(&client, CTL_CM_DESTROY_ID, theirs), -ENOENT);
	ck_assert_int_eq(ctl_cm(client.client, &wrong, NULL), -ENOENT);
	ck_assert_int_eq(ctl_cm(client.client, &no_op, NULL), -EINVAL);
	ck_assert_int_eq(ctl_cm(server.client, &nowhere, NULL), -ENOENT);
	ck_assert_int_eq(ctl_cm_channel(server.client, CTL_CM_DESTROY_CHANNEL, server.channel),
			 -EBUSY);
	ck_assert_int_eq(ask(&server, CTL_CM_DESTROY_ID, theirs), 0);
	ck_assert_int_eq(ctl_cm_channel(server.client, CTL_CM_DESTROY_CHANNEL, server.channel), 0);
}
END_TEST

static void ask_connect(uint32_t *ret_active)
{
	*ret_active = resolved(&client, CTL_CM_PS_TCP);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, *ret_active, 0), 0);
}

static void end_id(const struct user *user, uint32_t id)
{
	ck_assert_int_eq(ask(user, CTL_CM_DESTROY_ID, id), 0);
}

static void move_id(const struct user *user, uint32_t id, uint32_t channel)
{
	const struct ctl_msg_cm req = { .op = CTL_CM_MIGRATE, .id = id, .channel = channel };

	ck_assert_int_eq(ctl_cm(user->client, &req, NULL), 0);
}

static int end_channel(const struct user *user)
{
	return ctl_cm_channel(user->client, CTL_CM_DESTROY_CHANNEL, user->channel);
}

/* A channel stays while it has ids: those made on it, of requests, and moved there. */
START_TEST(channels_in_use)
{
	const uint32_t listening = listener(&server, CTL_CM_PS_TCP, 2);
	struct user other = server;
	uint32_t active, passive;

	ask_connect(&active);
	passive = next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST).new_id;
	open_channel(server.client, &other.channel, &other.fd);
	move_id(&server, listening, other.channel);
	ck_assert_int_eq(end_channel(&other), -EBUSY);
	ck_assert_int_eq(end_channel(&server), -EBUSY);
	end_id(&server, passive);
	ck_assert_int_eq(end_channel(&server), 0);
	ck_assert_int_eq(end_channel(&server), -ENOENT);
	end_id(&server, listening);
	ck_assert_int_eq(end_channel(&other), 0);
	close(other.fd);
}
END_TEST

/* While a channel is paused, its events wait; those of a destroyed id never come. */
START_TEST(paused_channel)
{
	const struct ctl_msg_cm req = { .op = CTL_CM_DESTROY_ID,
					.id = resolved(&client, CTL_CM_PS_UDP) };
	const uint32_t active = resolved(&client, CTL_CM_PS_TCP);
	struct ctl_msg_cm_reply reply;
	struct ctl_cm_event event;
	int fd;

	ck_assert_int_eq(ctl_cm_pause(client.client, client.channel, &fd), 0);
	close(fd);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, req.id, 0), 0);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	ck_assert_int_eq(ask(&client, CTL_CM_QUERY, active), 0);
	ck_assert(!has_event(&client));
	ck_assert_int_eq(ctl_cm(client.client, &req, &reply), 0);
	ck_assert_uint_eq(reply.events, 2);
	ck_assert_int_eq(ctl_cm_channel(client.client, CTL_CM_RESUME_CHANNEL, client.channel), 0);
	event = next_event(&client, CTL_CM_EVENT_REJECTED);
	ck_assert_uint_eq(event.id, active);
}
END_TEST

/* An id moves to another channel, and takes the events along that wait. */
START_TEST(migrated_id)
{
	struct user other = client;
	struct ctl_msg_cm req = { .op = CTL_CM_MIGRATE, .id = resolved(&client, CTL_CM_PS_TCP) };
	struct ctl_msg_cm_reply reply;
	struct ctl_cm_event event;
	int fd;

	open_channel(client.client, &other.channel, &other.fd);
	ck_assert_int_eq(ctl_cm_pause(client.client, client.channel, &fd), 0);
	close(fd);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, req.id, 0), 0);
	req.channel = other.channel;
	req.token = 11;
	ck_assert_int_eq(ctl_cm(client.client, &req, &reply), 0);
	ck_assert_uint_eq(reply.events, 2);
	event = next_event(&other, CTL_CM_EVENT_REJECTED);
	ck_assert_uint_eq(event.id, req.id);
	ck_assert(!has_event(&client));
	close(other.fd);
}
END_TEST

/* A program that does not read: the server keeps its events, and serves on, also when it exits. */
START_TEST(full_channel)
{
	struct ctl_msg_cm req = { .op = CTL_CM_BIND,
				  .id = new_id(&client, CTL_CM_PS_UDP, 10),
				  .src = v4("127.0.0.1", 0) };
	struct ctl_cm_event event;

	ck_assert_int_eq(ctl_cm(client.client, &req, NULL), 0);
	req.op = CTL_CM_JOIN;
	req.dst = v4("239.1.2.3", 0);
	for (req.token = 1; req.token <= 1000; req.token++)
		ck_assert_int_eq(ctl_cm(client.client, &req, NULL), 0);
	for (uint64_t i = 1; i <= 1000; i++) {
		event = next_event(&client, CTL_CM_EVENT_MULTICAST_JOIN);
		ck_assert_uint_eq(event.mc_token, i);
	}
	ck_assert(!has_event(&client));
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(ctl_cm(client.client, &req, NULL), 0);
}
END_TEST

/* The backlog counts requests that the program has not read. */
START_TEST(backlog)
{
	uint32_t active[2];

	listener(&server, CTL_CM_PS_TCP, 1);
	for (int i = 0; i < 2; i++)
		active[i] = resolved(&client, CTL_CM_PS_TCP);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active[0], 0), 0);
	next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active[1], 0), 0);
	next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST);
}
END_TEST

static struct ctl_cm_listed listed(const struct user *user, uint32_t id)
{
	struct ctl_cm_page page;

	ck_assert_int_eq(ctl_cm_list(user->client, id, &page), 0);
	ck_assert_uint_ge(page.count, 1);
	ck_assert_uint_eq(page.id[0].id, id);
	return page.id[0];
}

static void expect_backlog(uint32_t id, uint32_t unread, uint32_t dropped)
{
	ck_assert_uint_eq(listed(&server, id).unread, unread);
	ck_assert_uint_eq(listed(&server, id).dropped, dropped);
}

/* Beyond the backlog requests are dropped. What the program reads, and listeners that end or move
 * with unread requests, count as they should. */
START_TEST(backlog_counts)
{
	const uint32_t listening = listener(&server, CTL_CM_PS_TCP, 2);
	struct user other = server;
	uint32_t active[5], accepted;

	for (int i = 0; i < 3; i++)
		ask_connect(&active[i]);
	while (listed(&server, listening).dropped < 1)
		sched_yield();
	expect_backlog(listening, 2, 1);
	end_id(&client, active[2]); /* sends its request no more */
	accepted = next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST).new_id;
	expect_backlog(listening, 1, 1);
	ck_assert_int_eq(ask_conn(&server, CTL_CM_ACCEPT, accepted, 30), 0);
	next_event(&client, CTL_CM_EVENT_CONNECT_RESPONSE);
	end_id(&server, accepted);
	next_event(&client, CTL_CM_EVENT_REJECTED);
	expect_backlog(listening, 1, 1);
	ask_connect(&active[3]);
	while (listed(&server, listening).unread < 2)
		sched_yield();

	open_channel(server.client, &other.channel, &other.fd);
	move_id(&server, listening, other.channel);
	for (int i = 0; i < 2; i++)
		move_id(&server, next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST).new_id,
			other.channel);
	expect_backlog(listening, 0, 1);
	ask_connect(&active[4]);
	accepted = next_event(&other, CTL_CM_EVENT_CONNECT_REQUEST).new_id;
	end_id(&server, listening);
	end_id(&server, accepted);
	close(other.fd);
}
END_TEST

START_TEST(datagrams)
{
	const uint32_t active = resolved(&client, CTL_CM_PS_UDP);
	struct ctl_cm_event event;
	uint32_t passive;

	listener(&server, CTL_CM_PS_UDP, 1);
	ck_assert_int_eq(ask_conn(&client, CTL_CM_CONNECT, active, 0), 0);
	passive = next_event(&server, CTL_CM_EVENT_CONNECT_REQUEST).new_id;
	ck_assert_int_eq(ask_conn(&server, CTL_CM_ACCEPT, passive, 30), 0);
	event = next_event(&client, CTL_CM_EVENT_ESTABLISHED);
	ck_assert_uint_eq(event.conn.qpn, 0x1000 + passive);
	ck_assert_uint_eq(event.conn.qkey, 0x01234567);
}
END_TEST

/* The active side is in another instance, of another server. */
START_TEST(two_instances)
{
	char name[64];
	uint32_t passive, active;
	const struct user near = client;

	listener(&server, CTL_CM_PS_TCP, 1);
	snprintf(name, sizeof(name), "%s-far", fixture_instance());
	setenv("RXE_DM_INSTANCE", name, 1);
	user_open(&client);
	setenv("RXE_DM_INSTANCE", fixture_instance(), 1);
	active = connected(&passive);
	ck_assert_int_eq(ask(&client, CTL_CM_DISCONNECT, active), 0);
	next_event(&server, CTL_CM_EVENT_DISCONNECTED);
	user_close(&client);
	client = near;
	setenv("RXE_DM_INSTANCE", name, 1);
	ck_assert_int_eq(fixture_command("stop", NULL), 0);
	setenv("RXE_DM_INSTANCE", fixture_instance(), 1);
}
END_TEST

/* More draws than the server reads from the kernel at once. A port is looked for from a random one
 * on: a number that repeats, or is never filled in, leads to the port after one that is taken. */
START_TEST(random_ports)
{
	uint32_t followers = 0;
	uint16_t port[130];

	for (uint32_t i = 0; i < 130; i++) {
		const struct ctl_msg_cm req = { .op = CTL_CM_BIND,
						.id = new_id(&client, CTL_CM_PS_TCP, i),
						.src = v4("127.0.0.1", 0) };
		struct ctl_msg_cm_reply reply;

		ck_assert_int_eq(ctl_cm(client.client, &req, &reply), 0);
		port[i] = ntohs(reply.addr.local.in.sin_port);
		for (uint32_t j = 0; j < i; j++)
			followers += port[i] == port[j] + 1 || port[j] == port[i] + 1;
	}
	ck_assert_uint_lt(followers, 13); /* by chance there is one or none */
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cm");
	TCase *const tcases[] = { tc, NULL };

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, connect_and_disconnect);
	tcase_add_test(tc, messages_are_counted);
	tcase_add_test(tc, shown);
	tcase_add_test(tc, message_rules);
	tcase_add_test(tc, refused_by_this_end);
	tcase_add_test(tc, delay_and_call_rules);
	tcase_add_test(tc, device_removed);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, late_listener);
	tcase_add_test(tc, death_of_a_program);
	tcase_add_test(tc, death_of_a_listener);
	tcase_add_test(tc, no_channel);
	tcase_add_test(tc, ids_of_others);
	tcase_add_test(tc, channels_in_use);
	tcase_add_test(tc, paused_channel);
	tcase_add_test(tc, migrated_id);
	tcase_add_test(tc, full_channel);
	tcase_add_test(tc, backlog);
	tcase_add_test(tc, backlog_counts);
	tcase_add_test(tc, datagrams);
	tcase_add_test(tc, two_instances);
	tcase_add_test(tc, random_ports);
	return fixture_main("cm", tcases);
}
