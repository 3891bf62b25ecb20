// SPDX-License-Identifier: MIT
/* rshutdown and rclose. */
#include <errno.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/epoll.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/public.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/table.h"
#include "lib/rdmacm/rsocket/wait.h"
#include "lib/rdmacm/rsocket/waiter.h"

#define SECOND_NS		  1000000000
#define DATAGRAM_CLOSE_TIMEOUT_NS SECOND_NS /* for messages to leave; nothing is promised */

/* What the peer hears depends on what is over already. */
static int end_sending(struct rsocket *rs, bool is_all)
{
	bool is_last = is_all || rs->end.receiving;

	rs->end.sending = true;
	if (rs->end.peer)
		return 0;
	rs_progress(rs);
	while (rs_wait(rs, RS_POLL_CONTROL, -1))
		;
	if (rs->end.peer || rs->state != RS_CONNECTED)
		return 0;
	return rs_queue_control(rs, is_last ? RS_CONTROL_DISCONNECT : RS_CONTROL_SHUTDOWN);
}

static int shutdown_locked(struct rsocket *rs, int how)
{
	int err = 0;

	if (rs->datagram)
		return rs_datagram_shutdown(rs, how);
	if (rs->state == RS_LISTENING) {
		rs->end.receiving = true;
		return 0;
	}
	if (rs->state != RS_CONNECTED)
		return ENOTCONN;
	if (how == SHUT_RD || how == SHUT_RDWR)
		rs->end.receiving = true;
	if ((how == SHUT_WR || how == SHUT_RDWR) && !rs->end.sending)
		err = end_sending(rs, how == SHUT_RDWR);
	return err;
}

int rshutdown(int socket, int how)
{
	struct rsocket *rs = rs_get_locked(socket);
	int err = EINVAL;
	NO_CANCEL;

	if (!rs)
		return -1;
	if (how == SHUT_RD || how == SHUT_WR || how == SHUT_RDWR)
		err = shutdown_locked(rs, how);
	rs_wake(rs);
	rs_put_locked(rs);
	return rcm_result(err);
}

/* The peer gets all that was sent, unless the program wants it otherwise (SO_LINGER). */
static void finish(struct rsocket *rs)
{
	int linger_s = rs->options.linger_s;
	int64_t deadline_ns = rs_deadline(linger_s < 0 ? -1 : (int64_t)linger_s * SECOND_NS);

	if (rs->datagram)
		deadline_ns = rs_deadline(DATAGRAM_CLOSE_TIMEOUT_NS);
	else if (rs->state != RS_CONNECTED || !linger_s)
		return;
	if (!rs->datagram && (!rs->end.sending || !rs->end.receiving))
		end_sending(rs, true);
	while (rs_wait(rs, RS_POLL_SENT, deadline_ns) == EINTR)
		;
}

int rclose(int socket)
{
	struct rsocket *rs = rs_table_remove(socket);
	NO_CANCEL;

	if (!rs)
		return rcm_result(rs_epoll_close(socket));
	pthread_mutex_lock(&rs->lock);
	finish(rs);
	rs_destroy(rs);
	rs_wake(rs);
	rs_put_locked(rs);
	return 0;
}
