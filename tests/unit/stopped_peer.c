// SPDX-License-Identifier: MIT
/* What a process finds out about a local peer when an ACK timer has expired: the peer is a child of
 * the test, in the slot after the test's own. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/process.h"
#include "lib/control/protocol.h"
#include "lib/progress/progress.h"
#include "lib/progress/stopped_peer.h"
#include "net/link/clock.h"
#include "tests/suite.h"
#include "tests/unit/device_fixture.h"

#define SLOT	  3u
#define PEER	  (SLOT + 1)
#define EPOCH	  7u
#define SECOND_NS 1000000000ull
#define MS_NS	  1000000ull
#define NOW_NS	  (100 * SECOND_NS)
#define BOUND_NS  (60 * SECOND_NS)

static const struct gid gid = { .raw = { [15] = 1 } };
static struct vb_device *dev;
static struct ctl_slot *peer;
/* What 'rxe_dm show' reads, in the slot of this process. */
static struct ctl_stopped_peer *recorded;
static uint32_t process;

static void start(void (*live)(void))
{
	const pid_t child = fork();

	if (child == 0) {
		live();
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	atomic_store(&peer->pid, child);
}

static void spin(void)
{
	for (;;)
		atomic_signal_fence(memory_order_seq_cst);
}

static void wait_for_the_end(void)
{
	for (;;)
		pause();
}

static void setup(void)
{
	dev = device_new(SLOT);
	dev->info.stopped = CTL_STOPPED_WAIT;
	dev->progress.engine->cfg.gids[0] = gid;
	dev->progress.engine->now_ns = NOW_NS;
	peer = &dev->attachment.shared->slot[PEER];
	recorded = &dev->attachment.shared->slot[SLOT].stopped_peers[PEER];
	process = 0;
	atomic_store(&dev->attachment.shared->slot[SLOT].pid, getpid());
	atomic_store(&peer->epoch, EPOCH);
}

static void teardown(void)
{
	const pid_t child = atomic_load(&peer->pid);

	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	device_free(dev);
}

/* Asks for the peer when a timer that began a second ago has expired. ran_ns: when the peer's
 * engine last ran. */
static enum rxe_peer_life life(uint64_t ran_ns)
{
	const struct rxe_qp qp = { .flow.dst = gid, .attr.dest_qp_num = PEER << RXE_SLOT_SHIFT };
	uint32_t none = 0;

	atomic_store(&peer->presence.at_ns, ran_ns);
	return stopped_peer_life(&dev->progress, &qp, NOW_NS - SECOND_NS, &none);
}

/* Asks for a slot's process at this time; the queue pair remembers what it was told. */
static enum rxe_peer_life life_at(uint64_t ms, uint32_t slot)
{
	const struct rxe_qp qp = { .flow.dst = gid, .attr.dest_qp_num = slot << RXE_SLOT_SHIFT };

	dev->progress.engine->now_ns = NOW_NS + ms * MS_NS;
	return stopped_peer_life(&dev->progress, &qp, NOW_NS - SECOND_NS, &process);
}

static void stop(void)
{
	int status;

	start(wait_for_the_end);
	ck_assert_int_eq(kill(atomic_load(&peer->pid), SIGSTOP), 0);
	ck_assert_int_eq(waitpid(atomic_load(&peer->pid), &status, WUNTRACED),
			 atomic_load(&peer->pid));
	ck_assert_int_eq(life_at(0, PEER), RXE_PEER_STOPPED);
	ck_assert_uint_eq(process, EPOCH);
}

/* Kills the child, whose slot gets another process, or none. */
static void end_process(int32_t pid, uint32_t epoch)
{
	const pid_t child = atomic_load(&peer->pid);

	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	atomic_store(&peer->pid, pid);
	atomic_store(&peer->epoch, epoch);
}

static bool becomes_runnable(bool runnable)
{
	const uint64_t until_ns = clock_now_ns() + BOUND_NS;
	const pid_t child = atomic_load(&peer->pid);

	while (ctl_process_is_runnable(child) != runnable && clock_now_ns() < until_ns)
		sched_yield();
	return ctl_process_is_runnable(child) == runnable;
}

START_TEST(runnable_and_has_not_run)
{
	start(spin);
	ck_assert(becomes_runnable(true));
	ck_assert_int_eq(life(NOW_NS - SECOND_NS - 1), RXE_PEER_STARVED);
}
END_TEST

START_TEST(has_run_since)
{
	start(spin);
	ck_assert(becomes_runnable(true));
	ck_assert_int_eq(life(NOW_NS - SECOND_NS), RXE_PEER_RUNS);
}
END_TEST

/* The peer computes, or hangs. */
START_TEST(runnable_for_too_long)
{
	start(spin);
	ck_assert(becomes_runnable(true));
	ck_assert_int_eq(life(NOW_NS - 2 * SECOND_NS), RXE_PEER_RUNS);
}
END_TEST

START_TEST(never_ran)
{
	start(spin);
	ck_assert(becomes_runnable(true));
	ck_assert_int_eq(life(0), RXE_PEER_RUNS);
}
END_TEST

/* It waits for a packet that was lost. */
START_TEST(asleep)
{
	start(wait_for_the_end);
	ck_assert(becomes_runnable(false));
	ck_assert_int_eq(life(NOW_NS - SECOND_NS - 1), RXE_PEER_RUNS);
}
END_TEST

START_TEST(stopped)
{
	start(spin);
	ck_assert_int_eq(kill(atomic_load(&peer->pid), SIGSTOP), 0);
	ck_assert(becomes_runnable(false));
	ck_assert_int_eq(life(NOW_NS - SECOND_NS - 1), RXE_PEER_STOPPED);
}
END_TEST

START_TEST(stopped_for_a_while)
{
	stop();
	ck_assert_uint_eq(recorded->epoch, EPOCH);
	ck_assert_uint_eq(recorded->since_ns, NOW_NS);
	ck_assert_uint_eq(recorded->asked_ns, NOW_NS);
	ck_assert_int_eq(life_at(100, PEER), RXE_PEER_STOPPED);
	ck_assert_uint_eq(recorded->since_ns, NOW_NS);
	ck_assert_uint_eq(recorded->asked_ns, NOW_NS + 100 * MS_NS);
}
END_TEST

/* Within 10 ms the last answer holds, for all queue pairs. */
START_TEST(one_look)
{
	stop();
	ck_assert_int_eq(kill(atomic_load(&peer->pid), SIGCONT), 0);
	ck_assert_int_eq(waitpid(atomic_load(&peer->pid), NULL, WCONTINUED),
			 atomic_load(&peer->pid));
	ck_assert_int_eq(life_at(9, PEER), RXE_PEER_STOPPED);
	ck_assert_uint_eq(recorded->asked_ns, NOW_NS);
	ck_assert_int_eq(life_at(10, PEER), RXE_PEER_RUNS);
	ck_assert_uint_eq(recorded->epoch, 0);
}
END_TEST

START_TEST(killed)
{
	stop();
	end_process(0, EPOCH);
	ck_assert_int_eq(life_at(100, PEER), RXE_PEER_EXITED);
	ck_assert_uint_eq(recorded->epoch, 0);
	process = 0;
	ck_assert_int_eq(life_at(200, PEER), RXE_PEER_UNKNOWN);
}
END_TEST

START_TEST(another_process_in_the_slot)
{
	stop();
	end_process(getpid(), EPOCH + 1);
	ck_assert_int_eq(life_at(100, PEER), RXE_PEER_EXITED);
	atomic_store(&peer->pid, 0);
}
END_TEST

START_TEST(in_this_process)
{
	ck_assert_int_eq(life_at(0, SLOT), RXE_PEER_UNKNOWN);
}
END_TEST

START_TEST(stopped_peers_lose)
{
	dev->info.stopped = CTL_STOPPED_LOSE;
	start(spin);
	ck_assert(becomes_runnable(true));
	ck_assert_int_eq(life(NOW_NS - SECOND_NS - 1), RXE_PEER_UNKNOWN);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { runnable_and_has_not_run,
				       has_run_since,
				       runnable_for_too_long,
				       never_ran,
				       asleep,
				       stopped,
				       stopped_for_a_while,
				       one_look,
				       killed,
				       another_process_in_the_slot,
				       in_this_process,
				       stopped_peers_lose };
	Suite *suite = suite_create("stopped_peer");
	TCase *tcase = tcase_create("life");

	tcase_set_timeout(tcase, 200);
	tcase_add_checked_fixture(tcase, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
