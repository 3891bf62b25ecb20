/* SPDX-License-Identifier: MIT */
/* The Ethernet link: RoCEv2 in raw frames on a veth pair or any Ethernet interface, beside the kernel's own stack. The device has a MAC
 * and an address of its own, which no interface of the kernel has: the link answers ARP and neighbor discovery for them, and other
 * hosts reach the device as they reach any host.
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
#include "net/link/link.h"

#define ETHERNET_TX_PORTS 4u
#define ETHERNET_SLOTS	  256u

/* A frame as a port reads it. */
struct ethernet_frame {
	const uint8_t *p;
	uint32_t len;
	uint32_t gso_size; /* of an uncut train, as the kernel says; 0: it says nothing */
};

struct ethernet_port {
	int rx_fd; /* to wait on */
	int tx_fd; /* a packet socket bound to the interface */
	/* Up to max frames, valid until the next call; 0 when nothing is there; -errno. Never blocks. */
	int (*read)(struct ethernet_port *port, struct ethernet_frame *ret, uint32_t max);
	uint64_t (*drops)(struct ethernet_port *port);
	void (*close)(struct ethernet_port *port);
};

/* A port on sockets of ethernet_open_sockets(), which stay the caller's. */
int ethernet_port_sockets(struct ethernet_port **ret, int rx_fd, int tx_fd);

struct ethernet_cfg {
	const char *ifname;
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	/* The network that is reached directly: address bits of the prefix (0: everything is), and who knows the rest (all zero:
	 * nobody). */
	uint32_t prefix_len;
	struct gid gateway;
	uint32_t slot; /* its source ports are its own */
	bool answers;  /* to ARP and neighbor discovery: one process does, for all slots */
	struct ethernet_port *port; /* the link's when it was opened */
	/* One sentence for a person, when packets cannot go; said once a cause. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* 0, -EINVAL (a multicast address, a bad slot), -ENODEV (no such interface), -ENOMEM, -errno. While a neighbor's MAC is being resolved,
 * the link keeps some trains for it and counts them as taken; others are refused for a moment (-EAGAIN). */
int ethernet_open(struct link **ret, const struct ethernet_cfg *cfg);
/* Turns answers to address resolution on or off. Turning them on announces the address to the network. */
void ethernet_answer(struct link *link, bool answers);

/* A locally administered MAC for the address on that interface, the same every time; on another interface it is another one, so
 * that two who have one address by mistake find out. */
void ethernet_make_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid,
		       const char *ifname);
/* Largest RoCE MTU (256..4096) whose packets fit the interface; 0 when none does, or there is no such interface. */
uint32_t ethernet_max_mtu(const char *ifname, const struct gid *gid);

#endif
