// SPDX-License-Identifier: MIT
/* Handles, keys and grace periods: freed numbers are not reused soon, and nothing is granted while
 * a gauge may still protect it. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/control/shared.h"
#include "rxe_dm/server/key.h"
#include "rxe_dm/server/object.h"
#include "rxe_dm/server/random.h"
#include "tests/suite.h"

static struct ctl_shared *shared;
static struct objects objects;
static struct grace grace;
static struct keys keys;

static void setup(void)
{
	struct ctl_profile profile;
	void *base = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(base, MAP_FAILED);
	shared = (struct ctl_shared *)base;
	grace = (struct grace){ .shared = shared };
	ctl_profile_init(&profile);
	ck_assert(objects_init(&objects, shared->live, &profile));
	ck_assert(keys_init(&keys, &shared->mrs, &grace));
}

static void teardown(void)
{
	objects_fini(&objects);
	keys_fini(&keys);
	munmap(shared, sizeof(*shared));
}

START_TEST(handles_live_and_die)
{
	struct object *pd = object_new(&objects, CTL_KIND_PD);
	uint32_t handle = pd->handle;

	ck_assert_uint_ne(handle, 0);
	ck_assert_ptr_eq(object_find(&objects, handle), pd);
	ck_assert(ctl_handle_live(shared, handle));
	ck_assert_ptr_null(object_find(&objects, 0));
	ck_assert_ptr_null(object_find(&objects, handle + (1u << CTL_HANDLE_BITS)));
	ck_assert_ptr_null(object_find(&objects, UINT32_MAX));

	object_free(&objects, pd);
	ck_assert_ptr_null(object_find(&objects, handle));
	ck_assert(!ctl_handle_live(shared, handle));
	ck_assert(!ctl_handle_live(shared, 0));
}
END_TEST

START_TEST(a_freed_handle_stays_dead)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		struct object *object = object_new(&objects, CTL_KIND_DM);

		ck_assert_ptr_nonnull(object);
		if (i == 0)
			first = object->handle;
		else
			ck_assert_uint_ne(object->handle, first);
		object_free(&objects, object);
		ck_assert_ptr_null(object_find(&objects, first));
	}
	ck_assert_uint_le(objects.fresh, OBJECT_REST + 2);
}
END_TEST

START_TEST(each_kind_has_its_limit)
{
	uint32_t n = 0;

	while (object_new(&objects, CTL_KIND_PD))
		n++;
	ck_assert_uint_eq(n, RXE_MAX_PD);
	ck_assert_ptr_nonnull(object_new(&objects, CTL_KIND_MR));
	for (uint32_t i = 0; i < objects.fresh; i++) {
		if (objects.at[i])
			object_free(&objects, objects.at[i]);
	}
	ck_assert_uint_eq(objects.count[CTL_KIND_PD], 0);
}
END_TEST

static uint32_t grant(uint64_t len)
{
	struct rxe_mr entry = { .pd = 7, .len = len, .kind = RXE_MR_PLAIN };

	return keys_grant(&keys, &entry, 0);
}

START_TEST(keys_are_published_and_revoked)
{
	uint32_t key = grant(42);
	const struct rxe_mr *mr = &shared->mrs.entry[rxe_key_index(key)];

	ck_assert_uint_ne(key, 0);
	ck_assert_uint_ne(rxe_key_index(key), 0);
	ck_assert_uint_eq(mr->key, key);
	ck_assert_uint_eq(mr->len, 42);
	ck_assert_uint_eq(mr->pd, 7);
	keys_revoke(&keys, key);
	ck_assert_uint_eq(mr->key, 0);
	ck_assert_uint_eq(keys.granted, 0);
}
END_TEST

/* After 15 uses of its index the tag of a key may come round again. */
START_TEST(a_key_does_not_come_back_soon)
{
	uint32_t first = grant(1);

	keys_revoke(&keys, first);
	for (int i = 0; i < 15 * KEY_REST; i++) {
		uint32_t key = grant(1);

		ck_assert_uint_ne(key, first);
		keys_revoke(&keys, key);
	}
	ck_assert_uint_le(keys.fresh, KEY_REST + 2);
}
END_TEST

/* Refuses getrandom(2), as the filter of a sandbox may, then draws. Ends with 0 if the numbers are
 * neither zeros nor the same twice. */
static void draw_without_the_call(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };
	uint8_t zeros[64] = { 0 }, numbers[2][64] = { { 0 } };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) || !random_check())
		_exit(1);
	random_fill(numbers[0], sizeof(numbers[0]));
	random_fill(numbers[1], sizeof(numbers[1]));
	_exit(memcmp(numbers[0], zeros, 64) && memcmp(numbers[1], zeros, 64) &&
			      memcmp(numbers[0], numbers[1], 64)
		      ? 0
		      : 2);
}

START_TEST(numbers_come_from_the_file_where_the_call_is_refused)
{
	const pid_t child = fork();
	int status = -1;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		draw_without_the_call();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Neither index nor tag of the next key follows from the last. */
START_TEST(keys_are_random)
{
	uint32_t last = grant(1), indexes = 0, tags = 0;

	for (int i = 0; i < 1000; i++) {
		uint32_t key = grant(1);

		indexes += rxe_key_index(key) == rxe_key_index(last) + 1;
		tags += (key & 0xffff) == ((last + 1) & 0xffff);
		last = key;
	}
	ck_assert_uint_lt(indexes, 10);
	ck_assert_uint_lt(tags, 10);
}
END_TEST

START_TEST(the_table_is_as_large_as_it_says)
{
	uint32_t n = 0, last = 0, key;

	while ((key = grant(1))) {
		last = key;
		n++;
	}
	ck_assert_uint_eq(n, RXE_MAX_MR - 1);

	/* A freed entry waits for raised gauges, then is granted again, under another key. */
	grace_watch(&grace, 3);
	atomic_store(&shared->slot[3].inside, 1);
	keys_revoke(&keys, last);
	ck_assert_uint_eq(grant(1), 0);
	atomic_store(&shared->slot[3].inside, 0);
	key = grant(1);
	ck_assert_uint_eq(rxe_key_index(key), rxe_key_index(last));
	ck_assert_uint_ne(key, last);
}
END_TEST

START_TEST(grace_waits_for_each_process_once)
{
	uint64_t stamp;

	grace_watch(&grace, 1);
	grace_watch(&grace, 2);
	atomic_store(&shared->slot[1].inside, 1);
	stamp = grace_begin(&grace);
	ck_assert(!grace_over(&grace, stamp, GRACE_NOBODY));
	ck_assert(grace_over(&grace, stamp, 1)); /* slot 1 is its own witness */

	/* One sight of a gauge at zero suffices: a process that raises it later finds no key. */
	atomic_store(&shared->slot[1].inside, 0);
	ck_assert(grace_over(&grace, stamp, GRACE_NOBODY));
	atomic_store(&shared->slot[1].inside, 1);
	ck_assert(grace_over(&grace, stamp, GRACE_NOBODY));
	stamp = grace_begin(&grace);
	ck_assert(!grace_over(&grace, stamp, GRACE_NOBODY));

	/* A process that came after the key was cleared never saw it; one that exited does not
	 * count. */
	atomic_store(&shared->slot[5].inside, 1);
	grace_watch(&grace, 5);
	grace_unwatch(&grace, 1);
	ck_assert(grace_over(&grace, stamp, GRACE_NOBODY));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("server_tables");
	TCase *tcase = tcase_create("tables");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, handles_live_and_die);
	tcase_add_test(tcase, a_freed_handle_stays_dead);
	tcase_add_test(tcase, each_kind_has_its_limit);
	tcase_add_test(tcase, keys_are_published_and_revoked);
	tcase_add_test(tcase, a_key_does_not_come_back_soon);
	tcase_add_test(tcase, keys_are_random);
	tcase_add_test(tcase, numbers_come_from_the_file_where_the_call_is_refused);
	tcase_add_test(tcase, the_table_is_as_large_as_it_says);
	tcase_add_test(tcase, grace_waits_for_each_process_once);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
