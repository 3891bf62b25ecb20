/* SPDX-License-Identifier: MIT */
/* The Ethernet link: RoCEv2 in raw frames on a veth pair or any Ethernet interface, beside the
 * kernel's stack. The device has a MAC and an address that no interface of the kernel has. The link
 * answers ARP and neighbor discovery for them, so other hosts reach the device as they reach any
 * host.
 *
 * The link sees every field of the headers, including the IPv4 identification, so the ICRC is
 * always checked exactly. It cuts trains itself: packet i has identification i. Trains of UDP-link
 * peers that the local kernel has not cut are split.
 *
 * Frames pass through packet sockets that a process with CAP_NET_RAW opened and handed over. Using
 * them needs no capability. */
#ifndef RXE_LINK_ETHERNET_H
#define RXE_LINK_ETHERNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link/ethernet/frame.h"
#include "net/link/link.h"
#include "net/link/log.h"

#define ETHERNET_SLOTS 256u

struct ethernet_cfg {
	const char *ifname;
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	/* Address bits of the on-link prefix; 0: every address is on-link. */
	uint32_t prefix_len;
	/* Next hop of all other addresses; all zero, or of the other address family: none. */
	struct gid gateway;
	uint32_t slot; /* selects the source ports */
	/* Answers ARP and neighbor discovery. One process does, for all slots. */
	bool answers;
	int rx_fd, tx_fd; /* of ethernet_open_sockets(); remain the caller's */
	struct link_log log;
};

/* 0, -EINVAL (multicast address, bad slot), -ENODEV (no such interface), -ENOMEM or -errno. While a
 * neighbor's MAC is resolved, the link holds up to ETHERNET_MAX_HELD trains of together
 * ETHERNET_HELD_BYTES and counts them as taken; link_send returns -EAGAIN for more. */
int ethernet_open(struct link **ret, const struct ethernet_cfg *cfg);
/* Turns answers to address resolution on or off. Turning them on announces the address to the
 * network. */
void ethernet_answer(struct link *link, bool answers);

/* Whether a destination can be sent to. solicits: begins to resolve its next hop if need be. 1:
 * yes; 0: a solicitation is under way; -EHOSTUNREACH: no neighbor answers, or none was solicited;
 * -ENETUNREACH: no next hop. */
int ethernet_neighbor(struct link *link, const struct gid *dst, bool solicits);

/* Selects frames: ARP or neighbor discovery; RoCEv2 to any multicast group; RoCEv2 to this MAC and
 * address whose destination QPN has the slot in its top 8 bits (out of range: slot 0). slots 0:
 * every QPN. */
struct ethernet_filter {
	const char *ifname;
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	uint32_t slot, slots;
	struct link_log log; /* of failures */
};

/* Opens packet sockets with libpcap's filters for a process that may not open its own. The process
 * cannot change the filter, but can send any frame on the interface. 0, -EPERM (no CAP_NET_RAW),
 * -ENODEV, -ENETDOWN, -ENOTSUP (not Ethernet) or -errno. In a static library of its own, so that
 * programs do not load libpcap. */
int ethernet_open_sockets(const struct ethernet_filter *filter, int *ret_rx_fd, int *ret_tx_fd);

/* Makes a locally administered MAC from the address and the interface's MAC. Devices that share an
 * address by mistake thus differ in MAC on different interfaces, and detect the conflict. */
void ethernet_make_mac(uint8_t ret[static FRAME_MAC_LEN], const struct gid *gid,
		       const char *ifname);
/* Largest RoCE MTU (256..4096) whose packets fit the interface; 0: none, or no such interface. */
uint32_t ethernet_max_mtu(const char *ifname, const struct gid *gid);

#endif
