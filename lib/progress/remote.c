// SPDX-License-Identifier: MIT
/* Memory of another process. Plain copies go through the kernel (process_vm_readv(2)) where that is allowed; all others, and
 * atomics always, are errands: the owner's engine runs them, in whichever of its threads runs the engine next.
 *
 * Who waits for an errand holds his own engine's lock, and runs what others send to him meanwhile: two that wait for each
 * other both get on. So he stands still for a moment only. If the owner has not begun by then, the errand is taken back, and
 * the access is late: the engine asks again, while everything else of this process goes on. An owner whom the moment was too
 * short for, but who moves, is given longer the next time; one who does not move is not asked before he does, and after
 * PATIENCE_NS what is asked of him fails. */
#include "lib/progress/remote.h"

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
#include "lib/progress/log.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote_srq.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"

#define PATIENCE_NS    500000000u /* an owner that has been stopped is waited for no longer */
#define ALLOW_ASKED_NS 100000000u /* for a receive: the peer would be sent away for as long */
#define ALLOW_NS       1000000u	  /* standing still, at first */
#define SPIN_NS	       30000u
#define RING_AGAIN_NS  5000000u
#define SLEEP_NS       20000
#define NAME_OFFSET    offsetof(struct sockaddr_un, sun_path)

static struct ctl_slot *slot_of(const struct progress *progress, uint32_t slot)
{
	return &progress->attachment->shared->slot[slot];
}

static struct ctl_remote_requests *errands(const struct progress *progress)
{
	return &progress->attachment->shared->errands;
}

/* Something that only this process has at that place (a child after fork() has another number). */
static uint64_t cookie;

static void show_cookie(struct ctl_slot *slot)
{
	if (getrandom(&cookie, sizeof(cookie), 0) != sizeof(cookie))
		cookie = 0; /* then others must ask */
	slot->cookie = cookie;
	slot->cookie_at = (uintptr_t)&cookie;
}

/* The kernel chooses a name in the abstract namespace that nobody has; it stands in our slot. */
void remote_open(struct progress *progress)
{
	struct remote_requests *own = &progress->errands;
	struct ctl_slot *slot = slot_of(progress, progress->attachment->slot);
	const char *no_vm = getenv("RXE_DM_NO_VM");
	struct ctl_remote_request *sheet = &errands(progress)->sheet[progress->attachment->slot];
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(name);

	*own = (struct remote_requests){ .no_vm = no_vm && *no_vm == '1' };
	/* Behind the last process in this slot, whose errand may still be run. */
	own->number = atomic_load(&sheet->state) / (CTL_REMOTE_PHASE + 1);
	show_cookie(slot);
	own->bell_fd =
		descriptor_keep(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	memset(slot->bell, 0, sizeof(slot->bell));
	if (own->bell_fd < 0 || bind(own->bell_fd, (struct sockaddr *)&name, sizeof(sa_family_t)) ||
	    getsockname(own->bell_fd, (struct sockaddr *)&name, &len) || len <= NAME_OFFSET ||
	    len - NAME_OFFSET >= sizeof(slot->bell)) {
		rxe_log(RXE_LOG_WARNING,
			"no socket for errands (%s): other processes cannot reach "
			"memory that this one registers",
			strerror(errno));
		return;
	}
	memcpy(slot->bell + 1, name.sun_path, len - NAME_OFFSET);
	slot->bell[0] = (uint8_t)(len - NAME_OFFSET);
}

void remote_close(struct progress *progress)
{
	struct remote_requests *own = &progress->errands;

	descriptor_close(own->bell_fd);
	own->bell_fd = -1;
}

void remote_heard(struct progress *progress)
{
	char c[16];

	while (descriptor_is_kept(progress->errands.bell_fd) &&
	       recv(progress->errands.bell_fd, c, sizeof(c), MSG_DONTWAIT) >= 0)
		;
}

/* A full queue means that it has been rung already. */
static void ring(struct progress *progress, uint32_t owner)
{
	const struct ctl_slot *slot = slot_of(progress, owner);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	size_t len = slot->bell[0];

	if (len == 0 || len >= sizeof(slot->bell) || !descriptor_is_kept(progress->errands.bell_fd))
		return;
	memcpy(name.sun_path, slot->bell + 1, len);
	sendto(progress->errands.bell_fd, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
	       (struct sockaddr *)&name, (socklen_t)(NAME_OFFSET + len));
}

/* What is asked, read once: who sent it may write on, and what was checked must be what is done. */
struct asked {
	uint32_t op, key, len;
	uint64_t iova, compare_or_add, swap;
};

static void read_once(struct asked *ret, const struct ctl_remote_request *e)
{
	ret->op = __atomic_load_n(&e->op, __ATOMIC_RELAXED);
	ret->key = __atomic_load_n(&e->key, __ATOMIC_RELAXED);
	ret->len = __atomic_load_n(&e->len, __ATOMIC_RELAXED);
	ret->iova = __atomic_load_n(&e->iova, __ATOMIC_RELAXED);
	ret->compare_or_add = __atomic_load_n(&e->compare_or_add, __ATOMIC_RELAXED);
	ret->swap = __atomic_load_n(&e->swap, __ATOMIC_RELAXED);
}

/* The region that the errand names, if it is ours and has room for it. */
static const struct rxe_mr *find_own(const struct progress *progress, const struct asked *asked)
{
	const struct rxe_mr *mr = rxe_mr_find(&progress->attachment->shared->mrs, asked->key);

	if (!mr || mr->kind != RXE_MR_PLAIN || mr->owner != progress->attachment->slot ||
	    rxe_mr_check(mr, mr->pd, 0, asked->iova, asked->len) != MR_OK)
		return NULL;
	return mr;
}

static bool run_atomic(struct progress *progress, const struct rxe_mr *mr,
		       const struct asked *asked, struct ctl_remote_request *e)
{
	uint64_t orig;

	if (asked->len != sizeof(orig) ||
	    !memory_host_atomic(progress, mr, asked->iova,
				asked->op == CTL_REMOTE_CMP_SWAP ? RXE_CMP_SWAP : RXE_FETCH_ADD,
				asked->compare_or_add, asked->swap, &orig))
		return false;
	e->orig = orig;
	return true;
}

static bool run(struct progress *progress, struct ctl_remote_request *e)
{
	const struct rxe_mr *mr;
	struct asked asked;

	read_once(&asked, e);
	if (asked.len > CTL_REMOTE_BYTES)
		return false;
	if (asked.op == CTL_REMOTE_SRQ_TAKE || asked.op == CTL_REMOTE_SRQ_DONE)
		return remote_srq_serve(progress, e, asked.op, asked.key, asked.iova, asked.len);
	mr = find_own(progress, &asked);
	if (!mr)
		return false;
	switch (asked.op) {
	case CTL_REMOTE_READ:
		return memory_host_read(progress, mr, asked.iova, e->bytes, asked.len);
	case CTL_REMOTE_WRITE:
		return memory_host_write(progress, mr, asked.iova, e->bytes, asked.len);
	case CTL_REMOTE_CMP_SWAP:
	case CTL_REMOTE_FETCH_ADD: return run_atomic(progress, mr, &asked, e);
	}
	return false;
}

static void run_from(struct progress *progress, uint32_t sender)
{
	struct ctl_remote_request *e = &errands(progress)->sheet[sender];
	uint64_t state = atomic_load(&e->state), taken;

	if ((state & CTL_REMOTE_PHASE) != CTL_REMOTE_SENT)
		return;
	taken = (state & ~(uint64_t)CTL_REMOTE_PHASE) | CTL_REMOTE_TAKEN;
	if (!atomic_compare_exchange_strong(&e->state, &state, taken))
		return;
	e->ok = run(progress, e);
	/* Not when a new process has the sender's slot meanwhile, and has begun anew. */
	atomic_compare_exchange_strong(&e->state, &taken, taken | CTL_REMOTE_DONE);
}

void remote_run(struct progress *progress)
{
	_Atomic uint64_t *from = errands(progress)->pending[progress->attachment->slot].from;

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

/* What we know of the process that has the region; a new one in the slot is a stranger. */
static struct remote_peer *peer_of(struct progress *progress, const struct rxe_mr *mr)
{
	struct remote_peer *peer = &progress->errands.peer[mr->owner];

	if (peer->epoch != mr->epoch)
		*peer = (struct remote_peer){ .epoch = mr->epoch };
	if (peer->allow_ns == 0)
		peer->allow_ns = ALLOW_NS;
	return peer;
}

/* Has it answered nothing for so long that what is asked of it fails? If not, it is only late. */
static bool has_failed_us(struct progress *progress, const struct remote_peer *peer)
{
	bool failed = clock_now_ns() - peer->lag_began_ns > PATIENCE_NS;

	progress->errands.is_deferred = !failed;
	return failed;
}

/* The owner has not begun in time, and now it never will. */
static void taken_back(struct progress *progress, struct remote_peer *peer, uint64_t now_ns)
{
	peer->deaf = true;
	if (peer->lag_began_ns == 0)
		peer->lag_began_ns = now_ns;
	has_failed_us(progress, peer);
}

/* How long to stand still for the next: longer for one who was too slow, and less again when that proves to be enough. */
static void answered(struct remote_peer *peer, uint64_t waited_ns)
{
	peer->lag_began_ns = 0;
	if (waited_ns < peer->allow_ns / 4 && peer->allow_ns > ALLOW_NS)
		peer->allow_ns /= 2;
}

/* Until it is done, or has not been begun in time, or the owner has gone. What has been begun cannot be taken back, and is over
 * in no time, but when the owner was stopped in the midst of it. */
static bool wait_for(struct progress *progress, struct ctl_remote_request *e,
		     const struct rxe_mr *mr, uint64_t sent)
{
	const uint64_t done = sent | CTL_REMOTE_DONE, idle = sent & ~(uint64_t)CTL_REMOTE_PHASE;
	uint64_t begin_ns = clock_now_ns(), rung_ns = begin_ns, now_ns = begin_ns;
	struct remote_peer *peer = peer_of(progress, mr);

	while (atomic_load(&e->state) != done) {
		uint64_t expected = sent;
		bool gone = !is_there(progress, mr->owner, mr->epoch);

		if ((gone || now_ns - begin_ns > peer->allow_ns) &&
		    atomic_compare_exchange_strong(&e->state, &expected, idle)) {
			if (!gone)
				taken_back(progress, peer, now_ns);
			return false;
		}
		if (gone || now_ns - begin_ns > PATIENCE_NS)
			return false;
		if (now_ns - rung_ns > RING_AGAIN_NS) {
			ring(progress, mr->owner);
			rung_ns = now_ns;
		}
		remote_run(progress);
		rest(now_ns - begin_ns);
		now_ns = clock_now_ns();
	}
	answered(peer, now_ns - begin_ns);
	return e->ok;
}

/* It has taken down our last knock, and found nothing behind it. */
static void has_moved(struct remote_peer *peer, uint64_t now_ns)
{
	peer->deaf = false;
	if (peer->allow_ns < PATIENCE_NS)
		peer->allow_ns *= 2;
	if (now_ns - peer->lag_began_ns > PATIENCE_NS)
		peer->lag_began_ns = 0;
}

/* The sheet is filled: off with it. Who was deaf and has not even taken down our last knock is not asked. */
static bool send_off(struct progress *progress, struct ctl_remote_request *e,
		     const struct rxe_mr *mr)
{
	uint32_t us = progress->attachment->slot;
	struct remote_requests *own = &progress->errands;
	struct remote_peer *peer = peer_of(progress, mr);
	_Atomic uint64_t *knocks = &errands(progress)->pending[mr->owner].from[us / 64];
	uint64_t knock = 1ull << (us % 64), sent;

	if (peer->deaf && (atomic_load(knocks) & knock)) {
		if (clock_now_ns() - peer->rung_ns > RING_AGAIN_NS) {
			ring(progress, mr->owner);
			peer->rung_ns = clock_now_ns();
		}
		has_failed_us(progress, peer);
		return false;
	}
	if (peer->deaf)
		has_moved(peer, clock_now_ns());
	sent = ++own->number * (CTL_REMOTE_PHASE + 1) | CTL_REMOTE_SENT;
	own->owner = mr->owner;
	own->epoch = mr->epoch;
	atomic_store(&e->state, sent);
	atomic_fetch_or(knocks, knock);
	ring(progress, mr->owner);
	return wait_for(progress, e, mr, sent);
}

/* Our sheet, or NULL: the owner has gone, or one of whom we lost patience is still writing on it. */
static struct ctl_remote_request *take_sheet(struct progress *progress, const struct rxe_mr *mr,
					     uint32_t op, uint64_t iova, size_t len)
{
	struct ctl_remote_request *e = &errands(progress)->sheet[progress->attachment->slot];
	const struct remote_requests *own = &progress->errands;

	if (!is_there(progress, mr->owner, mr->epoch))
		return NULL;
	if ((atomic_load(&e->state) & CTL_REMOTE_PHASE) == CTL_REMOTE_TAKEN &&
	    is_there(progress, own->owner, own->epoch))
		return NULL;
	e->op = op;
	e->key = atomic_load(&mr->key);
	e->iova = iova;
	e->len = (uint32_t)len;
	return e;
}

/* May the kernel be asked at all? The pid is as the server sees it: before the first copy, what stands at the address that the
 * slot names must be what the slot says, or it is another process in another pid namespace. */
static bool vm_allowed(struct progress *progress, const struct rxe_mr *mr)
{
	struct remote_peer *peer = peer_of(progress, mr);
	const struct ctl_slot *slot = slot_of(progress, mr->owner);
	uint64_t found = 0;
	struct iovec here = { &found, sizeof(found) };
	struct iovec there = { (void *)(uintptr_t)slot->cookie_at, sizeof(found) };

	if (progress->errands.no_vm)
		return false;
	if (!peer->asked) {
		peer->asked = true;
		peer->refused = process_vm_readv(atomic_load(&slot->pid), &here, 1, &there, 1, 0) !=
					sizeof(found) ||
				found == 0 || found != slot->cookie;
	}
	return !peer->refused;
}

enum vm {
	VM_DONE,
	VM_FAULT,   /* no such memory */
	VM_REFUSED, /* ask the owner */
};

static enum vm vm_copy(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		       void *bytes, size_t len, bool write)
{
	uint64_t at = mr->addr + (iova - mr->iova);
	struct iovec here = { bytes, len };
	struct iovec there = { (void *)(uintptr_t)at, len };
	pid_t pid = atomic_load(&slot_of(progress, mr->owner)->pid);
	ssize_t n;

	if (!is_there(progress, mr->owner, mr->epoch))
		return VM_FAULT;
	n = write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
		  : process_vm_readv(pid, &here, 1, &there, 1, 0);
	if (n == (ssize_t)len)
		return VM_DONE;
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		progress->errands.peer[mr->owner].refused = true;
		return VM_REFUSED;
	}
	return VM_FAULT;
}

static bool read_by_owner(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
			  uint8_t *dst, size_t len)
{
	while (len) {
		size_t n = len < CTL_REMOTE_BYTES ? len : CTL_REMOTE_BYTES;
		struct ctl_remote_request *e = take_sheet(progress, mr, CTL_REMOTE_READ, iova, n);

		if (!e || !send_off(progress, e, mr) || !memory_copy(dst, e->bytes, n))
			return false;
		iova += n;
		dst += n;
		len -= n;
	}
	return true;
}

static bool write_by_owner(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
			   const uint8_t *src, size_t len)
{
	while (len) {
		size_t n = len < CTL_REMOTE_BYTES ? len : CTL_REMOTE_BYTES;
		struct ctl_remote_request *e = take_sheet(progress, mr, CTL_REMOTE_WRITE, iova, n);

		if (!e || !memory_copy(e->bytes, src, n) || !send_off(progress, e, mr))
			return false;
		iova += n;
		src += n;
		len -= n;
	}
	return true;
}

bool remote_was_deferred(void *host)
{
	struct progress *progress = host;
	bool was = progress->errands.is_deferred;

	progress->errands.is_deferred = false;
	return was;
}

bool remote_read(struct progress *progress, const struct rxe_mr *mr, uint64_t iova, void *dst,
		 size_t len)
{
	if (vm_allowed(progress, mr)) {
		switch (vm_copy(progress, mr, iova, dst, len, false)) {
		case VM_DONE: return true;
		case VM_FAULT: return false;
		case VM_REFUSED: break;
		}
	}
	return read_by_owner(progress, mr, iova, dst, len);
}

/* What somebody may spin on is stored last: the word at the end goes by a call of its own. */
bool remote_write(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		  const void *src, size_t len)
{
	size_t tail = len < 8 ? len : 8, head = len - tail;
	uint8_t *bytes = (uint8_t *)(uintptr_t)src;
	enum vm vm = VM_DONE;

	if (!vm_allowed(progress, mr))
		return write_by_owner(progress, mr, iova, bytes, len);
	if (head)
		vm = vm_copy(progress, mr, iova, bytes, head, true);
	if (vm == VM_DONE)
		vm = vm_copy(progress, mr, iova + head, bytes + head, tail, true);
	return vm == VM_REFUSED ? write_by_owner(progress, mr, iova, bytes, len) : vm == VM_DONE;
}

bool remote_ask(struct progress *progress, uint32_t owner, uint32_t epoch, uint32_t op,
		uint32_t key, uint64_t iova, void *bytes, size_t len)
{
	const struct rxe_mr whose = { .key = key, .owner = owner, .epoch = epoch };
	struct ctl_remote_request *e = take_sheet(progress, &whose, op, iova, len);

	if (!e)
		return false;
	if (peer_of(progress, &whose)->allow_ns < ALLOW_ASKED_NS)
		peer_of(progress, &whose)->allow_ns = ALLOW_ASKED_NS;
	memcpy(e->bytes, bytes, len);
	if (!send_off(progress, e, &whose))
		return false;
	memcpy(bytes, e->bytes, len);
	return true;
}

bool remote_atomic(struct progress *progress, const struct rxe_mr *mr, uint64_t iova,
		   enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		   uint64_t *ret_orig)
{
	struct ctl_remote_request *e = take_sheet(
		progress, mr, op == RXE_CMP_SWAP ? CTL_REMOTE_CMP_SWAP : CTL_REMOTE_FETCH_ADD, iova,
		8);

	if (!e)
		return false;
	e->compare_or_add = compare_or_add;
	e->swap = swap;
	if (!send_off(progress, e, mr))
		return false;
	*ret_orig = e->orig;
	return true;
}
