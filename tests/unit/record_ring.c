// SPDX-License-Identifier: MIT
/* The file of recorded calls: the newest stay, a child of fork() has a file of its own, errno stays
 * as it was, and a process without RXE_DM_RECORD writes nothing. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/record/ring.h"
#include "tests/suite.h"

static char folder[] = "/tmp/rxe_dm_record_XXXXXX";

static void set_up(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("RXE_DM_RECORD", folder, 1);
}

static int files_in_folder(void)
{
	DIR *dir = opendir(folder);
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void tear_down(void)
{
	DIR *dir = opendir(folder);

	ck_assert_ptr_nonnull(dir);
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* The first file of the process. */
static const struct record_head *mapped(pid_t pid, const struct record_call **calls)
{
	char path[sizeof(folder) + 40];
	struct stat st;
	void *ret;
	int fd;

	snprintf(path, sizeof(path), "%s/calls-%d-0", folder, (int)pid);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size,
			  RECORD_HEAD_BYTES + RECORD_SLOTS * sizeof(struct record_call));
	ret = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	ck_assert_ptr_ne(ret, MAP_FAILED);
	*calls = (const struct record_call *)(const void *)((const char *)ret + RECORD_HEAD_BYTES);
	return ret;
}

START_TEST(newest_stay)
{
	const uint64_t all = RECORD_SLOTS + 10;
	const struct record_call *calls;
	const struct record_head *head;

	for (uint64_t i = 0; i < all; i++)
		RECORD(RECORD_POST_RECV, record_now(), 0, 7, i, 1, 64);
	head = mapped(getpid(), &calls);
	ck_assert_uint_eq(head->magic, RECORD_MAGIC);
	ck_assert_int_eq(head->pid, getpid());
	ck_assert_uint_eq(head->next, all);
	for (uint64_t i = all - RECORD_SLOTS; i < all; i++) {
		const struct record_call *call = &calls[i % RECORD_SLOTS];

		ck_assert_uint_eq(call->number, i + 1);
		ck_assert_uint_eq(call->verb, RECORD_POST_RECV);
		ck_assert_uint_eq(call->num_args, 4);
		ck_assert_uint_eq(call->arg[1], i);
		ck_assert_uint_eq(call->arg[3], 64);
	}
}
END_TEST

/* A line of the table is the name of a verb and of each of its arguments. */
START_TEST(table_names_the_arguments)
{
	static const char first[] = "ibv_open_device context\n";
	const struct record_call *calls;
	const struct record_head *head;
	uint32_t lines = 0;

	record_add(RECORD_DEALLOC_TD, record_now(), 0, NULL, 0);
	head = mapped(getpid(), &calls);
	ck_assert_mem_eq(head->table, first, strlen(first));
	for (const char *at = head->table; *at; at++)
		lines += *at == '\n';
	ck_assert_uint_eq(lines, RECORD_VERB_END);
	ck_assert_uint_eq(calls[0].num_args, 0);
}
END_TEST

START_TEST(child_has_a_file)
{
	const struct record_call *calls;
	int status;
	pid_t pid;

	RECORD(RECORD_ALLOC_PD, record_now(), 0, 1, 2);
	pid = fork();
	if (pid == 0) {
		RECORD(RECORD_DEALLOC_PD, record_now(), EBUSY, 2);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_uint_eq(mapped(getpid(), &calls)->next, 1);
	ck_assert_uint_eq(mapped(pid, &calls)->next, 1);
	ck_assert_uint_eq(calls[0].verb, RECORD_DEALLOC_PD);
	ck_assert_int_eq(calls[0].error, EBUSY);
	ck_assert_uint_eq(calls[0].thread, (uint32_t)pid);
}
END_TEST

START_TEST(errno_stays)
{
	errno = ENXIO;
	RECORD(RECORD_ALLOC_PD, record_now(), 0, 1, 2);
	ck_assert_int_eq(errno, ENXIO);
	ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(nothing_without_a_folder)
{
	unsetenv("RXE_DM_RECORD");
	RECORD(RECORD_ALLOC_PD, record_now(), 0, 1, 2);
	ck_assert_int_eq(files_in_folder(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record_ring");
	TCase *tcase = tcase_create("record_ring");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, newest_stay);
	tcase_add_test(tcase, table_names_the_arguments);
	tcase_add_test(tcase, child_has_a_file);
	tcase_add_test(tcase, errno_stays);
	tcase_add_test(tcase, nothing_without_a_folder);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
