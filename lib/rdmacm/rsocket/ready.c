// SPDX-License-Identifier: MIT
/* What an rsocket is ready for, and its waiters, each with the eventfd of its thread. */
#include "lib/rdmacm/rsocket/ready.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "net/link/descriptor.h"

#define READ_EVENTS  (POLLIN | POLLRDNORM)
#define WRITE_EVENTS (POLLOUT | POLLWRNORM)
#define IN_EDGES     (READ_EVENTS | POLLPRI | POLLRDHUP | POLLHUP | POLLERR)
#define OUT_EDGES    (WRITE_EVENTS | POLLHUP | POLLERR)
#define OWN_EVENTS   (RS_POLL_CONTROL | RS_POLL_SENT)

bool rs_has_credit(const struct rsocket *rs)
{
	const struct rs_sender *sender = &rs->sender;

	if (rs->datagram)
		return rs_datagram_has_slots(rs->datagram);
	return sender->data_slots && sender->sent != sender->limit && sender->target.length &&
	       sender->used <= sender->size / 2;
}

/* Whether rsend() returns at once, be it with an error. */
static bool is_writable(const struct rsocket *rs)
{
	return rs->end.sending || rs->end.peer || rs_has_credit(rs);
}

/* Whether rrecv() returns at once. */
static bool is_readable(const struct rsocket *rs)
{
	return rs->receiver.unread || rs->end.receiving || rs->end.peer_sending || rs->end.peer;
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

	return (is_readable(rs) ? READ_EVENTS : 0) | (is_writable(rs) ? WRITE_EVENTS : 0) |
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
	case RS_CONNECTING: return 0;
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

static short edge_revents(const struct rsocket *rs, const struct rs_waiter *waiter)
{
	short revents = rs_revents(rs, waiter->events);
	bool is_new = (revents & IN_EDGES && waiter->seen.in != rs->edges.in) ||
		      (revents & OUT_EDGES && waiter->seen.out != rs->edges.out);

	return is_new || revents & POLLNVAL ? revents : 0;
}

short rs_waiter_revents(const struct rsocket *rs, const struct rs_waiter *waiter)
{
	return waiter->is_edge ? edge_revents(rs, waiter) : rs_revents(rs, waiter->events);
}

/* Counts how the events changed since the last call. */
static void count_edges(struct rsocket *rs)
{
	short now = rs_revents(rs, IN_EDGES | OUT_EDGES), more = (short)(now & ~rs->last_events);

	rs->edges.in += (more & IN_EDGES) != 0;
	rs->edges.out += (more & OUT_EDGES) != 0;
	rs->last_events = now;
}

void rs_wake(struct rsocket *rs)
{
	struct rs_waiter *waiter;

	count_edges(rs);
	DL_FOREACH (rs->waiters, waiter) {
		if (waiter->is_awake || !rs_waiter_revents(rs, waiter))
			continue;
		waiter->is_awake = true;
		eventfd_write(waiter->fd, 1);
	}
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ending; /* its destructor closes the eventfd of a thread that ends */
static __thread int thread_fd = -1;
static __thread pid_t thread_pid; /* whose eventfd it is: a child of fork() needs one of its own */

static void close_fd(void *arg)
{
	(void)arg;
	descriptor_close(thread_fd);
	thread_fd = -1;
}

static void create_key(void)
{
	pthread_key_create(&ending, close_fd);
}

int rs_waiter_fd(void)
{
	eventfd_t count;

	if (thread_pid == getpid() && descriptor_is_kept(thread_fd)) {
		eventfd_read(thread_fd, &count);
		return thread_fd;
	}
	pthread_once(&once, create_key);
	thread_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	thread_pid = getpid();
	pthread_setspecific(ending, &thread_fd);
	return thread_fd;
}
