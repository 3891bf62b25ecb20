/* SPDX-License-Identifier: MIT */
/* What a veth link is made of: private to net/link/veth*.c. */
#ifndef RXE_LINK_ETHERNET_PRIVATE_H
#define RXE_LINK_ETHERNET_PRIVATE_H

#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/link/ethernet/ethernet.h"
#include "net/link/ethernet/neighbor.h"
#include "net/link/ethernet/neighbor_table.h"
#include "net/link/ethernet/split.h"

#define VETH_RX_BATCH	  4u
#define VETH_FRAME_MAX	  (FRAME_MAX_HEADERS + 65535u)
#define VETH_TX_BATCH	  64u
#define VETH_MAX_GROUPS	  64u
#define VETH_MAX_HELD	  4u
#define VETH_HOP_LIMIT	  64u
#define VETH_FIRST_PORT	  0xc000u
#define VETH_SEND_WAIT_MS 2

/* What is said once only. */
enum veth_complaint {
	VETH_TOO_LONG = 1 << 0,
	VETH_NO_ANSWER = 1 << 1,
	VETH_NO_ROUTE = 1 << 2,
	VETH_DOWN = 1 << 3,
	VETH_REFUSED = 1 << 4,
	VETH_CONFLICT = 1 << 5,
};

/* A train that waits for its neighbour's MAC. */
struct veth_held {
	struct gid next_hop;
	struct wire_train train; /* buf is ours */
};

struct veth_tx {
	struct mmsghdr msg[VETH_TX_BATCH];
	struct iovec iov[VETH_TX_BATCH][2]; /* headers, packet */
	uint8_t headers[VETH_TX_BATCH][FRAME_MAX_HEADERS];
};

struct veth_rx {
	struct link_veth_frame frame[VETH_RX_BATCH];
	uint32_t count, next;

	/* Of frame next: where its hand-out stands, and what its packets have in common. */
	bool opened;
	const uint8_t *p;
	uint32_t left;
	struct veth_split split;
	struct wire_arrival common;
};

struct veth_group {
	struct gid gid;
	uint32_t joins;
};

struct link_veth {
	struct neighbor_self self;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t prefix_len;
	struct gid gateway;
	bool has_gateway;
	bool answers;
	uint16_t tx_port[LINK_VETH_TX_PORTS];
	struct link_veth_port *port;
	int poll_fd;
	int timer_fd;
	uint64_t timer_ns; /* what it is set to; UINT64_MAX: not at all */
	uint64_t send_errors;
	uint64_t bad_frames;
	uint32_t complained; /* enum veth_complaint */
	void (*log)(void *arg, const char *line);
	void *log_arg;
	struct neighbor_table neighbours;
	struct veth_held held[VETH_MAX_HELD];
	uint32_t num_held;
	struct veth_group group[VETH_MAX_GROUPS];
	uint32_t num_groups;
	struct veth_tx tx;
	struct veth_rx rx;
};

void veth_complain(struct link_veth *link, enum veth_complaint what, const char *line);
const struct veth_group *veth_find_group(const struct link_veth *link, const struct gid *gid);

/* veth_neighbor.c */
int veth_timer_open(struct link_veth *link);
/* Who gets frames to that address: itself, or a gateway; NULL when nobody does. */
const struct gid *veth_next_hop(const struct link_veth *link, const struct gid *dst);
/* Its MAC; NULL while it is asked for. */
const uint8_t *veth_resolve(struct link_veth *link, const struct gid *next_hop);
void veth_announce(struct link_veth *link);
/* A frame may be of ARP or neighbour discovery: do what it asks. */
void veth_neighbor_heard(struct link_veth *link, const struct link_veth_frame *frame,
			 uint64_t now_ns);
void veth_datagram_heard(struct link_veth *link, const struct frame *frame, uint64_t now_ns);
/* Ask again, give up. */
void veth_neighbors_due(struct link_veth *link);

/* veth_send.c */
void veth_tx_init(struct link_veth *link);
/* Its neighbour is at mac, or (NULL) does not answer: the trains kept for it go, or are dropped. */
void veth_release_held(struct link_veth *link, const struct gid *next_hop, const uint8_t *mac);

#endif
