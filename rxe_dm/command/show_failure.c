// SPDX-License-Identifier: MIT
/* Queue pairs that entered error by themselves: cause, and last recorded packets. */
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/control/settings.h"
#include "lib/inject/rule.h"
#include "net/link/clock.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "rxe_dm/command/view.h"

#define IN_THE_TABLE 5

/* Processes go on writing: a record may be replaced by a newer one, which is complete. */
static size_t take(const struct ctl_failure **ret, size_t n, const struct ctl_failure *at,
		   uint32_t count, uint32_t places)
{
	const uint32_t some = count < places ? count : places;

	for (uint32_t i = count - some; i != count; i++)
		ret[n++] = &at[i % places];
	return n;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t at = (*(const struct ctl_failure *const *)a)->time_ns;
	const uint64_t bt = (*(const struct ctl_failure *const *)b)->time_ns;

	return at < bt ? -1 : at > bt;
}

size_t view_failures(const struct view_device *device,
		     const struct ctl_failure *ret[static VIEW_MAX_FAILURES])
{
	const struct ctl_shared *shared = device->shared;
	size_t n = take(ret, 0, shared->failures.at, atomic_load(&shared->failures.count),
			CTL_FAILURES_KEPT);

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &shared->slot[i];

		if (atomic_load(&slot->pid))
			n = take(ret, n, slot->failures.at, atomic_load(&slot->failures.count),
				 CTL_FAILURES_OF_SLOT);
	}
	qsort(ret, n, sizeof(*ret), by_time);
	return n;
}

/* Every status: rules may name those that the engine never returns. */
const char *view_wc_status(uint32_t status)
{
	const char *name = inject_status_str(status);

	if (status == IBV_WC_SUCCESS)
		return "-";
	return name ? name + strlen("IBV_WC_") : "?";
}

static void add_syndrome(struct view_text *text, const struct tail_packet *packet, uint32_t offset)
{
	static const char *const naks[] = { "PSN sequence", "invalid request", "remote access",
					    "remote operational", "invalid RD request" };
	struct aeth aeth;
	uint8_t code;

	if (offset + AETH_LEN > packet->len || offset + AETH_LEN > TAIL_HEAD)
		return;
	aeth_parse(&aeth, packet->head + offset);
	code = aeth.syndrome & AETH_CODE_MASK;
	switch (aeth.syndrome >> 5 & 3) {
	case 0: return;
	case 1: view_add(text, ", RNR NAK, timer %u", code); return;
	case 3:
		view_add(text, ", NAK: %s",
			 code < sizeof(naks) / sizeof(naks[0]) ? naks[code] : "reserved code");
		return;
	}
	view_add(text, ", reserved syndrome 0x%02x", aeth.syndrome);
}

static void add_headers(struct view_text *text, const struct tail_packet *packet, uint32_t shape)
{
	const uint32_t room = packet->len < TAIL_HEAD ? packet->len : TAIL_HEAD;
	const uint32_t at = BTH_LEN + (shape & SHAPE_XRCETH ? XRCETH_LEN : 0) +
			    (shape & SHAPE_FETH ? FETH_LEN : 0);
	const uint8_t *p = packet->head + at;

	if ((shape & (SHAPE_RETH | SHAPE_ATOMIC_ETH)) && room >= at + 12)
		view_add(text, ", rkey 0x%08x at 0x%" PRIx64, get_be32(p + 8), get_be64(p));
	if ((shape & SHAPE_RETH) && room >= at + RETH_LEN)
		view_add(text, " for %u bytes", get_be32(p + 12));
	if (shape & SHAPE_AETH)
		add_syndrome(text, packet, BTH_LEN);
}

const char *view_packet(const struct tail_packet *packet, char ret[static VIEW_PACKET_MAX])
{
	struct view_text text = { ret, VIEW_PACKET_MAX, 0 };
	struct bth bth;

	ret[0] = '\0';
	if (packet->len < BTH_LEN) {
		view_add(&text, "%c a runt of %u bytes", packet->sent ? '>' : '<', packet->len);
		return ret;
	}
	bth_parse(&bth, packet->head);
	view_add(&text, "%c %s_%s psn %u to QP 0x%06x, %u bytes", packet->sent ? '>' : '<',
		 wire_service_str(bth.opcode), wire_op_str(bth.opcode), bth.psn, bth.dest_qpn,
		 packet->len);
	if (bth.ack_req)
		view_add(&text, ", asks for an answer");
	add_headers(&text, packet, wire_shape(bth.opcode));
	return ret;
}

static void show_one(const struct ctl_failure *failure, FILE *to)
{
	const uint64_t now = clock_now_ns();
	const uint64_t age_ns = now > failure->time_ns ? now - failure->time_ns : 0;
	char comm[16], why[CTL_FAILURE_WHY];

	fprintf(to, "  %" PRIu64 " s ago, %s[%d] QP 0x%06x %s", age_ns / 1000000000,
		view_plain(comm, sizeof(comm), failure->comm, sizeof(failure->comm)),
		(int)failure->pid, failure->qpn, view_qp_type(failure->type));
	if (failure->status)
		fprintf(to, ", %s", view_wc_status(failure->status));
	if (failure->has_wr)
		fprintf(to, ", wr_id 0x%" PRIx64, failure->wr_id);
	fprintf(to, ": %s\n", view_plain(why, sizeof(why), failure->why, sizeof(failure->why)));
}

void show_failures(const struct view_device *device, FILE *to)
{
	const struct ctl_failure *failures[VIEW_MAX_FAILURES];
	const size_t n = view_failures(device, failures);

	if (n == 0)
		return;
	fprintf(to, "  recent failures of queue pairs, 'rxe_dm show --packets' tells more:\n");
	for (size_t i = n > IN_THE_TABLE ? n - IN_THE_TABLE : 0; i < n; i++)
		show_one(failures[i], to);
	fprintf(to, "\n");
}

static void show_tail(const struct ctl_failure *failure, FILE *to)
{
	char text[VIEW_PACKET_MAX];

	if (!failure->watched) {
		fprintf(to, "    its packets were not noted (RXE_DM_TAIL=0)\n");
		return;
	}
	if (failure->num_packets == 0)
		fprintf(to, "    none of the last packets of the program was its\n");
	for (uint32_t i = 0; i < failure->num_packets && i < CTL_FAILURE_PACKETS; i++) {
		const struct tail_packet *packet = &failure->packet[i];
		const double ms = (double)(int64_t)(packet->time_ns - failure->time_ns) / 1e6;

		fprintf(to, "    %12.3f ms  %s\n", ms, view_packet(packet, text));
		if (packet->skipped)
			fprintf(to, "    %12s     ... %s%u more of the same call\n", "",
				packet->skipped == UINT8_MAX ? "at least " : "", packet->skipped);
	}
}

bool show_packets(const struct view *view, uint32_t qpn, FILE *to)
{
	bool any = false;

	for (uint32_t i = 0; i < view->num_devices; i++) {
		const struct ctl_failure *failures[VIEW_MAX_FAILURES];
		const size_t n = view_failures(&view->device[i], failures);

		for (size_t k = 0; k < n; k++) {
			if (qpn && failures[k]->qpn != qpn)
				continue;
			any = true;
			show_one(failures[k], to);
			show_tail(failures[k], to);
		}
	}
	return any;
}
