// SPDX-License-Identifier: MIT
/* Noting the beginnings of packets, and finding those of a queue pair again. */
#include "lib/progress/tail.h"

#include <stdlib.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/progress/progress.h"
#include "net/wire/gid.h"
#include "net/wire/headers.h"
#include "net/wire/packet.h"

#define SHOWN_AT_EACH_END 2u

static uint32_t last_bytes(const struct gid *gid)
{
	uint32_t ret;

	memcpy(&ret, gid->raw + 12, sizeof(ret));
	return ret;
}

void vb_tail_open(struct progress *progress)
{
	const char *setting = secure_getenv("RXE_DM_TAIL");
	struct vb_wire *wire = &progress->wire;

	if (setting && strcmp(setting, "0") == 0)
		return;
	wire->tail = calloc(1, sizeof(*wire->tail));
	if (wire->tail)
		wire->tail->progress = progress;
}

/* What leaves does so at the engine's time; what has arrived is given to it next, and with it the time: so that is noted one call
 * later, and no clock is asked for the sake of this. */
static void stamp(struct vb_tail *tail)
{
	const uint64_t now_ns = tail->progress->engine->now_ns;

	for (; tail->stamped != tail->next; tail->stamped++)
		tail->at[tail->stamped % VB_TAIL_PACKETS].time_ns = now_ns;
}

static struct ctl_packet *note(struct vb_tail *tail, const uint8_t *packet, uint32_t len)
{
	struct ctl_packet *entry = &tail->at[tail->next++ % VB_TAIL_PACKETS];

	entry->len = (uint16_t)len;
	entry->skipped = 0;
	if (len >= CTL_PACKET_HEAD)
		memcpy(entry->head, packet, CTL_PACKET_HEAD);
	else
		memcpy(entry->head, packet, len);
	return entry;
}

static uint8_t count_of(size_t n)
{
	return n < UINT8_MAX ? (uint8_t)n : UINT8_MAX;
}

static struct ctl_packet *note_sent(struct vb_tail *tail, const struct wire_train *train,
				    uint32_t index)
{
	const uint32_t offset = index * train->seg_len;
	const uint32_t left = train->len - offset;
	struct ctl_packet *entry =
		note(tail, train->buf + offset,
		     train->segs > 1 && left > train->seg_len ? train->seg_len : left);

	entry->peer = last_bytes(&train->dst);
	entry->sent = 1;
	return entry;
}

void vb_tail_sent(struct vb_tail *tail, const struct wire_train *trains, size_t n)
{
	stamp(tail);
	for (size_t i = 0; i < n; i++) {
		const struct wire_train *train = &trains[i];
		struct ctl_packet *first = note_sent(tail, train, 0);

		if (train->segs > 2)
			first->skipped = count_of(train->segs - 2u);
		if (train->segs > 1)
			(void)note_sent(tail, train, train->segs - 1u);
	}
	stamp(tail);
}

static struct ctl_packet *note_arrival(struct vb_tail *tail, const struct wire_arrival *arrival)
{
	struct ctl_packet *entry = note(tail, arrival->p, arrival->len);

	entry->peer = last_bytes(&arrival->src);
	entry->sent = 0;
	return entry;
}

void vb_tail_arrived(struct vb_tail *tail, const struct wire_arrival *arrivals, size_t n)
{
	const size_t shown = 2 * SHOWN_AT_EACH_END;
	size_t i = 0;

	stamp(tail);
	while (i < n) {
		struct ctl_packet *entry = note_arrival(tail, &arrivals[i]);

		if (++i == SHOWN_AT_EACH_END && n > shown) {
			entry->skipped = count_of(n - shown);
			i = n - SHOWN_AT_EACH_END;
		}
	}
}

static bool is_of(const struct ctl_packet *entry, const struct rxe_qp *qp)
{
	uint32_t other;
	struct bth bth;

	if (entry->len < BTH_LEN)
		return false;
	bth_parse(&bth, entry->head);
	if (qp->type == RXE_QPT_UD)
		return !entry->sent && bth.dest_qpn == qp->qpn;
	memcpy(&other, qp->flow.dst.raw + 12, sizeof(other));
	return entry->peer == other &&
	       bth.dest_qpn == (entry->sent ? qp->attr.dest_qp_num : qp->qpn);
}

uint32_t vb_tail_of(struct vb_tail *tail, const struct rxe_qp *qp,
		    struct ctl_packet ret[static CTL_FAILURE_PACKETS])
{
	const uint32_t noted = tail->next < VB_TAIL_PACKETS ? tail->next : VB_TAIL_PACKETS;
	uint32_t found = 0;

	stamp(tail);
	for (uint32_t i = 1; i <= noted && found < CTL_FAILURE_PACKETS; i++) {
		const struct ctl_packet *entry = &tail->at[(tail->next - i) % VB_TAIL_PACKETS];

		if (is_of(entry, qp))
			ret[found++] = *entry;
	}
	for (uint32_t i = 0; i < found / 2; i++) {
		const struct ctl_packet newer = ret[i];

		ret[i] = ret[found - 1 - i];
		ret[found - 1 - i] = newer;
	}
	return found;
}
