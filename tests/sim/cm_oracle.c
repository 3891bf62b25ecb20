/* SPDX-License-Identifier: MIT */
/* What must hold of the connection manager, whatever the network does. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/cm_names.h"
#include "tests/sim/cm_programs.h"

void cm_oracle_fail(struct cm_sim *s, const char *format, ...)
{
	va_list args;

	(void)printf("at %.1f ms: ", (double)s->w.now_ns / (double)MS);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("; replay: sim_cm --seed %llu --trace\n", (unsigned long long)s->seed);
	exit(EXIT_FAILURE);
}

static struct cm_notice *notice_of(struct cm_sim *s, uint32_t host, uint32_t comm_id)
{
	const uint32_t max = sizeof(s->notices) / sizeof(s->notices[0]);

	for (uint32_t i = 0; i < s->num_notices; i++)
		if (s->notices[i].host == host && s->notices[i].comm_id == comm_id)
			return &s->notices[i];
	if (s->num_notices == max)
		cm_oracle_fail(s, "more than %u exchanges", max);
	s->notices[s->num_notices] = (struct cm_notice){ .host = host, .comm_id = comm_id };
	return &s->notices[s->num_notices++];
}

void cm_oracle_sent(struct cm_sim *s, const struct cm_host *from, const struct cm_msg *msg)
{
	if (msg->attr == CM_REP || msg->attr == CM_DREQ || msg->attr == CM_REJ)
		notice_of(s, from->index, msg->local_comm_id)->copies++;
}

/* The end of a pair of communication IDs, the host's own first. */
static struct cm_end *find(struct cm_sim *s, const struct cm_host *host, uint32_t local,
			   uint32_t remote)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++) {
		struct cm_end *end = &s->ends[i];
		struct cm_id_info info;

		if (!end->id || end->host != host)
			continue;
		cm_id_info(end->id, &info);
		if (info.local_comm_id == local && info.remote_comm_id == remote)
			return end;
	}
	return NULL;
}

void cm_oracle_arriving(struct cm_sim *s, const struct cm_host *to, const struct cm_msg *msg)
{
	struct cm_end *end;

	if (msg->attr != CM_DREQ && msg->attr != CM_REJ)
		return;
	end = find(s, to, msg->remote_comm_id, msg->local_comm_id);
	if (end && cm_id_state(end->id) == CM_STATE_ESTABLISHED)
		end->must_end = true;
}

/* The state that an event finds. */
static bool is_state_of(enum cm_event_type type, enum cm_state state)
{
	switch (type) {
	case CM_EVENT_REQ_RECEIVED: return state == CM_STATE_REQ_RCVD;
	case CM_EVENT_REP_RECEIVED: return state == CM_STATE_REP_RCVD;
	case CM_EVENT_RTU_RECEIVED: return state == CM_STATE_ESTABLISHED;
	case CM_EVENT_SIDR_REQ_RECEIVED: return state == CM_STATE_SIDR_REQ_RCVD;
	case CM_EVENT_MRA_RECEIVED:
		return state == CM_STATE_MRA_REQ_RCVD || state == CM_STATE_MRA_REP_RCVD;
	case CM_EVENT_REJ_RECEIVED: return state == CM_STATE_IDLE || state == CM_STATE_TIME_WAIT;
	case CM_EVENT_DREQ_RECEIVED:
		return state == CM_STATE_DREQ_RCVD || state == CM_STATE_TIME_WAIT;
	case CM_EVENT_REP_TIMED_OUT:
	case CM_EVENT_DREP_RECEIVED:
	case CM_EVENT_DREQ_TIMED_OUT: return state == CM_STATE_TIME_WAIT;
	case CM_EVENT_REQ_TIMED_OUT:
	case CM_EVENT_TIME_WAIT_EXIT:
	case CM_EVENT_SIDR_REP_RECEIVED:
	case CM_EVENT_SIDR_REQ_TIMED_OUT: return state == CM_STATE_IDLE;
	}
	return false;
}

static bool is_connection(enum cm_state state)
{
	return state >= CM_STATE_REP_RCVD && state <= CM_STATE_TIME_WAIT &&
	       state != CM_STATE_REJ_SENT;
}

/* No two connections have the same queue pair at the other end: TIME_WAIT counts. */
static void new_request(struct cm_sim *s, const struct cm_host *host, const struct cm_event *event)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++) {
		const struct cm_end *end = &s->ends[i];

		if (end->id && end->host == host && is_connection(cm_id_state(end->id)) &&
		    end->remote_qpn == event->msg->u.req.local_qpn &&
		    end->remote_guid == event->msg->u.req.local_ca_guid)
			cm_oracle_fail(s, "queue pair %u is in another connection, in %s",
				       end->remote_qpn, cm_state_str(cm_id_state(end->id)));
	}
}

static bool is_timeout(enum cm_event_type type)
{
	return type == CM_EVENT_REQ_TIMED_OUT || type == CM_EVENT_REP_TIMED_OUT ||
	       type == CM_EVENT_DREQ_TIMED_OUT || type == CM_EVENT_SIDR_REQ_TIMED_OUT;
}

/* No exchange times out while the program at its other end is stopped on the same host. */
static void timed_out(struct cm_sim *s, const struct cm_host *host, const struct cm_end *end)
{
	const struct cm_end *stopped = cm_sim_end_of(s, s->stopped);
	struct cm_id_info info;

	if (s->resumes_ns == CM_NEVER || !stopped || stopped->host != host || stopped == end)
		return;
	cm_id_info(stopped->id, &info);
	if (end->comm_id && end->comm_id == info.remote_comm_id)
		cm_oracle_fail(s, "an exchange with %u timed out, which is stopped",
			       (uint32_t)stopped->serial);
}

void cm_oracle_event(struct cm_sim *s, struct cm_host *host, const struct cm_event *event)
{
	struct cm_end *end;

	if (!is_state_of(event->type, cm_id_state(event->id)))
		cm_oracle_fail(s, "%s in %s", cm_event_str(event->type),
			       cm_state_str(cm_id_state(event->id)));
	if (event->listener) {
		if (event->listener != s->listeners[host->index])
			cm_oracle_fail(s, "an event of a listener that is none");
		if (event->type == CM_EVENT_REQ_RECEIVED)
			new_request(s, host, event);
		return;
	}
	end = cm_sim_end_of(s, (uintptr_t)event->user);
	if (!end || end->id != event->id || end->host != host)
		cm_oracle_fail(s, "%s of an id that the program has left",
			       cm_event_str(event->type));
	if (is_timeout(event->type))
		timed_out(s, host, end);
	if (event->type == CM_EVENT_REP_RECEIVED) {
		end->remote_qpn = event->msg->u.rep.local_qpn;
		end->remote_guid = event->msg->u.rep.local_ca_guid;
		if (event->msg->u.rep.target_ack_delay > end->ack_timeout)
			end->ack_timeout = event->msg->u.rep.target_ack_delay;
	}
	if (event->type != CM_EVENT_MRA_RECEIVED)
		end->is_answered = true;
}

void cm_oracle_look(struct cm_sim *s, struct cm_end *end, bool is_free)
{
	const enum cm_state now = cm_id_state(end->id);
	const bool was_used = end->seen == CM_STATE_ESTABLISHED ||
			      end->seen == CM_STATE_DREQ_SENT || end->seen == CM_STATE_DREQ_RCVD;
	struct cm_id_info info;

	cm_id_info(end->id, &info);
	if (info.local_comm_id)
		end->comm_id = info.local_comm_id;

	if (is_free && end->seen != CM_STATE_TIME_WAIT)
		cm_oracle_fail(s, "TIME_WAIT_EXIT behind %s", cm_state_str(end->seen));
	if (is_free && s->w.now_ns - end->since_ns < 4096ull << end->ack_timeout)
		cm_oracle_fail(s, "TIME_WAIT is too short");
	/* Twice as long where delay and lifetime add up. */
	if (is_free && s->w.now_ns - end->since_ns > 4096ull << (end->ack_timeout + 1))
		cm_oracle_fail(s, "TIME_WAIT is too long");
	if (was_used && now != end->seen && now != CM_STATE_TIME_WAIT &&
	    now != CM_STATE_DREQ_SENT && now != CM_STATE_DREQ_RCVD)
		cm_oracle_fail(s, "%s behind %s", cm_state_str(now), cm_state_str(end->seen));
	if (now == CM_STATE_TIME_WAIT && end->seen != now)
		end->since_ns = s->w.now_ns;
	end->seen = now;
}

struct unique {
	struct cm_sim *s;
	uint32_t comm_ids[CM_SIM_IDS], num;
};

static void is_unique(void *arg, const struct cm_id *id)
{
	struct unique *u = arg;
	struct cm_id_info info;

	cm_id_info(id, &info);
	if (info.local_comm_id == 0)
		return;
	for (uint32_t i = 0; i < u->num; i++)
		if (u->comm_ids[i] == info.local_comm_id)
			cm_oracle_fail(u->s, "two ids have communication ID %x", u->comm_ids[i]);
	u->comm_ids[u->num++] = info.local_comm_id;
}

void cm_oracle_step(struct cm_sim *s)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++) {
		struct cm_end *end = &s->ends[i];

		if (end->id && end->must_end && cm_id_state(end->id) == CM_STATE_ESTABLISHED)
			cm_oracle_fail(s, "a connection goes on behind a DREQ or REJ");
		end->must_end = false;
	}
	for (uint32_t i = 0; i < CM_SIM_HOSTS; i++)
		if (cm_num_ids(s->w.hosts[i].cm) > CM_SIM_IDS)
			cm_oracle_fail(s, "more ids than max_ids");
}

/* An end whose other end is there no more: only a crash does that, or a network that lost
 * everything the other end said while it retried. */
static void one_sided(struct cm_sim *s, const struct cm_end *end, const struct cm_id_info *info)
{
	const uint32_t other = cm_world_host_of(&s->w, &info->path.dst)->index;
	const struct cm_notice *notice = notice_of(s, other, info->remote_comm_id);

	if (s->restarted_ns[other] == 0 && notice->copies <= s->max_retries)
		cm_oracle_fail(s, "%u is established, its other end is not", (uint32_t)end->serial);
}

static void check_settled(struct cm_sim *s, struct cm_end *end)
{
	const enum cm_state state = cm_id_state(end->id);
	const struct cm_end *other;
	struct cm_id_info info;

	if (state != CM_STATE_ESTABLISHED && state != CM_STATE_IDLE)
		cm_oracle_fail(s, "%u stays in %s", (uint32_t)end->serial, cm_state_str(state));
	if (end->is_active && !end->is_answered)
		cm_oracle_fail(s, "%u has had no answer", (uint32_t)end->serial);
	if (state == CM_STATE_IDLE)
		return;
	cm_id_info(end->id, &info);
	other = find(s, cm_world_host_of(&s->w, &info.path.dst), info.remote_comm_id,
		     info.local_comm_id);
	if (!other || cm_id_state(other->id) != CM_STATE_ESTABLISHED)
		one_sided(s, end, &info);
	else if (other->qpn != end->remote_qpn || end->qpn != other->remote_qpn)
		cm_oracle_fail(s, "queue pairs %u and %u are crossed", end->qpn, other->qpn);
}

void cm_oracle_settled(struct cm_sim *s)
{
	for (uint32_t i = 0; i < CM_MAX_ENDS; i++)
		if (s->ends[i].id)
			check_settled(s, &s->ends[i]);
	for (uint32_t i = 0; i < CM_SIM_HOSTS; i++) {
		struct unique u = { .s = s };

		cm_each(s->w.hosts[i].cm, is_unique, &u);
	}
}

void cm_oracle_left(struct cm_sim *s)
{
	for (uint32_t i = 0; i < CM_SIM_HOSTS; i++) {
		struct cm *cm = s->w.hosts[i].cm;

		if (cm_num_ids(cm) != 1)
			cm_oracle_fail(s, "%u ids are left on %c", cm_num_ids(cm), (char)('a' + i));
		cm_id_destroy(s->listeners[i], s->w.now_ns);
		if (cm_num_ids(cm) != 0 || cm_deadline(cm) != UINT64_MAX)
			cm_oracle_fail(s, "something is left");
	}
}
