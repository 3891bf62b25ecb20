/* SPDX-License-Identifier: MIT */
/* Trains: whether one more packet fits. UDP_SEGMENT needs equal sizes, except a shorter last. */
#include "net/wire/train.h"

#include <assert.h>

#include "net/wire/packet.h"

uint8_t *wire_train_add(struct wire_train *train, uint32_t len)
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

void wire_train_add_icrcs(struct wire_train *train, uint16_t src_port)
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
