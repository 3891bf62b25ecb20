/* SPDX-License-Identifier: MIT */
/* A tap: a link that shows the packets of the link below it to an observer, and changes nothing. It belongs to who declared it: nothing
 * is allocated, and link_close does not apply. */
#ifndef RXE_LINK_TAP_H
#define RXE_LINK_TAP_H

#include <stddef.h>

#include "net/link/link.h"

/* NULL where the observer does not care. */
struct tap_observer {
	/* Trains are about to be handed to the link below. */
	void (*sending)(void *arg);
	/* The link below took these trains; n is 0 when it took none. Each sending is followed by one sent. */
	void (*sent)(void *arg, const struct wire_train *trains, size_t n);
	/* The link below was asked for packets and gave these arrivals; n is 0 when it gave none. */
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
