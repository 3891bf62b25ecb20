// SPDX-License-Identifier: MIT
/* Merges rings by time. The packets of a ring are ordered by time, and a ring whose writer is idle
 * gets no packet from before the moment of the read. So everything older than that moment is
 * complete, except for rings that are being written: they hold the others back to their own newest
 * packet. A writer that was stopped or killed meanwhile does so for a short time; a packet that it
 * still writes afterwards gets the time of the packet before it. */
#include "rxe_dm/command/capture_merge.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "rxe_dm/command/view.h"

#define STUCK_NS 200000000u

static const struct capture_ring *ring_at(const struct merge *merge, uint32_t ring_bytes,
					  uint32_t index)
{
	const size_t offset = capture_ring_offset(ring_bytes, index);

	return (const struct capture_ring *)(const void *)((const uint8_t *)merge->area + offset);
}

/* Any program of the device can write to the first page as well: what was checked is a copy. */
static bool is_sound(uint64_t magic, uint32_t rings, uint32_t ring_bytes, size_t bytes)
{
	return magic == CAPTURE_MAGIC && rings <= 4096 && capture_ring_bytes_valid(ring_bytes) &&
	       bytes >= capture_ring_offset(ring_bytes, rings);
}

static int open_lanes(struct merge *merge)
{
	const volatile struct capture_area *area = merge->area;
	const uint32_t rings = area->rings, ring_bytes = area->ring_bytes;

	if (!is_sound(area->magic, rings, ring_bytes, merge->area_bytes))
		return -EPROTO;
	merge->lanes = (struct merge_lane *)calloc(rings, sizeof(*merge->lanes));
	merge->waiting = (struct merge_lane **)calloc(rings, sizeof(*merge->waiting));
	if (!merge->lanes || !merge->waiting)
		return -ENOMEM;
	merge->num_lanes = rings;
	for (uint32_t i = 0; i < rings; i++)
		capture_reader_open(&merge->lanes[i].reader, ring_at(merge, ring_bytes, i),
				    ring_bytes);
	return 0;
}

int merge_open(struct merge *ret, int fd)
{
	struct stat st;
	void *base;
	int rc;

	*ret = (struct merge){ 0 };
	if (fstat(fd, &st))
		return -errno;
	ret->area_bytes = (size_t)st.st_size;
	base = mmap(NULL, ret->area_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	madvise(base, ret->area_bytes, MADV_DONTDUMP);
	ret->area = (const struct capture_area *)base;
	rc = ret->area_bytes < CAPTURE_PAGE ? -EPROTO : open_lanes(ret);
	if (rc)
		merge_close(ret);
	return rc;
}

void merge_close(struct merge *merge)
{
	for (uint32_t i = 0; i < merge->num_lanes; i++)
		free(merge->lanes[i].bytes);
	free(merge->lanes);
	free(merge->waiting);
	if (merge->area)
		munmap((void *)(uintptr_t)merge->area, merge->area_bytes);
	*merge = (struct merge){ 0 };
}

static void step(struct merge_lane *lane)
{
	const uint64_t lost = lane->reader.lost;

	lane->next = lane->at < lane->len
			     ? capture_reader_next(&lane->reader, lane->bytes, lane->len, &lane->at)
			     : NULL;
	lane->missing = lane->reader.lost - lost;
}

/* Makes room for all of the ring after the packets that still wait. */
static bool make_room(struct merge_lane *lane)
{
	const size_t begin =
		lane->next ? (size_t)((const uint8_t *)lane->next - lane->bytes) : lane->len;
	const size_t waits = lane->len - begin;
	const size_t want = waits + lane->reader.ring_bytes;

	if (want > lane->room) {
		uint8_t *grown = (uint8_t *)malloc(want);

		if (!grown)
			return false;
		if (waits)
			memcpy(grown, lane->bytes + begin, waits);
		free(lane->bytes);
		lane->bytes = grown;
		lane->room = want;
	} else if (begin) {
		memmove(lane->bytes, lane->bytes + begin, waits);
	}
	if (lane->next)
		lane->next = (const struct capture_record *)(const void *)lane->bytes;
	lane->at -= begin < lane->at ? begin : lane->at;
	lane->len = waits;
	return true;
}

/* Reads what the ring has. Without memory the packets stay there, are overwritten, and counted. */
static void fill(struct merge_lane *lane)
{
	if (atomic_load_explicit(&lane->reader.ring->done, memory_order_acquire) == lane->reader.at)
		return;
	if (!make_room(lane))
		return;
	lane->len += capture_reader_read(&lane->reader, lane->bytes + lane->len);
	if (!lane->next)
		step(lane);
}

/* Take what the ring has; what the lane may still bring is not before the time that is returned. */
static uint64_t look(struct merge_lane *lane, uint64_t now_ns)
{
	const struct capture_ring *ring = lane->reader.ring;
	const uint64_t before = lane->reader.at;
	/* First busy and the time, then the packets: see the ring's header. */
	const bool busy = atomic_load(&ring->busy);
	const uint64_t time_ns = atomic_load(&ring->time_ns);

	fill(lane);
	if (!busy || lane->reader.at != before)
		lane->busy_since_ns = busy ? now_ns : 0;
	else if (lane->busy_since_ns == 0)
		lane->busy_since_ns = now_ns;
	return !busy || now_ns - lane->busy_since_ns > STUCK_NS ? now_ns : time_ns;
}

/* The lane with the oldest packet; NULL: no lane has one from before the limit. */
static struct merge_lane *oldest(struct merge *merge, uint32_t waiting, uint64_t limit_ns)
{
	struct merge_lane *ret = NULL;

	for (uint32_t i = 0; i < waiting; i++) {
		struct merge_lane *lane = merge->waiting[i];

		if (lane->next && lane->next->time_ns <= limit_ns &&
		    (!ret || lane->next->time_ns < ret->next->time_ns))
			ret = lane;
	}
	return ret;
}

static bool hand_out(struct merge *merge, struct merge_lane *lane, merge_fn each, void *arg)
{
	struct capture_record *record = (struct capture_record *)(uintptr_t)lane->next;
	bool more;

	if (record->time_ns < merge->written_ns)
		record->time_ns = merge->written_ns;
	merge->written_ns = record->time_ns;
	more = each(arg, record, lane->missing);
	step(lane);
	return more;
}

int64_t merge_pass(struct merge *merge, uint64_t now_ns, merge_fn each, void *arg)
{
	uint64_t limit_ns = now_ns;
	uint32_t waiting = 0;
	struct merge_lane *lane;
	int64_t count = 0;

	for (uint32_t i = 0; i < merge->num_lanes; i++) {
		const uint64_t sure_ns = look(&merge->lanes[i], now_ns);

		limit_ns = sure_ns < limit_ns ? sure_ns : limit_ns;
		if (merge->lanes[i].next)
			merge->waiting[waiting++] = &merge->lanes[i];
	}
	while ((lane = oldest(merge, waiting, limit_ns))) {
		count++;
		if (!hand_out(merge, lane, each, arg))
			return -1;
	}
	return count;
}

bool merge_has_joined(const struct merge *merge, uint32_t slot, int32_t pid)
{
	return slot < merge->num_lanes && atomic_load(&merge->lanes[slot].reader.ring->pid) == pid;
}

bool merge_is_busy(const struct merge *merge)
{
	bool busy = false;

	for (uint32_t i = 0; i < merge->num_lanes; i++)
		busy |= merge->lanes[i].next || atomic_load(&merge->lanes[i].reader.ring->busy);
	return busy;
}

uint64_t merge_missing(const struct merge *merge)
{
	uint64_t missing = 0;

	for (uint32_t i = 0; i < merge->num_lanes; i++)
		missing += merge->lanes[i].reader.lost +
			   capture_reader_unread(&merge->lanes[i].reader);
	return missing;
}

/* "RDMA_WRITE" for a work request's opcode. */
static const char *request_str(uint32_t opcode)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_WITH_IMM",
		[IBV_WR_SEND] = "SEND",
		[IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
		[IBV_WR_RDMA_READ] = "RDMA_READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "ATOMIC_CMP_AND_SWP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "ATOMIC_FETCH_AND_ADD",
		[IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
		/* Opcodes of a newer verbs.h. */
		[14] = "FLUSH",
		[15] = "ATOMIC_WRITE",
	};

	if (opcode < sizeof(names) / sizeof(names[0]) && names[opcode])
		return names[opcode];
	return "?";
}

void capture_comment(char ret[static CAPTURE_LINE_MAX], const struct capture_record *record,
		     uint64_t missing)
{
	char comm[CAPTURE_COMM_MAX], note[CAPTURE_NOTE_MAX + 1];
	struct view_text text = { ret, CAPTURE_LINE_MAX, 0 };

	view_add(&text, "%s[%d]", view_plain(comm, sizeof(comm), record->comm, CAPTURE_COMM_MAX),
		 (int)record->pid);
	if (record->flags & CAPTURE_HAS_QP)
		view_add(&text, " QP 0x%06x %s", record->qpn, view_qp_type(record->qp_type));
	if (record->flags & CAPTURE_HAS_WR)
		view_add(&text, ", %s%s wr_id 0x%" PRIx64,
			 record->flags & CAPTURE_SENT ? "" : "answers ",
			 request_str(record->wr_opcode), record->wr_id);
	if (record->flags & CAPTURE_LOST)
		view_add(&text, "; LOST");
	if (record->note_len)
		view_add(&text, "; %s",
			 view_plain(note, sizeof(note), capture_record_note(record),
				    record->note_len));
	if (missing)
		view_add(&text, "; %" PRIu64 " packets of this program are missing before it",
			 missing);
}
