/* SPDX-License-Identifier: MIT */
/* Rings of several programs are merged in the order of time. A program that is stopped or dies
 * delays none of the others. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rxe_dm/command/capture_merge.h"
#include "tests/suite.h"

#define RINGS 3
#define MS    1000000ull

static int fd;
static uint8_t *base;
static struct capture_writer writer[RINGS];
static struct merge merge;
static uint64_t got[4096];
static uint32_t num_got;

static void setup(void)
{
	const size_t bytes = capture_ring_offset(CAPTURE_RING_MIN, RINGS);
	struct capture_area *area;

	fd = memfd_create("test", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(base, MAP_FAILED);
	area = (struct capture_area *)(void *)base;
	area->magic = CAPTURE_MAGIC;
	area->rings = RINGS;
	area->ring_bytes = CAPTURE_RING_MIN;
	for (uint32_t i = 0; i < RINGS; i++)
		capture_writer_open(
			&writer[i],
			(struct capture_ring *)(void *)(base +
							capture_ring_offset(CAPTURE_RING_MIN, i)),
			CAPTURE_RING_MIN, (int32_t)i + 100, "program");
	ck_assert_int_eq(merge_open(&merge, fd), 0);
	num_got = 0;
}

static void teardown(void)
{
	merge_close(&merge);
	munmap(base, capture_ring_offset(CAPTURE_RING_MIN, RINGS));
	close(fd);
}

static void write_one(uint32_t ring)
{
	static const uint8_t packet[64];
	struct capture_record record = { .len = sizeof(packet) };

	capture_writer_put(&writer[ring], &record, packet, CAPTURE_KEEP_MAX, NULL);
}

static void put(uint32_t ring, uint64_t time_ns)
{
	capture_writer_begin(&writer[ring]);
	capture_writer_at(&writer[ring], time_ns);
	write_one(ring);
	capture_writer_end(&writer[ring]);
}

static bool note(void *arg, const struct capture_record *record, uint64_t missing)
{
	(void)arg;
	ck_assert_uint_eq(missing, 0);
	got[num_got++] = record->time_ns;
	return true;
}

static void expect_got(uint32_t count)
{
	ck_assert_uint_eq(num_got, count);
	for (uint32_t i = 1; i < count; i++)
		ck_assert_uint_le(got[i - 1], got[i]);
}

START_TEST(in_order_of_time)
{
	put(0, 10);
	put(0, 40);
	put(1, 20);
	put(2, 5);
	put(1, 30);
	ck_assert_int_eq(merge_pass(&merge, 100, note, NULL), 5);
	expect_got(5);
	ck_assert_uint_eq(got[0], 5);
	ck_assert_int_eq(merge_pass(&merge, 200, note, NULL), 0);
}
END_TEST

/* A program that is writing may still add a packet with the time that it announced. Later packets
 * of other programs wait for it. */
START_TEST(waits_for_the_writer)
{
	put(0, 10);
	capture_writer_begin(&writer[1]);
	capture_writer_at(&writer[1], 15);
	put(0, 20);
	ck_assert_int_eq(merge_pass(&merge, 100, note, NULL), 1);
	write_one(1);
	capture_writer_end(&writer[1]);
	ck_assert_int_eq(merge_pass(&merge, 200, note, NULL), 2);
	expect_got(3);
	ck_assert_uint_eq(got[1], 15);
}
END_TEST

/* The wait has a bound. A packet that comes after it is written where the file is by then. */
START_TEST(goes_on_without_a_stopped_one)
{
	put(0, 10);
	capture_writer_begin(&writer[1]);
	capture_writer_at(&writer[1], 15);
	put(0, 20);
	ck_assert_int_eq(merge_pass(&merge, 1 * MS, note, NULL), 1);
	ck_assert_int_eq(merge_pass(&merge, 100 * MS, note, NULL), 0);
	ck_assert(merge_is_busy(&merge));
	ck_assert_int_eq(merge_pass(&merge, 300 * MS, note, NULL), 1);
	write_one(1);
	capture_writer_end(&writer[1]);
	ck_assert_int_eq(merge_pass(&merge, 301 * MS, note, NULL), 1);
	expect_got(3);
	ck_assert_uint_eq(got[2], 20);
	ck_assert(!merge_is_busy(&merge));
}
END_TEST

START_TEST(programs_are_found)
{
	ck_assert(merge_has_joined(&merge, 1, 101));
	ck_assert(!merge_has_joined(&merge, 1, 102));
	ck_assert(!merge_has_joined(&merge, RINGS, 103));
}
END_TEST

/* Small and large reads, with some packets left waiting each time. */
START_TEST(many)
{
	uint64_t now = 1, count = 0;

	for (uint32_t round = 0; round < 400; round++) {
		for (uint32_t i = 0; i < round % 20; i++, now++)
			put(i % RINGS, now);
		count += (uint64_t)merge_pass(&merge, now - (now > 10 ? 7 : 0), note, NULL);
	}
	count += (uint64_t)merge_pass(&merge, now, note, NULL);
	ck_assert_uint_eq(count, now - 1);
	expect_got((uint32_t)count);
	ck_assert_uint_eq(merge_missing(&merge), 0);
}
END_TEST

START_TEST(something_else)
{
	struct merge other;
	const int empty = memfd_create("empty", MFD_CLOEXEC);

	ck_assert_int_lt(merge_open(&other, empty), 0);
	ck_assert_int_eq(ftruncate(empty, 65536), 0);
	ck_assert_int_lt(merge_open(&other, empty), 0);
	close(empty);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture_merge");
	TCase *tcase = tcase_create("capture_merge");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, in_order_of_time);
	tcase_add_test(tcase, waits_for_the_writer);
	tcase_add_test(tcase, goes_on_without_a_stopped_one);
	tcase_add_test(tcase, programs_are_found);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, something_else);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
