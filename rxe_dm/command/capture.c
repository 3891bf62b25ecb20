// SPDX-License-Identifier: MIT
/* rxe_dm capture: writes the packets of a device to a pcapng file. The programs record them in
 * shared memory; this command merges the records by time. The server stays while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/control/connection.h"
#include "net/link/capture/pcapng.h"
#include "net/link/clock.h"
#include "net/wire/icrc.h"
#include "rxe_dm/command/capture_file.h"
#include "rxe_dm/command/capture_merge.h"
#include "rxe_dm/command/command.h"
#include "rxe_dm/command/view.h"

#define REST_NS	     5000000 /* when nothing comes */
#define REST_BUSY_NS 500000
#define JOIN_MS	     1000
#define LAST_PASSES  60
#define MAX_SECONDS  (365ull * 24 * 3600)

struct capturing {
	struct ctl_client *client;
	const struct ctl_shared *shared;
	struct merge merge;
	struct capture_file file;
	uint64_t device, max_packets, length_s, keep, buffer_mib; /* options; 0: no limit */
	uint64_t last_mib;
	bool both;
	uint64_t end_ns;   /* UINT64_MAX: never */
	uint64_t epoch_ns; /* from CLOCK_MONOTONIC to 1970 */
	uint64_t packets, missing;
	int error;
};

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
	(void)number;
	ending = 1;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Reads both clocks several times and takes the closest pair. One difference serves the whole
 * capture: the file stays in order when the clock is set. */
static uint64_t find_epoch(void)
{
	uint64_t best = UINT64_MAX, epoch_ns = 0;

	for (int i = 0; i < 10; i++) {
		const uint64_t before = clock_ns(CLOCK_MONOTONIC);
		const uint64_t real = clock_ns(CLOCK_REALTIME);
		const uint64_t took = clock_ns(CLOCK_MONOTONIC) - before;

		if (took < best) {
			best = took;
			epoch_ns = real - (before + took / 2);
		}
	}
	return epoch_ns;
}

static void rest(long ns)
{
	const struct timespec length = { .tv_nsec = ns };

	nanosleep(&length, NULL);
}

/* A UDP socket does not show the identification, but the ICRC covers it. */
static uint16_t ip_id_of(const struct capture_record *record)
{
	const struct icrc_flow flow = { .src = record->src,
					.dst = record->dst,
					.src_port = record->src_port };
	uint16_t id = record->ip_id;

	if ((record->flags & CAPTURE_GUESSED_ID) && record->kept == record->len)
		icrc_find_id(&flow, &id, capture_record_packet(record), record->len);
	return id;
}

/* The direction is as seen from the device. */
static int write_packet(struct capturing *c, const struct capture_record *record, uint64_t missing)
{
	char comment[CAPTURE_LINE_MAX];
	const uint32_t len = record->kept < c->keep ? record->kept : (uint32_t)c->keep;
	const struct capture_packet packet = {
		.time_ns = record->time_ns + c->epoch_ns,
		.sent = record->flags & CAPTURE_SENT,
		.src = record->src,
		.dst = record->dst,
		.src_port = record->src_port,
		.ip_id = ip_id_of(record),
		.traffic_class = record->traffic_class,
		.hop_limit = record->hop_limit,
		.flow_label = record->flow_label,
		.p = capture_record_packet(record),
		.len = len,
		.wire_len = record->len,
		.missing = missing,
		.comment = comment,
	};

	capture_comment(comment, record, missing);
	return capture_file_put(&c->file, &packet);
}

static bool take(void *arg, const struct capture_record *record, uint64_t missing)
{
	struct capturing *c = (struct capturing *)arg;

	c->missing += missing;
	/* The rings hold what any capture wants. */
	if ((record->flags & CAPTURE_INSIDE) && !(record->flags & CAPTURE_FAULT) && !c->both)
		return true;
	c->error = write_packet(c, record, missing);
	if (c->error)
		return false;
	c->packets++;
	return c->max_packets == 0 || c->packets < c->max_packets;
}

/* True: go on. */
static bool pass(struct capturing *c)
{
	const int64_t n = merge_pass(&c->merge, clock_ns(CLOCK_MONOTONIC), take, c);

	if (n < 0)
		return false;
	if (n > 0)
		c->error = capture_file_flush(&c->file);
	if (c->error)
		return false;
	rest(n > 0 ? REST_BUSY_NS : REST_NS);
	return true;
}

static void run(struct capturing *c)
{
	bool more = true;

	while (more && !ending && ctl_alive(c->client) && clock_ns(CLOCK_MONOTONIC) < c->end_ns)
		more = pass(c);
	/* Packets that were being written at the end. */
	for (int i = 0; more && i < LAST_PASSES && (i == 0 || merge_is_busy(&c->merge)); i++)
		more = pass(c);
}

static int write_end(struct capturing *c)
{
	const uint64_t missing = c->max_packets ? c->missing : merge_missing(&c->merge);
	const struct capture_totals totals = {
		.time_ns = clock_ns(CLOCK_MONOTONIC) + c->epoch_ns,
		.packets = c->packets + missing,
		.missing = missing,
	};

	c->missing = missing;
	return capture_file_end(&c->file, &totals);
}

/* Waits until every program has joined the capture, and names those that have not. Returns the
 * number of programs. */
static uint32_t wait_for_programs(const struct capturing *c)
{
	uint32_t there = 0, missing = 1;

	for (int ms = 0; ms < JOIN_MS && missing; ms++) {
		there = missing = 0;
		for (uint32_t i = 1; i < RXE_MAX_SLOTS; i++) {
			const int32_t pid = atomic_load(&c->shared->slot[i].pid);

			there += pid != 0;
			missing += pid && !merge_has_joined(&c->merge, i, pid);
		}
		if (missing)
			rest(1000000);
	}
	for (uint32_t i = 1; i < RXE_MAX_SLOTS && missing; i++) {
		const struct ctl_slot *slot = &c->shared->slot[i];
		const int32_t pid = atomic_load(&slot->pid);
		char comm[16];

		if (pid && !merge_has_joined(&c->merge, i, pid))
			fprintf(stderr,
				"rxe_dm: %s (process %d) does not answer, is it stopped? Its "
				"packets are missing until it does\n",
				view_plain(comm, sizeof(comm), slot->comm, 15), (int)pid);
	}
	return there;
}

static uint32_t power_of_two(uint64_t at_least)
{
	uint32_t ret = 1;

	while (ret < at_least)
		ret *= 2;
	return ret;
}

static int begin(struct capturing *c)
{
	struct ctl_call call = { .req = { .op = CTL_CAPTURE,
					  .device = (uint32_t)c->device,
					  .capture = { .ring_bytes = power_of_two(c->buffer_mib)
								     << 20,
						       .keep = (uint32_t)c->keep,
						       .inside = c->both } },
				 .in_fd = -1 };
	int rc = ctl_do(c->client, &call, 1);

	if (rc)
		return rc;
	rc = merge_open(&c->merge, call.fds[0]);
	close(call.fds[0]);
	if (rc == 0)
		rc = view_map_shared(&c->shared, c->client, (uint32_t)c->device);
	return rc;
}

static int open_file(struct capturing *c, const char *path)
{
	int rc;

	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
		fprintf(stderr, "rxe_dm: a capture is no text: pipe it into a program, such as "
				"'tshark -r -', or name a file\n");
		return -EINVAL;
	}
	rc = capture_file_open(&c->file, path, c->last_mib << 20);
	if (rc)
		fprintf(stderr, "rxe_dm: cannot write to '%s': %s\n", path, strerror(-rc));
	return rc;
}

static void watch_signals(void)
{
	const struct sigaction end = { .sa_handler = on_signal };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static int report(const struct capturing *c)
{
	if (c->error && c->error != -EPIPE)
		fprintf(stderr, "rxe_dm: cannot write to %s: %s\n", c->file.name,
			strerror(-c->error));
	fprintf(stderr, "%" PRIu64 " packets captured, %" PRIu64 " missed%s\n", c->packets,
		c->missing,
		c->missing ? ": they came faster than they could be written; --snap 128 or a "
			     "larger --buffer helps"
			   : "");
	return c->error && c->error != -EPIPE ? 1 : 0;
}

static int capture(struct capturing *c)
{
	char name[32];
	uint32_t programs;
	int rc;

	snprintf(name, sizeof(name), "rxe_dm%u", (uint32_t)c->device);
	c->epoch_ns = find_epoch();
	rc = begin(c);
	if (rc) {
		fprintf(stderr, "rxe_dm: no capture on %s: %s\n", name,
			rc == -ENODEV ? "there is no such device" : strerror(-rc));
		if (c->file.is_new)
			(void)unlink(c->file.name);
		return 1;
	}
	c->error = capture_file_start(&c->file, name);
	if (c->error)
		return report(c);
	programs = wait_for_programs(c);
	fprintf(stderr, "capturing on %s to %s, %u program%s so far; Ctrl-C ends it\n", name,
		c->file.name, programs, programs == 1 ? "" : "s");
	c->end_ns = UINT64_MAX;
	if (c->length_s)
		c->end_ns = clock_ns(CLOCK_MONOTONIC) + c->length_s * NSEC_PER_SEC;
	run(c);
	rc = write_end(c);
	c->error = c->error ? c->error : rc;
	return report(c);
}

static int capture_to(struct capturing *c, const char *path, const char *instance)
{
	int rc = 1;

	if (open_file(c, path))
		return 1;
	watch_signals();
	if (elsewhere_connect(&c->client, instance, "capture", true) == 0) {
		rc = capture(c);
		ctl_disconnect(c->client);
	}
	merge_close(&c->merge);
	if (c->shared)
		munmap((void *)(uintptr_t)c->shared, sizeof(*c->shared));
	return capture_file_close(&c->file) ? rc : 1;
}

int command_capture(int argc, char **argv)
{
	static struct capturing c = { .keep = CAPTURE_KEEP_MAX,
				      .buffer_mib = CAPTURE_RING_USUAL >> 20 };
	const struct command_option own[] = {
		{ .name = "count",
		  .argument = "N",
		  .help = "end after N packets",
		  .number = &c.max_packets,
		  .min = 1,
		  .max = UINT64_MAX },
		{ .name = "seconds",
		  .argument = "N",
		  .help = "end after N seconds",
		  .number = &c.length_s,
		  .min = 1,
		  .max = MAX_SECONDS },
		{ .name = "both",
		  .help = "packets between programs of the device twice: sent, and received",
		  .given = &c.both },
		{ .name = "snap",
		  .argument = "BYTES",
		  .help = "the first BYTES of each packet only",
		  .number = &c.keep,
		  .min = 32,
		  .max = CAPTURE_KEEP_MAX },
		{ .name = "last",
		  .argument = "MIB",
		  .help = "the last MIB of packets only, in FILE and in another one of '.old'",
		  .number = &c.last_mib,
		  .min = 1,
		  .max = 1 << 20 },
		{ .name = "buffer",
		  .argument = "MIB",
		  .help = "size of each program's ring, default 16",
		  .number = &c.buffer_mib,
		  .min = 1,
		  .max = CAPTURE_RING_MAX >> 20 },
		DEVICE_OPTION(&c.device),
		{ 0 },
	};
	struct command_options options;
	const int status = options_parse(&options, argc, argv, own);

	if (status != OPTIONS_OK)
		return status;
	if (options.rest != argc - 1) {
		fprintf(stderr, options.rest >= argc
					? "rxe_dm: capture into which file? For example: rxe_dm "
					  "capture packets.pcapng\n"
					: "rxe_dm: capture takes one file, behind its options\n");
		return 2;
	}
	return capture_to(&c, argv[options.rest], options.settings.instance);
}
