/* SPDX-License-Identifier: MIT */
/* Datagram rsockets (SOCK_DGRAM), by the protocol of message.h.
 *
 * Parts. A path (datagram_path.c) is a UD queue pair on one device with one address of ours. A peer
 * (datagram_peer.c) is an address that messages go to or come from, and the path to it. The
 * kernel's UDP socket (datagram_udp.c) is the address of the rsocket, and carries messages to peers
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
#include <string.h>

#include "lib/rdmacm/rsocket/rsocket.h"

#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

struct rs_iov;

/* A received message that the program has not read. */
struct rs_unread {
	struct rs_unread *prev, *next;
	struct rs_path *path; /* whose receive buffer has it; NULL: the bytes follow */
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

struct rs_path {
	struct rs_path *prev, *next;
	struct rdma_cm_id *id; /* bound to the device */
	struct rs_address from;
	struct rs_cq cq;
	struct ibv_mr *mr;
	uint8_t *memory; /* buffers of receives, then of sends */
	size_t memory_len;
	uint32_t recvs, sends;	  /* how many */
	uint32_t most;		  /* bytes of a message, its header included */
	struct rs_unread *unread; /* one for each receive */
	uint32_t *free_sends, num_free;
	bool is_lost; /* its queue pair is in error */
};

struct rs_peer {
	UT_hash_handle hh; /* by address */
	struct rs_address address;
	struct rs_path *path; /* NULL: lost */
	struct ibv_ah *ah;
	uint32_t qpn; /* 0: not known yet */
};

/* Makes a new rsocket a datagram's. 0 or a positive errno; rs_datagram_free() follows in either
 * case. */
int rs_datagram_open(struct rsocket *rs);
void rs_datagram_free(struct rsocket *rs);

/* Public calls for datagram rsockets. 0 or a positive errno. */
int rs_datagram_bind(struct rsocket *rs, const struct sockaddr *addr, socklen_t len);
int rs_datagram_connect(struct rsocket *rs, const struct sockaddr *addr, socklen_t len);
int rs_datagram_name(struct rsocket *rs, bool is_peer, struct sockaddr *addr, socklen_t *len);

/* Handles completions, and now and then the UDP socket. */
void rs_datagram_progress(struct rsocket *rs);
/* Looks at all descriptors: some system calls. */
void rs_datagram_progress_events(struct rsocket *rs);
/* Arms all completion queues. */
void rs_datagram_arm(struct rsocket *rs);

/* datagram_path.c: UD queue pairs with their buffers, and the messages that are in them. */

/* The path on the id's device with this address; makes it when there is none, and then takes over
 * the id. 0 or a positive errno. */
int rs_path_get(struct rsocket *rs, struct rdma_cm_id *id, const struct rs_address *from,
		struct rs_path **ret);
/* Ends a path. Its unread messages are lost. */
void rs_path_free(struct rsocket *rs, struct rs_path *path);
/* Sends len bytes as one message. A send is free, and header and bytes do not exceed most. 0 or a
 * positive errno. */
int rs_path_send(struct rsocket *rs, struct rs_path *path, const struct rs_peer *peer,
		 struct rs_iov *iov, uint32_t len);
/* Handles all completions. */
void rs_path_progress(struct rsocket *rs, struct rs_path *path);
void rs_path_arm(struct rs_path *path);
/* Whether a message may be posted on whatever path. */
bool rs_datagram_has_slots(const struct rs_datagram *datagram);
/* Adds a message; drops it when the peer is not the one that the rsocket is connected to. False:
 * dropped. */
bool rs_datagram_arrived(struct rsocket *rs, struct rs_unread *unread);
/* Ends an unread message: its receive is posted again. */
void rs_datagram_release(struct rsocket *rs, struct rs_unread *unread);

/* datagram_peer.c: the addresses that messages go to and come from, and the rsocket's own. */

/* The peer of an address, with a path to it. Looks for a path first where there is none: asks the
 * connection manager, which takes long where a neighbor does not answer. local: the address of ours
 * to send from; NULL: that of the rsocket, or, where it has none, whichever leads there.
 * is_lasting: an rsocket that is not bound gets the address that leads there, not only a port. 0 or
 * a positive errno. */
int rs_peer_get(struct rsocket *rs, const struct rs_address *address,
		const struct rs_address *local, bool is_lasting, struct rs_peer **ret);
/* Forgets the path in all peers that have it. */
void rs_peers_lose_path(struct rsocket *rs, const struct rs_path *path);
void rs_peers_free(struct rsocket *rs);
/* Reads the address of the UDP socket into datagram->local. 0 or a positive errno. */
int rs_datagram_update_local(struct rsocket *rs);

/* datagram_udp.c: what goes by UDP. */

/* Opens the socket. 0 or a positive errno; rs_udp_close() follows in either case. */
int rs_udp_open(struct rsocket *rs);
void rs_udp_close(struct rsocket *rs);
/* Sends len bytes of the program's. 0 or a positive errno. */
int rs_udp_send(struct rsocket *rs, const struct rs_peer *peer, struct rs_iov *iov, size_t len,
		bool may_wait);
/* Handles what has come: learns numbers of queue pairs, answers, and keeps messages. */
void rs_udp_receive(struct rsocket *rs);

#endif
