/* SPDX-License-Identifier: MIT */
/* The UDP link: RoCEv2 on port 4791 by ordinary sockets. The device server binds a steered group of
 * receive sockets to one address and hands one of them (a slot) to each process, which opens its
 * link on it. */
#ifndef RXE_LINK_UDP_H
#define RXE_LINK_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/link.h"
#include "net/link/log.h"

#define UDP_BURST 16

#define UDP_MAX_LOCALS 200 /* senders of this host that a group accepts, without its own */

/* A known sender of this host: its packets come from these ports of its address, or from port
 * 4791. */
struct udp_local {
	struct gid gid;
	uint16_t port[LINK_TX_PORTS];
};

/* Receive sockets of one address, steered by the top 8 bits of the BTH's destination QPN (out of
 * range: 0). The group is also bound to the ports that its processes send from: with SO_REUSEPORT
 * the kernel lets only this user bind them. */
struct udp_group {
	struct gid gid;
	int *fd; /* one for each slot, then the sink; never closed singly, connected or shut down */
	uint32_t slots;
	uint32_t rcvbuf; /* receive buffer of each socket, in bytes */
	int tx_fd[LINK_TX_PORTS];
	uint16_t tx_port[LINK_TX_PORTS];
};

/* True: this kernel or sandbox refuses the program that steers a group. */
bool udp_cannot_steer(void);
/* 0, -EADDRINUSE (another socket has port 4791 of the address), -EADDRNOTAVAIL (no such address
 * here) or -errno. */
int udp_group_open(struct udp_group *ret, const struct gid *gid, uint32_t slots);
void udp_group_close(struct udp_group *group);
/* Makes the kernel drop packets of this host (those over the loopback interface), except from the
 * group's own ports and from the n known senders. Each call replaces the list of the one before. 0
 * or -errno. */
int udp_group_guard(struct udp_group *group, const struct udp_local *known, size_t n);
/* Packets or trains that the guard dropped; wraps. */
uint32_t udp_group_foreign(const struct udp_group *group);
/* Discards what a former process of the slot left unread. Bounded. */
void udp_group_drain(struct udp_group *group, uint32_t slot);

struct udp_cfg {
	struct gid gid;
	int rx_fd;			 /* the slot's socket; remains the caller's */
	uint16_t tx_port[LINK_TX_PORTS]; /* ports that a group of this user is bound to; 0: any */
	bool trains;			 /* send UDP_SEGMENT trains where the kernel has them */
	struct link_log log;
};

/* 0 or -errno. link_show_headers costs 0.15 us for each packet, so it is off at first; only
 * receives of UD queue pairs need it. Arrivals of multicast groups always carry their headers. */
int udp_open(struct link **ret, const struct udp_cfg *cfg);
/* Does link_receive on another socket of the link's group, which nothing else reads. Not while an
 * earlier call's arrivals are left. */
int udp_receive_from(struct link *link, int rx_fd, struct wire_arrival *ret, size_t max);
/* Largest RoCE MTU (256..4096) whose packets fit the interface that has the address; 0: none. */
uint32_t udp_max_mtu(const struct gid *gid);

#endif
