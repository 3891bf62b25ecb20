// SPDX-License-Identifier: MIT
/* Shows passing packets to an observer. */
#include "net/link/capture/tap.h"

static int tap_send(struct link *base, const struct wire_train *trains, size_t n)
{
	const struct tap *tap = (const struct tap *)base;
	int sent;

	if (tap->observer->sending)
		tap->observer->sending(tap->arg);
	sent = link_send(base->below, trains, n);
	if (tap->observer->sent)
		tap->observer->sent(tap->arg, trains, sent > 0 ? (size_t)sent : 0);
	return sent;
}

static int tap_receive(struct link *base, struct wire_arrival *ret, size_t max)
{
	const struct tap *tap = (const struct tap *)base;
	const int n = link_receive(base->below, ret, max);

	tap->observer->arrived(tap->arg, ret, n > 0 ? (size_t)n : 0);
	return n;
}

/* By what the observer wants to see: calls of the other direction pass the tap by. */
static const struct link_ops ops[2][2] = {
	[false][true] = { .receive = tap_receive },
	[true][false] = { .send = tap_send },
	[true][true] = { .send = tap_send, .receive = tap_receive },
};

struct link *tap_over(struct tap *tap, struct link *below, const struct tap_observer *observer,
		      void *arg)
{
	bool departures, arrivals;

	assert(below && observer);
	departures = observer->sending || observer->sent;
	arrivals = observer->arrived;
	*tap = (struct tap){ .base = { .ops = &ops[departures][arrivals], .below = below },
			     .observer = observer,
			     .arg = arg };
	return &tap->base;
}
