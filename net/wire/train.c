/* SPDX-License-Identifier: MIT */
/* Trains: whether one more packet fits. UDP_SEGMENT needs equal sizes, except a shorter last. */
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
