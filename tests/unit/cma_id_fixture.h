/* SPDX-License-Identifier: MIT */
/* Two instances of the connection manager, a and b, joined by a queue of MADs, in simulated time.
 * All that they send and all events of their programs become lines of a trace. */
#ifndef TESTS_CMA_ID_FIXTURE_H
#define TESTS_CMA_ID_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/control/cm_numbers.h"
#include "rxe_dm/cma/cma.h"

struct side {
	char name;
	struct cma_ids *ids;
	struct ctl_cm_event last; /* the last event */
	struct cm_msg sent;	  /* the last message */
	uint32_t unread;	  /* the host's answer */
	int route_error;	  /* the host's answer; 0: the source is route_src */
	struct gid route_src;
	int neighbor;		      /* the host's answer */
	const struct cma_id *stopped; /* its program is stopped; NULL: none is */
};

/* Each side has a device 0: a at 10.0.0.1, b at 10.0.0.2; and a device 1: a at fd00::1, b at
 * fd00::2. */
extern struct side a, b;
/* READs and atomics that the devices have. */
#define FIXTURE_MAX_READS 16
extern uint64_t now_ns;

void fixture_setup(void);
void fixture_teardown(void);

/* "10.0.0.1:7174", "[fd00::1]:7174", "" (no address) */
union ctl_cm_sockaddr address(const char *text);
/* Makes an id. token: of its events, which the trace shows. */
struct cma_id *make_id(struct side *side, uint32_t port_space, uint64_t token);
struct cma_id *tcp_id(struct side *side, uint64_t token);
/* A TCP or UDP listener at an address. */
struct cma_id *listener(struct side *side, uint32_t port_space, const char *where, uint64_t token);
/* An id with a resolved route; forgets the trace of that. */
struct cma_id *resolved(struct side *side, uint32_t port_space, const char *to, uint64_t token);
/* The new id of the last connection request of a side. */
struct cma_id *requested(struct side *side);
/* Connects a to a listener on b, whose new id is *ret_passive (token 30); forgets the trace. */
struct cma_id *connected(struct cma_id **ret_passive);

/* Delivers all MADs that wait. */
void deliver(void);
/* The next n MADs get lost. */
void lose(uint32_t n);
/* Lets time pass, with all timers and all deliveries. */
void pass_ms(uint32_t ms);

/* The trace since the last call must be this. A line: milliseconds, the side, and ">" and a message
 * with its reason or port, or an event with its token and status. */
void expect(const char *trace);
void forget(void);

#endif
