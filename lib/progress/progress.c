// SPDX-License-Identifier: MIT
/* The engine in this process: its start and its end. */
#include "lib/progress/progress.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "emu/supported.h"
#include "lib/control/published.h"
#include "lib/control/time_slice.h"
#include "lib/control/wakeup.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/link.h"

#define EXIT_ATTEMPTS 1000

static int open_fds(struct progress *progress, const struct rxe_engine *engine)
{
	int err = descriptor_is_kept(progress->attachment->rx_fd)
			  ? device_link_open(progress, &engine->now_ns)
			  : -EBADF;

	if (err)
		return err;
	progress->wake_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (progress->wake_fd < 0) {
		err = -errno;
		device_link_close(&progress->link);
		return err;
	}
	/* A system call filter may refuse it. */
	progress->timer_fd =
		descriptor_keep(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	return 0;
}

/* Adaptive, where the C library has that: the lock is held for 1 to 10 us, less than a sleep
 * takes. */
static void init_lock(struct progress *progress)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(&progress->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void progress_init(struct progress *progress, const struct progress_owner *owner,
		   const struct ctl_device *info, const struct ctl_attachment *attachment)
{
	assert(info && attachment);
	progress->owner = owner;
	progress->info = info;
	progress->attachment = attachment;
	init_lock(progress);
	if (RXE_PERSISTENCE_SUPPORTED)
		persist_init(&progress->persist);
}

static void free_memory(struct progress *progress)
{
	free(progress->tx_mem);
	progress->tx_mem = NULL;
	free(progress->held);
	progress->held = NULL;
}

static struct rxe_engine *get_memory(struct progress *progress)
{
	struct rxe_engine *engine = calloc(1, sizeof(*engine));

	/* progress_stop() has freed those of an earlier attachment. */
	assert(!progress->engine && !progress->tx_mem && !progress->has_thread);
	progress->tx_mem = malloc((size_t)PROGRESS_TRAINS * 65536);
	progress->held = malloc(RXE_HOLD_PACKETS * sizeof(struct rxe_held));
	if (engine && progress->tx_mem && progress->held)
		return engine;
	free(engine);
	return NULL;
}

static int start(struct progress *progress)
{
	struct rxe_engine *engine = get_memory(progress);
	int err = engine ? open_fds(progress, engine) : -ENOMEM;

	if (err) {
		free(engine);
		free_memory(progress);
		return err;
	}
	progress->random_state = ((uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16) | 1;
	progress->tx_first = progress->tx_count = 0;
	progress->credits = (struct credits){ 0 };
	progress->arrivals = (struct arrivals){ 0 };
	remote_open(progress);
	ctl_published_init();
	progress->has_server_ended = false;
	progress_suspect_descriptors(progress);
	atomic_store(&progress->is_missing_descriptors, false);
	pthread_mutex_lock(&progress->lock);
	progress->engine = engine;
	host_init_engine(progress);
	schedule_attached(&progress->schedule,
			  &progress->attachment->shared->slot[progress->attachment->slot].presence);
	pthread_mutex_unlock(&progress->lock);
	return 0;
}

int progress_start(struct progress *progress)
{
	int err;

	atomic_store(&progress->is_changing, true);
	err = start(progress);
	atomic_store(&progress->is_changing, false);
	if (err)
		progress_stop(progress);
	return err;
}

/* No other thread uses the engine any more. */
static void free_all(struct progress *progress)
{
	assert(progress->engine && !progress->has_thread);
	schedule_attached(&progress->schedule, NULL);
	remote_close(progress);
	device_link_close(&progress->link);
	descriptor_close(progress->wake_fd);
	descriptor_close(progress->timer_fd);
	free(progress->engine);
	progress->engine = NULL;
	free_memory(progress);
}

/* Sends all that peers wait for. TIME_WAIT records answer for what of it gets lost. Under the
 * lock. */
static void flush(struct progress *progress)
{
	struct rxe_engine *engine = progress->engine;

	assert(engine && progress_is_locked(progress));
	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		if (engine->qp[i])
			rxe_qp_flush_delayed_ack(engine, engine->qp[i]);
	progress_suspect_descriptors(progress);
	progress_transmit(progress, clock_now_ns());
	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		if (engine->qp[i])
			rxe_time_wait_note(engine, engine->qp[i]);
}

void progress_exit(struct progress *progress)
{
	/* A thread that holds the lock when exit() is called may never release it. */
	for (int attempt = 0; attempt < EXIT_ATTEMPTS; attempt++) {
		if (pthread_mutex_trylock(&progress->lock) == 0) {
			if (progress->engine)
				flush(progress);
			pthread_mutex_unlock(&progress->lock);
			return;
		}
		sched_yield();
	}
}

void progress_stop(struct progress *progress)
{
	atomic_store(&progress->is_changing, true);
	ctl_wakeup_restore();
	progress_thread_stop(progress);
	if (RXE_PERSISTENCE_SUPPORTED)
		persist_stop(&progress->persist);
	pthread_mutex_lock(&progress->lock);
	if (progress->engine) {
		flush(progress);
		free_all(progress);
	}
	pthread_mutex_unlock(&progress->lock);
	atomic_store(&progress->is_changing, false);
}

/* What a thread of the parent was opening or closing stays allocated. */
static void forget_all(struct progress *progress)
{
	progress->engine = NULL;
	progress->tx_mem = NULL;
	progress->held = NULL;
	progress->link = (struct device_link){ 0 };
	progress->wake_fd = progress->timer_fd = -1;
	progress->all_fd = progress->events_fd = progress->watched_fd = -1;
	progress->remote_requests.doorbell_fd = -1;
	progress->has_thread = false;
	atomic_store(&progress->is_changing, false);
}

void progress_drop_in_child(struct progress *progress)
{
	init_lock(progress);
	schedule_forked(&progress->schedule);
	atomic_store(&progress->is_awaiting_event, false);
	ctl_slice_restore();
	ctl_wakeup_restore();
	if (RXE_PERSISTENCE_SUPPORTED)
		persist_init(&progress->persist);
	if (atomic_load(&progress->is_changing))
		forget_all(progress);
	if (!progress->engine)
		return;
	progress_thread_forget(progress);
	free_all(progress);
}
