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

/* Fill a socket address; scope is used for link-local ones only. Returns its length. */
socklen_t udp_addr_set(union udp_addr *ret, const struct gid *gid, uint16_t port, uint32_t scope);
/* The GID of a received address. */
void udp_addr_gid(struct gid *ret, const union udp_addr *addr);
uint16_t udp_addr_port(const union udp_addr *addr);

static inline int udp_addr_family(const struct gid *gid)
{
	return gid_is_v4(gid) ? AF_INET : AF_INET6;
}

/* Is it an address inside 127.0.0.0/8, or ::1? */
bool udp_addr_is_loopback(const struct gid *gid);

/* The interface that has the address: its index, or 0 when none has. An address of 127.0.0.0/8 belongs to lo. */
uint32_t udp_addr_ifindex(const struct gid *gid);
/* Its MTU in bytes; 0 when there is no such interface. */
uint32_t udp_addr_if_mtu(uint32_t ifindex);
/* Its Ethernet address. False, and nothing written, when there is no such interface or it has none (lo). */
bool udp_addr_if_mac(uint8_t ret[static 6], const char *ifname);

#endif
