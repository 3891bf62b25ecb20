// SPDX-License-Identifier: MIT
/* The engine lock, and one turn of the engine under it: receive, remote requests, timers, transmit,
 * publish. */
#include <assert.h>
#include <stdatomic.h>

#include "emu/engine.h"
#include "emu/supported.h"
#include "lib/control/cancel.h"
#include "lib/progress/eventfd.h"
#include "lib/progress/link.h"
#include "lib/progress/local_peer.h"
#include "lib/progress/memory.h"
#include "lib/progress/progress.h"
#include "lib/progress/remote.h"
#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/link.h"
#include "net/wire/opcode.h"

#define ARRIVALS       (2 * TRAIN_MAX_SEGS)
#define RECEIVE_ROUNDS 4
/* Fewer arrivals are answered before the link is asked again, unless this many receives in a row
 * found some. */
#define FEW_ARRIVALS  8
#define MANY_RECEIVES 3
/* Trains leave once this many bytes wait: the peer works on them while the next are built. */
#define SEND_BYTES 32768u
/* Turns after which progress_run_dry() ends although packets still arrive: more than a socket
 * holds. */
#define DRY_TURNS 64
/* Time between two checks of the device's descriptors: one system call for each, 12 in all. */
#define CHECK_DESCRIPTORS_NS 10000000u

bool progress_lock(struct progress *progress)
{
	pthread_mutex_lock(&progress->lock);
	if (!progress->engine) {
		pthread_mutex_unlock(&progress->lock);
		return false;
	}
	return true;
}

struct schedule_timers progress_timers(const struct progress *progress)
{
	assert(progress->engine && progress->tx_first <= progress->tx_count);
	return (struct schedule_timers){
		.engine_ns = rxe_engine_deadline(progress->engine),
		.link_ns = progress->link.holds_packets ? link_deadline(progress->link.top)
							: RXE_NEVER,
		.ack_hold_ns = progress->engine->cfg.ack_delay_ns,
		.unsent = progress->tx_first < progress->tx_count,
	};
}

void progress_unlock(struct progress *progress)
{
	const struct rxe_engine *engine = progress->engine;
	const struct schedule_timers timers = progress_timers(progress);
	const struct schedule_decision decision = schedule_engine_released(
		&progress->schedule, engine->now_ns, &timers, engine->open_wrs != 0);

	pthread_mutex_unlock(&progress->lock);
	if (decision.action == SCHEDULE_WAKE_BACKGROUND)
		eventfd_signal(progress->wake_fd);
}

void progress_unlock_queued(struct progress *progress)
{
	if (schedule_expects_more(&progress->schedule))
		pthread_mutex_unlock(&progress->lock);
	else
		progress_unlock(progress);
}

bool progress_wait_begins(struct progress *progress)
{
	bool ready;
	NO_CANCEL;

	assert(progress->link.phy);
	if (!link_has_waits(progress->link.phy))
		return false;
	pthread_mutex_lock(&progress->lock);
	ready = link_wait_begins(progress->link.phy);
	pthread_mutex_unlock(&progress->lock);
	return ready;
}

bool progress_sleep_begins(struct progress *progress, uint32_t *ret_rings)
{
	bool ready;
	NO_CANCEL;

	pthread_mutex_lock(&progress->lock);
	ready = link_sleep_begins(progress->link.phy, ret_rings);
	pthread_mutex_unlock(&progress->lock);
	return ready;
}

void progress_quiesce(struct progress *progress)
{
	pthread_mutex_lock(&progress->lock);
	pthread_mutex_unlock(&progress->lock);
}

/* Raised while the engine may touch memory: a deregistration in another process waits for it. */
static _Atomic uint32_t *gauge(struct progress *progress)
{
	return &progress->attachment->shared->slot[progress->attachment->slot].inside;
}

bool progress_has_descriptors(const struct progress *progress)
{
	if (progress->has_thread &&
	    (!descriptor_is_kept(progress->all_fd) || !descriptor_is_kept(progress->events_fd)))
		return false;
	return descriptor_is_kept(progress->wake_fd) &&
	       (progress->timer_fd < 0 || descriptor_is_kept(progress->timer_fd)) &&
	       descriptor_is_kept(progress->attachment->event_fd) &&
	       descriptor_is_kept(progress->remote_requests.doorbell_fd) &&
	       device_link_has_descriptors(&progress->link);
}

static void check_descriptors(struct progress *progress, uint64_t now_ns)
{
	if (now_ns < progress->check_ns || atomic_load(&progress->is_missing_descriptors))
		return;
	progress->check_ns = now_ns + CHECK_DESCRIPTORS_NS;
	if (progress_has_descriptors(progress))
		return;
	progress->link.is_closed = true;
	atomic_store(&progress->is_missing_descriptors, true);
	progress->owner->descriptors_closed(progress);
}

static int send_trains(struct progress *progress, struct wire_train *trains, uint32_t n)
{
	const uint32_t *slots = &progress->tx_slot[trains - progress->tx];
	int sent;

	for (uint32_t i = 0; i < n; i++)
		arrivals_announce(progress, &trains[i].dst, slots[i]);
	sent = device_link_send(&progress->link, trains, n);
	for (uint32_t i = sent > 0 ? (uint32_t)sent : 0; i < n; i++)
		arrivals_retract(progress, &trains[i].dst, slots[i]);
	return sent;
}

/* Sends some of the trains that wait: one bare one, or all up to the next. Returns how many. */
static int send_some(struct progress *progress)
{
	struct wire_train *first = &progress->tx[progress->tx_first];
	const uint32_t waiting = progress->tx_count - progress->tx_first;
	uint32_t n = 0;

	if (RXE_RAW_SUPPORTED && first->bare)
		return device_link_send_raw(&progress->link, first) ? 1 : 0;
	while (n < waiting && !first[n].bare)
		n++;
	return send_trains(progress, first, n);
}

/* Sends the trains that wait. False: the kernel takes no more now. */
static bool send_built(struct progress *progress)
{
	while (progress->tx_first < progress->tx_count) {
		int sent = send_some(progress);

		if (sent <= 0)
			return false;
		assert((uint32_t)sent <= progress->tx_count - progress->tx_first);
		progress->tx_first += (uint32_t)sent;
	}
	progress->tx_first = progress->tx_count = 0;
	rxe_time_wait_trains_sent(progress->engine);
	return true;
}

/* As many as one system call sends. A link that has space for trains has it for one at a time. */
static uint32_t most_trains(const struct progress *progress)
{
	return link_has_space(progress->link.phy) ? 1 : PROGRESS_TRAINS;
}

static bool is_batch_full(const struct progress *progress)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < progress->tx_count; i++)
		bytes += progress->tx[i].len;
	return progress->tx_count == most_trains(progress) || bytes >= SEND_BYTES;
}

/* Returns whether a train is for a process of this host. */
static bool build(struct progress *progress, uint64_t now_ns)
{
	bool to_local_peer = false;
	uint16_t max_segs = link_max_segs(progress->link.phy);

	/* The trains in front have left. */
	assert(progress->tx_first == 0 && progress->tx_count == 0);
	while (rxe_engine_has_output(progress->engine) && !is_batch_full(progress)) {
		struct wire_train *train = &progress->tx[progress->tx_count];

		*train = (struct wire_train){
			.buf = progress_train_space(progress),
			.max_segs = max_segs,
			.no_icrc = !progress->link.needs_icrc,
		};
		if (!rxe_engine_output(progress->engine, train, now_ns))
			break;
		assert(train->len > 0 && train->len <= TRAIN_MAX_BYTES);
		assert(train->segs > 0 && train->segs <= max_segs);
		progress->tx_slot[progress->tx_count] = progress->engine->train_slot;
		to_local_peer |= !train->bare && link_is_local(progress->link.phy, &train->dst);
		progress->tx_count++;
		schedule_sent_to(
			&progress->schedule,
			local_peer_presence(progress, &train->dst, progress->engine->train_slot));
	}
	return to_local_peer;
}

static bool transmit(struct progress *progress, uint64_t now_ns)
{
	bool has_more = rxe_engine_has_output(progress->engine);
	bool to_local_peer = false;

	progress->engine->now_ns = now_ns;
	while (send_built(progress) && has_more) {
		to_local_peer |= build(progress, now_ns);
		has_more = is_batch_full(progress);
	}
	rxe_engine_settle(progress->engine);
	return to_local_peer;
}

bool progress_transmit(struct progress *progress, uint64_t now_ns)
{
	bool to_local_peer;
	NO_CANCEL;

	assert(progress->engine);
	check_descriptors(progress, now_ns);
	atomic_fetch_add(gauge(progress), 1);
	memory_turn_begins(now_ns);
	/* Datagrams and frames complete before the link is called. */
	device_link_follow_rules(&progress->link);
	to_local_peer = transmit(progress, now_ns);
	memory_turn_ends();
	atomic_fetch_sub(gauge(progress), 1);
	return to_local_peer;
}

static bool has_op(const struct wire_arrival *arrival, enum wire_op from, enum wire_op to)
{
	const uint8_t *headers = arrival->headers ? arrival->headers : arrival->p;

	return arrival->len && headers[0] >= opcode_make(WIRE_RC, from) &&
	       headers[0] <= opcode_make(WIRE_RC, to);
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

static int look(struct progress *progress, struct wire_arrival *ret)
{
	uint32_t looks = arrivals_looks(progress);
	int n;

	do {
		n = device_link_receive(&progress->link, ret, ARRIVALS);
	} while (n == 0 && --looks > 0);
	return n;
}

/* Asks the link. Returns how many arrived; negative: the link failed. They get the time after
 * the call: a peer on this machine may have sent them since the turn began, and has the same clock.
 * *now_ns follows. */
static int ask_link(struct progress *progress, struct wire_arrival *ret, uint64_t *now_ns)
{
	int n;

	if (!arrivals_are_expected(progress, *now_ns)) {
		link_idle(progress->link.phy);
		progress->receives_found = 0;
		return 0;
	}
	n = look(progress, ret);
	assert(n <= (int)ARRIVALS);
	if (n < 0)
		progress_suspect_descriptors(progress);
	if (n > 0)
		*now_ns = clock_now_ns();
	arrivals_received(progress, ret, n, n == (int)ARRIVALS, *now_ns);
	if (progress->link.is_dry)
		credits_socket_empty(progress, *now_ns);
	progress->receives_found = n > 0 ? progress->receives_found + 1 : 0;
	return n;
}

/* Handles n arrivals, and others that follow them. */
static void receive(struct progress *progress, struct wire_arrival *arrivals, int n,
		    uint64_t *now_ns)
{
	for (int round = 1; n > 0; round++) {
		const bool are_few = n < FEW_ARRIVALS && progress->receives_found < MANY_RECEIVES;

		input(progress->engine, arrivals, n, *now_ns);
		link_release(progress->link.phy);
		n = are_few || round == RECEIVE_ROUNDS ? 0 : ask_link(progress, arrivals, now_ns);
	}
}

/* Nothing is left to do, if nothing has arrived. */
static bool is_idle(const struct progress *progress, uint64_t now_ns)
{
	const struct rxe_engine *engine = progress->engine;

	return progress->tx_count == 0 && rxe_engine_is_settled(engine) &&
	       engine->delayed_acks.emitted == 0 && now_ns < rxe_engine_deadline(engine) &&
	       !remote_is_asked(progress) && !progress->link.raw_port;
}

static enum progress_turn run(struct progress *progress, struct wire_arrival *arrivals, int n,
			      uint64_t now_ns)
{
	bool any = n > 0;

	atomic_fetch_add(gauge(progress), 1);
	memory_turn_begins(now_ns);
	rxe_engine_set_ack_delay(progress->engine,
				 schedule_ack_hold_ns(&progress->schedule, now_ns));
	progress->engine->delayed_acks.are_many = schedule_serves_many(&progress->schedule, now_ns);
	receive(progress, arrivals, n, &now_ns);
	if (RXE_RAW_SUPPORTED)
		any |= device_link_receive_raw(&progress->link, now_ns);
	remote_run(progress);
	if (rxe_engine_deadline(progress->engine) <= now_ns)
		rxe_engine_expire(progress->engine, now_ns);
	transmit(progress, now_ns);
	memory_turn_ends();
	atomic_fetch_sub(gauge(progress), 1);
	return any ? PROGRESS_ARRIVED : PROGRESS_RAN;
}

enum progress_turn progress_run(struct progress *progress, uint64_t now_ns)
{
	struct wire_arrival arrivals[ARRIVALS];
	int n;
	NO_CANCEL;

	/* The engine's time never goes back: the caller read the clock under the lock. */
	assert(progress->engine && now_ns >= progress->engine->now_ns);
	check_descriptors(progress, now_ns);
	n = ask_link(progress, arrivals, &now_ns);
	if (n <= 0 && is_idle(progress, now_ns))
		return PROGRESS_IDLE;
	return run(progress, arrivals, n, now_ns);
}

void progress_run_dry(struct progress *progress)
{
	enum progress_turn turn = PROGRESS_ARRIVED;

	for (int i = 0; turn == PROGRESS_ARRIVED && i < DRY_TURNS; i++) {
		arrivals_look(progress);
		turn = progress_run(progress, clock_now_ns());
	}
}
