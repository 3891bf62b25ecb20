// SPDX-License-Identifier: MIT
/* Access to the memory of another process. Plain copies go through the kernel (process_vm_readv(2))
 * where it permits them. All other copies, and every atomic, are remote requests: the owner's
 * engine executes them, in the thread that runs it next.
 *
 * The sender waits with its own engine lock held, and executes what others send to it meanwhile, so
 * two processes that wait for each other both make progress. The wait is short. If the owner has
 * not begun by its end, the sender withdraws the request and the access is deferred: the engine
 * tries again, and the other queue pairs of this process go on meanwhile. An owner that is slow but
 * makes progress gets a longer wait next time. An owner that makes none gets no further request
 * before it does, and after TIMEOUT_NS every access to its memory fails. */
#include "lib/progress/remote.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "emu/mr.h"
#include "lib/control/log.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"

/* An owner that answers nothing for this long counts as stopped. */
#define TIMEOUT_NS 500000000u
/* First wait for an answer; for a receive, where the peer would get an RNR NAK instead. */
#define WAIT_NS	     1000000u
#define WAIT_RECV_NS 100000000u
/* A sender that waits spins this long, then sleeps between looks at the mailbox. */
#define SPIN_NS	      30000u
#define SLEEP_NS      20000
#define RING_AGAIN_NS 5000000u
#define NAME_OFFSET   offsetof(struct sockaddr_un, sun_path)

static struct ctl_slot *slot_of(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->slot[slot];
}

static struct ctl_remote_requests *remote_requests(const struct progress *progress)
{
	return &progress->attachment->shared->remote_requests;
}

/* A random number at an address that the slot names: identifies this process (a child of fork() has
 * another number). */
static uint64_t cookie;

static void show_cookie(struct ctl_slot *slot)
{
	if (getrandom(&cookie, sizeof(cookie), 0) != sizeof(cookie))
		/* Others use remote requests then. */
		cookie = 0;
	slot->cookie = cookie;
	slot->cookie_at = (uintptr_t)&cookie;
}

/* The kernel chooses a free name in the abstract namespace; the slot publishes it. */
void remote_open(struct progress *progress)
{
	struct remote_requests *own = &progress->remote_requests;
	struct ctl_slot *slot = slot_of(progress, progress->attachment->slot);
	const char *no_vm = getenv("RXE_DM_NO_VM");
	struct ctl_remote_request *mailbox =
		&remote_requests(progress)->mailbox[progress->attachment->slot];
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(name);

	*own = (struct remote_requests){ .no_vm = no_vm && *no_vm == '1' };
	/* Continue after the slot's last process: its request may still be executing. */
	own->number = atomic_load(&mailbox->state) / (CTL_REMOTE_PHASE + 1);
	show_cookie(slot);
	own->doorbell_fd =
		descriptor_keep(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	memset(slot->doorbell, 0, sizeof(slot->doorbell));
	if (own->doorbell_fd < 0 ||
	    bind(own->doorbell_fd, (struct sockaddr *)&name, sizeof(sa_family_t)) ||
	    getsockname(own->doorbell_fd, (struct sockaddr *)&name, &len) || len <= NAME_OFFSET ||
	    len - NAME_OFFSET >= sizeof(slot->doorbell)) {
		ctl_log(CTL_LOG_WARNING,
			"cannot open a socket for remote requests (%s): other processes cannot "
			"access "
			"memory that this one registers",
			strerror(errno));
		return;
	}
	memcpy(slot->doorbell + 1, name.sun_path, len - NAME_OFFSET);
	slot->doorbell[0] = (uint8_t)(len - NAME_OFFSET);
}

void remote_close(struct progress *progress)
{
	struct remote_requests *own = &progress->remote_requests;

	descriptor_close(own->doorbell_fd);
	own->doorbell_fd = -1;
}

void remote_doorbell_rang(struct progress *progress)
{
	char c[16];

	while (descriptor_is_kept(progress->remote_requests.doorbell_fd) &&
	       recv(progress->remote_requests.doorbell_fd, c, sizeof(c), MSG_DONTWAIT) >= 0)
		;
}

/* Wakes the owner. A full queue means that a doorbell waits already. */
static void ring_doorbell(struct progress *progress, uint32_t owner)
{
	const struct ctl_slot *slot = slot_of(progress, owner);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	size_t len = slot->doorbell[0];

	if (len == 0 || len >= sizeof(slot->doorbell) ||
	    !descriptor_is_kept(progress->remote_requests.doorbell_fd))
		return;
	memcpy(name.sun_path, slot->doorbell + 1, len);
	/* QEMU's user mode makes a name longer that a 0 follows, and finds no such socket. */
	name.sun_path[len] = '.';
	sendto(progress->remote_requests.doorbell_fd, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
	       (struct sockaddr *)&name, (socklen_t)(NAME_OFFSET + len));
}

/* A request's fields, read once: the sender may change the mailbox after the check. */
struct request {
	uint32_t op, key, len;
	uint64_t iova, compare_or_add, swap;
};

static void read_once(struct request *ret, const struct ctl_remote_request *e)
{
	ret->op = __atomic_load_n(&e->op, __ATOMIC_RELAXED);
	ret->key = __atomic_load_n(&e->key, __ATOMIC_RELAXED);
	ret->len = __atomic_load_n(&e->len, __ATOMIC_RELAXED);
	ret->iova = __atomic_load_n(&e->iova, __ATOMIC_RELAXED);
	ret->compare_or_add = __atomic_load_n(&e->compare_or_add, __ATOMIC_RELAXED);
	ret->swap = __atomic_load_n(&e->swap, __ATOMIC_RELAXED);
}

/* Where the range is that the request names, if this process owns the region and it holds the
 * range. */
static uint8_t *find_own(const struct progress *progress, const struct request *request)
{
	const struct rxe_mr *mr = rxe_mr_find(&progress->attachment->shared->mrs, request->key);

	if (!mr || mr->kind != RXE_MR_PLAIN || mr->owner != progress->attachment->slot ||
	    rxe_mr_check(mr, mr->pd, 0, request->iova, request->len) != MR_OK)
		return NULL;
	return (uint8_t *)(uintptr_t)(mr->addr + (request->iova - mr->iova));
}

static bool run_atomic(uint8_t *p, const struct request *request, struct ctl_remote_request *e)
{
	const enum rxe_atomic_op op =
		request->op == CTL_REMOTE_CMP_SWAP ? RXE_CMP_SWAP : RXE_FETCH_ADD;
	uint64_t orig;

	if (request->len != sizeof(orig) ||
	    !memory_atomic(p, op, request->compare_or_add, request->swap, &orig))
		return false;
	e->orig = orig;
	return true;
}

static bool run(struct progress *progress, struct ctl_remote_request *e)
{
	struct request request;
	uint8_t *p;

	read_once(&request, e);
	if (request.len > CTL_REMOTE_BYTES)
		return false;
	if (request.op == CTL_REMOTE_SRQ_TAKE || request.op == CTL_REMOTE_SRQ_DONE)
		return remote_srq_serve(progress, e, request.op, request.key, request.iova,
					request.len);
	if (request.op == CTL_REMOTE_QP_MODIFY || request.op == CTL_REMOTE_QP_QUERY) {
		const struct remote_qp qp = { .qpn = request.key, .xrcd = (uint32_t)request.iova };

		return remote_qp_serve(progress, e, request.op, &qp, request.len);
	}
	p = find_own(progress, &request);
	if (!p)
		return false;
	switch (request.op) {
	case CTL_REMOTE_READ: return memory_copy(e->bytes, p, request.len);
	case CTL_REMOTE_WRITE: return memory_copy_in_order(p, e->bytes, request.len);
	case CTL_REMOTE_CMP_SWAP:
	case CTL_REMOTE_FETCH_ADD: return run_atomic(p, &request, e);
	}
	return false;
}

/* True for a request to this process. The sender may have withdrawn a request to this process and
 * sent one to another since it set its bit here. The owner is read after the state, and each
 * request has a state of its own, so the change of the state to TAKEN fails if the owner is of
 * another request than the state. */
static bool is_for_us(struct progress *progress, const struct ctl_remote_request *e)
{
	uint32_t us = progress->attachment->slot;

	return atomic_load(&e->owner) == us &&
	       atomic_load(&e->epoch) == atomic_load(&slot_of(progress, us)->epoch);
}

static void run_from(struct progress *progress, uint32_t sender)
{
	struct ctl_remote_request *e = &remote_requests(progress)->mailbox[sender];
	uint64_t state = atomic_load(&e->state), taken;

	if ((state & CTL_REMOTE_PHASE) != CTL_REMOTE_SENT || !is_for_us(progress, e))
		return;
	taken = (state & ~(uint64_t)CTL_REMOTE_PHASE) | CTL_REMOTE_TAKEN;
	if (!atomic_compare_exchange_strong(&e->state, &state, taken))
		return;
	e->ok = run(progress, e);
	/* Fails when a new process has taken the sender's slot and has begun its own sequence. */
	atomic_compare_exchange_strong(&e->state, &taken, taken | CTL_REMOTE_DONE);
}

/* A bit for each sender. */
static _Atomic uint64_t *senders(const struct progress *progress)
{
	return remote_requests(progress)->pending[progress->attachment->slot].from;
}

bool remote_is_asked(const struct progress *progress)
{
	_Atomic uint64_t *from = senders(progress);
	uint64_t bits = 0;

	for (uint32_t i = 0; i < RXE_MAX_SLOTS / 64; i++)
		bits |= atomic_load_explicit(&from[i], memory_order_relaxed);
	return bits != 0;
}

void remote_run(struct progress *progress)
{
	_Atomic uint64_t *from = senders(progress);

	for (uint32_t i = 0; i < RXE_MAX_SLOTS / 64; i++) {
		uint64_t bits;

		if (!atomic_load_explicit(&from[i], memory_order_relaxed))
			continue;
		bits = atomic_exchange(&from[i], 0);
		for (; bits; bits &= bits - 1)
			run_from(progress, i * 64 + (uint32_t)__builtin_ctzll(bits));
	}
}

static bool is_there(const struct progress *progress, uint32_t owner, uint32_t epoch)
{
	return owner < RXE_MAX_SLOTS && atomic_load(&slot_of(progress, owner)->pid) != 0 &&
	       atomic_load(&slot_of(progress, owner)->epoch) == epoch;
}

static void rest(uint64_t waited_ns)
{
	const struct timespec length = { .tv_nsec = SLEEP_NS };

	if (waited_ns < SPIN_NS)
		sched_yield();
	else
		nanosleep(&length, NULL);
}

/* State towards the region's owner; reset when another process has the slot. */
static struct remote_peer *peer_of(struct progress *progress, const struct rxe_mr *mr)
{
	struct remote_peer *peer = &progress->remote_requests.peer[mr->owner];

	assert(mr->owner < RXE_MAX_SLOTS && mr->owner != progress->attachment->slot);
	if (peer->epoch != mr->epoch)
		*peer = (struct remote_peer){ .epoch = mr->epoch };
	if (peer->wait_ns == 0)
		peer->wait_ns = WAIT_NS;
	return peer;
}

/* True: the owner has answered nothing for TIMEOUT_NS, and the access fails. False: the access is
 * deferred. */
static bool has_timed_out(struct progress *progress, const struct remote_peer *peer)
{
	bool failed = clock_now_ns() - peer->unanswered_since_ns > TIMEOUT_NS;

	assert(peer->unresponsive && peer->unanswered_since_ns != 0);
	progress->remote_requests.is_deferred = !failed;
	return failed;
}

/* The sender has withdrawn its request: the owner did not begin in time. */
static void withdrawn(struct progress *progress, struct remote_peer *peer, uint64_t now_ns)
{
	peer->unresponsive = true;
	if (peer->unanswered_since_ns == 0)
		peer->unanswered_since_ns = now_ns;
	has_timed_out(progress, peer);
}

/* Shortens the next wait when the owner answered well within this one. */
static void answered(struct remote_peer *peer, uint64_t waited_ns)
{
	peer->unanswered_since_ns = 0;
	if (waited_ns < peer->wait_ns / 4 && peer->wait_ns > WAIT_NS)
		peer->wait_ns /= 2;
}

/* Waits until the request is done, or the owner has not begun in time, or has exited. A request
 * that has begun cannot be withdrawn; it ends soon, unless the owner is stopped inside it. */
static bool wait_for(struct progress *progress, struct ctl_remote_request *e,
		     const struct rxe_mr *mr, uint64_t sent)
{
	const uint64_t done = sent | CTL_REMOTE_DONE, idle = sent & ~(uint64_t)CTL_REMOTE_PHASE;
	uint64_t begin_ns = clock_now_ns(), rang_ns = begin_ns, now_ns = begin_ns;
	struct remote_peer *peer = peer_of(progress, mr);

	assert((sent & CTL_REMOTE_PHASE) == CTL_REMOTE_SENT);
	while (atomic_load(&e->state) != done) {
		uint64_t expected = sent;
		bool exited = !is_there(progress, mr->owner, mr->epoch);

		if ((exited || now_ns - begin_ns > peer->wait_ns) &&
		    atomic_compare_exchange_strong(&e->state, &expected, idle)) {
			if (!exited)
				withdrawn(progress, peer, now_ns);
			return false;
		}
		if (exited || now_ns - begin_ns > TIMEOUT_NS)
			return false;
		if (now_ns - rang_ns > RING_AGAIN_NS) {
			ring_doorbell(progress, mr->owner);
			rang_ns = now_ns;
		}
		remote_run(progress);
		rest(now_ns - begin_ns);
		now_ns = clock_now_ns();
	}
	answered(peer, now_ns - begin_ns);
	return e->ok;
}

/* The owner has cleared our pending bit since: it makes progress, if too late for the request. */
static void has_made_progress(struct remote_peer *peer)
{
	peer->unresponsive = false;
	peer->unanswered_since_ns = 0;
	peer->wait_ns = 2 * peer->wait_ns < TIMEOUT_NS ? 2 * peer->wait_ns : TIMEOUT_NS;
}

/* Sends the filled mailbox and waits. An unresponsive owner that has not cleared our pending bit
 * gets no request. */
static bool send_request(struct progress *progress, struct ctl_remote_request *e,
			 const struct rxe_mr *mr)
{
	uint32_t us = progress->attachment->slot;
	struct remote_requests *own = &progress->remote_requests;
	struct remote_peer *peer = peer_of(progress, mr);
	_Atomic uint64_t *pending = &remote_requests(progress)->pending[mr->owner].from[us / 64];
	uint64_t bit = 1ull << (us % 64), sent;
	bool done;

	if (peer->unresponsive && (atomic_load(pending) & bit)) {
		if (clock_now_ns() - peer->rang_ns > RING_AGAIN_NS) {
			ring_doorbell(progress, mr->owner);
			peer->rang_ns = clock_now_ns();
		}
		has_timed_out(progress, peer);
		return false;
	}
	if (peer->unresponsive)
		has_made_progress(peer);
	sent = ++own->number * (CTL_REMOTE_PHASE + 1) | CTL_REMOTE_SENT;
	atomic_store(&e->owner, mr->owner);
	atomic_store(&e->epoch, mr->epoch);
	atomic_store(&e->state, sent);
	atomic_fetch_or(pending, bit);
	ring_doorbell(progress, mr->owner);
	own->is_waiting = true;
	done = wait_for(progress, e, mr, sent);
	own->is_waiting = false;
	return done;
}

/* Fills this process's mailbox. NULL: the owner has exited, or an owner that timed out still
 * executes our last request. */
static struct ctl_remote_request *take_mailbox(struct progress *progress, const struct rxe_mr *mr,
					       uint32_t op, uint64_t iova, size_t len)
{
	struct ctl_remote_request *e =
		&remote_requests(progress)->mailbox[progress->attachment->slot];

	assert(len > 0 && len <= CTL_REMOTE_BYTES);
	if (!is_there(progress, mr->owner, mr->epoch))
		return NULL;
	if ((atomic_load(&e->state) & CTL_REMOTE_PHASE) == CTL_REMOTE_TAKEN &&
	    is_there(progress, atomic_load(&e->owner), atomic_load(&e->epoch)))
		return NULL;
	e->op = op;
	e->key = atomic_load(&mr->key);
	e->iova = iova;
	e->len = (uint32_t)len;
	return e;
}

/* Whether the kernel permits copies to and from this owner. The server's view of the pid may be of
 * another pid namespace, so the first copy reads the owner's cookie and compares it with the
 * slot's. */
static bool vm_allowed(struct progress *progress, const struct rxe_mr *mr)
{
	struct remote_peer *peer = peer_of(progress, mr);
	const struct ctl_slot *slot = slot_of(progress, mr->owner);
	uint64_t found = 0;
	struct iovec here = { &found, sizeof(found) };
	struct iovec there = { (void *)(uintptr_t)slot->cookie_at, sizeof(found) };

	if (progress->remote_requests.no_vm)
		return false;
	if (!peer->checked) {
		peer->checked = true;
		peer->refused = process_vm_readv(atomic_load(&slot->pid), &here, 1, &there, 1, 0) !=
					sizeof(found) ||
				found == 0 || found != slot->cookie;
	}
	return !peer->refused;
}

enum vm {
	VM_DONE,
	VM_FAULT,
	/* By the kernel: send a remote request. */
	VM_REFUSED,
};

static enum vm vm_copy(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		       void *bytes, size_t len, bool write)
{
	uint64_t at = mr->addr + (iova - mr->iova);
	struct iovec here = { bytes, len };
	struct iovec there = { (void *)(uintptr_t)at, len };
	pid_t pid = atomic_load(&slot_of(progress, mr->owner)->pid);
	ssize_t n;

	if (!vm_allowed(progress, mr))
		return VM_REFUSED;
	if (!is_there(progress, mr->owner, mr->epoch))
		return VM_FAULT;
	n = write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
		  : process_vm_readv(pid, &here, 1, &there, 1, 0);
	if (n == (ssize_t)len)
		return VM_DONE;
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		progress->remote_requests.peer[mr->owner].refused = true;
		return VM_REFUSED;
	}
	return VM_FAULT;
}

/* Copies by remote requests, each as long as a mailbox. */
static bool copy_by_owner(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
			  uint8_t *bytes, size_t len, bool write)
{
	while (len) {
		const size_t n = len < CTL_REMOTE_BYTES ? len : CTL_REMOTE_BYTES;
		struct ctl_remote_request *e = take_mailbox(
			progress, mr, write ? CTL_REMOTE_WRITE : CTL_REMOTE_READ, iova, n);

		if (!e || (write && !memory_copy(e->bytes, bytes, n)) ||
		    !send_request(progress, e, mr) || (!write && !memory_copy(bytes, e->bytes, n)))
			return false;
		iova += n;
		bytes += n;
		len -= n;
	}
	return true;
}

bool remote_was_deferred(void *host)
{
	struct progress *progress = host;
	bool was = progress->remote_requests.is_deferred;

	progress->remote_requests.is_deferred = false;
	return was;
}

bool remote_read(struct progress *progress, const struct rxe_mr *mr, uint64_t iova, void *dst,
		 size_t len)
{
	const enum vm vm = vm_copy(progress, mr, iova, dst, len, false);

	return vm == VM_REFUSED ? copy_by_owner(progress, mr, iova, dst, len, false)
				: vm == VM_DONE;
}

/* The program may poll the last word, so a call of its own stores it last. */
bool remote_write(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		  const void *src, size_t len)
{
	size_t tail = len < 8 ? len : 8, head = len - tail;
	uint8_t *bytes = (uint8_t *)(uintptr_t)src;
	enum vm vm = VM_DONE;

	if (head)
		vm = vm_copy(progress, mr, iova, bytes, head, true);
	if (vm == VM_DONE)
		vm = vm_copy(progress, mr, iova + head, bytes + head, tail, true);
	return vm == VM_REFUSED ? copy_by_owner(progress, mr, iova, bytes, len, true)
				: vm == VM_DONE;
}

bool remote_ask(struct progress *progress, uint32_t owner, uint32_t epoch, uint32_t op,
		uint32_t key, uint64_t iova, void *bytes, size_t len)
{
	const struct rxe_mr whose = { .key = key, .owner = owner, .epoch = epoch };
	struct ctl_remote_request *e = take_mailbox(progress, &whose, op, iova, len);

	if (!e)
		return false;
	if (peer_of(progress, &whose)->wait_ns < WAIT_RECV_NS)
		peer_of(progress, &whose)->wait_ns = WAIT_RECV_NS;
	memcpy(e->bytes, bytes, len);
	if (!send_request(progress, e, &whose))
		return false;
	memcpy(bytes, e->bytes, len);
	return true;
}

bool remote_atomic(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		   enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		   uint64_t *ret_orig)
{
	struct ctl_remote_request *e = take_mailbox(
		progress, mr, op == RXE_CMP_SWAP ? CTL_REMOTE_CMP_SWAP : CTL_REMOTE_FETCH_ADD, iova,
		8);

	if (!e)
		return false;
	e->compare_or_add = compare_or_add;
	e->swap = swap;
	if (!send_request(progress, e, mr))
		return false;
	*ret_orig = e->orig;
	return true;
}
