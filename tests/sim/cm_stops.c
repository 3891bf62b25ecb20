/* SPDX-License-Identifier: MIT */
/* Programs that are stopped, as by a debugger, in a simulation of the connection manager. */
#include "tests/sim/cm_stops.h"

#define HOUR_MS	    (3600 * 1000u)
#define MAX_RETRIES 4u

void cm_stops_choose(struct cm_sim *s)
{
	s->has_stops = s->seed % 4 == 1;
	s->resumes_ns = CM_NEVER;
	if (s->has_stops)
		s->max_retries = (uint8_t)cm_sim_random(s, MAX_RETRIES);
}

struct cm_host *cm_stops_peer(struct cm_sim *s, struct cm_host *from, struct cm_host *to)
{
	return s->has_stops && cm_sim_chance(s, 80) ? from : to;
}

bool cm_stops_hold(const struct cm_sim *s, const struct cm_end *end)
{
	return s->resumes_ns != CM_NEVER && end->serial == s->stopped;
}

static uint32_t choose_ms(struct cm_sim *s)
{
	const uint32_t kind = cm_sim_random(s, 100);

	return 1 + cm_sim_random(s, kind < 60 ? 300 : kind < 95 ? 10000 : HOUR_MS);
}

/* NULL: no program has an id. */
static const struct cm_end *choose_end(struct cm_sim *s)
{
	const uint32_t first = cm_sim_random(s, CM_MAX_ENDS);

	for (uint32_t i = 0; i < CM_MAX_ENDS; i++) {
		const struct cm_end *end = &s->ends[(first + i) % CM_MAX_ENDS];

		if (end->id)
			return end;
	}
	return NULL;
}

void cm_stops_disturb(struct cm_sim *s)
{
	const struct cm_end *end = choose_end(s);
	uint32_t ms;

	if (!end || s->resumes_ns != CM_NEVER)
		return;
	ms = choose_ms(s);
	s->stopped = end->serial;
	s->resumes_ns = s->w.now_ns + ms * MS;
	s->w.stopped = (const void *)end->serial;
	s->stops++;
	cm_sim_log(s, "%c   %u is stopped for %u ms", (char)('a' + end->host->index),
		   (uint32_t)end->serial, ms);
}

void cm_stops_resume(struct cm_sim *s)
{
	if (s->resumes_ns > s->w.now_ns)
		s->w.now_ns = s->resumes_ns;
	s->resumes_ns = CM_NEVER;
	s->w.stopped = NULL;
	cm_sim_log(s, "    %u runs again", (uint32_t)s->stopped);
}
