/* SPDX-License-Identifier: MIT */
/* The UDP link: RoCEv2 on port 4791 by ordinary sockets. A server binds a steered group of receive sockets to one address and
 * hands one (a slot) to each process, which opens a struct link_udp on it. */
#ifndef RXE_LINK_UDP_H
#define RXE_LINK_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/train.h"

#define LINK_UDP_TX_SOCKETS 4
#define LINK_UDP_BURST	    16

/* Receive sockets of one address, steered by the top 8 bits of the BTH's destination QPN (out of range: 0). */
struct link_udp_group {
	struct gid gid;
	int *fd; /* one per slot; never closed singly, never connected, never shut down */
	uint32_t slots;
	uint32_t rcvbuf; /* bytes the kernel granted each */
};

/* 0, or -EADDRINUSE (somebody else has address:4791), -EADDRNOTAVAIL (no such address here), ... */
int link_udp_group_open(struct link_udp_group *ret, const struct gid *gid, uint32_t slots);
void link_udp_group_close(struct link_udp_group *group);
/* Throw away what a former owner of the slot left unread. Bounded. */
void link_udp_group_drain(struct link_udp_group *group, uint32_t slot);

struct link_udp_cfg {
	struct gid gid;
	int rx_fd;   /* the slot's socket; stays the caller's */
	bool trains; /* UDP_SEGMENT and UDP_GRO where the kernel has them */
};

struct link_udp;

int link_udp_open(struct link_udp **ret, const struct link_udp_cfg *cfg);
void link_udp_close(struct link_udp *link);
/* Ports of its sending sockets, for the ICRC: returns how many (up to max). */
uint32_t link_udp_tx_ports(const struct link_udp *link, uint16_t *ret, uint32_t max);
/* Largest number of packets in a train: 1 when trains are off or the kernel has none. */
uint16_t link_udp_max_segs(const struct link_udp *link);
/* Bytes that may be in flight to a socket with this group's buffers, and largest RoCE MTU (256..4096) that fits the route. */
uint32_t link_udp_max_mtu(const struct gid *gid);

/* Hand trains to the kernel, in order. Returns how many went; fewer than n means the kernel would not take more now (-EAGAIN
 * for none). A train that can never go (EMSGSIZE, ENETUNREACH ...) is dropped, counted in send_errors, and counts as gone: the
 * transport recovers. */
int link_udp_send(struct link_udp *link, const struct wire_train *trains, size_t n);
uint64_t link_udp_send_errors(const struct link_udp *link);

/* One receive call: up to max arrivals (a train is many), bytes valid until the next call. 0 when nothing is there;
 * -errno otherwise. Never blocks. */
int link_udp_recv(struct link_udp *link, struct wire_arrival *ret, size_t max);

/* Multicast: join or leave a group on the interface that has our address. Arrivals come out of link_udp_recv too;
 * link_udp_poll_fd() becomes readable for both. */
int link_udp_join(struct link_udp *link, const struct gid *group);
int link_udp_leave(struct link_udp *link, const struct gid *group);
int link_udp_poll_fd(const struct link_udp *link);

#endif
