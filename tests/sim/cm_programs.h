/* SPDX-License-Identifier: MIT */
/* Programs of the connection manager's simulation: they connect, accept, refuse, disconnect and
 * leave at random, and know what they have been told. */
#ifndef TESTS_SIM_CM_PROGRAMS_H
#define TESTS_SIM_CM_PROGRAMS_H

#include "tests/sim/cm_world.h"

#define CM_SERVICE   0x1061c06u
#define CM_MAX_ENDS  64u
#define CM_SIM_IDS   48u /* of a host */
#define CM_SIM_HOSTS 3u
#define CM_NEVER     UINT64_MAX

/* A program's view of an id. */
struct cm_end {
	struct cm_id *id; /* NULL: the place is free */
	uintptr_t serial; /* the id's user */
	struct cm_host *host;
	uint64_t due_ns; /* when the program acts */
	bool is_active;
	bool is_answered;   /* active: by a REP, a REJ or a timeout */
	enum cm_state seen; /* when last looked at */
	uint64_t since_ns;  /* of the TIME_WAIT seen */
	uint32_t qpn, remote_qpn;
	uint32_t comm_id; /* names its last exchange; 0: none yet */
	uint64_t remote_guid;
	uint8_t ack_timeout; /* the least that TIME_WAIT covers */
	bool must_end;	     /* a DREQ or REJ has reached it */
};

/* How often an end told its peer that it is there no more, or asked for events. */
struct cm_notice {
	uint32_t host, comm_id, copies;
};

struct cm_sim {
	struct cm_world w;
	struct cm_end ends[CM_MAX_ENDS];
	struct cm_id *listeners[CM_SIM_HOSTS];
	uint64_t restarted_ns[CM_SIM_HOSTS];
	uintptr_t serial;
	uint32_t next_qpn;
	uint32_t last_free_qpn[CM_SIM_HOSTS]; /* 0: none */
	/* The seed's choices, in percent. */
	uint32_t loss, twice, slow, hasty;
	uint8_t max_retries;
	bool is_quiet; /* the network is in order, and programs begin nothing */
	struct cm_notice notices[1024];
	uint32_t num_notices;
	uint64_t seed;
	bool is_traced;
	uint64_t events, connections, stops;
	/* cm_stops.c */
	bool has_stops;
	uintptr_t stopped;   /* serial of the end whose program was stopped last */
	uint64_t resumes_ns; /* CM_NEVER: no program is stopped */
};

void cm_sim_begin(struct cm_sim *s, uint64_t seed);
/* Random actions for some virtual time, then until nothing is left to do. */
void cm_sim_run(struct cm_sim *s);
/* All programs leave. */
void cm_sim_leave(struct cm_sim *s);
void cm_sim_end(struct cm_sim *s);

uint32_t cm_sim_random(struct cm_sim *s, uint32_t below);
bool cm_sim_chance(struct cm_sim *s, uint32_t percent);
void cm_sim_log(struct cm_sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct cm_end *cm_sim_end_of(struct cm_sim *s, uintptr_t serial);

/* cm_oracle.c: each fails with one line that replays the seed. */
void cm_oracle_fail(struct cm_sim *s, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void cm_oracle_sent(struct cm_sim *s, const struct cm_host *from, const struct cm_msg *msg);
void cm_oracle_arriving(struct cm_sim *s, const struct cm_host *to, const struct cm_msg *msg);
void cm_oracle_event(struct cm_sim *s, struct cm_host *host, const struct cm_event *event);
/* Looks at an end after an event or a call. is_free: an event has said that its QP number is. */
void cm_oracle_look(struct cm_sim *s, struct cm_end *end, bool is_free);
void cm_oracle_step(struct cm_sim *s);
void cm_oracle_settled(struct cm_sim *s); /* nothing is left to do */
void cm_oracle_left(struct cm_sim *s);	  /* all programs have left */

#endif
