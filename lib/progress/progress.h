/* SPDX-License-Identifier: MIT */
/* The host of a device's engine in this process: when the engine runs and in which thread, whose
 * memory it reaches, by which link its packets travel, how full local peers' sockets are.
 *
 * Knows no verbs object: it reports to its owner (struct progress_owner) what happened to one.
 * Called by lib/verbs.
 *
 * progress.c starts and ends the engine, turn.c locks and runs it, host.c implements the calls that
 * it makes; poll.c and thread.c are the threads that run it.
 *
 * The thread that holds the engine lock runs the engine: a thread of the program that posts or
 * polls, or the background thread. schedule.h says which and when. Lock order: the device's lock,
 * the engine lock, a completion queue's poll lock, an event queue's lock. */
#ifndef RXE_PROGRESS_H
#define RXE_PROGRESS_H

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/host.h"
#include "lib/control/client.h"
#include "lib/control/shared.h"
#include "lib/progress/link.h"
#include "lib/progress/local_peer.h"
#include "lib/progress/persist.h"
#include "lib/progress/remote.h"
#include "lib/progress/schedule.h"
#include "net/wire/train.h"

struct progress;
struct rxe_cq;
struct rxe_engine;
struct rxe_held;
struct rxe_event;
struct rxe_qp;

/* Trains that one system call sends at most. */
#define PROGRESS_TRAINS 4

/* What a thread waits for. Who raises one counts it, makes fd readable, and calls
 * progress_event_raised(). */
struct progress_event {
	int fd;
	const _Atomic uint32_t *count;
	/* The wait blocks signals; these were blocked before. */
	bool blocks_signals;
	sigset_t signals;
};

/* What progress reports to its owner, which holds the objects of programs. Under the engine lock,
 * except server_event_ready. */
struct progress_owner {
	/* An armed completion queue has a completion for which its program requested an event. */
	void (*cq_notified)(struct progress *progress, struct rxe_cq *cq);
	void (*event_raised)(struct progress *progress, const struct rxe_event *event);
	/* A queue pair entered an error state by itself. */
	void (*qp_failed)(struct progress *progress, const struct rxe_qp *qp, enum rxe_failed what,
			  uint32_t status);
	/* Another process modified an XRC target of this one. */
	void (*qp_modified)(struct progress *progress, struct rxe_qp *qp);
	/* The attachment's event_fd is readable. False: the server has exited, no event will
	 * follow. */
	bool (*server_event_ready)(struct progress *progress);
	/* The program closed descriptors of the device, which nothing can be sent or received by
	 * any more. */
	void (*descriptors_closed)(struct progress *progress);
};

struct progress {
	/* Set by progress_init(). The owner fills info and attachment before progress_start(). */
	const struct progress_owner *owner;
	const struct ctl_device *info;
	const struct ctl_attachment *attachment;

	/* The engine lock: protects everything below up to schedule. */
	pthread_mutex_t lock;
	/* NULL: not attached, or the child after fork(). */
	struct rxe_engine *engine;
	struct device_link link;
	/* Trains that the engine built; those from tx_first on wait for the kernel. */
	uint8_t *tx_mem;
	struct wire_train tx[PROGRESS_TRAINS];
	uint32_t tx_slot[PROGRESS_TRAINS]; /* whose socket each is for */
	uint32_t tx_first, tx_count;
	/* Holds requests that arrived after a missing one. The kernel gives pages as losses need
	 * them. */
	struct rxe_held *held;
	/* Consecutive receives that found packets. */
	uint32_t receives_found;
	/* When the next turn checks whether the program closed descriptors of the device. */
	uint64_t check_ns;
	uint32_t random_state;
	/* The generation of the GID table that the engine has. */
	uint32_t gids_at;
	struct credits credits;
	struct arrivals arrivals;
	/* The grace period of windows that this process closes. */
	struct grace grace;
	struct remote_requests remote_requests;
	struct persist persist;

	struct schedule schedule;

	/* The program closed descriptors of the device, as daemons do, and may have opened others
	 * with the same numbers. The device is dead: its link carries nothing more, the background
	 * thread ends, and the owner is notified. */
	_Atomic bool is_missing_descriptors;
	/* A thread sleeps on the link until an event is raised. */
	_Atomic bool is_awaiting_event;
	/* A thread opens or closes parts of the attachment: a child of fork() finds them half
	 * done. */
	_Atomic bool is_changing;

	/* The background thread, and what it waits on. Written under the engine lock. */
	_Atomic bool has_thread;
	/* Nothing comes from event_fd any more. */
	bool has_server_ended;
	/* The background thread has waited since it last ran the engine; it has stepped back since
	 * it last listened. Only that thread uses these. */
	bool has_waited, has_stepped_back;
	pthread_t thread;
	/* eventfd: the thread shall decide again. */
	int wake_fd;
	/* timerfd: a step back is over. -1: the kernel refuses timers. */
	int timer_fd;
	/* epoll: wake_fd, timer_fd, the server's events, other processes' doorbells. */
	int events_fd;
	/* epoll: events_fd and, while the thread listens, the link. */
	int all_fd;
	/* The link's descriptor there; -1: it is not. */
	int watched_fd;
};

/* A device of this process exists; it is not attached yet. owner NULL: a test that lets nothing
 * happen. */
void progress_init(struct progress *progress, const struct progress_owner *owner,
		   const struct ctl_device *info, const struct ctl_attachment *attachment);
/* The process has attached: opens the link and starts the engine. 0 or a negative errno. Under the
 * device's lock. */
int progress_start(struct progress *progress);
/* The process is about to detach: sends what peers wait for, ends the thread, frees the engine.
 * Under the device's lock. */
void progress_stop(struct progress *progress);
/* The process exits with contexts open: sends what peers wait for. Waits for no thread. */
void progress_exit(struct progress *progress);
/* In the child after fork(): the parent's engine, thread and sockets are not the child's. */
void progress_drop_in_child(struct progress *progress);
/* Waits until the engine has finished its current run: no access is under way by a key that was
 * cleared before the call. */
void progress_quiesce(struct progress *progress);

/* Takes the engine lock. False, and nothing is held: the process has no engine (the child after
 * fork()). */
bool progress_lock(struct progress *progress);
void progress_unlock(struct progress *progress);
/* The same where requests were queued and nothing else was done: no timer has changed. */
void progress_unlock_queued(struct progress *progress);
/* Whether some thread holds the engine lock. */
static inline bool progress_is_locked(struct progress *progress)
{
	if (pthread_mutex_trylock(&progress->lock) != 0)
		return true;
	pthread_mutex_unlock(&progress->lock);
	return false;
}

/* Under the lock. now_ns was also read under the lock: the engine's time never goes back. */

/* When the engine has something to do although no packet arrives. */
struct schedule_timers progress_timers(const struct progress *progress);
/* The buffer of the train that is being built. */
static inline uint8_t *progress_train_space(const struct progress *progress)
{
	assert(progress->tx_count < PROGRESS_TRAINS);
	return progress->tx_mem + (size_t)progress->tx_count * 65536;
}
/* Sends what is ready and publishes completions. Returns whether something left for a process of
 * this host. */
bool progress_transmit(struct progress *progress, uint64_t now_ns);
/* The program has not closed descriptors of the device. */
bool progress_has_descriptors(const struct progress *progress);
/* A descriptor of the device may be missing, or much depends on them: the next turn checks. */
static inline void progress_suspect_descriptors(struct progress *progress)
{
	progress->check_ns = 0;
}

enum progress_turn {
	PROGRESS_IDLE, /* nothing arrived, and nothing else was to do: all is as it was */
	PROGRESS_RAN,  /* nothing arrived */
	PROGRESS_ARRIVED,
};

/* Receives, serves timers, transmits. */
enum progress_turn progress_run(struct progress *progress, uint64_t now_ns);
/* Runs until nothing more has arrived: no packet that arrived before the call finds a later state
 * of its queue pair. */
void progress_run_dry(struct progress *progress);
/* Requests were posted: transmits, releases the lock, and may yield to the peer. was_idle: nothing
 * was under way before. */
void progress_posted(struct progress *progress, bool was_idle, uint64_t now_ns);

/* Not under the lock. */

/* As link_wait_begins(), and as link_sleep_begins(). */
bool progress_wait_begins(struct progress *progress);
bool progress_sleep_begins(struct progress *progress, uint32_t *ret_rings);

/* Runs the engine unless another thread does. Returns 0 when something arrived, or never will
 * because the process has no engine; else when the engine is due. */
uint64_t progress_poll_once(struct progress *progress);
/* The same for a thread that polls on. If its last poll found nothing, it may yield first, or sleep
 * until a packet comes or the engine is due, 2 ms at most. */
void progress_poll(struct progress *progress);
/* The same for a completion queue that was found empty. No sleep begins once a completion has come:
 * another thread took the packet. *round: the queue's own, 0 at first. False: nothing was done, as
 * the engine has just run for another queue that the program polls. */
bool progress_poll_cq(struct progress *progress, const struct rxe_cq *cq, _Atomic uint32_t *round);
/* A thread waits for an event, away_ns after it got the last one. Returns how long it polls before
 * it sleeps. */
uint64_t progress_event_awaited(struct progress *progress, uint64_t away_ns);
/* Time of the last post or poll. */
uint64_t progress_active_at_ns(struct progress *progress);
/* How long it waits by progress_wait_for_event() afterwards. */
uint64_t progress_event_wait_ns(void);
/* Runs the engine, and waits once for a packet and for the event, so that a packet wakes no other
 * thread. 0: to be called again, unless the event has come. EAGAIN: the thread shall sleep on the
 * event's descriptor alone, always from until_ns on. EINTR: a signal with a handler came, as for
 * read(2). No cancellation point. progress_event_wait_over() must follow: signals may be blocked
 * until then. */
int progress_wait_for_event(struct progress *progress, struct progress_event *event,
			    uint64_t until_ns);
void progress_event_wait_over(struct progress_event *event);
/* An event was raised: wakes the thread that waits so. Any thread, with the engine lock or
 * without. */
void progress_event_raised(struct progress *progress);
/* The calling thread is about to sleep in the kernel: the background thread takes over. */
void progress_program_will_sleep(struct progress *progress);
/* The program got a completion. has_run: progress_poll_cq() has just returned true. */
void progress_polled_found(struct progress *progress, bool has_run);

/* Asks the engine that has the queue pair, that of this process or of another. op:
 * CTL_REMOTE_QP_*. Waits for the answer. 0; -ETIMEDOUT: the process does not answer; -EIO: the
 * queue pair has ended with its process. */
int progress_qp_call(struct progress *progress, const struct remote_qp *qp, uint32_t op,
		     struct remote_qp_call *call);

/* An armed completion queue wakes a sleeping program; a disarmed one does not. Under the lock. */
void progress_cq_armed(struct progress *progress);
void progress_cq_disarmed(struct progress *progress);
/* Notifies an armed completion queue, and disarms it. Under the lock. host: struct progress. */
void progress_cq_notify(void *host, struct rxe_cq *cq);

/* Initializes the engine after the link is open. Under the engine lock. */
void host_init_engine(struct progress *progress);
/* The engine's memory (struct rxe_host_ops); host is the struct progress. The caller holds the
 * slot's gauge. */
bool host_mem_read(void *host, const struct rxe_mr *mr, uint64_t iova, void *dst, size_t len);
bool host_mem_write(void *host, const struct rxe_mr *mr, uint64_t iova, const void *src,
		    size_t len);
bool host_mem_atomic(void *host, const struct rxe_mr *mr, uint64_t iova, enum rxe_atomic_op op,
		     uint64_t compare_or_add, uint64_t swap, uint64_t *ret_orig);
/* persist.c: refuses memory of other processes and device memory. */
bool host_mem_persist(void *host, const struct rxe_mr *mr, uint64_t iova, uint64_t len,
		      uint64_t *ticket);
/* raw.c: of struct rxe_host_ops. */
void host_raw_listens(void *host, bool yes);
uint32_t host_raw_listener(void *host, uint32_t slot);

/* Reads what the server has sent. The thread does so later. Under the device's lock. */
void progress_read_server(struct progress *progress);
/* The background thread. Nothing arrives for a process without objects: it has none. 0 or a
 * negative errno; -EBADF: the program has closed descriptors of the device. Under the engine lock.
 */
int progress_thread_start(struct progress *progress);
void progress_thread_stop(struct progress *progress);
/* In the child after fork(). */
void progress_thread_forget(struct progress *progress);
/* Has it decide again. */
void progress_thread_wake(struct progress *progress);
/* The thread's step back ends later. Any thread. */
void progress_thread_postpone(struct progress *progress, uint64_t until_ns);
/* Before fork(): waits until each background thread that was created runs. What allocates memory
 * for a thread that starts, as sanitizers do, may hold a lock that the child would keep. */
void progress_threads_await_start(void);
/* In the child after fork(): it has none of these threads. */
void progress_threads_forked(void);

#endif
