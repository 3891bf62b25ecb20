// SPDX-License-Identifier: MIT
/* How a process follows the fault rules in shared memory: the fault link exists while there are
 * rules, completions are asked about while a rule needs that, and a change that is not finished is
 * left alone. So it follows the GID table. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device_fixture.h"
#include "emu/engine.h"
#include "lib/control/client.h"
#include "lib/progress/fault.h"
#include "lib/progress/link.h"
#include "lib/progress/local_peer.h"
#include "lib/progress/progress.h"
#include "net/link/udp/udp.h"
#include "tests/suite.h"

#define SLOT 3u

static struct vb_device *dev;
static struct device_link *link_;
static struct ctl_faults *shared;
static int rx_fd;

static void setup(void)
{
	struct udp_cfg cfg = { .gid.raw = { [10] = 0xff, [11] = 0xff, 127, 79, 0, 1 } };

	dev = device_new(SLOT);
	link_ = &dev->progress.link;
	shared = &dev->attachment.shared->faults;
	rx_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cfg.rx_fd = rx_fd;
	dev->info.gids[0] = cfg.gid;
	ck_assert_int_eq(udp_open(&link_->phy, &cfg), 0);
	faults_open(&link_->faults, &dev->progress);
	device_link_stack(link_);
}

static void teardown(void)
{
	faults_close(&link_->faults);
	link_close(link_->phy);
	close(rx_fd);
	device_free(dev);
}

/* Writes a rule, "" for none, without a new generation. */
static void write_rule(uint32_t place, const char *text)
{
	memcpy(shared->at[place].text, text, strlen(text) + 1);
	shared->at[place].id = text[0] ? place + 1 : 0;
}

static void change(uint32_t place, const char *text)
{
	write_rule(place, text);
	atomic_fetch_add(&shared->generation, 2);
}

static bool has_link(void)
{
	device_link_follow_rules(link_);
	return link_->faults.link != NULL;
}

static bool asks_about_completions(void)
{
	device_link_follow_rules(link_);
	return dev->progress.engine->completions_asked;
}

START_TEST(rules_come_and_go)
{
	ck_assert(!has_link());
	for (int i = 0; i < 3; i++) {
		change(0, "drop psn=1");
		ck_assert(has_link());
		ck_assert_uint_eq(link_->faults.rules->n, 1);
		change(0, "");
		ck_assert(!has_link());
		ck_assert_ptr_eq(link_->top, &link_->meter.base);
	}
}
END_TEST

START_TEST(an_unfinished_change_is_left_alone)
{
	write_rule(0, "drop psn=1");
	atomic_fetch_add(&shared->generation, 1);
	ck_assert(!has_link());
	atomic_fetch_add(&shared->generation, 1);
	ck_assert(has_link());
	write_rule(1, "drop psn=2");
	atomic_fetch_add(&shared->generation, 1);
	ck_assert(has_link());
	ck_assert_uint_eq(link_->faults.rules->n, 1);
	atomic_fetch_add(&shared->generation, 1);
	ck_assert(has_link());
	ck_assert_uint_eq(link_->faults.rules->n, 2);
}
END_TEST

/* The engine asks for each completion, which costs time: only while a rule is about them. */
START_TEST(rules_about_completions)
{
	change(0, "drop psn=1");
	ck_assert(!asks_about_completions());
	change(1, "completion status=IBV_WC_RETRY_EXC_ERR nth=3");
	ck_assert(asks_about_completions());
	change(0, "");
	ck_assert(asks_about_completions());
	change(1, "");
	ck_assert(!asks_about_completions());
	ck_assert(!has_link());
}
END_TEST

static bool socket_is_asked(void)
{
	return arrivals_are_expected(&dev->progress, 0);
}

/* No process announces a packet that has waited for a rule. */
START_TEST(packets_that_wait_for_rules_are_asked_for)
{
	arrivals_received(&dev->progress, NULL, 0, false, 0);
	ck_assert(!socket_is_asked());
	change(0, "delay dir=in time=1ms");
	ck_assert(has_link());
	ck_assert(socket_is_asked());
	change(0, "");
	ck_assert(!has_link());
	ck_assert(!socket_is_asked());
}
END_TEST

static void *read_gid(void *arg)
{
	*(struct gid *)arg = device_link_gid(&dev->progress, 0);
	return NULL;
}

/* The server changes the table between two odd moments: a reader waits for its end. */
START_TEST(an_entry_of_the_gid_table_is_whole)
{
	struct ctl_shared *table = dev->attachment.shared;
	struct gid seen = { .raw = { 9 } };
	pthread_t reader;

	for (uint32_t generation = 1; generation < 8; generation += 2) {
		atomic_store(&table->faults.generation, generation);
		table->gids[0].raw[0] = 0;
		ck_assert_int_eq(pthread_create(&reader, NULL, read_gid, &seen), 0);
		for (int i = 0; i < 100; i++)
			sched_yield();
		table->gids[0].raw[0] = (uint8_t)generation;
		atomic_store(&table->faults.generation, generation + 1);
		ck_assert_int_eq(pthread_join(reader, NULL), 0);
		ck_assert_uint_eq(seen.raw[0], generation);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("faults");
	TCase *tests = tcase_create("faults");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, rules_come_and_go);
	tcase_add_test(tests, an_unfinished_change_is_left_alone);
	tcase_add_test(tests, rules_about_completions);
	tcase_add_test(tests, packets_that_wait_for_rules_are_asked_for);
	tcase_add_test(tests, an_entry_of_the_gid_table_is_whole);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
