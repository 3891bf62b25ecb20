// SPDX-License-Identifier: MIT
/* lib/check/access.c: what processes under --check publish, and what others find of it. "writer"
 * has a queue pair that is connected to "owner", which has the memory; "other" looks. */
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/limits.h"
#include "lib/check/span.h"
#include "lib/check/stack.h"
#include "tests/suite.h"
#include "tests/unit/check_process.h"

#define START 0x10008u
#define END   0x10048u
#define KEY   0x30001u
#define PAGE  4096u

static struct process writer, owner, other;
static struct process_qp qp;

struct seen {
	uint32_t count;
	struct access last;
};

static void begin(void)
{
	process_new(&writer, NULL, 1);
	process_new(&owner, &writer, 2);
	process_new(&other, &writer, 3);
	qp_new(&qp, &writer, 5, process_qpn(&owner, 6));
}

static void finish(void)
{
	atomic_store(&vb_fork_count, 0);
	qp_free(&qp);
	process_free(&other, false);
	process_free(&owner, false);
	process_free(&writer, true);
}

static void visit(const struct access *access, void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	seen->last = *access;
}

/* What a process finds of the owner's bytes. */
static struct seen look(struct process *process, uint64_t start, uint64_t end)
{
	const struct ctl_slot *slot = vb_slot(owner.dev);
	const struct access_place place = { process == &owner ? NULL : slot,
					    atomic_load(&slot->epoch), start, end, 0 };
	struct seen ret = { 0 };

	access_each(process_context(process), &place, visit, &ret);
	return ret;
}

static struct check_request *publish(uint64_t start, uint64_t end)
{
	struct check_request *request = qp_request(&qp);

	request_to(request, &owner, start, end);
	access_add(request, &request->remote);
	ck_assert_uint_ne(request->remote.access, 0);
	return request;
}

START_TEST(found_by_others)
{
	const struct check_request *request = publish(START, END);
	const struct access access = look(&other, START, END).last;

	ck_assert_uint_eq(look(&other, START, END).count, 1);
	ck_assert_uint_eq(look(&owner, START, END).count, 1);
	ck_assert_uint_eq(look(&writer, START, END).count, 0);
	ck_assert_ptr_eq(access.slot, vb_slot(writer.dev));
	ck_assert_uint_eq(atomic_load(&access.at.number), request->remote.access);
	ck_assert_uint_eq(atomic_load(&access.at.done), 0);
	ck_assert_uint_eq(access.at.start, START);
	ck_assert_uint_eq(access.at.end, END);
	ck_assert_uint_eq(access.at.owner, 2);
	ck_assert_uint_eq(access.at.key, 77);
	ck_assert_uint_eq(access.at.qpn, qp.qp.qp_num);
	ck_assert_uint_eq(access.at.dest_qpn, process_qpn(&owner, 6));
	ck_assert(access_is_of_peer(process_context(&owner), &access));
	ck_assert(!access_is_of_peer(process_context(&other), &access));
}
END_TEST

START_TEST(borders)
{
	publish(START, END);
	ck_assert_uint_eq(look(&other, START - 8, START).count, 0);
	ck_assert_uint_eq(look(&other, START - 8, START + 1).count, 1);
	ck_assert_uint_eq(look(&other, END - 1, END).count, 1);
	ck_assert_uint_eq(look(&other, END, END + 8).count, 0);
	ck_assert_uint_eq(look(&other, 0, UINT64_MAX).count, 1);
}
END_TEST

START_TEST(of_another_owner)
{
	struct check_request *request = qp_request(&qp);

	request_to(request, &other, START, END);
	access_add(request, &request->remote);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	request_to(request, &owner, START, END);
	request->remote.owner_epoch++;
	access_add(request, &request->remote);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
}
END_TEST

/* What the writer sends from is its own. */
START_TEST(own_memory)
{
	struct check_request *request = qp_request(&qp);
	const struct access_place place = { vb_slot(writer.dev), 1, START, END, 0 };
	struct seen seen = { 0 };

	request->range[0].span.start = START;
	request->range[0].span.end = END;
	qp.region.key.lkey = 55;
	access_add(request, &request->range[0]);
	access_each(process_context(&other), &place, visit, &seen);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_uint_eq(seen.last.at.owner, 1);
	ck_assert_uint_eq(seen.last.at.key, 55);
	ck_assert_uint_eq(seen.last.at.flags, 0);
}
END_TEST

START_TEST(pages)
{
	const uint64_t many = 65u * PAGE; /* more than are counted one by one */
	struct check_request *request = publish(START, START + 3 * PAGE);

	ck_assert_uint_eq(look(&other, START + 3 * PAGE - 1, START + 3 * PAGE).count, 1);
	access_ended(request, &request->remote);
	request = publish(START, START + many);
	ck_assert_uint_eq(look(&other, START + many - 1, START + many).count, 1);
	ck_assert_uint_eq(atomic_load(&process_checked(&writer)->num_long), 1);
	access_ended(request, &request->remote);
	ck_assert_uint_eq(atomic_load(&process_checked(&writer)->num_long), 0);
	for (uint32_t i = 0; i < CTL_ACCESS_PAGES; i++)
		ck_assert_uint_eq(atomic_load(&process_checked(&writer)->pages[i]), 0);
	publish(START, START + 1);
	ck_assert_uint_eq(look(&other, 0, many).count, 1);
}
END_TEST

START_TEST(refused)
{
	struct check_request *request = publish(START, END);

	access_ended(request, &request->remote);
	ck_assert_uint_eq(request->remote.access, 0);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
}
END_TEST

START_TEST(completed)
{
	struct check_request *request = publish(START, END);
	struct seen seen;

	access_completed(request, &request->remote, 42);
	ck_assert_uint_eq(request->remote.access, 0);
	seen = look(&other, START, END);
	ck_assert_uint_eq(atomic_load(&seen.last.at.done), 42);
	process_qp_entry(&writer, qp.qp.qp_num)->state = IBV_QPS_RESET;
	ck_assert_uint_eq(look(&other, START, END).count, 1);
}
END_TEST

/* A queue pair that has left RTS executes nothing. */
START_TEST(queue_pair_that_stopped)
{
	struct ctl_shared_qp *entry = process_qp_entry(&writer, qp.qp.qp_num);

	publish(START, END);
	entry->state = IBV_QPS_RTR;
	ck_assert_uint_eq(look(&other, START, END).count, 1);
	entry->state = IBV_QPS_ERR;
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	entry->state = IBV_QPS_RTS;
	entry->dest_qpn++;
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	entry->dest_qpn--;
	atomic_store(&entry->qpn, qp.qp.qp_num + RXE_MAX_QP);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
}
END_TEST

/* The oldest access gives way, and its end is not that of the one in its place. */
START_TEST(log_wraps)
{
	struct check_request *oldest = publish(START, END), *request;

	qp.request = NULL;
	for (uint32_t i = 1; i < CTL_ACCESSES; i++)
		publish(START + i * PAGE, END + i * PAGE);
	ck_assert_uint_eq(look(&other, START, END).count, 1);
	request = publish(START + PAGE * CTL_ACCESSES, END + PAGE * CTL_ACCESSES);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	access_ended(oldest, &oldest->remote);
	ck_assert_uint_eq(look(&other, request->remote.span.start, request->remote.span.end).count,
			  1);
	ck_assert_uint_eq(look(&other, 0, UINT64_MAX).count, CTL_ACCESSES);
	free(oldest);
}
END_TEST

START_TEST(counts_survive_the_wrap)
{
	for (uint32_t i = 0; i < 3 * CTL_ACCESSES; i++)
		publish(START + i * PAGE, END + i * PAGE);
	for (uint32_t i = 0; i < CTL_ACCESSES; i++) {
		struct ctl_access *at = &process_checked(&writer)->access[i];
		struct check_request *request = qp_request(&qp);

		request->remote.access = atomic_load(&at->number);
		access_ended(request, &request->remote);
	}
	for (uint32_t i = 0; i < CTL_ACCESS_PAGES; i++)
		ck_assert_uint_eq(atomic_load(&process_checked(&writer)->pages[i]), 0);
}
END_TEST

START_TEST(process_that_exited)
{
	publish(START, END);
	ctl_slot_set_pid(writer.dev->attachment.shared, 1, 0);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	ctl_slot_set_pid(writer.dev->attachment.shared, 1, 4711);
	ck_assert_uint_eq(look(&other, START, END).count, 1);
	/* The slot's next process is not checked, and then it is. */
	atomic_fetch_add(&vb_slot(writer.dev)->epoch, 1);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	access_begin(process_context(&writer));
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	publish(START, END);
	ck_assert_uint_eq(look(&other, START, END).count, 1);
}
END_TEST

/* The clock of a slot goes on; all else of its last process goes. */
START_TEST(slot_of_a_new_process)
{
	struct ctl_checked *checked = process_checked(&writer);

	publish(START, START + 100 * PAGE);
	publish(START, END);
	access_wrote(&qp.check);
	qp.check.received = 1;
	access_received(&qp.check);
	atomic_store(&checked->clock, 9);
	atomic_store(&checked->known[3], 8);
	atomic_store(&checked->reported[3], 7);
	atomic_fetch_add(&vb_slot(writer.dev)->epoch, 1);
	access_begin(process_context(&writer));
	ck_assert_uint_eq(atomic_load(&checked->clock), 9);
	ck_assert_uint_eq(atomic_load(&checked->known[3]), 0);
	ck_assert_uint_eq(atomic_load(&checked->reported[3]), 0);
	ck_assert_uint_eq(atomic_load(&checked->num_long), 0);
	for (uint32_t i = 0; i < CTL_ACCESS_PAGES; i++)
		ck_assert_uint_eq(atomic_load(&checked->pages[i]), 0);
	ck_assert_uint_eq(atomic_load(&checked->wrote[5]), 0);
	ck_assert_uint_eq(atomic_load(&checked->received[5]), 0);
}
END_TEST

START_TEST(child_of_a_fork)
{
	ck_assert(access_is_shared(process_context(&writer)));
	vb_forks_add();
	ck_assert_ptr_null(access_own(process_context(&writer)));
	ck_assert(!access_is_shared(process_context(&writer)));
	access_wrote(&qp.check);
	access_received(&qp.check);
	ck_assert_uint_eq(atomic_load(&process_checked(&writer)->wrote[5]), 0);
}
END_TEST

START_TEST(alone_on_the_device)
{
	ctl_slot_set_pid(writer.dev->attachment.shared, 2, 0);
	ck_assert(access_is_shared(process_context(&writer)));
	ctl_slot_set_pid(writer.dev->attachment.shared, 3, 0);
	ck_assert(!access_is_shared(process_context(&writer)));
}
END_TEST

START_TEST(notes)
{
	const struct span span = { .start = START, .end = END };
	const struct check_stack where = { .thread = 12 };
	struct check_object object = { .context = process_context(&owner) };
	struct check_region region = { .object = &object, .key = { NULL, KEY } };
	const uint64_t note = access_note(&region, &span, &where);
	const struct seen seen = look(&other, END - 1, END);

	ck_assert_uint_eq(seen.count, 1);
	ck_assert_uint_eq(seen.last.at.flags, CTL_ACCESS_ENDED);
	ck_assert_uint_eq(seen.last.at.key, KEY);
	ck_assert_uint_eq(seen.last.at.thread, 12);
	access_forget(&region, note + 1);
	ck_assert_uint_eq(look(&other, START, END).count, 1);
	object.dead = true;
	access_forget(&region, note);
	ck_assert_uint_eq(look(&other, START, END).count, 1);
	object.dead = false;
	access_forget(&region, note);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
}
END_TEST

START_TEST(found_by_number)
{
	const struct check_request *request = publish(START, END);
	const struct ctl_slot *slot = vb_slot(writer.dev);
	struct access found;

	ck_assert(access_find(process_context(&other), slot, request->remote.access, &found));
	ck_assert_uint_eq(found.at.start, START);
	ck_assert_ptr_eq(found.slot, slot);
	ck_assert(!access_find(process_context(&other), slot, request->remote.access + 1, &found));
	ck_assert(!access_find(process_context(&other), slot, request->remote.access + CTL_ACCESSES,
			       &found));
	ctl_slot_set_pid(writer.dev->attachment.shared, 1, 0);
	ck_assert(!access_find(process_context(&other), slot, request->remote.access, &found));
}
END_TEST

START_TEST(where_it_was_posted)
{
	struct check_request *request = qp_request(&qp);
	struct check_stack stack;
	char label[96];

	request->posted.thread = 99;
	request->posted.depth = CTL_ACCESS_DEPTH + 1;
	request->posted.pc[CTL_ACCESS_DEPTH - 1] = (uintptr_t)begin;
	request_to(request, &owner, START, END);
	access_add(request, &request->remote);
	ck_assert_uint_eq(look(&other, START, END).last.at.depth, CTL_ACCESS_DEPTH);
	strcpy(vb_slot(writer.dev)->comm, "writer");
	stack = access_stack(&(struct access){ look(&other, START, END).last.at,
					       writer.dev->attachment.shared->slot,
					       vb_slot(writer.dev) });
	ck_assert_uint_eq(stack.depth, CTL_ACCESS_DEPTH);
	ck_assert_uint_eq(stack.thread, 99);
	ck_assert_uint_eq(stack.pc[CTL_ACCESS_DEPTH - 1], (uintptr_t)begin);
	access_label(&(struct access){ look(&other, START, END).last.at,
				       writer.dev->attachment.shared->slot, vb_slot(writer.dev) },
		     label, sizeof(label));
	ck_assert_str_eq(label, "QP 0x010005 of writer (process 1001)");
}
END_TEST

/* All processes share it, and what the handle named before is other memory. */
START_TEST(found_in_device_memory)
{
	struct check_request *request = qp_request(&qp);
	struct access_place place = { NULL, 0, START, END, 33 };
	struct seen seen = { 0 };

	request->remote.span.start = START;
	request->remote.span.end = END;
	request->remote.dm = 33;
	request->remote.owner_key = KEY;
	access_add(request, &request->remote);
	access_each(process_context(&other), &place, visit, &seen);
	access_each(process_context(&owner), &place, visit, &seen);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_uint_eq(seen.last.at.key, KEY);
	place.dm = 34;
	access_each(process_context(&other), &place, visit, &seen);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_uint_eq(look(&other, START, END).count, 0);
	access_ended(request, &request->remote);
	place.dm = 33;
	access_each(process_context(&other), &place, visit, &seen);
	ck_assert_uint_eq(seen.count, 2);
}
END_TEST

/* The peer has polled this many messages. */
static struct process_qp peer;

static void receive(uint64_t messages)
{
	peer.check.received = messages;
	access_received(&peer.check);
}

static struct access published(uint64_t message, bool takes_receive)
{
	struct check_request *request = qp_request(&qp);

	request->message = message;
	request->takes_receive = takes_receive;
	request_to(request, &owner, START, END);
	access_add(request, &request->remote);
	return look(&other, START, END).last;
}

START_TEST(known_by_a_message)
{
	struct access access;

	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	access = published(3, false);
	ck_assert(!access_may_be_known(&access));
	receive(3); /* the third message was sent before the request */
	ck_assert(!access_may_be_known(&access));
	receive(4);
	ck_assert(access_may_be_known(&access));
}
END_TEST

START_TEST(known_by_itself)
{
	struct access access;

	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	access = published(3, true);
	receive(2);
	ck_assert(!access_may_be_known(&access));
	receive(3);
	ck_assert(access_may_be_known(&access));
	/* Another queue pair has had the place. */
	atomic_store(&process_checked(&owner)->received[6],
		     (uint64_t)(peer.qp.qp_num + RXE_MAX_QP) << 40 | 9);
	ck_assert(!access_may_be_known(&access));
}
END_TEST

START_TEST(known_if_the_peer_is_silent)
{
	struct access access;

	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	access = published(3, false);
	atomic_store(&process_checked(&owner)->epoch, 0);
	ck_assert(access_may_be_known(&access));
	atomic_store(&process_checked(&owner)->epoch, 1);
	ck_assert(!access_may_be_known(&access));
	process_qp_entry(&owner, peer.qp.qp_num)->state = IBV_QPS_ERR;
	ck_assert(access_may_be_known(&access));
	access.at.dest_qpn = RXE_MAX_SLOTS << RXE_SLOT_SHIFT;
	ck_assert(access_may_be_known(&access));
}
END_TEST

START_TEST(known_by_a_flag)
{
	struct access access;

	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	access_wrote(&qp.check);
	access = published(0, false);
	ck_assert(!access_may_be_known(&access));
	access_wrote(&qp.check);
	ck_assert(access_may_be_known(&access));
	access.at.flags = CTL_ACCESS_REMOTE; /* an RDMA READ */
	ck_assert(!access_may_be_known(&access));
}
END_TEST

/* What an RDMA READ brings back, no message of its queue pair proves. */
START_TEST(what_a_read_brings)
{
	struct access access;

	qp_new(&peer, &owner, 6, qp.qp.qp_num);
	access = published(0, false);
	receive(9);
	ck_assert(access_may_be_known(&access));
	access.at.flags = CTL_ACCESS_WRITES;
	ck_assert(!access_may_be_known(&access));
}
END_TEST

static uint32_t flags_of(bool writes, bool is_atomic, bool is_remote)
{
	struct check_request *request = qp_request(&qp);
	struct check_range *range = is_remote ? &request->remote : &request->range[0];

	request_to(request, &owner, START, END);
	request->range[0].span.start = START;
	request->range[0].span.end = END;
	request->remote_writes = writes;
	request->writes = !writes || is_atomic;
	request->is_atomic = is_atomic;
	access_add(request, range);
	return process_checked(&writer)->access[range->access % CTL_ACCESSES].flags;
}

START_TEST(flags)
{
	ck_assert_uint_eq(flags_of(true, false, true),
			  CTL_ACCESS_WRITES | CTL_ACCESS_REMOTE | CTL_ACCESS_RDMA_WRITE);
	ck_assert_uint_eq(flags_of(true, false, false), CTL_ACCESS_RDMA_WRITE);
	ck_assert_uint_eq(flags_of(false, false, true), CTL_ACCESS_REMOTE);
	ck_assert_uint_eq(flags_of(false, false, false), CTL_ACCESS_WRITES);
	ck_assert_uint_eq(flags_of(true, true, true),
			  CTL_ACCESS_WRITES | CTL_ACCESS_REMOTE | CTL_ACCESS_ATOMIC);
	ck_assert_uint_eq(flags_of(true, true, false), CTL_ACCESS_WRITES | CTL_ACCESS_ATOMIC);
}
END_TEST

START_TEST(words_that_are_flags)
{
	struct access access = { .at = { .start = START, .end = START + 8 } };

	access.at.flags = CTL_ACCESS_RDMA_WRITE;
	ck_assert(access_is_flag(&access));
	access.at.end++;
	ck_assert(!access_is_flag(&access));
	access.at.end--;
	access.at.flags = CTL_ACCESS_ATOMIC;
	ck_assert(access_is_flag(&access));
	access.at.flags = CTL_ACCESS_WRITES | CTL_ACCESS_REMOTE | CTL_ACCESS_MESSAGE;
	ck_assert(!access_is_flag(&access));
}
END_TEST

static TCase *new_case(Suite *suite, const char *name)
{
	TCase *tests = tcase_create(name);

	tcase_add_checked_fixture(tests, begin, finish);
	suite_add_tcase(suite, tests);
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("check_access");
	TCase *tests = new_case(suite, "found");

	tcase_add_test(tests, found_by_others);
	tcase_add_test(tests, found_in_device_memory);
	tcase_add_test(tests, borders);
	tcase_add_test(tests, of_another_owner);
	tcase_add_test(tests, own_memory);
	tcase_add_test(tests, pages);
	tcase_add_test(tests, found_by_number);
	tcase_add_test(tests, where_it_was_posted);

	tests = new_case(suite, "ended");
	tcase_add_test(tests, refused);
	tcase_add_test(tests, completed);
	tcase_add_test(tests, queue_pair_that_stopped);
	tcase_add_test(tests, log_wraps);
	tcase_add_test(tests, counts_survive_the_wrap);

	tests = new_case(suite, "processes");
	tcase_add_test(tests, process_that_exited);
	tcase_add_test(tests, slot_of_a_new_process);
	tcase_add_test(tests, child_of_a_fork);
	tcase_add_test(tests, alone_on_the_device);
	tcase_add_test(tests, notes);

	tests = new_case(suite, "known");
	tcase_add_test(tests, known_by_a_message);
	tcase_add_test(tests, known_by_itself);
	tcase_add_test(tests, known_if_the_peer_is_silent);
	tcase_add_test(tests, known_by_a_flag);
	tcase_add_test(tests, what_a_read_brings);
	tcase_add_test(tests, flags);
	tcase_add_test(tests, words_that_are_flags);
	return suite_run(suite);
}
