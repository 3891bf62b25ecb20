/* SPDX-License-Identifier: MIT */
/* Addresses of the UDP link: GIDs as socket addresses, and the interface that has one. */
#ifndef RXE_LINK_UDP_ADDRESS_H
#define RXE_LINK_UDP_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/wire/gid.h"

union udp_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Fills a socket address and returns its length. scope is used for link-local and multicast
 * addresses only. */
socklen_t udp_addr_set(union udp_addr *ret, const struct gid *gid, uint16_t port, uint32_t scope);
/* The reverse of udp_addr_set. */
void udp_addr_gid(struct gid *ret, const union udp_addr *addr);
uint16_t udp_addr_port(const union udp_addr *addr);

static inline int udp_addr_family(const struct gid *gid)
{
	return gid_is_v4(gid) ? AF_INET : AF_INET6;
}

/* Whether the address is in 127.0.0.0/8, or ::1. */
bool udp_addr_is_loopback(const struct gid *gid);

/* Index of the interface that has the address; 0: none. All of 127.0.0.0/8 belongs to lo. */
uint32_t udp_addr_ifindex(const struct gid *gid);
/* MTU of an interface in bytes; 0: no such interface. */
uint32_t udp_addr_if_mtu(uint32_t ifindex);
/* Ethernet address of an interface. False: no such interface, or it has none (lo). */
bool udp_addr_if_mac(uint8_t ret[static 6], const char *ifname);

#endif
