/* SPDX-License-Identifier: MIT */
/* The fault link: carries out fault rules on packets in both directions. The shaper (shaper.h)
 * decides; this link passes packets and time to it.
 *
 * The shaper's output is valid until its next call, and the link below may not take all trains. So
 * both directions have a queue: copies of trains that the link below did not take, and arrivals
 * that the caller did not take. */
#ifndef RXE_LINK_FAULT_LINK_H
#define RXE_LINK_FAULT_LINK_H

#include "net/link/fault/shaper.h"
#include "net/link/link.h"

/* The callbacks get shaper.arg. */
struct fault_link_cfg {
	/* find_qp and fired; the link sets tx_ports. */
	struct fault_shaper_cfg shaper;
	/* True while the port is down or its address is not in the GID table: all packets are
	 * dropped. */
	bool (*is_silent)(void *arg);
};

struct fault_link;

/* NULL: no memory. Reads the source ports of below; fault_link_over() puts the link over it. */
struct fault_link *fault_link_open(const struct fault_link_cfg *cfg, const struct link *below);
/* Drops the packets that wait. NULL is allowed. */
void fault_link_close(struct fault_link *fault);
/* Returns the fault link as a link over below. */
struct link *fault_link_over(struct fault_link *fault, struct link *below);
/* The rules. The caller may change them between calls of the link. */
struct fault_rules *fault_link_rules(struct fault_link *fault);
/* Whether there are no rules and no packets wait, so that the link may be closed. */
bool fault_link_is_idle(const struct fault_link *fault);
struct fault_stats fault_link_stats(const struct fault_link *fault);

#endif
