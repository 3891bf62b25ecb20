// SPDX-License-Identifier: MIT
/* The pages behind device memory: zeroed, sealed, and new ones for a range whose old pages somebody holds. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "rxe_dm/arena.h"

#define PAGE  4096u
#define BYTES (16u * PAGE)

static struct arena arena;

static void setup(void)
{
	ck_assert_int_eq(arena_init(&arena, BYTES), 0);
}

static void teardown(void)
{
	arena_fini(&arena);
	ck_assert_ptr_null(arena.base);
}

START_TEST(nobody_cuts_it)
{
	ck_assert_int_ne(ftruncate(arena.fd, 0), 0);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_uint_eq(arena.bytes, BYTES);
	ck_assert_uint_eq(arena.base[BYTES - 1], 0);
}
END_TEST

/* The pipe holds the pages as a dmabuf would (or a copy, on kernels that make one). Those of a pool of huge pages, where the machine
 * has one, no pipe takes. */
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
		ck_assert_uint_gt(arena.page, PAGE); /* only huge ones may stay */
	}
	if (is_held)
		ck_assert_int_eq(read(pipe_fd[0], held, PAGE), PAGE);
	for (uint32_t i = 0; is_held && i < PAGE; i++)
		ck_assert_uint_eq(held[i], 'a');
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("server_arena");
	TCase *tcase = tcase_create("arena");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, nobody_cuts_it);
	tcase_add_test(tcase, pages_that_somebody_holds);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
