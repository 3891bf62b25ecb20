/* SPDX-License-Identifier: MIT */
/* rsockets: the calls of sockets over a reliable connection of librdmacm, compatible on the wire
 * with rdma-core's (message.h), and over UD queue pairs: datagram.h has all that differs for
 * SOCK_DGRAM. This room uses the public calls of rdma_cma.h and verbs.h only.
 * Programs call it by rdma/rsocket.h, librspreload.so calls it for programs that know only sockets.
 *
 * Buffers. Each side has one receive buffer, in two halves, and a target list of two entries. A
 * side publishes a half by writing its address into the peer's target list. The sender copies the
 * program's bytes into its send buffer, a ring, and writes them by RDMA WRITE into the half that
 * its own target list names. When a half is full it goes on with the next entry. When the program
 * has read a half, the half is published again.
 *
 * Credits. Immediate data consumes a receive at the peer. The program's reading grants credits: a
 * data message is sent only while its number is below the limit that the peer named last. Control
 * messages need no credit; four entries of the send queue and RS_SPARE_RECVS receives are set apart
 * for them.
 *
 * Who makes progress. There is no thread for data. Each call takes the lock of its rsocket, handles
 * completions and connection events, and sends the credits that are due (wait.h). The service
 * thread (service.c) does the same for rsockets that listen or connect, so that peers need not wait
 * for the program to call raccept or rpoll.
 *
 * Who waits on what. A thread that has to wait is a waiter of the rsocket (wait.h): it arms the
 * completion queue, looks once more, releases the lock, and blocks in poll(2) on the completion
 * channel, the event channel and an eventfd of its own. Any thread whose progress makes the rsocket
 * ready for a waiter writes to the waiter's eventfd. A thread that takes the event of the
 * completion channel arms the queue again while there are other waiters. So no wake-up is lost,
 * whichever thread handles what another one waits for.
 *
 * Locks, in the order in which they are taken: service, an epoll set, one rsocket, the table of
 * descriptors. */
#ifndef RXE_RSOCKET_RSOCKET_H
#define RXE_RSOCKET_RSOCKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/rdmacm/newer.h"

/* The public calls are exported whatever -fvisibility says. */
#pragma GCC visibility push(default)
#include <rdma/rsocket.h>

/* Declared by newer releases of rdma-core. */
struct epoll_event;
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
#pragma GCC visibility pop

#include "lib/rdmacm/rsocket/message.h"
#include "lib/rdmacm/rsocket/ready.h"

/* Times are in nanoseconds. Negative: none, never. */
#define RS_SECOND_NS	  1000000000
#define RS_MILLISECOND_NS 1000000

#define RS_CONTROL_SENDS 4 /* entries of the send queue */
#define RS_SPARE_RECVS	 8 /* posted beyond the credits granted */

struct rs_datagram;
struct rs_waiter;

enum rs_state {
	RS_NEW,
	RS_LISTENING,
	RS_CONNECTING, /* on either side: a listener has the passive one in its list */
	RS_CONNECTED,  /* and for good: struct rs_end says what is over */
	RS_FAILED,     /* to connect */
	RS_DATAGRAM,   /* all the life of a datagram rsocket */
	RS_CLOSED,
};

/* What is over of a connection. */
struct rs_end {
	bool sending;	/* here: rshutdown(SHUT_WR) */
	bool receiving; /* here: rshutdown(SHUT_RD) */
	bool peer_sending;
	bool peer;	 /* nothing can be sent to the peer any more */
	bool connection; /* disconnected in order: flushed work requests report no error */
};

/* Sizes are used when the connection is made, and are then what was made. */
struct rs_options {
	uint32_t send_bytes, recv_bytes;
	uint32_t sends, recvs, inline_bytes;
	uint32_t iomap_size;
	int64_t send_timeout_ns, recv_timeout_ns; /* -1: none */
	int linger_s;				  /* -1: off */
	int reuse_addr, keep_alive, keep_idle_s, no_delay, oob_inline, v6_only, tos;
};

/* The completion queue of a queue pair, of both its queues, with its channel. */
struct rs_cq {
	struct ibv_comp_channel *channel;
	struct ibv_cq *ibv;
	bool is_armed;
};

struct rs_verbs {
	struct rs_cq cq;
	uint8_t *memory; /* target list, receive buffer, send buffer: each begins a page */
	size_t memory_len;
	struct ibv_mr *recv_mr; /* target list and receive buffer: the peer writes there */
	struct ibv_mr *send_mr;
};

struct rs_sender {
	uint8_t *buf;
	uint32_t size, head, used; /* a ring of bytes that are being sent */
	uint32_t data_slots;	   /* free entries of the send queue */
	uint32_t control_slots;
	uint32_t in_flight; /* messages of both kinds */
	uint16_t sent;	    /* data messages */
	uint16_t limit;	    /* of sent: the peer's credits */
	struct rs_sge *targets;
	uint32_t next;		      /* index into targets */
	uint32_t num_targets;	      /* entries from next on that the peer has filled */
	struct rs_sge target;	      /* what is left of the piece in use */
	struct rs_iomap_entry *iomap; /* options.iomap_size entries, which the peer writes */
};

struct rs_receiver {
	uint8_t *buf;
	uint32_t size;	 /* of both halves */
	uint32_t offset; /* of the first unread byte */
	uint32_t unread;
	uint32_t *lens; /* of unread messages: a ring of options.recvs entries */
	uint32_t first, count;
	uint32_t to_post;  /* receives */
	uint16_t consumed; /* data messages */
	uint16_t granted;  /* consumed, when credits were granted last */
	uint32_t free;	   /* bytes that are read and not published again */
	uint32_t free_offset;
	struct rs_sge remote; /* the peer's target list */
	uint32_t remote_iomap_size;
	uint32_t remote_next;
	bool is_swapped; /* the peer's byte order is not ours */
};

/* Memory of riomap(). */
struct rs_mapping {
	struct rs_mapping *prev, *next;
	struct ibv_mr *mr;
	uint64_t offset;
	int index; /* in the peer's I/O map; -1: not for the peer */
	bool is_announced;
};

struct rsocket {
	_Atomic uint32_t refs;
	struct rsocket *prev, *next; /* of the listener's list */

	pthread_mutex_t lock; /* what follows */
	enum rs_state state;
	struct rs_end end;
	int fd; /* -1: none yet */
	int domain;
	int err;		  /* positive errno, reported once */
	bool is_connect_reported; /* rconnect() has returned 0 */
	int status_flags;	  /* O_NONBLOCK */
	int fd_flags;		  /* FD_CLOEXEC */
	struct rs_waiter *waiters;
	struct rs_edges edges;
	short last_events; /* when edges were counted */
	struct rs_options options;
	struct rdma_event_channel *channel; /* NULL: the listener's */
	struct rdma_cm_id *id;
	struct rs_verbs verbs;
	struct rs_sender sender;
	struct rs_receiver receiver;
	struct rs_mapping *mappings;
	uint32_t unannounced;		      /* mappings that the peer does not know yet */
	struct rsocket *accepting, *accepted; /* a listener's */
	struct rs_datagram *datagram;	      /* NULL: a stream */
};

/* Allocates an rsocket with one reference and default options. NULL, and errno. */
struct rsocket *rs_new(int domain);
void rs_hold(struct rsocket *rs);
/* Frees with the last reference. The rsocket must be closed then. */
void rs_put(struct rsocket *rs);
/* The pending error, which is reported once. */
int rs_take_error(struct rsocket *rs);
/* Why an rsocket that is not connected cannot do what was asked. */
int rs_why_not_connected(struct rsocket *rs);

/* Options that the program has not set come from files of one number each under
 * /etc/rdma/rsocket, as rsocket(7) names them, else they are built-in. These are the bounds of
 * both. */
#define RS_BYTES_MIN   4096
#define RS_BYTES_MAX   (1u << 28)
#define RS_ENTRIES_MIN 16
#define RS_ENTRIES_MAX 0xfffe
#define RS_IOMAP_MAX   0x7f00 /* entries that the private data can express */

/* value, or the nearer bound. */
uint32_t rs_bounded(int64_t value, uint32_t least, uint32_t most);
/* Time for which a call polls before it waits. */
int64_t rs_polling_ns(void);
/* 0 or a positive errno. */
int rs_set_nonblocking(int fd);

/* The table of descriptors. A descriptor is a number that the kernel chose, held by a duplicate of
 * the event channel's or, for datagrams, of the UDP socket's. */

/* Gives an rsocket its descriptor: the table holds a reference. 0 or a positive errno. */
int rs_table_add(struct rsocket *rs);
/* Takes the rsocket out: the reference is the caller's. NULL, and errno EBADF. */
struct rsocket *rs_table_remove(int fd);
/* The rsocket of a descriptor, with a reference for the caller, or NULL. errno stays. */
struct rsocket *rs_find(int fd);
/* The same, locked. NULL, and errno EBADF. */
struct rsocket *rs_get_locked(int fd);
/* Ends what rs_get_locked() began. */
void rs_put_locked(struct rsocket *rs);

#endif
