// SPDX-License-Identifier: MIT
/* Runs the engine: receive, timers, transmit, publish. Implements the engine's calls to its
 * host. */
#include "lib/progress/progress.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/cancel.h"
#include "lib/progress/credits.h"
#include "lib/progress/delayed_ack.h"
#include "lib/progress/fault.h"
#include "lib/progress/memory.h"
#include "lib/progress/remote.h"
#include "lib/progress/remote_srq.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/link.h"
#include "net/wire/opcode.h"

/* Longer than a program is usually kept from its processor. */
#define PROBE_NS       8000000u
#define ARRIVALS       (2 * TRAIN_MAX_SEGS)
#define EXIT_ATTEMPTS  1000
#define RECEIVE_ROUNDS 4
/* How often the descriptors are checked. */
#define CHECK_NS 1000000u
/* Fewer arrivals are answered before the link is asked again, unless this many receives in a row
 * found some. */
#define FEW_ARRIVALS  8
#define MANY_RECEIVES 3

/* Raised while the engine may touch memory: a deregistration in another process waits for it. */
static _Atomic uint32_t *gauge(struct progress *progress)
{
	return &progress->attachment->shared->slot[progress->attachment->slot].inside;
}

bool progress_lock(struct progress *progress)
{
	pthread_mutex_lock(&progress->lock);
	if (!progress->engine) {
		pthread_mutex_unlock(&progress->lock);
		return false;
	}
	return true;
}

void progress_unlock(struct progress *progress)
{
	const struct rxe_engine *engine = progress->engine;
	const struct schedule_timers timers = {
		.engine_ns = rxe_engine_deadline(engine),
		.link_ns = link_deadline(progress->link.top),
	};
	const struct schedule_decision decision = schedule_engine_released(
		&progress->schedule, engine->now_ns, &timers, engine->open_wrs != 0);

	pthread_mutex_unlock(&progress->lock);
	if (decision.action == SCHEDULE_WAKE_BACKGROUND)
		progress_thread_wake(progress);
}

void progress_quiesce(struct progress *progress)
{
	pthread_mutex_lock(&progress->lock);
	pthread_mutex_unlock(&progress->lock);
}

/* Sends the trains that wait. False: the kernel takes no more now. */
static bool send_built(struct progress *progress)
{
	while (progress->tx_first < progress->tx_count) {
		int sent = device_link_send(&progress->link, &progress->tx[progress->tx_first],
					    progress->tx_count - progress->tx_first);

		if (sent <= 0)
			return false;
		progress->tx_first += (uint32_t)sent;
	}
	progress->tx_first = progress->tx_count = 0;
	delayed_ack_sent(progress);
	return true;
}

/* Returns whether a train is for a process of this host. */
static bool build(struct progress *progress, uint64_t now_ns)
{
	bool to_local_peer = false;
	uint16_t max_segs = link_max_segs(progress->link.phy);

	while (progress->tx_count < PROGRESS_TRAINS) {
		struct wire_train *train = &progress->tx[progress->tx_count];

		*train = (struct wire_train){
			.buf = progress->tx_mem + (size_t)progress->tx_count * 65536,
			.max_segs = max_segs,
		};
		if (!rxe_engine_output(progress->engine, train, now_ns))
			break;
		to_local_peer |= link_is_local(progress->link.phy, &train->dst);
		progress->tx_count++;
	}
	return to_local_peer;
}

static bool transmit(struct progress *progress, uint64_t now_ns)
{
	bool to_local_peer = false;
	uint32_t built;

	do {
		if (!send_built(progress))
			break;
		to_local_peer |= build(progress, now_ns);
		built = progress->tx_count;
	} while (send_built(progress) && built == PROGRESS_TRAINS);
	rxe_engine_settle(progress->engine);
	return to_local_peer;
}

static bool has_descriptors(const struct progress *progress)
{
	if (progress->has_thread &&
	    (!descriptor_is_kept(progress->all_fd) || !descriptor_is_kept(progress->events_fd)))
		return false;
	return descriptor_is_kept(progress->wake_fd) &&
	       descriptor_is_kept(progress->attachment->event_fd) &&
	       descriptor_is_kept(progress->remote_requests.doorbell_fd) &&
	       link_has_descriptors(progress->link.phy);
}

/* Some programs close all descriptors, as daemons do, and open others, which get the same
 * numbers. */
static void check_descriptors(struct progress *progress, uint64_t now_ns)
{
	if (now_ns < progress->check_ns || atomic_load(&progress->closed))
		return;
	progress->check_ns = now_ns + CHECK_NS;
	if (has_descriptors(progress))
		return;
	progress->link.is_closed = true;
	atomic_store(&progress->closed, true);
	progress->owner->descriptors_closed(progress);
}

bool progress_transmit(struct progress *progress, uint64_t now_ns)
{
	bool to_local_peer;
	NO_CANCEL;

	check_descriptors(progress, now_ns);
	atomic_fetch_add(gauge(progress), 1);
	memory_turn_begins(now_ns);
	to_local_peer = transmit(progress, now_ns);
	memory_turn_ends();
	atomic_fetch_sub(gauge(progress), 1);
	return to_local_peer;
}

static bool has_op(const struct wire_arrival *arrival, enum wire_op from, enum wire_op to)
{
	return arrival->len && arrival->p[0] >= opcode_make(WIRE_RC, from) &&
	       arrival->p[0] <= opcode_make(WIRE_RC, to);
}

/* A delayed ACK follows the peer's own request in one train. The engine gets the ACK first, so that
 * a program sees its request complete before the peer's answer arrives, as with an ACK that travels
 * alone. An ACK never overtakes a READ or atomic response: it would imply that the response was
 * lost. */
static void input(struct rxe_engine *engine, const struct wire_arrival *arrivals, int n,
		  uint64_t now_ns)
{
	int answers = 0;

	while (answers < n && !has_op(&arrivals[answers], OP_READ_RESP_FIRST, OP_READ_RESP_ONLY) &&
	       !has_op(&arrivals[answers], OP_ATOMIC_ACK, OP_ATOMIC_ACK))
		answers++;
	for (int i = 0; i < answers; i++)
		if (has_op(&arrivals[i], OP_ACKNOWLEDGE, OP_ACKNOWLEDGE))
			rxe_engine_input(engine, &arrivals[i], now_ns);
	for (int i = 0; i < n; i++)
		if (i >= answers || !has_op(&arrivals[i], OP_ACKNOWLEDGE, OP_ACKNOWLEDGE))
			rxe_engine_input(engine, &arrivals[i], now_ns);
}

static bool receive(struct progress *progress, uint64_t now_ns)
{
	struct wire_arrival arrivals[ARRIVALS];
	bool any = false;

	for (int round = 0; round < RECEIVE_ROUNDS; round++) {
		int n = device_link_receive(&progress->link, arrivals, ARRIVALS);

		if (n < 0)
			progress->check_ns = 0;
		if (progress->link.is_dry)
			credits_socket_empty(progress, now_ns);
		input(progress->engine, arrivals, n, now_ns);
		any |= n > 0;
		progress->receives_found = n > 0 ? progress->receives_found + 1 : 0;
		if (n <= 0 || (n < FEW_ARRIVALS && progress->receives_found < MANY_RECEIVES))
			break;
	}
	return any;
}

bool progress_run(struct progress *progress, uint64_t now_ns)
{
	bool any;
	NO_CANCEL;

	check_descriptors(progress, now_ns);
	atomic_fetch_add(gauge(progress), 1);
	memory_turn_begins(now_ns);
	any = receive(progress, now_ns);
	remote_run(progress);
	if (rxe_engine_deadline(progress->engine) <= now_ns)
		rxe_engine_expire(progress->engine, now_ns);
	transmit(progress, now_ns);
	memory_turn_ends();
	atomic_fetch_sub(gauge(progress), 1);
	return any;
}

static uint32_t host_random(void *host)
{
	struct progress *progress = host;
	uint32_t x = progress->random_state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return progress->random_state = x;
}

void progress_cq_armed(struct progress *progress)
{
	schedule_cq_armed(&progress->schedule);
}

void progress_cq_disarmed(struct progress *progress)
{
	schedule_cq_disarmed(&progress->schedule);
}

void progress_cq_notify(void *host, struct rxe_cq *cq)
{
	struct progress *progress = host;

	progress_cq_disarmed(progress);
	progress->owner->cq_notified(progress, cq);
}

static void host_event(void *host, const struct rxe_event *event)
{
	struct progress *progress = host;

	progress->owner->event_raised(progress, event);
}

static void host_failed(void *host, const struct rxe_qp *qp, enum rxe_failed what, uint32_t status)
{
	struct progress *progress = host;

	progress->owner->qp_failed(progress, qp, what, status);
}

struct gid progress_gid(const struct progress *progress, uint32_t index)
{
	const struct ctl_shared *shared = progress->attachment->shared;
	uint32_t before;
	struct gid ret;

	/* The table changes between two odd moments of the generation. */
	do {
		before = atomic_load(&shared->faults.generation);
		ret = shared->gids[index];
		atomic_thread_fence(memory_order_acquire);
	} while (before & 1 || atomic_load(&shared->faults.generation) != before);
	return ret;
}

void progress_follow_gids(struct progress *progress)
{
	const uint32_t now = atomic_load(&progress->attachment->shared->faults.generation);

	if (now == progress->gids_at)
		return;
	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++)
		progress->engine->cfg.gids[i] = progress_gid(progress, i);
	progress->gids_at = now & ~1u;
}

static const struct rxe_host_ops host_ops = {
	.mem_read = memory_host_read,
	.mem_write = memory_host_write,
	.mem_atomic = memory_host_atomic,
	.is_deferred = remote_was_deferred,
	.cq_notify = progress_cq_notify,
	.event = host_event,
	.random = host_random,
	.credits = credits_left,
	.credits_spent = credits_spent,
	.failed = host_failed,
	.srq_find = remote_srq_find,
	.srq_take = remote_srq_take,
	.srq_done = remote_srq_done,
	.completing = faults_completing,
	.delay_ack = delayed_ack_note,
	.ack_sent = delayed_ack_emitted,
};

static void init_engine(struct progress *progress)
{
	struct ctl_shared *shared = progress->attachment->shared;
	struct rxe_engine_cfg cfg = {
		.ops = &host_ops,
		.host = progress,
		.mrs = &shared->mrs,
		.counters = &shared->slot[progress->attachment->slot].counters,
		.slot = progress->attachment->slot,
		.max_mtu = progress->info->max_mtu,
		.ack_delay_ns = SCHEDULE_ACK_HOLD_NS,
		.probe_ns = PROBE_NS,
		.qpn_last = atomic_load(&shared->slot[progress->attachment->slot].qpn_roll),
		.qpn_key = shared->slot[progress->attachment->slot].qpn_key,
		.time_wait = &shared->slot[progress->attachment->slot].time_wait,
	};

	memcpy(cfg.gids, progress->info->gids, sizeof(cfg.gids));
	cfg.num_tx_ports = link_tx_ports(progress->link.phy, cfg.tx_ports, RXE_MAX_TX_PORTS);
	rxe_engine_init(progress->engine, &cfg);
	progress->gids_at = 1; /* no generation: the table has an odd one only while it changes */
	progress_follow_gids(progress);
	faults_follow(&progress->link.faults);
}

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
	}
	return err;
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
	progress->owner = owner;
	progress->info = info;
	progress->attachment = attachment;
	init_lock(progress);
}

int progress_start(struct progress *progress)
{
	struct rxe_engine *engine = calloc(1, sizeof(*engine));
	int err = engine ? open_fds(progress, engine) : -ENOMEM;

	progress->tx_mem = malloc((size_t)PROGRESS_TRAINS * 65536);
	if (!err && !progress->tx_mem) {
		device_link_close(&progress->link);
		descriptor_close(progress->wake_fd);
		err = -ENOMEM;
	}
	if (err) {
		free(engine);
		free(progress->tx_mem);
		progress->tx_mem = NULL;
		return err;
	}
	progress->random_state = ((uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16) | 1;
	progress->tx_first = progress->tx_count = 0;
	progress->credits = (struct credits){ 0 };
	progress->all_fd = progress->events_fd = -1;
	remote_open(progress);
	/* A capture that is under way gets the first packet, too. */
	(void)progress->owner->server_event_ready(progress);
	progress->check_ns = 0;
	atomic_store(&progress->closed, false);
	pthread_mutex_lock(&progress->lock);
	progress->engine = engine;
	init_engine(progress);
	/* A program without queue pairs may wait for events of the device. */
	err = progress_thread_start(progress);
	pthread_mutex_unlock(&progress->lock);
	if (err)
		progress_stop(progress);
	return err;
}

/* No other thread uses the engine any more. */
static void free_all(struct progress *progress)
{

	remote_close(progress);
	device_link_close(&progress->link);
	descriptor_close(progress->wake_fd);
	free(progress->engine);
	progress->engine = NULL;
	free(progress->tx_mem);
	progress->tx_mem = NULL;
}

/* Sends all that peers wait for. TIME_WAIT records answer for what of it gets lost. Under the
 * lock. */
static void flush(struct progress *progress)
{
	struct rxe_engine *engine = progress->engine;

	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		if (engine->qp[i])
			rxe_qp_flush_delayed_ack(engine, engine->qp[i]);
	progress->check_ns = 0;
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

	progress_thread_stop(progress);
	pthread_mutex_lock(&progress->lock);
	if (progress->engine) {
		flush(progress);
		free_all(progress);
	}
	pthread_mutex_unlock(&progress->lock);
}

void progress_drop_in_child(struct progress *progress)
{

	init_lock(progress);
	schedule_forked(&progress->schedule);
	if (!progress->engine)
		return;
	if (progress->has_thread)
		progress_thread_forget(progress);
	progress->has_thread = false;
	free_all(progress);
}
