// SPDX-License-Identifier: MIT
/* The file of saved settings: whose it may be, what is never changed, and that it is of one network
 * namespace. */
#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/control/settings.h"
#include "tests/suite.h"

#define INSTANCE "saved-test"
#define NOT_OURS "it is not the server's\n"

static struct ctl_settings settings;
static char path[200];

/* Finds the name of the file, which has the namespace in it. */
static void setup(void)
{
	glob_t found;

	for (size_t i = 0; i < ctl_setting_count; i++)
		unsetenv(ctl_setting_table[i].env);
	ctl_settings_init(&settings);
	settings.num_addresses = settings.devices = 1;
	ck_assert(ctl_gid_parse(&settings.address[0], "127.9.8.7"));
	snprintf(settings.instance, sizeof(settings.instance), INSTANCE "-%d", (int)getpid());
	ctl_saved_write(&settings, true);
	snprintf(path, sizeof(path), "/dev/shm/rxe_dm-%u-*-%s", (unsigned int)geteuid(),
		 settings.instance);
	ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, 1);
	snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
}

static void teardown(void)
{
	unlink(path);
}

static bool is_read(bool *ret_stays)
{
	struct ctl_settings saved;

	ctl_settings_init(&saved);
	memcpy(saved.instance, settings.instance, sizeof(saved.instance));
	return ctl_saved_read(&saved, ret_stays) && saved.num_addresses == 1 &&
	       gid_equal(&saved.address[0], &settings.address[0]);
}

static const char *read_text(const char *file)
{
	static char text[4096];
	FILE *f = fopen(file, "r");

	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void write_text(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

START_TEST(what_was_written_is_read)
{
	bool stays = false;

	ck_assert(is_read(&stays));
	ck_assert(stays);
	ctl_saved_write(&settings, false); /* shorter than what is there */
	ck_assert(is_read(&stays));
	ck_assert(!stays);
	ctl_saved_remove(settings.instance);
	ck_assert(!is_read(&stays));
}
END_TEST

START_TEST(a_file_of_another_user_stays_whole)
{
	bool stays;

	if (geteuid())
		return; /* only root may give a file away */
	write_text(path, NOT_OURS);
	/* Linux refuses O_CREAT for such a file in a folder with the sticky bit, if its group is
	 * another one (fs.protected_regular): not for what may come there without it. */
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
	ctl_saved_write(&settings, true);
	ck_assert_str_eq(read_text(path), NOT_OURS);
	ck_assert(!is_read(&stays));
}
END_TEST

START_TEST(a_linked_file_stays_whole)
{
	char other[sizeof(path) + 8];
	bool stays;

	snprintf(other, sizeof(other), "%s.other", path);
	write_text(other, NOT_OURS);
	for (int hard = 0; hard < 2; hard++) {
		unlink(path);
		ck_assert_int_eq(hard ? link(other, path) : symlink(other, path), 0);
		ctl_saved_write(&settings, true);
		ck_assert_str_eq(read_text(other), NOT_OURS);
		ck_assert(!is_read(&stays));
	}
	unlink(other);
}
END_TEST

/* The first line names the namespace; another number there is that of one that has ended. */
static void make_of_another_namespace(const char *file)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s", read_text(path));
	ck_assert_int_eq(strncmp(text, "namespace=", 10), 0);
	text[10] = text[10] == '9' ? '1' : '9';
	write_text(file, text);
}

START_TEST(settings_end_with_their_namespace)
{
	char other[sizeof(path) + 8];
	bool stays;

	if (strncmp(read_text(path), "namespace=0\n", 12) == 0)
		return; /* before Linux 5.14 */
	snprintf(other, sizeof(other), "%s.other", path);
	make_of_another_namespace(other);
	make_of_another_namespace(path);
	ck_assert(!is_read(&stays));
	ctl_saved_write(&settings, true);
	ck_assert(is_read(&stays));
	ck_assert_int_ne(access(other, F_OK), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("saved_settings");
	TCase *tcase = tcase_create("saved_settings");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_was_written_is_read);
	tcase_add_test(tcase, a_file_of_another_user_stays_whole);
	tcase_add_test(tcase, a_linked_file_stays_whole);
	tcase_add_test(tcase, settings_end_with_their_namespace);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
