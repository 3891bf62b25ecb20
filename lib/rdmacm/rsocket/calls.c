// SPDX-License-Identifier: MIT
/* What the public calls of this room share. */
#include "lib/rdmacm/rsocket/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/progress.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"
#include "lib/rdmacm/rsocket/wait.h"

bool rs_may_wait(const struct rsocket *rs, int flags)
{
	return !(rs->status_flags & O_NONBLOCK) && !(flags & MSG_DONTWAIT);
}

int rs_await(struct rsocket *rs, short events, bool may_wait, int64_t timeout_ns)
{
	rs_progress(rs);
	if (rs_revents(rs, events))
		return 0;
	if (may_wait)
		return rs_wait(rs, events, rs_deadline(timeout_ns));
	rs_progress_events(rs);
	return rs_revents(rs, events) ? 0 : EAGAIN;
}

bool rs_iov_len(const struct rs_iov *iov, size_t *ret)
{
	size_t len = 0, i;

	for (i = 0; i < iov->n; i++) {
		if (iov->v[i].iov_len > SSIZE_MAX - len)
			return false;
		len += iov->v[i].iov_len;
	}
	*ret = len;
	return true;
}

/* The next piece, len bytes at most, and how long it is. */
static uint8_t *advance(struct rs_iov *iov, size_t *len)
{
	uint8_t *piece;

	while (iov->offset == iov->v->iov_len) {
		iov->v++;
		iov->offset = 0;
	}
	piece = (uint8_t *)iov->v->iov_base + iov->offset;
	if (*len > iov->v->iov_len - iov->offset)
		*len = iov->v->iov_len - iov->offset;
	iov->offset += *len;
	return piece;
}

void rs_iov_gather(struct rs_iov *iov, uint8_t *to, size_t len)
{
	const uint8_t *from;
	size_t n;

	for (; len; len -= n, to += n) {
		n = len;
		from = advance(iov, &n);
		memcpy(to, from, n);
	}
}

void rs_iov_scatter(struct rs_iov *iov, const uint8_t *from, size_t len)
{
	uint8_t *to;
	size_t n;

	for (; len; len -= n, from += n) {
		n = len;
		to = advance(iov, &n);
		memcpy(to, from, n);
	}
}

ssize_t rs_call(int socket, struct msghdr *msg, int flags, rs_transfer *transfer)
{
	struct rs_iov iov = { .v = msg->msg_iov, .n = msg->msg_iovlen };
	struct rsocket *rs;
	size_t len, n = 0;
	int err;
	NO_CANCEL;

	if (flags & MSG_OOB)
		return rcm_result(EOPNOTSUPP);
	if (!rs_iov_len(&iov, &len))
		return rcm_result(EINVAL);
	rs = rs_get_locked(socket);
	if (!rs)
		return -1;
	err = transfer(rs, &iov, len, msg, flags, &n);
	rs_put_locked(rs);
	return err ? rcm_result(err) : (ssize_t)n;
}
