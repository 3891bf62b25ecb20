/* SPDX-License-Identifier: MIT */
/* The simulated engine: a socket full of packets, timers, and what the kernel refuses to send. */
#include <assert.h>

#include "tests/sim/program.h"

#define PACKET_NS      500u
#define SEND_NS	       900u
#define WAKE_NS	       1500u
#define REFUSES_MAX_NS 400000u

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t program_deadline_ns(const struct program *program)
{
	uint64_t ret = NEVER;

	for (const struct queue_pair *qp = program->qps; qp; qp = qp->next) {
		ret = smaller(ret, qp->ack_due_ns);
		ret = smaller(ret, qp->held_until_ns);
		ret = smaller(ret, qp->retry_at_ns);
	}
	return ret;
}

struct schedule_timers program_timers(struct program *program)
{
	return (struct schedule_timers){
		.engine_ns = program_deadline_ns(program),
		.link_ns = NEVER,
		.ack_hold_ns = schedule_ack_hold_ns(&program->schedule, program->engine_now_ns),
		.unsent = program->unsent_since_ns != 0,
	};
}

static bool is_expecting(const struct program *program)
{
	for (const struct queue_pair *qp = program->qps; qp; qp = qp->next) {
		const struct actor *actor = qp->actor;
		const bool has_receives = actor->role == ROLE_POLLS || actor->role == ROLE_EVENTS ||
					  actor->role == ROLE_RANK;

		if (!actor->done && (has_receives || (actor->role == ROLE_MEMORY && qp->unacked)))
			return true;
	}
	return false;
}

uint64_t program_wake_background(struct program *program)
{
	program->wake_pending = true;
	actor_wake(&program->background, WAIT_WAKE);
	return WAKE_NS;
}

/* progress_unlock(). Returns the processor time that it takes. */
uint64_t actor_release(struct actor *actor)
{
	struct program *program = actor->program;
	const struct schedule_timers at = program_timers(program);
	const struct schedule_decision decision = schedule_engine_released(
		&program->schedule, program->engine_now_ns, &at, is_expecting(program));

	actor_unlock(actor);
	actor_note_decision(actor, &decision);
	if (decision.action != SCHEDULE_WAKE_BACKGROUND)
		return CALL_NS;
	program->programs->observer->engine_woke(program);
	return program_wake_background(program);
}

/* Returns the processor time of the sender. */
static uint64_t deliver(struct queue_pair *to, enum packet_kind kind)
{
	struct program *program = to->actor->program;
	const uint32_t place = program->socket_tail++ % PROGRAM_SOCKET;

	assert(program->socket_tail - program->socket_head <= PROGRAM_SOCKET);
	program->socket[place] = (struct packet){
		.to = to,
		.kind = kind,
		.arrived_ns = program_clock_ns(program),
	};
	return SEND_NS + (program_wake_any(program, WAIT_LINK) ? WAKE_NS : 0);
}

/* The timer runs from the first message that is not acknowledged. */
static void start_timer(struct queue_pair *qp)
{
	const struct program *program = qp->actor->program;
	const uint64_t timeout_ns = program->programs->cfg.timeout_ns;

	if (timeout_ns)
		qp->retry_at_ns = program->engine_now_ns + timeout_ns;
}

static uint64_t send_all(struct queue_pair *qp)
{
	uint64_t took_ns = 0;

	if (qp->to_send > 0 && qp->retry_at_ns == NEVER)
		start_timer(qp);
	for (; qp->to_send > 0; qp->to_send--) {
		schedule_sent_to(&qp->actor->program->schedule,
				 &qp->peer->actor->program->presence);
		took_ns += deliver(qp->peer, PACKET_MESSAGE);
		qp->unacked = true;
		qp->ack_due_ns = NEVER;
	}
	return took_ns;
}

/* Returns the processor time that it takes; 0: nothing was sent. */
uint64_t program_transmit(struct program *program)
{
	uint64_t took_ns = 0;

	for (struct queue_pair *qp = program->qps; qp; qp = qp->next) {
		if (qp->to_send == 0)
			continue;
		if (program_clock_ns(program) >= program->refuses_until_ns &&
		    program_chance(program, program->programs->cfg.refused))
			program->refuses_until_ns =
				program_clock_ns(program) +
				programs_random(program->programs, REFUSES_MAX_NS);
		if (program_clock_ns(program) < program->refuses_until_ns) {
			if (!program->unsent_since_ns)
				program->unsent_since_ns = program_clock_ns(program);
			return took_ns;
		}
		took_ns += send_all(qp);
	}
	program->unsent_since_ns = 0;
	return took_ns;
}

/* The peer has taken the message, so it gets the duplicate for an ACK. */
static void ack_timer_expired(struct queue_pair *qp)
{
	qp->retries++;
	qp->actor->program->programs->observer->timed_out(qp->actor->program, qp->retries);
	start_timer(qp);
	deliver(qp->peer, PACKET_DUPLICATE);
}

static void expire(struct program *program)
{
	for (struct queue_pair *qp = program->qps; qp; qp = qp->next) {
		if (qp->held_until_ns <= program->engine_now_ns) {
			qp->to_send += qp->held;
			qp->held = 0;
			qp->held_until_ns = NEVER;
		}
		if (qp->ack_due_ns <= program->engine_now_ns) {
			qp->ack_due_ns = NEVER;
			deliver(qp->peer, PACKET_ACK);
		}
		if (qp->retry_at_ns <= program->engine_now_ns)
			ack_timer_expired(qp);
	}
}

static void acknowledged(struct queue_pair *qp)
{
	qp->unacked = false;
	qp->retry_at_ns = NEVER;
	qp->retries = 0;
}

static void message_arrived(struct queue_pair *qp)
{
	struct actor *actor = qp->actor;
	struct program *program = actor->program;

	acknowledged(qp);
	if (actor->role == ROLE_SLEEPS || actor->role == ROLE_BUSY) {
		actor->found++;
		actor->found_at_ns = program_clock_ns(program);
		qp->to_send += !program->programs->finishing;
		return;
	}
	actor->cq[actor->cq_tail++ % PROGRAM_CQ] = qp;
	assert(actor->cq_tail - actor->cq_head <= PROGRAM_CQ);
	if (qp->ack_due_ns == NEVER)
		qp->ack_due_ns =
			program->engine_now_ns +
			(program->programs->cfg.holds_acks
				 ? schedule_ack_hold_ns(&program->schedule, program->engine_now_ns)
				 : 0);
	if (!actor->armed)
		return;
	actor->armed = false;
	schedule_cq_disarmed(&program->schedule);
	actor->events++;
	actor_wake(actor, WAIT_EVENT);
}

/* progress_run(). Returns the processor time that it takes. */
uint64_t actor_run_engine(struct actor *actor)
{
	struct program *program = actor->program;
	uint64_t took_ns = CALL_NS;

	assert(program->holder == actor);
	program->engine_now_ns = actor->now_ns;
	actor->arrived = program->socket_head != program->socket_tail;
	while (program->socket_head != program->socket_tail) {
		const struct packet packet =
			program->socket[program->socket_head++ % PROGRAM_SOCKET];

		program->programs->observer->packet_received(program, &packet);
		switch (packet.kind) {
		case PACKET_MESSAGE: message_arrived(packet.to); break;
		case PACKET_ACK: acknowledged(packet.to); break;
		case PACKET_DUPLICATE: took_ns += deliver(packet.to->peer, PACKET_ACK); break;
		}
		took_ns += PACKET_NS;
	}
	if (program_deadline_ns(program) <= program->engine_now_ns)
		expire(program);
	return took_ns + program_transmit(program);
}
