/* SPDX-License-Identifier: MIT */
/* The UDP socket of a datagram rsocket: its address, and what goes by UDP (datagram_message.h). The
 * lock of the rsocket is held by the caller of each function. */
#ifndef RXE_RSOCKET_DATAGRAM_UDP_H
#define RXE_RSOCKET_DATAGRAM_UDP_H

#include <stdbool.h>
#include <stddef.h>

struct rs_address;
struct rs_iov;
struct rs_peer;
struct rsocket;

/* Opens the socket. 0 or a positive errno; rs_udp_close() follows in either case. */
int rs_udp_open(struct rsocket *rs);
void rs_udp_close(struct rsocket *rs);
/* Binds to a free port of an address; NULL: of any. 0 or a positive errno. */
int rs_udp_bind(struct rsocket *rs, const struct rs_address *address);
/* Learns what address the socket has. 0 or a positive errno. */
int rs_udp_update_name(struct rsocket *rs);
/* Sends len bytes of the program's. 0 or a positive errno. */
int rs_udp_send(struct rsocket *rs, const struct rs_peer *peer, struct rs_iov *iov, size_t len,
		bool may_wait);
/* Handles what has come: learns numbers of queue pairs, answers, and keeps messages. */
void rs_udp_receive(struct rsocket *rs);

#endif
