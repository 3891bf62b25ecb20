/* SPDX-License-Identifier: MIT */
/* What the engine and a link hand each other: trains on the way out, arrivals on the way in.
 *
 * The engine fills a train with wire_train_add until that says no, or it has nothing more for the destination; the link sends
 * it as one thing where it can, packet by packet where it cannot. Packets are BTH to ICRC; IP and UDP are the link's. */
#ifndef RXE_WIRE_TRAIN_H
#define RXE_WIRE_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"
#include "net/wire/icrc.h"

#define TRAIN_MAX_BYTES 65507u
#define TRAIN_MAX_SEGS	ICRC_TRAIN_IDS

/* Packets of equal size, but for a shorter last, for one destination: one UDP_SEGMENT send. The ICRC of segment i was
 * computed with IP identification i, since that is what the kernel or a NIC gives it when it cuts the train. */
struct wire_train {
	uint8_t *buf;	  /* the caller's, TRAIN_MAX_BYTES long */
	uint32_t len;	  /* bytes in buf */
	uint16_t seg_len; /* bytes of every packet but the last, ICRC included */
	uint16_t segs;
	uint16_t max_segs; /* the caller's limit: 1 turns trains off */
	uint8_t tx_index;  /* which of the link's sending sockets: its port is in the ICRC */
	uint8_t traffic_class;
	uint8_t hop_limit;
	bool closed; /* a packet shorter than seg_len was the last one */
	uint32_t flow_label;
	struct gid src, dst;
};

/* One received packet: BTH to ICRC. The bytes belong to the link until its next receive call. */
struct wire_arrival {
	const uint8_t *p;
	uint32_t len;
	uint16_t src_port;
	uint16_t ip_id; /* as ip_id_rule reads it: what it bore, or its index in the train */
	enum ip_id_rule id_rule; /* IP_ID_EXACT where the link saw or knows it; else IP_ID_ANY */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label; /* 0 where the link does not see it */
	struct gid src, dst;
};

/* Room for one more packet of len bytes to the train's destination, or NULL when it does not fit (too long, unequal,
 * full): then the train is ready to go. Advances len and segs. */
uint8_t *wire_train_add(struct wire_train *train, uint32_t len);

#endif
