// SPDX-License-Identifier: MIT
/* The server's side of a memory link: epochs, and which slots have exchanged rings. */
#include <check.h>
#include <stdatomic.h>
#include <unistd.h>

#include "net/link/memory/private.h"
#include "tests/suite.h"
#include "tests/unit/memory_fixture.h"

/* 0 means no process. */
START_TEST(epochs_wrap_past_zero)
{
	const uint32_t before = hub.last_epoch;

	ck_assert_int_eq(memory_hub_attach(&hub, C), 0);
	ck_assert_uint_eq(hub.slot[C].epoch, before + 1);
	hub.last_epoch = UINT32_MAX;
	ck_assert_int_eq(memory_hub_attach(&hub, C), 0);
	ck_assert_uint_eq(hub.slot[C].epoch, 1);
}
END_TEST

/* The number 0 is a descriptor as good as any. */
START_TEST(meets_by_the_number_0)
{
	const int saved = dup(0);
	uint32_t epoch;

	close(0);
	ck_assert_int_eq(memory_hub_meet(&hub, A, B, &epoch), 0);
	close(0);
	if (saved >= 0) {
		ck_assert_int_eq(dup2(saved, 0), 0);
		close(saved);
	}
}
END_TEST

/* Also those of slot 0: a later process of the slot has met no other. */
START_TEST(meetings_end_with_the_process)
{
	struct link *zero = open_slot(0), *c = open_slot(C);

	make_train(C, 0, 1, 60, 60);
	send_ok(c);
	expect_packets(zero, 1);
	make_train(0, C, 1, 60, 60);
	send_ok(zero);
	expect_packets(c, 1);
	ck_assert_uint_eq(atomic_load(&hub.page->met[0][0]), 1u << C);
	ck_assert_uint_eq(atomic_load(&hub.page->met[C][0]), 1u);
	expect_packets(zero, 0);
	link_close(c);
	memory_hub_detach(&hub, C);
	ck_assert(memory_hub_reap(&hub, C));
	ck_assert_uint_eq(atomic_load(&hub.page->met[0][0]), 0);
	ck_assert_uint_eq(atomic_load(&hub.page->met[C][0]), 0);
	link_close(zero);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_hub");
	TCase *tests = tcase_create("memory_hub");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, epochs_wrap_past_zero);
	tcase_add_test(tests, meets_by_the_number_0);
	tcase_add_test(tests, meetings_end_with_the_process);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
