// SPDX-License-Identifier: MIT
/* Rates of each program between two views, as top(1) shows them: `rxe_dm show --watch`. */
#include "rxe_dm/command/show_rates.h"

#include <inttypes.h>

#include "lib/control/shared.h"
#include "rxe_dm/command/view.h"

#define NSEC_PER_S 1e9

struct per_second {
	double sent, received, packets, resent, rnr, dropped;
};

static double rate(uint64_t now, uint64_t before, double seconds)
{
	return now >= before ? (double)(now - before) / seconds : 0;
}

static struct per_second rates_between(const struct show_sample *now,
				       const struct show_sample *before, double seconds)
{
	const struct rxe_counters *a = &before->counters, *b = &now->counters;

	return (struct per_second){
		.sent = rate(b->sent_bytes, a->sent_bytes, seconds),
		.received = rate(b->rcvd_bytes, a->rcvd_bytes, seconds),
		.packets = rate(b->sent_pkts + b->rcvd_pkts, a->sent_pkts + a->rcvd_pkts, seconds),
		.resent = rate(b->completer_retry_err, a->completer_retry_err, seconds),
		.rnr = rate(b->rcvd_rnr_err + b->send_rnr_err, a->rcvd_rnr_err + a->send_rnr_err,
			    seconds),
		.dropped = rate(now->lost.link_recv_drops, before->lost.link_recv_drops, seconds),
	};
}

static void put_program(const struct ctl_slot *slot, const struct per_second *rates, FILE *to)
{
	char comm[16];

	fprintf(to, "  %8d %-15s %5u %10.2f %10.2f %10.0f %8.0f %8.0f %8.0f\n", (int)slot->pid,
		view_plain(comm, sizeof(comm), slot->comm, 15), view_num_qps(slot),
		rates->sent / 1e6, rates->received / 1e6, rates->packets, rates->resent, rates->rnr,
		rates->dropped);
}

static void show_device(const struct view_device *device, struct show_sample *samples,
			double seconds, FILE *to)
{
	bool any = false;

	for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
		const struct ctl_slot *slot = &device->shared->slot[i];
		const struct show_sample now = { .pid = atomic_load(&slot->pid),
						 .counters = slot->counters,
						 .lost = slot->lost };
		struct per_second rates = { 0 };

		/* A program that was not there a view ago has no rates yet. */
		if (now.pid && now.pid == samples[i].pid && seconds > 0)
			rates = rates_between(&now, &samples[i], seconds);
		samples[i] = now;
		if (!now.pid)
			continue;
		if (!any)
			fprintf(to,
				"\n%s       PID PROGRAM           QPS  SENT MB/S  RCVD MB/S  "
				"PACKETS/S RETRY/S    RNR/S   DROP/S\n",
				device->info.name);
		any = true;
		put_program(slot, &rates, to);
	}
}

void show_rates(struct show_rates *rates, const struct view *view, uint64_t now_ns, FILE *to)
{
	const double seconds =
		rates->taken_ns ? (double)(now_ns - rates->taken_ns) / NSEC_PER_S : 0;

	for (uint32_t i = 0; i < view->num_devices; i++)
		show_device(&view->device[i], rates->sample[i], seconds, to);
	rates->taken_ns = now_ns;
}
