/* SPDX-License-Identifier: MIT */
/* Hosts with a communication manager each, and MADs between them in virtual time. */
#include "tests/sim/cm_world.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* splitmix64 */
uint64_t cm_world_random(struct cm_world *w)
{
	uint64_t z = w->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

struct cm_host *cm_world_host_of(struct cm_world *w, const struct gid *gid)
{
	for (uint32_t i = 0; i < w->num_hosts; i++)
		if (gid_equal(&w->hosts[i].gid, gid))
			return &w->hosts[i];
	abort();
}

struct cm_path cm_world_path(const struct cm_host *from, const struct cm_host *to)
{
	return (struct cm_path){ .src = from->gid, .dst = to->gid, .hop_limit = 64 };
}

/* Of two that arrive at once, the one that was sent first comes first. */
static int arrives_later(const struct cm_flight *a, const struct cm_flight *sent_later)
{
	return a->at_ns <= sent_later->at_ns ? -1 : 1;
}

static void fly(struct cm_host *from, struct cm_host *to, const uint8_t *mad, uint64_t delay_ns)
{
	struct cm_world *w = from->w;
	struct cm_flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		abort();
	flight->at_ns = w->now_ns + delay_ns;
	flight->from = from->index;
	flight->to = to->index;
	memcpy(flight->mad, mad, CM_MAD_BYTES);
	DL_INSERT_INORDER(w->flights, flight, arrives_later);
}

static void host_send(void *arg, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct cm_host *from = arg, *to = cm_world_host_of(from->w, &path->dst);
	uint64_t delay_ns[2];
	struct cm_msg msg;
	uint32_t copies;

	if (!cm_msg_parse(&msg, mad) || !gid_equal(&path->src, &from->gid))
		abort();
	copies = from->w->hooks->sent(from->w->arg, from, to, &msg, delay_ns);
	for (uint32_t i = 0; i < copies; i++)
		fly(from, to, mad, delay_ns[i]);
}

static void host_event(void *arg, const struct cm_event *event)
{
	struct cm_host *host = arg;

	host->w->hooks->event(host->w->arg, host, event);
}

static uint32_t host_random(void *arg)
{
	const struct cm_host *host = arg;

	return (uint32_t)cm_world_random(host->w);
}

static bool host_is_stopped(void *arg, void *user, bool is_listener)
{
	const struct cm_host *host = arg;

	(void)is_listener;
	return user && user == host->w->stopped;
}

static bool host_has_stopped(void *arg, const struct gid *address)
{
	const struct cm_host *host = arg, *other = host->w->has_stopped;

	return other && gid_equal(&other->gid, address);
}

static const struct cm_ops ops = {
	.send = host_send,
	.event = host_event,
	.random = host_random,
	.is_stopped = host_is_stopped,
	.has_stopped = host_has_stopped,
};

void cm_world_restart(struct cm_host *host, bool is_on)
{
	const struct cm_cfg cfg = { .ops = &ops, .host = host, .max_ids = host->w->max_ids };

	if (host->cm)
		cm_free(host->cm);
	host->cm = is_on ? cm_new(&cfg) : NULL;
	if (is_on && !host->cm)
		abort();
}

void cm_world_init(struct cm_world *w, uint32_t num_hosts, uint32_t max_ids, uint64_t seed,
		   const struct cm_world_hooks *hooks, void *arg)
{
	*w = (struct cm_world){ .random = seed, .num_hosts = num_hosts, .max_ids = max_ids };
	w->hooks = hooks;
	w->arg = arg;
	for (uint32_t i = 0; i < num_hosts; i++) {
		struct cm_host *host = &w->hosts[i];

		*host = (struct cm_host){ .w = w, .index = i, .ca_guid = 0xfffe000900 + i };
		host->gid = (struct gid){ { [10] = 0xff, 0xff, 10, 9, 0, (uint8_t)(i + 1) } };
		cm_world_restart(host, true);
	}
}

void cm_world_free(struct cm_world *w)
{
	struct cm_flight *flight, *next;

	for (uint32_t i = 0; i < w->num_hosts; i++)
		if (w->hosts[i].cm)
			cm_free(w->hosts[i].cm);
	DL_FOREACH_SAFE (w->flights, flight, next)
		free(flight);
}

static void arrive(struct cm_world *w)
{
	struct cm_flight *flight = w->flights;
	struct cm_host *to = &w->hosts[flight->to];
	const struct cm_path path = cm_world_path(to, &w->hosts[flight->from]);
	struct cm_msg msg;

	DL_DELETE(w->flights, flight);
	if (to->cm && w->hooks->arriving && cm_msg_parse(&msg, flight->mad))
		w->hooks->arriving(w->arg, to, &msg);
	if (to->cm)
		cm_input(to->cm, &path, flight->mad, w->now_ns);
	free(flight);
}

uint64_t cm_world_next(const struct cm_world *w)
{
	uint64_t next = w->flights ? w->flights->at_ns : UINT64_MAX;

	for (uint32_t i = 0; i < w->num_hosts; i++) {
		const struct cm *cm = w->hosts[i].cm;

		if (cm && cm_deadline(cm) < next)
			next = cm_deadline(cm);
	}
	return next;
}

bool cm_world_step(struct cm_world *w, uint64_t until_ns)
{
	const uint64_t next = cm_world_next(w);

	if (next > until_ns)
		return false;
	if (next > w->now_ns)
		w->now_ns = next;
	if (w->flights && w->flights->at_ns <= w->now_ns)
		arrive(w);
	for (uint32_t i = 0; i < w->num_hosts; i++)
		if (w->hosts[i].cm)
			cm_expire(w->hosts[i].cm, w->now_ns);
	return true;
}

void cm_world_run_until(struct cm_world *w, uint64_t until_ns)
{
	while (cm_world_step(w, until_ns))
		continue;
	w->now_ns = until_ns;
}
