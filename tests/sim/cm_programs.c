/* SPDX-License-Identifier: MIT */
/* Programs of the connection manager's simulation. */
#include "tests/sim/cm_programs.h"
#include "tests/sim/cm_names.h"
#include "tests/sim/cm_stops.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CHAOS_MS 800u

uint32_t cm_sim_random(struct cm_sim *s, uint32_t below)
{
	return (uint32_t)(cm_world_random(&s->w) % below);
}

bool cm_sim_chance(struct cm_sim *s, uint32_t percent)
{
	return cm_sim_random(s, 100) < percent;
}

void cm_sim_log(struct cm_sim *s, const char *format, ...)
{
	va_list args;

	if (!s->is_traced)
		return;
	(void)printf("%9.1f ", (double)s->w.now_ns / (double)MS);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("\n");
}

struct cm_end *cm_sim_end_of(struct cm_sim *s, uintptr_t serial)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++)
		if (s->ends[i].id && s->ends[i].serial == serial)
			return &s->ends[i];
	return NULL;
}

/* NULL: the simulation has no place. */
static struct cm_end *new_end(struct cm_sim *s, struct cm_host *host)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++) {
		struct cm_end *end = &s->ends[i];

		if (end->id)
			continue;
		*end = (struct cm_end){ .host = host, .serial = ++s->serial, .due_ns = CM_NEVER };
		end->qpn = s->next_qpn++;
		return end;
	}
	return NULL;
}

/* At once, soon, or later than a peer waits. */
static void act_later(struct cm_sim *s, struct cm_end *end)
{
	uint64_t ms = cm_sim_random(s, 20);

	if (cm_sim_chance(s, s->slow))
		ms = cm_sim_random(s, 400);
	end->due_ns = s->w.now_ns + ms * MS;
}

static void leave(struct cm_sim *s, struct cm_end *end)
{
	struct cm_id *id = end->id;

	cm_sim_log(s, "%c   %u leaves in %s", (char)('a' + end->host->index), (uint32_t)end->serial,
		   cm_state_str(cm_id_state(id)));
	end->id = NULL;
	cm_id_destroy(id, s->w.now_ns);
}

static void forget(struct cm_end *end)
{
	struct cm_id *id = end->id;

	end->id = NULL;
	cm_id_forget(id);
}

static int send_req(struct cm_sim *s, struct cm_end *end, struct cm_host *to)
{
	const struct cm_path path = cm_world_path(end->host, to);
	struct cm_msg msg = { .attr = CM_REQ };

	msg.u.req.service_id = cm_sim_chance(s, 95) ? CM_SERVICE : CM_SERVICE + 1;
	msg.u.req.local_ca_guid = end->host->ca_guid;
	msg.u.req.local_qpn = end->qpn;
	msg.u.req.remote_cm_timeout = msg.u.req.local_cm_timeout = 14;
	msg.u.req.max_cm_retries = s->max_retries;
	msg.u.req.primary.ack_timeout = (uint8_t)(8 + cm_sim_random(s, 6));
	end->is_active = true;
	end->is_answered = false;
	end->remote_guid = 0;
	end->ack_timeout = msg.u.req.primary.ack_timeout;
	return cm_send_req(end->id, &path, &msg, s->w.now_ns);
}

static int send_sidr_req(struct cm_sim *s, struct cm_end *end, struct cm_host *to)
{
	const struct cm_path path = cm_world_path(end->host, to);
	const struct cm_msg msg = { .attr = CM_SIDR_REQ, .u.sidr_req.service_id = CM_SERVICE };

	end->is_active = true;
	return cm_send_sidr_req(end->id, &path, &msg, 70 * MS, s->max_retries, s->w.now_ns);
}

/* Now and then a program takes a QP number that is free again, or that is not. */
static void choose_qpn(struct cm_sim *s, struct cm_end *end)
{
	uint32_t *last = &s->last_free_qpn[end->host->index];

	if (*last && cm_sim_chance(s, 30)) {
		end->qpn = *last;
		*last = 0;
	} else if (cm_sim_chance(s, 5) && end->qpn > 8) {
		end->qpn -= 1 + cm_sim_random(s, 8);
	}
}

static void begin(struct cm_sim *s)
{
	struct cm_host *from = &s->w.hosts[cm_sim_random(s, CM_SIM_HOSTS)];
	struct cm_host *to = &s->w.hosts[cm_sim_random(s, CM_SIM_HOSTS)];
	struct cm_end *end = new_end(s, from);
	int err;

	if (!end)
		return;
	to = cm_stops_peer(s, from, to);
	end->id = cm_id_create(from->cm, (void *)end->serial);
	if (!end->id)
		return;
	choose_qpn(s, end);
	err = cm_sim_chance(s, 85) ? send_req(s, end, to) : send_sidr_req(s, end, to);
	if (err)
		cm_oracle_fail(s, "a request returns %d", err);
	cm_sim_log(s, "%c   %u asks %c, qpn %u", (char)('a' + from->index), (uint32_t)end->serial,
		   (char)('a' + to->index), end->qpn);
	cm_oracle_look(s, end, false);
	if (cm_sim_chance(s, 15))
		act_later(s, end);
}

static void listen(struct cm_sim *s, uint32_t i)
{
	s->listeners[i] = cm_id_create(s->w.hosts[i].cm, NULL);
	if (!s->listeners[i] || cm_listen(s->listeners[i], CM_SERVICE, NULL, CM_ANY_DEVICE))
		cm_oracle_fail(s, "no listener");
}

/* A host crashes, and says nothing. */
static void restart(struct cm_sim *s)
{
	const uint32_t i = cm_sim_random(s, CM_SIM_HOSTS);

	cm_sim_log(s, "%c   restarts", (char)('a' + i));
	for (uint32_t k = 0; k < CM_MAX_ENDS; k++)
		if (s->ends[k].host == &s->w.hosts[i])
			s->ends[k].id = NULL;
	s->last_free_qpn[i] = 0;
	cm_world_restart(&s->w.hosts[i], true);
	s->restarted_ns[i] = s->w.now_ns;
	listen(s, i);
}

static int accept_req(struct cm_sim *s, struct cm_end *end)
{
	struct cm_msg msg = { .attr = CM_REP };

	msg.u.rep.local_qpn = end->qpn;
	msg.u.rep.local_ca_guid = end->host->ca_guid;
	msg.u.rep.target_ack_delay = (uint8_t)cm_sim_random(s, 14);
	return cm_send_rep(end->id, &msg, s->w.now_ns);
}

static int refuse(struct cm_sim *s, struct cm_end *end)
{
	struct cm_msg msg = { .attr = CM_REJ };

	msg.u.rej.reason = CM_REJ_CONSUMER_DEFINED;
	return cm_send_rej(end->id, &msg, s->w.now_ns);
}

static int promise(struct cm_sim *s, struct cm_end *end)
{
	const uint8_t timeout = (uint8_t)(10 + cm_sim_random(s, 8));
	const struct cm_msg msg = { .attr = CM_MRA, .u.mra.service_timeout = timeout };

	return cm_sim_chance(s, 50) ? cm_defer_mra(end->id, timeout) : cm_send_mra(end->id, &msg);
}

static int answer_sidr(struct cm_sim *s, struct cm_end *end)
{
	struct cm_msg msg = { .attr = CM_SIDR_REP };

	msg.u.sidr_rep.qpn = end->qpn;
	return cm_send_sidr_rep(end->id, &msg, s->w.now_ns);
}

static int send_plain(struct cm_sim *s, struct cm_end *end, enum cm_attr attr)
{
	const struct cm_msg msg = { .attr = attr };

	if (attr == CM_RTU)
		return cm_send_rtu(end->id, &msg);
	if (attr == CM_DREQ)
		return cm_send_dreq(end->id, &msg, s->w.now_ns);
	return cm_send_drep(end->id, &msg, s->w.now_ns);
}

static int act_on_req(struct cm_sim *s, struct cm_end *end, bool may_promise)
{
	const uint32_t what = cm_sim_random(s, 100);

	if (may_promise && what < 20) {
		act_later(s, end);
		return promise(s, end);
	}
	if (what < 80)
		return accept_req(s, end);
	if (what < 90)
		return refuse(s, end);
	if (may_promise && what < 93)
		forget(end);
	else
		leave(s, end);
	return 0;
}

static int act_on_rep(struct cm_sim *s, struct cm_end *end, bool may_promise)
{
	const uint32_t what = cm_sim_random(s, 100);

	if (may_promise && what < 20) {
		act_later(s, end);
		return promise(s, end);
	}
	if (what < 90)
		return send_plain(s, end, CM_RTU);
	if (what < 95)
		return refuse(s, end);
	leave(s, end);
	return 0;
}

/* What a program does with an id in this state. */
static int act(struct cm_sim *s, struct cm_end *end)
{
	const enum cm_state state = cm_id_state(end->id);

	end->due_ns = CM_NEVER;
	if (state == CM_STATE_REQ_RCVD || state == CM_STATE_MRA_REQ_SENT)
		return act_on_req(s, end, state == CM_STATE_REQ_RCVD);
	if (state == CM_STATE_REP_RCVD || state == CM_STATE_MRA_REP_SENT)
		return act_on_rep(s, end, state == CM_STATE_REP_RCVD);
	if (state == CM_STATE_SIDR_REQ_RCVD && cm_sim_chance(s, 85))
		return answer_sidr(s, end);
	if (state == CM_STATE_DREQ_RCVD && cm_sim_chance(s, 70))
		return send_plain(s, end, CM_DREP);
	if (state == CM_STATE_ESTABLISHED && s->is_quiet)
		return 0; /* stays */
	if (state == CM_STATE_ESTABLISHED && cm_sim_chance(s, 60))
		return send_plain(s, end, CM_DREQ);
	if (state == CM_STATE_IDLE && !s->is_quiet && end->is_active && cm_sim_chance(s, 30))
		return send_req(s, end, &s->w.hosts[cm_sim_random(s, CM_SIM_HOSTS)]);
	leave(s, end);
	return 0;
}

static void act_now(struct cm_sim *s, struct cm_end *end)
{
	const enum cm_state state = cm_id_state(end->id);
	const uintptr_t serial = end->serial;
	const int err = act(s, end);

	if (err)
		cm_oracle_fail(s, "a call in %s returns %d", cm_state_str(state), err);
	end = cm_sim_end_of(s, serial);
	if (!end)
		return;
	cm_sim_log(s, "%c   %u: %s to %s", (char)('a' + end->host->index), (uint32_t)serial,
		   cm_state_str(state), cm_state_str(cm_id_state(end->id)));
	cm_oracle_look(s, end, false);
	if (cm_id_state(end->id) == CM_STATE_ESTABLISHED && cm_sim_chance(s, 50))
		act_later(s, end);
}

/* An end for a request. NULL: there is none, and the id is gone. */
static struct cm_end *take_request(struct cm_sim *s, struct cm_host *host,
				   const struct cm_event *event)
{
	struct cm_end *end = new_end(s, host);

	if (!end) {
		cm_id_destroy(event->id, s->w.now_ns);
		return NULL;
	}
	end->id = event->id;
	cm_id_set_user(event->id, (void *)end->serial);
	if (event->type == CM_EVENT_REQ_RECEIVED) {
		end->remote_qpn = event->msg->u.req.local_qpn;
		end->remote_guid = event->msg->u.req.local_ca_guid;
		end->ack_timeout = event->msg->u.req.primary.ack_timeout;
	}
	return end;
}

static void event(void *arg, struct cm_host *host, const struct cm_event *event)
{
	struct cm_sim *s = arg;
	struct cm_end *end;

	s->events++;
	cm_oracle_event(s, host, event);
	end = event->listener ? take_request(s, host, event)
			      : cm_sim_end_of(s, (uintptr_t)event->user);
	if (!end)
		return;
	cm_sim_log(s, "%c   %u: %s, %s", (char)('a' + host->index), (uint32_t)end->serial,
		   cm_event_str(event->type), cm_state_str(cm_id_state(event->id)));
	cm_oracle_look(s, end, event->type == CM_EVENT_TIME_WAIT_EXIT);
	if (event->type == CM_EVENT_TIME_WAIT_EXIT)
		s->last_free_qpn[host->index] = end->qpn;
	if (event->type == CM_EVENT_RTU_RECEIVED)
		s->connections++;
	if (event->type == CM_EVENT_MRA_RECEIVED)
		return;
	if (!cm_stops_hold(s, end) && cm_sim_chance(s, s->hasty))
		act_now(s, end);
	else
		act_later(s, end);
}

static uint32_t sent(void *arg, struct cm_host *from, struct cm_host *to, const struct cm_msg *msg,
		     uint64_t ret_delay_ns[2])
{
	struct cm_sim *s = arg;
	uint32_t copies = 1;

	cm_oracle_sent(s, from, msg);
	for (uint32_t i = 0; i < 2; i++)
		ret_delay_ns[i] = MS / 2 + cm_sim_random(s, MS);
	if (!s->is_quiet) {
		if (cm_sim_chance(s, 5))
			ret_delay_ns[0] = cm_sim_random(s, 200) * MS;
		if (cm_sim_chance(s, 20))
			ret_delay_ns[1] = cm_sim_random(s, 200) * MS;
		copies = cm_sim_chance(s, s->loss) ? 0 : cm_sim_chance(s, s->twice) ? 2 : 1;
	}
	cm_sim_log(s, "%c > %s to %c%s", (char)('a' + from->index), cm_attr_str(msg->attr),
		   (char)('a' + to->index),
		   copies == 0	 ? " (lost)"
		   : copies == 2 ? " (twice)"
				 : "");
	return copies;
}

static void arriving(void *arg, struct cm_host *to, const struct cm_msg *msg)
{
	cm_oracle_arriving(arg, to, msg);
}

static const struct cm_world_hooks hooks = { .sent = sent, .event = event, .arriving = arriving };

void cm_sim_begin(struct cm_sim *s, uint64_t seed)
{
	const bool is_traced = s->is_traced;

	*s = (struct cm_sim){ .seed = seed, .is_traced = is_traced, .next_qpn = 1 };
	cm_world_init(&s->w, CM_SIM_HOSTS, CM_SIM_IDS, seed, &hooks, s);
	s->loss = cm_sim_random(s, 40);
	s->twice = cm_sim_random(s, 30);
	s->slow = cm_sim_random(s, 30);
	s->hasty = cm_sim_random(s, 100);
	s->max_retries = cm_sim_chance(s, 70) ? 15 : (uint8_t)cm_sim_random(s, 4);
	cm_stops_choose(s);
	for (uint32_t i = 0; i < CM_SIM_HOSTS; i++)
		listen(s, i);
}

/* The end whose program is to act next, not later than until_ns. */
static struct cm_end *next_due(struct cm_sim *s, uint64_t until_ns)
{
	struct cm_end *next = NULL;

	for (uint32_t i = 0; i < CM_MAX_ENDS; i++) {
		struct cm_end *end = &s->ends[i];

		if (!end->id || end->due_ns > until_ns || cm_stops_hold(s, end))
			continue;
		next = end;
		until_ns = end->due_ns;
	}
	return next;
}

/* False: nothing is left to do until then. */
static bool go_on(struct cm_sim *s, uint64_t until_ns)
{
	uint64_t next_ns = until_ns;
	struct cm_end *due;

	if (cm_world_next(&s->w) < until_ns)
		next_ns = cm_world_next(&s->w);
	if (s->resumes_ns < next_ns)
		next_ns = s->resumes_ns;
	due = next_due(s, next_ns);
	if (due) {
		if (due->due_ns > s->w.now_ns)
			s->w.now_ns = due->due_ns;
		act_now(s, due);
	} else if (s->resumes_ns <= next_ns) {
		cm_stops_resume(s);
	} else if (!cm_world_step(&s->w, until_ns)) {
		return false;
	}
	cm_oracle_step(s);
	return true;
}

static void disturb(struct cm_sim *s)
{
	const uint32_t what = cm_sim_random(s, 100);
	struct cm_end *end = &s->ends[cm_sim_random(s, CM_MAX_ENDS)];

	if (s->has_stops && cm_sim_chance(s, 40))
		cm_stops_disturb(s);
	else if (what < 75)
		begin(s);
	else if (what < 78)
		restart(s);
	else if (end->id)
		leave(s, end);
}

void cm_sim_run(struct cm_sim *s)
{
	const uint64_t end_ns = (uint64_t)(100 + cm_sim_random(s, CHAOS_MS)) * MS;

	while (s->w.now_ns < end_ns) {
		const uint64_t until_ns = s->w.now_ns + cm_sim_random(s, 40) * MS;

		while (go_on(s, until_ns))
			continue;
		s->w.now_ns = until_ns;
		disturb(s);
	}
	s->is_quiet = true;
	while (go_on(s, UINT64_MAX - 1))
		continue;
	cm_oracle_settled(s);
}

void cm_sim_leave(struct cm_sim *s)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++)
		if (s->ends[i].id)
			leave(s, &s->ends[i]);
	while (go_on(s, UINT64_MAX - 1))
		continue;
	cm_oracle_left(s);
}

void cm_sim_end(struct cm_sim *s)
{
	cm_world_free(&s->w);
}
