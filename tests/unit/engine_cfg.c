/* SPDX-License-Identifier: MIT */
/* What the engine is told about its device, in a process without a server. */
#include <check.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "device_fixture.h"
#include "emu/engine.h"
#include "emu/limits.h"
#include "lib/control/client.h"
#include "lib/progress/link.h"
#include "lib/progress/progress.h"
#include "net/link/link.h"
#include "tests/suite.h"

#define SLOT  3u
#define OTHER 5u

static struct vb_device *dev;
static struct progress *progress;

static void init_engine(void)
{
	ck_assert(progress_lock(progress));
	host_init_engine(progress);
	pthread_mutex_unlock(&progress->lock);
}

static void setup(void)
{
	static struct link phy;

	dev = device_new(SLOT);
	progress = &dev->progress;
	dev->info.max_mtu = 4096;
	progress->link.phy = &phy;
	faults_open(&progress->link.faults, progress);
	init_engine();
}

static void teardown(void)
{
	faults_close(&progress->link.faults);
	device_free(dev);
}

/* The kernel reports twice the size that was asked for. */
START_TEST(the_window_of_a_local_peer_fits_its_socket)
{
	static const struct {
		enum ctl_link link;
		uint32_t rcvbuf, window;
	} rows[] = {
		{ CTL_LINK_UDP, 0, RXE_WINDOW_BYTES },
		{ CTL_LINK_UDP, 2 * RXE_WINDOW_BYTES, RXE_WINDOW_BYTES },
		{ CTL_LINK_UDP, 2 * RXE_WINDOW_BYTES + 2000, RXE_WINDOW_BYTES + 1000 },
		{ CTL_LINK_UDP, 2 * RXE_WINDOW_LOCAL_BYTES, RXE_WINDOW_LOCAL_BYTES },
		{ CTL_LINK_UDP, 8 * RXE_WINDOW_LOCAL_BYTES, RXE_WINDOW_LOCAL_BYTES },
		{ CTL_LINK_MEMORY, 8 * RXE_WINDOW_LOCAL_BYTES, RXE_WINDOW_BYTES },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		dev->info.link = rows[i].link;
		dev->info.rcvbuf = rows[i].rcvbuf;
		init_engine();
		ck_assert_uint_eq(progress->engine->cfg.local_window, rows[i].window);
	}
}
END_TEST

/* What a profile of --profile lacks, the engine refuses. */
START_TEST(features_that_the_profile_lacks)
{
	const struct ctl_profile all = { .atomic_cap = 1,
					 .mem_mgt_extensions = 1,
					 .flush = 1,
					 .atomic_write = 1,
					 .path_migration = 1,
					 .rate_limit = 1 };
	struct ctl_profile *profile = &dev->info.profile;
	const struct {
		uint32_t *feature, ops, rights, attrs;
	} rows[] = {
		{ &profile->atomic_cap,
		  1u << RXE_WR_ATOMIC_CMP_AND_SWP | 1u << RXE_WR_ATOMIC_FETCH_AND_ADD,
		  RXE_REMOTE_ATOMIC, 0 },
		{ &profile->mem_mgt_extensions, 1u << RXE_WR_SEND_WITH_INV | 1u << RXE_WR_LOCAL_INV,
		  0, 0 },
		{ &profile->flush, 1u << RXE_WR_FLUSH, RXE_FLUSH_GLOBAL | RXE_FLUSH_PERSISTENT, 0 },
		{ &profile->atomic_write, 1u << RXE_WR_ATOMIC_WRITE, 0, 0 },
		{ &profile->path_migration, 0, 0, RXE_QP_ALT_PATH | RXE_QP_PATH_MIG_STATE },
		{ &profile->rate_limit, 0, 0, RXE_QP_RATE_LIMIT },
	};
	const struct rxe_offer *offer = &progress->engine->cfg.offer;

	*profile = all;
	init_engine();
	ck_assert_uint_eq(offer->refused_ops | offer->refused_rights | offer->refused_attrs, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*profile = all;
		*rows[i].feature = 0;
		init_engine();
		ck_assert_uint_eq(offer->refused_ops, rows[i].ops);
		ck_assert_uint_eq(offer->refused_rights, rows[i].rights);
		ck_assert_uint_eq(offer->refused_attrs, rows[i].attrs);
	}
}
END_TEST

/* A closed window is out of use once no other process is inside an access. This process makes its
 * accesses under the engine lock. */
START_TEST(a_window_that_others_still_use)
{
	const struct rxe_host_ops *ops = progress->engine->cfg.ops;
	struct ctl_slot *slot = dev->attachment.shared->slot;
	uint64_t stamp;

	atomic_store(&slot[SLOT].inside, 1);
	atomic_store(&slot[1].inside, 1);
	atomic_store(&slot[OTHER].inside, 1);
	stamp = ops->grace_begin(progress);
	ck_assert(!ops->grace_over(progress, stamp));
	atomic_store(&slot[1].inside, 0);
	ck_assert(!ops->grace_over(progress, stamp));
	atomic_store(&slot[OTHER].inside, 0);
	ck_assert(ops->grace_over(progress, stamp));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_cfg");
	TCase *tcase = tcase_create("engine_cfg");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_window_of_a_local_peer_fits_its_socket);
	tcase_add_test(tcase, features_that_the_profile_lacks);
	tcase_add_test(tcase, a_window_that_others_still_use);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
