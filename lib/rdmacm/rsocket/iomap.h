/* SPDX-License-Identifier: MIT */
/* The I/O maps: memory of a program that its peer writes directly (riomap, riowrite). A mapping is
 * announced to the peer with the next data that is sent. The lock is held by the caller. */
#ifndef RXE_RSOCKET_IOMAP_H
#define RXE_RSOCKET_IOMAP_H

#include <stdbool.h>

struct rsocket;

/* Announces what the peer does not know yet. 0 or a positive errno. */
int rs_iomap_announce(struct rsocket *rs, bool may_wait);

#endif
