/* SPDX-License-Identifier: MIT */
/* Datagram rsockets (SOCK_DGRAM), by the protocol of message.h.
 *
 * Parts. A path (datagram_path.h) is a UD queue pair on one device with one address of ours. A peer
 * (datagram_peer.h) is an address that messages go to or come from, and the path to it. The
 * kernel's UDP socket (datagram_udp.h) is the address of the rsocket, and carries messages to peers
 * whose queue pair is not known yet, and those that are too long for a UD message.
 *
 * Who makes progress. As with streams, each call, under the lock of the rsocket. There is no
 * thread: the UDP socket keeps what comes while the program calls nothing. Looking at the UDP
 * socket is a system call, so calls that find what they need by polling completion queues do it
 * only now and then. A thread that waits polls one epoll descriptor, which has the UDP socket and
 * the completion channels of all paths.
 *
 * Nothing is reliable: a message is lost when the receiver has no free receive, or when its queue
 * pair is another one than the sender knows. The lock is held by the caller of each function. */
#ifndef RXE_RSOCKET_DATAGRAM_H
#define RXE_RSOCKET_DATAGRAM_H

#include <stdbool.h>

#include "lib/rdmacm/rsocket/message.h"

struct pollfd;
struct rs_path;
struct rs_peer;
struct rsocket;

/* A received message that the program has not read. */
struct rs_unread {
	struct rs_unread *prev, *next;
	struct rs_path *path; /* in whose receive buffer it is; NULL: behind this struct */
	const uint8_t *bytes;
	uint32_t len;
	struct rs_address from;
};

struct rs_datagram {
	int udp;		 /* the kernel's socket */
	int epfd;		 /* what a thread waits for */
	struct rs_address local; /* of the kernel's socket. Port 0: not bound */
	struct rs_path *paths;
	struct rs_peer *peers;
	struct rs_peer *connected;
	struct rs_unread *unread;
	uint32_t num_by_udp; /* of unread */
	uint32_t turns;	     /* of progress */
	uint8_t *buf;	     /* for one UDP message */
};

/* Makes a new rsocket a datagram's. 0 or a positive errno; rs_datagram_free() follows in either
 * case. */
int rs_datagram_open(struct rsocket *rs);
void rs_datagram_free(struct rsocket *rs);

/* Public calls for datagram rsockets. 0 or a positive errno. */
int rs_datagram_bind(struct rsocket *rs, const struct sockaddr *addr, socklen_t len);
int rs_datagram_connect(struct rsocket *rs, const struct sockaddr *addr, socklen_t len);
int rs_datagram_shutdown(struct rsocket *rs, int how);
int rs_datagram_name(struct rsocket *rs, bool is_peer, struct sockaddr *addr, socklen_t *len);
/* Options of sockets, other than those of SOL_RDMA: the UDP socket's. */
int rs_datagram_set_option(struct rsocket *rs, int level, int name, const void *value,
			   socklen_t len);
int rs_datagram_get_option(struct rsocket *rs, int level, int name, void *value, socklen_t *len);

/* Handles completions, and now and then the UDP socket. */
void rs_datagram_progress(struct rsocket *rs);
/* Looks at all descriptors: some system calls. */
void rs_datagram_progress_events(struct rsocket *rs);
/* Arms all completion queues. */
void rs_datagram_arm(struct rsocket *rs);
/* Whether a message may be posted on whatever path. */
bool rs_datagram_has_slots(const struct rs_datagram *datagram);
/* Adds a message; drops it when the peer is not the one that the rsocket is connected to. False:
 * dropped. */
bool rs_datagram_arrived(struct rsocket *rs, struct rs_unread *unread);
/* Ends an unread message: its receive is posted again. */
void rs_datagram_release(struct rsocket *rs, struct rs_unread *unread);

#endif
