// SPDX-License-Identifier: MIT
/* The thread that makes memory persistent: its jobs end, are asked for by their tickets, and are
 * forgotten after PERSIST_JOBS others. And which memory can be made persistent. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
static bool ask_range(uint64_t *ticket, uint64_t offset, uint64_t len)
{
	progress->remote_requests.is_deferred = false;
	return host_mem_persist(progress, &mr, mr.iova + offset, len, ticket);
}

static bool ask(uint64_t *ticket)
{
	return ask_range(ticket, 100, 5000);
}

/* Asks until there is an answer. */
static bool finish_range(uint64_t *ticket, uint64_t offset, uint64_t len)
{
	bool done;

	while (!(done = ask_range(ticket, offset, len)) && progress->remote_requests.is_deferred)
		sched_yield();
	return done;
}

static bool finish(uint64_t *ticket)
{
	return finish_range(ticket, 100, 5000);
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

/* The job covers the pages that the range touches, and none beside them. The page is amid addresses
 * that nothing else takes soon. */
START_TEST(whole_pages_of_the_range)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), hole = 1u << 30;
	uint8_t *at =
		mmap(NULL, hole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t ticket = 0;

	ck_assert_ptr_ne(at, MAP_FAILED);
	munmap(at, hole);
	at = mmap(at + hole / 2, page, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	mr.addr = (uintptr_t)at - page;
	ck_assert(finish_range(&ticket, page, page));
	ticket = 0;
	ck_assert(finish_range(&ticket, 2 * page - 1, 1));
	ticket = 0;
	ck_assert(!finish_range(&ticket, page - 1, 2));
	ticket = 0;
	ck_assert(!finish_range(&ticket, 2 * page - 1, 2));
	munmap(at, page);
}
END_TEST

/* A folder for files, with a path longer than what is read of /proc/self/maps at once. */
static char folder[PATH_MAX];

static void enter_folder(void)
{
	char name[201];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(folder, sizeof(folder), "/dev/shm/persist-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(mkdir(name, 0700), 0);
		ck_assert_int_eq(chdir(name), 0);
	}
}

static void remove_folder(void)
{
	char command[PATH_MAX + 8];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Maps a page of a file at a place. */
static void map_file(const char *name, void *at, size_t page, int flags)
{
	const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(errno));
	ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
	ck_assert_ptr_eq(mmap(at, page, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0), at);
	close(fd);
}

/* Two files beside each other, then memory of no file. */
START_TEST(shared_mappings_of_files)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	enter_folder();
	map_file("a", at + page, page, MAP_SHARED);
	map_file("b", at + 2 * page, page, MAP_SHARED);
	ck_assert(persist_is_possible(at + page, 2 * page));
	ck_assert(persist_is_possible(at + page + 1, 2 * page - 1));
	ck_assert(persist_is_possible(at + 2 * page - 1, 2));
	ck_assert(persist_is_possible(at + 3 * page - 1, 1));
	ck_assert(!persist_is_possible(at + 3 * page - 1, 2));
	ck_assert(!persist_is_possible(at + page - 1, 2));
	ck_assert(!persist_is_possible(at, 1));
	ck_assert(!persist_is_possible(mem, BYTES)); /* a memfd has no name */
	map_file("a", at + page, page, MAP_PRIVATE);
	ck_assert(!persist_is_possible(at + page, page));
	ck_assert(!persist_is_possible(at + page, 2 * page));
	ck_assert(persist_is_possible(at + 2 * page, page));
	munmap(at + page, page);
	ck_assert(!persist_is_possible(at + page, 2 * page));
	munmap(at, 4 * page);
	ck_assert(!persist_is_possible(at + 2 * page, page));
	remove_folder();
}
END_TEST

/* A line of /proc/self/maps has the path in column 73, and is read 511 bytes at a time. What
 * follows in the path of this file would be a line that says that all memory is the file's. */
START_TEST(a_path_that_reads_like_a_mapping)
{
	static const char line[] = "0-ffffffffffffffff rw-s 0 0:0 1 ";
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[PATH_MAX];
	size_t before;

	enter_folder();
	ck_assert_int_eq(chdir(".."), 0);
	ck_assert_ptr_nonnull(getcwd(path, sizeof(path)));
	before = 511 - 73 - strlen(path) - 1;
	ck_assert_uint_lt(before + sizeof(line), 255);
	snprintf(path, sizeof(path), "%.*s%s", (int)before, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
		 line);
	ck_assert_uint_eq(strlen(path), before + sizeof(line) - 1);
	map_file(path, at, page, MAP_SHARED);
	ck_assert(persist_is_possible(at, page));
	ck_assert(!persist_is_possible(at + page, page));
	munmap(at, 2 * page);
	remove_folder();
}
END_TEST

START_TEST(a_file_that_was_removed)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[] = "/dev/shm/persist-XXXXXX";
	const int fd = mkstemp(path);
	void *at;

	ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
	at = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert(persist_is_possible(at, page));
	unlink(path);
	ck_assert(!persist_is_possible(at, page));
	close(fd);
	munmap(at, page);
}
END_TEST

static void never(int sig)
{
	(void)sig;
	ck_abort_msg("the thread took a signal of the program");
}

/* Every thread of the test blocks the signal: it stays pending unless the new thread takes it. */
START_TEST(signals_are_the_programs)
{
	sigset_t set, pending;
	uint64_t ticket = 0;

	signal(SIGUSR1, never);
	ck_assert(finish(&ticket)); /* the thread runs */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &pending), 0);
	ck_assert(!sigismember(&pending, SIGUSR1)); /* the caller's mask is as before */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	ticket = 0;
	ck_assert(finish(&ticket)); /* the thread has run again */
	ck_assert_int_eq(sigpending(&pending), 0);
	ck_assert(sigismember(&pending, SIGUSR1));
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
	tcase_add_test(tests, whole_pages_of_the_range);
	tcase_add_test(tests, shared_mappings_of_files);
	tcase_add_test(tests, a_path_that_reads_like_a_mapping);
	tcase_add_test(tests, a_file_that_was_removed);
	tcase_add_test(tests, signals_are_the_programs);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
