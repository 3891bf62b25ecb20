/* SPDX-License-Identifier: MIT */
/* Two ends of UDP links for tests: opening them in a network of their own, making trains, awaiting arrivals. */
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
	uint16_t ports[UDP_TX_SOCKETS];
	char said[200]; /* the last line logged */
	uint32_t says;	/* how many */
};

struct gid gid_of(const char *address);

/* Opens an end with n slots, on slot's socket. Returns what failed. */
int end_open(struct udp_end *end, const char *address, uint32_t slots, uint32_t slot, bool trains);
void end_close(struct udp_end *end);
/* A second link on a slot of the same group, as another process has it. */
struct link *end_link(struct udp_end *end, uint32_t slot);

/* Start a train to dst (buf is TRAIN_MAX_BYTES long). */
void train_begin(struct wire_train *train, uint8_t *buf, const struct udp_end *from,
		 const struct gid *dst, uint8_t tx_index);
/* Add a packet for qpn of len bytes, ICRC included; its bytes follow from psn. False when it does not fit. */
bool train_packet(struct wire_train *train, const struct udp_end *from, uint32_t qpn, uint32_t psn,
		  uint32_t len);

/* Receive one call's worth, waiting for it at most AWAIT_MS: how many, 0 when nothing came. */
int await(struct link *link, struct wire_arrival *ret, size_t max);
/* Is there nothing, without waiting? */
bool nothing(struct link *link);
/* Is the arrival's ICRC right by its own rule, and are its bytes those of psn? */
bool arrival_good(const struct wire_arrival *arrival, uint32_t qpn, uint32_t psn, uint32_t len);

#endif
