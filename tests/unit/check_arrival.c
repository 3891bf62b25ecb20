// SPDX-License-Identifier: MIT
/* lib/check/mem_arrival.c: what the program has written to the buffers of outstanding receives. The
 * test posts, and writes the bytes of messages as the device does. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check/held.h"
#include "lib/check/mem_arrival.h"
#include "lib/check/mem_overlap.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "tests/suite.h"

#define LEN 64u

static uint8_t memory[2 * ARRIVAL_BYTES];
static uint8_t message[2 * ARRIVAL_BYTES];
static struct check_object owner = { .label = "QP" };
static struct check_queue queue = { .owner = &owner, .is_recv = true };
static struct check_region region;
static uint32_t found[CHECK_END];

void check_report(enum check check, const struct check_where *where, size_t n, const char *format,
		  ...)
{
	ck_assert_ptr_nonnull(where);
	ck_assert_uint_gt(n, 0);
	ck_assert_ptr_nonnull(format);
	found[check]++;
}

static void begin(void)
{
	memset(memory, 1, sizeof(memory));
	memset(message, 2, sizeof(message));
	memset(found, 0, sizeof(found));
}

static struct check_request *post(size_t at, size_t len)
{
	struct check_request *request = calloc(1, sizeof(*request) + sizeof(request->range[0]));

	ck_assert_ptr_nonnull(request);
	request->queue = &queue;
	request->is_recv = request->writes = true;
	request->num_ranges = 1;
	request->range[0] =
		(struct check_range){ .at = memory + at, .len = len, .region = &region };
	mem_overlap_posting(request);
	held_add(request);
	mem_arrival_posting(request);
	return request;
}

static void end(struct check_request *request)
{
	mem_overlap_ended(request);
	mem_arrival_ended(request);
	held_remove(request);
	free(request);
}

static void arrive(size_t at, size_t len)
{
	ck_assert(check_copy_in_order(memory + at, message + at, len));
}

START_TEST(untouched_buffer)
{
	struct check_request *request = post(0, LEN);

	arrive(0, LEN);
	ck_assert_mem_eq(memory, message, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	end(request);
}
END_TEST

START_TEST(written_buffer)
{
	struct check_request *request = post(0, LEN);

	memory[LEN - 1] = 9;
	arrive(0, LEN - 1);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	arrive(LEN - 1, 1);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
	end(request);
}
END_TEST

/* Once is enough for a request. */
START_TEST(written_twice)
{
	struct check_request *request = post(0, LEN);

	memory[0] = memory[1] = 9;
	arrive(0, 1);
	arrive(1, 1);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
	end(request);
}
END_TEST

START_TEST(bytes_beside_the_buffer)
{
	struct check_request *request = post(LEN, LEN);

	memory[LEN - 1] = memory[2 * LEN] = 9;
	arrive(0, 3 * LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	end(request);
}
END_TEST

/* What the device has written is what the next message has to find. */
START_TEST(packet_sent_again)
{
	struct check_request *request = post(0, LEN);

	arrive(0, LEN);
	arrive(0, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	memory[3] = 9;
	arrive(0, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
	end(request);
}
END_TEST

START_TEST(written_after_the_end)
{
	end(post(0, LEN));
	memory[0] = 9;
	arrive(0, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
}
END_TEST

START_TEST(long_buffer)
{
	struct check_request *request = post(0, sizeof(memory));

	memory[ARRIVAL_BYTES] = 9;
	arrive(0, sizeof(memory));
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	memory[ARRIVAL_BYTES - 1] = 9;
	arrive(0, sizeof(memory));
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
	end(request);
}
END_TEST

static void register_for(int access)
{
	struct ibv_device device = { .name = "rxe_dm0" };
	struct ibv_context context = { .device = &device };
	struct check_object object = { .context = &context };
	struct check_request *request;

	region_made(&object, 1, memory, LEN, 0, IBV_ACCESS_LOCAL_WRITE | access);
	request = post(LEN - 1, LEN);
	memory[LEN]++;
	arrive(LEN - 1, LEN);
	end(request);
	region_ended(&object);
	free(object.part);
}

START_TEST(memory_that_peers_write_to)
{
	register_for(IBV_ACCESS_REMOTE_WRITE);
	register_for(IBV_ACCESS_REMOTE_ATOMIC);
	register_for(IBV_ACCESS_MW_BIND);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	register_for(IBV_ACCESS_REMOTE_READ);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
}
END_TEST

/* The message of the second receive arrives while the third is posted: the device has looked
 * before, and writes afterwards. */
START_TEST(posted_while_another_shares)
{
	struct check_request *first = post(0, LEN), *second = post(LEN - 1, LEN), *third;

	ck_assert_uint_eq(found[CHECK_MEM_OVERLAP], 1);
	end(first);
	third = post(0, LEN);
	memory[LEN - 1] = message[LEN - 1];
	arrive(0, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	end(second);
	end(third);
}
END_TEST

START_TEST(shared_by_a_later_one)
{
	struct check_request *first = post(0, LEN), *second = post(LEN - 1, LEN);

	memory[LEN - 1] = message[LEN - 1];
	arrive(0, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 0);
	end(first);
	end(second);
}
END_TEST

START_TEST(no_longer_shared)
{
	struct check_request *first = post(0, LEN), *third;

	end(post(0, LEN));
	end(first);
	third = post(0, LEN);
	memory[0] = 9;
	arrive(0, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
	end(third);
}
END_TEST

START_TEST(beside_what_others_share)
{
	struct check_request *first = post(0, LEN), *second = post(0, LEN), *apart = post(LEN, LEN);

	memory[LEN] = 9;
	arrive(LEN, LEN);
	ck_assert_uint_eq(found[CHECK_MEM_ARRIVAL], 1);
	end(first);
	end(second);
	end(apart);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check_arrival");
	TCase *alone = tcase_create("alone"), *shared = tcase_create("shared");

	setenv("RXE_DM_CHECK", "all", 1);
	tcase_add_checked_fixture(alone, begin, NULL);
	tcase_add_test(alone, untouched_buffer);
	tcase_add_test(alone, written_buffer);
	tcase_add_test(alone, written_twice);
	tcase_add_test(alone, bytes_beside_the_buffer);
	tcase_add_test(alone, packet_sent_again);
	tcase_add_test(alone, written_after_the_end);
	tcase_add_test(alone, long_buffer);
	tcase_add_test(alone, memory_that_peers_write_to);
	suite_add_tcase(suite, alone);
	tcase_add_checked_fixture(shared, begin, NULL);
	tcase_add_test(shared, posted_while_another_shares);
	tcase_add_test(shared, shared_by_a_later_one);
	tcase_add_test(shared, no_longer_shared);
	tcase_add_test(shared, beside_what_others_share);
	suite_add_tcase(suite, shared);
	return suite_run(suite);
}
