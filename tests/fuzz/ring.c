/* SPDX-License-Identifier: MIT */
/* Fuzz target: the rings that a capture reads. Programs of the device write them, so positions,
 * sizes and times cannot be trusted. capture_writer_put() writes some records; then any bytes are
 * written anywhere. Each record returned lies within the bytes that were read, in the order of
 * time, and its comment is terminated. */
#include <sys/mman.h>
#include <unistd.h>

#include "rxe_dm/command/capture_merge.h"
#include "tests/fuzz/target.h"

#define RINGS	  2u
#define MAX_STEPS 64u

static uint8_t *area;
static size_t area_bytes;
static int area_fd;
static uint64_t written_ns;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	area_bytes = capture_ring_offset(CAPTURE_RING_MIN, RINGS);
	area_fd = memfd_create("ring", MFD_CLOEXEC);
	MUST(area_fd >= 0 && ftruncate(area_fd, (off_t)area_bytes) == 0);
	/* No byte after the last ring may be accessed. */
	area = mmap(NULL, area_bytes + CAPTURE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(area != MAP_FAILED);
	MUST(mmap(area, area_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, area_fd, 0) ==
	     area);
	return 0;
}

static struct capture_ring *ring_at(uint32_t index)
{
	return (struct capture_ring *)(void *)(area + capture_ring_offset(CAPTURE_RING_MIN,
									  index % RINGS));
}

static bool look(void *arg, const struct capture_record *record, uint64_t missing)
{
	const uint8_t *packet = capture_record_packet(record);
	char line[CAPTURE_LINE_MAX];
	uint32_t *seen = arg;

	MUST(record->time_ns >= written_ns);
	written_ns = record->time_ns;
	for (uint32_t i = 0; i < record->kept; i++)
		*seen += packet[i];
	for (uint32_t i = 0; i < record->note_len; i++)
		*seen += (uint8_t)capture_record_note(record)[i];
	capture_comment(line, record, missing);
	for (const char *c = line; c < line + sizeof(line) && *c; c++)
		MUST((uint8_t)*c >= ' ' && *c != 0x7f);
	MUST(memchr(line, '\0', sizeof(line)));
	return true;
}

/* Writes as a program does. */
static void write_well(struct take *take, uint64_t now_ns)
{
	static const uint8_t packet[300];
	struct capture_record record = { .flags = take_u8(take), .len = take_u8(take) };
	struct capture_writer writer;
	uint8_t many = take_u8(take);
	const uint32_t index = take_u8(take) % RINGS;
	const struct capture_ring other = *ring_at(index + 1);

	capture_writer_open(&writer, ring_at(index), CAPTURE_RING_MIN, 7, "program");
	capture_writer_begin(&writer);
	capture_writer_at(&writer, now_ns);
	do
		capture_writer_put(&writer, &record, packet, 300, record.flags & 1 ? "note" : NULL);
	while (many-- > 0);
	if (record.flags & 0x40)
		capture_writer_end(&writer);
	MUST(memcmp(&other, ring_at(index + 1), sizeof(other)) == 0);
}

/* Writes anything to a ring's head, near the next record, or to the first page, which is the
 * server's. */
static void write_badly(struct take *take)
{
	const uint8_t where = take_u8(take);
	struct capture_ring *ring = ring_at(where >> 7);
	const uint64_t done = atomic_load(&ring->done);
	uint64_t value = take_bytes(take, where & 0x40 ? 8 : 1);

	if (where & 0x20)
		value += done;
	switch (where & 7) {
	case 0: atomic_store(&ring->done, value); return;
	case 1: atomic_store(&ring->begun, value); return;
	case 2: atomic_store(&ring->packets, value); return;
	case 3: atomic_store(&ring->time_ns, value); return;
	case 4: atomic_store(&ring->busy, (uint32_t)value); return;
	case 5: memcpy(area + value % 4 * 8, &(uint64_t){ take_bytes(take, 8) }, 8); return;
	default: break;
	}
	for (uint8_t n = take_u8(take); n > 0; n--)
		ring->bytes[(done + value++) % CAPTURE_RING_MIN] = take_u8(take);
}

/* Restores the first page and the rings, so that inputs are independent. */
static void reset(void)
{
	struct capture_area *first = (struct capture_area *)(void *)area;

	memset(area, 0, CAPTURE_PAGE);
	for (uint32_t i = 0; i < RINGS; i++)
		memset(ring_at(i), 0, sizeof(struct capture_ring) + CAPTURE_RING_MIN);
	*first = (struct capture_area){ .magic = CAPTURE_MAGIC,
					.rings = RINGS,
					.ring_bytes = CAPTURE_RING_MIN };
	atomic_store(&first->keep, 300);
	written_ns = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct take take = { data, size };
	uint64_t now_ns = 1000;
	struct merge merge;
	uint32_t seen = 0;

	reset();
	if (take_u8(&take) & 1)
		write_badly(&take);
	if (merge_open(&merge, area_fd))
		return 0;
	for (uint32_t i = 0; i < merge.num_lanes; i++)
		MUST(!(merge.lanes[i].reader.ring_bytes & (merge.lanes[i].reader.ring_bytes - 1)));
	for (uint32_t i = 0; i < MAX_STEPS && take.left > 0; i++) {
		switch (take_u8(&take) % 4) {
		case 0: write_well(&take, now_ns); break;
		case 1: write_badly(&take); break;
		case 2: now_ns += take_u32(&take); break;
		case 3: MUST(merge_pass(&merge, now_ns, look, &seen) >= 0); break;
		}
	}
	(void)merge_pass(&merge, UINT64_MAX / 2, look, &seen);
	(void)merge_missing(&merge);
	(void)merge_is_busy(&merge);
	merge_close(&merge);
	return 0;
}
