/* SPDX-License-Identifier: MIT */
/* The fault link: carries out fault rules on what passes between the link below it and its user. The shaper (shaper.h) decides; this link
 * gives it packets and time, and keeps what it hands out.
 *
 * What the shaper hands out is valid until its next call, and the link below may take less than it is offered. So both directions have
 * a queue: copies of trains that the link below did not take, and arrivals that the user did not ask for yet. */
#ifndef RXE_LINK_FAULT_LINK_H
#define RXE_LINK_FAULT_LINK_H

#include "net/link/fault/shaper.h"
#include "net/link/link.h"

/* Called back with the shaper's arg. */
struct fault_link_cfg {
	/* find_qp and fired; the link sets tx_ports. */
	struct fault_shaper_cfg shaper;
	/* True while the port is down or its address is not in the GID table: all packets are dropped. */
	bool (*is_silent)(void *arg);
};

/* Counted from the opening on. */
struct fault_link_stats {
	uint64_t overflows; /* packets that found a queue full: passed on at once, or lost */
	uint64_t
		unanswered; /* requests for which a rule wanted a NAK that would not have been true */
	uint64_t silent_drops; /* packets dropped because the port is down */
};

struct fault_link;

/* NULL: no memory. below: for its ports; fault_link_over() puts the link over it. */
struct fault_link *fault_link_open(const struct fault_link_cfg *cfg, const struct link *below);
/* Drops what waits. NULL is allowed. */
void fault_link_close(struct fault_link *fault);
/* Returns the fault link as a link over below. */
struct link *fault_link_over(struct fault_link *fault, struct link *below);
/* The rules, to be changed between calls of the link. */
struct fault_rules *fault_link_rules(struct fault_link *fault);
/* True when there are no rules and nothing waits: the link may be closed. */
bool fault_link_is_idle(const struct fault_link *fault);
struct fault_link_stats fault_link_stats(const struct fault_link *fault);

#endif
