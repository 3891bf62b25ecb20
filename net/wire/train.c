/* SPDX-License-Identifier: MIT */
/* Trains: when one more packet may ride along. UDP_SEGMENT wants equal sizes but for a shorter last. */
#include "net/wire/train.h"

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
