// SPDX-License-Identifier: MIT
/* What a process finds out about a peer on another device of this machine when an ACK timer has
 * expired: the peer is a child of the test, in a slot of a second shared memory, which the test
 * publishes. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/protocol.h"
#include "lib/control/published.h"
#include "lib/progress/progress.h"
#include "lib/progress/stopped_peer.h"
#include "tests/suite.h"
#include "tests/unit/device_fixture.h"

#define SLOT	 3u
#define PEER	 5u
#define EPOCH	 7u
#define OWN_QPN	 (SLOT << RXE_SLOT_SHIFT | 0x20)
#define PEER_QPN (PEER << RXE_SLOT_SHIFT | 0x10)
#define NOW_NS	 1000000000000ull
#define MS_NS	 1000000ull

static const struct gid own_gid = { .raw = { [15] = 1 } }, peer_gid = { .raw = { [15] = 2 } };
static char folder[64];
static struct vb_device *dev;
static struct ctl_shared *other;
static struct rxe_qp qp;
static uint32_t process;
static pid_t child;
static int fd;

static void setup(void)
{
	struct ctl_shared_qp *peer;

	dev = device_new(SLOT);
	dev->info.stopped = CTL_STOPPED_WAIT;
	dev->progress.engine->cfg.gids[0] = own_gid;
	dev->progress.engine->now_ns = NOW_NS;
	atomic_store(&dev->attachment.shared->slot[SLOT].pid, getpid());

	fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, sizeof(*other)), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	other = mmap(NULL, sizeof(*other), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(other, MAP_FAILED);
	other->gids[0] = peer_gid;
	peer = &other->slot[PEER].qp[PEER_QPN % RXE_MAX_QP];
	peer->dest_qpn = OWN_QPN;
	atomic_store(&peer->qpn, PEER_QPN);
	atomic_store(&other->slot[PEER].epoch, EPOCH);
	strcpy(other->slot[PEER].comm, "peer");

	child = fork();
	if (child == 0)
		for (;;)
			pause();
	ck_assert_int_gt(child, 0);
	ctl_slot_set_pid(other, PEER, child);
	qp = (struct rxe_qp){ .qpn = OWN_QPN, .flow.dst = peer_gid, .attr.dest_qp_num = PEER_QPN };
	process = 0;
	snprintf(folder, sizeof(folder), "/tmp/rxe_dm-elsewhere-%d", (int)getpid());
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(setenv("RXE_DM_LAB_FOLDER", folder, 1), 0);
	ctl_published_init();
	ctl_publish("lab.b", &peer_gid, fd);
}

static void teardown(void)
{
	ctl_unpublish("lab.b", &peer_gid);
	ck_assert_int_eq(rmdir(folder), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(other, sizeof(*other));
	close(fd);
	device_free(dev);
}

static enum rxe_peer_life life_at(uint64_t ms)
{
	dev->progress.engine->now_ns = NOW_NS + ms * MS_NS;
	return stopped_peer_life(&dev->progress, &qp, NOW_NS, &process);
}

static void stop(void)
{
	int status;

	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
}

/* The first peer that 'rxe_dm show' finds in the slot of this process. */
static struct ctl_stopped_elsewhere *recorded(void)
{
	return &dev->attachment.shared->slot[SLOT].stopped_elsewhere[0];
}

START_TEST(runs)
{
	ck_assert_int_eq(life_at(0), RXE_PEER_RUNS);
	ck_assert_uint_eq(process, 0);
	ck_assert_uint_eq(recorded()->peer.epoch, 0);
}
END_TEST

START_TEST(stopped)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	ck_assert_uint_eq(process, EPOCH);
	ck_assert_uint_eq(recorded()->peer.epoch, EPOCH);
	ck_assert_uint_eq(recorded()->peer.since_ns, NOW_NS);
	ck_assert_int_eq(recorded()->pid, child);
	ck_assert_str_eq(recorded()->comm, "peer");
	ck_assert_str_eq(recorded()->instance, "lab.b");
	ck_assert(gid_equal(&recorded()->gid, &peer_gid));
}
END_TEST

START_TEST(stopped_for_a_while)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	ck_assert_int_eq(life_at(100), RXE_PEER_STOPPED);
	ck_assert_uint_eq(recorded()->peer.since_ns, NOW_NS);
	ck_assert_uint_eq(recorded()->peer.asked_ns, NOW_NS + 100 * MS_NS);
}
END_TEST

/* Within 10 ms the last answer holds, for all queue pairs. */
START_TEST(one_look)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	ctl_slot_set_pid(other, PEER, 0);
	ck_assert_int_eq(life_at(9), RXE_PEER_STOPPED);
	ck_assert_uint_eq(recorded()->peer.asked_ns, NOW_NS);
	ck_assert_int_eq(life_at(10), RXE_PEER_EXITED);
}
END_TEST

/* A queue pair that has not met the peer stopped looks itself. */
START_TEST(second_queue_pair)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	process = 0;
	qp.attr.dest_qp_num++;
	ck_assert_int_eq(life_at(1), RXE_PEER_UNKNOWN);
}
END_TEST

START_TEST(goes_on)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	ck_assert_int_eq(kill(child, SIGCONT), 0);
	ck_assert_int_eq(waitpid(child, NULL, WCONTINUED), child);
	ck_assert_int_eq(life_at(100), RXE_PEER_RUNS);
	ck_assert_uint_eq(recorded()->peer.epoch, 0);
}
END_TEST

START_TEST(exited)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	ctl_slot_set_pid(other, PEER, 0);
	ck_assert_int_eq(life_at(100), RXE_PEER_EXITED);
	ck_assert_uint_eq(recorded()->peer.epoch, 0);
}
END_TEST

START_TEST(another_process_in_the_slot)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	atomic_store(&other->slot[PEER].epoch, EPOCH + 1);
	ck_assert_int_eq(life_at(100), RXE_PEER_EXITED);
}
END_TEST

START_TEST(server_has_exited)
{
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	ctl_unpublish("lab.b", &peer_gid);
	ck_assert_int_eq(life_at(100), RXE_PEER_EXITED);
}
END_TEST

START_TEST(on_another_host)
{
	stop();
	qp.flow.dst.raw[15] = 3;
	ck_assert_int_eq(life_at(0), RXE_PEER_UNKNOWN);
}
END_TEST

START_TEST(stopped_peers_lose)
{
	stop();
	dev->info.stopped = CTL_STOPPED_LOSE;
	ck_assert_int_eq(life_at(0), RXE_PEER_UNKNOWN);
}
END_TEST

/* The numbers of processes mean something else there. */
START_TEST(in_another_namespace)
{
	stop();
	atomic_store(&dev->attachment.shared->slot[SLOT].pid, getpid() + 1);
	ck_assert_int_eq(life_at(0), RXE_PEER_UNKNOWN);
}
END_TEST

/* Fills the table; ago_ms: when each peer was looked at last. */
static struct ctl_stopped_elsewhere *fill(const uint64_t ago_ms[CTL_STOPPED_ELSEWHERE])
{
	struct ctl_stopped_elsewhere *at = recorded();

	for (uint32_t i = 0; i < CTL_STOPPED_ELSEWHERE; i++) {
		at[i].slot = PEER + 1 + i;
		atomic_store(&at[i].peer.epoch, 1);
		atomic_store(&at[i].peer.asked_ns, NOW_NS - ago_ms[i] * MS_NS);
	}
	return at;
}

/* Only this peer's place was taken. */
static void expect_taken(uint32_t place)
{
	const struct ctl_stopped_elsewhere *at = recorded();

	for (uint32_t i = 0; i < CTL_STOPPED_ELSEWHERE; i++)
		ck_assert_uint_eq(at[i].slot, i == place ? PEER : PEER + 1 + i);
	ck_assert_uint_eq(at[place].peer.epoch, EPOCH);
	ck_assert_uint_eq(at[place].peer.since_ns, NOW_NS);
}

/* The peer that was looked at longest ago gives up its place, the first one of several. */
START_TEST(more_peers_than_places)
{
	fill((const uint64_t[CTL_STOPPED_ELSEWHERE]){ 0, 1, 200, 3, 4, 200, 6, 7 });
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	expect_taken(2);
}
END_TEST

START_TEST(places_of_one_age)
{
	fill((const uint64_t[CTL_STOPPED_ELSEWHERE]){ 5, 5, 5, 5, 5, 5, 5, 5 });
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	expect_taken(0);
}
END_TEST

START_TEST(a_free_place)
{
	struct ctl_stopped_elsewhere *at =
		fill((const uint64_t[CTL_STOPPED_ELSEWHERE]){ 9, 1, 2, 3, 4, 5, 6, 7 });

	atomic_store(&at[3].peer.epoch, 0);
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	expect_taken(3);
}
END_TEST

/* The same process on two devices: each has been stopped since it was found so there. */
START_TEST(place_of_the_same_process)
{
	struct ctl_stopped_elsewhere *at =
		fill((const uint64_t[CTL_STOPPED_ELSEWHERE]){ 9, 1, 2, 3, 4, 5, 6, 7 });

	at[0].pid = child;
	atomic_store(&at[0].peer.epoch, EPOCH);
	stop();
	ck_assert_int_eq(life_at(0), RXE_PEER_STOPPED);
	expect_taken(0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { runs,
				       stopped,
				       stopped_for_a_while,
				       one_look,
				       second_queue_pair,
				       goes_on,
				       exited,
				       another_process_in_the_slot,
				       server_has_exited,
				       on_another_host,
				       stopped_peers_lose,
				       in_another_namespace,
				       more_peers_than_places,
				       places_of_one_age,
				       a_free_place,
				       place_of_the_same_process };
	Suite *suite = suite_create("stopped_elsewhere");
	TCase *tcase = tcase_create("life");

	tcase_set_timeout(tcase, 200);
	tcase_add_checked_fixture(tcase, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
