/* SPDX-License-Identifier: MIT */
/* Two ends of UDP links for tests, in a network of their own: making trains, receiving arrivals. */
#ifndef RXE_TEST_UDP_FIXTURE_H
#define RXE_TEST_UDP_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link/udp/udp.h"
#include "net/wire/packet.h"

#define AWAIT_MS 60000

struct udp_end {
	struct udp_group group;
	struct link *link;
	uint16_t ports[LINK_TX_PORTS];
	char said[200]; /* the last line logged */
	uint32_t says;	/* how many */
};

struct gid gid_of(const char *address);

/* Opens an end with n slots, on slot's socket. Returns 0 or -errno. */
int end_open(struct udp_end *end, const char *address, uint32_t slots, uint32_t slot, bool trains);
void end_close(struct udp_end *end);
/* Opens a second link on a slot of the same group, as another process does. */
struct link *end_link(struct udp_end *end, uint32_t slot);

/* Starts a train to dst; buf is TRAIN_MAX_BYTES long. */
void train_begin(struct wire_train *train, uint8_t *buf, const struct udp_end *from,
		 const struct gid *dst, uint8_t tx_index);
/* Adds a packet for qpn of len bytes, ICRC included; its bytes follow from psn. False: it does not
 * fit. */
bool train_packet(struct wire_train *train, const struct udp_end *from, uint32_t qpn, uint32_t psn,
		  uint32_t len);

/* Receives once, waiting at most AWAIT_MS. Returns how many; 0: none came. */
int await(struct link *link, struct wire_arrival *ret, size_t max);
/* Whether nothing has arrived, without waiting. */
bool nothing(struct link *link);
/* Whether the arrival's ICRC is right by its own rule, and its bytes are those of psn. */
bool arrival_good(const struct wire_arrival *arrival, uint32_t qpn, uint32_t psn, uint32_t len);
/* Two system calls, or one that is named twice, end with the error, as with a container's seccomp
 * filter, which cannot be removed: each test has a process of its own. 0: they do. */
int refuse_calls(uint32_t one, uint32_t other, uint32_t error);

#endif
