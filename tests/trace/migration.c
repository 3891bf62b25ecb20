/* SPDX-License-Identifier: MIT */
/* Traces of automatic path migration (IBTA 17.2.8): two hosts with two addresses each, and so with
 * two paths. A packet without MigReq is "armed". */
#include "tests/trace/fixture.h"

#define PATH_1	1u
#define PATH_2	2u
#define TIMEOUT 6 /* 262 us */

static enum rxe_mig_state state_of(const struct end *end)
{
	return end->qp.attr.path_mig_state;
}

static enum modify_result set_state(struct end *end, enum rxe_mig_state state)
{
	const struct rxe_qp_attr attr = { .path_mig_state = state };

	return rxe_qp_modify(&end->node->engine, &end->qp, &attr, RXE_QP_PATH_MIG_STATE, w.now_ns);
}

static void arm(const struct node_qp_opts *opts)
{
	connect_ends(opts);
	node_rearm(a, TIMEOUT);
	node_rearm(b, TIMEOUT);
	WRITE(64);
	world_run(&w);
	ck_assert_int_eq(state_of(a), RXE_MIG_ARMED);
	ck_assert_int_eq(state_of(b), RXE_MIG_ARMED);
	skip();
}

START_TEST(one_round_trip_arms_both)
{
	connect_ends(NULL);
	node_rearm(a, TIMEOUT);
	WRITE(64);
	world_run(&w);
	/* The peer still sends MigReq. */
	ck_assert_int_eq(state_of(a), RXE_MIG_REARM);
	ck_assert_int_eq(state_of(b), RXE_MIG_MIGRATED);
	node_rearm(b, TIMEOUT);
	WRITE(64);
	world_run(&w);
	ck_assert_int_eq(state_of(a), RXE_MIG_ARMED);
	ck_assert_int_eq(state_of(b), RXE_MIG_ARMED);
	expect("     0.0 a > WRITE_ONLY 100 len 64 ackreq armed\n"
	       "     5.0 b > ACK 100 msn 1\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "   262.1 a > WRITE_ONLY 101 len 64 ackreq armed\n"
	       "   267.1 b > ACK 101 msn 2 armed\n"
	       "   272.1 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(retries_exhausted)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 1;
	arm(&opts);
	w.link.cut = PATH_1;
	RECV(64);
	RECV(65);
	SEND(64);
	SEND(65);
	world_run(&w);
	expect("   262.1 a x SEND_ONLY 101 len 64 ackreq armed\n"
	       "   262.1 a x SEND_ONLY 102 len 65 ackreq armed\n"
	       "   524.3 a   timeout, 0 left, rewind to 101\n"
	       "   524.3 a x SEND_ONLY 101 len 64 ackreq armed\n"
	       "   524.3 a x SEND_ONLY 102 len 65 ackreq armed\n"
	       "   786.4 a   timeout, 1 left, rewind to 101\n"
	       "   786.4 a > SEND_ONLY 101 len 64 ackreq path 2\n"
	       "   786.4 a > SEND_ONLY 102 len 65 ackreq path 2\n"
	       "   786.4 a   event PATH_MIG\n"
	       "   791.4 b > ACK 102 msn 3 path 2\n"
	       "   791.4 b   recv 1 SUCCESS len 64\n"
	       "   791.4 b   recv 2 SUCCESS len 65\n"
	       "   791.4 b   event PATH_MIG\n"
	       "   796.4 a   send 2 SUCCESS\n"
	       "   796.4 a   send 3 SUCCESS\n");
}
END_TEST

/* TIME_WAIT answers by the path by which the peer asks. */
START_TEST(peer_is_destroyed)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 1;
	arm(&opts);
	fault("drop b ACK 101");
	WRITE(64);
	world_run_until(&w, 270);
	node_remove_qp(b);
	w.link.cut = PATH_1;
	world_run(&w);
	expect("   262.1 a > WRITE_ONLY 101 len 64 ackreq armed\n"
	       "   267.1 b x ACK 101 msn 2 armed\n"
	       "   524.3 a   timeout, 0 left, rewind to 101\n"
	       "   524.3 a x WRITE_ONLY 101 len 64 ackreq armed\n"
	       "   786.4 a   timeout, 1 left, rewind to 101\n"
	       "   786.4 a > WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "   786.4 a   event PATH_MIG\n"
	       "   791.4 ?   duplicate WRITE_ONLY 101\n"
	       "   791.4 ? > ACK 101 msn 2 armed path 2\n"
	       "   796.4 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(both_paths_are_dead)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 1;
	arm(&opts);
	w.link.cut = PATH_1 | PATH_2;
	WRITE(64);
	world_run(&w);
	expect("   262.1 a x WRITE_ONLY 101 len 64 ackreq armed\n"
	       "   524.3 a   timeout, 0 left, rewind to 101\n"
	       "   524.3 a x WRITE_ONLY 101 len 64 ackreq armed\n"
	       "   786.4 a   timeout, 1 left, rewind to 101\n"
	       "   786.4 a x WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "   786.4 a   event PATH_MIG\n"
	       "  1048.6 a   timeout, 0 left, rewind to 101\n"
	       "  1048.6 a x WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "  1310.7 a   to ERR\n"
	       "  1310.7 a   send 2 RETRY_EXC_ERR\n");
}
END_TEST

/* The peer has executed the request; only its answers are lost. It follows because the request
 * that comes again, a duplicate, asks it to. */
START_TEST(answers_are_lost)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 0;
	arm(&opts);
	fault("drop b ATOMIC_ACK 101");
	set_word(y, 0, 5);
	ADD(1);
	world_run(&w);
	ck_assert_uint_eq(word_at(y, 0), 6);
	expect("   262.1 a > FETCH_ADD 101 ackreq armed\n"
	       "   267.1 b x ATOMIC_ACK 101 orig 5 armed\n"
	       "   524.3 a   timeout, 0 left, rewind to 101\n"
	       "   524.3 a > FETCH_ADD 101 ackreq path 2\n"
	       "   524.3 a   event PATH_MIG\n"
	       "   529.3 b   duplicate FETCH_ADD 101\n"
	       "   529.3 b > ATOMIC_ACK 101 orig 5 path 2\n"
	       "   529.3 b   event PATH_MIG\n"
	       "   534.3 a   send 2 SUCCESS\n");
}
END_TEST

START_TEST(the_program_migrates)
{
	arm(NULL);
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_OK);
	ck_assert_int_eq(state_of(a), RXE_MIG_MIGRATED);
	WRITE(64);
	world_run(&w);
	ck_assert_int_eq(state_of(b), RXE_MIG_MIGRATED);
	expect("   262.1 a > WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "   262.1 a   event PATH_MIG\n"
	       "   267.1 b > ACK 101 msn 2 path 2\n"
	       "   267.1 b   event PATH_MIG\n"
	       "   272.1 a   send 2 SUCCESS\n");
}
END_TEST

/* The peer has not learnt of the migration yet: what it sends by the old path is taken, and the
 * answer makes it follow. */
START_TEST(the_old_path_is_heard)
{
	arm(NULL);
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_OK);
	POST(b, RDMA_WRITE, 64);
	world_run(&w);
	expect("   262.1 a   event PATH_MIG\n"
	       "   262.1 b > WRITE_ONLY 500 len 64 ackreq armed\n"
	       "   267.1 a > ACK 500 msn 1 path 2\n"
	       "   272.1 b   send 1 SUCCESS\n"
	       "   272.1 b   event PATH_MIG\n");
}
END_TEST

START_TEST(in_flight_while_migrating)
{
	arm(NULL);
	READ(3000, .to = 64, .from = READ_AT);
	world_run_until(&w, 268);
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_OK);
	WRITE(64);
	world_run(&w);
	expect("   262.1 a > READ_REQUEST 101 len 3000 ackreq armed\n"
	       "   267.1 b > READ_RESP_FIRST 101 len 1024 armed\n"
	       "   267.1 b > READ_RESP_MIDDLE 102 len 1024 armed\n"
	       "   267.1 b > READ_RESP_LAST 103 len 952 armed\n"
	       "   268.0 a > WRITE_ONLY 104 len 64 ackreq path 2\n"
	       "   268.0 a   event PATH_MIG\n"
	       "   272.1 a   send 2 SUCCESS\n"
	       "   273.0 b > ACK 104 msn 3 path 2\n"
	       "   273.0 b   event PATH_MIG\n"
	       "   278.0 a   send 3 SUCCESS\n");
}
END_TEST

/* The first path is the alternate one now. */
static void rearm_back(struct end *end)
{
	const struct rxe_qp_attr attr = {
		.has_alt_grh = true,
		.alt_av = { .dgid = end->peer->node->engine.cfg.gids[0], .hop_limit = 64 },
		.alt_port_num = 1,
		.alt_timeout = TIMEOUT,
		.path_mig_state = RXE_MIG_REARM,
	};

	ck_assert_int_eq(rxe_qp_modify(&end->node->engine, &end->qp, &attr,
				       RXE_QP_ALT_PATH | RXE_QP_PATH_MIG_STATE, w.now_ns),
			 MODIFY_OK);
}

START_TEST(there_and_back)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 0;
	arm(&opts);
	w.link.cut = PATH_1;
	WRITE(64);
	world_run(&w);
	rearm_back(a);
	rearm_back(b);
	WRITE(64);
	world_run(&w);
	w.link.cut = PATH_2;
	WRITE(64);
	world_run(&w);
	expect("   262.1 a x WRITE_ONLY 101 len 64 ackreq armed\n"
	       "   524.3 a   timeout, 0 left, rewind to 101\n"
	       "   524.3 a > WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "   524.3 a   event PATH_MIG\n"
	       "   529.3 b > ACK 101 msn 2 path 2\n"
	       "   529.3 b   event PATH_MIG\n"
	       "   534.3 a   send 2 SUCCESS\n"
	       "   786.4 a > WRITE_ONLY 102 len 64 ackreq armed path 2\n"
	       "   791.4 b > ACK 102 msn 3 armed path 2\n"
	       "   796.4 a   send 3 SUCCESS\n"
	       "  1048.6 a x WRITE_ONLY 103 len 64 ackreq armed path 2\n"
	       "  1310.7 a   timeout, 0 left, rewind to 103\n"
	       "  1310.7 a > WRITE_ONLY 103 len 64 ackreq\n"
	       "  1310.7 a   event PATH_MIG\n"
	       "  1315.7 b > ACK 103 msn 4\n"
	       "  1315.7 b   event PATH_MIG\n"
	       "  1320.7 a   send 4 SUCCESS\n");
}
END_TEST

/* A peer that migrates to a path that is not armed here is not followed: the program learns it
 * once. */
START_TEST(refused)
{
	struct node_qp_opts opts = world_opts();

	opts.retry_cnt = 2;
	arm(&opts);
	node_rearm(b, TIMEOUT); /* learns of no packet of a before it migrates */
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_OK);
	WRITE(64);
	world_run(&w);
	expect("   262.1 a > WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "   262.1 a   event PATH_MIG\n"
	       "   267.1 b   event PATH_MIG_ERR\n"
	       "   524.3 a   timeout, 1 left, rewind to 101\n"
	       "   524.3 a > WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "   786.4 a   timeout, 0 left, rewind to 101\n"
	       "   786.4 a > WRITE_ONLY 101 len 64 ackreq path 2\n"
	       "  1048.6 a   to ERR\n"
	       "  1048.6 a   send 2 RETRY_EXC_ERR\n");
}
END_TEST

START_TEST(uc_follows)
{
	struct node_qp_opts opts = world_opts();

	opts.type = RXE_QPT_UC;
	connect_ends(&opts);
	node_rearm(a, 0);
	node_rearm(b, 0);
	RECV(64);
	RECV(64);
	SEND(64);
	world_run(&w);
	POST(b, RDMA_WRITE, 64);
	world_run(&w);
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_OK);
	SEND(64);
	POST(b, RDMA_WRITE, 64);
	world_run(&w);
	expect("     0.0 a > SEND_ONLY 100 len 64 armed\n"
	       "     0.0 a   send 1 SUCCESS\n"
	       "     5.0 b   recv 1 SUCCESS len 64\n"
	       "     5.0 b > WRITE_ONLY 500 len 64 armed\n"
	       "     5.0 b   send 1 SUCCESS\n"
	       "    10.0 a > SEND_ONLY 101 len 64 path 2\n"
	       "    10.0 a   send 2 SUCCESS\n"
	       "    10.0 a   event PATH_MIG\n"
	       "    10.0 b > WRITE_ONLY 501 len 64 armed\n"
	       "    10.0 b   send 2 SUCCESS\n"
	       "    15.0 b   recv 2 SUCCESS len 64\n"
	       "    15.0 b   event PATH_MIG\n");
}
END_TEST

START_TEST(only_what_the_standard_allows)
{
	connect_ends(NULL);
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_BAD_VALUE);
	ck_assert_int_eq(set_state(a, RXE_MIG_REARM), MODIFY_BAD_VALUE); /* no path is loaded */
	node_rearm(a, TIMEOUT);
	ck_assert_int_eq(set_state(a, RXE_MIG_MIGRATED), MODIFY_BAD_VALUE);
	ck_assert_int_eq(set_state(a, RXE_MIG_ARMED), MODIFY_BAD_VALUE);
	ck_assert_int_eq(state_of(a), RXE_MIG_REARM);
}
END_TEST

RUN_TESTS("migration", one_round_trip_arms_both, retries_exhausted, peer_is_destroyed,
	  both_paths_are_dead, answers_are_lost, the_program_migrates, the_old_path_is_heard,
	  in_flight_while_migrating, there_and_back, refused, uc_follows,
	  only_what_the_standard_allows)
