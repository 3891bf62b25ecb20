// SPDX-License-Identifier: MIT
/* A process has exited. The server sends the ACKs that the process delayed, and answers duplicates
 * from its records, and nothing else, whatever the process has written. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/control/process.h"
#include "lib/control/shared.h"
#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "net/link/udp/udp.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "server_fixture.h"

#define OURS 0x0105u /* the peer's QP number, in slot 0 of its group */

static struct udp_group group;
static struct link *peer;
static struct gid peer_gid, device_gid;
static struct program p;

static void setup(void)
{
	struct udp_cfg cfg = { .trains = false };
	struct ctl_device device;
	size_t n;

	fixture_setup();
	setenv("RXE_DM_ALLOW_USERS", "all", 1); /* our socket is no device's */
	setenv("RXE_DM_SLOTS", "2", 1);		/* the next process has the same slot */
	program_open(&p);
	unsetenv("RXE_DM_ALLOW_USERS");
	unsetenv("RXE_DM_SLOTS");
	ck_assert_int_eq(ctl_list_devices(p.client, &device, 1, &n), 0);
	device_gid = device.gids[0];
	peer_gid = (struct gid){
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 127, [13] = 79, [14] = 3, [15] = 9 }
	};
	ck_assert_int_eq(udp_group_open(&group, &peer_gid, 4), 0);
	cfg.gid = peer_gid;
	cfg.rx_fd = group.fd[0];
	ck_assert_int_eq(udp_open(&peer, &cfg), 0);
}

static void teardown(void)
{
	link_close(peer);
	udp_group_close(&group);
	fixture_teardown();
}

static struct rxe_time_wait_table *table(void)
{
	return &p.at.shared->slot[p.at.slot].time_wait;
}

/* As the engine writes it. Returns the number of the queue pair. */
static uint32_t write_record(struct rxe_time_wait *record, uint32_t place)
{
	const uint32_t qpn = p.at.slot << RXE_SLOT_SHIFT | (0x1230 + place);

	memset(record, 0, sizeof(*record));
	record->dest_qpn = OURS;
	record->psn = 200;
	record->msn = 7;
	record->until_ns = clock_now_ns() + RXE_TIME_WAIT_MAX_NS / 2;
	record->src = device_gid;
	record->dst = peer_gid;
	record->hop_limit = 64;
	rxe_time_wait_replay(table(), record)->count = 0;
	rc_replay_save(rxe_time_wait_replay(table(), record), RC_REPLAY_ATOMIC, 150, 4711);
	atomic_store(&record->qpn, qpn);
	return qpn;
}

static uint32_t leave_record(uint32_t place)
{
	const uint32_t qpn = write_record(&table()->at[place], place);

	atomic_store(&table()->count, place + 1);
	return qpn;
}

static void ask(enum wire_op op, uint32_t qpn, uint32_t psn)
{
	uint8_t bytes[WIRE_MAX_HEADERS + ICRC_LEN] = { 0 };
	struct icrc_flow flow = { .src = peer_gid, .dst = device_gid };
	const struct wire_packet packet = { .bth = { .opcode = opcode_make(WIRE_RC, op),
						     .pkey = 0xffff,
						     .dest_qpn = qpn,
						     .psn = psn,
						     .ack_req = true } };
	const uint32_t n = (uint32_t)wire_emit_headers(bytes, &packet);
	struct wire_train train = { .buf = bytes,
				    .len = n + ICRC_LEN,
				    .seg_len = (uint16_t)(n + ICRC_LEN),
				    .segs = 1,
				    .max_segs = 1,
				    .hop_limit = 64,
				    .src = peer_gid,
				    .dst = device_gid };

	ck_assert_uint_ge(link_tx_ports(peer, &flow.src_port, 1), 1);
	icrc_store(bytes + n, icrc_compute(&flow, 0, bytes, n));
	ck_assert_int_eq(link_send(peer, &train, 1), 1);
}

/* The next answer, whose ICRC is right. */
static struct wire_packet answer(void)
{
	struct pollfd ready = { .fd = link_wait_fd(peer), .events = POLLIN };
	struct wire_arrival arrival;
	struct wire_packet packet;
	struct icrc_flow flow;

	/* The link may hold packets that it read with an earlier one. */
	while (link_receive(peer, &arrival, 1) != 1)
		ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
	flow = (struct icrc_flow){ arrival.src, arrival.dst, arrival.src_port };
	ck_assert_int_eq(icrc_check(&flow, IP_ID_RULED, 0, arrival.p, arrival.len), ICRC_OK);
	ck_assert_int_eq(wire_parse(&packet, arrival.p, arrival.len), WIRE_OK);
	ck_assert_uint_eq(packet.bth.dest_qpn, OURS);
	return packet;
}

START_TEST(what_was_received_is_acknowledged)
{
	const uint32_t qpn = leave_record(0);
	struct wire_packet packet;

	program_close(&p);
	ask(OP_SEND_ONLY, qpn, 199);
	packet = answer();
	ck_assert_uint_eq(packet.bth.opcode, opcode_make(WIRE_RC, OP_ACKNOWLEDGE));
	ck_assert_uint_eq(packet.bth.psn, 199);
	ck_assert_uint_eq(packet.aeth.msn, 7);
	/* None of these; the last is, and its answer is the next. */
	ask(OP_SEND_ONLY, qpn, 200);
	ask(OP_READ_REQUEST, qpn, 190);
	ask(OP_FETCH_ADD, qpn, 151);
	ask(OP_SEND_ONLY, qpn + 1, 199);
	ask(OP_FETCH_ADD, qpn, 150);
	packet = answer();
	ck_assert_uint_eq(packet.bth.opcode, opcode_make(WIRE_RC, OP_ATOMIC_ACK));
	ck_assert_uint_eq(packet.bth.psn, 150);
	ck_assert_uint_eq(packet.atomic_orig, 4711);
}
END_TEST

/* A duplicate that arrives before the server sees that the process has exited waits in the
 * socket. */
START_TEST(what_was_asked_meanwhile_is_answered)
{
	const uint32_t qpn = leave_record(0);

	ask(OP_WRITE_ONLY, qpn, 100);
	program_close(&p);
	ck_assert_uint_eq(answer().bth.psn, 199);
}
END_TEST

/* Connects without attaching. */
static int raw_client(void)
{
	struct ctl_hello hello = { .magic = CTL_MAGIC,
				   .protocol = CTL_PROTOCOL,
				   .layout = CTL_LAYOUT,
				   .role = CTL_ROLE_PROGRAM };
	struct ctl_name name;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ctl_name_server(&name, geteuid(), fixture_instance());
	ck_assert_int_eq(connect(sock, (const struct sockaddr *)&name.addr, name.len), 0);
	ck_assert_int_eq(ctl_send(sock, &hello, sizeof(hello), NULL, 0, 0), 0);
	ck_assert_int_eq(recv(sock, &hello, sizeof(hello), 0), sizeof(hello));
	ck_assert_int_eq(hello.status, 0);
	return sock;
}

static pid_t server_pid(int sock)
{
	uid_t uid;
	pid_t pid;

	ck_assert_int_eq(ctl_peer(sock, &pid, &uid), 0);
	return pid;
}

static void stop(pid_t server)
{
	ck_assert_int_eq(kill(server, SIGSTOP), 0);
	while (!ctl_process_is_stopped(server))
		poll(NULL, 0, 1);
}

/* The server learns of the next process of the slot before it reads the slot's socket. */
START_TEST(what_was_asked_before_the_next_process_is_answered)
{
	const struct ctl_request attach = { .op = CTL_ATTACH };
	const uint32_t qpn = leave_record(0);
	int sock = raw_client();
	const pid_t server = server_pid(sock);

	program_close(&p);
	fixture_await_programs(1);
	stop(server);
	ck_assert_int_eq(ctl_send(sock, &attach, sizeof(attach), NULL, 0, 0), 0);
	ask(OP_WRITE_ONLY, qpn, 100);
	kill(server, SIGCONT);
	ck_assert_uint_eq(answer().bth.psn, 199);
	close(sock);
}
END_TEST

/* The server sleeps beyond the end of TIME_WAIT. */
START_TEST(what_was_asked_in_time_is_answered)
{
	const uint32_t qpn = write_record(&table()->at[0], 0);
	const uint64_t until_ns = clock_now_ns() + 500000000;
	const int sock = raw_client();
	const pid_t server = server_pid(sock);

	table()->at[0].until_ns = until_ns;
	atomic_store(&table()->count, 1);
	program_close(&p);
	fixture_await_programs(1);
	stop(server);
	ask(OP_WRITE_ONLY, qpn, 100);
	while (clock_now_ns() <= until_ns)
		poll(NULL, 0, 10);
	kill(server, SIGCONT);
	ck_assert_uint_eq(answer().bth.psn, 199);
	close(sock);
}
END_TEST

/* More atomics at a time than the engine keeps answers. */
START_TEST(each_atomic_is_answered)
{
	const int sock = raw_client();
	const pid_t server = server_pid(sock);
	uint32_t qpn[100];

	for (uint32_t i = 0; i < 100; i++)
		qpn[i] = leave_record(i);
	program_close(&p);
	fixture_await_programs(1);
	stop(server);
	for (uint32_t i = 0; i < 100; i++)
		ask(OP_FETCH_ADD, qpn[i], 150);
	kill(server, SIGCONT);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_uint_eq(answer().atomic_orig, 4711);
	close(sock);
}
END_TEST

/* A hostile process leaves anything: the server goes on, and answers for the one that makes
 * sense. */
START_TEST(garbage_is_left_behind)
{
	uint32_t state = 1, qpn;
	uint8_t *bytes = (uint8_t *)table();
	struct program next;

	for (size_t i = 0; i < sizeof(*table()); i++) {
		state = state * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(state >> 24);
	}
	qpn = leave_record(17);
	atomic_store(&table()->count, UINT32_MAX);
	program_close(&p);
	for (uint32_t i = 0; i < 64; i++)
		ask(OP_SEND_ONLY, (qpn & ~0xffffu) + i * 997, i * 77777 & PSN_MASK);
	ask(OP_SEND_ONLY, qpn, 10);
	ck_assert_uint_eq(answer().bth.psn, 199);
	program_open(&next);
	program_close(&next);
}
END_TEST

START_TEST(delayed_ack_is_sent)
{
	const uint32_t qpn = write_record(&table()->delayed[3], 3);
	struct wire_packet packet;

	program_close(&p);
	packet = answer();
	ck_assert_uint_eq(packet.bth.opcode, opcode_make(WIRE_RC, OP_ACKNOWLEDGE));
	ck_assert_uint_eq(packet.bth.psn, 199);
	ck_assert_uint_eq(packet.aeth.msn, 7);
	/* Lost: the peer asks again. */
	ask(OP_SEND_ONLY, qpn, 199);
	ck_assert_uint_eq(answer().bth.psn, 199);
	ask(OP_FETCH_ADD, qpn, 150);
	ck_assert_uint_eq(answer().atomic_orig, 4711);
}
END_TEST

START_TEST(delayed_ack_of_an_xrc_target_is_sent)
{
	struct rxe_time_wait *record = &table()->delayed[0];

	(void)write_record(record, 0);
	record->is_xrc = 1;
	program_close(&p);
	ck_assert_uint_eq(answer().bth.opcode, opcode_make(WIRE_XRC, OP_ACKNOWLEDGE));
}
END_TEST

/* The port is down when the process exits: its ACK is lost like any other packet, and the peer asks
 * again. */
START_TEST(delayed_ack_while_the_port_is_down)
{
	struct pollfd ready = { .fd = link_wait_fd(peer), .events = POLLIN };
	const uint32_t qpn = write_record(&table()->delayed[0], 0);

	ck_assert_int_eq(fixture_command("fault", "add", "port_down", NULL), 0);
	program_close(&p);
	fixture_await_programs(0);
	ck_assert_int_eq(fixture_command("fault", "clear", NULL), 0);
	ck_assert_int_eq(poll(&ready, 1, 0), 0);
	ask(OP_SEND_ONLY, qpn, 199);
	ck_assert_uint_eq(answer().bth.psn, 199);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("time_wait");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_was_received_is_acknowledged);
	tcase_add_test(tcase, what_was_asked_meanwhile_is_answered);
	tcase_add_test(tcase, what_was_asked_before_the_next_process_is_answered);
	tcase_add_test(tcase, what_was_asked_in_time_is_answered);
	tcase_add_test(tcase, each_atomic_is_answered);
	tcase_add_test(tcase, garbage_is_left_behind);
	tcase_add_test(tcase, delayed_ack_is_sent);
	tcase_add_test(tcase, delayed_ack_of_an_xrc_target_is_sent);
	tcase_add_test(tcase, delayed_ack_while_the_port_is_down);
	return fixture_main("server_time_wait", (TCase *[]){ tcase, NULL });
}
