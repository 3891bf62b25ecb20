/* SPDX-License-Identifier: MIT */
/* Traces of atomics: compare and swap, fetch and add. */
#include "tests/trace/fixture.h"

START_TEST(swap_that_matches)
{
	connect_ends(NULL);
	set_word(y, 0x40, 5);
	SWAP(5, 77, .from = READ_AT, .to = 0x40);
	world_run(&w);
	expect("     0.0 a > CMP_SWAP 100 ackreq\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 5\n"
	       "    10.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0x40), 77);
	ck_assert_uint_eq(word_at(x, READ_AT), 5);
}
END_TEST

START_TEST(swap_that_does_not)
{
	connect_ends(NULL);
	set_word(y, 0x40, 6);
	SWAP(5, 77, .from = READ_AT, .to = 0x40);
	world_run(&w);
	expect("     0.0 a > CMP_SWAP 100 ackreq\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 6\n"
	       "    10.0 a   send 1 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0x40), 6);
	ck_assert_uint_eq(word_at(x, READ_AT), 6);
}
END_TEST

START_TEST(adds_one_after_the_other)
{
	connect_ends(NULL);
	set_word(y, 0x40, UINT64_MAX);
	ADD(1, .from = READ_AT, .to = 0x40);
	ADD(10, .from = READ_AT + 8, .to = 0x40);
	world_run(&w);
	expect("     0.0 a > FETCH_ADD 100 ackreq\n"
	       "     0.0 a > FETCH_ADD 101 ackreq\n"
	       "     5.0 b > ATOMIC_ACK 100 orig 18446744073709551615\n"
	       "     5.0 b > ATOMIC_ACK 101 orig 0\n"
	       "    10.0 a   send 1 SUCCESS\n"
	       "    10.0 a   send 2 SUCCESS\n");
	ck_assert_uint_eq(word_at(y, 0x40), 10);
	ck_assert_uint_eq(word_at(x, READ_AT), UINT64_MAX);
	ck_assert_uint_eq(word_at(x, READ_AT + 8), 0);
}
END_TEST

RUN_TESTS("atomic", swap_that_matches, swap_that_does_not, adds_one_after_the_other)
