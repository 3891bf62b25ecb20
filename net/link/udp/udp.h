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

#define LINK_UDP_MAX_LOCALS 200 /* senders of this host that a group accepts, its own not counted */

/* Where packets of a known sender of this host come from: these ports of its address, and port 4791. */
struct link_udp_local {
	struct gid gid;
	uint16_t port[LINK_UDP_TX_SOCKETS];
};

/* Receive sockets of one address, steered by the top 8 bits of the BTH's destination QPN (out of range: 0). The group also holds
 * the ports that its processes send from: with SO_REUSEPORT the kernel gives them to nobody but this user. */
struct link_udp_group {
	struct gid gid;
	int *fd; /* one per slot, then the sink; never closed singly, connected or shut down */
	uint32_t slots;
	uint32_t rcvbuf; /* bytes the kernel granted each */
	int tx_fd[LINK_UDP_TX_SOCKETS];
	uint16_t tx_port[LINK_UDP_TX_SOCKETS];
};

/* 0, or -EADDRINUSE (somebody else has address:4791), -EADDRNOTAVAIL (no such address here), ... */
int link_udp_group_open(struct link_udp_group *ret, const struct gid *gid, uint32_t slots);
void link_udp_group_close(struct link_udp_group *group);
/* From now on a packet of this host (it came over the loopback interface) reaches a slot only from the group's own ports, or from
 * one of n known senders; each call replaces what the one before allowed. The kernel drops all others. 0 or -errno. */
int link_udp_group_guard(struct link_udp_group *group, const struct link_udp_local *known,
			 size_t n);
/* Packets or trains dropped for that reason; wraps. */
uint32_t link_udp_group_foreign(const struct link_udp_group *group);
/* Throw away what a former owner of the slot left unread. Bounded. */
void link_udp_group_drain(struct link_udp_group *group, uint32_t slot);

struct link_udp_cfg {
	struct gid gid;
	int rx_fd;			       /* the slot's socket; stays the caller's */
	uint16_t tx_port[LINK_UDP_TX_SOCKETS]; /* ports that a group of this user holds; 0: any */
	bool trains; /* UDP_SEGMENT where the kernel has it; what others send as trains is taken either way */
	/* One sentence for a person, when packets cannot go; said once a cause. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

struct link_udp;

int link_udp_open(struct link_udp **ret, const struct link_udp_cfg *cfg);
void link_udp_close(struct link_udp *link);
/* Ports of its sending sockets, for the ICRC: returns how many (up to max). */
uint32_t link_udp_tx_ports(const struct link_udp *link, uint16_t *ret, uint32_t max);
/* Largest number of packets in a train: 1 when trains are off or the kernel has none. It may fall to 1 later, when an
 * interface turns out to refuse them: ask for each train. */
uint16_t link_udp_max_segs(const struct link_udp *link);
/* Largest RoCE MTU (256..4096) whose packets fit the interface that has the address; 0 when none does. */
uint32_t link_udp_max_mtu(const struct gid *gid);

/* Hand trains to the kernel, in order. Returns how many went; fewer than n means the kernel would not take more now (-EAGAIN
 * for none). A train that can never go (EMSGSIZE, ENETUNREACH ...) is dropped, counted in send_errors, and counts as gone: the
 * transport recovers. */
int link_udp_send(struct link_udp *link, const struct wire_train *trains, size_t n);
uint64_t link_udp_send_errors(const struct link_udp *link);
/* Packets the kernel threw away because our receive buffers were full. */
uint64_t link_udp_recv_drops(const struct link_udp *link);
/* The same of one socket, packet sockets too: goes on for ever and wraps; 0 for none (-1). */
uint32_t link_socket_drops(int fd);
/* Does the address belong to this machine (this network namespace)? Remembered; cheap after the first time. */
bool link_udp_same_host(struct link_udp *link, const struct gid *gid);

/* One receive call: up to max arrivals (a train is many), bytes valid until the next call. 0 when nothing is there;
 * -errno otherwise. Never blocks. */
int link_udp_recv(struct link_udp *link, struct wire_arrival *ret, size_t max);

/* The same from another socket of the link's group, which nobody else reads; never in the middle of what one call gave of it. */
int link_udp_recv_from(struct link_udp *link, int rx_fd, struct wire_arrival *ret, size_t max);

/* Shall arrivals tell traffic class, hop limit and flow label? Otherwise they show 0, 64 and 0. Only a UD receive needs
 * them, and they cost every packet 0.15 us: off at first; groups always tell. */
void link_udp_see_headers(struct link_udp *link, bool see);

/* Multicast: join or leave a group on the interface that has our address (joins nest). Arrivals come out of link_udp_recv too. 0,
 * -EINVAL (not a group, or of the other family), -EOPNOTSUPP (IPv6 on lo), -ENOENT (leave: not joined), -ENOSPC, -errno. */
int link_udp_join(struct link_udp *link, const struct gid *group);
int link_udp_leave(struct link_udp *link, const struct gid *group);
/* An epoll descriptor, the same as long as the link lives: readable when link_udp_recv has something. The caller may add
 * descriptors of its own to it. */
int link_udp_poll_fd(const struct link_udp *link);

#endif
