// SPDX-License-Identifier: MIT
/* Running the engine: receive, timers, transmit, publish. All the engine's calls to the outside end here. */
#include "lib/progress/progress.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "emu/engine.h"
#include "lib/control/cancel.h"
#include "lib/diagnose/failure.h"
#include "lib/progress/credits.h"
#include "lib/progress/delayed_ack.h"
#include "lib/progress/fault.h"
#include "lib/progress/memory.h"
#include "lib/progress/remote.h"
#include "lib/progress/remote_srq.h"
#include "lib/verbs/async.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/objects.h"
#include "net/wire/opcode.h"

#define ACK_HOLD_NS    20000u
#define PROBE_NS       8000000u /* longer than a program is kept from its processor as a rule */
#define ARRIVALS       (2 * TRAIN_MAX_SEGS)
#define EXIT_ATTEMPTS  1000
#define RECEIVE_ROUNDS 4
#define A_FEW	       8
#define KEEP_COMING    3 /* looks running */

uint64_t dm_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static _Atomic uint32_t *gauge(struct dm_device *dev)
{
	return &dev->attachment.shared->slot[dev->attachment.slot].inside;
}

bool dm_pump_lock(struct dm_device *dev)
{
	pthread_mutex_lock(&dev->pump.lock);
	if (!dev->pump.engine) {
		pthread_mutex_unlock(&dev->pump.lock);
		return false;
	}
	return true;
}

bool dm_pump_lock_for(struct dm_device *dev, uint32_t forks)
{
	return forks == dm_forks() && dm_pump_lock(dev);
}

/* A deadline within microseconds is an ACK that waits for a request to ride behind. Who polls will see to it; the thread is
 * not woken for each, but looks every millisecond while there are any. */
static uint64_t thread_deadline(struct dm_pump *pump)
{
	uint64_t deadline = rxe_engine_deadline(pump->engine);
	uint64_t now_ns = pump->engine->now_ns;
	uint64_t fault_ns = dm_wire_deadline(&pump->wire);

	if (deadline > now_ns + ACK_HOLD_NS || fault_ns < now_ns + DM_PUMP_TICK_NS)
		return deadline < fault_ns ? deadline : fault_ns;
	atomic_store_explicit(&pump->held_at_ns, now_ns, memory_order_relaxed);
	return now_ns + DM_PUMP_TICK_NS;
}

void dm_pump_unlock(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	uint64_t deadline = thread_deadline(pump);
	bool expecting = pump->engine->open_wrs != 0;
	bool earlier =
		deadline < atomic_load_explicit(&pump->thread_wakes_ns, memory_order_relaxed);

	if (earlier)
		atomic_store_explicit(&pump->thread_wakes_ns, deadline, memory_order_relaxed);
	if (expecting != atomic_load_explicit(&pump->expecting, memory_order_relaxed))
		atomic_store_explicit(&pump->expecting, expecting, memory_order_relaxed);
	pthread_mutex_unlock(&pump->lock);
	if (earlier)
		dm_pump_thread_kick(pump);
}

void dm_pump_quiesce(struct dm_device *dev)
{
	pthread_mutex_lock(&dev->pump.lock);
	pthread_mutex_unlock(&dev->pump.lock);
}

/* Trains that wait for the kernel go first. False: it still takes none. */
static bool send_built(struct dm_pump *pump)
{
	while (pump->tx_first < pump->tx_count) {
		int sent = dm_wire_send(&pump->wire, &pump->tx[pump->tx_first],
					pump->tx_count - pump->tx_first);

		if (sent <= 0)
			return false;
		pump->tx_first += (uint32_t)sent;
	}
	pump->tx_first = pump->tx_count = 0;
	dm_owed_sent(pump);
	return true;
}

static void build(struct dm_pump *pump, uint64_t now_ns)
{
	uint16_t max_segs = dm_wire_max_segs(&pump->wire);

	while (pump->tx_count < DM_PUMP_TRAINS) {
		struct wire_train *train = &pump->tx[pump->tx_count];

		*train = (struct wire_train){
			.buf = pump->tx_mem + (size_t)pump->tx_count * 65536,
			.max_segs = max_segs,
		};
		if (!rxe_engine_output(pump->engine, train, now_ns))
			break;
		pump->sent_to_neighbour |= dm_wire_same_host(&pump->wire, &train->dst);
		pump->tx_count++;
	}
}

static void transmit(struct dm_pump *pump, uint64_t now_ns)
{
	uint32_t built;

	do {
		if (!send_built(pump))
			break;
		build(pump, now_ns);
		built = pump->tx_count;
	} while (send_built(pump) && built == DM_PUMP_TRAINS);
	rxe_engine_settle(pump->engine);
}

void dm_pump_transmit(struct dm_device *dev, uint64_t now_ns)
{
	NO_CANCEL;

	atomic_fetch_add(gauge(dev), 1);
	transmit(&dev->pump, now_ns);
	dm_memory_turn_ends();
	atomic_fetch_sub(gauge(dev), 1);
}

static bool has_op(const struct wire_arrival *arrival, enum wire_op from, enum wire_op to)
{
	return arrival->len && arrival->p[0] >= opcode_make(WIRE_RC, from) &&
	       arrival->p[0] <= opcode_make(WIRE_RC, to);
}

/* An ACK rides behind the peer's own request in one train. It goes first here, so that a program sees its request complete before
 * the answer to it arrives, as with an ACK that came by itself. Never before a read's or an atomic's answer: it would tell that
 * this was lost. */
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

static bool receive(struct dm_device *dev, uint64_t now_ns)
{
	struct dm_pump *pump = &dev->pump;
	struct wire_arrival arrivals[ARRIVALS];
	bool any = false;

	for (int round = 0; round < RECEIVE_ROUNDS; round++) {
		int n = dm_wire_recv(&pump->wire, arrivals, ARRIVALS);

		if (pump->wire.is_dry)
			dm_room_empty(dev, now_ns);
		input(pump->engine, arrivals, n, now_ns);
		any |= n > 0;
		pump->looks_found = n > 0 ? pump->looks_found + 1 : 0;
		/* A few packets are answered at once, for looking for more would delay the answer; not where they keep coming. */
		if (n <= 0 || (n < A_FEW && pump->looks_found < KEEP_COMING))
			break;
	}
	return any;
}

bool dm_pump_run(struct dm_device *dev, uint64_t now_ns)
{
	struct dm_pump *pump = &dev->pump;
	bool any;
	NO_CANCEL;

	atomic_fetch_add(gauge(dev), 1);
	any = receive(dev, now_ns);
	dm_errands_run(dev);
	if (rxe_engine_deadline(pump->engine) <= now_ns)
		rxe_engine_expire(pump->engine, now_ns);
	transmit(pump, now_ns);
	dm_memory_turn_ends();
	atomic_fetch_sub(gauge(dev), 1);
	return any;
}

static uint32_t host_random(void *host)
{
	struct dm_pump *pump = &((struct dm_device *)host)->pump;
	uint32_t x = pump->random_state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return pump->random_state = x;
}

static const struct rxe_host_ops host_ops = {
	.mem_read = dm_mem_read,
	.mem_write = dm_mem_write,
	.mem_atomic = dm_mem_atomic,
	.is_late = dm_errand_was_late,
	.cq_notify = dm_cq_notify,
	.event = dm_async_from_engine,
	.random = host_random,
	.room = dm_room_left,
	.offered = dm_room_offered,
	.failed = dm_failure,
	.srq_find = dm_srq_find,
	.srq_take = dm_srq_take,
	.srq_done = dm_srq_done,
	.completing = dm_fault_completing,
	.owe = dm_owed_note,
	.paid = dm_owed_paid,
};

static void init_engine(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	struct ctl_shared *shared = dev->attachment.shared;
	struct rxe_engine_cfg cfg = {
		.ops = &host_ops,
		.host = dev,
		.mrs = &shared->mrs,
		.counters = &shared->slot[dev->attachment.slot].counters,
		.slot = dev->attachment.slot,
		.max_mtu = dev->info.max_mtu,
		.ack_hold_ns = ACK_HOLD_NS,
		.probe_ns = PROBE_NS,
		.qpn_last = atomic_load(&shared->slot[dev->attachment.slot].qpn_roll),
		.qpn_key = shared->slot[dev->attachment.slot].qpn_key,
		.gone = &shared->slot[dev->attachment.slot].gone,
	};

	memcpy(cfg.gids, dev->info.gids, sizeof(cfg.gids));
	cfg.num_tx_ports = dm_wire_tx_ports(&pump->wire, cfg.tx_ports, RXE_MAX_TX_PORTS);
	rxe_engine_init(pump->engine, &cfg);
	pump->gids_at = 1; /* none */
	dm_gids_follow(dev);
	dm_fault_follow(dev);
}

static int open_fds(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	int err = dm_wire_open(dev);

	if (err)
		return err;
	pump->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pump->wake_fd < 0) {
		err = -errno;
		dm_wire_close(&pump->wire);
	}
	return err;
}

/* Adaptive: the lock is held for a microsecond or ten, and a sleep costs more than that. */
void dm_pump_init(struct dm_pump *pump)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&pump->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int dm_pump_start(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;
	struct rxe_engine *engine = calloc(1, sizeof(*engine));
	int err = open_fds(dev);

	pump->tx_mem = malloc((size_t)DM_PUMP_TRAINS * 65536);
	if (!err && (!engine || !pump->tx_mem)) {
		dm_wire_close(&pump->wire);
		close(pump->wake_fd);
		err = -ENOMEM;
	}
	if (err) {
		free(engine);
		free(pump->tx_mem);
		pump->tx_mem = NULL;
		return err;
	}
	pump->random_state = ((uint32_t)dm_now_ns() ^ (uint32_t)getpid() << 16) | 1;
	pump->tx_first = pump->tx_count = 0;
	pump->room = (struct dm_room){ 0 };
	pump->epoll_fd = pump->calm_fd = -1;
	dm_errands_open(dev);
	(void)dm_async_from_server(
		dev); /* a capture that is under way shall have the first packet too */
	atomic_store(&pump->stopping, false);
	atomic_store(&pump->dozing, 0); /* after fork(), of threads that stayed with the parent */
	atomic_store(&pump->thread_wakes_ns, UINT64_MAX);
	pthread_mutex_lock(&pump->lock);
	pump->engine = engine;
	init_engine(dev);
	/* Also for a program that makes no queue pair: it may wait for the device's own events. */
	err = dm_pump_thread_start(dev);
	pthread_mutex_unlock(&pump->lock);
	if (err)
		dm_pump_stop(dev);
	return err;
}

/* The thread is gone and nobody else comes. */
static void free_all(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;

	dm_errands_close(dev);
	dm_wire_close(&pump->wire);
	close(pump->wake_fd);
	free(pump->engine);
	pump->engine = NULL;
	free(pump->tx_mem);
	pump->tx_mem = NULL;
}

/* Under the lock: all that peers wait for leaves now, and what of it is lost is left to those who answer for us. */
static void flush(struct dm_device *dev)
{
	struct rxe_engine *engine = dev->pump.engine;

	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		if (engine->qp[i])
			rxe_qp_release_ack(engine, engine->qp[i]);
	dm_pump_transmit(dev, dm_now_ns());
	for (uint32_t i = 0; i < RXE_MAX_QP; i++)
		if (engine->qp[i])
			rxe_gone_note(engine, engine->qp[i]);
}

void dm_pump_exit(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;

	/* A thread that exit() found inside may never come out. */
	for (int attempt = 0; attempt < EXIT_ATTEMPTS; attempt++) {
		if (pthread_mutex_trylock(&pump->lock) == 0) {
			if (pump->engine)
				flush(dev);
			pthread_mutex_unlock(&pump->lock);
			return;
		}
		sched_yield();
	}
}

void dm_pump_stop(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;

	dm_pump_thread_stop(pump);
	pthread_mutex_lock(&pump->lock);
	if (pump->engine) {
		flush(dev);
		free_all(dev);
	}
	pthread_mutex_unlock(&pump->lock);
}

void dm_pump_drop_in_child(struct dm_device *dev)
{
	struct dm_pump *pump = &dev->pump;

	dm_pump_init(pump);
	dm_async_forked(dev);
	if (!pump->engine)
		return;
	if (pump->has_thread)
		dm_pump_thread_forget(pump);
	pump->has_thread = false;
	free_all(dev);
}
