// SPDX-License-Identifier: MIT
/* Writing down what passes. Time is asked for before packets are handed to the kernel and after they came from it, so that an
 * answer never stands before its question. */
#include "lib/progress/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "lib/progress/log.h"
#include "lib/progress/packet_qp.h"
#include "lib/progress/progress.h"
#include "net/link/capture/ring.h"
#include "net/link/clock.h"
#include "net/link/fault/shaper.h"
#include "net/link/link.h"
#include "net/wire/gid.h"
#include "net/wire/icrc.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"

/* Packets that faults had to do with, until they pass: as many as may be held back at a time. */
#define MAX_MARKS FAULT_HELD
#define MARK_KEY  7u

struct mark {
	uint32_t left; /* so many packets bear it; 0: free */
	enum fault_dir dir;
	uint32_t len;
	uint8_t key[MARK_KEY];
	uint64_t sum; /* of its bytes; 0: whatever they are */
	char note[CAPTURE_NOTE_MAX];
};

struct vb_capture {
	struct progress *progress;
	const struct capture_area *area;
	struct capture_writer writer;
	size_t ring_len;
	uint16_t ports[RXE_MAX_TX_PORTS];
	uint32_t num_marks; /* in use */
	uint32_t next_mark;
	struct mark marks[MAX_MARKS];
};

static void unmap(struct vb_capture *capture)
{
	if (capture->writer.ring)
		munmap(capture->writer.ring, capture->ring_len);
	if (capture->area)
		munmap((void *)(uintptr_t)capture->area, CAPTURE_PAGE);
	free(capture);
}

static void *map(int fd, size_t offset, size_t len, int protection)
{
	void *p = mmap(NULL, len, protection, MAP_SHARED, fd, (off_t)offset);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTDUMP);
	return p;
}

static bool map_ring(struct vb_capture *capture, int fd)
{
	const struct ctl_attachment *at = capture->progress->attachment;
	const struct ctl_slot *slot = &at->shared->slot[at->slot];
	struct capture_ring *ring;
	uint32_t bytes;

	capture->area = map(fd, 0, CAPTURE_PAGE, PROT_READ);
	if (!capture->area || capture->area->magic != CAPTURE_MAGIC ||
	    capture->area->rings <= at->slot)
		return false;
	bytes = ((const volatile struct capture_area *)capture->area)->ring_bytes;
	if (!capture_ring_bytes_valid(bytes))
		return false;
	capture->ring_len = sizeof(*ring) + bytes;
	ring = map(fd, capture_ring_offset(bytes, at->slot), capture->ring_len,
		   PROT_READ | PROT_WRITE);
	if (!ring)
		return false;
	capture_writer_open(&capture->writer, ring, bytes, atomic_load(&slot->pid), slot->comm);
	return true;
}

static struct vb_capture *open_capture(struct progress *progress, int fd)
{
	struct vb_capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return NULL;
	capture->progress = progress;
	if (map_ring(capture, fd))
		return capture;
	rxe_log(RXE_LOG_WARNING,
		"a capture on %s has begun, but its memory cannot be mapped: packets "
		"of this process are not in it",
		progress->info->name);
	unmap(capture);
	return NULL;
}

void vb_capture_told(struct progress *progress, int fd)
{
	struct vb_wire *wire = &progress->wire;

	pthread_mutex_lock(&progress->lock);
	vb_capture_close(wire);
	if (fd >= 0)
		wire->capture = open_capture(progress, fd);
	pthread_mutex_unlock(&progress->lock);
	if (fd >= 0)
		close(fd);
}

void vb_capture_close(struct vb_wire *wire)
{
	if (wire->capture)
		unmap(wire->capture);
	wire->capture = NULL;
}

static void set_qp(struct capture_record *record, const struct rxe_qp *qp, const uint8_t *packet)
{
	const struct rxe_send_wqe *wqe;

	if (!qp)
		return;
	record->flags |= CAPTURE_HAS_QP;
	record->qpn = qp->qpn;
	record->qp_type = (uint8_t)qp->type;
	wqe = vb_wire_request(qp, record->flags & CAPTURE_SENT, packet, record->len);
	if (!wqe)
		return;
	record->flags |= CAPTURE_HAS_WR;
	record->wr_id = wqe->wr_id;
	record->wr_opcode = wqe->opcode;
}

/* Opcode, queue pair and PSN tell a packet from others; of a runt, what there is of them. */
static void take_key(uint8_t ret[static MARK_KEY], const uint8_t *packet, uint32_t len)
{
	uint8_t bth[BTH_LEN] = { 0 };

	memcpy(bth, packet, len < BTH_LEN ? len : BTH_LEN);
	ret[0] = bth[0];
	memcpy(ret + 1, bth + 5, 3);
	memcpy(ret + 4, bth + 9, 3);
}

/* The oldest gives way. */
/* FNV-1a of all of it; never 0. */
static uint64_t sum_of(const uint8_t *packet, uint32_t len)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < len; i++)
		sum = (sum ^ packet[i]) * 0x100000001b3u;
	return sum | 1;
}

static struct mark *add_mark(struct vb_capture *capture, enum fault_dir dir, const uint8_t *packet,
			     uint32_t len, uint32_t uses, const char *note)
{
	struct mark *mark = &capture->marks[capture->next_mark++ % MAX_MARKS];

	if (mark->left == 0)
		capture->num_marks++;
	*mark = (struct mark){ .left = uses, .dir = dir, .len = len };
	take_key(mark->key, packet, len);
	memcpy(mark->note, note, sizeof(mark->note));
	return mark;
}

/* What is to be said of the packet, or NULL. */
static const char *take_mark(struct vb_capture *capture, enum fault_dir dir, const uint8_t *packet,
			     uint32_t len)
{
	uint8_t key[MARK_KEY];

	if (capture->num_marks == 0)
		return NULL;
	take_key(key, packet, len);
	for (uint32_t i = 0; i < MAX_MARKS; i++) {
		struct mark *mark = &capture->marks[i];

		if (mark->left == 0 || mark->dir != dir || mark->len != len ||
		    memcmp(mark->key, key, sizeof(key)) != 0 ||
		    (mark->sum && mark->sum != sum_of(packet, len)))
			continue;
		if (--mark->left == 0)
			capture->num_marks--;
		return mark->note;
	}
	return NULL;
}

static void write_down(struct vb_capture *capture, struct capture_record *record,
		       const uint8_t *packet, const char *note)
{
	const struct rxe_engine *engine = capture->progress->engine;

	if (note)
		record->flags |= CAPTURE_FAULT;
	set_qp(record,
	       record->flags & CAPTURE_SENT
		       ? vb_wire_qp_of_sent(engine, &record->dst, packet, record->len)
		       : vb_wire_qp_of_arrived(engine, packet, record->len),
	       packet);
	capture_writer_put(&capture->writer, record, packet, atomic_load(&capture->area->keep),
			   note);
}

static struct capture_record leaving(const struct vb_capture *capture,
				     const struct wire_train *train, uint32_t index, uint32_t len)
{
	return (struct capture_record){
		.flags = CAPTURE_SENT,
		.src = train->src,
		.dst = train->dst,
		.flow_label = train->flow_label,
		.src_port = capture->ports[train->tx_index % RXE_MAX_TX_PORTS],
		.ip_id = (uint16_t)index,
		.len = len,
		.traffic_class = train->traffic_class,
		.hop_limit = train->hop_limit,
	};
}

static void write_sent(struct vb_capture *capture, const struct wire_train *train, uint32_t index)
{
	const uint8_t *packet = train->buf + (size_t)index * train->seg_len;
	const uint32_t left = train->len - index * train->seg_len;
	const uint32_t len = train->segs > 1 && left > train->seg_len ? train->seg_len : left;
	struct capture_record record = leaving(capture, train, index, len);

	write_down(capture, &record, packet, take_mark(capture, FAULT_OUT, packet, len));
}

/* Whoever sent it wrote it down, if it was one of ours. */
static bool is_from_inside(const struct vb_capture *capture, const struct wire_arrival *arrival)
{
	const struct gid *gids = capture->progress->info->gids;

	for (uint32_t i = 0; i < RXE_MAX_GIDS; i++) {
		if (gid_equal(&gids[i], &arrival->src))
			return true;
	}
	return false;
}

static struct capture_record arriving(const struct vb_capture *capture,
				      const struct wire_arrival *arrival)
{
	return (struct capture_record){
		.flags = (is_from_inside(capture, arrival) ? (uint32_t)CAPTURE_INSIDE : 0) |
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

static void write_arrived(struct vb_capture *capture, const struct wire_arrival *arrival)
{
	struct capture_record record = arriving(capture, arrival);
	const char *note = take_mark(capture, FAULT_IN, arrival->p, arrival->len);

	if (!note && (record.flags & CAPTURE_INSIDE) &&
	    !atomic_load_explicit(&capture->area->inside, memory_order_relaxed))
		return;
	write_down(capture, &record, arrival->p, note);
}

static void begin(struct vb_wire *wire)
{
	capture_writer_begin(&wire->capture->writer);
	capture_writer_at(&wire->capture->writer, clock_now_ns());
	link_tx_ports(wire->phy, wire->capture->ports, RXE_MAX_TX_PORTS);
}

void vb_capture_sending(struct vb_wire *wire)
{
	begin(wire);
}

void vb_capture_sent(struct vb_wire *wire, const struct wire_train *trains, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < trains[i].segs; k++)
			write_sent(wire->capture, &trains[i], k);
	}
	capture_writer_end(&wire->capture->writer);
}

void vb_capture_arrived(struct vb_wire *wire, const struct wire_arrival *arrivals, size_t n)
{
	begin(wire);
	for (size_t i = 0; i < n; i++)
		write_arrived(wire->capture, &arrivals[i]);
	capture_writer_end(&wire->capture->writer);
}

/* "fault 3: drop opcode=ACKNOWLEDGE nth=3" */
static void write_note(char ret[static CAPTURE_NOTE_MAX], const struct fault_firing *firing)
{
	const int len = snprintf(ret, CAPTURE_NOTE_MAX, "fault %u: ", firing->id);

	(void)fault_rule_format(ret + len, CAPTURE_NOTE_MAX - (size_t)len, firing->rule);
}

static void write_lost(struct vb_wire *wire, const struct fault_firing *firing, const char *note)
{
	struct vb_capture *capture = wire->capture;
	struct capture_record record = firing->packet.dir == FAULT_OUT
					       ? leaving(capture, firing->train, 0, firing->len)
					       : arriving(capture, firing->arrival);

	begin(wire);
	record.len = firing->len;
	record.flags |= CAPTURE_LOST;
	write_down(capture, &record, firing->p, note);
	capture_writer_end(&capture->writer);
}

/* The NAK in its place, which comes from the other side. */
static void mark_answer(struct vb_capture *capture, const struct fault_packet *packet,
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

	add_mark(capture, leaves ? FAULT_OUT : FAULT_IN, bytes, (uint32_t)len + ICRC_LEN, 1, note);
}

void vb_capture_fault(struct vb_wire *wire, const struct fault_firing *firing)
{
	struct vb_capture *capture = wire->capture;
	const enum fault_dir dir = firing->packet.dir;
	char note[CAPTURE_NOTE_MAX] = "";
	uint32_t uses = 1;

	if (!capture)
		return;
	write_note(note, firing);
	switch (firing->rule->action) {
	case FAULT_RNR_NAK:
	case FAULT_NAK:
		mark_answer(capture, &firing->packet, note);
		write_lost(wire, firing, note);
		return;
	case FAULT_DROP: write_lost(wire, firing, note); return;
	case FAULT_DUPLICATE: uses += firing->rule->copies; break;
	case FAULT_DELAY:
	case FAULT_REORDER:
	case FAULT_CORRUPT:
	case FAULT_TRUNCATE: break;
	case FAULT_COMPLETION: /* of no packet */
	case FAULT_VERB:
	case FAULT_PORT_DOWN:
	case FAULT_GID_CHANGE:
	case FAULT_DEVICE_FATAL: return;
	}
	/* Of two copies that differ in what was spoiled, this one. */
	add_mark(capture, dir, firing->p, firing->len, uses, note)->sum =
		sum_of(firing->p, firing->len);
}
