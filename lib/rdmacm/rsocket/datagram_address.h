/* SPDX-License-Identifier: MIT */
/* Addresses of datagram rsockets: an IP address and a port in one form, whatever the family of the
 * socket. IPv4 addresses in IPv6 form (::ffff:a.b.c.d) become IPv4. Pure. */
#ifndef RXE_RSOCKET_DATAGRAM_ADDRESS_H
#define RXE_RSOCKET_DATAGRAM_ADDRESS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A key of hash tables: all bytes count. */
struct rs_address {
	uint16_t family;   /* AF_INET, AF_INET6; 0: none */
	uint16_t port;	   /* big-endian; 0: none */
	uint32_t scope_id; /* of a link-local address, else 0 */
	uint8_t ip[16];	   /* IPv4: in the first four */
};
static_assert(sizeof(struct rs_address) == 24, "no padding");

/* 0 or a positive errno. */
int rs_address_parse(struct rs_address *ret, const struct sockaddr *addr, socklen_t len);
/* As a socket of this domain has it. Returns the length. */
socklen_t rs_address_emit(struct sockaddr_storage *ret, const struct rs_address *address,
			  int domain);
/* An address of a family's raw bytes. */
struct rs_address rs_address_make(int family, const void *ip, uint16_t port);
bool rs_address_is_any(const struct rs_address *address);
bool rs_address_is_equal(const struct rs_address *a, const struct rs_address *b);

#endif
