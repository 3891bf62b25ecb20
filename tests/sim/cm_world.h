/* SPDX-License-Identifier: MIT */
/* Hosts with a communication manager each, joined by a network in virtual time. What becomes of a
 * MAD on its way, and what programs do with events, is the caller's. */
#ifndef TESTS_SIM_CM_WORLD_H
#define TESTS_SIM_CM_WORLD_H

#include "rxe_dm/cm/cm.h"

#define CM_WORLD_HOSTS 8u
#define MS	       1000000ull

struct cm_world;

struct cm_host {
	struct cm_world *w;
	uint32_t index;
	struct gid gid;
	uint64_t ca_guid;
	struct cm *cm; /* NULL: switched off; what is sent to it is lost */
};

/* A MAD on its way. */
struct cm_flight {
	struct cm_flight *next, *prev;
	uint64_t at_ns;
	uint32_t from, to;
	uint8_t mad[CM_MAD_BYTES];
};

struct cm_world_hooks {
	/* A MAD leaves a host. Returns how many copies arrive, and when each does. */
	uint32_t (*sent)(void *arg, struct cm_host *from, struct cm_host *to,
			 const struct cm_msg *msg, uint64_t ret_delay_ns[2]);
	/* Before a MAD reaches a host. NULL: no caller asks. */
	void (*arriving)(void *arg, struct cm_host *to, const struct cm_msg *msg);
	void (*event)(void *arg, struct cm_host *host, const struct cm_event *event);
};

struct cm_world {
	uint64_t now_ns;
	uint64_t random; /* state of the generator */
	uint32_t num_hosts;
	struct cm_host hosts[CM_WORLD_HOSTS];
	struct cm_flight *flights; /* by arrival */
	const struct cm_world_hooks *hooks;
	void *arg;
	uint32_t max_ids;
	const void *stopped; /* user of ids whose program is stopped; NULL: none */
	/* Shares its machine with the others, and one of its programs is stopped; NULL: none. */
	const struct cm_host *has_stopped;
};

void cm_world_init(struct cm_world *w, uint32_t num_hosts, uint32_t max_ids, uint64_t seed,
		   const struct cm_world_hooks *hooks, void *arg);
void cm_world_free(struct cm_world *w);
/* A host loses everything it knew, and begins again (is_on) or stays off. */
void cm_world_restart(struct cm_host *host, bool is_on);
uint64_t cm_world_random(struct cm_world *w);

struct cm_host *cm_world_host_of(struct cm_world *w, const struct gid *gid);
struct cm_path cm_world_path(const struct cm_host *from, const struct cm_host *to);
/* When the next MAD arrives or timer expires; UINT64_MAX: nothing is left. */
uint64_t cm_world_next(const struct cm_world *w);
/* Goes on to that time, at most to until_ns. False: nothing happened until then. */
bool cm_world_step(struct cm_world *w, uint64_t until_ns);
void cm_world_run_until(struct cm_world *w, uint64_t until_ns);

#endif
