// SPDX-License-Identifier: MIT
/* Sharing and exit: contexts imported by other processes, fork(), kill -9 at any point, and raised
 * gauges. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/socket.h"
#include "net/link/clock.h"
#include "server_fixture.h"

static struct program p;
static uint8_t buffer[4096];
static int passed_fd; /* a cmd_fd that a child takes over */

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns() / 1000000);
}

static void import_and_use(int channel)
{
	struct program other;
	struct ctl_context imported;
	struct ctl_object seen;
	uint32_t dm;
	uint64_t offset;

	ck_assert_int_eq(ctl_connect(&other.client), 0);
	ck_assert_int_eq(ctl_attach(other.client, 0, &other.at), 0);
	ck_assert_int_eq(ctl_import(other.client, passed_fd, &imported), 0);
	ck_assert_uint_eq(imported.handle, p.context.handle);
	ck_assert_uint_eq(imported.device, 0);
	ck_assert_uint_ne(other.at.slot, p.at.slot);
	ck_assert_int_eq(ctl_query(&imported, CTL_KIND_PD, p.pd, &seen), 0);
	ck_assert_int_eq(ctl_alloc_dm(&imported, 4096, 0, &dm, &offset), 0);
	memset(other.at.arena + offset, 0x5a, 4096);
	channel_say(channel);
	channel_wait(channel);
}

START_TEST(import)
{
	struct ctl_object seen;
	int channel;
	pid_t pid;

	passed_fd = dup(p.context.cmd_fd);
	pid = child_start(import_and_use, &channel);
	channel_wait(channel);
	ck_assert_uint_eq(fixture_programs(), 2);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 1);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_DM), 1);

	/* The importer is killed: objects that it made in the context remain, and so does the
	 * context. */
	child_kill(pid);
	fixture_await_programs(1);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_DM), 1);
	ck_assert_int_eq(ctl_query(&p.context, CTL_KIND_PD, p.pd, &seen), 0);
	close(passed_fd);
	program_close(&p);
	fixture_await_objects(CTL_KIND_CONTEXT, 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_DM), 0);
}
END_TEST

START_TEST(import_twice_in_one_process)
{
	struct ctl_context again;

	ck_assert_int_eq(ctl_import(p.client, p.context.cmd_fd, &again), 0);
	ck_assert_uint_eq(again.handle, p.context.handle);
	ck_assert_int_ne(again.cmd_fd, p.context.cmd_fd);
	ck_assert_int_eq(ctl_close(&again), 0);
	program_close(&p); /* still there */
}
END_TEST

START_TEST(import_of_something_else)
{
	struct ctl_context ret;
	int pair[2], pipe_fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	ck_assert_int_eq(ctl_import(p.client, -1, &ret), -EINVAL);
	ck_assert_int_eq(ctl_import(p.client, 0, &ret), -EINVAL);
	ck_assert_int_eq(ctl_import(p.client, pair[0], &ret), -EINVAL);
	ck_assert_int_eq(ctl_import(p.client, pipe_fds[1], &ret), -EINVAL);
	ck_assert_int_eq(ctl_import(p.client, p.at.rx_fd, &ret), -EINVAL);
	ck_assert_int_eq(ctl_import(p.client, p.at.event_fd, &ret), -EINVAL);
	program_close(&p);
}
END_TEST

/* Opens a context, registers memory, and passes the cmd_fd on. */
static void open_and_hand_over(int channel)
{
	uint32_t key;
	struct program mine;

	program_open(&mine);
	program_reg(&mine, buffer, sizeof(buffer), &key);
	ck_assert_int_eq(ctl_send(channel, &mine.pd, sizeof(mine.pd), &mine.context.cmd_fd, 1, 0),
			 0);
	channel_wait(channel);
}

START_TEST(a_context_lives_in_a_descriptor)
{
	struct ctl_context imported;
	struct ctl_object seen;
	int channel, fd;
	uint32_t pd;
	size_t n;
	pid_t pid = child_start(open_and_hand_over, &channel);

	ck_assert_int_eq(ctl_recv(channel, &pd, sizeof(pd), &fd, 1, &n, 0), sizeof(pd));
	ck_assert_uint_eq(n, 1);
	child_kill(pid);
	fixture_await_objects(CTL_KIND_MR, 0); /* its memory ended with it */
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 2);

	ck_assert_int_eq(ctl_import(p.client, fd, &imported), 0);
	close(fd);
	ck_assert_int_eq(ctl_query(&imported, CTL_KIND_PD, pd, &seen), 0);
	ck_assert_int_eq(ctl_free(&imported, CTL_KIND_PD, pd), 0);
	ck_assert_int_eq(ctl_close(&imported), 0);
	fixture_await_objects(CTL_KIND_CONTEXT, 1);
	program_close(&p);
}
END_TEST

/* Forks, and both processes continue. */
static void fork_and_stay(int channel)
{
	uint32_t key;
	struct program mine;

	program_open(&mine);
	program_reg(&mine, buffer, sizeof(buffer), &key);
	ck_assert_int_eq(ctl_use_pd(&mine.context, mine.pd, 3), 0);
	if (fork() == 0) {
		/* Calls nothing of the library until the test closes the channel. */
		channel_say(channel);
		while (recv(channel, buffer, 1, 0) > 0)
			;
		_exit(0);
	}
	while (recv(channel, buffer, 1, 0) > 0)
		;
}

START_TEST(killed_with_a_forked_child_alive)
{
	int channel;
	pid_t pid = child_start(fork_and_stay, &channel);

	channel_wait(channel);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 2);
	child_kill(pid);
	/* The regions end with the process. The context remains with the child, which inherited its
	 * descriptor. */
	fixture_await_objects(CTL_KIND_MR, 0);
	fixture_await_programs(1);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 2);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_PD), 2);
	channel_say(channel); /* the child ends */
	close(channel);
	fixture_await_objects(CTL_KIND_CONTEXT, 1);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_PD), 1);
	program_close(&p);
}
END_TEST

static void use_inherited_context(int channel)
{
	uint32_t pd, key, mr, old_slot = p.at.slot;
	int cmd_fd = p.context.cmd_fd;
	struct ctl_attachment at;

	ck_assert_int_eq(ctl_alloc_pd(&p.context, &pd), 0);
	ck_assert_int_eq(ctl_attach(p.client, 0, &at), 0);
	ck_assert_uint_ne(at.slot, old_slot);
	ck_assert_ptr_eq(at.arena, p.at.arena);
	ck_assert_ptr_eq(at.shared, p.at.shared);
	ck_assert_int_eq(at.rx_fd, p.at.rx_fd);
	ck_assert_int_eq(at.shared->slot[at.slot].pid, getpid());
	atomic_store(&at.shared->slot[at.slot].inside, 0); /* writable by the test */
	ck_assert_int_eq(cmd_fd, p.context.cmd_fd);
	ck_assert(ctl_is_cmd_fd(cmd_fd));
	mr = program_reg(&p, buffer, sizeof(buffer), &key);
	ck_assert_uint_eq(at.shared->mrs.entry[rxe_key_index(key)].owner, at.slot);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_PD, pd), 0);
	channel_say(channel);
}

START_TEST(a_forked_child_has_control_verbs)
{
	int channel;
	pid_t pid = child_start(use_inherited_context, &channel);

	ck_assert_int_eq(child_wait(pid), 0);
	channel_wait(channel);
	ck_assert_int_eq(p.at.shared->slot[p.at.slot].pid, getpid());
	fixture_await_programs(1);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 1);
	program_close(&p);
}
END_TEST

/* A child that only exits or execs changes nothing of the parent's. */
static void do_nothing(int channel)
{
	(void)channel;
}

START_TEST(a_forked_child_that_exits)
{
	int channel;

	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(child_wait(child_start(do_nothing, &channel)), 0);
	ck_assert_uint_eq(fixture_programs(), 1);
	ck_assert(ctl_alive(p.client));
	program_close(&p);
}
END_TEST

static void be_inside(int channel)
{
	struct program mine;

	program_open(&mine);
	atomic_store(&mine.at.shared->slot[mine.at.slot].inside, 1);
	channel_say(channel);
	channel_wait(channel);
	atomic_store(&mine.at.shared->slot[mine.at.slot].inside, 0);
	channel_say(channel);
	channel_wait(channel);
}

START_TEST(memory_rests_until_nobody_is_inside)
{
	uint32_t dm, mr;
	uint64_t offset, whole = 64ull << 20;
	int channel;
	pid_t pid = child_start(be_inside, &channel);
	int64_t start;

	channel_wait(channel);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, whole, 0, &dm, &offset), 0);
	mr = program_reg_dm(&p, dm, 0, whole);

	/* The server waits for the other process, for a bounded time. */
	start = now_ms();
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_ge(now_ms() - start, 90);
	ck_assert_int_lt(now_ms() - start, WAIT_MS);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), 0);
	ck_assert(!ctl_handle_live(p.at.shared, dm));
	ck_assert_int_eq(ctl_alloc_dm(&p.context, 4096, 0, &dm, &offset), -ENOMEM);

	channel_say(channel);
	channel_wait(channel);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, whole, 0, &dm, &offset), 0);
	child_kill(pid);
}
END_TEST

START_TEST(a_key_in_use_gets_no_new_meaning)
{
	struct ctl_reg_mr reg = { .pd = p.pd, .kind = RXE_MR_PLAIN, .addr = 0x1000, .len = 7 };
	uint32_t key, new_key, mr = program_reg(&p, buffer, 100, &key);
	int channel;
	pid_t pid = child_start(be_inside, &channel);
	int64_t start;

	channel_wait(channel);
	start = now_ms();
	ck_assert_int_eq(ctl_rereg_mr(&p.context, mr, &reg, &new_key), 0);
	ck_assert_int_ge(now_ms() - start, 90); /* the wait for the process, which is bounded */
	ck_assert_uint_ne(new_key, key); /* a process with a raised gauge may have the old entry */
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].key, 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(key)].len, 100);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(new_key)].len, 7);
	child_kill(pid);
	ck_assert_int_eq(ctl_rereg_mr(&p.context, mr, &reg, &key), 0);
	ck_assert_uint_eq(new_key, key);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	program_close(&p);
}
END_TEST

struct inside {
	_Atomic uint32_t key; /* of the region whose entry the child reads */
	_Atomic bool has_left;
};

static struct inside *inside;

/* Is inside until the server has hidden the key: the call that changes the region is waiting. */
static void leave_when_hidden(int channel)
{
	struct program mine;
	const _Atomic uint32_t *key;

	program_open(&mine);
	atomic_store(&mine.at.shared->slot[mine.at.slot].inside, 1);
	key = &mine.at.shared->mrs.entry[rxe_key_index(inside->key)].key;
	channel_say(channel);
	while (atomic_load(key))
		sched_yield();
	atomic_store(&inside->has_left, true);
	atomic_store(&mine.at.shared->slot[mine.at.slot].inside, 0);
	channel_wait(channel);
}

START_TEST(a_region_changes_when_nobody_is_inside)
{
	struct ctl_reg_mr reg = { .pd = p.pd, .kind = RXE_MR_PLAIN, .addr = 0x1000, .len = 7 };
	uint32_t key, new_key, mr = program_reg(&p, buffer, 100, &key);
	int channel;
	pid_t pid;

	inside = mmap(NULL, sizeof(*inside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(inside, MAP_FAILED);
	atomic_store(&inside->key, key);
	pid = child_start(leave_when_hidden, &channel);
	channel_wait(channel);
	/* A child that gets no processor for 100 ms is treated as a stopped one: a new key. */
	ck_assert_int_eq(ctl_rereg_mr(&p.context, mr, &reg, &new_key), 0);
	if (new_key == key)
		ck_assert(atomic_load(&inside->has_left));
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(new_key)].len, 7);
	child_kill(pid);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
	program_close(&p);
}
END_TEST

static uint32_t new_pd; /* a call changes a region to it; the child of the call frees it */

/* Frees the call's domain, as another user of the context may, while the call waits. */
static void free_domain_when_hidden(int channel)
{
	struct ctl_context imported;
	const _Atomic uint32_t *key;
	struct program mine;

	program_open(&mine);
	ck_assert_int_eq(ctl_import(mine.client, passed_fd, &imported), 0);
	atomic_store(&mine.at.shared->slot[mine.at.slot].inside, 1);
	key = &mine.at.shared->mrs.entry[rxe_key_index(inside->key)].key;
	channel_say(channel);
	while (atomic_load(key))
		sched_yield();
	(void)ctl_free(&imported, CTL_KIND_PD, new_pd);
	channel_wait(channel);
}

START_TEST(a_region_that_cannot_change_stays)
{
	struct ctl_reg_mr reg = { .kind = RXE_MR_PLAIN, .addr = 0x1000, .len = 7 };
	uint32_t key, new_key, mr = program_reg(&p, buffer, 100, &key);
	const struct rxe_mr *entry = &p.at.shared->mrs.entry[rxe_key_index(key)];
	int channel, rc;
	pid_t pid;

	inside = mmap(NULL, sizeof(*inside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(inside, MAP_FAILED);
	atomic_store(&inside->key, key);
	ck_assert_int_eq(ctl_alloc_pd(&p.context, &new_pd), 0);
	reg.pd = new_pd;
	passed_fd = p.context.cmd_fd;
	pid = child_start(free_domain_when_hidden, &channel);
	channel_wait(channel);
	rc = ctl_rereg_mr(&p.context, mr, &reg, &new_key);
	if (rc == 0) { /* a child that gets no processor for 100 ms is treated as a stopped one */
		ck_assert_uint_ne(new_key, key);
	} else {
		ck_assert_int_eq(rc, -EINVAL);
		ck_assert_uint_eq(entry->key, key);
		ck_assert_uint_eq(entry->len, 100);
	}
	child_kill(pid);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_MR, mr), 0);
}
END_TEST

START_TEST(a_killed_process_is_not_inside)
{
	uint32_t dm;
	uint64_t offset, whole = 64ull << 20;
	int channel;
	pid_t pid = child_start(be_inside, &channel);

	channel_wait(channel);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, whole, 0, &dm, &offset), 0);
	ck_assert_int_eq(ctl_free(&p.context, CTL_KIND_DM, dm), 0);
	child_kill(pid);
	ck_assert_int_eq(ctl_alloc_dm(&p.context, whole, 0, &dm, &offset), 0);
}
END_TEST

/* Opens, allocates and closes until it is killed. No ck_assert in the loop: the kill could cut a
 * message of libcheck in its pipe in two. */
static void come_and_go(int channel)
{
	struct program mine;
	struct ctl_reg_mr own = { .kind = RXE_MR_PLAIN, .addr = (uintptr_t)buffer, .len = 10 };
	struct ctl_reg_mr device = { .kind = RXE_MR_ARENA, .len = 10 };
	uint32_t mr, key;
	uint64_t offset;

	program_open(&mine);
	channel_say(channel);
	for (;;) {
		own.pd = device.pd = mine.pd;
		if (ctl_alloc_dm(&mine.context, 100000, 3, &device.dm, &offset) ||
		    ctl_reg_mr(&mine.context, &own, &mr, &key) ||
		    ctl_reg_mr(&mine.context, &device, &mr, &key) ||
		    ctl_use_pd(&mine.context, mine.pd, 1) || ctl_close(&mine.context) ||
		    ctl_open(mine.client, 0, &mine.context) ||
		    ctl_alloc_pd(&mine.context, &mine.pd))
			_exit(1);
	}
}

START_TEST(killed_anywhere)
{
	for (int i = 0; i < 40; i++) {
		int channel;
		pid_t pid = child_start(come_and_go, &channel);

		channel_wait(channel);
		for (int spin = 0; spin < i * 20000; spin++)
			__asm__ volatile("" ::: "memory");
		child_kill(pid);
		close(channel);
	}
	fixture_await_programs(1);
	fixture_await_objects(CTL_KIND_CONTEXT, 1);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_MR), 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_DM), 0);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_PD), 1);
	program_close(&p);
}
END_TEST

/* Anonymous memory of the server in KiB. */
static long server_memory(void)
{
	char path[64], line[128];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)p.client->server_pid);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	}
	fclose(f);
	return kib;
}

/* A process that detaches stays in its contexts, but its memory leaves with it: in the slot's next
 * process the same addresses mean something else. */
START_TEST(a_slot_goes_with_its_memory)
{
	const struct ctl_reg_mr all = { .addr = (uintptr_t)buffer, .len = sizeof(buffer) };
	struct ctl_reg_mr reg = { .len = 16 };
	uint32_t umem, mr, key, over, over_key;
	struct program q;

	program_open(&q);
	mr = program_reg(&q, buffer, 10, &key);
	ck_assert_int_eq(ctl_reg_umem(&q.context, &all, &umem), 0);
	reg.pd = q.pd;
	reg.umem = umem;
	ck_assert_int_eq(ctl_reg_mr(&q.context, &reg, &over, &over_key), 0);
	ck_assert_uint_eq(p.at.shared->mrs.entry[rxe_key_index(over_key)].key, over_key);
	ctl_detach(q.client, 0, &q.at);
	ck_assert_uint_ne(p.at.shared->mrs.entry[rxe_key_index(key)].key, key);
	ck_assert_uint_ne(p.at.shared->mrs.entry[rxe_key_index(over_key)].key, over_key);
	ck_assert_int_eq(ctl_free(&q.context, CTL_KIND_MR, mr), -EINVAL);
	ck_assert_int_eq(ctl_reg_mr(&q.context, &reg, &over, &over_key), -EINVAL);
	ck_assert_int_eq(ctl_close(&q.context), 0);
	ctl_disconnect(q.client);
}
END_TEST

static void one_cycle(void)
{
	struct program q;
	struct ctl_context again;
	uint32_t dm, key, mr;
	uint64_t offset;

	program_open(&q);
	ck_assert_int_eq(ctl_import(q.client, q.context.cmd_fd, &again), 0);
	mr = program_reg(&q, buffer, 10, &key);
	ck_assert_int_eq(ctl_alloc_dm(&q.context, 100, 0, &dm, &offset), 0);
	program_reg_dm(&q, dm, 0, 100);
	ck_assert_int_eq(ctl_free(&q.context, CTL_KIND_MR, mr), 0);
	ck_assert_int_eq(ctl_close(&again), 0);
	ck_assert_int_eq(ctl_close(&q.context), 0);
	ctl_detach(q.client, 0, &q.at);
	ctl_disconnect(q.client);
}

/* Whether a sanitizer keeps freed memory: gcc defines a macro, clang a feature. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MAY_GROW_KIB (64 << 10)
#else
#define MAY_GROW_KIB 64
#endif

START_TEST(a_thousand_times)
{
	long before;

	for (int i = 0; i < 600; i++)
		one_cycle();
	before = server_memory();
	for (int i = 0; i < 1000; i++)
		one_cycle();
	ck_assert_int_le(server_memory(), before + MAY_GROW_KIB);
	ck_assert_uint_eq(fixture_objects(CTL_KIND_CONTEXT), 1);
	program_close(&p);
}
END_TEST

START_TEST(slots_go_round)
{
	uint32_t first = p.at.slot, epoch;

	p.at.shared->slot[p.at.slot].counters.sent_pkts = 5;
	epoch = p.at.shared->slot[p.at.slot].epoch;
	program_close(&p);
	program_open(&p);
	ck_assert_uint_ne(p.at.slot, first); /* the slot that was free for longest */
	ck_assert_int_eq(p.at.shared->slot[first].pid, 0);
	ck_assert_uint_eq(p.at.shared->retired.sent_pkts, 5);
	ck_assert_uint_eq(p.at.shared->slot[first].counters.sent_pkts, 0);
	ck_assert_uint_eq(p.at.shared->slot[first].epoch, epoch);
	program_close(&p);
}
END_TEST

static void setup(void)
{
	fixture_setup();
	program_open(&p);
}

int main(void)
{
	TCase *tcase = tcase_create("share");

	tcase_add_checked_fixture(tcase, setup, fixture_teardown);
	tcase_add_test(tcase, import);
	tcase_add_test(tcase, import_twice_in_one_process);
	tcase_add_test(tcase, import_of_something_else);
	tcase_add_test(tcase, a_context_lives_in_a_descriptor);
	tcase_add_test(tcase, killed_with_a_forked_child_alive);
	tcase_add_test(tcase, a_forked_child_has_control_verbs);
	tcase_add_test(tcase, a_forked_child_that_exits);
	tcase_add_test(tcase, memory_rests_until_nobody_is_inside);
	tcase_add_test(tcase, a_key_in_use_gets_no_new_meaning);
	tcase_add_test(tcase, a_region_changes_when_nobody_is_inside);
	tcase_add_test(tcase, a_region_that_cannot_change_stays);
	tcase_add_test(tcase, a_killed_process_is_not_inside);
	tcase_add_test(tcase, killed_anywhere);
	tcase_add_test(tcase, a_slot_goes_with_its_memory);
	tcase_add_test(tcase, a_thousand_times);
	tcase_add_test(tcase, slots_go_round);
	return fixture_main("server_share", (TCase *[]){ tcase, NULL });
}
