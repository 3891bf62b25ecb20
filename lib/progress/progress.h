/* SPDX-License-Identifier: MIT */
/* What moves the packets of a device in this process: the engine, its lock, its link, the thread in the background.
 *
 * Whoever holds the lock runs the engine: a posting thread from its own call, a polling thread that found its CQ empty, else
 * the background thread. Lock order: the device's lock, engine lock, a CQ's poll lock, an event queue's lock. */
#ifndef RXE_PROGRESS_H
#define RXE_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/host.h"
#include "lib/control/client.h"
#include "lib/progress/credits.h"
#include "lib/progress/link.h"
#include "lib/progress/remote.h"
#include "lib/progress/schedule.h"
#include "net/wire/train.h"

struct progress;
struct rxe_cq;
struct rxe_engine;
struct rxe_event;
struct rxe_qp;

#define PROGRESS_TRAINS 4 /* built before one system call sends them */

/* What progress tells its owner, who holds the objects of programs. Under the engine lock, except server_event_ready. */
struct progress_owner {
	/* An armed completion queue has a completion that its program asked to hear of. */
	void (*cq_notified)(struct progress *progress, struct rxe_cq *cq);
	void (*event_raised)(struct progress *progress, const struct rxe_event *event);
	/* A queue pair entered an error state by itself. */
	void (*qp_failed)(struct progress *progress, const struct rxe_qp *qp, enum rxe_failed what,
			  uint32_t status);
	/* The attachment's event_fd is readable. False: the server has exited, no event will follow. */
	bool (*server_event_ready)(struct progress *progress);
	/* The program closed descriptors of the device, which nothing can be sent or received by any more. */
	void (*descriptors_closed)(struct progress *progress);
};

struct progress {
	/* Set by progress_init(): of the device, whose owner fills them before progress_start(). */
	const struct progress_owner *owner;
	const struct ctl_device *info;
	const struct ctl_attachment *attachment;

	pthread_mutex_t lock;	   /* the engine lock: all that follows, but for atomics */
	struct rxe_engine *engine; /* NULL: not attached, or the child after a fork() */
	struct device_link link;
	uint8_t *tx_mem;
	struct wire_train tx[PROGRESS_TRAINS];
	uint32_t tx_first, tx_count; /* built, and not yet taken by the kernel */
	uint32_t looks_found;	     /* running, up to the last look into the socket */
	uint64_t check_ns; /* when to check next whether the program closed our descriptors */
	uint32_t random_state;
	uint32_t gids_at; /* the generation that the engine's GIDs are of */
	uint32_t
		owed_leaving; /* bit i: ctl_slot.owed[i] is in a train that the kernel has not taken yet */
	struct credits room;		/* how full other processes' sockets are */
	struct remote_requests errands; /* in other processes' memory, and theirs in ours */

	struct schedule schedule; /* not under the lock */

	_Atomic bool closed; /* the program closed our descriptors: their numbers are not ours */
	bool has_thread;
	pthread_t thread;
	int wake_fd;   /* eventfd: the background thread shall decide again */
	int events_fd; /* epoll: wake_fd, the server's events, other processes' doorbells */
	int all_fd;    /* epoll: events_fd and the link */
};

/* A device of this process exists; it is not attached yet. */
void progress_init(struct progress *progress, const struct progress_owner *owner,
		   const struct ctl_device *info, const struct ctl_attachment *attachment);
/* The device is attached: engine and link come to life. 0 or a negative errno. Under the device's lock. */
int progress_start(struct progress *progress);
/* The last context goes: everything owed is flushed, nothing of it runs any more. Under the device's lock. */
void progress_stop(struct progress *progress);
/* The process exits without having closed its contexts: what its peers wait for is sent. Waits for nobody. */
void progress_exit(struct progress *progress);
/* When it returns the engine has finished what it was at: nobody is inside memory whose key was cleared before. */
void progress_quiesce(struct progress *progress);

/* Take the engine. False: there is none in this process (a child after fork()): nothing is held then. */
bool progress_lock(struct progress *progress);
void progress_unlock(struct progress *progress);
/* Under the lock, under which now_ns was read, too: the engine's time never goes back. */

/* Sends what is ready and publishes completions. Returns whether something left for a process of this host. */
bool progress_transmit(struct progress *progress, uint64_t now_ns);
/* Receives, serves timers, transmits. Returns whether something arrived. */
bool progress_run(struct progress *progress, uint64_t now_ns);
/* Requests were posted: transmits, releases the lock, and may yield to the peer. was_idle: nothing was under way before. */
void progress_posted(struct progress *progress, bool was_idle, uint64_t now_ns);

/* Not under the lock. */

/* A completion queue was found empty: runs the engine unless another thread does. Returns 0 when something arrived, or never will
 * because the process has no engine; else when the engine is due. */
uint64_t progress_poll_once(struct progress *progress);
/* The completion queue is still empty: may yield, or sleep until a packet comes or the engine is due, 250 us at most. */
void progress_back_off(struct progress *progress, uint64_t due_ns);
/* Both, for a thread that waits for something else than a completion. */
void progress_poll(struct progress *progress);
/* The calling thread is about to sleep in the kernel: the background thread takes over. */
void progress_program_will_sleep(struct progress *progress);
/* The program got a completion. */
void progress_polled_found(struct progress *progress);

/* An armed completion queue wakes a sleeping program; a disarmed one does not. Under the lock. */
void progress_cq_armed(struct progress *progress);
void progress_cq_disarmed(struct progress *progress);
/* Notifies an armed completion queue, and disarms it. Under the lock. host: struct progress. */
void progress_cq_notify(void *host, struct rxe_cq *cq);

/* One entry of the device's GID table as it is now; and the engine takes over the whole table, under the lock. */
struct gid progress_gid(const struct progress *progress, uint32_t index);
void progress_follow_gids(struct progress *progress);

/* The background thread. 0 or a negative errno. Under the engine lock. */
int progress_thread_start(struct progress *progress);
void progress_thread_stop(struct progress *progress);
/* In the child after fork(). */
void progress_thread_forget(struct progress *progress);
/* Has it decide again. */
void progress_thread_wake(struct progress *progress);

/* In the child after fork(): the parent's engine and sockets are not ours. */
void progress_drop_in_child(struct progress *progress);

#endif
