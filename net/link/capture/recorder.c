// SPDX-License-Identifier: MIT
/* Writes packets to a capture's ring. Packets that leave have the time before the system call,
 * arrivals the time after it, so a response never precedes its request. */
#include "net/link/capture/recorder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "net/link/clock.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

/* As many marks as a shaper may hold packets. */
#define MAX_MARKS FAULT_HELD
#define MARK_KEY  7u

/* A note for a packet that a rule changed and that has not passed the recorder yet. */
struct mark {
	uint32_t left; /* packets still to pass; 0: free */
	enum fault_dir dir;
	uint32_t len;
	uint8_t key[MARK_KEY];
	uint64_t sum; /* checksum of the packet's bytes; 0: any bytes */
	char note[CAPTURE_NOTE_MAX];
};

struct recorder {
	struct recorder_cfg cfg;
	const struct capture_area *area;
	struct capture_writer writer;
	size_t ring_len;
	uint32_t num_marks; /* in use */
	uint32_t next_mark;
	struct mark marks[MAX_MARKS];
};

static void *map(int fd, size_t offset, size_t len, int protection)
{
	void *p = mmap(NULL, len, protection, MAP_SHARED, fd, (off_t)offset);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTDUMP);
	return p;
}

static bool map_ring(struct recorder *recorder, int fd)
{
	const struct recorder_cfg *cfg = &recorder->cfg;
	struct capture_ring *ring;
	uint32_t bytes;

	recorder->area = map(fd, 0, CAPTURE_PAGE, PROT_READ);
	if (!recorder->area || recorder->area->magic != CAPTURE_MAGIC ||
	    recorder->area->rings <= cfg->slot)
		return false;
	bytes = ((const volatile struct capture_area *)recorder->area)->ring_bytes;
	if (!capture_ring_bytes_valid(bytes))
		return false;
	recorder->ring_len = sizeof(*ring) + bytes;
	ring = map(fd, capture_ring_offset(bytes, cfg->slot), recorder->ring_len,
		   PROT_READ | PROT_WRITE);
	if (!ring)
		return false;
	capture_writer_open(&recorder->writer, ring, bytes, cfg->pid, cfg->comm);
	return true;
}

struct recorder *recorder_open(const struct recorder_cfg *cfg, int fd)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return NULL;
	recorder->cfg = *cfg;
	if (map_ring(recorder, fd))
		return recorder;
	recorder_close(recorder);
	return NULL;
}

void recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->writer.ring)
		munmap(recorder->writer.ring, recorder->ring_len);
	if (recorder->area)
		munmap((void *)(uintptr_t)recorder->area, CAPTURE_PAGE);
	free(recorder);
}

/* The key is opcode, destination QPN and PSN; bytes that a runt lacks count as 0. */
static void take_key(uint8_t ret[static MARK_KEY], const uint8_t *packet, uint32_t len)
{
	uint8_t bth[BTH_LEN] = { 0 };

	memcpy(bth, packet, len < BTH_LEN ? len : BTH_LEN);
	ret[0] = bth[0];
	memcpy(ret + 1, bth + 5, 3);
	memcpy(ret + 4, bth + 9, 3);
}

/* FNV-1a of the whole packet; never 0. */
static uint64_t sum_of(const uint8_t *packet, uint32_t len)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < len; i++)
		sum = (sum ^ packet[i]) * 0x100000001b3u;
	return sum | 1;
}

/* A full table drops its oldest mark. */
static struct mark *add_mark(struct recorder *recorder, enum fault_dir dir, const uint8_t *packet,
			     uint32_t len, uint32_t uses, const char *note)
{
	struct mark *mark = &recorder->marks[recorder->next_mark++ % MAX_MARKS];

	assert(uses > 0);
	if (mark->left == 0)
		recorder->num_marks++;
	*mark = (struct mark){ .left = uses, .dir = dir, .len = len };
	take_key(mark->key, packet, len);
	memcpy(mark->note, note, sizeof(mark->note));
	return mark;
}

/* Returns the note for the packet, or NULL. */
static const char *take_mark(struct recorder *recorder, enum fault_dir dir, const uint8_t *packet,
			     uint32_t len)
{
	uint8_t key[MARK_KEY];

	if (recorder->num_marks == 0)
		return NULL;
	take_key(key, packet, len);
	for (uint32_t i = 0; i < MAX_MARKS; i++) {
		struct mark *mark = &recorder->marks[i];

		if (mark->left == 0 || mark->dir != dir || mark->len != len ||
		    memcmp(mark->key, key, sizeof(key)) != 0 ||
		    (mark->sum && mark->sum != sum_of(packet, len)))
			continue;
		assert(recorder->num_marks > 0);
		if (--mark->left == 0)
			recorder->num_marks--;
		return mark->note;
	}
	return NULL;
}

static void record_packet(struct recorder *recorder, struct capture_record *record,
			  const uint8_t *packet, const char *note)
{
	if (note)
		record->flags |= CAPTURE_FAULT;
	recorder->cfg.describe(recorder->cfg.arg, record, packet);
	capture_writer_put(&recorder->writer, record, packet, atomic_load(&recorder->area->keep),
			   note);
}

static struct capture_record leaving(const struct recorder *recorder,
				     const struct wire_train *train, uint32_t index, uint32_t len)
{
	return (struct capture_record){
		.flags = CAPTURE_SENT,
		.src = train->src,
		.dst = train->dst,
		.flow_label = train->flow_label,
		.src_port =
			link_bottom(recorder->cfg.link)->tx_port[train->tx_index % LINK_TX_PORTS],
		.ip_id = (uint16_t)index,
		.len = len,
		.traffic_class = train->traffic_class,
		.hop_limit = train->hop_limit,
	};
}

static void write_sent(struct recorder *recorder, const struct wire_train *train, uint32_t index)
{
	const uint8_t *packet = wire_train_packet(train, index);
	const uint32_t len = wire_train_packet_len(train, index);
	struct capture_record record = leaving(recorder, train, index, len);

	record_packet(recorder, &record, packet, take_mark(recorder, FAULT_OUT, packet, len));
}

/* Whether the packet is from the same device, whose sending process recorded it. */
static bool is_from_inside(const struct recorder *recorder, const struct wire_arrival *arrival)
{
	for (uint32_t i = 0; i < recorder->cfg.num_gids; i++) {
		if (gid_equal(&recorder->cfg.gids[i], &arrival->src))
			return true;
	}
	return false;
}

static struct capture_record arriving(const struct recorder *recorder,
				      const struct wire_arrival *arrival)
{
	return (struct capture_record){
		.flags = (is_from_inside(recorder, arrival) ? (uint32_t)CAPTURE_INSIDE : 0) |
			 (arrival->id_rule == IP_ID_EXACT ? 0 : (uint32_t)CAPTURE_GUESSED_ID),
		.src = arrival->src,
		.dst = arrival->dst,
		.flow_label = arrival->flow_label,
		.src_port = arrival->src_port,
		.ip_id = arrival->ip_id,
		.len = arrival->len,
		.traffic_class = arrival->traffic_class,
		.hop_limit = arrival->hop_limit,
	};
}

static void write_arrived(struct recorder *recorder, const struct wire_arrival *arrival)
{
	struct capture_record record = arriving(recorder, arrival);
	const char *note = take_mark(recorder, FAULT_IN, arrival->p, arrival->len);

	if (!note && (record.flags & CAPTURE_INSIDE) &&
	    !atomic_load_explicit(&recorder->area->inside, memory_order_relaxed))
		return;
	record_packet(recorder, &record, arrival->p, note);
}

static void begin(struct recorder *recorder)
{
	capture_writer_begin(&recorder->writer);
	capture_writer_at(&recorder->writer, clock_now_ns());
}

static void sending(void *arg)
{
	begin(arg);
}

static void sent(void *arg, const struct wire_train *trains, size_t n)
{
	struct recorder *recorder = arg;

	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < trains[i].segs; k++)
			write_sent(recorder, &trains[i], k);
	}
	capture_writer_end(&recorder->writer);
}

static void arrived(void *arg, const struct wire_arrival *arrivals, size_t n)
{
	struct recorder *recorder = arg;

	if (n == 0)
		return;
	begin(recorder);
	for (size_t i = 0; i < n; i++)
		write_arrived(recorder, &arrivals[i]);
	capture_writer_end(&recorder->writer);
}

const struct tap_observer recorder_departures = { .sending = sending, .sent = sent };
const struct tap_observer recorder_arrivals = { .arrived = arrived };

static void write_lost(struct recorder *recorder, const struct fault_firing *firing,
		       const char *note)
{
	struct capture_record record = firing->packet.dir == FAULT_OUT
					       ? leaving(recorder, firing->train, 0, firing->len)
					       : arriving(recorder, firing->arrival);

	begin(recorder);
	record.len = firing->len;
	record.flags |= CAPTURE_LOST;
	record_packet(recorder, &record, firing->p, note);
	capture_writer_end(&recorder->writer);
}

/* Marks the NAK that replaces the packet, which has the other direction. */
static void mark_answer(struct recorder *recorder, const struct fault_packet *packet,
			const char *note)
{
	const bool leaves = packet->dir == FAULT_IN;
	const struct wire_packet nak = {
		.bth = { .opcode = opcode_make(opcode_service(packet->opcode), OP_ACKNOWLEDGE),
			 .dest_qpn = leaves ? packet->peer_qpn : packet->qpn,
			 .psn = packet->psn }
	};
	uint8_t bytes[WIRE_MAX_HEADERS];
	const size_t len = wire_emit_headers(bytes, &nak);

	add_mark(recorder, leaves ? FAULT_OUT : FAULT_IN, bytes, (uint32_t)len + ICRC_LEN, 1, note);
}

void recorder_fault(struct recorder *recorder, const struct fault_firing *firing, const char *text)
{
	const enum fault_dir dir = firing->packet.dir;
	char note[CAPTURE_NOTE_MAX] = "";
	uint32_t uses = 1;

	/* add_mark copies the whole array. */
	(void)snprintf(note, sizeof(note), "%s", text);
	switch (firing->rule->action) {
	case FAULT_RNR_NAK:
	case FAULT_NAK:
		mark_answer(recorder, &firing->packet, note);
		write_lost(recorder, firing, note);
		return;
	case FAULT_DROP: write_lost(recorder, firing, note); return;
	case FAULT_DUPLICATE: uses += firing->rule->copies; break;
	case FAULT_DELAY:
	case FAULT_REORDER:
	case FAULT_CORRUPT:
	case FAULT_TRUNCATE: break;
	}
	/* Copies of a packet may differ only in the bits that rules corrupted. */
	add_mark(recorder, dir, firing->p, firing->len, uses, note)->sum =
		sum_of(firing->p, firing->len);
}
