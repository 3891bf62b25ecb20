// SPDX-License-Identifier: MIT
/* An access to unmapped memory is an error and not a crash, and the program's own signal handlers
 * stay in effect. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/host.h"
#include "lib/control/client.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/verbs/device.h"
#include "tests/client/fault_at.h"
#include "tests/suite.h"

static uint8_t *pages(size_t n)
{
	void *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

START_TEST(probe_finds_what_is_there)
{
	uint8_t *p = pages(3);

	p[5] = 77;
	ck_assert(memory_probe(p, 3 * 4096, true));
	ck_assert_int_eq(p[5], 77);
	ck_assert(memory_probe(p + 4095, 2, false));

	mprotect(p + 4096, 4096, PROT_READ);
	ck_assert(memory_probe(p, 3 * 4096, false));
	ck_assert(!memory_probe(p, 3 * 4096, true));
	ck_assert(memory_probe(p, 4096, true));
	mprotect(p + 4096, 4096, PROT_NONE);
	ck_assert(!memory_probe(p, 3 * 4096, false));
	munmap(p + 4096, 4096);
	ck_assert(!memory_probe(p, 3 * 4096, false));
	ck_assert(!memory_probe(NULL, 1, false));
	ck_assert(!memory_probe((void *)0xdead000000000000, 4096, true));
	ck_assert(!memory_probe((void *)0x7ffffffff000, 8192, false));
	munmap(p, 3 * 4096);
}
END_TEST

static void refuse_madvise(uint32_t error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = 4, .filter = filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* A filter of system calls (a container's, a sandbox's) has errors of its own. */
START_TEST(madvise_is_refused)
{
	static const uint32_t errors[] = { EPERM, ENOSYS, EACCES };
	uint8_t *p = pages(3);

	refuse_madvise(errors[_i]);
	ck_assert_int_eq(memory_admit(p, 2 * 4096, true), 0);
	ck_assert_uint_eq(memory_absent(p, 2 * 4096), 0);
	mprotect(p + 4096, 4096, PROT_READ);
	ck_assert_int_eq(memory_admit(p, 2 * 4096, true), EFAULT);
	ck_assert_int_eq(memory_admit(p, 2 * 4096, false), 0);
	munmap(p + 8192, 4096);
	ck_assert_int_eq(memory_admit(p, 3 * 4096, false), EFAULT);
}
END_TEST

START_TEST(pages_that_are_not_present)
{
	uint8_t *p = pages(10000);

	madvise(p, 10000 * 4096, MADV_NOHUGEPAGE);
	ck_assert_uint_eq(memory_absent(p, 10000 * 4096), 10000 * 4096);
	p[0] = p[4095 * 4096] = p[4096 * 4096] = p[9999 * 4096] = 1;
	ck_assert_uint_eq(memory_absent(p, 10000 * 4096), 9996 * 4096);
	ck_assert_uint_eq(memory_absent(p + 4095, 2), 4096);
	ck_assert_int_eq(memory_admit(p, 10000 * 4096, true), 0);
	ck_assert_uint_eq(memory_absent(p, 10000 * 4096), 0);
	munmap(p, 10000 * 4096);
}
END_TEST

/* The count ends where the kernel reports no pages, which is once for 4096 pages. */
START_TEST(pages_before_unmapped_ones)
{
	uint8_t *p = pages(10000);

	munmap(p + (size_t)4096 * 4096, (size_t)4096 * 4096);
	ck_assert_uint_eq(memory_absent(p, (size_t)10000 * 4096), (size_t)4096 * 4096);
	munmap(p, (size_t)10000 * 4096);
}
END_TEST

/* All the memory of the machine, some of which is in use, and one page more. No page becomes
 * present. */
START_TEST(more_than_there_is)
{
	size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * 4096;

	for (size_t len = all; len <= all + 4096; len += 4096) {
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return; /* this kernel maps no more than there is */
		ck_assert_int_eq(memory_admit(p, len, true), ENOMEM);
		ck_assert_uint_eq(memory_absent(p, len), len);
		munmap(p, len);
	}
}
END_TEST

START_TEST(copy_survives_unmapped_memory)
{
	uint8_t *p = pages(2);
	uint8_t buf[256] = { 1, 2, 3 };

	memory_guard();
	ck_assert(memory_copy_in_order(p + 4000, buf, 200));
	ck_assert_mem_eq(p + 4000, buf, 200);
	munmap(p + 4096, 4096);
	for (int i = 0; i < 3; i++) {
		ck_assert(!memory_copy_in_order(p + 4000, buf, 200));
		ck_assert(!memory_copy(buf, p + 4000, 200));
	}
	ck_assert(memory_copy(buf, p, 200));
	/* The sanitizer's memcpy looks up such addresses in a shadow that is not mapped. */
#ifndef __SANITIZE_ADDRESS__
	ck_assert(!memory_copy(buf, (void *)0x7ffffffffff8, 64));
	ck_assert(!memory_copy(buf, (void *)0xdead000000000000, 64)); /* not an address */
#endif
	munmap(p, 4096);
}
END_TEST

/* Fills what later calls find on the stack. */
__attribute__((noinline)) static void leave_on_stack(int byte)
{
	volatile uint8_t mem[4096];

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)byte;
}

/* Recovery points lie on the stack: each holds the ranges of its own access, whatever lay there. */
START_TEST(an_access_covers_its_own_ranges)
{
	uint8_t *p = pages(1), buf[64] = { 0 };
	uint64_t orig;
	bool ok[5];

	memory_guard();
	munmap(p, 4096);
	leave_on_stack(0);
	ok[0] = memory_copy(p, buf, sizeof(buf));
	leave_on_stack(0);
	ok[1] = memory_copy(buf, p, sizeof(buf));
	leave_on_stack(0);
	ok[2] = memory_copy_in_order(p, buf, sizeof(buf));
	leave_on_stack(0);
	ok[3] = memory_copy_in_order(buf, p, sizeof(buf));
	leave_on_stack(0);
	ok[4] = memory_atomic(p, RXE_FETCH_ADD, 1, 0, &orig);
	for (size_t i = 0; i < sizeof(ok) / sizeof(ok[0]); i++)
		ck_assert_msg(!ok[i], "access %zu", i);
}
END_TEST

/* The access fails at the missing page, and what follows it was not stored: the last word comes
 * last. */
START_TEST(the_last_word_lands_last)
{
	static const size_t lens[] = { 9, 12, 15, 16, 24, 64, 1000, 4096 };
	uint8_t *p = pages(2);
	uint8_t src[4096], none[8] = { 0 };

	memset(src, 0xab, sizeof(src));
	mprotect(p, 4096, PROT_NONE);
	memory_guard();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ck_assert(!memory_copy_in_order(p + 4096 + 8 - lens[i], src, lens[i]));
		ck_assert_mem_eq(p + 4096, none, sizeof(none));
	}
	munmap(p, 2 * 4096);
}
END_TEST

START_TEST(every_length_and_alignment_lands)
{
	uint8_t src[80], dst[128];

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i + 1);
	for (size_t at = 0; at < 16; at++) {
		for (size_t len = 0; len <= sizeof(src); len++) {
			memset(dst, 0, sizeof(dst));
			ck_assert(memory_copy_in_order(dst + 16 + at, src, len));
			ck_assert_mem_eq(dst + 16 + at, src, len);
			ck_assert_int_eq(dst[15 + at], 0);
			ck_assert_int_eq(dst[16 + at + len], 0);
		}
	}
}
END_TEST

static struct vb_device *device(uint8_t *arena)
{
	static struct vb_device dev;

	progress_init(&dev.progress, NULL, &dev.info, &dev.attachment);
	dev.attachment.slot = 3;
	dev.attachment.arena = arena;
	return &dev;
}

START_TEST(regions_are_found_by_kind)
{
	uint8_t *arena = pages(1), *own = pages(1);
	struct vb_device *dev = device(arena);
	struct rxe_mr plain = { .kind = RXE_MR_PLAIN,
				.owner = 3,
				.addr = (uintptr_t)own,
				.iova = 0x1000,
				.len = 4096 };
	struct rxe_mr dm = { .kind = RXE_MR_ARENA, .addr = 64, .len = 1024 };
	struct rxe_mr null = { .kind = RXE_MR_NULL, .len = UINT64_MAX };
	uint64_t word = 0x1122334455667788, got;

	memory_guard();
	ck_assert(host_mem_write(&dev->progress, &plain, 0x1008, &word, 8));
	ck_assert_mem_eq(own + 8, &word, 8);
	ck_assert(host_mem_write(&dev->progress, &dm, 16, &word, 8));
	ck_assert_mem_eq(arena + 80, &word, 8);
	ck_assert(host_mem_read(&dev->progress, &dm, 16, &got, 8));
	ck_assert(got == word);

	dev->attachment.shared = mmap(NULL, sizeof(struct ctl_shared), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(dev->attachment.shared, MAP_FAILED);
	plain.owner = 4; /* another process's, which does not exist */
	ck_assert(!host_mem_write(&dev->progress, &plain, 0x1008, &word, 8));
	ck_assert(!host_mem_read(&dev->progress, &plain, 0x1008, &word, 8));
	ck_assert(!host_mem_atomic(&dev->progress, &plain, 0x1008, RXE_FETCH_ADD, 1, 0, &got));
	munmap(dev->attachment.shared, sizeof(struct ctl_shared));
	ck_assert(host_mem_read(&dev->progress, &null, 0x1008, &got, 8));
	ck_assert(got == 0);
	ck_assert(host_mem_write(&dev->progress, &null, 0x1008, &word, 8));
	ck_assert(!host_mem_atomic(&dev->progress, &null, 0x1008, RXE_FETCH_ADD, 1, 0, &got));
	munmap(arena, 4096);
	munmap(own, 4096);
}
END_TEST

START_TEST(atomics)
{
	uint8_t *arena = pages(1);
	struct vb_device *dev = device(arena);
	struct rxe_mr dm = { .kind = RXE_MR_ARENA, .len = 4096 };
	uint64_t orig = 9;

	memory_guard();
	ck_assert(host_mem_atomic(&dev->progress, &dm, 8, RXE_FETCH_ADD, 5, 0, &orig));
	ck_assert(orig == 0);
	ck_assert(host_mem_atomic(&dev->progress, &dm, 8, RXE_CMP_SWAP, 4, 100, &orig));
	ck_assert(orig == 5);
	ck_assert(host_mem_atomic(&dev->progress, &dm, 8, RXE_CMP_SWAP, 5, 100, &orig));
	ck_assert(orig == 5);
	ck_assert(host_mem_atomic(&dev->progress, &dm, 8, RXE_FETCH_ADD, 0, 0, &orig));
	ck_assert(orig == 100);
	munmap(arena, 4096);
	ck_assert(!host_mem_atomic(&dev->progress, &dm, 8, RXE_FETCH_ADD, 1, 0, &orig));
	ck_assert(orig == 100);
}
END_TEST

/* The CPU would execute it on two cache lines. */
START_TEST(an_atomic_is_aligned)
{
	_Alignas(8) uint8_t words[16] = { 0 };
	uint64_t orig;

	for (size_t at = 1; at < 8; at++)
		ck_assert(!memory_atomic(words + at, RXE_FETCH_ADD, 1, 0, &orig));
	ck_assert(memory_atomic(words + 8, RXE_FETCH_ADD, 1, 0, &orig));
	memory_turn_ends();
	ck_assert_uint_eq(words[0] + words[7], 0);
	ck_assert_uint_eq(words[8], 1);
}
END_TEST

static volatile sig_atomic_t theirs;

static void their_handler(int sig)
{
	theirs = sig;
	siglongjmp(back, 1);
}

START_TEST(a_fault_of_the_program_goes_to_the_program)
{
	struct sigaction sa = { .sa_handler = their_handler, .sa_flags = SA_NODEFER };
	uint8_t *p = pages(1), buf[8] = { 0 };

	sigaction(SIGSEGV, &sa, NULL);
	ck_assert(memory_probe(p, 8, true)); /* our handler is installed in front */
	munmap(p, 4096);
	ck_assert(!memory_copy_in_order(p, buf, 8));
	ck_assert_int_eq(theirs, 0);
	if (sigsetjmp(back, 1) == 0)
		*(volatile uint8_t *)p = 1;
	ck_assert_int_eq(theirs, SIGSEGV);
	ck_assert(!memory_copy_in_order(p, buf, 8)); /* our handler still works */
}
END_TEST

/* A thread trusts the handlers for a millisecond. The program replaces one, and registers memory:
 * accesses of the same millisecond find ours in front. */
START_TEST(a_registration_puts_our_handlers_in_front)
{
	struct sigaction sa = { .sa_handler = their_handler, .sa_flags = SA_NODEFER };
	uint8_t *p = pages(1), buf[8] = { 0 };

	memory_turn_begins(1000);
	ck_assert(memory_copy(p, buf, 8));
	memory_turn_ends();
	sigaction(SIGSEGV, &sa, NULL);
	ck_assert_int_eq(memory_admit(p, 8, true), 0);
	munmap(p, 4096);
	memory_turn_begins(1001);
	if (sigsetjmp(back, 1) == 0)
		ck_assert(!memory_copy(p, buf, 8));
	memory_turn_ends();
	ck_assert_int_eq(theirs, 0);
}
END_TEST

/* A mapping whose second page lies beyond the end of its file: SIGBUS. */
static uint8_t *beyond_its_file(void)
{
	int fd = memfd_create("short", MFD_CLOEXEC);
	uint8_t *p;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	close(fd);
	return p + 4096;
}

/* Each signal has its own handler, installed before ours or over it. */
START_TEST(each_signal_goes_to_its_own_handler)
{
	struct sigaction segv = { .sa_handler = on_segv, .sa_flags = SA_NODEFER };
	struct sigaction bus = { .sa_handler = on_bus, .sa_flags = SA_NODEFER };
	uint8_t *unmapped = pages(1), *beyond = beyond_its_file(), buf[8] = { 0 };

	munmap(unmapped, 4096);
	if (_i == 1)
		memory_guard();
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	for (int i = 1; i <= 3; i++) {
		ck_assert(!memory_copy_in_order(unmapped, buf, 8));
		ck_assert(!memory_copy_in_order(beyond, buf, 8));
		memory_turn_ends();
		fault_at(beyond);
		ck_assert_int_eq(bus_calls, i);
		ck_assert_int_eq(segv_calls, i - 1);
		fault_at(unmapped);
		ck_assert_int_eq(bus_calls, i);
		ck_assert_int_eq(segv_calls, i);
	}
}
END_TEST

static struct sigaction found;
static volatile sig_atomic_t chained;

static void then_the_one_before(int sig, siginfo_t *info, void *ucontext)
{
	chained++;
	if (found.sa_flags & SA_SIGINFO)
		found.sa_sigaction(sig, info, ucontext);
}

/* A handler over ours that calls ours: ours is in front again at the next access, and a fault
 * passes through each once. */
START_TEST(a_handler_that_calls_ours)
{
	struct sigaction elder = { .sa_handler = on_segv, .sa_flags = SA_NODEFER };
	struct sigaction newer = { .sa_sigaction = then_the_one_before,
				   .sa_flags = SA_SIGINFO | SA_NODEFER };
	uint8_t *p = pages(1), buf[8] = { 0 };

	sigaction(SIGSEGV, &elder, NULL);
	memory_guard();
	sigaction(SIGSEGV, &newer, &found);
	munmap(p, 4096);
	for (int i = 1; i <= 3; i++) {
		ck_assert(!memory_copy_in_order(p, buf, 8));
		memory_turn_ends();
		fault_at(p);
		ck_assert_int_eq(chained, i);
		ck_assert_int_eq(segv_calls, i);
	}
}
END_TEST

/* A fault whose signal is blocked would kill the process. */
START_TEST(signals_blocked_by_the_thread)
{
	uint8_t *p = pages(1), *beyond = beyond_its_file(), buf[8] = { 0 };
	sigset_t all, now;

	munmap(p, 4096);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 2; i++) {
		ck_assert(!memory_copy_in_order(p, buf, 8));
		ck_assert(!memory_copy(buf, beyond, 8));
		memory_turn_ends();
		pthread_sigmask(SIG_SETMASK, NULL, &now);
		ck_assert_int_eq(sigismember(&now, SIGSEGV), 1);
		ck_assert_int_eq(sigismember(&now, SIGBUS), 1);
		ck_assert_int_eq(sigismember(&now, SIGINT), 1);
	}
}
END_TEST

/* A handler with SA_RESETHAND is called once. */
START_TEST(a_handler_for_one_time)
{
	struct sigaction once = { .sa_handler = SIG_DFL };
	uint8_t *p = pages(1);

	once.sa_sigaction = then_the_one_before;
	once.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
	sigaction(SIGSEGV, &once, NULL);
	memory_guard();
	munmap(p, 4096);
	*(volatile uint8_t *)p = 1;
}
END_TEST

/* kill -SEGV of a program that has no handler. */
START_TEST(a_signal_that_is_sent_ends_the_program)
{
	signal(SIGSEGV, SIG_DFL);
	memory_guard();
	raise(SIGSEGV);
}
END_TEST

static struct sigaction ours;

static void hand_on(int sig, siginfo_t *info, void *ucontext)
{
	ours.sa_sigaction(sig, info, ucontext);
}

/* Language runtimes and sanitizers do this: a handler in front of ours that runs with all signals
 * blocked and calls ours first. */
START_TEST(a_handler_in_front_blocks_signals)
{
	struct sigaction sa = { .sa_sigaction = hand_on, .sa_flags = SA_SIGINFO };
	uint8_t *p = pages(1), buf[8] = { 0 };
	sigset_t blocked;

	ck_assert(memory_probe(p, 8, true));
	munmap(p, 4096);
	sigaction(SIGSEGV, NULL, &ours);
	sigfillset(&sa.sa_mask);
	sigaction(SIGSEGV, &sa, NULL);
	for (int i = 0; i < 3; i++)
		ck_assert(!memory_copy_in_order(p, buf, 8));
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	ck_assert_int_eq(sigismember(&blocked, SIGSEGV), 0);
	ck_assert_int_eq(sigismember(&blocked, SIGINT), 0);
}
END_TEST

START_TEST(without_a_handler_the_program_dies_as_before)
{
	uint8_t *p = pages(1);

	signal(SIGSEGV, SIG_DFL); /* a sanitizer installs one */
	memory_guard();
	munmap(p, 4096);
	*(volatile uint8_t *)p = 1;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_memory");
	TCase *tcase = tcase_create("memory");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, probe_finds_what_is_there);
	tcase_add_loop_test(tcase, madvise_is_refused, 0, 3);
	tcase_add_test(tcase, pages_that_are_not_present);
	tcase_add_test(tcase, pages_before_unmapped_ones);
	tcase_add_test(tcase, more_than_there_is);
	tcase_add_test(tcase, copy_survives_unmapped_memory);
	tcase_add_test(tcase, an_access_covers_its_own_ranges);
	tcase_add_test(tcase, the_last_word_lands_last);
	tcase_add_test(tcase, every_length_and_alignment_lands);
	tcase_add_test(tcase, regions_are_found_by_kind);
	tcase_add_test(tcase, atomics);
	tcase_add_test(tcase, an_atomic_is_aligned);
	tcase_add_test(tcase, a_fault_of_the_program_goes_to_the_program);
	tcase_add_test(tcase, a_registration_puts_our_handlers_in_front);
	tcase_add_test(tcase, a_handler_in_front_blocks_signals);
	tcase_add_loop_test(tcase, each_signal_goes_to_its_own_handler, 0, 2);
	tcase_add_test(tcase, a_handler_that_calls_ours);
	tcase_add_test(tcase, signals_blocked_by_the_thread);
	tcase_add_test_raise_signal(tcase, a_handler_for_one_time, SIGSEGV);
	tcase_add_test_raise_signal(tcase, a_signal_that_is_sent_ends_the_program, SIGSEGV);
	tcase_add_test_raise_signal(tcase, without_a_handler_the_program_dies_as_before, SIGSEGV);
	return suite_run(suite);
}
