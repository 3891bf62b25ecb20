/* SPDX-License-Identifier: MIT */
/* The ring that carries packets from a process to captures: one in shared memory for each slot of a
 * device. The slot's process writes it under its engine lock; any number of captures read it.
 *
 * The writer never waits: it overwrites what was not read in time. A reader detects this, and the
 * numbers of the packets show how many it lost. A writer that dies during a record leaves bytes
 * after done, which no reader reads and the slot's next process overwrites.
 *
 *   writer: busy = 1, time_ns = now, for each record: begun = its end, write it, done = its end;
 *           then busy = 0
 *   reader: read done, copy up to it, read begun: bytes a ring's length before begun may be torn
 *
 * Captures merge rings by time: if a reader sees busy 0, later records have a time after that
 * moment; if it sees busy 1, they have time_ns or later. */
#ifndef RXE_LINK_CAPTURE_RING_H
#define RXE_LINK_CAPTURE_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

#define CAPTURE_MAGIC	   0x31676e6972786572ull /* "rexring1" */
#define CAPTURE_PAGE	   4096u
#define CAPTURE_RING_MIN   (64u * 1024)
#define CAPTURE_RING_MAX   (1024u * 1024 * 1024)
#define CAPTURE_RING_USUAL (16u * 1024 * 1024)
/* Most bytes of a packet in a record. RoCEv2 packets are shorter; other datagrams are cut. */
#define CAPTURE_KEEP_MAX 9216u
#define CAPTURE_NOTE_MAX 320u
#define CAPTURE_COMM_MAX 16u

enum capture_flag {
	CAPTURE_SENT = 1 << 0, /* clear: received */
	CAPTURE_INSIDE =
		1 << 1, /* received from a process of the same device, which recorded it too */
	CAPTURE_LOST = 1 << 2,	/* a rule dropped it */
	CAPTURE_FAULT = 1 << 3, /* a rule changed it; the note names the rule */
	CAPTURE_HAS_QP = 1 << 4,
	CAPTURE_HAS_WR = 1 << 5,
	CAPTURE_GUESSED_ID = 1 << 6, /* the link did not see the IPv4 identification */
};

/* One packet. In the ring its bytes and the note follow, and padding up to a multiple of 8. */
struct capture_record {
	uint32_t size;	  /* of the record, with packet, note and padding */
	uint32_t flags;	  /* enum capture_flag */
	uint64_t number;  /* of the packet in this ring, from 0 */
	uint64_t time_ns; /* CLOCK_MONOTONIC: before it was sent, after it was received */
	uint64_t wr_id;
	struct gid src, dst;
	uint32_t flow_label;
	uint16_t src_port, ip_id;
	uint32_t len;  /* bytes of the packet */
	uint32_t kept; /* bytes of the packet in this record */
	uint32_t note_len;
	int32_t pid;
	char comm[CAPTURE_COMM_MAX];
	uint32_t qpn;	    /* of the device's own queue pair */
	uint16_t wr_opcode; /* enum rxe_wr_opcode */
	uint8_t qp_type;    /* enum rxe_qp_type */
	uint8_t traffic_class, hop_limit;
	uint8_t reserved[3];
};
static_assert(sizeof(struct capture_record) == 120, "shared memory layout");

struct capture_ring {
	/* Bytes since the ring was made: up to begun the writer may be writing, up to done records
	 * are whole. */
	_Alignas(64) _Atomic uint64_t begun;
	_Atomic uint64_t done;
	_Atomic uint64_t packets; /* number of the next packet */
	_Atomic uint64_t time_ns; /* of the writer's current or last call */
	_Atomic uint32_t busy;
	_Atomic int32_t pid; /* of the writer; 0: none so far */
	_Alignas(CAPTURE_PAGE) uint8_t bytes[];
};
static_assert(sizeof(struct capture_ring) == CAPTURE_PAGE, "shared memory layout");

/* The first page of the shared memory; the rings follow. The server writes it. */
struct capture_area {
	uint64_t magic;
	uint32_t rings;
	uint32_t ring_bytes;	 /* a power of two */
	_Atomic uint32_t keep;	 /* most bytes of each packet that a capture wants */
	_Atomic uint32_t inside; /* a capture wants arrivals from the same device too */
};

/* Whether rings may have that size. Other processes can write the first page, so the caller passes
 * a copy. */
static inline bool capture_ring_bytes_valid(uint32_t ring_bytes)
{
	return ring_bytes >= CAPTURE_RING_MIN && ring_bytes <= CAPTURE_RING_MAX &&
	       (ring_bytes & (ring_bytes - 1)) == 0;
}

static inline size_t capture_ring_offset(uint32_t ring_bytes, uint32_t index)
{
	return CAPTURE_PAGE + (size_t)index * (sizeof(struct capture_ring) + ring_bytes);
}

struct capture_writer {
	struct capture_ring *ring;
	uint32_t ring_bytes;
	int32_t pid;
	char comm[CAPTURE_COMM_MAX];
	uint64_t now_ns;
};

/* Starts writing to a ring, which may have been another process's. */
void capture_writer_open(struct capture_writer *ret, struct capture_ring *ring, uint32_t ring_bytes,
			 int32_t pid, const char *comm);
/* A call writes its records between at and end. The caller reads the clock between begin and at;
 * all records of the call have that time. */
void capture_writer_begin(struct capture_writer *writer);
void capture_writer_at(struct capture_writer *writer, uint64_t now_ns);
void capture_writer_end(struct capture_writer *writer);
/* Writes a record with at most keep bytes of the packet. Sets size, number, time_ns, kept,
 * note_len, pid and comm of the record; the caller sets the rest. note may be NULL. */
void capture_writer_put(struct capture_writer *writer, struct capture_record *record,
			const uint8_t *packet, uint32_t keep, const char *note);

struct capture_reader {
	const struct capture_ring *ring;
	uint32_t ring_bytes;
	uint64_t at;	 /* position of the next byte to read */
	uint64_t number; /* of the next packet */
	uint64_t lost;	 /* packets that were overwritten before they were read */
};

/* Starts reading after the last record that is whole. */
void capture_reader_open(struct capture_reader *ret, const struct capture_ring *ring,
			 uint32_t ring_bytes);
/* Copies new records to a buffer of ring_bytes bytes, aligned to 8. Returns the bytes copied.
 * Records that were overwritten are omitted; capture_reader_next counts them in lost. */
size_t capture_reader_read(struct capture_reader *reader, uint8_t *to);
/* Returns the record at *at of the copied bytes, followed by packet and note (not terminated), and
 * advances *at. NULL at the end. */
const struct capture_record *capture_reader_next(struct capture_reader *reader, const uint8_t *from,
						 size_t len, size_t *at);
/* Packets that were written but not read. */
uint64_t capture_reader_unread(const struct capture_reader *reader);

static inline const uint8_t *capture_record_packet(const struct capture_record *record)
{
	return (const uint8_t *)(record + 1);
}

static inline const char *capture_record_note(const struct capture_record *record)
{
	return (const char *)(record + 1) + record->kept;
}

#endif
