// SPDX-License-Identifier: MIT
/* Captures of this process's packets begin, end, and learn which queue pair and work request a
 * packet belongs to. */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "emu/engine.h"
#include "emu/qp.h"
#include "lib/control/client.h"
#include "lib/inject/rule.h"
#include "lib/progress/link.h"
#include "lib/progress/log.h"
#include "lib/progress/packet_qp.h"
#include "lib/progress/progress.h"
#include "net/link/capture/recorder.h"

static void describe(void *arg, struct capture_record *record, const uint8_t *packet)
{
	struct progress *progress = arg;
	const struct rxe_engine *engine = progress->engine;
	const bool sent = record->flags & CAPTURE_SENT;
	const struct rxe_qp *qp = sent ? packet_qp_sent(engine, &record->dst, packet, record->len,
							&progress->link.sender)
				       : packet_qp_arrived(engine, packet, record->len);
	const struct rxe_send_wqe *wqe;

	assert(engine);
	if (!qp)
		return;
	record->flags |= CAPTURE_HAS_QP;
	record->qpn = qp->qpn;
	record->qp_type = (uint8_t)qp->type;
	wqe = packet_qp_request(qp, sent, packet, record->len);
	if (!wqe)
		return;
	record->flags |= CAPTURE_HAS_WR;
	record->wr_id = wqe->wr_id;
	record->wr_opcode = wqe->opcode;
}

static struct recorder *open_recorder(struct progress *progress, int fd)
{
	const struct ctl_attachment *at = progress->attachment;
	const struct ctl_slot *slot = &at->shared->slot[at->slot];
	const struct recorder_cfg cfg = {
		.link = progress->link.phy,
		.slot = at->slot,
		.pid = atomic_load(&slot->pid),
		.comm = slot->comm,
		.gids = progress->info->gids,
		.num_gids = RXE_MAX_GIDS,
		.describe = describe,
		.arg = progress,
	};
	struct recorder *recorder = recorder_open(&cfg, fd);

	assert(progress_is_locked(progress));
	if (!recorder)
		rxe_log(RXE_LOG_WARNING,
			"a capture on %s has begun, but its memory cannot be mapped: packets "
			"of this process are not in it",
			progress->info->name);
	return recorder;
}

void device_link_capture(struct progress *progress, int fd)
{
	struct device_link *link = &progress->link;

	pthread_mutex_lock(&progress->lock);
	recorder_close(link->recorder);
	link->recorder = fd >= 0 && link->phy ? open_recorder(progress, fd) : NULL;
	if (link->phy)
		device_link_stack(link);
	pthread_mutex_unlock(&progress->lock);
	if (fd >= 0)
		close(fd);
}

void device_link_fault(struct device_link *link, const struct fault_firing *firing,
		       const struct inject_rule *rule)
{
	char note[CAPTURE_NOTE_MAX];
	int len;

	if (!link->recorder)
		return;
	len = snprintf(note, sizeof(note), "fault %u: ", firing->id);
	assert(len > 0 && (size_t)len < sizeof(note));
	(void)inject_rule_format(note + len, sizeof(note) - (size_t)len, rule);
	recorder_fault(link->recorder, firing, note);
}
