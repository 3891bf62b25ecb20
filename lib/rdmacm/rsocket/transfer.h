/* SPDX-License-Identifier: MIT */
/* Moving the program's bytes: the buffers of a message, and what streams and datagrams do with
 * them. */
#ifndef RXE_RSOCKET_TRANSFER_H
#define RXE_RSOCKET_TRANSFER_H

#include <string.h>
#include <sys/uio.h>

#include "lib/rdmacm/rsocket/rsocket.h"

struct msghdr;

/* A list of buffers, and how far a call has come. */
struct rs_iov {
	const struct iovec *v;
	size_t n;
	size_t offset; /* into v[0] */
};

/* The next piece, len bytes at most, and how long it is. The buffers must have len bytes left. */
static inline uint8_t *rs_iov_advance(struct rs_iov *iov, size_t *len)
{
	uint8_t *piece;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the caller counts */
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

/* Copies len bytes out of the buffers, and advances. */
static inline void rs_iov_gather(struct rs_iov *iov, uint8_t *to, size_t len)
{
	const uint8_t *from;
	size_t n;

	for (; len; len -= n, to += n) {
		n = len;
		from = rs_iov_advance(iov, &n);
		memcpy(to, from, n);
	}
}

/* Copies len bytes into the buffers, and advances. */
static inline void rs_iov_scatter(struct rs_iov *iov, const uint8_t *from, size_t len)
{
	uint8_t *to;
	size_t n;

	for (; len; len -= n, from += n) {
		n = len;
		to = rs_iov_advance(iov, &n);
		memcpy(to, from, n);
	}
}

/* Moves bytes between an rsocket, whose lock is held, and the len bytes of a message's buffers. 0
 * or a positive errno; *ret: how many bytes. */
typedef int rs_transfer(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
			int flags, size_t *ret);

rs_transfer rs_stream_send, rs_stream_receive, rs_datagram_send, rs_datagram_receive;

#endif
