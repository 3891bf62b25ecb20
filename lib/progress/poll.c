// SPDX-License-Identifier: MIT
/* Threads of the program: run the engine from their own calls, and carry out what schedule.h
 * decides for them. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/cq.h"
#include "emu/engine.h"
#include "emu/min.h"
#include "lib/control/time_slice.h"
#include "lib/control/wakeup.h"
#include "lib/progress/measure.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "net/link/clock.h"
#include "net/link/link.h"

/* Another thread runs the engine, and may find the packet. */
#define ENGINE_BUSY_NS 50000u
#define NS_PER_S       1000000000
/* A process that answers nothing for this long counts as stopped. */
#define QP_CALL_NS 2000000000u

/* Returns as ppoll(2), and errno. -1: no such descriptor. A bare system call: ppoll() would end a
 * thread that the program cancels here. */
static long wait_on(int link_fd, int fd, uint64_t ns, bool *ret_link_is_ready)
{
	struct pollfd fds[] = {
		{ .fd = link_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};
	const struct timespec timeout = { .tv_nsec = (long)ns };
	long ready;

	assert(ns < NS_PER_S);
	ready = syscall(SYS_ppoll, fds, 2, &timeout, NULL, (size_t)0);
	*ret_link_is_ready = ready > 0 && fds[0].revents;
	return ready;
}

/* What a thread waits for: that the word has another value. NULL: only packets. Another thread may
 * take the packet meanwhile, so the thread looks again before it sleeps. */
struct awaited {
	const _Atomic uint32_t *word;
	uint32_t value;
};

static bool has_come(struct awaited awaited)
{
	return awaited.word && atomic_load(awaited.word) != awaited.value;
}

static long wait_on_link(struct progress *progress, int fd, struct awaited awaited, uint64_t ns)
{
	bool arrived = progress_wait_begins(progress);
	long ready = 1;

	if (!arrived && !has_come(awaited))
		ready = wait_on(link_wait_fd(progress->link.phy), fd, ns, &arrived);
	link_wait_ended(progress->link.phy, arrived);
	arrivals_waited(progress, arrived);
	return ready;
}

/* Without the wait descriptor. False: the time is over. */
static bool sleep_without_descriptor(struct progress *progress, struct awaited awaited, uint64_t ns)
{
	struct link *link = progress->link.phy;
	bool woken = true;
	uint32_t rings;

	if (!progress_sleep_begins(progress, &rings) && !has_come(awaited))
		woken = link_sleep(link, rings, ns);
	link_wait_ended(link, false);
	return woken;
}

/* Pairs with progress_event_raised(): either that call finds is_awaiting_event and ends the sleep,
 * or the event was counted before, and the thread does not sleep. */
static void sleep_until_event(struct progress *progress, struct awaited awaited, uint64_t ns)
{
	atomic_store(&progress->is_awaiting_event, true);
	sleep_without_descriptor(progress, awaited, ns);
	atomic_store(&progress->is_awaiting_event, false);
}

static void set_wake_up(const struct schedule_decision *decision)
{
	if (decision->lets_others_go_on)
		ctl_wakeup_defer();
	else
		ctl_wakeup_restore();
}

static void sleep_on_link(struct progress *progress, const struct schedule_decision *decision,
			  struct awaited awaited, uint64_t now_ns)
{
	const uint64_t ns = decision->until_ns - now_ns;
	bool woken;

	assert(decision->until_ns >= now_ns);
	set_wake_up(decision);
	if (decision->shortens_slice)
		ctl_slice_shorten();
	if (link_can_sleep(progress->link.phy))
		woken = sleep_without_descriptor(progress, awaited, ns);
	else
		woken = wait_on_link(progress, -1, awaited, ns) != 0;
	schedule_sleep_returned(&progress->schedule, decision, !woken);
}

/* Whether a read(2) would end with EINTR once these signals, or some of them, are let through. */
static bool any_interrupts(const sigset_t *pending, const sigset_t *blocked)
{
	struct sigaction action;

	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(pending, signal) == 1 && sigismember(blocked, signal) == 0 &&
		    sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
		    action.sa_handler != SIG_IGN && !(action.sa_flags & SA_RESTART))
			return true;
	return false;
}

/* Returns the time afterwards. */
static uint64_t yield(struct progress *progress, const struct schedule_decision *decision,
		      uint64_t asked_ns)
{
	uint64_t now_ns;

	if (decision->measures)
		asked_ns = measure_call(&progress->schedule);
	ctl_wakeup_restore();
	sched_yield();
	now_ns = clock_now_ns();
	if (schedule_yield_returned(&progress->schedule, decision, asked_ns, now_ns))
		ctl_slice_shorten();
	return now_ns;
}

static void carry_out(struct progress *progress, struct schedule_decision decision, uint64_t now_ns)
{
	switch (decision.action) {
	case SCHEDULE_NOTHING: return;
	case SCHEDULE_YIELD: yield(progress, &decision, now_ns); return;
	case SCHEDULE_WAKE_BACKGROUND: progress_thread_wake(progress); return;
	case SCHEDULE_WAIT_ON_LINK:
	case SCHEDULE_STEP_BACK:
	case SCHEDULE_LOOK_AT_LINK:
	case SCHEDULE_RUN_ENGINE:
	case SCHEDULE_EXIT:
	case SCHEDULE_SLEEP: break;
	}
	assert(false && "a decision that others carry out");
}

/* Small requests that wait for more while packets are in flight leave nothing to do. */
static bool has_output(const struct progress *progress)
{
	return progress->tx_count > 0 || !rxe_engine_is_settled(progress->engine);
}

void progress_posted(struct progress *progress, bool was_idle, uint64_t now_ns)
{
	bool to_local_peer;
	int cpu;

	assert(progress->engine);
	cpu = sched_getcpu();
	schedule_posted(&progress->schedule, now_ns, cpu);
	schedule_engine_runs(&progress->schedule, now_ns, cpu);
	if (!has_output(progress)) {
		progress_unlock_queued(progress);
		return;
	}
	to_local_peer = progress_transmit(progress, now_ns);
	progress_unlock(progress);
	/* While more requests are under way, the program has more to do itself. */
	if (to_local_peer && was_idle)
		carry_out(progress, schedule_sent_to_local_peer(&progress->schedule, now_ns),
			  now_ns);
}

/* *ret_is_busy: another thread runs the engine, and due_ns is not known. */
static uint64_t run_engine(struct progress *progress, uint64_t now_ns, int cpu, bool *ret_is_busy)
{
	enum progress_turn turn;
	uint64_t due_ns;

	*ret_is_busy = pthread_mutex_trylock(&progress->lock) != 0;
	if (*ret_is_busy)
		return now_ns + ENGINE_BUSY_NS;
	if (!progress->engine) {
		pthread_mutex_unlock(&progress->lock);
		return 0;
	}
	/* Another thread may have run it since the clock was read. */
	if (now_ns < progress->engine->now_ns)
		now_ns = progress->engine->now_ns;
	schedule_engine_runs(&progress->schedule, now_ns, cpu);
	turn = progress_run(progress, now_ns);
	if (turn == PROGRESS_ARRIVED)
		carry_out(progress, schedule_packet_arrived(&progress->schedule), now_ns);
	due_ns = rxe_engine_deadline(progress->engine);
	if (turn == PROGRESS_IDLE)
		pthread_mutex_unlock(&progress->lock);
	else
		progress_unlock(progress);
	return turn == PROGRESS_ARRIVED ? 0 : due_ns;
}

static uint64_t poll_once(struct progress *progress, bool *ret_is_busy)
{
	const uint64_t now_ns = clock_now_ns();
	const int cpu = sched_getcpu();

	schedule_polled(&progress->schedule, now_ns, cpu);
	return run_engine(progress, now_ns, cpu, ret_is_busy);
}

uint64_t progress_poll_once(struct progress *progress)
{
	bool is_busy;

	return poll_once(progress, &is_busy);
}

/* Returns the time afterwards. */
static uint64_t back_off(struct progress *progress, const struct schedule_decision *decision,
			 struct awaited awaited, uint64_t now_ns)
{
	if (decision->action == SCHEDULE_YIELD)
		return yield(progress, decision, now_ns);
	assert(decision->action == SCHEDULE_SLEEP);
	sleep_on_link(progress, decision, awaited, now_ns);
	return clock_now_ns();
}

/* Not inlined: few polls call it. */
static void __attribute__((noinline))
postpone_background(struct progress *progress, uint64_t now_ns, uint64_t due_ns)
{
	const uint64_t until_ns = schedule_postponed(&progress->schedule, now_ns, due_ns);

	if (until_ns)
		progress_thread_postpone(progress, until_ns);
}

static void poll_for(struct progress *progress, struct awaited awaited, uint64_t now_ns)
{
	struct schedule *schedule = &progress->schedule;
	int cpu = sched_getcpu();
	const struct schedule_decision before = schedule_poll_began(schedule, now_ns, cpu);
	struct schedule_decision after;
	uint64_t due_ns;
	bool is_busy;

	if (before.action != SCHEDULE_NOTHING) {
		now_ns = back_off(progress, &before, awaited, now_ns);
		if (has_come(awaited))
			return;
		cpu = sched_getcpu();
		schedule_polled(schedule, now_ns, cpu);
	}
	due_ns = run_engine(progress, now_ns, cpu, &is_busy);
	if (schedule_postpones(schedule, now_ns))
		postpone_background(progress, now_ns, due_ns);
	after = schedule_looked(schedule, &before, now_ns, has_come(awaited) ? 0 : due_ns);
	if (after.action != SCHEDULE_NOTHING)
		back_off(progress, &after, awaited, now_ns);
}

void progress_poll(struct progress *progress)
{
	poll_for(progress, (struct awaited){ 0 }, clock_now_ns());
}

bool progress_poll_cq(struct progress *progress, const struct rxe_cq *cq, _Atomic uint32_t *round)
{
	/* Only the calling thread takes completions. */
	const struct awaited awaited = { &cq->visible, cq->head };
	const uint64_t now_ns = clock_now_ns();

	if (!schedule_begins_round(&progress->schedule, round, now_ns))
		return false;
	poll_for(progress, awaited, now_ns);
	return true;
}

uint64_t progress_event_awaited(struct progress *progress, uint64_t away_ns)
{
	return schedule_event_awaited(&progress->schedule, away_ns);
}

uint64_t progress_active_at_ns(struct progress *progress)
{
	return schedule_active_at_ns(&progress->schedule);
}

uint64_t progress_event_wait_ns(void)
{
	return schedule_event_wait_ns();
}

/* Signals wait meanwhile, and until the event is taken: ppoll(2) returns for those of SA_RESTART
 * too, and does not say which one came. */
static void block_signals(struct progress_event *event)
{
	sigset_t most;

	if (event->blocks_signals)
		return;
	sigfillset(&most);
	/* Accesses to memory that the program unmapped raise these. */
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &most, &event->signals);
	event->blocks_signals = true;
}

static bool is_interrupted(const struct progress_event *event)
{
	sigset_t pending;

	return event->blocks_signals && sigpending(&pending) == 0 &&
	       any_interrupts(&pending, &event->signals);
}

/* Also takes what ended the sleep. 0 or EINTR. */
static int sleep_without_signals(struct progress *progress, struct progress_event *event,
				 uint64_t ns, bool on_link)
{
	const struct awaited awaited = { event->count, 0 };
	bool is_ready;

	block_signals(event);
	if (!on_link)
		wait_on(-1, event->fd, ns, &is_ready);
	else if (link_can_sleep(progress->link.phy))
		sleep_until_event(progress, awaited, ns);
	else
		wait_on_link(progress, event->fd, awaited, ns);
	progress_poll_once(progress);
	return !atomic_load(event->count) && is_interrupted(event) ? EINTR : 0;
}

static int poll_and_wait(struct progress *progress, struct progress_event *event, uint64_t until_ns)
{
	bool is_busy;
	const uint64_t due_ns = min_u64(poll_once(progress, &is_busy), until_ns);
	const uint64_t now_ns = schedule_active_at_ns(&progress->schedule);

	if (schedule_postpones(&progress->schedule, now_ns))
		postpone_background(progress, now_ns, due_ns);
	if (now_ns >= until_ns)
		return is_interrupted(event) ? EINTR : EAGAIN;
	if (due_ns <= now_ns)
		return 0;
	/* The thread that runs the engine takes what the link has, and may wait for this
	 * processor. */
	return sleep_without_signals(progress, event, due_ns - now_ns, !is_busy);
}

int progress_wait_for_event(struct progress *progress, struct progress_event *event,
			    uint64_t until_ns)
{
	const struct schedule_decision decision = schedule_event_wait_began(&progress->schedule);
	int err;

	if (decision.action == SCHEDULE_NOTHING)
		return EAGAIN;
	set_wake_up(&decision);
	err = poll_and_wait(progress, event, until_ns);
	schedule_event_wait_ended(&progress->schedule);
	return err;
}

void progress_event_wait_over(struct progress_event *event)
{
	if (event->blocks_signals)
		pthread_sigmask(SIG_SETMASK, &event->signals, NULL);
	event->blocks_signals = false;
}

void progress_event_raised(struct progress *progress)
{
	if (atomic_load(&progress->is_awaiting_event))
		link_wake(progress->link.phy);
}

void progress_program_will_sleep(struct progress *progress)
{
	ctl_wakeup_restore();
	carry_out(progress, schedule_program_will_sleep(&progress->schedule), 0);
}

void progress_polled_found(struct progress *progress, bool has_run)
{
	const bool needs_time = !has_run && schedule_expects_more(&progress->schedule);

	/* The program may spin on its own memory next. */
	if (schedule_polled_found(&progress->schedule,
				  needs_time ? clock_now_ns()
					     : schedule_active_at_ns(&progress->schedule)))
		ctl_slice_restore();
}

enum answer {
	ANSWERED,
	ENDED,
	AGAIN,
};

static enum answer ask_qp(struct progress *progress, const struct remote_qp *qp, uint32_t op,
			  struct remote_qp_call *call)
{
	const uint32_t slot = qp->qpn >> RXE_SLOT_SHIFT;
	enum answer answer = ENDED;
	bool done;

	if (!progress_lock(progress))
		return ENDED;
	if (slot == progress->attachment->slot)
		done = remote_qp_run(progress, op, qp, call);
	else
		done = remote_ask(progress, slot, qp->epoch, op, qp->qpn, qp->xrcd, call,
				  sizeof(*call));
	if (done)
		answer = call->is_busy ? AGAIN : ANSWERED;
	else if (remote_was_deferred(progress))
		answer = AGAIN;
	/* What was modified, or must be sent first, leaves. */
	progress_transmit(progress, clock_now_ns());
	progress_unlock(progress);
	return answer;
}

int progress_qp_call(struct progress *progress, const struct remote_qp *qp, uint32_t op,
		     struct remote_qp_call *call)
{
	const uint64_t until_ns = clock_now_ns() + QP_CALL_NS;

	for (;;) {
		switch (ask_qp(progress, qp, op, call)) {
		case ANSWERED: return 0;
		case ENDED: return -EIO;
		case AGAIN: break;
		}
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		sched_yield();
	}
}
