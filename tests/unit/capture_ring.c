/* SPDX-License-Identifier: MIT */
/* The rings of a capture: what is written is read, whole and counted, at any pace of the reader and
 * however a writer ends. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/capture/ring.h"
#include "tests/suite.h"

#define BYTES  CAPTURE_RING_MIN
#define RACE_N 200000u

static struct capture_ring *ring;
static struct capture_writer writer;
static struct capture_reader reader;
static uint8_t *out;
static _Atomic bool all_written;

static void setup(void)
{
	ring = aligned_alloc(CAPTURE_PAGE, sizeof(*ring) + BYTES);
	out = malloc(BYTES);
	ck_assert(ring && out);
	memset(ring, 0, sizeof(*ring) + BYTES);
	capture_writer_open(&writer, ring, BYTES, 7, "program");
	capture_reader_open(&reader, ring, BYTES);
}

static void teardown(void)
{
	free(ring);
	free(out);
}

/* The length and every byte follow from the number. */
static uint32_t len_of(uint64_t number)
{
	return (uint32_t)(number * 2654435761u >> 7) % 4200;
}

static void put(uint64_t number)
{
	uint8_t packet[4200];
	struct capture_record record = { .len = len_of(number), .qpn = (uint32_t)number };

	memset(packet, (int)(number & 0xff), sizeof(packet));
	capture_writer_begin(&writer);
	capture_writer_at(&writer, number * 10);
	capture_writer_put(&writer, &record, packet, CAPTURE_KEEP_MAX, number % 5 ? NULL : "note");
	capture_writer_end(&writer);
}

static void expect_whole(const struct capture_record *record)
{
	const uint64_t number = record->number;
	const uint8_t *packet = capture_record_packet(record);
	uint32_t others = 0;

	ck_assert_uint_eq(record->qpn, (uint32_t)number);
	ck_assert_uint_eq(record->time_ns, number * 10);
	ck_assert_uint_eq(record->len, len_of(number));
	ck_assert_uint_eq(record->kept, len_of(number));
	ck_assert_int_eq(record->pid, 7);
	ck_assert_str_eq(record->comm, "program");
	for (uint32_t i = 0; i < record->kept; i++)
		others += packet[i] != (number & 0xff);
	ck_assert_uint_eq(others, 0);
	ck_assert_uint_eq(record->note_len, number % 5 ? 0 : 4);
	ck_assert_mem_eq(capture_record_note(record), "note", record->note_len);
}

/* Reads what is there. Returns the number of packets. */
static uint64_t take(void)
{
	const size_t len = capture_reader_read(&reader, out);
	const struct capture_record *record;
	uint64_t count = 0;
	size_t at = 0;

	while ((record = capture_reader_next(&reader, out, len, &at))) {
		expect_whole(record);
		count++;
	}
	ck_assert_uint_eq(at, len);
	return count;
}

/* A ring that is full to its last byte is read whole. */
START_TEST(filled)
{
	static const uint8_t packet[1024 - sizeof(struct capture_record)];
	const struct capture_record *got;
	size_t len, at = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < BYTES / 1024; i++) {
		struct capture_record record = { .len = sizeof(packet) };

		capture_writer_put(&writer, &record, packet, CAPTURE_KEEP_MAX, NULL);
		ck_assert_uint_eq(record.size, 1024);
	}
	len = capture_reader_read(&reader, out);
	ck_assert_uint_eq(len, BYTES);
	while ((got = capture_reader_next(&reader, out, len, &at)))
		ck_assert_uint_eq(got->number, n++);
	ck_assert_uint_eq(n, BYTES / 1024);
	ck_assert_uint_eq(reader.lost, 0);
}
END_TEST

START_TEST(comes_out_as_put)
{
	for (uint64_t i = 0; i < 3; i++)
		put(i);
	ck_assert_uint_eq(take(), 3);
	ck_assert_uint_eq(take(), 0);
	ck_assert_uint_eq(reader.lost, 0);
}
END_TEST

/* A record may begin and end at every place of the ring. */
START_TEST(over_the_end)
{
	uint64_t number = 0;

	for (int round = 0; round < 3000; round++) {
		const int some = round % 9;

		for (int i = 0; i < some; i++)
			put(number++);
		ck_assert_uint_eq(take(), (uint64_t)some);
	}
	ck_assert_uint_eq(reader.lost, 0);
}
END_TEST

START_TEST(overrun_is_counted)
{
	uint64_t number, got;

	for (number = 0; number < 1000; number++)
		put(number);
	got = take();
	/* The reader lags by a ring's length, and continues with the next packet. */
	ck_assert_uint_eq(got, 0);
	ck_assert_uint_eq(capture_reader_unread(&reader), 1000);
	put(number++);
	got += take();
	ck_assert_uint_eq(got + reader.lost, number);
	ck_assert_uint_eq(reader.lost, 1000);
	ck_assert_uint_eq(capture_reader_unread(&reader), 0);
}
END_TEST

START_TEST(only_so_much_is_kept)
{
	static const uint8_t packet[100];
	struct capture_record record = { .len = 100 };
	const struct capture_record *got;
	size_t at = 0, len;

	capture_writer_put(&writer, &record, packet, 32, NULL);
	len = capture_reader_read(&reader, out);
	got = capture_reader_next(&reader, out, len, &at);
	ck_assert_ptr_nonnull(got);
	ck_assert_uint_eq(got->len, 100);
	ck_assert_uint_eq(got->kept, 32);
}
END_TEST

/* The writer died in the middle of a record. Its successor continues after the last whole
 * record. */
START_TEST(writer_dies_half_way)
{
	uint64_t done;

	put(0);
	capture_writer_begin(&writer);
	done = atomic_load(&ring->done);
	atomic_store(&ring->begun, done + 4000);
	memset(ring->bytes + done, 0xee, 3000);
	ck_assert_uint_eq(take(), 1);

	capture_writer_open(&writer, ring, BYTES, 7, "program");
	ck_assert_uint_eq(atomic_load(&ring->busy), 0);
	put(1);
	ck_assert_uint_eq(take(), 1);
	ck_assert_uint_eq(reader.lost, 0);
}
END_TEST

/* Another process of the user may write any bytes. */
START_TEST(nonsense_is_no_packet)
{
	uint32_t seed = 1;

	for (int round = 0; round < 20000; round++) {
		const size_t len = 8 * (1 + (size_t)round % 64);
		const struct capture_record *record;
		size_t at = 0;

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			out[i] = (uint8_t)(seed >> 24 & (round % 2 ? 0xff : 0x81));
		}
		if (round % 3 == 0)
			memset(out + 4, 0xff, 4); /* claims to be a filler */
		while ((record = capture_reader_next(&reader, out, len, &at))) {
			ck_assert_uint_le(at, len);
			ck_assert_uint_le(sizeof(*record) + record->kept + record->note_len,
					  record->size);
		}
		ck_assert_uint_le(at, len);
	}
}
END_TEST

/* Other processes may write done. The ring's writer stays inside the ring, and continues there. */
START_TEST(a_place_where_no_record_ends)
{
	const size_t all = sizeof(*ring) + BYTES;
	uint8_t *behind;

	free(ring);
	ring = aligned_alloc(CAPTURE_PAGE, all + CAPTURE_PAGE);
	ck_assert(ring);
	behind = (uint8_t *)ring + all;
	for (uint32_t back = 0; back <= 64; back++) {
		memset(ring, 0, all);
		memset(behind, 0x5a, 64);
		capture_writer_open(&writer, ring, BYTES, 7, "program");
		atomic_store(&ring->done, back % 2 ? UINT64_MAX - back : BYTES - back);
		put(0);
		for (uint32_t i = 0; i < 64; i++)
			ck_assert_uint_eq(behind[i], 0x5a);
		capture_reader_open(&reader, ring, BYTES);
		put(1);
		ck_assert_uint_eq(take(), 1);
	}
}
END_TEST

START_TEST(sizes_of_a_ring)
{
	static const uint32_t bad[] = { 0,
					1,
					4096,
					CAPTURE_RING_MIN / 2,
					CAPTURE_RING_MIN + 4096,
					CAPTURE_RING_MAX + 1,
					UINT32_MAX };

	ck_assert(capture_ring_bytes_valid(CAPTURE_RING_MIN));
	ck_assert(capture_ring_bytes_valid(CAPTURE_RING_USUAL));
	ck_assert(capture_ring_bytes_valid(CAPTURE_RING_MAX));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert(!capture_ring_bytes_valid(bad[i]));
}
END_TEST

static void *write_many(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < RACE_N; i++)
		put(i);
	atomic_store(&all_written, true);
	return NULL;
}

/* What the reader returns is whole, and what it omits is counted. */
START_TEST(while_it_is_written)
{
	pthread_t thread;
	uint64_t got = 0;

	atomic_store(&all_written, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, write_many, NULL), 0);
	while (!atomic_load(&all_written))
		got += take();
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	got += take();
	ck_assert_uint_eq(got + reader.lost + capture_reader_unread(&reader), RACE_N);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture_ring");
	TCase *tcase = tcase_create("capture_ring");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, filled);
	tcase_add_test(tcase, comes_out_as_put);
	tcase_add_test(tcase, over_the_end);
	tcase_add_test(tcase, overrun_is_counted);
	tcase_add_test(tcase, only_so_much_is_kept);
	tcase_add_test(tcase, writer_dies_half_way);
	tcase_add_test(tcase, nonsense_is_no_packet);
	tcase_add_test(tcase, a_place_where_no_record_ends);
	tcase_add_test(tcase, sizes_of_a_ring);
	tcase_add_test(tcase, while_it_is_written);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
