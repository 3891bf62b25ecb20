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
#include "net/wire/train.h"

struct progress;
struct rxe_cq;
struct rxe_engine;
struct rxe_event;
struct rxe_qp;

#define PROGRESS_TICK_NS   1000000u /* how long an ACK is held at most, if nobody polls */
#define PROGRESS_NAP_AFTER 8
#define PROGRESS_TRAINS	   4 /* built before one system call sends them */

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
};

struct progress {
	/* Set by progress_init(): of the device, whose owner fills them before progress_start(). */
	const struct progress_owner *owner;
	const struct ctl_device *info;
	const struct ctl_attachment *attachment;

	pthread_mutex_t lock;	   /* the engine lock: all that follows, but for atomics */
	struct rxe_engine *engine; /* NULL: not attached, or the child after a fork() */
	struct vb_wire wire;
	uint8_t *tx_mem;
	struct wire_train tx[PROGRESS_TRAINS];
	uint32_t tx_first, tx_count; /* built, and not yet taken by the kernel */
	bool sent_to_local_peer; /* something left for a process of this host: who posts looks, and yields to it */
	uint32_t looks_found; /* running, up to the last look into the socket */
	uint32_t random_state;
	uint32_t gids_at; /* the generation that the engine's GIDs are of */
	uint32_t
		owed_leaving; /* bit i: ctl_slot.owed[i] is in a train that the kernel has not taken yet */
	struct credits room;		/* how full other processes' sockets are */
	struct remote_requests errands; /* in other processes' memory, and theirs in ours */

	/* When a thread of the program last polled; 0 once it found something and expects nothing more: it may now do anything,
	 * such as spin on its own memory. */
	_Atomic uint64_t polled_at_ns;
	/* When and on which processor a thread of the program last posted or polled. */
	_Atomic uint64_t active_at_ns;
	_Atomic int active_cpu;
	_Atomic bool listening; /* the background thread waits on the link: each packet wakes it */
	_Atomic bool napping;	/* it is deaf to the link */
	_Atomic uint32_t armed; /* CQs that will want it when the program sleeps */
	/* Arrivals that polling threads found since the background thread last found one: up to PROGRESS_NAP_AFTER. */
	_Atomic uint32_t polled_arrivals;
	_Atomic bool expecting; /* requests are posted whose completions have not come */
	_Atomic uint64_t no_yield_until_ns; /* nobody wanted the processor just now */
	_Atomic uint64_t crowded_until_ns;  /* more want a processor than there are (pump_poll.c) */
	_Atomic uint64_t doze_ns;    /* how long the next poller that finds nothing sleeps then */
	_Atomic uint32_t dozing;     /* pollers that sleep on the link: each packet wakes them */
	_Atomic uint64_t held_at_ns; /* when an ACK was last held back, to ride behind a request */
	_Atomic uint64_t thread_wakes_ns; /* when the background thread looks at the timers next */
	_Atomic bool stopping;
	bool has_thread;
	pthread_t thread;
	int wake_fd;  /* eventfd: stop, or an earlier deadline */
	int epoll_fd; /* the link and calm_fd */
	int calm_fd;  /* epoll: wake_fd, the server's events, and what other processes ask */
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
/* Under the lock, as is the moment that now_ns was asked for: the engine's time never goes back.
 * Send what is ready and publish completions. */
void progress_transmit(struct progress *progress, uint64_t now_ns);
/* Under the lock. Receive, serve timers, transmit. True when something arrived. */
bool progress_run(struct progress *progress, uint64_t now_ns);
/* Not under the lock: a CQ was found empty. Runs the engine if nobody else does. 0 when something arrived, or nothing ever will;
 * else when the engine is due. */
uint64_t progress_poll_once(struct progress *progress);
/* And found empty again: gives the processor away for a moment; on a crowded machine until a packet comes or the engine is due, or
 * for 250 us. */
void progress_back_off(struct progress *progress, uint64_t due_ns);
/* Both, for who waits for other things than a completion. */
void progress_poll(struct progress *progress);
/* The calling thread is about to sleep in the kernel: the background thread is needed. */
void progress_program_will_sleep(struct progress *progress);
/* The program found a completion: it will poll again if it expects more. */
void progress_polled_found(struct progress *progress);
/* An armed completion queue wakes a sleeping program; a disarmed one does not. Under the lock. */
void progress_cq_armed(struct progress *progress);
void progress_cq_disarmed(struct progress *progress);
/* Notifies an armed completion queue, and disarms it. Under the lock. host: struct progress. */
void progress_cq_notify(void *host, struct rxe_cq *cq);

/* One entry of the device's GID table as it is now; and the engine takes over the whole table, under the lock. */
struct gid progress_gid(const struct progress *progress, uint32_t index);
void progress_follow_gids(struct progress *progress);

/* A thread of the program is here. */
void progress_active(struct progress *progress, uint64_t now_ns);
/* Offer the processor to whoever we sent to, unless that has proved dear. */
void progress_yield(struct progress *progress, uint64_t now_ns);

/* The background thread. 0 or a negative errno. Under the engine lock. */
int progress_thread_start(struct progress *progress);
void progress_thread_stop(struct progress *progress);
/* In the child after fork(). */
void progress_thread_forget(struct progress *progress);
/* Look at the timers anew. */
void progress_thread_kick(struct progress *progress);

/* In the child after fork(): the parent's engine and sockets are not ours. */
void progress_drop_in_child(struct progress *progress);

#endif
