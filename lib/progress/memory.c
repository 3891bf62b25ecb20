// SPDX-License-Identifier: MIT
/* Access to memory of this process, and what of it a program may register.
 *
 * A program may unmap what it has registered. Each access has a recovery point: a fault at an
 * address that the access covers returns there, and the access fails. All other faults go to the
 * handler that was installed before.
 *
 * A program may replace the handlers at any time, and may block both signals in a thread: a fault
 * would then kill the process. So the first access of a run of the engine asks the kernel for the
 * handlers and unblocks both signals. These are three system calls, 0.8 us of an 8-byte round trip
 * on each side; a thread that had both signals unblocked therefore trusts the answer for
 * CHECK_NS.
 *
 * Registration makes every page present, like an adapter that pins pages. Where the machine has too
 * little memory the answer is ENOMEM before any page is touched: the kernel would kill a program
 * for it, not necessarily this one. */
#include "lib/progress/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/control/cancel.h"
#include "net/link/clock.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* The thread sanitizer executes atomics under a lock of its own, which would stay locked after a
 * fault. */
#define MAY_FAULT __attribute__((no_sanitize("thread")))

/* Functions of the thread sanitizer's runtime, if the program has it. The runtime sees the
 * library's memcpy() and not the atomics that order it, so it would report races that are none;
 * those of adapters it does not see at all. */
__attribute__((weak)) void AnnotateIgnoreWritesBegin(const char *file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesEnd(const char *file, int line);

struct recovery {
	sigjmp_buf env;
	/* The two ranges that may fault, each of len bytes. */
	uintptr_t a, b;
	size_t len;
};

/* Read by the signal handler. initial-exec: no access to it allocates. */
static __thread struct recovery *volatile recovery __attribute__((tls_model("initial-exec")));

#define CHECK_NS 1000000u

/* Pages that one mincore(2) reports. */
#define PAGES_AT_ONCE 4096u

/* The thread handles faults until memory_turn_ends(), and then blocks again what it had blocked. */
static __thread struct {
	bool ready, blocked;
	sigset_t mask;
	uint64_t now_ns, trusted_until_ns;
} turn __attribute__((tls_model("initial-exec")));

/* Each layer is one handler of this file in front of one of the program's. A program's handler may
 * call the handler that it found installed: a lower layer. */
#define LAYERS 8

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static const int guarded[] = { SIGSEGV, SIGBUS };
/* The program's handlers, by index in guarded and layer. */
static struct sigaction former[2][LAYERS];
static unsigned int num_layers[2];

static void make_ready(void);

/* env stays as it is: zeroing its 200 bytes would cost more than a small copy. */
static inline void cover(struct recovery *ret, const void *a, const void *b, size_t len)
{
	ret->a = (uintptr_t)a;
	ret->b = (uintptr_t)b;
	ret->len = len;
}

/* The fences keep the compiler from moving the access out of arm() and disarm(). */
static inline void arm(struct recovery *here)
{
	if (!turn.ready)
		make_ready();
	if (AnnotateIgnoreWritesBegin)
		AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	recovery = here;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void disarm(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	recovery = NULL;
	if (AnnotateIgnoreWritesEnd)
		AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
}

/* The access has ended in a fault, and recovery is NULL. The thread sanitizer ended what arm()
 * began when it called the handler: a second end would stop the program. */
static bool faulted(void)
{
	return false;
}

static bool is_covered(const struct recovery *l, uintptr_t addr)
{
	return addr - l->a < l->len || addr - l->b < l->len;
}

static void pass_on(const struct sigaction *to, int sig, siginfo_t *info, void *ucontext)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	bool is_fault = info->si_code > 0;

	if (to->sa_flags & (int)SA_RESETHAND)
		sigaction(sig, &dfl, NULL);
	if (to->sa_flags & SA_SIGINFO) {
		to->sa_sigaction(sig, info, ucontext);
	} else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
		to->sa_handler(sig);
	} else if (to->sa_handler == SIG_DFL || is_fault) {
		/* No handler: with the default action installed a fault happens again, and a sent
		 * signal is sent again. */
		sigaction(sig, &dfl, NULL);
		if (!is_fault)
			raise(sig);
	}
}

static void fault(unsigned int layer, int sig, siginfo_t *info, void *ucontext)
{
	struct recovery *l = recovery;

	/* SI_KERNEL: a non-canonical address, which the kernel does not report. */
	if (l && info->si_code > 0 &&
	    (info->si_code == SI_KERNEL || is_covered(l, (uintptr_t)info->si_addr))) {
		const ucontext_t *at = ucontext;

		recovery = NULL;
		/* A handler of the program may have blocked more before it passed the signal on.
		 * Saving the mask at each recovery point would cost each access a system call. */
		pthread_sigmask(SIG_SETMASK, &at->uc_sigmask, NULL);
		siglongjmp(l->env, 1);
	}
	pass_on(&former[sig == SIGBUS][layer], sig, info, ucontext);
}

#define LAYER(n)                                                                                   \
	static void fault_##n(int sig, siginfo_t *info, void *ucontext)                            \
	{                                                                                          \
		fault(n, sig, info, ucontext);                                                     \
	}
LAYER(0)
LAYER(1)
LAYER(2)
LAYER(3)
LAYER(4)
LAYER(5)
LAYER(6)
LAYER(7)

static void (*const handler[LAYERS])(int, siginfo_t *, void *) = {
	fault_0, fault_1, fault_2, fault_3, fault_4, fault_5, fault_6, fault_7,
};

static bool is_ours(const struct sigaction *sa)
{
	for (unsigned int i = 0; (sa->sa_flags & SA_SIGINFO) && i < LAYERS; i++)
		if (sa->sa_sigaction == handler[i])
			return true;
	return false;
}

/* The layer in front of this handler of the program's, new if need be; LAYERS: none is left. */
static unsigned int layer_for(unsigned int which, const struct sigaction *theirs)
{
	struct sigaction *f = former[which];
	unsigned int i = 0;

	assert(num_layers[which] <= LAYERS);
	while (i < num_layers[which] &&
	       (f[i].sa_sigaction != theirs->sa_sigaction || f[i].sa_flags != theirs->sa_flags))
		i++;
	if (i == num_layers[which] && i < LAYERS) {
		f[i] = *theirs;
		num_layers[which]++;
	}
	return i;
}

static void guard(unsigned int which)
{
	/* SA_NODEFER: the program's handler of a fault may fault again. SA_ONSTACK: the alternate
	 * stack is the program's choice. */
	struct sigaction now, ours = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	unsigned int layer;

	if (sigaction(guarded[which], NULL, &now) || is_ours(&now))
		return;
	pthread_mutex_lock(&guard_lock);
	layer = layer_for(which, &now);
	if (layer < LAYERS) {
		ours.sa_sigaction = handler[layer];
		sigemptyset(&ours.sa_mask);
		sigaction(guarded[which], &ours, NULL);
	}
	pthread_mutex_unlock(&guard_lock);
}

void memory_guard(void)
{
	guard(0);
	guard(1);
}

static void make_ready(void)
{
	sigset_t faults;

	assert(!turn.ready && !turn.blocked);
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, &turn.mask);
	turn.blocked = sigismember(&turn.mask, SIGSEGV) || sigismember(&turn.mask, SIGBUS);
	memory_guard();
	turn.trusted_until_ns = turn.blocked ? 0 : turn.now_ns + CHECK_NS;
	turn.ready = true;
}

void memory_turn_begins(uint64_t now_ns)
{
	/* The thread's last turn has ended, and restored its signal mask. */
	assert(!turn.blocked);
	turn.now_ns = now_ns;
	turn.ready = now_ns < turn.trusted_until_ns;
}

void memory_turn_begins_now(void)
{
	memory_turn_begins(clock_now_ns());
}

void memory_turn_ends(void)
{
	if (turn.ready && turn.blocked)
		pthread_sigmask(SIG_SETMASK, &turn.mask, NULL);
	turn.ready = turn.blocked = false;
}

void memory_forked(void)
{
	pthread_mutex_init(&guard_lock, NULL);
}

bool memory_copy(void *dst, const void *src, size_t len)
{
	struct recovery here;

	cover(&here, dst, src, len);
	if (sigsetjmp(here.env, 0))
		return faulted();
	arm(&here);
	memcpy(dst, src, len);
	disarm();
	return true;
}

/* Stores an aligned word at once, after all stores before it. */
MAY_FAULT static void store_word(uint8_t *dst, const uint8_t *src, size_t size)
{
	uint64_t w8;
	uint32_t w4;
	uint16_t w2;

	switch (size) {
	case 8:
		memcpy(&w8, src, 8);
		__atomic_store_n((uint64_t *)(void *)dst, w8, __ATOMIC_RELEASE);
		return;
	case 4:
		memcpy(&w4, src, 4);
		__atomic_store_n((uint32_t *)(void *)dst, w4, __ATOMIC_RELEASE);
		return;
	case 2:
		memcpy(&w2, src, 2);
		__atomic_store_n((uint16_t *)(void *)dst, w2, __ATOMIC_RELEASE);
		return;
	default: assert(size == 1); __atomic_store_n(dst, *src, __ATOMIC_RELEASE);
	}
}

/* The largest aligned word that ends at this address and fits. */
static size_t last_word(uintptr_t end, size_t len)
{
	size_t size = 8;

	assert(len > 0);
	while (size > len || (end & (size - 1)))
		size /= 2;
	return size;
}

MAY_FAULT static void copy_in_order(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t tail = last_word((uintptr_t)dst + len, len);
	size_t head = len - tail;

	/* A short head is stored by words: memcpy() may tear aligned words. */
	if (head && head < 16) {
		while (head) {
			size_t n = last_word((uintptr_t)dst + head, head);

			head -= n;
			store_word(dst + head, src + head, n);
		}
	} else if (head) {
		memcpy(dst, src, head);
	}
	store_word(dst + len - tail, src + len - tail, tail);
}

bool memory_copy_in_order(void *dst, const void *src, size_t len)
{
	struct recovery here;

	if (len == 0)
		return true;
	cover(&here, dst, src, len);
	if (sigsetjmp(here.env, 0))
		return faulted();
	arm(&here);
	copy_in_order(dst, src, len);
	disarm();
	return true;
}

/* A compare-and-swap of a byte with itself faults where a store would, and changes nothing. (clang
 * compiles an addition of 0 to a load.) */
MAY_FAULT static bool touch(uintptr_t addr, bool write)
{
	struct recovery here = { .a = addr, .b = addr, .len = 1 };
	uint8_t *p = (uint8_t *)addr;
	uint8_t was;

	if (sigsetjmp(here.env, 0))
		return faulted();
	arm(&here);
	was = __atomic_load_n(p, __ATOMIC_RELAXED);
	if (write)
		__atomic_compare_exchange_n(p, &was, was, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	disarm();
	return true;
}

bool memory_probe(const void *addr, size_t len, bool write)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)addr & ~(page - 1);
	uintptr_t last = ((uintptr_t)addr + len - 1) & ~(page - 1);
	bool ok = true;

	memory_guard();
	if (madvise((void *)first, last - first + page,
		    write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return true;
	if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
		return false;

	/* Linux before 5.14, memory of a kind that cannot be populated, or a system call filter. */
	for (uintptr_t p = first; ok && p <= last; p += page)
		ok = touch(p, write);
	memory_turn_ends();
	return ok;
}

MAY_FAULT static uint64_t execute(uint64_t *p, enum rxe_atomic_op op, uint64_t compare_or_add,
				  uint64_t swap)
{
	uint64_t orig = compare_or_add;

	switch (op) {
	case RXE_CMP_SWAP:
		__atomic_compare_exchange_n(p, &orig, swap, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		return orig;
	case RXE_FETCH_ADD: return __atomic_fetch_add(p, compare_or_add, __ATOMIC_SEQ_CST);
	}
	return 0;
}

bool memory_atomic(uint8_t *p, enum rxe_atomic_op op, uint64_t compare_or_add, uint64_t swap,
		   uint64_t *ret_orig)
{
	struct recovery here = { .a = (uintptr_t)p, .b = (uintptr_t)p, .len = 8 };

	if ((uintptr_t)p & 7)
		return false;
	if (sigsetjmp(here.env, 0))
		return faulted();
	arm(&here);
	*ret_orig = execute((uint64_t *)(void *)p, op, compare_or_add, swap);
	disarm();
	return true;
}

/* A value of /proc/meminfo, in its unit; 0: the key is missing. */
static uint64_t meminfo(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Bytes that the machine has, and those that are available, free huge pages included. False:
 * unknown. */
static bool machine_memory(uint64_t *ret_total, uint64_t *ret_available)
{
	char text[8192];
	NO_CANCEL;
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	*ret_total = meminfo(text, "MemTotal:") << 10;
	*ret_available = (meminfo(text, "MemAvailable:") +
			  meminfo(text, "HugePages_Free:") * meminfo(text, "Hugepagesize:"))
			 << 10;
	return *ret_total != 0 && *ret_available != 0;
}

uint64_t memory_absent(const void *addr, size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)addr & ~(page - 1), end = (uintptr_t)addr + len;
	unsigned char present[PAGES_AT_ONCE];
	uint64_t absent = 0;

	while (at < end) {
		size_t pages = (end - at + page - 1) / page;

		pages = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
		/* Not mapped: memory_probe() fails. */
		if (mincore((void *)at, pages * page, present))
			return absent;
		for (size_t i = 0; i < pages; i++)
			absent += present[i] & 1 ? 0 : page;
		at += pages * page;
	}
	return absent;
}

/* Pages that are only read take no memory. Up to half of what is available passes without a count;
 * a sixteenth is kept free. */
static bool fits(const void *addr, size_t len, bool write)
{
	uint64_t total, available;

	if (!machine_memory(&total, &available))
		return true;
	if (len > total)
		return false;
	return !write || len <= available / 2 ||
	       memory_absent(addr, len) <= available - available / 16;
}

int memory_admit(const void *addr, size_t len, bool write)
{
	if (!fits(addr, len, write))
		return ENOMEM;
	return memory_probe(addr, len, write) ? 0 : EFAULT;
}
