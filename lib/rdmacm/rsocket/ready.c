// SPDX-License-Identifier: MIT
/* What an rsocket is ready for. */
#include "lib/rdmacm/rsocket/ready.h"

#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/rsocket.h"

#define READ_EVENTS  (POLLIN | POLLRDNORM)
#define WRITE_EVENTS (POLLOUT | POLLWRNORM)
#define OWN_EVENTS   (RS_POLL_CONTROL | RS_POLL_SENT)

bool rs_has_credit(const struct rsocket *rs)
{
	const struct rs_sender *sender = &rs->sender;

	if (rs->datagram)
		return rs_datagram_has_slots(rs->datagram);
	return sender->data_slots && sender->sent != sender->limit && sender->target.length &&
	       sender->used <= sender->size / 2;
}

bool rs_is_writable(const struct rsocket *rs)
{
	return rs->end.sending || rs->end.peer || rs_has_credit(rs);
}

bool rs_is_readable(const struct rsocket *rs)
{
	return rs->receiver.unread || rs->end.receiving || rs->end.peer_sending || rs->end.peer;
}

bool rs_is_connecting(const struct rsocket *rs)
{
	return rs->state == RS_RESOLVING_ADDR || rs->state == RS_RESOLVING_ROUTE ||
	       rs->state == RS_CONNECTING || rs->state == RS_ACCEPTING;
}

static int own_events(const struct rsocket *rs)
{
	if (rs->end.peer)
		return OWN_EVENTS;
	return (rs->sender.control_slots ? RS_POLL_CONTROL : 0) |
	       (rs->sender.in_flight ? 0 : RS_POLL_SENT);
}

static int connected_events(const struct rsocket *rs)
{
	bool is_read_over = rs->end.receiving || rs->end.peer_sending || rs->end.peer;
	bool is_write_over = rs->end.sending || rs->end.peer;

	return (rs_is_readable(rs) ? READ_EVENTS : 0) | (rs_is_writable(rs) ? WRITE_EVENTS : 0) |
	       (is_read_over ? POLLRDHUP : 0) | (is_read_over && is_write_over ? POLLHUP : 0) |
	       (rs->err ? POLLERR : 0) | own_events(rs);
}

/* An error is read by whichever call comes next. */
static int datagram_events(const struct rsocket *rs)
{
	return connected_events(rs) | (rs->datagram->unread ? READ_EVENTS : 0) |
	       (rs->err ? READ_EVENTS | WRITE_EVENTS : 0);
}

static int all_events(const struct rsocket *rs)
{
	switch (rs->state) {
	case RS_NEW: return WRITE_EVENTS | POLLHUP;
	case RS_LISTENING: return rs->accepted || rs->end.receiving ? READ_EVENTS : 0;
	case RS_RESOLVING_ADDR:
	case RS_RESOLVING_ROUTE:
	case RS_CONNECTING:
	case RS_ACCEPTING: return 0;
	case RS_CONNECTED: return connected_events(rs);
	case RS_DATAGRAM: return datagram_events(rs);
	case RS_FAILED:
		return READ_EVENTS | WRITE_EVENTS | POLLRDHUP | OWN_EVENTS | POLLHUP |
		       (rs->err ? POLLERR : 0);
	case RS_CLOSED: return POLLNVAL;
	}
	return 0;
}

short rs_revents(const struct rsocket *rs, short wanted)
{
	return (short)(all_events(rs) & (wanted | POLLNVAL));
}
