/* SPDX-License-Identifier: MIT */
/* Memory links: a process writes its own file and no other process's, where the kernel can seal
 * it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/link/memory/private.h"
#include "tests/suite.h"
#include "tests/unit/memory_fixture.h"

static void expect_sealed(int fd, size_t len)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	char path[64];
	int again;

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map, len, PROT_READ | PROT_WRITE), -1);
	munmap(map, len);
	ck_assert_ptr_eq(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, 0), -1);
	/* Neither does opening it again help. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again >= 0) {
		ck_assert_ptr_eq(mmap(NULL, len, PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
		close(again);
	}
}

/* What a process gets of another one, and of the server. */
START_TEST(nobody_else_writes_a_ring)
{
	uint32_t epoch = 0;
	const int fd = memory_hub_meet(&hub, A, B, &epoch);

	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(epoch, hub.slot[B].epoch);
	expect_sealed(fd, memory_file_len(SLOTS));
	expect_sealed(hub.fd, sizeof(struct memory_hub_page));
	close(fd);
}
END_TEST

/* Calls whose second argument is this one, and another that one, fail. */
static void refuse(uint32_t number, uint32_t second, uint32_t other, uint32_t value)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * other),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Sandboxes that know no such seal (gVisor), or copy no mapping (QEMU's user mode). */
START_TEST(works_where_files_cannot_be_sealed)
{
	teardown();
	if (_i == 0)
		refuse(SYS_fcntl, F_ADD_SEALS, 2, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	else
		refuse(SYS_mremap, 0, 3, MREMAP_MAYMOVE | MREMAP_FIXED);
	setup();
	ck_assert(!hub.page->is_sealed);
	make_train(A, B, 15, 4160, 4160);
	for (int i = 0; i < 20; i++) {
		send_ok(a);
		expect_packets(b, 15);
		ck_assert_mem_eq(got[14].p, wire_train_packet(&train, 14), got[14].len);
	}
	link_close(b);
	b = resume_slot(B);
	expect_packets(b, 15);
	make_train(B, A, 3, 60, 60);
	send_ok(b);
	expect_packets(a, 3);
}
END_TEST

static void exchange(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		make_train(A, B, 15, 4160, 4160);
		send_ok(a);
		expect_packets(b, 15);
		ck_assert_mem_eq(got[14].p, wire_train_packet(&train, 14), got[14].len);
		make_train(B, A, 15, 4160, 4160);
		send_ok(b);
		expect_packets(a, 15);
		ck_assert_mem_eq(got[14].p, wire_train_packet(&train, 14), got[14].len);
	}
}

/* Under valgrind a process copies no mapping, while the server and its peers do. */
START_TEST(a_process_that_copies_no_mapping)
{
	exchange(1);
	link_close(b);
	refuse(SYS_mremap, 0, 3, MREMAP_MAYMOVE | MREMAP_FIXED);
	ck_assert(hub.page->is_sealed);
	b = open_slot(B);
	expect_packets(a, 0);
	exchange(20);
	expect_sealed(hub.slot[B].fd, memory_file_len(SLOTS));
}
END_TEST

/* A process that has not sealed its file yet is not there yet. */
START_TEST(unsealed_files_are_kept_back)
{
	const struct memory_cfg cfg = cfg_of(C);
	struct link *c;
	uint32_t epoch;

	ck_assert_int_eq(memory_hub_meet(&hub, A, C, &epoch), -EAGAIN);
	ck_assert_int_eq(memory_hub_meet(&hub, A, C + 1, &epoch), -ENOENT);
	make_train(A, C, 1, 60, 60);
	send_ok(a);
	c = open_with(&cfg);
	expect_packets(c, 0);
	/* The file is asked for again after a while. */
	while (link_send(a, &train, 1) == 1 && link_receive(c, got, 256) == 0)
		;
	ck_assert_uint_eq(got[0].len, 60);
	link_close(c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_sealed");
	TCase *tests = tcase_create("memory_sealed");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, nobody_else_writes_a_ring);
	tcase_add_test(tests, unsealed_files_are_kept_back);
	tcase_add_test(tests, a_process_that_copies_no_mapping);
	tcase_add_loop_test(tests, works_where_files_cannot_be_sealed, 0, 2);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
