/* SPDX-License-Identifier: MIT */
/* Pieces: the program's bytes on their way to the send queue, in the ring of the send buffer or,
 * when they are few, on the stack. The lock is held by the caller. */
#ifndef RXE_RSOCKET_PIECE_H
#define RXE_RSOCKET_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_INLINE_MAX 512

struct rs_iov;
struct rsocket;

struct rs_piece {
	const uint8_t *bytes;
	uint32_t len;
	bool is_inline;
	uint8_t small[RS_INLINE_MAX];
};

/* Makes an entry of the send queue, bytes of the ring and a credit available. 0 or a positive
 * errno. */
int rs_piece_await(struct rsocket *rs, bool may_wait);
/* Takes the next bytes of iov: left of them at most, most at most, in one piece of the ring. */
void rs_piece_fill(struct rs_piece *ret, struct rsocket *rs, struct rs_iov *iov, size_t left,
		   uint64_t most);

#endif
