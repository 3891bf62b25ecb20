// SPDX-License-Identifier: MIT
/* Other processes write remote requests, and may change one while it runs: the values that were
 * checked are the ones that are used. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "device_fixture.h"
#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/mr.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "emu/srq.h"
#include "lib/control/client.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "lib/verbs/srq.h"
#include "tests/suite.h"

#define OWN	   3u
#define OTHER	   7u
#define INDEX	   5u
#define KEY	   (INDEX << 16 | 0x42u)
#define IOVA	   0x10000u
#define PAGE	   4096u
#define ROUNDS	   300000u
#define UNTOUCHED  0x5a
#define SRQN	   (OWN << RXE_SLOT_SHIFT | 1u)
#define DOMAIN	   9u
#define RECVS	   4u
#define LONG	   1000u
#define PID	   77
#define MS_NS	   1000000u
#define COOKIE_LEN sizeof(uint64_t)

static struct vb_device *dev;
static struct ctl_remote_request *mailbox;
static uint8_t *pages; /* the second of three pages is registered */
static _Atomic bool stop;

static void setup(void)
{
	struct rxe_mr *mr;

	dev = device_new(OWN);
	pages = calloc(3, PAGE);
	ck_assert_ptr_nonnull(pages);
	memset(pages, UNTOUCHED, (size_t)3 * PAGE);
	mailbox = &dev->attachment.shared->remote_requests.mailbox[OTHER];
	mr = &dev->attachment.shared->mrs.entry[rxe_key_index(KEY)];
	*mr = (struct rxe_mr){ .kind = RXE_MR_PLAIN,
			       .owner = OWN,
			       .iova = IOVA,
			       .len = PAGE,
			       .addr = (uintptr_t)(pages + PAGE) };
	atomic_store(&mr->key, KEY);
	memory_guard();
}

static void teardown(void)
{
	device_free(dev);
	free(pages);
}

/* Sends a request of process OTHER, and has this process look at it. Returns the request's
 * number. */
static uint64_t send_to(uint32_t owner, uint32_t epoch, uint32_t key, uint32_t op, uint64_t iova,
			uint32_t len)
{
	struct ctl_remote_requests *remote_requests = &dev->attachment.shared->remote_requests;
	const uint64_t number = (atomic_load(&mailbox->state) | CTL_REMOTE_PHASE) + 1;

	mailbox->op = op;
	mailbox->key = key;
	mailbox->len = len;
	if (iova)
		__atomic_store_n(&mailbox->iova, iova, __ATOMIC_RELAXED);
	atomic_store(&mailbox->owner, owner);
	atomic_store(&mailbox->epoch, epoch);
	atomic_store(&mailbox->state, number | CTL_REMOTE_SENT);
	atomic_fetch_or(&remote_requests->pending[OWN].from[OTHER / 64], 1ull << OTHER % 64);
	remote_run(&dev->progress);
	return number;
}

static uint32_t own_epoch(void)
{
	return atomic_load(&dev->attachment.shared->slot[OWN].epoch);
}

static bool ask_of(uint32_t key, uint32_t op, uint64_t iova, uint32_t len)
{
	const uint64_t number = send_to(OWN, own_epoch(), key, op, iova, len);

	ck_assert_uint_eq(atomic_load(&mailbox->state), number | CTL_REMOTE_DONE);
	return mailbox->ok;
}

static bool ask(uint32_t op, uint64_t iova, uint32_t len)
{
	return ask_of(KEY, op, iova, len);
}

static bool is_untouched(const uint8_t *p)
{
	for (uint32_t i = 0; i < PAGE; i++)
		if (p[i] != UNTOUCHED)
			return false;
	return true;
}

START_TEST(reaches_its_region_and_no_more)
{
	memset(mailbox->bytes, 1, sizeof(mailbox->bytes));
	ck_assert(ask(CTL_REMOTE_WRITE, IOVA, PAGE));
	ck_assert(ask(CTL_REMOTE_WRITE, IOVA + PAGE - 1, 1));
	ck_assert(!ask(CTL_REMOTE_WRITE, IOVA + 1, PAGE));
	ck_assert(!ask(CTL_REMOTE_WRITE, IOVA - 1, 1));
	ck_assert(!ask(CTL_REMOTE_WRITE, IOVA, CTL_REMOTE_BYTES + 1));
	ck_assert(!ask(CTL_REMOTE_READ, UINT64_MAX, 2));
	ck_assert(!ask(CTL_REMOTE_FETCH_ADD, IOVA, 4));
	ck_assert(!ask(CTL_REMOTE_FETCH_ADD, IOVA + PAGE - 4, 8));
	ck_assert(!ask(CTL_REMOTE_SRQ_TAKE, IOVA, sizeof(struct ctl_remote_recv) + 1));
	ck_assert(!ask(99, IOVA, 1));
	ck_assert(is_untouched(pages) && is_untouched(pages + (size_t)2 * PAGE));
}
END_TEST

/* Alternates between an address in the region and one after it. */
static void *keep_writing(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		__atomic_store_n(&mailbox->iova, IOVA, __ATOMIC_RELAXED);
		__atomic_store_n(&mailbox->iova, IOVA + PAGE, __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(is_read_once)
{
	pthread_t writer;
	uint32_t done = 0;

	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&writer, NULL, keep_writing, NULL), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		memset(mailbox->bytes, 1, 8);
		done += ask(i & 1 ? CTL_REMOTE_WRITE : CTL_REMOTE_FETCH_ADD, 0, 8);
	}
	atomic_store(&stop, true);
	pthread_join(writer, NULL);
	ck_assert(is_untouched(pages));
	ck_assert_msg(is_untouched(pages + (size_t)2 * PAGE), "%u done, some behind the region",
		      done);
}
END_TEST

/* An XRC SRQ loans receives within its domain, and takes one completion for each. */
START_TEST(an_srq_takes_one_completion_for_each_receive)
{
	const uint32_t take = sizeof(struct ctl_remote_recv), done = sizeof(struct rxe_cqe);
	struct vb_srq *srq = calloc(1, sizeof(*srq));
	void *ring = calloc(RECVS, rxe_recv_stride(1)), *entries = calloc(1, rxe_cq_ring_bytes(8));
	const struct rxe_recv_wr recv = { .wr_id = 71 };
	struct rxe_cq cq;

	ck_assert(srq && ring && entries);
	rxe_cq_init(&cq, entries, 8, NULL);
	rxe_srq_init(&srq->srq, 1, ring, RECVS, 1, srq);
	rxe_srq_name(dev->progress.engine, &srq->srq, SRQN, DOMAIN, &cq);
	for (uint32_t i = 0; i < RECVS; i++)
		ck_assert_int_eq(rxe_post_srq_recv(dev->progress.engine, &srq->srq, &recv),
				 POST_OK);

	memset(mailbox->bytes, 0, sizeof(mailbox->bytes));
	ck_assert(!ask_of(SRQN, CTL_REMOTE_SRQ_DONE, DOMAIN, done)); /* no receive is on loan */
	ck_assert(!ask_of(SRQN, CTL_REMOTE_SRQ_TAKE, DOMAIN + 1, take));
	ck_assert(!ask_of(SRQN + 1, CTL_REMOTE_SRQ_TAKE, DOMAIN, take));
	ck_assert(!ask_of(SRQN, CTL_REMOTE_SRQ_TAKE, DOMAIN, take - 1));
	ck_assert_uint_eq(rxe_ring_used(&srq->srq.rq), RECVS);
	ck_assert(ask_of(SRQN, CTL_REMOTE_SRQ_TAKE, DOMAIN, take));
	ck_assert_uint_eq(((struct ctl_remote_recv *)(void *)mailbox->bytes)->wr_id, 71);
	ck_assert(!ask_of(SRQN, CTL_REMOTE_SRQ_DONE, DOMAIN + 1, done));
	ck_assert(!ask_of(SRQN, CTL_REMOTE_SRQ_DONE, DOMAIN, done - 1));
	ck_assert_uint_eq(cq.tail, 0);
	ck_assert(ask_of(SRQN, CTL_REMOTE_SRQ_DONE, DOMAIN, done));
	ck_assert(!ask_of(SRQN, CTL_REMOTE_SRQ_DONE, DOMAIN, done));
	ck_assert_uint_eq(cq.tail, 1);
	free(entries);
	free(ring);
	free(srq);
}
END_TEST

/* An owner that clears the pending bit each time, but after the request was withdrawn: each wait is
 * twice as long as the last one, from 1 ms to 500 ms. The waits add up to more than the time after
 * which a silent owner's memory fails. */
START_TEST(a_slow_owner_is_waited_for)
{
	const struct rxe_mr mr = {
		.kind = RXE_MR_PLAIN, .owner = OTHER, .epoch = 1, .iova = IOVA, .len = PAGE
	};
	const struct remote_peer *peer = &dev->progress.remote_requests.peer[OTHER];
	struct ctl_slot *slot = &dev->attachment.shared->slot[OTHER];
	_Atomic uint64_t *pending = dev->attachment.shared->remote_requests.pending[OTHER].from;
	uint64_t wait_ns = MS_NS;
	uint8_t byte;

	dev->progress.remote_requests.no_vm = true;
	atomic_store(&slot->pid, 1);
	atomic_store(&slot->epoch, 1);
	for (uint32_t i = 0; i < 10; i++) {
		ck_assert(!remote_read(&dev->progress, &mr, IOVA, &byte, 1));
		ck_assert_msg(remote_was_deferred(&dev->progress), "access %u failed", i);
		ck_assert_uint_eq(peer->wait_ns, wait_ns);
		wait_ns = 2 * wait_ns < 500 * MS_NS ? 2 * wait_ns : 500 * MS_NS;
		atomic_store(&pending[OWN / 64], 0);
	}
}
END_TEST

/* The program may poll the last word of a message. Its page is missing here: when its store fails,
 * all bytes before it are stored. */
START_TEST(requests_store_the_last_word_last)
{
	const uint32_t at = PAGE + 8 - LONG;
	struct rxe_mr *mr = &dev->attachment.shared->mrs.entry[rxe_key_index(KEY)];
	uint8_t *two = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(two, MAP_FAILED);
	ck_assert_int_eq(mprotect(two + PAGE, PAGE, PROT_NONE), 0);
	mr->addr = (uintptr_t)two;
	mr->len = (uint64_t)2 * PAGE;
	memset(mailbox->bytes, 1, LONG);
	ck_assert(!ask(CTL_REMOTE_WRITE, IOVA + at, LONG));
	for (uint32_t i = at; i < PAGE; i++)
		ck_assert_msg(two[i] == 1, "the byte %u before the last word is missing", PAGE - i);
	munmap(two, (size_t)2 * PAGE);
}
END_TEST

/* The calls to the kernel, instead of those of the C library. The other process's memory is this
 * one's. */
static struct iovec stored[4];
static uint32_t num_stored;
/* The answer to reads of more than a cookie: 0, or an errno. */
static int reads_fail;
static uint32_t num_reads, num_cookies;

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long num_here,
			 const struct iovec *there, unsigned long num_there, unsigned long flags)
{
	ck_assert(pid == PID && num_here == 1 && num_there == 1 && flags == 0);
	if (there->iov_len != COOKIE_LEN) {
		num_reads++;
		errno = reads_fail;
		if (reads_fail)
			return -1;
	} else {
		num_cookies++;
	}
	memcpy(here->iov_base, there->iov_base, there->iov_len);
	return (ssize_t)there->iov_len;
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long num_here,
			  const struct iovec *there, unsigned long num_there, unsigned long flags)
{
	ck_assert(pid == PID && num_here == 1 && num_there == 1 && flags == 0);
	ck_assert(num_stored < 4 && here->iov_len == there->iov_len);
	stored[num_stored++] = *there;
	memcpy(there->iov_base, here->iov_base, there->iov_len);
	return (ssize_t)there->iov_len;
}

static const uint64_t cookie = 4711;

/* A process of this machine whose memory the kernel lets this one read and write. */
static struct rxe_mr region_of_other(void)
{
	struct ctl_slot *slot = &dev->attachment.shared->slot[OTHER];

	atomic_store(&slot->pid, PID);
	atomic_store(&slot->epoch, 1);
	slot->cookie = cookie;
	slot->cookie_at = (uintptr_t)&cookie;
	num_stored = num_reads = num_cookies = 0;
	reads_fail = 0;
	return (struct rxe_mr){ .kind = RXE_MR_PLAIN,
				.owner = OTHER,
				.epoch = 1,
				.iova = IOVA,
				.len = PAGE,
				.addr = (uintptr_t)pages };
}

/* The number in the slot is of a process in another pid namespace, or there is none: whatever has
 * this pid here is another program. It is looked at once. */
START_TEST(the_memory_of_another_program_is_left_alone)
{
	static const uint64_t none;
	const struct rxe_mr mr = region_of_other();
	struct ctl_slot *slot = &dev->attachment.shared->slot[OTHER];
	uint8_t bytes[4];

	slot->cookie = _i ? 0 : cookie + 1;
	slot->cookie_at = (uintptr_t)(_i ? &none : &cookie);
	for (int i = 0; i < 2; i++) {
		ck_assert(!remote_read(&dev->progress, &mr, IOVA, bytes, sizeof(bytes)));
		ck_assert(remote_was_deferred(&dev->progress));
		ck_assert(!remote_write(&dev->progress, &mr, IOVA, bytes, sizeof(bytes)));
	}
	ck_assert_uint_eq(num_cookies, 1);
	ck_assert_uint_eq(num_reads + num_stored, 0);
}
END_TEST

/* A security module permits the cookie and no more: the owner is asked, and the kernel no more. */
START_TEST(what_the_kernel_refuses_the_owner_is_asked_for)
{
	const struct rxe_mr mr = region_of_other();
	uint8_t bytes[4];

	reads_fail = EPERM;
	for (int i = 0; i < 2; i++) {
		ck_assert(!remote_read(&dev->progress, &mr, IOVA, bytes, sizeof(bytes)));
		ck_assert(remote_was_deferred(&dev->progress));
	}
	ck_assert_uint_eq(num_reads, 1);
}
END_TEST

/* The owner has unmapped the region: the access fails at once. */
START_TEST(unmapped_memory_is_not_asked_for)
{
	const struct rxe_mr mr = region_of_other();
	uint8_t bytes[4];

	reads_fail = EFAULT;
	ck_assert(!remote_read(&dev->progress, &mr, IOVA, bytes, sizeof(bytes)));
	ck_assert(!remote_was_deferred(&dev->progress));
	reads_fail = 0;
	ck_assert(remote_read(&dev->progress, &mr, IOVA, bytes, sizeof(bytes)));
	ck_assert_uint_eq(bytes[3], UNTOUCHED);
}
END_TEST

START_TEST(the_kernel_stores_the_last_word_last)
{
	static const uint32_t lens[] = { LONG, 12, 8, 3 };
	static uint8_t bytes[LONG];
	const struct rxe_mr mr = region_of_other();
	const uint32_t len = lens[_i], tail = len < 8 ? len : 8;

	memset(bytes, 1, sizeof(bytes));
	ck_assert(remote_write(&dev->progress, &mr, IOVA, bytes, len));
	ck_assert_mem_eq(pages, bytes, len);
	ck_assert_uint_eq(pages[len], UNTOUCHED);
	ck_assert_uint_eq(num_stored, len > 8 ? 2 : 1);
	ck_assert_ptr_eq(stored[num_stored - 1].iov_base, pages + len - tail);
	ck_assert_uint_eq(stored[num_stored - 1].iov_len, tail);
}
END_TEST

/* A sender withdraws a request, and sends the next one to another process before the first owner
 * has seen the bit: the first owner leaves it. The same holds for a slot's former process. */
START_TEST(leaves_what_another_process_is_asked)
{
	uint64_t number = send_to(OTHER + 1, own_epoch(), KEY, CTL_REMOTE_WRITE, IOVA, 8);

	ck_assert_uint_eq(atomic_load(&mailbox->state), number | CTL_REMOTE_SENT);
	number = send_to(OWN, own_epoch() + 1, KEY, CTL_REMOTE_WRITE, IOVA, 8);
	ck_assert_uint_eq(atomic_load(&mailbox->state), number | CTL_REMOTE_SENT);
	ck_assert(ask(CTL_REMOTE_WRITE, IOVA, 8));
}
END_TEST

static bool waits_at_doorbell(void)
{
	struct pollfd doorbell = { .fd = dev->progress.remote_requests.doorbell_fd,
				   .events = POLLIN };

	return poll(&doorbell, 1, 0) == 1;
}

/* Both processes are this one. The thread that wakes reads every doorbell: one that is left would
 * wake it again. */
START_TEST(a_doorbell_wakes_once)
{
	struct ctl_slot *slot = &dev->attachment.shared->slot[OTHER];
	struct rxe_mr mr = region_of_other();
	uint8_t byte;

	remote_open(&dev->progress);
	memcpy(slot->doorbell, dev->attachment.shared->slot[OWN].doorbell, sizeof(slot->doorbell));
	dev->progress.remote_requests.no_vm = true;
	ck_assert(!waits_at_doorbell());
	ck_assert(!remote_read(&dev->progress, &mr, IOVA, &byte, 1));
	ck_assert(waits_at_doorbell());
	remote_doorbell_rang(&dev->progress);
	ck_assert(!waits_at_doorbell());
	remote_close(&dev->progress);
}
END_TEST

static uint32_t num_modified;

static void qp_modified(struct progress *progress, struct rxe_qp *qp)
{
	(void)progress, (void)qp;
	num_modified++;
}

/* In ERR and in RESET a queue pair sends nothing: the ACK that it has delayed leaves first, and the
 * program that modifies it asks again. */
START_TEST(an_xrc_target_sends_its_ack_before_it_ends)
{
	static const enum rxe_qp_state states[] = { RXE_QPS_ERR, RXE_QPS_RESET, RXE_QPS_RTS };
	static const struct progress_owner owner = { .qp_modified = qp_modified };
	struct rxe_engine *engine = dev->progress.engine;
	struct rxe_qp *qp = calloc(1, sizeof(*qp));
	const struct remote_qp name = { .qpn = OWN << RXE_SLOT_SHIFT | 1, .xrcd = DOMAIN };
	struct remote_qp_call call = { .mask = RXE_QP_STATE };

	ck_assert_ptr_nonnull(qp);
	*qp = (struct rxe_qp){ .qpn = name.qpn, .type = RXE_QPT_XRC_RECV, .xrcd = DOMAIN };
	qp->state = RXE_QPS_SQD;
	qp->rc.reply.ack_delay_until_ns = 4711;
	engine->qp[name.qpn % RXE_MAX_QP] = qp;
	dev->progress.owner = &owner;
	call.attr.qp_state = states[_i];
	ck_assert(progress_lock(&dev->progress));
	ck_assert(remote_qp_run(&dev->progress, CTL_REMOTE_QP_MODIFY, &name, &call));
	pthread_mutex_unlock(&dev->progress.lock);
	if (states[_i] == RXE_QPS_RTS) {
		ck_assert(!call.is_busy);
		ck_assert_uint_eq(qp->rc.reply.ack_delay_until_ns, 4711);
	} else {
		ck_assert(call.is_busy);
		ck_assert_uint_eq(qp->rc.reply.ack_delay_until_ns, RXE_NEVER);
		ck_assert_ptr_eq(engine->ready, qp);
		ck_assert_uint_eq(num_modified, 0);
	}
	engine->qp[name.qpn % RXE_MAX_QP] = NULL;
	free(qp);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remote");
	TCase *tcase = tcase_create("remote");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, reaches_its_region_and_no_more);
	tcase_add_test(tcase, is_read_once);
	tcase_add_test(tcase, an_srq_takes_one_completion_for_each_receive);
	tcase_add_test(tcase, a_slow_owner_is_waited_for);
	tcase_add_test(tcase, requests_store_the_last_word_last);
	tcase_add_test(tcase, what_the_kernel_refuses_the_owner_is_asked_for);
	tcase_add_loop_test(tcase, the_memory_of_another_program_is_left_alone, 0, 2);
	tcase_add_test(tcase, unmapped_memory_is_not_asked_for);
	tcase_add_loop_test(tcase, the_kernel_stores_the_last_word_last, 0, 4);
	tcase_add_test(tcase, a_doorbell_wakes_once);
	tcase_add_loop_test(tcase, an_xrc_target_sends_its_ack_before_it_ends, 0, 3);
	tcase_add_test(tcase, leaves_what_another_process_is_asked);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
