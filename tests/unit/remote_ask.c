// SPDX-License-Identifier: MIT
/* What a process asks of others by remote requests, and what it takes from their answers. The other
 * process is the test, or a thread of it. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "device_fixture.h"
#include "emu/complete.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "tests/suite.h"

#define OWN	      3u
#define OTHER	      7u
#define IOVA	      0x10000u
#define PAGE	      4096u
#define DOMAIN	      9u
#define PID	      77
#define MS_NS	      1000000u
#define SRQN_OF(slot) ((slot) << RXE_SLOT_SHIFT | 1u)

static struct vb_device *dev;
static _Atomic bool stop;

static void setup(void)
{
	dev = device_new(OWN);
}

static void teardown(void)
{
	device_free(dev);
}

static void other_is_there(void)
{
	struct ctl_slot *slot = &dev->attachment.shared->slot[OTHER];

	atomic_store(&slot->pid, PID);
	atomic_store(&slot->epoch, 1);
}

static struct rxe_mr region_of_other(void)
{
	other_is_there();
	return (struct rxe_mr){
		.kind = RXE_MR_PLAIN, .owner = OTHER, .epoch = 1, .iova = IOVA, .len = PAGE
	};
}

static bool no_random_numbers;

ssize_t getrandom(void *ret, size_t len, unsigned int flags)
{
	ck_assert_uint_eq(flags, 0);
	if (no_random_numbers)
		return -1;
	memset(ret, 0x42, len);
	return (ssize_t)len;
}

/* A cookie that two processes may have would let one write to the other. */
START_TEST(without_random_numbers_a_process_has_no_cookie)
{
	const struct ctl_slot *slot = &dev->attachment.shared->slot[OWN];

	no_random_numbers = false;
	remote_open(&dev->progress);
	ck_assert_uint_ne(slot->cookie, 0);
	ck_assert_uint_eq(*(const uint64_t *)(uintptr_t)slot->cookie_at, slot->cookie);
	remote_close(&dev->progress);
	no_random_numbers = true;
	remote_open(&dev->progress);
	ck_assert_uint_eq(slot->cookie, 0);
	remote_close(&dev->progress);
	no_random_numbers = false;
}
END_TEST

static struct ctl_remote_request *own_mailbox(void)
{
	return &dev->attachment.shared->remote_requests.mailbox[OWN];
}

static bool is_pending(void)
{
	return dev->attachment.shared->remote_requests.pending[OTHER].from[OWN / 64] &
	       1ull << OWN % 64;
}

/* An owner may still run the request of the slot's last process: none of this one has its state. */
START_TEST(a_new_process_continues_the_numbers_of_its_slot)
{
	const uint64_t last = 7 * (CTL_REMOTE_PHASE + 1);
	const struct rxe_mr mr = region_of_other();
	uint64_t orig;

	atomic_store(&own_mailbox()->state, last | CTL_REMOTE_DONE);
	remote_open(&dev->progress);
	ck_assert(!remote_atomic(&dev->progress, &mr, IOVA, RXE_FETCH_ADD, 1, 0, &orig));
	ck_assert(remote_was_deferred(&dev->progress));
	ck_assert_uint_eq(atomic_load(&own_mailbox()->state), last + CTL_REMOTE_PHASE + 1);
	remote_close(&dev->progress);
}
END_TEST

START_TEST(a_process_that_has_exited_is_asked_nothing)
{
	const struct rxe_mr mr = region_of_other();
	uint64_t orig;

	atomic_store(&dev->attachment.shared->slot[OTHER].pid, 0);
	ck_assert(!remote_atomic(&dev->progress, &mr, IOVA, RXE_FETCH_ADD, 1, 0, &orig));
	ck_assert(!remote_was_deferred(&dev->progress));
	ck_assert_uint_eq(atomic_load(&own_mailbox()->state), 0);
	ck_assert(!is_pending());
}
END_TEST

/* The owner was stopped inside the last request, which the mailbox still holds. Once it has
 * exited, the mailbox is free. */
START_TEST(a_mailbox_that_is_in_use_is_left_alone)
{
	const struct rxe_mr mr = region_of_other();
	struct ctl_slot *slot = &dev->attachment.shared->slot[OTHER + 1];
	const uint64_t taken = CTL_REMOTE_PHASE + 1 + CTL_REMOTE_TAKEN;
	uint64_t orig;

	atomic_store(&slot->pid, PID);
	atomic_store(&slot->epoch, 4);
	atomic_store(&own_mailbox()->state, taken);
	atomic_store(&own_mailbox()->owner, OTHER + 1);
	atomic_store(&own_mailbox()->epoch, 4);
	ck_assert(!remote_atomic(&dev->progress, &mr, IOVA, RXE_FETCH_ADD, 1, 0, &orig));
	ck_assert(!remote_was_deferred(&dev->progress));
	ck_assert_uint_eq(own_mailbox()->op, 0);
	ck_assert_uint_eq(atomic_load(&own_mailbox()->state), taken);
	atomic_store(&slot->pid, 0);
	ck_assert(!remote_atomic(&dev->progress, &mr, IOVA, RXE_FETCH_ADD, 1, 0, &orig));
	ck_assert(remote_was_deferred(&dev->progress));
	ck_assert_uint_eq(own_mailbox()->op, CTL_REMOTE_FETCH_ADD);
}
END_TEST

/* The peer would get an RNR NAK instead: the wait is 100 ms, or what the owner needed before. */
START_TEST(a_receive_is_waited_for_longer)
{
	static const uint32_t waits_ms[][2] = { { 0, 100 }, { 99, 100 }, { 101, 101 } };
	struct remote_peer *peer = &dev->progress.remote_requests.peer[OTHER];
	struct ctl_remote_recv recv = { 0 };

	other_is_there();
	*peer = (struct remote_peer){ .epoch = 1, .wait_ns = waits_ms[_i][0] * MS_NS };
	ck_assert(!remote_ask(&dev->progress, OTHER, 1, CTL_REMOTE_SRQ_TAKE, SRQN_OF(OTHER), DOMAIN,
			      &recv, sizeof(recv)));
	ck_assert(remote_was_deferred(&dev->progress));
	ck_assert_uint_eq(peer->wait_ns, waits_ms[_i][1] * MS_NS);
}
END_TEST

static void publish(uint32_t slot, uint32_t srqn)
{
	dev->attachment.shared->slot[slot].srq[srqn % RXE_MAX_SRQ] =
		(struct ctl_shared_srq){ .srqn = srqn, .pd = 40 + slot, .xrcd = DOMAIN };
}

/* By a number that a peer has sent. In a container a process may have pid 1. */
START_TEST(an_srq_of_another_process_is_found)
{
	struct ctl_slot *slot = dev->attachment.shared->slot;
	uint32_t pd = 0;

	for (uint32_t i = 0; i < 3; i++) {
		publish(i * OWN, SRQN_OF(i * OWN));
		atomic_store(&slot[i * OWN].pid, 1);
	}
	ck_assert(remote_srq_find(&dev->progress, SRQN_OF(2 * OWN), DOMAIN, &pd));
	ck_assert_uint_eq(pd, 40 + 2 * OWN);
	ck_assert(!remote_srq_find(&dev->progress, SRQN_OF(2 * OWN), DOMAIN + 1, &pd));
	ck_assert(!remote_srq_find(&dev->progress, SRQN_OF(2 * OWN) + RXE_MAX_SRQ, DOMAIN, &pd));
	ck_assert(!remote_srq_find(&dev->progress, SRQN_OF(0), DOMAIN, &pd));
	ck_assert(!remote_srq_find(&dev->progress, SRQN_OF(OWN), DOMAIN, &pd));
	ck_assert(!remote_srq_find(&dev->progress, SRQN_OF(RXE_MAX_SLOTS), DOMAIN, &pd));
	atomic_store(&slot[2 * OWN].pid, 0);
	ck_assert(!remote_srq_find(&dev->progress, SRQN_OF(2 * OWN), DOMAIN, &pd));
}
END_TEST

struct reply {
	bool ok;
	struct ctl_remote_recv recv;
};

/* The other process: gives this reply to each request. */
static void *answer(void *arg)
{
	const struct reply *reply = arg;
	struct ctl_remote_request *e = own_mailbox();

	while (!atomic_load(&stop)) {
		uint64_t state = atomic_load(&e->state);

		if ((state & CTL_REMOTE_PHASE) != CTL_REMOTE_SENT ||
		    !atomic_compare_exchange_strong(&e->state, &state,
						    state + CTL_REMOTE_TAKEN - CTL_REMOTE_SENT))
			continue;
		memcpy(e->bytes, &reply->recv, sizeof(reply->recv));
		e->ok = reply->ok;
		atomic_store(&dev->attachment.shared->remote_requests.pending[OTHER].from[OWN / 64],
			     0);
		atomic_store(&e->state, state | CTL_REMOTE_DONE);
	}
	return NULL;
}

/* The owner is not trusted: a receive has no more than RXE_MAX_SGE entries. */
START_TEST(a_receive_of_another_process_is_taken)
{
	static const struct {
		bool ok;
		uint32_t num_sge;
		bool is_taken;
	} rows[] = {
		{ true, 2, true },
		{ true, RXE_MAX_SGE, true },
		{ true, RXE_MAX_SGE + 1, false },
		{ false, 2, false },
	};
	const uint32_t srqn = SRQN_OF(OTHER);
	struct reply reply = { .ok = rows[_i].ok,
			       .recv = { .wr_id = 71, .len = 96, .num_sge = rows[_i].num_sge } };
	struct rxe_claim claim = { .wr_id = 5 };
	pthread_t owner;
	bool taken;

	other_is_there();
	reply.recv.sge[1] = (struct rxe_sge){ .addr = 4096, .length = 32, .lkey = 9 };
	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&owner, NULL, answer, &reply), 0);
	do
		taken = remote_srq_take(&dev->progress, srqn, DOMAIN, &claim);
	while (!taken && remote_was_deferred(&dev->progress));
	atomic_store(&stop, true);
	pthread_join(owner, NULL);
	ck_assert_uint_eq(own_mailbox()->op, CTL_REMOTE_SRQ_TAKE);
	ck_assert_uint_eq(own_mailbox()->key, srqn);
	ck_assert_uint_eq(own_mailbox()->iova, DOMAIN);
	ck_assert_int_eq(taken, rows[_i].is_taken);
	ck_assert_uint_eq(claim.wr_id, taken ? 71 : 5);
	if (!taken)
		return;
	ck_assert_uint_eq(claim.srqn, srqn);
	ck_assert_uint_eq(claim.xrcd, DOMAIN);
	ck_assert_uint_eq(claim.owner_epoch, 1);
	ck_assert_uint_eq(claim.len, 96);
	ck_assert_uint_eq(claim.num_sge, rows[_i].num_sge);
	ck_assert_mem_eq(&claim.sge[1], &reply.recv.sge[1], sizeof(claim.sge[1]));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remote_ask");
	TCase *tcase = tcase_create("remote_ask");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, without_random_numbers_a_process_has_no_cookie);
	tcase_add_test(tcase, a_new_process_continues_the_numbers_of_its_slot);
	tcase_add_test(tcase, a_process_that_has_exited_is_asked_nothing);
	tcase_add_test(tcase, a_mailbox_that_is_in_use_is_left_alone);
	tcase_add_loop_test(tcase, a_receive_is_waited_for_longer, 0, 3);
	tcase_add_test(tcase, an_srq_of_another_process_is_found);
	tcase_add_loop_test(tcase, a_receive_of_another_process_is_taken, 0, 4);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
