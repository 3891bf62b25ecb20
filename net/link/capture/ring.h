/* SPDX-License-Identifier: MIT */
/* Packets on their way from the process that sends or receives them to a capture: one ring in shared memory for each slot of a
 * device, written by the slot's process under its engine lock, read by any number of captures, none of which writes to it.
 *
 * The writer never waits: what nobody has read in time is overwritten. A reader notices, and the numbers of the packets tell how
 * many it missed. A writer that dies half-way leaves bytes that nobody looks at; the slot's next process goes on before them.
 *
 *   writer: busy = 1, time_ns = the time, [begun = end of the record, writes it, done = its end]..., busy = 0
 *   reader: reads done, copies up to it, reads begun: what lies more than a ring's length before that may be torn
 *
 * A reader that sees busy at 0 knows that whatever comes has a later time than this moment; else it is not before time_ns. That is
 * how rings are put in order. */
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
#define CAPTURE_KEEP_MAX                                                                           \
	9216u /* bytes of a packet; a datagram that is longer is none of ours, and is cut */
#define CAPTURE_NOTE_MAX 320u
#define CAPTURE_COMM_MAX 16u

enum capture_flag {
	CAPTURE_SENT = 1 << 0, /* else: it arrived */
	CAPTURE_INSIDE =
		1
		<< 1, /* it arrived from a process of the same device, which has written it down as sent */
	CAPTURE_LOST = 1 << 2,	/* a fault took it: it never left, or never reached the engine */
	CAPTURE_FAULT = 1 << 3, /* a fault had to do with it: the note says which */
	CAPTURE_HAS_QP = 1 << 4,
	CAPTURE_HAS_WR = 1 << 5,
	CAPTURE_GUESSED_ID = 1 << 6, /* the link did not see the IPv4 identification */
};

/* One packet. In the ring its bytes and the note follow, and zeros up to a multiple of 8. */
struct capture_record {
	uint32_t size;	  /* of all of it */
	uint32_t flags;	  /* enum capture_flag */
	uint64_t number;  /* the packet's, in this ring, from 0 */
	uint64_t time_ns; /* CLOCK_MONOTONIC: before it was sent, after it was received */
	uint64_t wr_id;
	struct gid src, dst;
	uint32_t flow_label;
	uint16_t src_port, ip_id;
	uint32_t len;  /* on the wire */
	uint32_t kept; /* ... and here */
	uint32_t note_len;
	int32_t pid;
	char comm[CAPTURE_COMM_MAX];
	uint32_t qpn;	    /* ours */
	uint16_t wr_opcode; /* enum rxe_wr_opcode */
	uint8_t qp_type;    /* enum rxe_qp_type */
	uint8_t traffic_class, hop_limit;
	uint8_t reserved[3];
};
static_assert(sizeof(struct capture_record) == 120, "shared memory layout");

struct capture_ring {
	_Alignas(64) _Atomic uint64_t
		begun;	       /* bytes written, or perhaps half written, since the ring was made */
	_Atomic uint64_t done; /* bytes that are whole; begins and ends between records */
	_Atomic uint64_t packets; /* the next one's number */
	_Atomic uint64_t time_ns; /* of the call under way, or of the last */
	_Atomic uint32_t busy;
	_Atomic int32_t pid; /* who writes; 0: nobody has come to it yet */
	_Alignas(CAPTURE_PAGE) uint8_t bytes[];
};
static_assert(sizeof(struct capture_ring) == CAPTURE_PAGE, "shared memory layout");

/* The first page of the shared memory; the rings follow. Written by the server. */
struct capture_area {
	uint64_t magic;
	uint32_t rings;
	uint32_t ring_bytes;	 /* a power of two */
	_Atomic uint32_t keep;	 /* bytes of each packet that somebody wants */
	_Atomic uint32_t inside; /* somebody wants arrivals from the same device too */
};

/* May rings be of that size? Others can write to the first page as well: ask of a copy. */
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

/* A process comes to a ring, whatever its former one left behind. */
void capture_writer_open(struct capture_writer *ret, struct capture_ring *ring, uint32_t ring_bytes,
			 int32_t pid, const char *comm);
/* Around the packets of one call. Between begin and at the time is asked for that their records bear. */
void capture_writer_begin(struct capture_writer *writer);
void capture_writer_at(struct capture_writer *writer, uint64_t now_ns);
void capture_writer_end(struct capture_writer *writer);
/* The record's size, number, time, kept, note_len, pid and comm are filled in here; keep is how much of the packet to take. note may
 * be NULL. */
void capture_writer_put(struct capture_writer *writer, struct capture_record *record,
			const uint8_t *packet, uint32_t keep, const char *note);

struct capture_reader {
	const struct capture_ring *ring;
	uint32_t ring_bytes;
	uint64_t at;	 /* read up to here */
	uint64_t number; /* of the packet expected next */
	uint64_t lost;	 /* packets that were overwritten before they were read, so far */
};

/* From now on. */
void capture_reader_open(struct capture_reader *ret, const struct capture_ring *ring,
			 uint32_t ring_bytes);
/* Copies records into to, which has room for ring_bytes and is aligned to 8; returns their bytes. What was overwritten meanwhile is
 * left out, and counted in lost when the next packet is seen. */
size_t capture_reader_read(struct capture_reader *reader, uint8_t *to);
/* The record at *at of what was read, its packet and its note (not terminated) behind it; moves *at on. NULL at the end. */
const struct capture_record *capture_reader_next(struct capture_reader *reader, const uint8_t *from,
						 size_t len, size_t *at);
/* Packets that were written but never read, for the end. */
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
