// SPDX-License-Identifier: MIT
/* The ring of a capture. The header has the protocol of writer and readers. */
#include "net/link/capture/ring.h"

#include <assert.h>
#include <string.h>

/* In place of a record's flags: the bytes up to the ring's end hold no record, because the next one
 * did not fit. */
#define FILLER	  UINT32_MAX
#define ALIGNMENT 8u

void capture_writer_open(struct capture_writer *ret, struct capture_ring *ring, uint32_t ring_bytes,
			 int32_t pid, const char *comm)
{
	assert(capture_ring_bytes_valid(ring_bytes));
	*ret = (struct capture_writer){ .ring = ring, .ring_bytes = ring_bytes, .pid = pid };
	strncpy(ret->comm, comm, sizeof(ret->comm) - 1);
	atomic_store(&ring->busy, 0);
	atomic_store(&ring->pid, pid);
}

/* Sequentially consistent: every reader sees busy before the writer reads the clock. */
void capture_writer_begin(struct capture_writer *writer)
{
	atomic_store(&writer->ring->busy, 1);
}

void capture_writer_at(struct capture_writer *writer, uint64_t now_ns)
{
	writer->now_ns = now_ns;
	atomic_store_explicit(&writer->ring->time_ns, now_ns, memory_order_release);
}

void capture_writer_end(struct capture_writer *writer)
{
	atomic_store_explicit(&writer->ring->busy, 0, memory_order_release);
}

/* Announces that bytes up to end are about to be written, so those a ring's length before are
 * invalid. Pairs with the fence in capture_reader_read. Never decreases: a former writer may have
 * announced more. */
static void announce(struct capture_ring *ring, uint64_t end)
{
	if (atomic_load_explicit(&ring->begun, memory_order_relaxed) < end)
		atomic_store_explicit(&ring->begun, end, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/* Reserves size contiguous bytes. Returns their position. */
static uint64_t reserve(struct capture_writer *writer, uint32_t size)
{
	struct capture_ring *ring = writer->ring;
	/* Another process can write done too. The alignment keeps room for a filler. */
	const uint64_t done = atomic_load_explicit(&ring->done, memory_order_relaxed);
	const uint64_t at = (done + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	const uint32_t offset = (uint32_t)(at & (writer->ring_bytes - 1));
	const uint32_t left = writer->ring_bytes - offset;
	const uint32_t filler[2] = { left, FILLER };

	assert(size % ALIGNMENT == 0 && size <= writer->ring_bytes);
	if (size <= left) {
		announce(ring, at + size);
		return at;
	}
	announce(ring, at + left + size);
	memcpy(ring->bytes + offset, filler, sizeof(filler));
	return at + left;
}

void capture_writer_put(struct capture_writer *writer, struct capture_record *record,
			const uint8_t *packet, uint32_t keep, const char *note)
{
	struct capture_ring *ring = writer->ring;
	const size_t note_len = note ? strnlen(note, CAPTURE_NOTE_MAX) : 0;
	uint64_t at;
	uint8_t *to;

	if (keep > CAPTURE_KEEP_MAX)
		keep = CAPTURE_KEEP_MAX;
	record->kept = record->len < keep ? record->len : keep;
	record->note_len = (uint32_t)note_len;
	record->time_ns = writer->now_ns;
	record->pid = writer->pid;
	memcpy(record->comm, writer->comm, sizeof(record->comm));
	record->size = (uint32_t)((sizeof(*record) + record->kept + note_len + ALIGNMENT - 1) &
				  ~(size_t)(ALIGNMENT - 1));
	record->number = atomic_load_explicit(&ring->packets, memory_order_relaxed);
	at = reserve(writer, record->size);
	to = ring->bytes + (at & (writer->ring_bytes - 1));
	memcpy(to, record, sizeof(*record));
	memcpy(to + sizeof(*record), packet, record->kept);
	if (note_len)
		memcpy(to + sizeof(*record) + record->kept, note, note_len);
	atomic_store_explicit(&ring->packets, record->number + 1, memory_order_relaxed);
	atomic_store_explicit(&ring->done, at + record->size, memory_order_release);
}

void capture_reader_open(struct capture_reader *ret, const struct capture_ring *ring,
			 uint32_t ring_bytes)
{
	*ret = (struct capture_reader){ .ring = ring, .ring_bytes = ring_bytes };
	ret->at = atomic_load(&ring->done);
	ret->number = atomic_load(&ring->packets);
}

/* Copies len bytes, which may wrap at the ring's end. */
static void copy_out(const struct capture_reader *reader, uint8_t *to, size_t len)
{
	const size_t offset = (size_t)(reader->at & (reader->ring_bytes - 1));
	const size_t left = reader->ring_bytes - offset;
	const size_t first = len < left ? len : left;

	memcpy(to, reader->ring->bytes + offset, first);
	memcpy(to + first, reader->ring->bytes, len - first);
}

size_t capture_reader_read(struct capture_reader *reader, uint8_t *to)
{
	const uint64_t done = atomic_load_explicit(&reader->ring->done, memory_order_acquire);
	uint64_t len = done - reader->at;

	if (len == 0)
		return 0;
	if (len <= reader->ring_bytes) {
		copy_out(reader, to, (size_t)len);
		atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load_explicit(&reader->ring->begun, memory_order_relaxed) - reader->at >
		    reader->ring_bytes)
			len = 0;
	} else {
		len = 0;
	}
	reader->at = done;
	return (size_t)len;
}

/* Another process wrote the record, so every length is checked. */
static bool is_sound(const struct capture_record *record, size_t left)
{
	return left >= sizeof(*record) && record->size >= sizeof(*record) && record->size <= left &&
	       record->size % ALIGNMENT == 0 && record->kept <= CAPTURE_KEEP_MAX &&
	       record->kept <= record->len && record->note_len <= CAPTURE_NOTE_MAX &&
	       sizeof(*record) + record->kept + record->note_len <= record->size;
}

/* Skips fillers. False: the bytes are malformed. */
static bool skip_filler(const uint8_t *from, size_t len, size_t *at)
{
	uint32_t filler[2];

	while (len - *at >= sizeof(filler)) {
		memcpy(filler, from + *at, sizeof(filler));
		if (filler[1] != FILLER)
			break;
		if (filler[0] == 0 || filler[0] % ALIGNMENT || filler[0] > len - *at)
			return false;
		*at += filler[0];
	}
	return true;
}

const struct capture_record *capture_reader_next(struct capture_reader *reader, const uint8_t *from,
						 size_t len, size_t *at)
{
	const struct capture_record *record;

	assert(*at <= len);
	if (!skip_filler(from, len, at))
		return NULL;
	record = (const struct capture_record *)(const void *)(from + *at);
	if (!is_sound(record, len - *at))
		return NULL;
	if (record->number > reader->number)
		reader->lost += record->number - reader->number;
	reader->number = record->number + 1;
	*at += record->size;
	return record;
}

uint64_t capture_reader_unread(const struct capture_reader *reader)
{
	const uint64_t packets = atomic_load_explicit(&reader->ring->packets, memory_order_relaxed);

	return packets > reader->number ? packets - reader->number : 0;
}
