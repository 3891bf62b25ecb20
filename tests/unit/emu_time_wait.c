// SPDX-License-Identifier: MIT
/* Records of delayed ACKs: when one is written and deleted, and what the device server makes of
 * it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu_fixture.h"
#include "net/wire/opcode.h"
#include "net/wire/train.h"
#include "tests/suite.h"

#define PEER_QPN   0x030042u
#define FIRST_PSN  0xfffffeu
#define QPS	   (RXE_MAX_DELAYED_ACKS + 1)
#define SERVER_NOW 1000u
#define ROUNDS	   4u

/* What outlives the process, and the queue pairs: in memory that another process reads. */
struct memory {
	struct rxe_time_wait_table table;
	struct qp_set set[QPS];
	_Atomic uint32_t taken; /* ACKs of set[0] that the link has taken */
};

static struct end *end;
static struct memory *memory;
static uint8_t buf[TRAIN_MAX_BYTES];

static void setup(void)
{
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	end = end_new(2, 5);
	end->engine.cfg.time_wait = &memory->table;
	end->engine.cfg.ack_delay_ns = 20000;
	for (uint32_t i = 0; i < QPS; i++) {
		struct qp_set *set = &memory->set[i];

		qp_new(end, set, RXE_QPT_RC, NULL, FIXTURE_CQE);
		qp_to(end, set, RXE_QPS_RTS, 3, PEER_QPN + i);
		for (uint32_t wr = 0; wr < ROUNDS; wr++)
			ck_assert_int_eq(post_recv(end, set, wr, sge_at(0, 8, KEY_ALL)), POST_OK);
		/* Requests have followed its ACKs often enough. */
		set->qp.rc.reply.piggybacks = 100;
	}
}

static void teardown(void)
{
	for (uint32_t i = 0; i < QPS; i++)
		qp_free(end, &memory->set[i]);
	end_free(end);
	munmap(memory, sizeof(*memory));
}

/* The next SEND arrives, and its completion becomes visible. */
static void arrives(struct qp_set *set, bool asks)
{
	const struct gid peer = fixture_gid(3), self = fixture_gid(2);
	struct wire_packet packet = { .bth = { .opcode = opcode_make(WIRE_RC, OP_SEND_ONLY),
					       .pkey = 0xffff,
					       .dest_qpn = set->qp.qpn,
					       .psn = set->qp.attr.rq_psn,
					       .ack_req = asks },
				      .payload_len = 8 };

	inject(end, &packet, "8 bytes", &peer, &self);
}

static void send_arrives(struct qp_set *set)
{
	arrives(set, true);
}

static void unasked_arrives(struct qp_set *set)
{
	arrives(set, false);
}

static uint32_t emit_all(struct rxe_engine *engine)
{
	struct wire_train train = { .buf = buf, .max_segs = TRAIN_MAX_SEGS };
	uint32_t packets = 0;

	while (rxe_engine_output(engine, &train, 0))
		packets += train.segs;
	return packets;
}

static void emit_delayed_ack(struct qp_set *set)
{
	rxe_qp_flush_delayed_ack(&end->engine, &set->qp);
	(void)emit_all(&end->engine);
}

static const struct rxe_time_wait *record_of(const struct qp_set *set)
{
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++) {
		if (atomic_load(&memory->table.delayed[i].qpn) == set->qp.qpn)
			return &memory->table.delayed[i];
	}
	return NULL;
}

/* A SEND arrives at each queue pair. The first ones, this many, delay their ACKs. */
static void expect_delayed(uint32_t most)
{
	for (uint32_t i = 0; i < QPS; i++)
		send_arrives(&memory->set[i]);
	for (uint32_t i = 0; i < most; i++)
		ck_assert_ptr_nonnull(record_of(&memory->set[i]));
	for (uint32_t i = most; i < QPS; i++)
		ck_assert_ptr_null(record_of(&memory->set[i]));
	ck_assert_uint_eq(emit_all(&end->engine), QPS - most);
	emit_delayed_ack(&memory->set[3]);
	rxe_time_wait_trains_sent(&end->engine);
	ck_assert_ptr_null(record_of(&memory->set[3]));
	send_arrives(&memory->set[most]);
	ck_assert_ptr_nonnull(record_of(&memory->set[most]));
	ck_assert_uint_eq(emit_all(&end->engine), 0);
}

START_TEST(eight_at_a_time)
{
	expect_delayed(RXE_FEW_DELAYED_ACKS);
}
END_TEST

START_TEST(as_many_as_there_are_records_where_the_host_expects_answers)
{
	end->engine.delayed_acks.are_many = true;
	expect_delayed(RXE_MAX_DELAYED_ACKS);
}
END_TEST

/* The engine has nothing to do until its timer, or the next request. */
START_TEST(a_delayed_ack_needs_no_turn)
{
	struct qp_set *set = &memory->set[0];

	(void)emit_all(&end->engine);
	send_arrives(set);
	ck_assert(!rxe_engine_has_output(&end->engine));
	rxe_engine_expire(&end->engine, set->qp.rc.reply.ack_delay_until_ns);
	ck_assert(rxe_engine_has_output(&end->engine));
}
END_TEST

/* They take none of the few places of delayed ACKs while others are unused. */
START_TEST(unasked_ones_begin_at_the_other_end)
{
	const uint32_t others = RXE_MAX_DELAYED_ACKS - RXE_FEW_DELAYED_ACKS;

	for (uint32_t i = 0; i < others; i++)
		unasked_arrives(&memory->set[i]);
	for (uint32_t i = others; i < QPS; i++)
		send_arrives(&memory->set[i]);
	for (uint32_t i = 0; i < QPS - 1; i++)
		ck_assert_ptr_nonnull(record_of(&memory->set[i]));
	ck_assert_ptr_null(record_of(&memory->set[QPS - 1]));
	ck_assert_uint_eq(emit_all(&end->engine), 1);
}
END_TEST

START_TEST(unasked_ones_beyond_the_table_are_acknowledged)
{
	for (uint32_t i = 0; i < QPS; i++)
		unasked_arrives(&memory->set[i]);
	ck_assert_uint_eq(emit_all(&end->engine), 1);
	ck_assert_ptr_null(record_of(&memory->set[QPS - 1]));
}
END_TEST

/* The ACK stays away until a request asks for one, or the queue pair is about to end. */
START_TEST(unasked_ones_change_the_record_in_place)
{
	struct qp_set *set = &memory->set[0];
	const struct rxe_time_wait *record;

	unasked_arrives(set);
	record = record_of(set);
	ck_assert(record && record->psn == psn_add(FIRST_PSN, 1));
	unasked_arrives(set);
	ck_assert_ptr_eq(record_of(set), record);
	ck_assert_uint_eq(record->psn, psn_add(FIRST_PSN, 2));
	ck_assert_uint_eq(record->msn, 2);
	ck_assert_uint_eq(emit_all(&end->engine), 0);
	send_arrives(set);
	ck_assert_ptr_eq(record_of(set), record);
	ck_assert_uint_eq(record->psn, psn_add(FIRST_PSN, 3));
	emit_delayed_ack(set);
	rxe_time_wait_trains_sent(&end->engine);
	ck_assert_ptr_null(record_of(set));
	unasked_arrives(set);
	rxe_qp_flush_delayed_ack(&end->engine, &set->qp);
	ck_assert_uint_eq(emit_all(&end->engine), 1);
}
END_TEST

START_TEST(stays_until_the_link_has_the_train)
{
	struct qp_set *set = &memory->set[0];
	const struct rxe_time_wait *record;

	send_arrives(set);
	emit_delayed_ack(set);
	ck_assert_ptr_nonnull(record_of(set));
	/* Meanwhile nothing is delayed. */
	send_arrives(set);
	record = record_of(set);
	ck_assert(record && record->psn == psn_add(FIRST_PSN, 1));
	ck_assert_uint_eq(emit_all(&end->engine), 1);
	ck_assert_ptr_nonnull(record_of(set));
	rxe_time_wait_trains_sent(&end->engine);
	ck_assert_ptr_null(record_of(set));
}
END_TEST

START_TEST(reset_ends_it)
{
	const struct rxe_qp_attr attr = { .qp_state = RXE_QPS_RESET };
	struct qp_set *set = &memory->set[0];

	send_arrives(set);
	ck_assert_int_eq(rxe_qp_modify(&end->engine, &set->qp, &attr, RXE_QP_STATE, 0), MODIFY_OK);
	rxe_time_wait_trains_sent(&end->engine);
	ck_assert_ptr_null(record_of(set));
	ck_assert_uint_eq(end->engine.delayed_acks.recorded, 0);
}
END_TEST

START_TEST(destruction_ends_it)
{
	struct qp_set *set = &memory->set[0];

	send_arrives(set);
	qp_free(end, set);
	rxe_time_wait_trains_sent(&end->engine);
	ck_assert_ptr_null(record_of(set));
	qp_new(end, set, RXE_QPT_RC, NULL, FIXTURE_CQE);
}
END_TEST

/* In error the queue pair sends nothing, but its program may have seen the completion. */
START_TEST(error_does_not_end_it)
{
	struct qp_set *set = &memory->set[0];

	send_arrives(set);
	rxe_qp_fail(&end->engine, &set->qp, RXE_WC_SUCCESS);
	ck_assert_uint_eq(emit_all(&end->engine), 0);
	rxe_time_wait_trains_sent(&end->engine);
	ck_assert_ptr_nonnull(record_of(set));
}
END_TEST

/* How many ACKs the server sends. */
static uint32_t server_sends(void)
{
	struct end *server = end_new(2, 0);
	uint32_t packets;

	server->engine.cfg.time_wait = &memory->table;
	rxe_time_wait_adopt_delayed(&server->engine, SERVER_NOW);
	packets = emit_all(&server->engine);
	end_free(server);
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++)
		ck_assert_uint_eq(memory->table.delayed[i].qpn, 0);
	return packets;
}

START_TEST(each_is_sent_once)
{
	for (uint32_t i = 0; i < 3; i++)
		send_arrives(&memory->set[i]);
	ck_assert_uint_eq(server_sends(), 3);
	ck_assert_uint_eq(server_sends(), 0);
	ck_assert_uint_eq(memory->table.count, 3);
}
END_TEST

/* The process exited in order, but the link did not take its last ACK: the record of its exit is
 * the newer one. */
START_TEST(newer_record_is_kept)
{
	struct qp_set *set = &memory->set[0];

	send_arrives(set);
	send_arrives(set);
	emit_delayed_ack(set);
	rxe_time_wait_note(&end->engine, &set->qp);
	ck_assert_uint_eq(server_sends(), 1);
	ck_assert_uint_eq(memory->table.count, 1);
	ck_assert_uint_eq(memory->table.at[0].psn, psn_add(FIRST_PSN, 2));
}
END_TEST

/* The path of an answer is the path of the queue pair. */
START_TEST(has_the_path)
{
	struct qp_set *set = &memory->set[0];
	const struct rxe_time_wait *record;

	set->qp.attr.av.flow_label = 0x12345;
	set->qp.attr.av.traffic_class = 0x67;
	set->qp.attr.av.hop_limit = 89;
	send_arrives(set);
	record = record_of(set);
	ck_assert_ptr_nonnull(record);
	ck_assert_uint_eq(record->flow_label, 0x12345);
	ck_assert_uint_eq(record->traffic_class, 0x67);
	ck_assert_uint_eq(record->hop_limit, 89);
}
END_TEST

/* Finds the queue pair that was connected to a peer: its address and its number must match. */
START_TEST(found_by_its_peer)
{
	const struct gid peer = fixture_gid(3), other = fixture_gid(4);
	const struct rxe_time_wait_table *table = &memory->table;

	ck_assert_uint_eq(rxe_time_wait_connected_to(table, &peer, PEER_QPN), 0);
	for (uint32_t i = 0; i < 2; i++) {
		send_arrives(&memory->set[i]);
		rxe_time_wait_note(&end->engine, &memory->set[i].qp);
	}
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_uint_eq(rxe_time_wait_connected_to(table, &peer, PEER_QPN + i),
				  memory->set[i].qp.qpn);
	ck_assert_uint_eq(rxe_time_wait_connected_to(table, &peer, PEER_QPN + 2), 0);
	ck_assert_uint_eq(rxe_time_wait_connected_to(table, &other, PEER_QPN), 0);
	rxe_time_wait_forget(&end->engine, memory->set[0].qp.qpn);
	ck_assert_uint_eq(rxe_time_wait_connected_to(table, &peer, PEER_QPN), 0);
}
END_TEST

/* A hostile process writes what it likes. */
START_TEST(unsound_ones_are_not_sent)
{
	struct rxe_time_wait *delayed = memory->table.delayed;

	for (uint32_t i = 0; i < 6; i++)
		send_arrives(&memory->set[i]);
	delayed[0].until_ns = SERVER_NOW;
	delayed[1].src = fixture_gid(4);
	memset(&delayed[2].src, 0, sizeof(delayed[2].src));
	delayed[3].dst.raw[12] = 224; /* multicast */
	delayed[4].dst.raw[10] = 0;   /* IPv6 */
	ck_assert_uint_eq(server_sends(), 1);
	ck_assert_uint_eq(memory->table.count, 1);
}
END_TEST

/* The process: SENDs. Every second one asks for an ACK, which is delayed, then sent. */
static void live(struct qp_set *set)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (uint32_t i = 2; i <= ROUNDS; i += 2) {
		unasked_arrives(set);
		send_arrives(set);
		emit_delayed_ack(set);
		atomic_store(&memory->taken, i);
		rxe_time_wait_trains_sent(&end->engine);
	}
	_exit(0);
}

/* If the process were killed now: each ACK whose completion is visible is with the link, or
 * recorded. */
static void expect_no_ack_lost(const struct qp_set *set)
{
	const uint32_t visible = atomic_load(&set->recv_cq.visible);
	const struct rxe_time_wait *record = record_of(set);

	ck_assert(record || visible <= atomic_load(&memory->taken));
	if (!record)
		return;
	ck_assert_uint_eq(record->dest_qpn, PEER_QPN);
	ck_assert_uint_le(visible, record->msn);
	ck_assert_uint_eq(record->psn, psn_add(FIRST_PSN, record->msn));
	ck_assert(gid_equal(&record->src, &end->engine.cfg.gids[0]));
	ck_assert(gid_equal(&record->dst, &set->qp.flow.dst));
	ck_assert_uint_ge(record->until_ns, RXE_TIME_WAIT_MIN_NS);
	ck_assert_uint_eq(rxe_time_wait_replay(&memory->table, record)->count, 0);
}

/* Checks after each instruction of the process. False: tracing is forbidden here. */
static bool step_through(pid_t pid, const struct qp_set *set)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status)) {
		expect_no_ack_lost(set);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL)) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return false;
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	}
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

START_TEST(killed_at_any_instruction)
{
	struct qp_set *set = &memory->set[0];
	static struct qp_set before;
	pid_t pid;

	/* Nothing of an earlier record may pass for this one. */
	memset(memory->table.delayed, 0x5a, sizeof(memory->table.delayed));
	for (uint32_t i = 0; i < RXE_MAX_DELAYED_ACKS; i++)
		atomic_store(&memory->table.delayed[i].qpn, 0);
	memcpy(&before, set, sizeof(before));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		live(set);
	if (step_through(pid, set)) {
		ck_assert_uint_eq(atomic_load(&memory->taken), ROUNDS);
		ck_assert_uint_eq(atomic_load(&set->recv_cq.visible), ROUNDS);
	}
	/* The engine of this process has seen none of it. */
	memcpy(set, &before, sizeof(before));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("emu_time_wait");
	TCase *tcase = tcase_create("delayed ACKs");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, eight_at_a_time);
	tcase_add_test(tcase, a_delayed_ack_needs_no_turn);
	tcase_add_test(tcase, as_many_as_there_are_records_where_the_host_expects_answers);
	tcase_add_test(tcase, unasked_ones_begin_at_the_other_end);
	tcase_add_test(tcase, unasked_ones_beyond_the_table_are_acknowledged);
	tcase_add_test(tcase, unasked_ones_change_the_record_in_place);
	tcase_add_test(tcase, stays_until_the_link_has_the_train);
	tcase_add_test(tcase, reset_ends_it);
	tcase_add_test(tcase, destruction_ends_it);
	tcase_add_test(tcase, error_does_not_end_it);
	tcase_add_test(tcase, each_is_sent_once);
	tcase_add_test(tcase, newer_record_is_kept);
	tcase_add_test(tcase, has_the_path);
	tcase_add_test(tcase, found_by_its_peer);
	tcase_add_test(tcase, unsound_ones_are_not_sent);
	tcase_add_test(tcase, killed_at_any_instruction);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
