// SPDX-License-Identifier: MIT
/* The thread that makes memory persistent: its jobs end, are asked for by their tickets, and are
 * forgotten after PERSIST_JOBS others. */
#include <check.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/mr.h"
#include "lib/progress/persist.h"
#include "lib/progress/progress.h"
#include "tests/suite.h"
#include "tests/unit/device_fixture.h"

#define SLOT  3u
#define BYTES 8192u

static struct vb_device *dev;
static struct progress *progress;
static struct rxe_mr mr;
static uint8_t *mem;

static void setup(void)
{
	const int fd = memfd_create("persist", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, BYTES), 0);
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	close(fd);
	dev = device_new(SLOT);
	progress = &dev->progress;
	mr = (struct rxe_mr){ .kind = RXE_MR_PLAIN,
			      .owner = SLOT,
			      .addr = (uintptr_t)mem,
			      .iova = 0x10000,
			      .len = BYTES };
}

static void teardown(void)
{
	persist_stop(&progress->persist);
	device_free(dev);
	munmap(mem, BYTES);
}

/* Asks once. Whether the answer is deferred is progress->remote_requests.is_deferred. */
static bool ask(uint64_t *ticket)
{
	progress->remote_requests.is_deferred = false;
	return host_mem_persist(progress, &mr, 0x10000 + 100, 5000, ticket);
}

/* Asks until there is an answer. */
static bool finish(uint64_t *ticket)
{
	bool done;

	while (!(done = ask(ticket)) && progress->remote_requests.is_deferred)
		sched_yield();
	return done;
}

START_TEST(a_job_ends)
{
	uint64_t ticket = 0;

	ck_assert(!ask(&ticket));
	ck_assert(progress->remote_requests.is_deferred);
	ck_assert_uint_eq(ticket, 1);
	ck_assert(finish(&ticket));
	ck_assert_uint_eq(ticket, 1);
	/* Who asks again gets the same answer. */
	ck_assert(ask(&ticket));
	ck_assert_uint_eq(ticket, 1);
}
END_TEST

/* The thread runs before the memory is unmapped: nothing of the thread's own is mapped there. */
START_TEST(memory_that_is_unmapped)
{
	uint64_t ticket = 0;

	ck_assert(finish(&ticket));
	ticket = 0;
	munmap(mem, BYTES);
	ck_assert(!finish(&ticket));
	ck_assert(!progress->remote_requests.is_deferred);
}
END_TEST

/* Of another process, and of the device: no job begins. */
START_TEST(memory_of_others)
{
	uint64_t ticket = 0;

	mr.owner = SLOT + 1;
	ck_assert(!ask(&ticket));
	ck_assert(!progress->remote_requests.is_deferred);
	mr.owner = SLOT;
	mr.kind = RXE_MR_ARENA;
	ck_assert(!ask(&ticket));
	ck_assert(!progress->remote_requests.is_deferred);
	ck_assert_uint_eq(ticket, 0);
}
END_TEST

/* A result is kept for as many jobs as there are places. */
START_TEST(old_results_are_forgotten)
{
	uint64_t first = 0, other;

	ck_assert(finish(&first));
	for (uint32_t i = 1; i < PERSIST_JOBS; i++) {
		other = 0;
		ck_assert(finish(&other));
		ck_assert_uint_eq(other, i + 1);
	}
	ck_assert(ask(&first));
	ck_assert_uint_eq(first, 1);
	other = 0;
	ck_assert(finish(&other));
	ck_assert(!ask(&first));
	ck_assert_uint_eq(first, PERSIST_JOBS + 2);
	ck_assert(finish(&first));
}
END_TEST

/* A ticket of the parent, in a child whose jobs begin at 1. */
START_TEST(tickets_that_were_never_given)
{
	uint64_t ticket = 7;

	ck_assert(!ask(&ticket));
	ck_assert_uint_eq(ticket, 1);
	ck_assert(finish(&ticket));
}
END_TEST

/* More jobs than places at once: those without a place ask again. */
START_TEST(more_than_there_are_places)
{
	uint64_t tickets[2 * PERSIST_JOBS] = { 0 };

	for (uint32_t i = 0; i < 2 * PERSIST_JOBS; i++)
		(void)ask(&tickets[i]);
	for (uint32_t i = 0; i < 2 * PERSIST_JOBS; i++)
		ck_assert(finish(&tickets[i]));
}
END_TEST

START_TEST(a_thread_that_was_stopped_is_started_again)
{
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t ticket = 0;

		ck_assert(finish(&ticket));
		persist_stop(&progress->persist);
		persist_stop(&progress->persist);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("persist");
	TCase *tests = tcase_create("persist");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_job_ends);
	tcase_add_test(tests, memory_that_is_unmapped);
	tcase_add_test(tests, memory_of_others);
	tcase_add_test(tests, old_results_are_forgotten);
	tcase_add_test(tests, tickets_that_were_never_given);
	tcase_add_test(tests, more_than_there_are_places);
	tcase_add_test(tests, a_thread_that_was_stopped_is_started_again);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
