// SPDX-License-Identifier: MIT
/* The pages of device memory: zeroed, sealed, and replaced when another process still holds the
 * old pages of a range. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rxe_dm/server/arena.h"
#include "tests/suite.h"

#define PAGE	   4096u
#define BYTES	   (16u * PAGE)
#define OTHER_USER 65534

static struct arena arena;

static void setup(void)
{
	ck_assert_int_eq(arena_init(&arena, BYTES, CTL_PAGES_SMALL), 0);
}

static void teardown(void)
{
	arena_fini(&arena);
	ck_assert_ptr_null(arena.base);
}

/* The pool has as many free pages as the arena uses, or the arena uses none of it. */
START_TEST(what_the_pool_can_spare)
{
	static const struct {
		uint64_t page_bytes, free, bytes;
		bool spares;
		const char *why;
	} table[] = {
		{ 2 << 20, 64, 64 << 20, true, "32 of 64 free huge pages" },
		{ 2 << 20, 63, 64 << 20, false, "32 of 63 free huge pages are too many to take" },
		{ 2 << 20, 32, 64 << 20, false, "32 of 32 free huge pages are too many to take" },
		{ 2 << 20, 14, 64 << 20, false, "32 huge pages are needed, 14 are free" },
		{ 2 << 20, 1, 65536, false, "1 of 1 free huge pages are too many to take" },
		{ 2 << 20, 2, 65536, true, "1 of 2 free huge pages" },
		{ 2 << 20, 3, (2 << 20) + 1, false, "2 of 3 free huge pages are too many to take" },
		{ 1 << 30, 2, 64 << 20, true, "1 of 2 free huge pages" },
		{ 2 << 20, 0, 64 << 20, false, "no huge page is free" },
		{ 0, 0, 64 << 20, false, "no huge page is free" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct arena_pool pool = { table[i].page_bytes, table[i].free };
		char why[64];

		ck_assert(arena_spares_pool(&pool, table[i].bytes, why, sizeof(why)) ==
			  table[i].spares);
		ck_assert_str_eq(why, table[i].why);
	}
}
END_TEST

START_TEST(nobody_cuts_it)
{
	ck_assert_int_ne(ftruncate(arena.fd, 0), 0);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_uint_eq(arena.bytes, BYTES);
	ck_assert_uint_eq(arena.base[BYTES - 1], 0);
}
END_TEST

/* The pipe holds the pages as a dmabuf would (or a copy, on kernels that copy). A pipe cannot hold
 * pages of a huge page pool. */
START_TEST(pages_that_somebody_holds)
{
	uint8_t held[PAGE];
	off_t at = 4 * PAGE;
	int pipe_fd[2];
	bool is_held;

	memset(arena.base, 'a', BYTES);
	ck_assert_int_eq(pipe2(pipe_fd, O_CLOEXEC), 0);
	is_held = splice(arena.fd, &at, pipe_fd[1], NULL, PAGE, 0) == PAGE;
	ck_assert(is_held || arena.page > PAGE);
	if (arena_renew(&arena, 4 * PAGE, 2 * PAGE)) {
		for (uint32_t i = 0; i < BYTES; i++)
			ck_assert_uint_eq(arena.base[i], i / PAGE == 4 || i / PAGE == 5 ? 0 : 'a');
		memset(arena.base + 4 * PAGE, 'b', PAGE);
	} else {
		ck_assert_uint_gt(arena.page, PAGE); /* only huge pages may remain */
	}
	if (is_held)
		ck_assert_int_eq(read(pipe_fd[0], held, PAGE), PAGE);
	for (uint32_t i = 0; is_held && i < PAGE; i++)
		ck_assert_uint_eq(held[i], 'a');
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}
END_TEST

/* Prints nothing and ends: 0 if exactly the pages that the limit allows are locked. */
static void lock_three_pages(void)
{
	const struct rlimit limit = { 3 * PAGE + 1, 3 * PAGE + 1 };
	struct arena limited;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || (geteuid() == 0 && setuid(OTHER_USER)) ||
	    arena_init(&limited, BYTES, CTL_PAGES_SMALL))
		_exit(1);
	_exit(limited.locked == (limited.page > PAGE ? 0 : 3 * PAGE) ? 0 : 2);
}

/* 'ulimit -l' bounds what an ordinary user locks: as many whole pages as it allows. */
START_TEST(as_much_as_the_limit_allows_is_locked)
{
	const pid_t child = fork();
	int status = -1;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		lock_three_pages();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("server_arena");
	TCase *tcase = tcase_create("arena");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_the_pool_can_spare);
	tcase_add_test(tcase, nobody_cuts_it);
	tcase_add_test(tcase, pages_that_somebody_holds);
	tcase_add_test(tcase, as_much_as_the_limit_allows_is_locked);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
