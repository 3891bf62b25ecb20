/* SPDX-License-Identifier: MIT */
/* Opens packet sockets on an interface with libpcap's filters, which needs CAP_NET_RAW. A static
 * library of its own, so that programs do not load libpcap. */
#ifndef RXE_LINK_ETHERNET_FILTER_H
#define RXE_LINK_ETHERNET_FILTER_H

#include "net/link/ethernet/ethernet.h"

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

/* Opens sockets for a process that may not open its own. The process cannot change the filter, but
 * can send any frame on the interface. 0, -EPERM (no CAP_NET_RAW), -ENODEV, -ENETDOWN, -ENOTSUP
 * (not Ethernet) or -errno. */
int ethernet_open_sockets(const struct ethernet_filter *filter, int *ret_rx_fd, int *ret_tx_fd);

#endif
