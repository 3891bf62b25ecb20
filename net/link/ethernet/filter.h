/* SPDX-License-Identifier: MIT */
/* Getting at an interface's frames, with libpcap's filters: what needs CAP_NET_RAW. A library of its own, so that a program which
 * is handed its sockets does not load libpcap. */
#ifndef RXE_LINK_ETHERNET_FILTER_H
#define RXE_LINK_ETHERNET_FILTER_H

#include "net/link/ethernet/ethernet.h"

/* Which frames: RoCEv2 to this MAC and address whose destination QPN has the slot in its top 8 bits (out of range: slot 0), to any
 * group, and ARP or neighbor discovery. slots 0: of every QPN. */
struct ethernet_filter {
	const char *ifname;
	struct gid gid;
	uint8_t mac[FRAME_MAC_LEN];
	uint32_t slot, slots;
	/* One sentence for a person when it cannot be had. May be NULL. */
	void (*log)(void *arg, const char *line);
	void *log_arg;
};

/* Sockets to hand over to a process that may not open its own. The filter cannot be changed by whom they are handed to; but
 * the holder of the sending one may send any frame on that interface. 0, -EPERM
 * (no CAP_NET_RAW), -ENODEV, -ENETDOWN, -ENOTSUP (not Ethernet), -errno. */
int ethernet_open_sockets(const struct ethernet_filter *filter, int *ret_rx_fd, int *ret_tx_fd);

#endif
