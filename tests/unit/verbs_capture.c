/* SPDX-License-Identifier: MIT */
/* What a process records for a capture: packets that leave and arrive, and what fault rules do to
 * them. The shaper is real, the rings are the test's memory. */
#include <check.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device_fixture.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/qp.h"
#include "emu/queue.h"
#include "lib/control/client.h"
#include "lib/inject/rule.h"
#include "lib/progress/fault.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "net/link/capture/recorder.h"
#include "net/link/capture/ring.h"
#include "net/link/capture/tail.h"
#include "net/link/fault/shaper.h"
#include "net/link/udp/udp.h"
#include "net/wire/opcode.h"
#include "net/wire/packet.h"
#include "tests/suite.h"

#define SLOT  3u
#define RINGS 8u
#define BYTES CAPTURE_RING_MIN
#define PEER  0x051001u
#define OURS  0x031002u

static struct vb_device *dev;
static struct device_link *device_link;
static struct capture_area *area;
static struct capture_reader reader;
static struct fault_shaper *shaper;
static struct inject_rules rules;
static uint8_t train_mem[65536];
static _Alignas(8) uint8_t read_mem[BYTES];
static struct gid here, there;
static int rx_fd;

static struct gid loopback(uint8_t last)
{
	return (struct gid){
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 127, [13] = 77, [15] = last }
	};
}

static void on_fired(void *arg, const struct fault_firing *firing)
{
	(void)arg;
	faults_show(device_link->recorder, firing, &rules.rule[firing->id - 1]);
}

/* Every request may be answered. */
static bool find_qp(void *arg, enum fault_dir dir, const struct gid *peer, uint32_t dest_qpn,
		    struct fault_qp *ret)
{
	(void)arg, (void)peer;
	*ret = (struct fault_qp){ .qpn = dir == FAULT_IN ? dest_qpn : OURS,
				  .peer_qpn = dir == FAULT_IN ? PEER : dest_qpn,
				  .can_answer = true,
				  .answer_psn = 300 };
	return true;
}

static void begin_capture(void)
{
	const size_t bytes = capture_ring_offset(BYTES, RINGS);
	const int fd = memfd_create("capture", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(area, MAP_FAILED);
	area->magic = CAPTURE_MAGIC;
	area->rings = RINGS;
	area->ring_bytes = BYTES;
	area->keep = CAPTURE_KEEP_MAX;
	device_link_capture(&dev->progress, fd);
	ck_assert_ptr_nonnull(device_link->recorder);
	capture_reader_open(
		&reader,
		(struct capture_ring *)(void *)((uint8_t *)area + capture_ring_offset(BYTES, SLOT)),
		BYTES);
}

static void setup(void)
{
	const struct fault_shaper_cfg cfg = { .fired = on_fired, .find_qp = find_qp };
	struct udp_cfg link = { .trains = true };
	struct ctl_slot *slot;

	here = loopback(1);
	there = loopback(2);
	dev = device_new(SLOT);
	device_link = &dev->progress.link;
	dev->info.gids[0] = here;
	slot = &dev->attachment.shared->slot[SLOT];
	atomic_store(&slot->pid, 4711);
	memcpy(slot->comm, "program", 8);
	link.gid = here;
	rx_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	link.rx_fd = rx_fd;
	ck_assert_int_eq(udp_open(&device_link->phy, &link), 0);
	rules = (struct inject_rules){ 0 };
	shaper = fault_shaper_new(&cfg);
	ck_assert_ptr_nonnull(shaper);
	begin_capture();
}

static void teardown(void)
{
	device_link_capture(&dev->progress, -1);
	ck_assert_ptr_null(device_link->recorder);
	munmap(area, capture_ring_offset(BYTES, RINGS));
	fault_shaper_free(shaper);
	link_close(device_link->phy);
	close(rx_fd);
	device_free(dev);
}

static void rule(const char *text)
{
	char why[INJECT_TEXT_MAX];

	ck_assert_msg(inject_rules_add_text(&rules, text, why), "%s", why);
	inject_packet_rules(fault_shaper_rules(shaper), &rules);
}

/* Makes a train of packets psn, psn + 1, ... to a queue pair. */
static struct wire_train train_to(uint32_t dest_qpn, enum wire_op op, uint32_t psn, uint32_t n)
{
	struct wire_train train = { .buf = train_mem,
				    .max_segs = TRAIN_MAX_SEGS,
				    .src = here,
				    .dst = there,
				    .hop_limit = 64 };
	const struct icrc_flow flow = { .src = here, .dst = there };

	for (uint32_t i = 0; i < n; i++) {
		const struct wire_packet packet = { .bth = { .opcode = opcode_make(WIRE_RC, op),
							     .dest_qpn = dest_qpn,
							     .psn = psn + i } };
		uint8_t *p = wire_train_add(&train, BTH_LEN + 64 + ICRC_LEN);

		ck_assert_ptr_nonnull(p);
		wire_emit_headers(p, &packet);
		memset(p + BTH_LEN, (int)i, 64);
		icrc_store(p + BTH_LEN + 64, icrc_compute(&flow, (uint16_t)i, p, BTH_LEN + 64));
	}
	return train;
}

/* Packets of one WRITE. */
static struct wire_train train_of(uint32_t psn, uint32_t n)
{
	return train_to(PEER, OP_WRITE_MIDDLE, psn, n);
}

static void record_departures(const struct wire_train *trains, size_t n)
{
	recorder_departures.sending(device_link->recorder);
	recorder_departures.sent(device_link->recorder, trains, n);
}

/* Sends through the shaper, as a link that takes everything. */
static void send_train(const struct wire_train *train)
{
	const struct wire_train *out;
	const size_t n = fault_shaper_out(shaper, train, 1000, &out);

	record_departures(out, n);
}

static void arrive_train(const struct gid *from, struct wire_train train)
{
	const struct wire_arrival arrival = {
		.p = train.buf, .len = train.len, .src = *from, .dst = here
	};
	const struct wire_arrival *in;
	const size_t n = fault_shaper_in(shaper, &arrival, 1000, &in);

	if (device_link->recorder)
		recorder_arrivals.arrived(device_link->recorder, in, n);
}

static void arrive(const struct gid *from, uint32_t psn)
{
	arrive_train(from, train_of(psn, 1));
}

struct seen {
	uint32_t flags, psn, len, qpn;
	uint64_t wr_id; /* 0: the packet is of no request */
	char note[CAPTURE_NOTE_MAX + 1];
};

static size_t look(struct seen *ret, size_t max)
{
	const size_t len = capture_reader_read(&reader, read_mem);
	const struct capture_record *record;
	size_t at = 0, n = 0;

	while ((record = capture_reader_next(&reader, read_mem, len, &at))) {
		const uint8_t *p = capture_record_packet(record);

		ck_assert_uint_lt(n, max);
		ck_assert_str_eq(record->comm, "program");
		ck_assert_int_eq(record->pid, 4711);
		memset(&ret[n], 0, sizeof(ret[n]));
		ret[n].flags = record->flags;
		ret[n].len = record->len;
		ret[n].qpn = record->flags & CAPTURE_HAS_QP ? record->qpn : 0;
		ret[n].wr_id = record->flags & CAPTURE_HAS_WR ? record->wr_id : 0;
		if (record->len >= BTH_LEN)
			ret[n].psn = (uint32_t)p[9] << 16 | (uint32_t)p[10] << 8 | p[11];
		memcpy(ret[n].note, capture_record_note(record), record->note_len);
		n++;
	}
	return n;
}

static void expect(const struct seen *seen, uint32_t psn, uint32_t flags, const char *note)
{
	ck_assert_uint_eq(seen->psn, psn);
	ck_assert_uint_eq(seen->flags &
				  (CAPTURE_SENT | CAPTURE_LOST | CAPTURE_FAULT | CAPTURE_INSIDE),
			  flags);
	ck_assert_msg(strncmp(seen->note, note, strlen(note)) == 0, "'%s' is not '%s...'",
		      seen->note, note);
}

/* Mappings of captures in this process. */
static uint32_t num_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint32_t n = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "/memfd:capture") != NULL;
	fclose(maps);
	return n;
}

/* A process may live through many captures. One mapping is the test's own. */
START_TEST(an_ended_capture_is_not_mapped)
{
	ck_assert_uint_gt(num_mappings(), 1);
	device_link_capture(&dev->progress, -1);
	ck_assert_uint_eq(num_mappings(), 1);
}
END_TEST

START_TEST(what_passes)
{
	const struct wire_train train = train_of(100, 5);
	struct seen seen[16];

	send_train(&train);
	arrive(&there, 7);
	arrive(&here, 8); /* from the same device: its sender recorded it */
	ck_assert_uint_eq(look(seen, 16), 6);
	for (uint32_t i = 0; i < 5; i++)
		expect(&seen[i], 100 + i, CAPTURE_SENT, "");
	expect(&seen[5], 7, 0, "");
	atomic_store(&area->inside, 1);
	arrive(&here, 9);
	ck_assert_uint_eq(look(seen, 16), 1);
	expect(&seen[0], 9, CAPTURE_INSIDE, "");
}
END_TEST

/* Each is recorded and names its rule; the others have no note. */
START_TEST(faults_on_the_way_out)
{
	const uint32_t sent = CAPTURE_SENT, marked = CAPTURE_SENT | CAPTURE_FAULT;
	const struct wire_train train = train_of(100, 6);
	struct seen seen[16];

	rule("drop psn=101");
	rule("corrupt part=payload psn=102");
	rule("truncate keep=20 psn=103");
	rule("duplicate copies=2 psn=104");
	send_train(&train);
	ck_assert_uint_eq(look(seen, 16), 8);
	expect(&seen[0], 101, marked | CAPTURE_LOST, "fault 1: drop");
	expect(&seen[1], 100, sent, "");
	expect(&seen[2], 102, marked, "fault 2: corrupt");
	expect(&seen[3], 103, marked, "fault 3: truncate");
	ck_assert_uint_eq(seen[3].len, 20);
	for (int i = 4; i < 7; i++)
		expect(&seen[i], 104, marked, "fault 4: duplicate");
	expect(&seen[7], 105, sent, "");
	send_train(&train);
	ck_assert_uint_eq(look(seen, 16), 8);
}
END_TEST

/* The note of a dropped packet is for that packet, not for the next one with its bytes. */
START_TEST(sent_again_after_a_drop)
{
	const struct wire_train train = train_of(100, 1);
	struct seen seen[4];

	rule("drop attempt=0");
	send_train(&train);
	send_train(&train);
	ck_assert_uint_eq(look(seen, 4), 2);
	expect(&seen[0], 100, CAPTURE_SENT | CAPTURE_LOST | CAPTURE_FAULT, "fault 1: drop");
	expect(&seen[1], 100, CAPTURE_SENT, "");
	ck_assert_str_eq(seen[1].note, "");
}
END_TEST

/* A poll that finds nothing leaves the ring alone: other processes read its memory. */
START_TEST(nothing_arrived)
{
	recorder_arrivals.arrived(device_link->recorder, NULL, 0);
	ck_assert_uint_eq(atomic_load(&reader.ring->time_ns), 0);
	arrive(&there, 7);
	ck_assert_uint_gt(atomic_load(&reader.ring->time_ns), 0);
}
END_TEST

/* A packet that waits has its note when it leaves. */
START_TEST(held_back)
{
	const struct wire_train train = train_of(200, 3);
	const struct wire_train *out;
	struct seen seen[16];
	size_t n;

	rule("delay time=1ms psn=201");
	send_train(&train);
	ck_assert_uint_eq(look(seen, 16), 2);
	expect(&seen[0], 200, CAPTURE_SENT, "");
	expect(&seen[1], 202, CAPTURE_SENT, "");
	n = fault_shaper_due_out(shaper, 3000000, &out);
	record_departures(out, n);
	ck_assert_uint_eq(look(seen, 16), 1);
	expect(&seen[0], 201, CAPTURE_SENT | CAPTURE_FAULT, "fault 1: delay");
}
END_TEST

/* Arrivals, also those of the same device, which their sender recorded too. */
START_TEST(faults_on_the_way_in)
{
	struct seen seen[16];

	rule("drop dir=in psn=11");
	rule("corrupt dir=in part=header psn=12");
	arrive(&here, 10);
	arrive(&here, 11);
	arrive(&here, 12);
	ck_assert_uint_eq(look(seen, 16), 2);
	expect(&seen[0], 11, CAPTURE_INSIDE | CAPTURE_LOST | CAPTURE_FAULT, "fault 1: drop");
	ck_assert_uint_eq(seen[1].flags & (CAPTURE_FAULT | CAPTURE_LOST), CAPTURE_FAULT);
	ck_assert_int_eq(strncmp(seen[1].note, "fault 2: corrupt", 16), 0);
}
END_TEST

/* The request that a rule answered in the peer's place, and the answer. */
START_TEST(answered_by_a_fault)
{
	const struct wire_train *out;
	struct seen seen[16];
	size_t n;

	rule("rnr_nak dir=in psn=300");
	arrive(&there, 300);
	ck_assert_uint_eq(look(seen, 16), 1);
	expect(&seen[0], 300, CAPTURE_LOST | CAPTURE_FAULT, "fault 1: rnr_nak");
	n = fault_shaper_due_out(shaper, 2000, &out);
	ck_assert_uint_eq(n, 1);
	record_departures(out, n);
	ck_assert_uint_eq(look(seen, 16), 1);
	expect(&seen[0], 300, CAPTURE_SENT | CAPTURE_FAULT, "fault 1: rnr_nak");
	ck_assert_uint_eq(seen[0].len, BTH_LEN + AETH_LEN + ICRC_LEN);
}
END_TEST

/* A queue pair with a SEND of one packet and a WRITE of four under way, and a request after them
 * that has not begun. */
static struct rxe_send_wqe requests[4];

static struct rxe_qp *connect_qp(void)
{
	struct rxe_engine *engine = dev->progress.engine;
	struct rxe_qp *qp = calloc(1, sizeof(*qp));

	ck_assert_ptr_nonnull(qp);
	requests[0] = (struct rxe_send_wqe){ .wr_id = 70, .psn_first = 100, .psn_last = 100 };
	requests[1] = (struct rxe_send_wqe){ .wr_id = 71, .psn_first = 101, .psn_last = 104 };
	requests[2] = (struct rxe_send_wqe){ .wr_id = 72 };
	requests[0].started = requests[1].started = RXE_WQE_STARTED;
	qp->qpn = OURS;
	qp->type = RXE_QPT_RC;
	qp->flow.dst = there;
	qp->attr.dest_qp_num = PEER;
	qp->sq = (struct rxe_ring){
		.mem = (uint8_t *)requests, .stride = sizeof(requests[0]), .mask = 3, .tail = 3
	};
	engine->qp[OURS % RXE_MAX_QP] = qp;
	engine->num_qp = 1;
	return qp;
}

/* The work request of a packet is that whose PSNs include the packet's. An ACK is of the request
 * that it answers. */
START_TEST(packets_name_their_work_requests)
{
	static const uint64_t wr_ids[] = { 0, 70, 71, 71, 71, 71, 0 };
	struct rxe_qp *qp = connect_qp();
	const struct wire_train train = train_of(99, 7);
	struct seen seen[16];

	send_train(&train);
	ck_assert_uint_eq(look(seen, 16), 7);
	for (uint32_t i = 0; i < 7; i++) {
		ck_assert_uint_eq(seen[i].qpn, OURS);
		ck_assert_uint_eq(seen[i].wr_id, wr_ids[i]);
	}
	arrive_train(&there, train_to(OURS, OP_ACKNOWLEDGE, 100, 1));
	arrive_train(&there, train_to(OURS, OP_ACKNOWLEDGE, 103, 1));
	arrive_train(&there, train_to(OURS, OP_WRITE_MIDDLE, 103, 1)); /* a request of the peer's */
	ck_assert_uint_eq(look(seen, 16), 3);
	ck_assert_uint_eq(seen[0].wr_id, 70);
	ck_assert_uint_eq(seen[1].wr_id, 71);
	ck_assert_uint_eq(seen[2].qpn, OURS);
	ck_assert_uint_eq(seen[2].wr_id, 0);
	free(qp);
}
END_TEST

/* Reports of failures show the last packets, also during a capture. */
START_TEST(the_tail_has_what_a_capture_has)
{
	struct rxe_qp *qp = connect_qp();
	const struct wire_train train = train_of(100, 1);
	struct tail_packet last[4];
	struct seen seen[4];

	device_link->tail = tail_open(&dev->progress.engine->now_ns);
	device_link_stack(device_link);
	ck_assert_int_eq(link_send(device_link->top, &train, 1), 1);
	ck_assert_uint_eq(look(seen, 4), 1);
	ck_assert_uint_eq(packet_qp_tail(qp, device_link->tail, last, 4), 1);
	tail_close(device_link->tail);
	device_link->tail = NULL;
	free(qp);
}
END_TEST

/* The device is closed during a capture: opening it again begins without one. */
START_TEST(a_link_that_closes_ends_its_capture)
{
	device_link_close(device_link);
	ck_assert_ptr_null(device_link->recorder);
	ck_assert_ptr_null(device_link->phy);
	ck_assert_uint_eq(atomic_load(&reader.ring->busy), 0);
}
END_TEST

/* A daemon has closed its standard input, so the rings arrive as descriptor 0. */
START_TEST(rings_that_are_descriptor_0)
{
	const int input = dup(0);

	device_link_capture(&dev->progress, -1);
	munmap(area, capture_ring_offset(BYTES, RINGS));
	close(0);
	begin_capture();
	ck_assert_int_eq(fcntl(0, F_GETFD), -1);
	if (input >= 0) {
		dup2(input, 0);
		close(input);
	}
}
END_TEST

START_TEST(no_capture_no_harm)
{
	struct seen seen[16];

	device_link_capture(&dev->progress, -1);
	rule("drop dir=in");
	arrive(&there, 1);
	device_link_capture(&dev->progress, -1);
	ck_assert_uint_eq(look(seen, 16), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_capture");
	TCase *tcase = tcase_create("verbs_capture");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_ended_capture_is_not_mapped);
	tcase_add_test(tcase, what_passes);
	tcase_add_test(tcase, faults_on_the_way_out);
	tcase_add_test(tcase, sent_again_after_a_drop);
	tcase_add_test(tcase, nothing_arrived);
	tcase_add_test(tcase, held_back);
	tcase_add_test(tcase, faults_on_the_way_in);
	tcase_add_test(tcase, answered_by_a_fault);
	tcase_add_test(tcase, packets_name_their_work_requests);
	tcase_add_test(tcase, the_tail_has_what_a_capture_has);
	tcase_add_test(tcase, a_link_that_closes_ends_its_capture);
	tcase_add_test(tcase, rings_that_are_descriptor_0);
	tcase_add_test(tcase, no_capture_no_harm);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
