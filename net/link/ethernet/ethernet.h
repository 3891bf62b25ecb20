/* SPDX-License-Identifier: MIT */
/* The veth link: RoCEv2 in raw Ethernet frames on a veth (or any Ethernet interface), beside the kernel's own stack. The device has a
 * MAC and an address of its own, which no interface of the kernel bears: it answers ARP and neighbour discovery itself, and is
 * reached from the other end of the veth as any host is.
 *
 * It has the shape of net/link/udp/udp.h: trains in, arrivals out, a descriptor to wait on. What differs: every field of the headers is
 * seen, the IPv4 identification too, so the ICRC is always checked exactly; trains are cut here, packet i of one with identification
 * i, and those of UDP-link peers that the local kernel has not cut are split.
 *
 * Frames come and go by packet sockets that somebody with CAP_NET_RAW opened and handed over (net/link/ethernet/filter.h); to use them, a
 * process needs no right. */
#ifndef RXE_LINK_ETHERNET_H
#define RXE_LINK_ETHERNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/ethernet/frame.h"
#include "net/wire/train.h"

#define LINK_VETH_TX_PORTS 4u
#define LINK_VETH_SLOTS	   256u

/* A frame as a port reads it. */
struct link_veth_frame {
	const uint8_t *p;
	uint32_t len;
	uint32_t gso_size; /* of an uncut train, as the kernel says; 0: it says nothing */
};

struct link_veth_port {
	int rx_fd; /* to wait on */
	int tx_fd; /* a packet socket bound to the interface */
	/* Up to max frames, valid until the next call; 0 when nothing is there; -errno. Never blocks. */
	int (*read)(struct link_veth_port *port, struct link_veth_frame *ret, uint32_t max);
	uint64_t (*drops)(struct link_veth_port *port);
	void (*close)(struct link_veth_port *port);
};

/* A port on sockets of link_veth_open_sockets(), which stay the caller's. */
int link_veth_port_sockets(struct link_veth_port **ret, int rx_fd, int tx_fd);

struct link_veth_cfg {
	const char *ifname;
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	/* The network that is reached directly: address bits of the prefix (0: everything is), and who knows the rest (all zero:
	 * nobody). */
	uint32_t prefix_len;
	struct gid gateway;
	uint32_t slot; /* its source ports are its own */
	bool answers;  /* to ARP and neighbour discovery: one process does, for all slots */
	struct link_veth_port *port; /* the link's when it was opened */
	/* One sentence for a person, when packets cannot go; said once a cause. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

struct link_veth;

/* 0, -EINVAL (a multicast address, a bad slot), -ENODEV (no such interface), -ENOMEM, -errno. */
int link_veth_open(struct link_veth **ret, const struct link_veth_cfg *cfg);
void link_veth_close(struct link_veth *link);

/* A locally administered MAC for the address on that interface, the same every time; on another interface it is another one, so
 * that two who have one address by mistake find out. */
void link_veth_make_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid,
			const char *ifname);
/* Largest RoCE MTU (256..4096) whose packets fit the interface; 0 when none does, or there is no such interface. */
uint32_t link_veth_max_mtu(const char *ifname, const struct gid *gid);

/* From now on, does it answer those who ask for our address? If it begins to, it says so to all. */
void link_veth_answer(struct link_veth *link, bool answers);
/* Is that our own address: another slot's, or ours? */
bool link_veth_is_self(const struct link_veth *link, const struct gid *gid);
/* Source ports, for the ICRC: returns how many (up to max). */
uint32_t link_veth_tx_ports(const struct link_veth *link, uint16_t *ret, uint32_t max);
uint16_t link_veth_max_segs(const struct link_veth *link);

/* Send trains, in order. Returns how many went; fewer than n means the interface would not take more now (-EAGAIN for none). While
 * a neighbour's MAC is being asked for, some of its trains are kept and count as gone; others wait for a moment (-EAGAIN). What can
 * never go (nobody answers, too long for the interface, interface down) is dropped, counted in send_errors, and counts as gone: the
 * transport recovers. */
int link_veth_send(struct link_veth *link, const struct wire_train *trains, size_t n);
uint64_t link_veth_send_errors(const struct link_veth *link);

/* Up to max arrivals, bytes valid until the next call. 0 when nothing is there; -errno otherwise. Never blocks. */
int link_veth_recv(struct link_veth *link, struct wire_arrival *ret, size_t max);
/* Frames that the kernel threw away because our buffers were full. */
uint64_t link_veth_recv_drops(const struct link_veth *link);
/* Frames to us that are no sound RoCEv2 (net/link/ethernet/frame.h), dropped. */
uint64_t link_veth_bad_frames(const struct link_veth *link);

/* Multicast: join or leave a group (joins nest). 0, -EINVAL (not a group, or of the other family), -ENOENT (leave: not joined),
 * -ENOSPC. */
int link_veth_join(struct link_veth *link, const struct gid *group);
int link_veth_leave(struct link_veth *link, const struct gid *group);

/* An epoll descriptor, the same as long as the link lives: readable when link_veth_recv has something to do, which may be a question
 * to ask again and no arrival. */
int link_veth_poll_fd(const struct link_veth *link);

#endif
