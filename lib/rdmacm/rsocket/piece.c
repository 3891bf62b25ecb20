// SPDX-License-Identifier: MIT
/* Pieces: the program's bytes on their way to the send queue. */
#include "lib/rdmacm/rsocket/piece.h"

#include <errno.h>
#include <poll.h>

#include "lib/rdmacm/rsocket/calls.h"
#include "lib/rdmacm/rsocket/ready.h"
#include "lib/rdmacm/rsocket/rsocket.h"

static uint32_t least(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b;

	return less > UINT32_MAX ? UINT32_MAX : (uint32_t)less;
}

int rs_piece_await(struct rsocket *rs, bool may_wait)
{
	int err = 0;

	if (rs->state != RS_CONNECTED || !rs_has_credit(rs))
		err = rs_await(rs, POLLOUT, may_wait, rs->options.send_timeout_ns);
	if (err)
		return err;
	if (rs->state != RS_CONNECTED)
		return rs_why_not_connected(rs);
	if (rs->end.sending)
		return EPIPE;
	if (!rs->end.peer)
		return 0;
	err = rs_take_error(rs);
	return err ? err : ECONNRESET;
}

/* len bytes of the ring at most. */
static uint8_t *take(struct rs_sender *sender, uint32_t *len)
{
	uint8_t *bytes;

	if (!sender->used)
		sender->head = 0;
	*len = least(*len, least(sender->size - sender->used, sender->size - sender->head));
	bytes = sender->buf + sender->head;
	sender->head = (sender->head + *len) % sender->size;
	sender->used += *len;
	return bytes;
}

void rs_piece_fill(struct rs_piece *ret, struct rsocket *rs, struct rs_iov *iov, size_t left,
		   uint64_t most)
{
	uint8_t *bytes = ret->small;

	ret->len = least(left, most);
	ret->is_inline = ret->len <= rs->options.inline_bytes && ret->len <= RS_INLINE_MAX;
	if (!ret->is_inline)
		bytes = take(&rs->sender, &ret->len);
	rs_iov_gather(iov, bytes, ret->len);
	ret->bytes = bytes;
}
