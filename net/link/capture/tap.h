/* SPDX-License-Identifier: MIT */
/* A tap: a link that shows the packets of the link below it to an observer, unchanged. The caller
 * owns its memory; link_close does not apply. */
#ifndef RXE_LINK_CAPTURE_TAP_H
#define RXE_LINK_CAPTURE_TAP_H

#include <stddef.h>

#include "net/link/link.h"

/* Each callback may be NULL. */
struct tap_observer {
	/* The tap is about to hand trains to the link below. */
	void (*sending)(void *arg);
	/* The link below took these trains; n may be 0. Each sending is followed by one sent. */
	void (*sent)(void *arg, const struct wire_train *trains, size_t n);
	/* The link below returned these arrivals; n may be 0. */
	void (*arrived)(void *arg, const struct wire_arrival *arrivals, size_t n);
};

struct tap {
	struct link base; /* first: a struct link * is one of these */
	const struct tap_observer *observer;
	void *arg;
};

/* Puts the tap over a link. Returns the tap as a link. */
struct link *tap_over(struct tap *tap, struct link *below, const struct tap_observer *observer,
		      void *arg);

#endif
