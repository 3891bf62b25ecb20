// SPDX-License-Identifier: MIT
/* Progress of one rsocket. */
#include "lib/rdmacm/rsocket/progress.h"

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/connection.h"
#include "lib/rdmacm/rsocket/datagram.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/waiter.h"

void rs_progress(struct rsocket *rs)
{
	if (rs->state == RS_CONNECTED)
		rs_queue_progress(rs);
	else if (rs->state == RS_DATAGRAM)
		rs_datagram_progress(rs);
	rs_wake(rs);
}

void rs_progress_events(struct rsocket *rs)
{
	int saved = errno;

	if (rs->state == RS_DATAGRAM)
		rs_datagram_progress_events(rs);
	else if (rs->state != RS_NEW && rs->state != RS_CLOSED)
		rs_connection_events(rs);
	rs_progress(rs);
	errno = saved;
}
