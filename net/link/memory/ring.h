/* SPDX-License-Identifier: MIT */
/* A ring of trains in shared memory, with one producer and one consumer, which do not trust each
 * other. Pure: makes no system call, takes no lock, knows no slot.
 *
 *   record: struct ring_record, the train's bytes, padding up to RING_ALIGN
 *
 * Positions count bytes since the ring was made, and never fall. The producer writes a record after
 * tail, then advances tail; the consumer reads records in front of tail, then advances head. A
 * producer that dies before it advances tail has written nothing; the next one starts at tail. A
 * consumer that dies before it advances head has read nothing; the next one starts at head.
 *
 * The consumer copies a record's head before it checks the copy, and uses only the copy. It skips
 * to tail when a position or a record is impossible. The bytes of a train stay in the ring: the
 * producer may change them at any time. The producer checks head likewise: an impossible one counts
 * as a full ring. */
#ifndef RXE_LINK_MEMORY_RING_H
#define RXE_LINK_MEMORY_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/wire/train.h"

#define RING_BYTES (256u * 1024) /* a power of two, at least twice the longest record */
#define RING_ALIGN 64u

struct ring_record {
	uint32_t len; /* bytes of the train */
	uint16_t seg_len;
	uint16_t segs;
	uint16_t src_port;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label;
	uint32_t no_icrc; /* 1: the sender left the ICRCs out */
	struct gid src, dst;
	uint8_t reserved[12];
};
static_assert(sizeof(struct ring_record) == RING_ALIGN, "shared memory layout");
static_assert(2 * (sizeof(struct ring_record) + TRAIN_MAX_BYTES + RING_ALIGN) <= RING_BYTES,
	      "a train fits beside another");

/* data is mapped twice, the second time after the first, so that no record is cut at the end. */
struct ring_producer {
	uint8_t *data;
	_Atomic uint64_t *tail;
	const _Atomic uint64_t *head; /* the consumer's */
	uint64_t at;		      /* tail */
	uint64_t head_seen;
};

struct ring_consumer {
	const uint8_t *data;
	const _Atomic uint64_t *tail; /* the producer's */
	_Atomic uint64_t *head;
	uint64_t at; /* the next record; what is between head and here is in use */
};

enum ring_result {
	RING_EMPTY,
	RING_RECORD,
	RING_BAD, /* all that was in the ring is skipped */
};

/* Continue where the last producer or consumer of the ring ended. The caller has set the
 * pointers. */
void ring_producer_open(struct ring_producer *p);
void ring_consumer_open(struct ring_consumer *c);

/* Space for a train of len bytes, at most TRAIN_MAX_BYTES. NULL: the ring is full. The same space
 * until ring_publish(). */
uint8_t *ring_reserve(struct ring_producer *p, uint32_t len);
/* Publishes the train that was written to the reserved space. */
void ring_publish(struct ring_producer *p, const struct ring_record *record);

/* Whether there is something to take: a record, or what is not one. */
static inline bool ring_waits(const struct ring_consumer *c)
{
	return atomic_load_explicit(c->tail, memory_order_acquire) != c->at;
}
/* Takes the next record: a checked copy of its head, and its bytes in the ring, valid until
 * ring_release(). */
enum ring_result ring_take(struct ring_consumer *c, struct ring_record *ret, const uint8_t **bytes);
/* Gives the space of all records that were taken back to the producer. */
void ring_release(struct ring_consumer *c);
/* Skips what is in the ring. */
void ring_skip(struct ring_consumer *c);

#endif
