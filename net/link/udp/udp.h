/* SPDX-License-Identifier: MIT */
/* The UDP link: RoCEv2 on port 4791 by ordinary sockets. The device server binds a steered group of receive sockets to one address and
 * hands one of them (a slot) to each process, which opens its link on the socket. */
#ifndef RXE_LINK_UDP_H
#define RXE_LINK_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/link.h"

#define UDP_TX_SOCKETS 4
#define UDP_BURST      16

#define UDP_MAX_LOCALS 200 /* senders of this host that a group accepts, its own not counted */

/* Where packets of a known sender of this host come from: these ports of its address, and port 4791. */
struct udp_local {
	struct gid gid;
	uint16_t port[UDP_TX_SOCKETS];
};

/* Receive sockets of one address, steered by the top 8 bits of the BTH's destination QPN (out of range: 0). The group also holds
 * the ports that its processes send from: with SO_REUSEPORT the kernel gives them to nobody but this user. */
struct udp_group {
	struct gid gid;
	int *fd; /* one per slot, then the sink; never closed singly, connected or shut down */
	uint32_t slots;
	uint32_t rcvbuf; /* bytes the kernel granted each */
	int tx_fd[UDP_TX_SOCKETS];
	uint16_t tx_port[UDP_TX_SOCKETS];
};

/* 0, or -EADDRINUSE (somebody else has address:4791), -EADDRNOTAVAIL (no such address here), ... */
int udp_group_open(struct udp_group *ret, const struct gid *gid, uint32_t slots);
void udp_group_close(struct udp_group *group);
/* From now on a packet of this host (it came over the loopback interface) reaches a slot only from the group's own ports, or from
 * one of n known senders; each call replaces what the one before allowed. The kernel drops all others. 0 or -errno. */
int udp_group_guard(struct udp_group *group, const struct udp_local *known, size_t n);
/* Packets or trains dropped for that reason; wraps. */
uint32_t udp_group_foreign(const struct udp_group *group);
/* Throw away what a former owner of the slot left unread. Bounded. */
void udp_group_drain(struct udp_group *group, uint32_t slot);

struct udp_cfg {
	struct gid gid;
	int rx_fd;			  /* the slot's socket; stays the caller's */
	uint16_t tx_port[UDP_TX_SOCKETS]; /* ports that a group of this user holds; 0: any */
	bool trains; /* UDP_SEGMENT where the kernel has it; what others send as trains is taken either way */
	/* One sentence for a person, when packets cannot go; said once a cause. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* 0 or -errno. link_show_headers costs 0.15 us a packet, so it is off at first; only the receives of UD queue pairs need it. Arrivals of
 * groups always carry their headers. */
int udp_open(struct link **ret, const struct udp_cfg *cfg);
/* link_receive, from another socket of the link's group that nobody else reads. Not while arrivals of one call are left. */
int udp_receive_from(struct link *link, int rx_fd, struct wire_arrival *ret, size_t max);
/* Largest RoCE MTU (256..4096) whose packets fit the interface that has the address; 0 when none does. */
uint32_t udp_max_mtu(const struct gid *gid);
/* Packets that the kernel dropped because the buffer of this socket was full, packet sockets too. Wraps; 0 for descriptor -1. */
uint32_t link_socket_drops(int fd);

#endif
