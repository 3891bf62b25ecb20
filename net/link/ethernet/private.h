/* SPDX-License-Identifier: MIT */
/* The parts of an Ethernet link: private to net/link/ethernet/. */
#ifndef RXE_LINK_ETHERNET_PRIVATE_H
#define RXE_LINK_ETHERNET_PRIVATE_H

#include <linux/virtio_net.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/link/ethernet/ethernet.h"
#include "net/link/ethernet/neighbor.h"
#include "net/wire/icrc.h"

#define ETHERNET_RX_BATCH    4u
#define ETHERNET_FRAME_MAX   (FRAME_MAX_HEADERS + 65535u)
#define ETHERNET_TX_BATCH    64u
#define ETHERNET_MAX_GROUPS  64u
#define ETHERNET_MAX_HELD    256u
#define ETHERNET_HELD_BYTES  (4u * TRAIN_MAX_BYTES) /* at least what Linux holds for a neighbor */
#define ETHERNET_HOP_LIMIT   64u
#define ETHERNET_FIRST_PORT  0xc000u
#define ETHERNET_SPLIT_TRIES 64u

/* A train that waits for its neighbor's MAC. */
struct ethernet_held {
	struct gid next_hop;
	struct wire_train train; /* buf is in held_buf */
};

struct ethernet_tx {
	struct mmsghdr msg[ETHERNET_TX_BATCH];
	struct iovec iov[ETHERNET_TX_BATCH][2]; /* headers, packet */
	uint8_t headers[ETHERNET_TX_BATCH][FRAME_MAX_HEADERS];
};

struct ethernet_split {
	uint32_t seg_len; /* bytes of every packet but the last, which may be shorter */
	uint16_t id_step; /* packet i has the frame's identification plus i times this */
};

struct ethernet_rx {
	bool has_header; /* a virtio_net_hdr precedes each frame */
	struct mmsghdr msg[ETHERNET_RX_BATCH];
	struct iovec iov[ETHERNET_RX_BATCH][2];
	struct virtio_net_hdr header[ETHERNET_RX_BATCH];
	uint8_t bytes[ETHERNET_RX_BATCH][ETHERNET_FRAME_MAX];
	uint32_t count, next; /* frames that were read, and the first with packets left */

	/* Frame next: p and left are its remaining packets; common is the same for all. */
	bool opened;
	const uint8_t *p;
	uint32_t left;
	struct ethernet_split split;
	struct wire_arrival common;
};

struct ethernet_link {
	struct link base;	 /* first: a struct link * is one of these */
	struct ethernet_cfg cfg; /* ifname is void once the link is open */
	struct neighbor_self self;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	bool has_gateway;
	int timer_fd;
	uint64_t timer_ns; /* expiry of timer_fd; UINT64_MAX: disarmed */
	struct neighbor_table neighbors;
	/* Trains that wait, oldest first. Their bytes are side by side in held_buf. */
	struct ethernet_held held[ETHERNET_MAX_HELD];
	uint32_t num_held, held_bytes;
	uint8_t *held_buf; /* ETHERNET_HELD_BYTES */
	struct gid group[ETHERNET_MAX_GROUPS];
	uint32_t num_groups;
	struct ethernet_tx tx;
	struct ethernet_rx rx;
};

/* Operations (net/link/link.h). */
int ethernet_send(struct link *base, const struct wire_train *trains, size_t n);
int ethernet_receive(struct link *base, struct wire_arrival *ret, size_t max);

/* receive.c */
int ethernet_rx_init(struct ethernet_link *link);
/* Splits a train that the local kernel has not cut: several packets after one UDP header. Pure. p,
 * len: what follows the UDP header. gso_size is the packet size from the kernel; 0: unknown, and
 * found by the ICRC of the first packet, with at most ETHERNET_SPLIT_TRIES tries. Malformed bytes
 * count as one packet, which the engine counts and drops. */
struct ethernet_split ethernet_split(const struct icrc_flow *flow, uint16_t ip_id, const uint8_t *p,
				     uint32_t len, uint32_t gso_size);

/* resolve.c */
int ethernet_timer_open(struct ethernet_link *link);
/* The next hop of frames to dst: dst itself or the gateway; NULL: no route. */
const struct gid *ethernet_next_hop(const struct ethernet_link *link, const struct gid *dst);
/* MAC of a next hop; NULL: the link has sent a solicitation. */
const uint8_t *ethernet_resolve(struct ethernet_link *link, const struct gid *next_hop);
void ethernet_announce(struct ethernet_link *link);
/* Handles a frame that may be ARP or neighbor discovery. */
void ethernet_neighbor_heard(struct ethernet_link *link, const uint8_t *p, uint32_t len,
			     uint64_t now_ns);
/* Learns the sender's MAC from a RoCEv2 frame. */
void ethernet_datagram_heard(struct ethernet_link *link, const struct frame *frame,
			     uint64_t now_ns);
/* Retransmits solicitations and deletes entries whose time has come. */
void ethernet_neighbors_due(struct ethernet_link *link);

/* send.c */
void ethernet_tx_init(struct ethernet_link *link);
/* Sends the trains held for a next hop to mac, or drops them when mac is NULL. */
void ethernet_release_held(struct ethernet_link *link, const struct gid *next_hop,
			   const uint8_t *mac);

#endif
