/* SPDX-License-Identifier: MIT */
/* The unkind link: holds arrivals back for a time, as a network and an adapter may. Packets of one
 * stream (a queue pair) keep their order; others pass them. Nothing is lost, and what leaves is not
 * touched: an ACK is still with the kernel before the completion that belongs to it is visible.
 *
 * It is in the stack only of a device that is unkind (lib/unkind), under all other wrappers: it is
 * part of the network, and captures show what comes out of it. */
#ifndef RXE_LINK_UNKIND_LINK_H
#define RXE_LINK_UNKIND_LINK_H

#include <stdint.h>

#include "net/link/link.h"

/* Packets that it holds at most. While it holds as many, the link below is not read. */
#define UNKIND_HELD 256u

struct unkind_link_cfg {
	/* Called once for each arrival, in order: how long it is held, ns; 0: not. Sets *ret_stream
	 * to what keeps its order. */
	uint64_t (*hold_ns)(void *arg, const struct wire_arrival *arrival, uint64_t *ret_stream);
	uint64_t (*now_ns)(void *arg);
	void *arg;
};

struct unkind_link;

/* NULL: no memory. */
struct unkind_link *unkind_link_open(const struct unkind_link_cfg *cfg);
/* Drops the packets that it holds. NULL is allowed. */
void unkind_link_close(struct unkind_link *unkind);
/* Returns the unkind link as a link over below, whose arrivals are complete
 * (link_complete_arrivals()). */
struct link *unkind_link_over(struct unkind_link *unkind, struct link *below);

#endif
