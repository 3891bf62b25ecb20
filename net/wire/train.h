/* SPDX-License-Identifier: MIT */
/* What the engine and a link exchange: trains out, arrivals in.
 *
 * The engine fills a train with wire_train_add() until that returns NULL or nothing is left for
 * the destination. The link sends the train at once where it can, packet by packet where it
 * cannot. Packets are BTH to ICRC; IP and UDP belong to the link. */
#ifndef RXE_WIRE_TRAIN_H
#define RXE_WIRE_TRAIN_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/packet.h"

#define TRAIN_MAX_BYTES 65507u
#define TRAIN_MAX_SEGS	ICRC_TRAIN_IDS

/* Packets of equal size, except a shorter last, for one destination: one UDP_SEGMENT send. The
 * ICRC of segment i covers IP identification i, which the kernel or a NIC sets when it cuts the
 * train. */
struct wire_train {
	uint8_t *buf;	  /* the caller's, TRAIN_MAX_BYTES long */
	uint32_t len;	  /* bytes in buf */
	uint16_t seg_len; /* bytes of every packet but the last, ICRC included */
	uint16_t segs;
	uint16_t max_segs; /* the caller's limit: 1 turns trains off */
	/* Sending socket of the link: the ICRC covers its port. */
	uint8_t tx_index;
	uint8_t traffic_class;
	uint8_t hop_limit;
	bool closed; /* the last packet is shorter than seg_len */
	/* The link needs no ICRC (link_needs_icrc): zeros stand for it. */
	bool no_icrc;
	/* Ethernet frames as they are, not RoCEv2: for the interface's raw port, not for a link. */
	bool bare;
	uint32_t flow_label;
	struct gid src, dst;
};

/* Packet i of a train, and its length. */
static inline uint8_t *wire_train_packet(const struct wire_train *train, uint32_t i)
{
	return train->buf + (size_t)i * train->seg_len;
}

static inline uint32_t wire_train_packet_len(const struct wire_train *train, uint32_t i)
{
	const uint32_t left = train->len - i * train->seg_len;

	return train->segs > 1 && left > train->seg_len ? train->seg_len : left;
}

/* One received packet, BTH to ICRC. The bytes belong to the link until its next receive. */
struct wire_arrival {
	const uint8_t *p;
	uint32_t len;
	/* The sender can change the bytes at p, and these are a copy of the headers that it cannot
	 * change. NULL: no process changes p. */
	const uint8_t *headers;
	uint16_t src_port;
	/* As ip_id_rule says: the packet's identification, or its index in the train. */
	uint16_t ip_id;
	enum ip_id_rule id_rule; /* IP_ID_EXACT where the link knows it, else IP_ID_ANY */
	bool no_icrc;		 /* the sender left the ICRC out: not to be checked */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label; /* 0 where the link does not see it */
	struct gid src, dst;
};

/* Space for one more packet of len bytes to the train's destination. NULL: the packet does not fit
 * (too long, unequal, full), and the train is ready to be sent. Advances len and segs.
 * UDP_SEGMENT needs equal sizes, except a shorter last. */
static inline uint8_t *wire_train_add(struct wire_train *train, uint32_t len)
{
	uint8_t *p = train->buf + train->len;

	if (train->closed || train->segs >= train->max_segs || len > TRAIN_MAX_BYTES - train->len)
		return NULL;
	if (train->segs == 0)
		train->seg_len = (uint16_t)len;
	else if (len > train->seg_len)
		return NULL;
	train->closed = len < train->seg_len;
	train->segs++;
	train->len += len;
	return p;
}

/* Fills in the ICRCs of a train that was built without. src_port: of its tx_index. */
static inline void wire_train_add_icrcs(struct wire_train *train, uint16_t src_port)
{
	const struct icrc_flow flow = { train->src, train->dst, src_port };

	for (uint32_t i = 0; i < train->segs; i++) {
		uint8_t *p = wire_train_packet(train, i);
		const uint32_t end = wire_train_packet_len(train, i) - ICRC_LEN;

		assert(end >= BTH_LEN);
		icrc_store(p + end, icrc_compute(&flow, (uint16_t)i, p, end));
	}
	train->no_icrc = false;
}

#endif
