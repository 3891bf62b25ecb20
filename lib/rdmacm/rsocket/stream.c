// SPDX-License-Identifier: MIT
/* The bytes of streams: rsend and rrecv, and the I/O maps (riomap, riounmap, riowrite), by which a
 * peer writes the program's memory directly. A mapping is announced to the peer with the next data
 * that is sent. */
#include <poll.h>
#include <stdlib.h>
#include <utlist.h>

#include "emu/min.h"
#include "lib/control/cancel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/rsocket/connection.h"
#include "lib/rdmacm/rsocket/queue.h"
#include "lib/rdmacm/rsocket/transfer.h"
#include "lib/rdmacm/rsocket/wait.h"

#define INLINE_MAX 512

/* Makes an entry of the send queue, bytes of the ring and a credit available. 0 or a positive
 * errno. */
static int await_credit(struct rsocket *rs, bool may_wait)
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

/* Takes bytes of the ring in one piece, *len at most. */
static uint8_t *take(struct rs_sender *sender, uint32_t *len)
{
	uint8_t *bytes;

	if (!sender->used)
		sender->head = 0;
	*len = min_u32(*len, min_u32(sender->size - sender->used, sender->size - sender->head));
	bytes = sender->buf + sender->head;
	sender->head = (sender->head + *len) % sender->size;
	sender->used += *len;
	return bytes;
}

/* Sends the next of the left bytes by way of the ring or, when they are few, of the stack: to the
 * peer's I/O map (remote), or as a data message (NULL). Returns how many, 0: the connection has
 * ended. */
static uint32_t send_piece(struct rsocket *rs, struct rs_iov *iov, size_t left,
			   const struct rs_sge *remote)
{
	uint32_t len = (uint32_t)min_u64(left, remote ? remote->length : rs->sender.target.length);
	bool is_inline = len <= rs->options.inline_bytes && len <= INLINE_MAX;
	uint8_t small[INLINE_MAX], *bytes = is_inline ? small : take(&rs->sender, &len);
	int err;

	rs_iov_gather(iov, bytes, len);
	err = rs_queue_data(rs, bytes, len, is_inline, remote);
	if (err)
		rs_queue_lost(rs, err);
	return err ? 0 : len;
}

static int announce_one(struct rsocket *rs, struct rs_mapping *mapping)
{
	const struct rs_iomap_entry entry = {
		.offset = mapping->offset,
		.sge = { .addr = (uintptr_t)mapping->mr->addr,
			 .key = mapping->mr->rkey,
			 .length = (uint32_t)mapping->mr->length },
	};
	int err = rs_queue_iomap(rs, (uint32_t)mapping->index, entry);

	if (err)
		return err;
	mapping->is_announced = true;
	rs->unannounced--;
	return 0;
}

/* Announces the mappings that the peer does not know yet. 0 or a positive errno. */
static int announce(struct rsocket *rs, bool may_wait)
{
	struct rs_mapping *mapping;
	int err = 0;

	while (rs->unannounced && !err) {
		err = await_credit(rs, may_wait);
		/* The wait releases the lock. */
		DL_SEARCH_SCALAR(rs->mappings, mapping, is_announced, false);
		if (!err && mapping)
			err = announce_one(rs, mapping);
	}
	return err;
}

/* For a stream the address of msg does not matter, as with TCP. */
int rs_stream_send(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
		   int flags, size_t *ret)
{
	bool may_wait = rs_may_wait(rs, flags);
	size_t left = len;
	int err;

	(void)msg;
	if (rs->state == RS_NEW || rs->state == RS_LISTENING)
		return ENOTCONN;
	/* Not with each call: it costs more than a short message. */
	if (rs->sender.data_slots < rs->options.sends / 2)
		rs_progress(rs);
	err = announce(rs, may_wait);
	while (left && !err) {
		err = await_credit(rs, may_wait);
		if (!err)
			left -= send_piece(rs, iov, left, NULL);
	}
	*ret = len - left;
	return left < len ? 0 : err;
}

/* Copies the first len unread bytes, which leaves them unread. */
static void copy_unread(const struct rs_receiver *receiver, struct rs_iov *iov, uint32_t len)
{
	uint32_t first = min_u32(len, receiver->size - receiver->offset);

	rs_iov_scatter(iov, receiver->buf + receiver->offset, first);
	rs_iov_scatter(iov, receiver->buf, len - first);
}

/* The first len unread bytes have been read. */
static void consume(struct rs_receiver *receiver, uint32_t len, uint32_t entries)
{
	uint32_t *message, n;

	receiver->offset = (receiver->offset + len) % receiver->size;
	receiver->unread -= len;
	receiver->free += len;
	while (len) {
		message = &receiver->lens[receiver->first];
		n = min_u32(len, *message);
		*message -= n;
		len -= n;
		if (*message)
			continue;
		receiver->first = (receiver->first + 1) % entries;
		receiver->count--;
		receiver->consumed++;
	}
}

/* Waits for data. 0 and no data: the end of the stream. */
static int await_data(struct rsocket *rs, bool may_wait)
{
	int err = rs_await(rs, POLLIN, may_wait, rs->options.recv_timeout_ns);

	if (err || rs->receiver.unread)
		return err;
	if (rs->state != RS_CONNECTED)
		return rs_why_not_connected(rs);
	return rs_take_error(rs);
}

int rs_stream_receive(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
		      int flags, size_t *ret)
{
	struct rs_receiver *receiver = &rs->receiver;
	bool may_wait = rs_may_wait(rs, flags);
	size_t left = len;
	uint32_t n;
	int err = 0;

	if (rs->state == RS_NEW || rs->state == RS_LISTENING)
		return ENOTCONN;
	while (left) {
		if (!receiver->unread)
			err = await_data(rs, may_wait);
		if (err || !receiver->unread)
			break;
		n = (uint32_t)min_u64(left, receiver->unread);
		copy_unread(receiver, iov, n);
		left -= n;
		if (flags & MSG_PEEK)
			break;
		consume(receiver, n, rs->options.recvs);
		rs_queue_credits(rs);
		if (!(flags & MSG_WAITALL))
			break;
	}
	/* As with TCP, the address is not written. */
	msg->msg_namelen = 0;
	*ret = len - left;
	return left < len ? 0 : err;
}

/* A free entry of the peer's I/O map. -1: the map is full. */
static int free_index(const struct rsocket *rs)
{
	int index, size = (int)rs->receiver.remote_iomap_size;
	const struct rs_mapping *mapping;

	for (index = 0; index < size; index++) {
		DL_SEARCH_SCALAR(rs->mappings, mapping, index, index);
		if (!mapping)
			return index;
	}
	return -1;
}

static int map_locked(struct rsocket *rs, void *buf, size_t len, bool is_remote, uint64_t offset)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | (is_remote ? IBV_ACCESS_REMOTE_WRITE : 0);
	struct rs_mapping *mapping;
	int index = -1;

	if (rs->state != RS_CONNECTED || len > UINT32_MAX)
		return EINVAL;
	if (is_remote)
		index = free_index(rs);
	if (is_remote && index < 0)
		return ENOMEM;
	mapping = malloc(sizeof(*mapping));
	if (!mapping)
		return ENOMEM;
	*mapping = (struct rs_mapping){
		.mr = ibv_reg_mr(rs->id->pd, buf, len, access),
		.offset = offset,
		.index = index,
		.is_announced = !is_remote,
	};
	if (!mapping->mr) {
		free(mapping);
		return rcm_errno();
	}
	rs->unannounced += is_remote;
	DL_PREPEND(rs->mappings, mapping);
	return 0;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	uint64_t at = offset == -1 ? (uintptr_t)buf : (uint64_t)offset;
	struct rsocket *rs = rs_get_locked(socket);
	int err = EINVAL;
	NO_CANCEL;

	(void)flags;
	if (!rs)
		return -1;
	if (!(prot & ~PROT_WRITE))
		err = map_locked(rs, buf, len, prot & PROT_WRITE, at);
	rs_put_locked(rs);
	return err ? rcm_return(err) : (off_t)at;
}

int riounmap(int socket, void *buf, size_t len)
{
	struct rsocket *rs = rs_get_locked(socket);
	struct rs_mapping *mapping;
	NO_CANCEL;

	if (!rs)
		return -1;
	DL_FOREACH (rs->mappings, mapping) {
		if (mapping->mr->addr == buf && mapping->mr->length == len)
			break;
	}
	if (mapping)
		rs_mapping_free(rs, mapping);
	rs_put_locked(rs);
	return rcm_return(mapping ? 0 : EINVAL);
}

static int write_locked(struct rsocket *rs, struct rs_iov *iov, size_t len, uint64_t offset,
			bool may_wait, size_t *ret)
{
	int err = announce(rs, may_wait);
	struct rs_sge remote;
	size_t left = len;

	while (left && !err) {
		err = await_credit(rs, may_wait);
		if (err)
			break;
		remote = rs_iomap_find(rs->sender.iomap, rs->options.iomap_size,
				       offset + len - left);
		/* As rdma-core: what is mapped is written. */
		if (!remote.length)
			break;
		left -= send_piece(rs, iov, left, &remote);
	}
	*ret = len - left;
	return left < len ? 0 : err;
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	const struct iovec v = { .iov_base = (void *)(uintptr_t)buf, .iov_len = count };
	struct rs_iov iov = { .v = &v, .n = 1 };
	struct rsocket *rs = rs_get_locked(socket);
	size_t written = 0;
	int err = ENOTCONN;
	NO_CANCEL;

	if (!rs)
		return (size_t)-1;
	if (rs->state == RS_CONNECTED)
		err = write_locked(rs, &iov, count, (uint64_t)offset, rs_may_wait(rs, flags),
				   &written);
	rs_put_locked(rs);
	return err ? (size_t)rcm_return(err) : written;
}
