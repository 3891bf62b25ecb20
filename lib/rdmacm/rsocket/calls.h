/* SPDX-License-Identifier: MIT */
/* What the public calls of this room share. */
#ifndef RXE_RSOCKET_CALLS_H
#define RXE_RSOCKET_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct iovec;
struct msghdr;
struct rsocket;

/* Whether a call with these flags waits. */
bool rs_may_wait(const struct rsocket *rs, int flags);
/* Makes progress until one of the events is there; waits for it if the call may. The lock is held.
 * 0 or a positive errno. */
int rs_await(struct rsocket *rs, short events, bool may_wait, int64_t timeout_ns);
/* A list of buffers, and how far a call has come. */
struct rs_iov {
	const struct iovec *v;
	size_t n;
	size_t offset; /* into v[0] */
};

/* Sum of the lengths. False: it exceeds what a call can return. */
bool rs_iov_len(const struct rs_iov *iov, size_t *ret);
/* Copy len bytes, which must be there, and advance. */
void rs_iov_gather(struct rs_iov *iov, uint8_t *to, size_t len);
void rs_iov_scatter(struct rs_iov *iov, const uint8_t *from, size_t len);

/* Moves bytes between an rsocket, whose lock is held, and the len bytes of a message's buffers. 0 or
 * a positive errno; *ret: how many bytes. */
typedef int rs_transfer(struct rsocket *rs, struct rs_iov *iov, size_t len, struct msghdr *msg,
			int flags, size_t *ret);

/* A call that transfers a message: the number of bytes, or -1 and errno. */
ssize_t rs_call(int socket, struct msghdr *msg, int flags, rs_transfer *transfer);

#endif
