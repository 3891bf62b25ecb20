/* SPDX-License-Identifier: MIT */
/* Memory links: trains pass between slots, a full ring pushes back, slots come and go, and nothing
 * that another slot writes is trusted. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/link/clock.h"
#include "net/link/descriptor.h"
#include "net/link/memory/private.h"
#include "net/wire/packet.h"
#include "tests/allocated.h"
#include "tests/suite.h"
#include "tests/unit/memory_fixture.h"

#define DEADLINE 20000000000ull

START_TEST(train_passes_whole)
{
	make_train(A, B, 3, 100, 60);
	train.traffic_class = 8;
	train.flow_label = 77;
	expect_packets(b, 0);
	send_ok(a);
	expect_packets(a, 0);
	expect_packets(b, 3);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(got[i].len, i < 2 ? 100 : 60);
		ck_assert_uint_eq(got[i].ip_id, i);
		ck_assert_uint_eq(got[i].traffic_class, 8);
		ck_assert_uint_eq(got[i].hop_limit, 64);
		ck_assert_uint_eq(got[i].flow_label, 77);
		ck_assert(got[i].no_icrc);
		ck_assert(gid_equal(&got[i].src, &gid) && gid_equal(&got[i].dst, &gid));
		ck_assert_mem_eq(got[i].p, wire_train_packet(&train, i), got[i].len);
		ck_assert_mem_eq(got[i].headers, wire_train_packet(&train, i), WIRE_MAX_HEADERS);
	}
	expect_packets(b, 0);
}
END_TEST

/* A train that is built in the ring is not copied. */
START_TEST(trains_are_built_in_place)
{
	uint8_t *space = link_space(a, &gid, B);

	ck_assert_ptr_nonnull(space);
	ck_assert_ptr_null(link_space(a, &group, B));
	ck_assert_ptr_null(link_space(a, &gid, C));
	ck_assert_ptr_null(link_space(a, &gid, SLOTS));
	make_train(A, B, 3, 100, 60);
	memcpy(space, buf, train.len);
	train.buf = space;
	send_ok(a);
	expect_packets(b, 3);
	ck_assert_mem_eq(got[2].p, buf + 200, 60);
	ck_assert_ptr_ne(link_space(a, &gid, B), space);
	make_train(A, B, 15, 4160, 4160);
	while (link_send(a, &train, 1) == 1)
		ck_assert(a->stats.send_errors == 0);
	ck_assert_ptr_null(link_space(a, &gid, B));
}
END_TEST

START_TEST(own_packets_come_back)
{
	make_train(A, A, 2, 60, 60);
	send_ok(a);
	expect_packets(a, 2);
}
END_TEST

START_TEST(ports_are_the_slots_own)
{
	uint16_t ports[16], others[16];

	ck_assert_uint_eq(link_tx_ports(a, ports, 16), LINK_TX_PORTS);
	ck_assert_uint_eq(link_tx_ports(b, others, 16), LINK_TX_PORTS);
	make_train(A, B, 1, 60, 60);
	train.tx_index = 3;
	send_ok(a);
	expect_packets(b, 1);
	ck_assert_uint_eq(got[0].src_port, ports[3]);
	for (uint32_t i = 0; i < LINK_TX_PORTS; i++)
		ck_assert_uint_ne(ports[3], others[i]);
}
END_TEST

/* More packets than one call takes, and rings that begin again from the front. */
START_TEST(streams_pass_in_order)
{
	uint32_t sent = 0, received = 0;

	while (received < 3000) {
		make_train(A, B, 40, 68 + sent % 100 * 40, 64);
		train.flow_label = sent;
		while (link_send(a, &train, 1) == 1)
			train.flow_label = ++sent;
		for (;;) {
			const int n = link_receive(b, got, 256);

			for (int i = 0; i < n; i++, received++) {
				ck_assert_uint_eq(got[i].flow_label, received / 40);
				ck_assert_uint_eq(got[i].ip_id, received % 40);
				ck_assert_uint_eq(got[i].p[8], received % 40);
			}
			if (n == 0)
				break;
		}
		ck_assert_uint_eq(received, sent * 40);
	}
}
END_TEST

START_TEST(full_ring_pushes_back)
{
	uint32_t sent = 0;

	make_train(A, B, 15, 4160, 4160);
	while (link_send(a, &train, 1) == 1)
		sent++;
	ck_assert_uint_ge(sent, 2);
	ck_assert_int_eq(link_send(a, &train, 1), -EAGAIN);
	/* Another slot is not concerned. */
	struct link *c = open_slot(C);

	make_train(A, C, 1, 60, 60);
	send_ok(a);
	expect_packets(c, 1);
	link_close(c);
	make_train(A, B, 15, 4160, 4160);
	/* What was received stays until the next call. */
	while (link_receive(b, got, 256) > 0)
		;
	ck_assert_int_eq(link_send(a, &train, 1), 1);
	ck_assert_uint_eq(a->stats.send_errors, 0);
}
END_TEST

/* No process waits forever for a process that is stopped. */
START_TEST(stopped_reader_loses_packets)
{
	const uint64_t end_ns = clock_now_ns() + DEADLINE;
	uint64_t first_ns = 0;

	make_train(A, B, 15, 4160, 4160);
	while (a->stats.send_errors == 0) {
		if (link_send(a, &train, 1) < 0 && !first_ns)
			first_ns = clock_now_ns();
		ck_assert_uint_lt(clock_now_ns(), end_ns);
	}
	ck_assert_uint_eq(a->stats.send_errors, 15);
	ck_assert_uint_ge(clock_now_ns() - first_ns, MEMORY_STALL_NS);
	/* It runs again. */
	while (link_receive(b, got, 256) > 0)
		;
	send_ok(a);
	ck_assert_uint_eq(a->stats.send_errors, 15);
	expect_packets(b, 15);
}
END_TEST

START_TEST(what_an_exited_process_sent_is_received)
{
	struct link *c = open_slot(C);

	expect_packets(b, 0);
	make_train(C, B, 1, 60, 60);
	send_ok(c);
	link_close(c);
	memory_hub_detach(&hub, C);
	expect_packets(b, 1);
	/* The arrival is in use until the next call. */
	ck_assert(!memory_hub_reap(&hub, C));
	ck_assert_mem_eq(got[0].p, buf, got[0].len);
	expect_packets(b, 0);
	ck_assert(memory_hub_reap(&hub, C));
	ck_assert_int_eq(hub.slot[C].fd, -1);
	expect_packets(b, 0);
	c = open_slot(C);
	send_ok(c);
	expect_packets(b, 1);
	ck_assert_mem_eq(got[0].p, buf, got[0].len);
	link_close(c);
}
END_TEST

/* A device may have 255 processes, most of which never send to this one. */
START_TEST(only_rings_of_senders_are_read)
{
	const struct memory_link *reader = (const struct memory_link *)b;

	expect_packets(b, 0);
	ck_assert_uint_eq(reader->num_scanned, 0);
	make_train(A, B, 1, 60, 60);
	send_ok(a);
	expect_packets(b, 1);
	ck_assert_uint_eq(reader->num_scanned, 1);
	ck_assert_uint_eq(reader->num_taken, 1);
	expect_packets(b, 0);
	ck_assert_uint_eq(reader->num_taken, 0);
}
END_TEST

/* The sender exited before any other process knew it. */
START_TEST(last_words_of_a_stranger_are_received)
{
	struct link *c = open_slot(C);

	make_train(C, B, 2, 60, 60);
	send_ok(c);
	send_ok(c);
	link_close(c);
	memory_hub_detach(&hub, C);
	expect_packets(b, 4);
	expect_packets(b, 0);
	ck_assert(memory_hub_reap(&hub, C));
}
END_TEST

/* Nothing that was sent to a slot's former process is received by the next one. */
START_TEST(next_processes_hear_nothing_old)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct link **replaced = i & 1 ? &a : &b, *stays = i & 1 ? b : a;

		make_train(A, B, 1 + i, 60, 60);
		send_ok(a);
		make_train(B, A, 1 + i, 60, 60);
		send_ok(b);
		link_close(*replaced);
		*replaced = open_slot(i & 1 ? A : B);
		expect_packets(stays, 1 + i);
		expect_packets(stays, 0);
		expect_packets(*replaced, 0);
		make_train(A, B, 7, 60, 60);
		send_ok(a);
		expect_packets(b, 7);
		make_train(B, A, 8, 60, 60);
		send_ok(b);
		expect_packets(a, 8);
	}
	ck_assert_uint_eq(a->stats.bad_frames + b->stats.bad_frames, 0);
}
END_TEST

/* What the former process sent is received, then the slot's next one is received from and served. A
 * train that was built for the former one reaches it whole. */
START_TEST(next_process_waits_for_the_last_words)
{
	uint8_t *space;

	make_train(A, B, 5, 100, 100);
	send_ok(a);
	expect_packets(b, 5);
	make_train(B, A, 3, 60, 60);
	send_ok(b);
	make_train(A, B, 2, 3000, 3000);
	space = link_space(a, &gid, B);
	memcpy(space, buf, train.len);
	train.buf = space;
	link_close(b);
	b = open_slot(B);
	ck_assert_int_eq(link_send(a, &train, 1), -EAGAIN);
	ck_assert_ptr_null(link_space(a, &gid, B));
	expect_packets(a, 3);
	expect_packets(a, 0);
	send_ok(a);
	expect_packets(b, 2);
	ck_assert_mem_eq(got[0].p, buf, 3000);
	ck_assert_mem_eq(got[1].p, buf + 3000, 3000);
}
END_TEST

START_TEST(server_resumes_and_the_next_process_skips)
{
	make_train(B, A, 4, 60, 60);
	send_ok(b);
	make_train(A, B, 2, 60, 60);
	send_ok(a);
	expect_packets(b, 2);
	link_release(b);
	send_ok(a);
	link_close(b);
	b = resume_slot(B);
	expect_packets(b, 2);
	expect_packets(b, 0);
	make_train(B, A, 1, 60, 60);
	send_ok(b);
	expect_packets(a, 5);
	make_train(A, B, 2, 60, 60);
	send_ok(a);
	link_close(b);
	b = open_slot(B);
	expect_packets(a, 0);
	expect_packets(b, 0);
	send_ok(a);
	expect_packets(b, 2);
}
END_TEST

START_TEST(empty_slots_take_nothing)
{
	make_train(A, C, 1, 60, 60);
	send_ok(a);
	struct link *c = open_slot(C);

	expect_packets(c, 0);
	link_close(c);
	ck_assert_uint_eq(a->stats.send_errors, 0);
}
END_TEST

START_TEST(numbers_of_no_slot_are_for_slot_0)
{
	struct link *zero = open_slot(0);

	make_train(A, SLOTS, 1, 60, 60);
	send_ok(a);
	make_train(A, 255, 1, 60, 60);
	send_ok(a);
	make_train(A, B, 1, 5, 5);
	send_ok(a);
	expect_packets(b, 0);
	expect_packets(zero, 3);
	link_close(zero);
}
END_TEST

static char said[200];

static void log_line(void *arg, const char *line)
{
	(void)arg;
	strcpy(said, line);
}

START_TEST(other_addresses_are_unreachable)
{
	struct memory_cfg cfg = cfg_of(C);
	struct gid far = gid;
	struct link *c;

	cfg.log.write = log_line;
	c = open_with(&cfg);
	far.raw[15] = 9;
	ck_assert(link_is_local(c, &gid) && !link_is_local(c, &far));
	make_train(C, B, 3, 60, 60);
	train.dst = far;
	send_ok(c);
	ck_assert_uint_eq(c->stats.send_errors, 3);
	ck_assert_ptr_nonnull(strstr(said, "same device"));
	expect_packets(b, 0);
	link_close(c);
}
END_TEST

START_TEST(groups_have_members)
{
	struct gid six = { .raw = { 0xff, 0x0e } };

	ck_assert_int_eq(link_join(b, &gid), -EINVAL);
	ck_assert_int_eq(link_join(b, &six), -EINVAL);
	ck_assert_int_eq(link_leave(b, &group), -ENOENT);
	make_train(A, B, 1, 60, 60);
	train.dst = group;
	send_ok(a);
	expect_packets(b, 0);
	ck_assert_int_eq(link_join(b, &group), 0);
	ck_assert_int_eq(link_join(b, &group), 0);
	ck_assert_int_eq(link_join(a, &group), 0);
	send_ok(a);
	expect_packets(a, 1);
	expect_packets(b, 1);
	ck_assert(gid_equal(&got[0].dst, &group));
	/* A second join has changed nothing: one leave ends both. */
	ck_assert_int_eq(link_leave(b, &group), 0);
	ck_assert_int_eq(link_leave(b, &group), -ENOENT);
	send_ok(a);
	expect_packets(b, 0);
	expect_packets(a, 1);
}
END_TEST

/* A process that exits leaves nothing to its successor that it has handled. */
START_TEST(handled_arrivals_are_released)
{
	make_train(A, B, 2, 60, 60);
	send_ok(a);
	expect_packets(b, 2);
	link_release(b);
	link_close(b);
	b = resume_slot(B);
	expect_packets(b, 0);
}
END_TEST

/* Of a train that is read in part, all space stays: what follows in it was not handled. */
START_TEST(train_read_in_part_is_kept)
{
	make_train(A, B, 3, 60, 60);
	send_ok(a);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(link_receive(b, got, 1), 1);
		link_release(b);
	}
	link_close(b);
	b = resume_slot(B);
	expect_packets(b, 3);
}
END_TEST

/* A sender that names a group of which the receiver is no member. */
START_TEST(foreign_groups_are_refused)
{
	ck_assert_int_eq(link_join(b, &group), 0);
	make_train(A, B, 1, 60, 60);
	train.dst = group;
	send_ok(a);
	ck_assert_int_eq(link_leave(b, &group), 0);
	expect_packets(b, 0);
	train.dst = gid;
	send_ok(a);
	expect_packets(b, 1);
}
END_TEST

START_TEST(complete_arrivals_are_private_and_have_icrcs)
{
	uint8_t want[100];

	ck_assert_int_eq(link_complete_arrivals(b, true), 0);
	make_train(A, B, 3, 100, 100);
	memcpy(want, wire_train_packet(&train, 2), 100);
	for (uint32_t i = 0; i < 3; i++)
		memset(wire_train_packet(&train, i) + 96, 0, ICRC_LEN);
	send_ok(a);
	expect_packets(b, 3);
	ck_assert(!got[2].no_icrc);
	ck_assert_ptr_null(got[2].headers);
	ck_assert_mem_eq(got[2].p, want, 100);
	ck_assert_int_eq(link_complete_arrivals(b, false), 0);
	send_ok(a);
	expect_packets(b, 3);
	ck_assert(got[2].no_icrc);
}
END_TEST

/* A setting has all packets checked. */
START_TEST(icrc_by_request)
{
	struct memory_cfg cfg = cfg_of(C);
	struct link *c;

	cfg.icrc = true;
	c = open_with(&cfg);
	ck_assert(link_needs_icrc(c) && !link_needs_icrc(a));
	make_train(A, C, 1, 60, 60);
	send_ok(a);
	expect_packets(c, 1);
	ck_assert(!got[0].no_icrc);
	link_close(c);
}
END_TEST

START_TEST(headers_are_copies)
{
	make_train(A, B, 1, 100, 100);
	send_ok(a);
	expect_packets(b, 1);
	memset(memory_ring(hub.slot[A].file, B), 0xee, 1000);
	ck_assert_uint_eq(got[0].p[20], 0xee);
	ck_assert_mem_eq(got[0].headers, buf, WIRE_MAX_HEADERS);
}
END_TEST

START_TEST(bad_records_are_counted)
{
	struct memory_pair *pair = &hub.slot[A].file->pair[B];

	make_train(A, B, 1, 100, 100);
	send_ok(a);
	expect_packets(b, 1);
	memset(memory_ring(hub.slot[A].file, B), 0xee, RING_BYTES);
	atomic_fetch_add(&pair->tail, 256);
	expect_packets(b, 0);
	ck_assert_uint_eq(b->stats.bad_frames, 1);
	atomic_fetch_add(&pair->tail, 1ull << 50);
	expect_packets(b, 0);
	ck_assert_uint_eq(b->stats.bad_frames, 2);
	ck_assert(!link_wait_begins(b));
	link_wait_ended(b, is_readable(b));
}
END_TEST

static int meet_later(void *arg, uint32_t from, uint32_t to, uint32_t *ret_epoch)
{
	uint32_t *times = arg;

	return (*times)++ < 5 ? -EBUSY : memory_hub_meet(&hub, from, to, ret_epoch);
}

/* The hub cannot be asked while another thread talks to it: nothing is lost. */
START_TEST(a_busy_hub_pushes_back)
{
	struct memory_cfg cfg = cfg_of(C);
	uint32_t times = 0;
	struct link *c;

	cfg.meet = meet_later;
	cfg.meet_arg = &times;
	c = open_with(&cfg);
	ck_assert_int_eq(link_join(b, &group), 0);
	make_train(C, B, 2, 60, 60);
	ck_assert_ptr_null(link_space(c, &gid, B));
	ck_assert_int_eq(link_send(c, &train, 1), -EAGAIN);
	make_train(A, C, 1, 60, 60);
	send_ok(a);
	ck_assert(link_wait_begins(c));
	link_wait_ended(c, false);
	expect_packets(c, 0);
	make_train(C, B, 2, 60, 60);
	train.dst = group;
	ck_assert_int_eq(link_send(c, &train, 1), -EAGAIN);
	expect_packets(b, 0);
	while (link_send(c, &train, 1) < 0)
		;
	expect_packets(b, 2);
	expect_packets(c, 1);
	ck_assert_uint_ge(times, 6);
	link_close(c);
}
END_TEST

START_TEST(refuses_what_is_no_hub)
{
	struct memory_cfg cfg = cfg_of(C);
	struct memory_hub other;
	struct link *link;

	ck_assert_int_eq(memory_hub_open(&other, 0, 7), -EINVAL);
	ck_assert_int_eq(memory_hub_open(&other, MEMORY_SLOTS + 1, 7), -EINVAL);
	cfg.slot = SLOTS;
	ck_assert_int_eq(memory_open(&link, &cfg), -EINVAL);
	cfg.slot = MEMORY_SLOTS;
	ck_assert_int_eq(memory_open(&link, &cfg), -EINVAL);
	cfg = cfg_of(C);
	cfg.doorbell_fd = -1;
	ck_assert_int_eq(memory_open(&link, &cfg), -EINVAL);
	cfg = cfg_of(C);
	cfg.hub_fd = memfd_create("other", MFD_CLOEXEC);
	ck_assert_int_eq(memory_open(&link, &cfg), -EINVAL);
	ck_assert_int_eq(ftruncate(cfg.hub_fd, (off_t)sizeof(struct memory_hub_page)), 0);
	ck_assert_int_eq(memory_open(&link, &cfg), -EINVAL);
	close(cfg.hub_fd);
	cfg = cfg_of(C);
	cfg.file_fd = hub.fd;
	ck_assert_int_eq(memory_open(&link, &cfg), -EINVAL);
	/* The file of a process that is there. */
	cfg.file_fd = hub.slot[A].fd;
	ck_assert_int_eq(memory_open(&link, &cfg), -EPERM);
}
END_TEST

static int maps_of_hub(void)
{
	char line[512];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "rxe_dm hub") != NULL;
	fclose(f);
	return n;
}

START_TEST(a_closed_link_unmaps_the_hub)
{
	const int before = maps_of_hub();
	struct link *c = open_slot(C);

	ck_assert_int_eq(maps_of_hub(), before + 1);
	link_close(c);
	ck_assert_int_eq(maps_of_hub(), before);
}
END_TEST

START_TEST(a_closed_link_frees_its_copies)
{
	const size_t before = allocated_bytes();
	struct memory_cfg cfg = cfg_of(C);

	cfg.complete = true;
	link_close(open_with(&cfg));
	ck_assert_uint_eq(allocated_bytes(), before);
}
END_TEST

START_TEST(packets_alone_where_trains_are_off)
{
	struct memory_cfg cfg = cfg_of(C);
	struct link *c;

	cfg.trains = false;
	c = open_with(&cfg);
	ck_assert_uint_eq(c->max_segs, 1);
	ck_assert_uint_eq(a->max_segs, TRAIN_MAX_SEGS);
	link_close(c);
}
END_TEST

START_TEST(knows_its_descriptors)
{
	struct memory_cfg cfg = cfg_of(C);
	struct link *c;

	cfg.doorbell_fd = descriptor_keep(dup(cfg.doorbell_fd));
	c = open_with(&cfg);
	ck_assert(link_has_descriptors(c));
	close(cfg.doorbell_fd);
	ck_assert(!link_has_descriptors(c));
	ck_assert_int_eq(cfg.doorbell_fd, dup2(hub.fd, cfg.doorbell_fd));
	link_close(c);
	close(cfg.doorbell_fd);
}
END_TEST

static TCase *make_tests(void)
{
	TCase *tests = tcase_create("memory_link");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, train_passes_whole);
	tcase_add_test(tests, trains_are_built_in_place);
	tcase_add_test(tests, own_packets_come_back);
	tcase_add_test(tests, ports_are_the_slots_own);
	tcase_add_test(tests, streams_pass_in_order);
	tcase_add_test(tests, full_ring_pushes_back);
	tcase_add_test(tests, stopped_reader_loses_packets);
	tcase_add_test(tests, what_an_exited_process_sent_is_received);
	tcase_add_test(tests, only_rings_of_senders_are_read);
	tcase_add_test(tests, last_words_of_a_stranger_are_received);
	tcase_add_test(tests, next_processes_hear_nothing_old);
	tcase_add_test(tests, next_process_waits_for_the_last_words);
	tcase_add_test(tests, server_resumes_and_the_next_process_skips);
	tcase_add_test(tests, empty_slots_take_nothing);
	tcase_add_test(tests, numbers_of_no_slot_are_for_slot_0);
	tcase_add_test(tests, other_addresses_are_unreachable);
	tcase_add_test(tests, groups_have_members);
	tcase_add_test(tests, handled_arrivals_are_released);
	tcase_add_test(tests, train_read_in_part_is_kept);
	tcase_add_test(tests, foreign_groups_are_refused);
	tcase_add_test(tests, complete_arrivals_are_private_and_have_icrcs);
	tcase_add_test(tests, icrc_by_request);
	tcase_add_test(tests, headers_are_copies);
	tcase_add_test(tests, bad_records_are_counted);
	tcase_add_test(tests, a_busy_hub_pushes_back);
	tcase_add_test(tests, refuses_what_is_no_hub);
	tcase_add_test(tests, a_closed_link_unmaps_the_hub);
	tcase_add_test(tests, a_closed_link_frees_its_copies);
	tcase_add_test(tests, packets_alone_where_trains_are_off);
	tcase_add_test(tests, knows_its_descriptors);
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("memory_link");

	suite_add_tcase(suite, make_tests());
	return suite_run(suite);
}
