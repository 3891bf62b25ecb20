/* SPDX-License-Identifier: MIT */
/* The ring of the memory link: trains pass whole and in order, a full ring takes none, each side
 * may die at any instruction, and no value that one side writes harms the other. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/link/memory/ring.h"
#include "tests/suite.h"

#define KILLS 30

struct shared {
	_Alignas(64) _Atomic uint64_t tail;
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t sent;
};

static struct shared *shared;
static uint8_t *data;
static struct ring_producer producer;
static struct ring_consumer consumer;

static void open_producer(void)
{
	producer = (struct ring_producer){ .data = data,
					   .tail = &shared->tail,
					   .head = &shared->head };
	ring_producer_open(&producer);
}

static void open_consumer(void)
{
	consumer = (struct ring_consumer){ .data = data,
					   .tail = &shared->tail,
					   .head = &shared->head };
	ring_consumer_open(&consumer);
}

static void setup(void)
{
	const int flags = MAP_SHARED | MAP_FIXED, rw = PROT_READ | PROT_WRITE;
	const int fd = memfd_create("ring", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096 + RING_BYTES), 0);
	shared = mmap(NULL, 4096, rw, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	data = mmap(NULL, 2 * RING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(mmap(data, RING_BYTES, rw, flags, fd, 4096), MAP_FAILED);
	ck_assert_ptr_ne(mmap(data + RING_BYTES, RING_BYTES, rw, flags, fd, 4096), MAP_FAILED);
	close(fd);
	open_producer();
	open_consumer();
}

static void teardown(void)
{
	munmap(data, 2 * RING_BYTES);
	munmap(shared, 4096);
}

/* The length and every byte follow from the number. */
static uint32_t len_of(uint32_t number)
{
	return 1 + (uint32_t)(number * 2654435761u >> 7) % TRAIN_MAX_BYTES;
}

static struct ring_record record_of(uint32_t number)
{
	const uint32_t len = len_of(number);

	return (struct ring_record){ .len = len,
				     .seg_len = (uint16_t)((len + 3) / 4),
				     .segs = (uint16_t)((len + (len + 3) / 4 - 1) /
							((len + 3) / 4)),
				     .flow_label = number };
}

static bool put(uint32_t number)
{
	const struct ring_record record = record_of(number);
	uint8_t *space = ring_reserve(&producer, record.len);

	if (!space)
		return false;
	memset(space, (int)(number & 0xff), record.len);
	ring_publish(&producer, &record);
	return true;
}

static bool bytes_are(const uint8_t *bytes, uint32_t number)
{
	uint8_t others = 0;

	for (uint32_t i = 0; i < len_of(number); i++)
		others |= (uint8_t)(bytes[i] ^ (number & 0xff));
	return others == 0;
}

static void expect(uint32_t number)
{
	struct ring_record record;
	const uint8_t *bytes;

	ck_assert_int_eq(ring_take(&consumer, &record, &bytes), RING_RECORD);
	ck_assert_uint_eq(record.flow_label, number);
	ck_assert_uint_eq(record.len, len_of(number));
	ck_assert(bytes_are(bytes, number));
}

static void expect_empty(void)
{
	struct ring_record record;
	const uint8_t *bytes;

	ck_assert(!ring_waits(&consumer));
	ck_assert_int_eq(ring_take(&consumer, &record, &bytes), RING_EMPTY);
}

START_TEST(trains_pass_in_order)
{
	uint32_t out = 0;

	expect_empty();
	for (uint32_t in = 0; in < 500; in++) {
		while (!put(in)) {
			expect(out++);
			ring_release(&consumer);
		}
	}
	while (out < 500)
		expect(out++);
	expect_empty();
}
END_TEST

START_TEST(full_ring_takes_none_until_released)
{
	uint32_t n = 0;

	while (put(n))
		n++;
	ck_assert_uint_ge(n, 2);
	expect(0);
	/* Taken, and still in use. */
	ck_assert(!put(n) || len_of(n) < len_of(0));
	for (uint32_t i = 1; i < n; i++)
		expect(i);
	ck_assert_ptr_null(ring_reserve(&producer, TRAIN_MAX_BYTES));
	ring_release(&consumer);
	ck_assert_ptr_nonnull(ring_reserve(&producer, TRAIN_MAX_BYTES));
}
END_TEST

START_TEST(longest_and_shortest_trains_fit)
{
	const struct ring_record longest = { .len = TRAIN_MAX_BYTES, .seg_len = 4096, .segs = 16 };
	const struct ring_record shortest = { .len = 1, .seg_len = 1, .segs = 1 };
	struct ring_record got;
	const uint8_t *bytes;

	for (int i = 0; i < 20; i++) {
		ck_assert_ptr_nonnull(ring_reserve(&producer, longest.len));
		ring_publish(&producer, &longest);
		ck_assert_ptr_nonnull(ring_reserve(&producer, shortest.len));
		ring_publish(&producer, &shortest);
		ck_assert_int_eq(ring_take(&consumer, &got, &bytes), RING_RECORD);
		ck_assert_uint_eq(got.len, TRAIN_MAX_BYTES);
		ck_assert_int_eq(ring_take(&consumer, &got, &bytes), RING_RECORD);
		ck_assert_uint_eq(got.len, 1);
		ring_release(&consumer);
	}
}
END_TEST

/* A consumer that died after it took records, and before it released them. */
START_TEST(next_consumer_starts_at_head)
{
	for (uint32_t i = 0; i < 3; i++)
		ck_assert(put(i));
	expect(0);
	ring_release(&consumer);
	expect(1);
	open_consumer();
	expect(1);
	expect(2);
	expect_empty();
}
END_TEST

/* A producer that died while it wrote. */
START_TEST(next_producer_starts_at_tail)
{
	uint8_t *space;

	ck_assert(put(0));
	space = ring_reserve(&producer, 5000);
	memset(space - sizeof(struct ring_record), 0xee, 5000);
	open_producer();
	ck_assert(put(1));
	expect(0);
	expect(1);
	expect_empty();
}
END_TEST

START_TEST(skip_empties)
{
	ck_assert(put(0) && put(1));
	ring_skip(&consumer);
	expect_empty();
	ck_assert(put(2));
	expect(2);
}
END_TEST

static void publish_bad(const struct ring_record *record, uint64_t bytes)
{
	memcpy(data + producer.at % RING_BYTES, record, sizeof(*record));
	producer.at += bytes;
	atomic_store(&shared->tail, producer.at);
}

START_TEST(impossible_records_are_skipped)
{
	static const struct ring_record bad[] = {
		{ .len = 0, .seg_len = 1, .segs = 1 },
		{ .len = TRAIN_MAX_BYTES + 1, .seg_len = 4096, .segs = 17 },
		{ .len = UINT32_MAX, .seg_len = 4096, .segs = 17 },
		{ .len = UINT32_MAX - 100, .seg_len = UINT16_MAX, .segs = UINT16_MAX },
		{ .len = 100, .seg_len = 100, .segs = 0 },
		{ .len = 100, .seg_len = 0, .segs = 1 },
		{ .len = 100, .seg_len = 0, .segs = 0 },
		{ .len = 100, .seg_len = 50, .segs = 3 },
		{ .len = 100, .seg_len = 50, .segs = 1 },
		{ .len = 100, .seg_len = 1, .segs = 100 },
		{ .len = 1000, .seg_len = 1000, .segs = 1 }, /* longer than what was published */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ring_record got;
		const uint8_t *bytes;

		publish_bad(&bad[i], 192);
		ck_assert(ring_waits(&consumer));
		ck_assert_int_eq(ring_take(&consumer, &got, &bytes), RING_BAD);
		expect_empty();
		ck_assert(put((uint32_t)i));
		expect((uint32_t)i);
		ring_release(&consumer);
	}
}
END_TEST

START_TEST(impossible_tails_are_skipped)
{
	static const uint64_t by[] = {
		1, 63, RING_BYTES + 64, 1ull << 40, (uint64_t)-64, (uint64_t)-1, 1ull << 63
	};

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		struct ring_record got;
		const uint8_t *bytes;

		atomic_fetch_add(&shared->tail, by[i]);
		ck_assert_int_eq(ring_take(&consumer, &got, &bytes), RING_BAD);
		expect_empty();
		/* An honest producer may follow. */
		open_producer();
		while (ring_waits(&consumer))
			ck_assert_int_eq(ring_take(&consumer, &got, &bytes), RING_BAD);
		ck_assert(put((uint32_t)i));
		expect((uint32_t)i);
		ring_release(&consumer);
		open_producer();
	}
}
END_TEST

START_TEST(impossible_heads_make_a_full_ring)
{
	static const uint64_t by[] = { 64, 1, (uint64_t)-RING_BYTES - 64, 1ull << 63, 1ull << 40 };

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		const uint64_t good = atomic_load(&shared->head);

		atomic_store(&shared->head, good + by[i]);
		open_producer();
		ck_assert_ptr_null(ring_reserve(&producer, 100));
		atomic_store(&shared->head, good);
		ck_assert_ptr_nonnull(ring_reserve(&producer, 100));
	}
}
END_TEST

/* Writes numbers upwards until it is killed. */
static void write_until_killed(void)
{
	uint32_t number = (uint32_t)atomic_load(&shared->sent);

	open_producer();
	for (;;) {
		while (!put(number))
			sched_yield();
		atomic_store(&shared->sent, ++number);
	}
}

/* The next producer may write the last number again: the kill came before it was counted. */
static void take_from(pid_t pid, uint32_t *next)
{
	const uint32_t until = *next + 20 + *next % 17;
	struct ring_record record;
	const uint8_t *bytes;
	bool killed = false;

	for (;;) {
		const enum ring_result result = ring_take(&consumer, &record, &bytes);

		ck_assert_int_ne(result, RING_BAD);
		if (result == RING_EMPTY && killed)
			return;
		if (result == RING_EMPTY)
			continue;
		ck_assert(record.flow_label == *next || record.flow_label + 1 == *next);
		ck_assert_uint_eq(record.len, len_of(record.flow_label));
		ck_assert(bytes_are(bytes, record.flow_label));
		*next = record.flow_label + 1;
		ring_release(&consumer);
		if (*next >= until && !killed) {
			kill(pid, SIGKILL);
			ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
			killed = true;
		}
	}
}

START_TEST(killed_producers_leave_whole_records)
{
	uint32_t next = 0;

	for (int i = 0; i < KILLS; i++) {
		const pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			write_until_killed();
		take_from(pid, &next);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_ring");
	TCase *tests = tcase_create("memory_ring");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, trains_pass_in_order);
	tcase_add_test(tests, full_ring_takes_none_until_released);
	tcase_add_test(tests, longest_and_shortest_trains_fit);
	tcase_add_test(tests, next_consumer_starts_at_head);
	tcase_add_test(tests, next_producer_starts_at_tail);
	tcase_add_test(tests, skip_empties);
	tcase_add_test(tests, impossible_records_are_skipped);
	tcase_add_test(tests, impossible_tails_are_skipped);
	tcase_add_test(tests, impossible_heads_make_a_full_ring);
	tcase_add_test(tests, killed_producers_leave_whole_records);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
